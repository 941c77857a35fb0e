"""Exact linear forms over symbols, and the conditions made of them.

Coefficients are Fractions. A float stands for the decimal that Python prints for it, so that 0.1
means 1/10 and ties between literals are decided as their author meant them.
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from dpest.errors import InputError

SymbolKind = Literal["noise", "input", "parameter", "state", "indicator"]


class Symbol:
    """A named unknown. Equal if kind and name are equal; cheap to hash."""

    __slots__ = ("_hash", "kind", "name")

    def __init__(self, kind: SymbolKind, name: str) -> None:
        self.kind = kind
        self.name = name
        self._hash = hash((kind, name))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Symbol) and self.name == other.name and self.kind == other.kind
        )

    def __lt__(self, other: Symbol) -> bool:
        return (self.kind, self.name) < (other.kind, other.name)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return Symbol, (self.kind, self.name)


_ONE = Fraction(1)
_ZERO = Fraction(0)


@functools.lru_cache(maxsize=65536)
def _from_float(value: float) -> Fraction:
    return Fraction(repr(value))


@functools.lru_cache(maxsize=65536)
def _from_int(value: int) -> Fraction:
    return Fraction(value)


def rational(value: Any) -> Fraction:
    """A number as an exact rational; a float as the decimal it prints as.

    >>> rational(0.1)
    Fraction(1, 10)
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, (int, np.integer, np.bool_)):
        return _from_int(int(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if not np.isfinite(number):
            raise InputError(f"{number} can't enter an exact computation; inputs must be finite")
        return _from_float(number)
    if isinstance(value, numbers.Rational):
        return Fraction(value)
    raise TypeError(f"not a number: {value!r}")


def _same(a: Fraction, b: Fraction) -> bool:
    # Fraction's own == looks for other kinds of numbers first, which costs more than the answer.
    return a is b or (a.numerator == b.numerator and a.denominator == b.denominator)


class Form:
    """constant + Σ coefficient·symbol: immutable, exact, hashable; no operators for users here."""

    __slots__ = ("_hash", "constant", "terms")

    def __init__(
        self, terms: Mapping[Symbol, Fraction] | None = None, constant: Fraction = Fraction(0)
    ) -> None:
        self.terms: dict[Symbol, Fraction] = {k: v for k, v in (terms or {}).items() if v}
        self.constant = constant
        self._hash: int | None = None

    @staticmethod
    def of(symbol: Symbol) -> Form:
        return Form._made({symbol: _ONE}, _ZERO)

    @staticmethod
    def number(value: Any) -> Form:
        return Form(None, rational(value))

    @property
    def is_constant(self) -> bool:
        return not self.terms

    @staticmethod
    def _made(terms: dict[Symbol, Fraction], constant: Fraction) -> Form:
        """Without a look for zeros, for callers that leave none."""
        form = Form.__new__(Form)
        form.terms = terms
        form.constant = constant
        form._hash = None
        return form

    def plus(self, other: Form, factor: Fraction | int = 1) -> Form:
        # The arithmetic of Fractions is the cost of a trace: skip what would not change.
        if factor == -1:
            return self.minus(other)
        same = factor == 1
        terms = dict(self.terms)
        for symbol, coefficient in other.terms.items():
            step = coefficient if same else factor * coefficient
            found = terms.get(symbol)
            if found is None:
                if step:
                    terms[symbol] = step
            else:
                total = found + step
                if total:
                    terms[symbol] = total
                else:
                    del terms[symbol]
        constant = self.constant
        if other.constant:
            step = other.constant if same else factor * other.constant
            constant = constant + step if constant else step
        return Form._made(terms, constant)

    def minus(self, other: Form) -> Form:
        terms = dict(self.terms)
        for symbol, coefficient in other.terms.items():
            found = terms.get(symbol)
            if found is None:
                terms[symbol] = -coefficient
            elif found == coefficient:
                del terms[symbol]
            else:
                terms[symbol] = found - coefficient
        constant = self.constant
        if other.constant:
            constant = constant - other.constant if constant else -other.constant
        return Form._made(terms, constant)

    def times(self, factor: Fraction | int) -> Form:
        if factor == 1:
            return self
        if not factor:
            return Form()
        if factor == -1:
            return Form._made({k: -v for k, v in self.terms.items()}, -self.constant)
        return Form._made({k: v * factor for k, v in self.terms.items()}, self.constant * factor)

    def substitute(self, values: Mapping[Symbol, Form]) -> Form:
        result = Form(None, self.constant)
        for symbol, coefficient in self.terms.items():
            result = result.plus(values.get(symbol) or Form.of(symbol), coefficient)
        return result

    def at(self, values: Mapping[Symbol, Fraction]) -> Fraction:
        total = self.constant
        for symbol, coefficient in self.terms.items():
            total += coefficient * values[symbol]
        return total

    def symbols(self, kind: SymbolKind | None = None) -> Iterator[Symbol]:
        return (s for s in self.terms if kind is None or s.kind == kind)

    def part(self, kind: SymbolKind) -> dict[Symbol, Fraction]:
        return {s: c for s, c in self.terms.items() if s.kind == kind}

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Form) or len(self.terms) != len(other.terms):
            return False
        if not _same(self.constant, other.constant):
            return False
        for symbol, coefficient in self.terms.items():
            found = other.terms.get(symbol)
            if found is None or not _same(coefficient, found):
                return False
        return True

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((frozenset(self.terms.items()), self.constant))
        return self._hash

    def __repr__(self) -> str:
        parts: list[str] = []
        for symbol in sorted(self.terms):
            c = self.terms[symbol]
            size = "" if abs(c) == 1 else f"{abs(c)}·"
            sign = "-" if c < 0 else "+"
            parts.append(f"{sign} {size}{symbol}")
        if self.constant or not parts:
            parts.append(f"{'-' if self.constant < 0 else '+'} {abs(self.constant)}")
        text = " ".join(parts)
        return text[2:] if text.startswith("+ ") else "-" + text[2:]


Relation = Literal[">=", ">", "==", "!="]


class Condition:
    """form >= 0, > 0, == 0 or != 0."""

    __slots__ = ("form", "relation")

    def __init__(self, form: Form, relation: Relation) -> None:
        self.form = form
        self.relation = relation

    def negated(self) -> Condition:
        if self.relation == ">=":
            return Condition(self.form.times(-1), ">")
        if self.relation == ">":
            return Condition(self.form.times(-1), ">=")
        return Condition(self.form, "!=" if self.relation == "==" else "==")

    @property
    def strict(self) -> bool:
        return self.relation == ">"

    def holds(self, values: Mapping[Symbol, Fraction]) -> bool:
        return compare(self.form.at(values), self.relation)

    def decided(self) -> bool | None:
        """Its truth if it has no symbols."""
        return None if self.form.terms else compare(self.form.constant, self.relation)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Condition)
            and self.relation == other.relation
            and self.form == other.form
        )

    def __hash__(self) -> int:
        return hash((self.form, self.relation))

    def __repr__(self) -> str:
        return f"{self.form} {self.relation} 0"


def compare(value: Fraction, relation: Relation) -> bool:
    if relation == ">=":
        return value >= 0
    if relation == ">":
        return value > 0
    return (value == 0) == (relation == "==")


def distinct(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    return tuple(dict.fromkeys(conditions))
