"""Finite: exact probabilities of every output on every input of a small domain.

Lemma. Let a = e^(-unit/D), with D the certificate's denominator; a is in (0, 1) for every positive
unit. For each input the table gives the probability of every output as a ratio of polynomials in a
(constants where there is no unit). If P·a^k ≤ P' on (0, 1) for all neighbours and outputs, then
P ≤ e^(k/D·unit)·P': ε is k/D units. Without a unit, P ≤ f·P' is e^ε ≤ f. Where the outputs are
independent parts, a table each, the greatest ratio is the product of the parts' greatest ratios.

With `entries: each` the inputs are data of one entry, and the program does the same for each entry
of its data with draws of its own (which is not shown here: the statement says so). Where neighbours
differ in one entry, the other outputs have the same law on both sides: all lengths have the bound.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from ..adjacency import Neighbours
from ..fields import Fields, listed, mapping, rational
from ..header import Header
from ..invalid import Invalid, need
from ..polynomials import Polynomial, is_non_negative, is_positive, minus, plus, times
from ..statement import Finding, Inputs, Lengths

Chance = tuple[Polynomial, Polynomial]
Table = Mapping[str, Chance]
Value = object
"""An input: a JSON scalar, or a list of them."""
_MOST_COEFFICIENTS = 2000


@dataclass(frozen=True)
class TableBound:
    """ε = power/denominator units, or e^ε = factor."""

    power: int
    factor: Fraction
    symbolic: bool


def check(header: Header, fields: Fields) -> Finding:
    values = _values(fields.inner("domain"))
    bound = _bound(header, fields)
    each = fields.optional("entries")
    tables = [(f.take("input"), _tables(f, bound.symbolic)) for f in fields.each("tables")]
    fields.done()
    listed_inputs = sorted(_shown(x) for x, _ in tables)
    need(listed_inputs == sorted(_shown(x) for x in values), "tables: not those of the domain")
    need(len(set(listed_inputs)) == len(listed_inputs) > 0, "tables: an input twice, or none")
    for (x, first), (x2, second) in itertools.permutations(tables, 2):
        if _neighbours(x, x2, header.adjacency):
            _need_close(first, second, bound, f"{_shown(x)} against {_shown(x2)}")
    lengths, assumptions = _lengths(values), header_assumptions(header)
    if each is None:
        need(header.length == 1, "length: not 1, as that of a table is")
    else:
        need(each == "each", "entries: neither each nor missing")
        _need_one_of_many(header, values)
        lengths = Lengths()
        own = "the program does for each entry what it does for one, with draws of its own"
        assumptions = (*assumptions, own)
    inputs = Inputs("finite", values=tuple(_shown(x) for x in values))
    if bound.symbolic:
        return Finding("epsilon", header.value(), lengths, (inputs,), assumptions=assumptions)
    return Finding("exponential", bound.factor, lengths, (inputs,), 0, assumptions)


def header_assumptions(header: Header) -> tuple[str, ...]:
    need(header.adjacency.own, "adjacency: neighbours in a list are known for the kernel's own")
    same = not header.adjacency.shape.changes_length
    need(same, "adjacency: neighbours in a list have the same length")
    return ()


def _bound(header: Header, fields: Fields) -> TableBound:
    power, denominator = fields.take("power"), fields.whole("denominator")
    factor = fields.take("exponential")
    if header.unit is None:
        need(power is None and denominator == 1 and header.bound is None, "power: there is no unit")
        value = rational(factor, "exponential")
        need(value >= 1, "exponential: below 1")
        return TableBound(0, value, False)
    if type(power) is not int or not 0 <= power <= _MOST_COEFFICIENTS:
        raise Invalid("power: not a small whole number")
    need(factor is None and denominator > 0, "exponential: there is a unit; or the denominator")
    need(header.value() == Fraction(power, denominator), "epsilon: not power/denominator")
    return TableBound(power, Fraction(1), True)


def _values(fields: Fields) -> list[Value]:
    need(fields.text("kind") == "finite", "domain.kind: not finite")
    found = listed(fields.take("values"), "domain.values")
    fields.done()
    need(all(_is_input(x) for x in found), "domain.values: neither numbers nor texts nor lists")
    return found


def _is_input(value: object, depth: int = 3) -> bool:
    if isinstance(value, (list, tuple)):
        return depth > 0 and all(_is_input(v, depth - 1) for v in value)
    return value is None or isinstance(value, (bool, int, float, str))


def _shown(value: object) -> str:
    return json.dumps(value)


def _lengths(values: list[Value]) -> Lengths:
    """Read off the inputs: the certificate's own word is a convention."""
    found = {len(x) if isinstance(x, (list, tuple)) else 1 for x in values}
    return Lengths(tuple(sorted(found)))


