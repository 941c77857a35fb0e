"""Sums over records: what one record adds to each, case by case, and how far sums move.

Lemma (records). The cases are branches on the fields of one record that cover all records; in each,
the record adds an affine function of its fields to each sum t. Its fields lie in a box: the ranges
of the domain, cut by those conditions of the case that are about one field. So what a record may
add lies in the convex hull of what it adds at the corners of the boxes. Neighbours under
add_remove_one differ by ± that; under replace_one by a difference of two, or in two steps, each of
± one. An order statistic (maximum, median) of values moves by part of what its values move by.
Where a case has no corner but one the list of moves is complete, which integer noise needs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from ..adjacency import Neighbours
from ..farkas import Weights, need_empty, read_weights
from ..fields import Extended, Fields, listed, mapping, rational
from ..forms import ONE, ZERO, Interval, LinearInequality, Terms, combined, read_terms
from ..invalid import need
from .data import MOST_POINTS, PrivateData
from .decisions import Branch, held, need_all_branches, read_branch

Move = dict[str, Fraction]
_Point = tuple[tuple[str, Fraction], ...]


@dataclass(frozen=True)
class RecordCase:
    """What a record adds where the branch is taken; `empty`: weights that show that none is."""

    branch: Branch
    adds: Mapping[str, tuple[Fraction, Terms]]
    empty: Weights | None


@dataclass(frozen=True)
class RecordCases:
    cases: tuple[RecordCase, ...]
    statistics: frozenset[str]
    steps: int
    """Into how many steps neighbours are taken apart."""


def read_cases(fields: Fields) -> RecordCases:
    cases = tuple(_case(f) for f in fields.each("cases"))
    statistics = frozenset(fields.texts("statistics"))
    sums = {t for case in cases for t in case.adds}
    need(all(t.startswith("t") for t in sums | statistics), "cases: a sum is called t…")
    return RecordCases(cases, statistics, fields.whole("steps"))


def _case(fields: Fields) -> RecordCase:
    branch = read_branch(fields.take("if"), fields.where)
    adds: dict[str, tuple[Fraction, Terms]] = {}
    empty: Weights | None = None
    if fields.has("empty"):
        empty = read_weights(fields.take("empty"), fields.where)
    else:
        for name, value in mapping(fields.take("value"), fields.where).items():
            constant, terms = listed(value, fields.where, 2)
            adds[name] = rational(constant, fields.where), read_terms(terms, fields.where)
    fields.done()
    return RecordCase(branch, adds, empty)


def record_moves(
    cases: RecordCases, adjacency: Neighbours, data: PrivateData, integral: bool
) -> list[Move]:
    """All that neighbours may differ by in the sums, in one step."""
    _need_ranges(adjacency, data)
    points, complete = _contributions(cases, data)
    need(len(points) ** 2 <= MOST_POINTS, "cases: too many different records")
    steps = (adjacency.name, cases.steps)
    known = [("replace_one", 1)]
    if not cases.statistics:
        known += [("replace_one", 2), ("add_remove_one", 1)]
    need(steps in known, f"steps: {cases.steps} under {adjacency.name}")
    if steps == ("replace_one", 1):
        found = list(_differences(points, cases.statistics))
    else:
        found = [*points, *(tuple((t, -v) for t, v in point) for point in points)]
    if integral:
        steps_of_one = all(v.denominator == 1 for move in found for _, v in move)
        need(complete and not cases.statistics and steps_of_one, "cases: not by whole numbers")
    return [dict(move) for move in dict.fromkeys(found)]


def _need_ranges(adjacency: Neighbours, data: PrivateData) -> None:
    """With add_remove_one(r) a record is within [-r, r] and within the declared bounds."""
    domain, r = data.domain, adjacency.radius
    need(bool(domain.ranges), "domain.range: missing")
    if adjacency.shape.changes_length:
        bounds = domain.ranges if r == inf else ((-inf, inf),) * domain.size
        declared = domain.declared or bounds
        wanted = tuple((max(low, -r), min(high, r)) for low, high in declared)
        need(domain.ranges == wanted, "domain.range: not what the radius allows")
    else:
        need(domain.declared is None, "domain.declared: for records that come and go alone")


def _contributions(cases: RecordCases, data: PrivateData) -> tuple[list[_Point], bool]:
    """What one record may add at corners of its cases; whether that is all that it may add."""
    ranges = dict(zip(data.entry("q"), data.domain.ranges, strict=True))
    known = [c for symbol, ends in ranges.items() for c in _within(symbol, ends)]
    need_all_branches((case.branch for case in cases.cases), "cases")
    found: dict[_Point, bool] = {}
    for case in cases.cases:
        conditions = held(case.branch)
        need(all(c.symbols <= ranges.keys() for c in conditions), "cases: unknown data")
        if case.empty is not None:
            need_empty([*known, *conditions], case.empty, {}, "a case")
            continue
        box = _box(ranges, conditions)
        used = sorted({k for _, terms in case.adds.values() for k in terms})
        need(ranges.keys() >= set(used), "cases: unknown data")
        if any(low > high for low, high in box.values()):
            continue
        for point in _corners(case, used, box):
            found[point] = found.get(point, True) and not used
            need(len(found) <= MOST_POINTS, "cases: too many different records")
    return list(found), all(found.values())


def _within(symbol: str, ends: Interval) -> Iterator[LinearInequality]:
    for sign, end in ((ONE, ends[0]), (-ONE, ends[1])):
        if not isinstance(end, float):
            yield LinearInequality(-sign * end, ((symbol, sign),), False)


def _box(
    ranges: Mapping[str, Interval], conditions: Sequence[LinearInequality]
) -> dict[str, Interval]:
    """Where the fields of a record are; conditions on several of them only make it less."""
    box = dict(ranges)
    for condition in conditions:
        if len(condition.terms) == 1:
            ((symbol, slope),) = condition.terms
            low, high = box[symbol]
            cut: Extended = -condition.constant / slope
            box[symbol] = (max(low, cut), high) if slope > 0 else (low, min(high, cut))
    return box


def _corners(case: RecordCase, used: list[str], box: Mapping[str, Interval]) -> Iterator[_Point]:
    ends: list[list[Fraction]] = []
    for symbol in used:
        here = [e for e in box[symbol] if not isinstance(e, float)]
        need(len(here) == 2, "cases: a record adds anything")
        ends.append(here)
    need(len(used) <= 16, "cases: too many fields")
    for corner in itertools.product(*ends):
        at = dict(zip(used, corner, strict=True))
        yield tuple(
            sorted(
                (name, value)
                for name, (constant, terms) in case.adds.items()
                if (value := constant + sum((v * at[k] for k, v in terms.items()), ZERO))
            )
        )


def _differences(points: list[_Point], statistics: frozenset[str]) -> Iterator[_Point]:
    """What two records differ by; an order statistic moves by all of it or not at all."""
    for before, after in itertools.product(points, points):
        move = sorted(combined((ONE, dict(after)), (-ONE, dict(before))).items())
        need(sum(t in statistics for t, _ in move) <= 10, "cases: too many order statistics")
        options = [(part, None) if part[0] in statistics else (part,) for part in move]
        for chosen in itertools.product(*options):
            yield tuple(part for part in chosen if part is not None)
