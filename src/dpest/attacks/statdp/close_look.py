"""Where a curve needs more runs than a verdict: a few families of events, counted very often.

Of all that was counted on the runs of the selection a few families on a few pairs promise most.
Their tables are summed over many more runs, and the events are chosen by these sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpest.attacks.statdp.families import Family, Ints, Reading, rare_limit
from dpest.attacks.statdp.hypothesis_test import promise
from dpest.attacks.statdp.laboratory import Case, Laboratory, named_seed
from dpest.attacks.statdp.selector import Search

_MOST_FAMILIES = 8
# A family is worth a close look if it promises this share of the best, at some ε.
_WORTH = 0.7
# So many runs a side are held in memory at a time.
_PART = 1 << 20


@dataclass(frozen=True)
class Leader:
    """A family on one of the pairs, and the counts of its best event at some ε.

    `share` is what it promises there, in parts of what the best of all families does.
    """

    pair: int
    family: Family
    large: int
    small: int
    share: float


def leaders(
    finalists: Sequence[tuple[Case, Search]], epsilons: Sequence[float], caution: float
) -> list[Leader]:
    """The families that promise most, at some ε of the list; the best first.

    Two families of one pair whose best events happened equally often on both sides are the same
    event in other words: the first stands for both.
    """
    tops: list[list[Leader]] = [[] for _ in epsilons]
    for number, (_, counted) in enumerate(finalists):
        for block in counted.blocks:
            for large, small in ((block.c1, block.c2), (block.c2, block.c1)):
                scores, total = promise(large, small, caution), large + small
                for top, epsilon in zip(tops, epsilons, strict=True):
                    often = np.flatnonzero(total >= rare_limit(block.runs, epsilon))
                    if len(often):
                        at = often[int(np.argmax(scores[often]))]
                        counts = int(large[at]), int(small[at])
                        top.append(Leader(number, block.family, *counts, float(scores[at])))
    found: dict[tuple[int, Family], Leader] = {}
    for top in tops:
        most = max((leader.share for leader in top), default=0.0)
        for leader in top if most > 0 else ():
            share = leader.share / most
            known = found.get((leader.pair, leader.family))
            if known is None or known.share < share:
                found[(leader.pair, leader.family)] = replace(leader, share=share)
    ranked = sorted(found.values(), key=lambda leader: -leader.share)
    kept: dict[tuple[int, int, int], Leader] = {}
    for leader in ranked:
        if leader.share >= _WORTH and len(kept) < _MOST_FAMILIES:
            kept.setdefault((leader.pair, leader.large, leader.small), leader)
    return list(kept.values())


def look_closely(
    laboratory: Laboratory, case: Case, families: Sequence[Family], runs: int
) -> Search:
    """The events of some families on one pair, counted on `runs` new outputs a side."""
    sampler = laboratory.sampler(case)
    tables: list[Ints | None] = [None] * len(families)
    name = repr(case)
    for part, start in enumerate(range(0, runs, _PART)):
        size = min(_PART, runs - start)
        draws = [
            (x, size, named_seed(laboratory.seed, "close look", name, side, part))
            for side, x in enumerate((case.x, case.x2))
        ]
        reading = Reading(*laboratory.draw_all(sampler, draws))
        for i, family in enumerate(families):
            table = family.table(reading)
            known = tables[i]
            tables[i] = table if known is None else known + table
    search = Search()
    for family, total in zip(families, tables, strict=True):
        if total is not None:
            search.add(family, total, runs)
    return search
