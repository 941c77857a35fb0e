"""Events in words, in the place of a classifier's score.

A classifier finds outputs that speak for one input; nobody can read its score. StatDP's grammar
names outputs by their length, their elements and ranges of numbers. Where the best such event
promises nearly as much, it is what gets measured. It is chosen before the final runs, as
classifiers are, and on runs of its own: the bound means what it meant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpest.attacks.statdp.events import Event
from dpest.attacks.statdp.features import Grouped
from dpest.attacks.statdp.selector import select_events
from dpest.running.samples import Samples

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Of what a classifier promises, the part that an event in words must keep.
KEPT = 0.9
#: Outputs of each input that choose an event; more show little more.
MOST = 20_000
# Fewer outputs of an input than this name no event.
_LEAST = 100


@dataclass(frozen=True)
class EventScorer:
    """1 for outputs in `first`, −1 for others in `second`, 0 for the rest."""

    first: Event
    second: Event | None = None

    def scores(self, samples: Samples) -> Floats:
        score = inside(self.first, samples).astype(np.float64)
        if self.second is not None:
            score -= (score == 0) & inside(self.second, samples)
        return score

    def describe(self) -> str:
        return f"event that {self.first}"

    def words(self, low: float, high: float) -> str:
        """The outputs whose score lies strictly between `low` and `high`."""
        held = frozenset(value for value in (-1, 0, 1) if low < value < high)
        first, second = self.first, self.second
        if second is None:
            held -= {-1}
            texts = {frozenset({1}): f"{first}", frozenset({0}): f"not: {first}"}
        else:
            apart = first.apart_from(second)
            texts = {
                frozenset({1}): f"{first}",
                frozenset({0, -1}): f"not: {first}",
                frozenset({-1}): f"{second}" if apart else f"{second}, and not: {first}",
                frozenset({0, 1}): f"not: {second}" if apart else f"{first}, or not: {second}",
            }
        return texts.get(held, "any output")


def inside(event: Event, samples: Samples) -> Bools:
    """Whether each output is in the event, in the order of the outputs."""
    grouped = Grouped.of(samples)
    found = np.zeros(samples.size, dtype=bool)
    found[grouped.runs] = event.mask(grouped)
    return found


def event_scorer(first: Samples, second: Samples) -> EventScorer | None:
    """The events that speak most clearly for the first and for the second input."""
    if min(first.size, second.size) < _LEAST:
        return None
    search = select_events(_some(first), _some(second))
    ahead, back = (search.best(None, swapped=swapped) for swapped in (False, True))
    if ahead is None:
        # What speaks for the second input alone: its complement speaks for the first.
        return None if back is None else EventScorer(back.event)
    return EventScorer(ahead.event, None if back is None else back.event)


class NamedEvent(NamedTuple):
    """An event, and how often it came up on the input that it speaks for and on the other."""

    event: Event
    p: float
    q: float
    swapped: bool


def named(first: Samples, second: Samples, value: float) -> NamedEvent | None:
    """An event in words that shows nine tenths of `value` by its frequencies, if there is one.

    Every second output chooses it, the others give its frequencies.
    """
    if min(first.size, second.size) < 2 * _LEAST or value <= 0:
        return None
    first, second = _some(first), _some(second)
    ones, twos = (part.take(np.arange(0, part.size, 2)) for part in (first, second))
    search = select_events(ones, twos)
    rest = [part.take(np.arange(1, part.size, 2)) for part in (first, second)]
    best = search.best(None)
    if best is None:
        return None
    p, q = (float(inside(best.event, part).mean()) for part in rest[:: -1 if best.swapped else 1])
    if p == 0 or p < math.exp(KEPT * value) * q:
        return None
    return NamedEvent(best.event, p, q, best.swapped)


def _some(samples: Samples) -> Samples:
    return samples if samples.size <= MOST else samples.take(np.arange(MOST))