def _tables(fields: Fields, symbolic: bool) -> list[Table]:
    """The parts of one input's output; there must be one of each, and they add up to one."""
    parts = [_table(p, symbolic) for p in listed(fields.take("parts"), fields.where)]
    fields.done()
    need(bool(parts), f"{fields.where}: no table")
    return parts


def _table(value: object, symbolic: bool) -> Table:
    found: dict[str, Chance] = {}
    top: Polynomial = [0]
    bottom: Polynomial = [1]
    for output, chance in mapping(value, "table").items():
        numerator, denominator = (_polynomial(p, symbolic) for p in listed(chance, "table", 2))
        need(is_positive(denominator), "a chance: divided by 0, or by a negative number")
        need(is_non_negative(numerator), "a chance is negative")
        found[output] = numerator, denominator
        top = plus(times(top, denominator), times(numerator, bottom))
        bottom = times(bottom, denominator)
        need(len(bottom) <= _MOST_COEFFICIENTS, "a table: too many coefficients")
    need(not any(minus(top, bottom)), "the chances don't add up to one")
    return found


def _polynomial(value: object, symbolic: bool) -> Polynomial:
    numbers = [rational(v, "a chance") for v in listed(value, "a chance")]
    need(0 < len(numbers) <= (_MOST_COEFFICIENTS if symbolic else 1), "a chance: its coefficients")
    return [int(v) if v.denominator == 1 else v for v in numbers]


def _need_close(first: list[Table], second: list[Table], bound: TableBound, where: str) -> None:
    need(len(first) == len(second), f"{where}: not the same parts")
    if len(first) > 1:
        need(not bound.symbolic, f"{where}: several parts and a unit")
        need(_product(first, second, where) <= bound.factor, f"{where}: above the bound")
        return
    shift = [*[0] * bound.power, 1]
    for output, (p, q) in first[0].items():
        p2, q2 = second[0].get(output, ([0], [1]))
        gap = minus(times([bound.factor], times(p2, q)), times(times(p, q2), shift))
        need(is_non_negative(gap), f"{where}: an output is above the bound")


def _product(first: list[Table], second: list[Table], where: str) -> Fraction:
    """The greatest ratio of independent parts is the product of their greatest ratios."""
    worst = Fraction(1)
    for here, there in zip(first, second, strict=True):
        ratios = [Fraction(1)]
        for output, chance in here.items():
            value = _number(chance)
            other = _number(there.get(output, ([0], [1])))
            need(other > 0 or value == 0, f"{where}: possible on one side only")
            if value:
                ratios.append(value / other)
        worst *= max(ratios)
    return worst


def _number(chance: Chance) -> Fraction:
    (top,), (bottom,) = chance
    return Fraction(top) / Fraction(bottom)


def _need_one_of_many(header: Header, values: list[Value]) -> None:
    """Neighbours of any length differ in one entry, by what neighbours of length one do."""
    need(header.length is None, "entries: for every length")
    entries = [x[0] for x in values if isinstance(x, (list, tuple)) and len(x) == 1]
    need(len(entries) == len(values), "entries: inputs of one entry")
    if header.adjacency.name != "replace_one":
        need(header.adjacency.name == "l1" and header.adjacency.radius < 2, "entries: adjacency")
        need(all(type(v) is int for v in entries), "entries: whole numbers")


def _neighbours(x: Value, x2: Value, adjacency: Neighbours) -> bool:
    name, r = adjacency.name, adjacency.radius
    if name == "any_pair" or _shown(x) == _shown(x2):
        return True
    a, b = (list(v) if isinstance(v, (list, tuple)) else [v] for v in (x, x2))
    if len(a) != len(b):
        return False
    if name == "replace_one" and r == inf:
        return sum(_shown(u) != _shown(v) for u, v in zip(a, b, strict=True)) <= 1
    gaps = [_decimal(v) - _decimal(u) for u, v in zip(a, b, strict=True)]
    if name == "replace_one":
        moved = [g for g in gaps if g]
        return len(moved) <= 1 and all(abs(g) <= r for g in moved)
    if name == "l1":
        return sum(map(abs, gaps), Fraction(0)) <= r
    if name == "linf":
        return all(abs(g) <= r for g in gaps)
    need(name == "monotone", f"adjacency: {name} of listed inputs is not known")
    return all(0 <= g <= r for g in gaps) or all(-r <= g <= 0 for g in gaps)


def _decimal(value: object) -> Fraction:
    """A JSON number, as it is written."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Invalid("domain.values: neighbours are not numbers")
    if value != value or value in (inf, -inf):
        raise Invalid("domain.values: not a number")
    return Fraction(repr(value))
