"""Where a curve needs more runs than a verdict: a few families of events, counted very often.

Of all that was counted on the runs of the selection a few families on a few pairs promise most.
Their tables are summed over many more runs, and the events are chosen by these sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpest.attacks.statdp.families import EventFamily, Ints, PairedOutputs, rare_limit
from dpest.attacks.statdp.hypothesis_test import promise
from dpest.attacks.statdp.laboratory import InputCase, Laboratory, named_seed
from dpest.attacks.statdp.selector import EventSearch

# A family is worth a close look if it promises this share of the best, at some ε.
_WORTH = 0.7
# The ε that matter are those near to what the best event promises: in these parts of it.
_NEAR = (0.7, 1.4)
# The looks: parts of the runs of the last one, and how many families take part.
_LOOKS = ((1 / 16, 8), (1 / 4, 4), (1.0, 2))
# Sigmas that what a family promises must survive.
_CAUTION = 2.0
# So many runs a side are held in memory at a time.
_PART = 1 << 20


@dataclass(frozen=True)
class Leader:
    """A family on one of the pairs, and its best event at an ε.

    `promise` is what that event shows with its counts some sigmas worse; `share` is the same in
    parts of what the best of all families promises.
    """

    pair: int
    family: EventFamily
    large: int
    small: int
    promise: float
    share: float = 1.0


# For each ε that matters the leaders, the best first.
Front = list[tuple[float, list[Leader]]]


def front(finalists: Sequence[tuple[InputCase, EventSearch]], epsilons: Sequence[float]) -> Front:
    """The best event of each family at each ε near to where the curve rises."""
    found: Front = [(epsilon, []) for epsilon in epsilons]
    for number, (_, counted) in enumerate(finalists):
        for block in counted.blocks:
            for large, small in ((block.c1, block.c2), (block.c2, block.c1)):
                scores, total = promise(large, small, _CAUTION), large + small
                for epsilon, here in found:
                    often = np.flatnonzero(total >= rare_limit(block.runs, epsilon))
                    if len(often):
                        at = often[int(np.argmax(scores[often]))]
                        counts = int(large[at]), int(small[at])
                        here.append(Leader(number, block.family, *counts, float(scores[at])))
    for _, here in found:
        here.sort(key=lambda leader: -leader.promise)
    found = [
        (epsilon, [replace(x, share=x.promise / here[0].promise) for x in here])
        for epsilon, here in found
        if here and here[0].promise > 0
    ]
    low, high = _NEAR
    near = [(e, here) for e, here in found if low <= e / here[0].promise <= high]
    return near or found


def leaders(at: Front, most: int) -> list[Leader]:
    """The families that promise most, at some ε; the best first.

    Two families of one pair whose best events happened equally often on both sides are the same
    event in other words: the first stands for both.
    """
    found: dict[tuple[int, EventFamily], Leader] = {}
    for _, here in at:
        for leader in here:
            known = found.get((leader.pair, leader.family))
            if known is None or known.share < leader.share:
                found[(leader.pair, leader.family)] = leader
    kept: dict[tuple[int, int, int], Leader] = {}
    for leader in sorted(found.values(), key=lambda leader: -leader.share):
        if leader.share >= _WORTH and len(kept) < most:
            kept.setdefault((leader.pair, leader.large, leader.small), leader)
    return list(kept.values())


def runs_to_tell(at: Front, runs: int, precision: float) -> int:
    """How many runs tell on which side of each ε its best event lies, by counts in `runs`.

    To a share `precision` of ε, or to a quarter of the distance where it is far.
    """
    most = 0
    for epsilon, here in at:
        best = here[0]
        error = max(precision * epsilon, (best.promise - epsilon) / 4)
        variance = 1 / max(best.large, 1) + 1 / max(best.small, 1)
        most = max(most, math.ceil(runs * variance / error**2))
    return most


def look_closely(
    laboratory: Laboratory,
    finalists: Sequence[tuple[InputCase, EventSearch]],
    epsilons: Sequence[float],
    runs: Callable[[Front], int],
    least: int,
) -> tuple[list[tuple[InputCase, EventSearch]], int]:
    """The events of the best families, counted on new outputs; and how many of them, a side.

    `runs` says how many, knowing the best families by the search. They are drawn in a few looks,
    the first of at least `least`, and only the best families go on to the next; the tables of all
    looks add up.
    """
    at = front(finalists, epsilons)
    total = runs(at)
    tables = Tables(laboratory)
    counted: list[tuple[InputCase, EventSearch]] = []
    for part, most in _LOOKS:
        if counted:
            at = front(counted, epsilons)
        best = leaders(at, most)
        size = min(total, max(least, int(total * part)))
        counted = [
            (case, tables.search(case, [x.family for x in best if x.pair == n], size))
            for n, (case, _) in enumerate(finalists)
        ]
        if size == total:
            break
    return counted, total


class Tables:
    """Tables of families, each with the runs that it was counted on."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory
        self._known: dict[EventFamily, tuple[Ints, int]] = {}

    def search(self, case: InputCase, families: Sequence[EventFamily], runs: int) -> EventSearch:
        """The events of some families on one pair, counted on `runs` outputs a side.

        Families that come together stay together, or are left out later.
        """
        done = min((self._known[f][1] if f in self._known else 0 for f in families), default=runs)
        for start in range(done, runs, _PART):
            self._count(case, families, start, min(_PART, runs - start))
        search = EventSearch()
        for family in families:
            search.add(family, *self._known[family])
        return search

    def _count(
        self, case: InputCase, families: Sequence[EventFamily], start: int, size: int
    ) -> None:
        seeds = (named_seed(self.laboratory.seed, "close look", repr(case), s, start) for s in "ab")
        draws = [(x, size, seed) for x, seed in zip((case.x, case.x2), seeds, strict=True)]
        sampler = self.laboratory.sampler(case)
        reading = PairedOutputs(*self.laboratory.draw_all(sampler, draws))
        for family in families:
            table, done = family.table(reading), 0
            if family in self._known:
                before, done = self._known[family]
                table = table + before
            self._known[family] = (table, done + size)
