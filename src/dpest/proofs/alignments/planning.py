"""All regions and all faces of the differences, covered by alignments of least cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count
from typing import Any

from dpest.geometry.linear import Symbol
from dpest.proofs.alignments.alignment import Alignment, Face, Problem, align, climb, points
from dpest.proofs.alignments.linear_program import InexactError, InfeasibleError
from dpest.proofs.alignments.renaming import UnnamedProblem, named, renamed

_CLOSE = 1e-9
_TOLERANCE = 1e-7
_MOST_BRANCHES = 400


@dataclass(frozen=True)
class AlignmentPlan:
    """Alignments that together cover every region and face, and the worst cost among them."""

    cost: Fraction | None
    alignments: Sequence[tuple[int, int, Alignment]]
    stuck: tuple[int, Face] | None = None
    """The region and the face for which no shift was found, when cost is None."""


def plan(problems: Sequence[Problem], components: Sequence[Sequence[Face]]) -> AlignmentPlan:
    """Cover all regions and all faces, branching on corners of a box where that lowers the cost.

    A component is a set of faces whose convex hull is a part of the adjacency set.
    """
    cover = _Cover(problems)
    for region in range(len(problems)):
        for component, faces in enumerate(components):
            for face in faces:
                cover.add(region, component, face)
    if not cover.queue:
        return AlignmentPlan(Fraction(0), ())
    budget = _MOST_BRANCHES
    while -cover.queue[0][0] > cover.reached + _TOLERANCE and budget > 0:
        branches = cover.branch()
        if not branches:
            break
        budget -= branches
    _, _, region, _, face, worst = cover.queue[0]
    if worst is None:
        return AlignmentPlan(None, (), (region, face))
    in_order = sorted(cover.queue, key=lambda e: (e[2], e[3], e[1]))
    done = [(r, c, a) for _, _, r, c, _, a in in_order if a]
    return AlignmentPlan(max(a.cost for _, _, a in done), done)


class _Cover:
    """Faces with their alignments, the most costly one first; equal problems are solved once.

    `reached` is the greatest cost that no alignment can avoid.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = problems
        self.queue: list[tuple[float, int, int, int, Face, Alignment | None]] = []
        self.reached = -1.0
        self._order = count()
        self._answers: dict[Any, tuple[UnnamedProblem, Alignment | None, float]] = {}

    def add(self, region: int, component: int, face: Face) -> None:
        problem = self.problems[region]
        relevant = problem.data_symbols()
        face = {s: ends for s, ends in face.items() if s in relevant}
        name = named(problem, face)
        known = self._answers.get(name.key)
        if known is not None:
            found = known[1] and renamed(known[1], known[0], name)
            cost = known[2]
        else:
            found, cost = self._solve(problem, face)
            self._answers[name.key] = (name, found, cost)
        heappush(self.queue, (-cost, next(self._order), region, component, face, found))

    def branch(self) -> int:
        """Split the most costly face at a corner, if it can be; into how many."""
        _, _, region, component, face, found = self.queue[0]
        problem = self.problems[region]
        ways = {s: points(s, face[s], problem.integral, problem.whole) for s in face}
        free = [s for s, (low, high) in face.items() if low != high and ways[s]]
        if not free:
            return 0
        heappop(self.queue)
        split = free[0] if found is None else max(free, key=lambda s: _weight(found, s))
        for end in ways[split]:
            self.add(region, component, {**face, split: (end, end)})
        return len(ways[split])

    def _solve(self, problem: Problem, face: Face) -> tuple[Alignment | None, float]:
        found: Alignment | None
        try:
            found = align(problem, face)
        except (InfeasibleError, InexactError):
            found = None
        cost = math.inf if found is None else float(found.cost)
        bounded = all(math.isfinite(end) for ends in face.values() for end in ends)
        if cost > self.reached + _CLOSE and bounded:
            start = found.corner if found else {s: low for s, (low, _) in face.items()}
            self.reached = max(self.reached, climb(problem, face, start)[0])
        return found, cost


def _weight(found: Alignment, symbol: Symbol) -> Fraction:
    return sum((abs(b.slopes.get(symbol, Fraction(0))) for b in found.bounds.values()), Fraction(0))
