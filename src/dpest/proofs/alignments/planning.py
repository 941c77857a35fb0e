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
    order = count()
    answers: dict[Any, tuple[UnnamedProblem, Alignment | None, float]] = {}
    queue: list[tuple[float, int, int, int, Face, Alignment | None]] = []
    reached = -1.0  # the greatest cost that no alignment can avoid

    def solve(problem: Problem, face: Face) -> tuple[Alignment | None, float]:
        nonlocal reached
        found: Alignment | None
        try:
            found = align(problem, face)
        except (InfeasibleError, InexactError):
            found = None
        cost = math.inf if found is None else float(found.cost)
        bounded = all(math.isfinite(end) for ends in face.values() for end in ends)
        if cost > reached + _CLOSE and bounded:
            start = found.corner if found else {s: low for s, (low, _) in face.items()}
            reached = max(reached, climb(problem, face, start)[0])
        return found, cost

    def add(region: int, component: int, face: Face) -> None:
        relevant = problems[region].data_symbols()
        face = {s: ends for s, ends in face.items() if s in relevant}
        name = named(problems[region], face)
        known = answers.get(name.key)
        if known is not None:
            found = known[1] and renamed(known[1], known[0], name)
            cost = known[2]
        else:
            found, cost = solve(problems[region], face)
            answers[name.key] = (name, found, cost)
        heappush(queue, (-cost, next(order), region, component, face, found))

    for region in range(len(problems)):
        for component, faces in enumerate(components):
            for face in faces:
                add(region, component, face)
    if not queue:
        return AlignmentPlan(Fraction(0), ())
    budget = _MOST_BRANCHES
    while -queue[0][0] > reached + _TOLERANCE and budget > 0:
        _, _, region, component, face, found = queue[0]
        ways = {
            s: points(s, face[s], problems[region].integral, problems[region].whole) for s in face
        }
        free = [s for s, (low, high) in face.items() if low != high and ways[s]]
        if not free:
            break
        heappop(queue)
        split = free[0] if found is None else max(free, key=lambda s: _weight(found, s))
        for end in ways[split]:
            add(region, component, {**face, split: (end, end)})
            budget -= 1
    _, _, region, _, face, worst = queue[0]
    if worst is None:
        return AlignmentPlan(None, (), (region, face))
    done = [(r, c, a) for _, _, r, c, _, a in sorted(queue, key=lambda e: (e[2], e[3], e[1])) if a]
    return AlignmentPlan(max(a.cost for _, _, a in done), done)


def _weight(found: Alignment, symbol: Symbol) -> Fraction:
    return sum((abs(b.slopes.get(symbol, Fraction(0))) for b in found.bounds.values()), Fraction(0))
