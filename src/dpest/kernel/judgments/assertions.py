"""Assertions: linear conditions on variables, joined by "all" and "any".

A variable of the first program's memory is written x<1>, of the second's x<2>; in a program itself
it is x. Negation is pushed to the conditions, which are negated exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ..fields import listed, rational, text
from ..forms import ONE, ZERO, LinearInequality, combined, condition, read_condition, read_terms
from ..invalid import Invalid, need

NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9.]{0,60}")
SIDED = re.compile(r"([A-Za-z_][A-Za-z_0-9.]{0,60})<([12])>")
_DEEPEST = 200


@dataclass(frozen=True)
class LinearTerm:
    """constant + Σ coefficient·variable"""

    constant: Fraction
    terms: Mapping[str, Fraction]

    def plus(self, other: LinearTerm, factor: Fraction = ONE) -> LinearTerm:
        terms = combined((ONE, self.terms), (factor, other.terms))
        return LinearTerm(self.constant + factor * other.constant, terms)

    def renamed(self, change: Callable[[str], str]) -> LinearTerm:
        return LinearTerm(self.constant, {change(k): v for k, v in self.terms.items()})


def variable(name: str) -> LinearTerm:
    return LinearTerm(ZERO, {name: ONE})


def number(value: Fraction) -> LinearTerm:
    return LinearTerm(value, {})


@dataclass(frozen=True)
class All:
    parts: tuple[Assertion, ...]


@dataclass(frozen=True)
class Some:
    parts: tuple[Assertion, ...]


Assertion = LinearInequality | All | Some
TRUE = All(())
FALSE = Some(())


def at_least_zero(form: LinearTerm, strict: bool = False) -> Assertion:
    """form ≥ 0, or > 0; where it has no variables, what it comes to."""
    if not form.terms:
        return TRUE if form.constant > 0 or (form.constant == 0 and not strict) else FALSE
    return condition(form.constant, form.terms, strict)


def equal(left: LinearTerm, right: LinearTerm) -> Assertion:
    apart = left.plus(right, -ONE)
    return all_of(at_least_zero(apart), at_least_zero(number(ZERO).plus(apart, -ONE)))


def all_of(*parts: Assertion) -> Assertion:
    """The conjunction, flat, without what is true; false where a part is."""
    flat: list[Assertion] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, All) else (part,))
    if FALSE in flat:
        return FALSE
    return flat[0] if len(flat) == 1 else All(tuple(flat))


def any_of(*parts: Assertion) -> Assertion:
    flat: list[Assertion] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Some) else (part,))
    if TRUE in flat:
        return TRUE
    return flat[0] if len(flat) == 1 else Some(tuple(flat))


def negated(assertion: Assertion) -> Assertion:
    if isinstance(assertion, LinearInequality):
        return assertion.negated()
    if isinstance(assertion, All):
        return any_of(*(negated(part) for part in assertion.parts))
    return all_of(*(negated(part) for part in assertion.parts))


def implies(test: Assertion, then: Assertion) -> Assertion:
    return any_of(negated(test), then)


def substituted(assertion: Assertion, values: Mapping[str, LinearTerm]) -> Assertion:
    """All variables in `values` replaced at once."""
    if isinstance(assertion, All):
        return all_of(*(substituted(part, values) for part in assertion.parts))
    if isinstance(assertion, Some):
        return any_of(*(substituted(part, values) for part in assertion.parts))
    if values.keys().isdisjoint(assertion.symbols):
        return assertion
    total = number(assertion.constant)
    for name, factor in assertion.terms:
        total = total.plus(values.get(name, variable(name)), factor)
    return at_least_zero(total, assertion.strict)


def sided(assertion: Assertion, side: int) -> Assertion:
    """A program's own assertion about the memory of one side."""
    if isinstance(assertion, LinearInequality):
        terms = {f"{name}<{side}>": value for name, value in assertion.terms}
        return condition(assertion.constant, terms, assertion.strict)
    parts = tuple(sided(part, side) for part in assertion.parts)
    return All(parts) if isinstance(assertion, All) else Some(parts)


def variables(assertion: Assertion) -> set[str]:
    if isinstance(assertion, LinearInequality):
        return assertion.symbols
    return {name for part in assertion.parts for name in variables(part)}


def read_assertion(value: object, names: re.Pattern[str], where: str, depth: int = 0) -> Assertion:
    """["is", [constant, terms, strict]], ["all", part, …] or ["any", part, …]"""
    need(depth < _DEEPEST, f"{where}: too deeply nested")
    kind, *parts = listed(value, where) or [None]
    if text(kind, where) == "is":
        need(len(parts) == 1, f"{where}: one condition is wanted")
        found = read_condition(parts[0], where)
        need_names(found.symbols, names, where)
        return at_least_zero(LinearTerm(found.constant, dict(found.terms)), found.strict)
    inner = [read_assertion(part, names, where, depth + 1) for part in parts]
    if kind == "all":
        return all_of(*inner)
    if kind == "any":
        return any_of(*inner)
    raise Invalid(f"{where}: unknown assertion {str(kind)[:40]!r}")


def read_linear(value: object, names: re.Pattern[str], where: str) -> LinearTerm:
    """[constant, terms]"""
    constant, terms = listed(value, where, 2)
    found = LinearTerm(rational(constant, where), read_terms(terms, where))
    need_names(set(found.terms), names, where)
    return found


def need_names(found: set[str], names: re.Pattern[str], where: str) -> None:
    for name in found:
        need(names.fullmatch(name) is not None, f"{where}: no variable: {name[:40]!r}")


def assertion_text(assertion: Assertion) -> str:
    """For people."""
    if isinstance(assertion, LinearInequality):
        return _condition_text(assertion)
    if not assertion.parts:
        return "true" if isinstance(assertion, All) else "false"
    if isinstance(assertion, All):
        return " ∧ ".join(_conjuncts(assertion.parts))
    inner = (
        f"({assertion_text(p)})" if isinstance(p, All) else assertion_text(p)
        for p in assertion.parts
    )
    return "(" + " ∨ ".join(inner) + ")"


def _conjuncts(parts: tuple[Assertion, ...]) -> list[str]:
    """Two opposite inequalities are shown as an equation."""
    shown: list[str] = []
    used: set[int] = set()
    for i, part in enumerate(parts):
        if i in used:
            continue
        twin = next((j for j in range(i + 1, len(parts)) if _opposite(part, parts[j])), None)
        if twin is not None:
            used.add(twin)
        shown.append(
            _condition_text(part, "=")
            if twin is not None and isinstance(part, LinearInequality)
            else assertion_text(part)
        )
    return shown


def _opposite(one: Assertion, other: Assertion) -> bool:
    if not isinstance(one, LinearInequality) or not isinstance(other, LinearInequality):
        return False
    return not one.strict and not other.strict and other == _flipped(one)


def _flipped(one: LinearInequality) -> LinearInequality:
    return condition(-one.constant, {k: -v for k, v in one.terms}, one.strict)


def _condition_text(found: LinearInequality, sign: str = "") -> str:
    left = {k: v for k, v in found.terms if v > 0}
    right = {k: -v for k, v in found.terms if v < 0}
    constant = found.constant
    sides = (_sum(left, max(constant, ZERO)), _sum(right, max(-constant, ZERO)))
    return f"{sides[0]} {sign or ('>' if found.strict else '≥')} {sides[1]}"


def _sum(terms: Mapping[str, Fraction], constant: Fraction) -> str:
    shown = [name if value == 1 else f"{value}·{name}" for name, value in terms.items()]
    if constant or not shown:
        shown.append(str(constant))
    return " + ".join(shown)
