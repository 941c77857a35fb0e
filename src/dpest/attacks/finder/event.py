"""DP-Finder's events Φ: a pattern of discrete values, and an interval for each real one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.ask.declaration import Mechanism
from dpest.attacks.statdp.discrete import NUMBER
from dpest.attacks.statdp.events import Range
from dpest.attacks.statdp.features import NUMERIC, equals, same_source, show
from dpest.geometry.linear import Condition, Form, rational
from dpest.reading.paths import Path
from dpest.running.samples import Samples, SkeletonGroup
from dpest.running.skeleton import flatten, leaf_kind, leaf_kinds


@dataclass(frozen=True)
class PatternEvent:
    """Outputs whose leaves are `pattern`; NUMBER stands for a number in `ranges`, or for any."""

    pattern: tuple[Any, ...]
    ranges: Mapping[int, Range] = field(default_factory=dict)

    def range_of(self, leaf: int) -> Range:
        return self.ranges.get(leaf, Range())

    def mask(self, samples: Samples) -> NDArray[np.bool_]:
        """One boolean per output, in order."""
        return samples.where(self._inside)

    def _inside(self, group: SkeletonGroup) -> NDArray[np.bool_]:
        inside = np.zeros(len(group.rows), dtype=bool)
        if len(group.columns) != len(self.pattern):
            return inside
        inside[:] = True
        for leaf, wanted in enumerate(self.pattern):
            if wanted is not NUMBER:
                inside &= equals(group, leaf, wanted)
            elif group.kinds[leaf] not in NUMERIC:
                inside[:] = False
            else:
                values = np.asarray(group.columns[leaf], dtype=np.float64)
                inside &= self.range_of(leaf).contains(values)
        return inside

    def count(self, samples: Samples) -> int:
        return int(np.count_nonzero(self.mask(samples)))

    def holds(self, output: Any) -> bool:
        """Is one output in the event? Works on traced values, too: comparisons fork there."""
        leaves = flatten(output)[1]
        if len(leaves) != len(self.pattern):
            return False
        for place, (leaf, wanted) in enumerate(zip(leaves, self.pattern, strict=True)):
            kind = leaf_kind(leaf)
            if wanted is NUMBER:
                if kind not in (*NUMERIC, "real") or not self._within(place, leaf):
                    return False
            elif kind == "real":
                return False
            else:
                other = leaf_kind(wanted)
                if kind != other and not (kind in NUMERIC and other in NUMERIC):
                    return False
                if kind != "none" and not bool(leaf == wanted):
                    return False
        return True

    def _within(self, place: int, value: Any) -> bool:
        wanted = self.range_of(place)
        if wanted.low != -math.inf and not (
            value >= wanted.low if wanted.low_closed else value > wanted.low
        ):
            return False
        if wanted.high == math.inf:
            return True
        return bool(value <= wanted.high if wanted.high_closed else value < wanted.high)

    def conditions_on(self, path: Path) -> tuple[Condition, ...] | None:
        """What must hold on a path beside its own conditions; None if it never gives the event.

        For a path whose leaves hold no indicators (see `reading.trace.expand_indicators`).
        """
        if len(path.leaves) != len(self.pattern):
            return None
        found: list[Condition] = []
        for leaf, (value, wanted) in enumerate(zip(path.leaves, self.pattern, strict=True)):
            if wanted is NUMBER:
                number = value if isinstance(value, Form) else _number(value)
                if number is None:
                    return None
                found += _within(number, self.range_of(leaf))
            elif isinstance(value, Form):
                target = _number(wanted)
                if target is None:
                    return None
                found.append(Condition(value.plus(target, -1), "=="))
            elif type(value) is not type(wanted) or value != wanted:
                return None
        kept = []
        for condition in found:
            known = condition.decided()
            if known is False:
                return None
            if known is None:
                kept.append(condition)
        return tuple(kept)

    @property
    def words(self) -> str:
        texts = ["…" if v is NUMBER else show(v) for v in self.pattern]
        alone = len(texts) == 1
        ranges = [
            self.range_of(i).words("the output" if alone else f"element {i}", False)
            for i, v in enumerate(self.pattern)
            if v is NUMBER and not self.range_of(i).everything
        ]
        if alone and self.pattern[0] is NUMBER:
            return ranges[0] if ranges else "the output is any number"
        if all(v is NUMBER for v in self.pattern) and ranges:
            return " and ".join(ranges)
        shape = texts[0] if alone else f"[{', '.join(texts)}]"
        return " and ".join([f"the output is {shape}", *ranges])

    @property
    def source(self) -> str:
        """A Python expression over `leaves`, with the names of `statdp.replay`."""
        tests = [f"len(leaves) == {len(self.pattern)}"]
        for i, v in enumerate(self.pattern):
            if v is NUMBER:
                tests.append(self.range_of(i).source(f"number(leaves, {i})"))
            else:
                tests.append(same_source(f"leaves[{i}]", v))
        return " and ".join(tests)

    def __str__(self) -> str:
        return self.words


def _number(value: Any) -> Form | None:
    if isinstance(value, (bool, int, float)) and math.isfinite(value):
        return Form.number(value)
    return None


def _within(form: Form, wanted: Range) -> list[Condition]:
    found = []
    if wanted.low != -math.inf:
        above = form.plus(Form.number(rational(wanted.low)), -1)
        found.append(Condition(above, ">=" if wanted.low_closed else ">"))
    if wanted.high != math.inf:
        below = form.times(-1).plus(Form.number(rational(wanted.high)))
        found.append(Condition(below, ">=" if wanted.high_closed else ">"))
    return found


def pattern_of(path: Path, bits: Mapping[Any, bool]) -> tuple[Any, ...]:
    """The pattern of a path's leaves where its indicators have the given values.

    A leaf with noise or inputs in it is a NUMBER; one with indicators alone has a value.
    """
    pattern: list[Any] = []
    for kind, leaf in zip(leaf_kinds(path.skeleton), path.leaves, strict=True):
        if not isinstance(leaf, Form):
            pattern.append(leaf)
        elif any(s.kind != "indicator" for s in leaf.terms):
            pattern.append(NUMBER)
        else:
            value = leaf.substitute({s: Form.number(int(bits[s])) for s in leaf.terms}).constant
            plain: Any = bool(value) if kind == "bool" else float(value)
            pattern.append(int(value) if kind == "int" else plain)
    return tuple(pattern)


def event_mechanism(mechanism: Mechanism, event: PatternEvent) -> Mechanism:
    """The mechanism followed by the question "was the event observed?".

    Its two outputs have the event's probability and the complement's, on every input; so the exact
    loss of this mechanism is what the event alone shows about ε.
    """

    def observed(x: Any, rng: Any) -> bool:
        return event.holds(mechanism(x, rng))

    return Mechanism(observed, f"{mechanism.name}: {event.words}")
