"""Attacks on outputs that are few and discrete: a table of how often each came up.

Where native loops make the runs and there are a few thousand outputs at most, nothing has to be
learnt: runs on both inputs are counted by output, the outputs are ordered by their odds, and other
counts choose how many of them an attack names. Tens of millions of runs cost a second, so that rare
outputs are told apart, too.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.ask.declaration import Mechanism
from dpest.attacks.features import Coder, FeatureFamily, Splitter
from dpest.attacks.models import additive
from dpest.attacks.models.classifiers import AdditiveScorer, Scorer
from dpest.attacks.thresholds import OrderedScores
from dpest.running.native.runs import blocks_of, compiled_for
from dpest.running.native.signals import NotCompiled
from dpest.running.samples import Samples

Floats = NDArray[np.float64]

#: Outputs that are counted one by one; more are told apart by what they have in common.
MOST_OUTCOMES = 1 << 12
# Runs that are added to both counts of an output, so that a rare one needs more to stand out.
_ADDED = (0.5, 8.0, 128.0, 2048.0)
_STEPS = (0.5, 0.1, 0.02, 0.004)  # of the priors of additive models, as for those of samples
_WHOLE, _QUICK = FeatureFamily(leaves=True), FeatureFamily(leaves=True, signatures=64)
_LOOK = 40_000  # outputs that tell an additive model which ones are common
_SHOWN = 3  # outputs that the description of an attack names
_LARGE_BLOCK = 1 << 22  # runs that a worker counts at a time


@dataclass(frozen=True)
class OutcomeCounts:
    """The distinct outputs of runs on one input, and how often each came up."""

    outputs: Samples
    counts: NDArray[np.int64]

    @property
    def size(self) -> int:
        return int(self.counts.sum())


class OutcomeScorer:
    """The log-odds of each output, as counted; 0 for one that never came up."""

    def __init__(self, outputs: Samples, odds: Floats) -> None:
        self._outputs, self._odds = outputs, odds
        self._by_key = dict(zip(keys_of(outputs), odds.tolist(), strict=True))

    def scores(self, samples: Samples) -> Floats:
        return np.array([self._by_key.get(key, 0.0) for key in keys_of(samples)])

    def describe(self) -> str:
        return f"table of log-odds of {len(self._odds)} outputs"

    def words(self, low: float, high: float) -> str:
        held = np.flatnonzero((low < self._odds) & (self._odds < high))
        few = len(held) <= _SHOWN + 1
        shown = list(map(repr, self._outputs.take(held if few else held[:_SHOWN]).to_list()))
        listed = " or ".join(shown) if few else f"one of {len(held)}, such as {', '.join(shown)}"
        if low < 0.0 < high:  # the score of an output that never came up
            rest = f"none of the {len(self._odds)} that were counted"
            return f"the output is {listed}, or {rest}" if shown else f"the output is {rest}"
        return f"the output is {listed}" if shown else "no output"


def keys_of(samples: Samples) -> list[str]:
    """What tells discrete outputs from each other, in the order of the runs.

    They are written out, so that NaN is itself, and 0.0 is not -0.0.
    """
    keys = [""] * samples.size
    for group in samples.groups:
        shape, columns = repr(group.skeleton), [column.tolist() for column in group.columns]
        for place, row in enumerate(group.rows.tolist()):
            keys[row] = f"{shape} {[column[place] for column in columns]}"
    return keys


def countable(mechanism: Mechanism, x: Any) -> bool:
    """Has this code a native loop, and few outputs, all of them discrete?"""
    try:
        layout = compiled_for(mechanism, x).layout
    except NotCompiled:
        return False
    return (
        layout.countable
        and layout.codes <= MOST_OUTCOMES
        and not any(ending.raised is not None for ending in layout.endings.values())
    )


def count_outcomes(
    mechanism: Mechanism,
    draws: Sequence[tuple[Any, int, int]],
    map_blocks: Callable[..., list[Any]] | None = None,
) -> list[OutcomeCounts]:
    """How often each output came up in each (x, size, seed), whoever counts them."""
    places = [
        (which, number)
        for which, (_, size, _) in enumerate(draws)
        for number in range(-(-size // _LARGE_BLOCK))
    ]
    task = functools.partial(_count_block, mechanism, tuple(draws), tuple(places))
    if map_blocks is None:
        parts = [task(place) for place in range(len(places))]
    else:
        settings = ("native outcomes", tuple(draws))
        parts = map_blocks(task, range(len(places)), mechanism=mechanism, settings=settings)
    found = []
    for which, (x, _, _) in enumerate(draws):
        table = np.sum(
            [part for (w, _), part in zip(places, parts, strict=True) if w == which], axis=0
        )
        seen = np.flatnonzero(table)
        layout = compiled_for(mechanism, x).layout
        found.append(OutcomeCounts(layout.possible(seen), table[seen]))
    return found


def _count_block(
    mechanism: Mechanism,
    draws: tuple[tuple[Any, int, int], ...],
    places: tuple[tuple[int, int], ...],
    place: int,
) -> NDArray[np.int64]:
    """The counts by code of one large block."""
    which, number = places[place]
    x, size, seed = draws[which]
    compiled = compiled_for(mechanism, x)
    table = np.zeros(compiled.layout.codes, dtype=np.int64)
    runs = min(_LARGE_BLOCK, size - number * _LARGE_BLOCK)
    for count, stream in blocks_of(runs, (seed, number)):
        compiled.counts(count, stream, table)
    return table


def outcome_scorers(
    first: OutcomeCounts, second: OutcomeCounts, quick: bool = False
) -> list[Scorer]:
    """Scores of the outputs from how often they came up on two inputs.

    Odds of each on its own, with more or less doubt about the rare ones; and additive models, which
    know rare outputs by what they have in common with others.
    """
    pooled = Samples.concatenate([first.outputs, second.outputs])
    table: dict[str, list[int]] = {}
    for place, (key, count) in enumerate(
        zip(keys_of(pooled), [*first.counts.tolist(), *second.counts.tolist()], strict=True)
    ):
        table.setdefault(key, [place, 0, 0])[1 + (place >= first.outputs.size)] += count
    places, ones, twos = np.array(list(table.values())).T
    outputs = pooled.take(places)
    more = math.log(second.size / first.size)
    found: list[Scorer] = []
    for added in _ADDED[1:2] if quick else _ADDED:
        found.append(OutcomeScorer(outputs, np.log((ones + added) / (twos + added)) + more))
    family, steps = (_QUICK, _STEPS[1:2]) if quick else (_WHOLE, _STEPS)
    return [*found, *_additive_scorers(outputs, ones, twos, family, steps)]


def _additive_scorers(
    outputs: Samples,
    ones: NDArray[np.int64],
    twos: NDArray[np.int64],
    family: FeatureFamily,
    steps: Sequence[float],
) -> Iterator[AdditiveScorer]:
    """Additive models of all leaves, and of whole outputs, with priors of several strengths."""
    if outputs.size < 2:
        return
    total = ones + twos
    chances = np.random.default_rng(0)  # which outputs are common: nothing that a bound rests on
    look = outputs.take(chances.choice(outputs.size, _LOOK, p=total / total.sum()))
    splitter = Splitter(look)
    coder = Coder(splitter, splitter.parts(look), family)
    parts = splitter.parts(outputs)
    design = additive.Design(coder.features, coder.codes_of(parts), parts.size)
    model: additive.AdditiveModel | None = None
    for step in steps:
        model = additive.fit_counts(
            design, ones.astype(np.float64), twos.astype(np.float64), step=step, start=model
        )
        yield AdditiveScorer(coder, model)


def scores_of(scorer: Scorer, part: OutcomeCounts) -> OrderedScores:
    """The scores of runs that were counted."""
    return OrderedScores.counted(scorer.scores(part.outputs), part.counts)
