"""Linear forms over named symbols, conditions made of them, and their least values on boxes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from .fields import Extended, listed, mapping, rational, truth

ZERO = Fraction(0)
ONE = Fraction(1)
Terms = Mapping[str, Fraction]
"""Symbol -> its coefficient; never 0."""
Interval = tuple[Extended, Extended]
Box = Mapping[str, Interval]
"""Symbol -> the interval of its difference between the two runs."""
STILL: Interval = (ZERO, ZERO)


@dataclass(frozen=True, order=True)
class LinearInequality:
    """constant + terms ≥ 0, or > 0 where it is strict. The terms are sorted by symbol."""

    constant: Fraction
    terms: tuple[tuple[str, Fraction], ...]
    strict: bool

    @property
    def symbols(self) -> set[str]:
        return {symbol for symbol, _ in self.terms}

    def negated(self) -> LinearInequality:
        terms = tuple((symbol, -value) for symbol, value in self.terms)
        return LinearInequality(-self.constant, terms, not self.strict)


def condition(constant: Fraction, terms: Terms, strict: bool) -> LinearInequality:
    return LinearInequality(constant, tuple(sorted(terms.items())), strict)


def terms_of(condition: LinearInequality) -> Terms:
    return dict(condition.terms)


def combined(*parts: tuple[Fraction, Terms]) -> dict[str, Fraction]:
    """Σ factor·terms, without zeros."""
    total: dict[str, Fraction] = {}
    for factor, terms in parts:
        for symbol, value in terms.items():
            total[symbol] = total.get(symbol, ZERO) + factor * value
    return {symbol: value for symbol, value in total.items() if value}


def negative(terms: Terms) -> dict[str, Fraction]:
    return {symbol: -value for symbol, value in terms.items()}


def least(constant: Extended, slopes: Terms, box: Box) -> Extended:
    """The least value of constant + slopes·d for d in the box; symbols outside of it don't move.

    No sum here has both infinities in it: a minimum over an interval is never +∞.
    """
    total = constant
    for symbol, slope in slopes.items():
        low, high = box.get(symbol, STILL)
        if slope and (low or high):
            total = total + min(slope * low, slope * high)
    return total


def greatest(constant: Extended, slopes: Terms, box: Box) -> Extended:
    return -least(-constant, negative(slopes), box)


def symbols_of(forms: Iterable[Terms]) -> set[str]:
    return {symbol for terms in forms for symbol in terms}


def read_terms(value: object, where: str) -> dict[str, Fraction]:
    read = {k: rational(v, where) for k, v in mapping(value, where).items()}
    return {symbol: number for symbol, number in read.items() if number}


def read_condition(value: object, where: str) -> LinearInequality:
    """[constant, terms, strict]"""
    constant, terms, strict = listed(value, where, 3)
    return condition(rational(constant, where), read_terms(terms, where), truth(strict, where))
