"""What one record adds to sums, case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from .terms import Range, RecordCondition, RecordForm
from .ways import Private, StageCase, StageWay

MOST_CASES = 3000


@dataclass(frozen=True)
class Added:
    """Where what one case adds to each symbol lies, and how long groups of them are at most."""

    ranges: Mapping[Private, Range]
    groups: tuple[tuple[frozenset[Private], Fraction], ...]


def joint_cases(way: StageWay, symbols: set[Private], sampled: bool) -> list[Added]:
    """What a record adds in each case of all passes; cases that exclude each other are left out."""
    passes = sorted({p.passed for p in symbols})
    joint: list[tuple[tuple[RecordCondition, ...], tuple[StageCase, ...]]] = [((), ())]
    for p in passes:
        longer = []
        for conditions, chosen in joint:
            for case in way.passes[p].cases:
                both = tuple(dict.fromkeys((*conditions, *case.conditions)))
                if sampled and any(c.relation == "out" for c in case.conditions):
                    continue
                if not way.terms.empty(both):
                    longer.append((both, (*chosen, case)))
            if len(longer) > MOST_CASES:
                return [separate_passes(way, passes, symbols)]
        joint = longer
    found = []
    for conditions, chosen in joint:
        cases = dict(zip(passes, chosen, strict=True))
        adds = {k: cases[k.passed].adds[k.place] for k in sorted(symbols)}
        found.append(added_in_case(way, conditions, adds))
    return found


def added_in_case(
    way: StageWay, conditions: Sequence[RecordCondition], adds: Mapping[Private, RecordForm]
) -> Added:
    box = way.terms.box(conditions)
    ranges = {k: way.terms.range_of(form, box) for k, form in adds.items()}
    moving = {k: f for k, f in adds.items() if f.terms or f.constant}
    return Added(ranges, tuple(way.terms.within(moving, conditions)))


def separate_passes(way: StageWay, passes: Sequence[int], symbols: set[Private]) -> Added:
    """Passes whose cases are too many to join: each at its worst."""
    ranges: dict[Private, Range] = {}
    groups: list[tuple[frozenset[Private], Fraction]] = []
    for p in passes:
        mine = {k for k in symbols if k.passed == p}
        one = hull_of(
            [
                added_in_case(way, case.conditions, {k: case.adds[k.place] for k in mine})
                for case in way.passes[p].cases
                if not way.terms.empty(case.conditions)
            ],
            mine,
        )
        ranges.update(one.ranges)
        groups += one.groups
    return Added(ranges, tuple(groups))


def hull_of(many: Sequence[Added], symbols: set[Private]) -> Added:
    """One range for all; a group only if each case has it."""
    ranges: dict[Private, Range] = {}
    for k in symbols:
        lows = [low for a in many if (low := a.ranges[k][0]) is not None]
        highs = [high for a in many if (high := a.ranges[k][1]) is not None]
        ranges[k] = (
            min(lows) if len(lows) == len(many) else None,
            max(highs) if len(highs) == len(many) else None,
        )
    groups = []
    for group, _ in many[0].groups if many else ():
        found = [dict(a.groups).get(group) for a in many]
        if None not in found:
            groups.append((group, max(b for b in found if b is not None)))
    return Added(ranges, tuple(groups))
