"""A person with up to k rows comes, goes, or becomes another.

Its rows move the sums one after the other: each is replaced, comes or goes, k of them at most.
Costs are seminorms of what is moved, so that they add up: k times that of one row, and that of
what there is once for each person. (Samples of rows are not looked at.)
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from .accountant import ZERO, StageLoss
from .cases import joint_cases
from .costs import gaussian_cost, laplace_cost
from .enclosures import rounded, sqrt_range
from .moves import moves
from .reach import Move
from .shifts import atoms
from .stages import Stage
from .terms import size
from .ways import Private, Shift, StageWay


def sums_of_several_rows(way: StageWay, stage: Stage) -> set[Private]:
    """The sums that one person may be in with several rows."""
    found = atoms(way, stage.symbols())
    return {p for p in found if p.passed >= 0 and way.passes[p.passed].times > 1}


def steps_of_people(
    way: StageWay,
    kinds: Mapping[str, Mapping[int, Shift]],
    rows: set[Private],
    once: set[Private],
) -> list[StageLoss]:
    """The steps of sums that a person is in with several `rows`, or `once`."""
    times = max(way.passes[p.passed].times for p in rows)
    moved = list(moves(way, rows))
    if way.replace:
        moved += [
            Move({k: size(r) for k, r in a.ranges.items()}, a.groups, a.ranges)
            for a in joint_cases(way, rows, False)
        ]
    still: dict[Private, Fraction | None] = dict.fromkeys((*rows, *once), ZERO)
    of_rows = [Move({**still, **m.sizes}, m.groups, m.ranges) for m in moved]
    moved_once = moves(way, once) if once else []
    alone = [Move({**still, **m.sizes}, m.groups, m.ranges) for m in moved_once]
    steps = []
    if kinds["gauss"]:
        first, second = (
            max((gaussian_cost(way, kinds["gauss"], m) for m in listed), default=ZERO)
            for listed in (of_rows, alone)
        )
        both = times * sqrt_range(first)[1] + sqrt_range(second)[1]
        exact = times**2 * first if not second else both**2
        steps.append(StageLoss("gauss", rounded(exact, True, 160)))
    if kinds["laplace"]:
        first, second = (
            max((laplace_cost(way, kinds["laplace"], m) for m in listed), default=ZERO)
            for listed in (of_rows, alone)
        )
        steps.append(StageLoss("pure", times * first + second))
    return steps
