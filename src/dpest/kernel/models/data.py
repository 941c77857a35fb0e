"""The private data: what they may be, and what was derived from them (clips, comparisons).

Symbols: q0, q1, … are the entries of data of one length, q is the entry that a loop reads; q0_1 and
q_1 are further fields of a record. c… is a clipped form of data, i… an indicator of a comparison.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Literal

from ..fields import Extended, Fields, extended, listed, rational, text
from ..forms import ONE, ZERO, Box, Interval, Terms, greatest, least, read_terms
from ..invalid import need

Kind = Literal["reals", "integers"]
MOST_POINTS = 100_000
"""More points, corners or symbols than this are not looked at: the certificate is refused."""

_DERIVED = re.compile(r"[ci][0-9]+")


@dataclass(frozen=True)
class NumberDomain:
    """Numbers of one kind. `ranges`: the bounds of each field of an entry, where they are given.

    `declared`: the bounds without those of the adjacency's radius (`add_remove_one`).
    `width`: how far two entries differ at most, which `any_pair` needs.
    """

    kind: Kind
    width: Extended
    ranges: tuple[Interval, ...] = ()
    fields: tuple[str, ...] = ()
    form: str = "list"
    declared: tuple[Interval, ...] | None = None

    @property
    def size(self) -> int:
        """How many fields an entry has."""
        return max(len(self.ranges), 1)


@dataclass(frozen=True)
class DerivedNumber:
    """A number computed from data: clipped to [low, high], or 0 or 1 as a comparison says.

    `low` and `high` are without the form's constant, as differences are all that matters;
    `constant` is needed to know whether a clip of integers is one.
    """

    kind: Literal["clip", "indicator"]
    of: Terms
    constant: Fraction
    low: Extended
    high: Extended


@dataclass(frozen=True)
class PrivateData:
    """The domain and everything that is derived from one input, in the order of derivation."""

    domain: NumberDomain
    derived: Mapping[str, DerivedNumber]

    def entry(self, name: str) -> list[str]:
        """The symbols of one entry, field by field."""
        return [name, *(f"{name}_{k}" for k in range(1, self.domain.size))]

    def whole(self, inputs: frozenset[str]) -> frozenset[str]:
        """The symbols whose differences are integers: integer data, indicators, integer clips."""
        found = set(inputs) if self.domain.kind == "integers" else set()
        for symbol, rule in self.derived.items():
            numbers = (*rule.of.values(), rule.constant, rule.low, rule.high)
            if rule.kind == "indicator" or (
                found.issuperset(rule.of) and all(_is_whole(v) for v in numbers)
            ):
                found.add(symbol)
        return frozenset(found)

    def widened(self, face: Box, cut: bool) -> dict[str, Interval]:
        """The face with the ranges of derived data.

        A clip moves by no more than its width, which is used where `cut` says so: a vertex that
        stands for a convex hull may not be cut.
        """
        box = dict(face)
        for symbol, rule in self.derived.items():
            low, high = least(ZERO, rule.of, box), greatest(ZERO, rule.of, box)
            if rule.kind == "indicator":
                moves = any(tuple(box.get(k, (ZERO, ZERO))) != (ZERO, ZERO) for k in rule.of)
                low, high = (-ONE, ONE) if moves else (ZERO, ZERO)
            elif cut:
                low, high = max(low, rule.low - rule.high), min(high, rule.high - rule.low)
            box[symbol] = (min(low, ZERO), max(high, ZERO))
        return box


def _is_whole(value: Extended) -> bool:
    """An infinite end is no end: it does not matter."""
    return isinstance(value, float) or value.denominator == 1


def read_domain(fields: Fields) -> NumberDomain:
    kind = fields.text("kind")
    width = extended(fields.take("width"), "domain.width")
    ranges = _ranges(fields.optional("range"))
    names = fields.texts("fields") if fields.has("fields") else ()
    form = fields.text("form") if fields.has("form") else "list"
    declared = _ranges(fields.take("declared")) if fields.has("declared") else None
    fields.done()
    need(width > 0, "domain.width: not positive")
    need(form in ("list", "array", "number"), f"domain.form: {form!r}")
    need(not names or len(names) == len(ranges), "domain.fields: not one for each range")
    need(declared is None or len(declared) == len(ranges), "domain.declared: not one for each")
    if kind == "integers":
        return NumberDomain("integers", width, ranges, names, form, declared)
    need(kind == "reals", f"domain.kind: {kind!r}")
    return NumberDomain("reals", width, ranges, names, form, declared)


def _ranges(value: object) -> tuple[Interval, ...]:
    if value is None:
        return ()
    found = []
    for ends in listed(value, "domain.range"):
        low, high = (extended(e, "domain.range") for e in listed(ends, "domain.range", 2))
        need(low <= high and low < inf and high > -inf, "domain.range: no interval")
        found.append((low, high))
    need(bool(found), "domain.range: empty")
    return tuple(found)


def read_derived(fields: Fields, inputs: frozenset[str]) -> dict[str, DerivedNumber]:
    """Each is made of inputs and of what was derived before it, of nothing else."""
    found: dict[str, DerivedNumber] = {}
    table = Fields(fields.take("derived"), "derived")
    for symbol in table.names():
        need(
            _DERIVED.fullmatch(symbol) is not None,
            f"derived {symbol[:40]!r}: c… or i… and a number",
        )
        rule = table.inner(symbol)
        kind, of = rule.text("kind"), read_terms(rule.take("of"), rule.where)
        constant = rule.number("constant")
        low, high = listed(rule.take("ends"), rule.where, 2)
        rule.done()
        need(of.keys() <= inputs | found.keys(), f"{rule.where}: made of something else than data")
        ends = _end(low, -inf, rule.where), _end(high, inf, rule.where)
        need(ends[0] <= ends[1], f"{rule.where}: its ends are the wrong way round")
        if kind == "indicator":
            found[symbol] = DerivedNumber("indicator", of, constant, *ends)
        else:
            need(kind == "clip", f"{rule.where}.kind: {text(kind, rule.where)!r}")
            found[symbol] = DerivedNumber("clip", of, constant, *ends)
    return found


def _end(value: object, missing: float, where: str) -> Extended:
    return missing if value is None else rational(value, where)
