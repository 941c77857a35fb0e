"""Noise that a program makes of uniform draws: −log U, a random sign times it, an inverse CDF.

A public number that depends on uniform draws alone is taken apart into pieces: between two values
of a draw it is c + s·log(p + q·U). Where p + q·U falls to 0 at one end of a piece, and is g at the
other, U is uniform there, and the number is c + s·log g − s·E with standard exponential E. One such
piece is exponential noise; two of chance 1/2 each, with slopes s and −s and the same shift, are
Laplace noise. The draws must not be used for anything else: `check_unused` looks at all that was
found.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.contributions.control.public import chosen
from dpest.reading.contributions.forms import (
    NOISE,
    RECORD,
    SUM,
    SymbolicForm,
    Unread,
    form_of,
    number,
)
from dpest.reading.contributions.values import PublicValue, RecordTruth

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine

_HALF = Fraction(1, 2)
_LOGS = (math.log, np.log)
_LOGS_ABOVE_ONE = (math.log1p, np.log1p)


class _Other(Exception):
    """The number is none of those that are known here."""


@dataclass(frozen=True)
class _Piece:
    """Between `low` and `high` of the draw: constant + slope·U + factor·log(p + q·U)."""

    low: Fraction
    high: Fraction
    constant: Fraction
    slope: Fraction = Fraction(0)
    factor: Fraction = Fraction(0)
    p: Fraction = Fraction(1)
    q: Fraction = Fraction(0)

    def within(self, low: Fraction, high: Fraction) -> _Piece:
        return _Piece(low, high, *(getattr(self, f.name) for f in fields(self)[2:]))

    def times(self, c: Fraction) -> _Piece:
        scaled = (self.constant * c, self.slope * c, self.factor * c)
        return _Piece(self.low, self.high, *scaled, self.p, self.q)

    def plus(self, other: _Piece) -> _Piece:
        if self.factor and other.factor and (self.p, self.q) != (other.p, other.q):
            raise _Other
        log = self if self.factor else other
        return _Piece(
            self.low, self.high, self.constant + other.constant, self.slope + other.slope,
            self.factor + other.factor, log.p, log.q,
        )  # fmt: skip

    def at(self, u: Fraction) -> Fraction:
        return self.constant + self.slope * u

    def sign(self) -> int:
        """The sign that the number has all over the piece."""
        if not self.factor:
            ends = (self.at(self.low), self.at(self.high))
            return 1 if min(ends) >= 0 else -1 if max(ends) <= 0 else self._mixed()
        inner = [self.p + self.q * u for u in (self.low, self.high)]
        if self.constant or self.slope or min(inner) < 0 or max(inner) > 1:
            return self._mixed()
        return -1 if self.factor > 0 else 1

    def _mixed(self) -> int:
        raise _Other

    def split(self) -> list[_Piece]:
        """Pieces on which a linear number keeps its sign."""
        if self.factor or not self.slope:
            return [self]
        zero = -self.constant / self.slope
        if not self.low < zero < self.high:
            return [self]
        return [self.within(self.low, zero), self.within(zero, self.high)]


_Pieces = list[_Piece]
Law = dict[tuple[Fraction, Fraction], Fraction]
"""Chances of shift + slope·E, with standard exponential E."""


class _Reader:
    """What a public number is, as a function of the draws behind it."""

    def __init__(self, m: ContributionMachine) -> None:
        self.m = m

    def sources(self, value: Any) -> set[int]:
        """The uniform draws behind a public value; _Other where there is something else."""
        found: set[int] = set()
        for kind, place in sources_of(self.m, value):
            if kind != "uniform":
                raise _Other
            found.add(place)
        return found

    def law(self, value: Any) -> Law:
        behind = self.sources(value)
        if not behind:
            raise _Other
        if len(behind) == 1:
            return _law(self.pieces(value))
        return self._product(value)

    def _product(self, value: Any) -> Law:
        """A sign that is drawn, times a number of another draw."""
        first, second = self._factors(value)
        if self.sources(first) & self.sources(second):
            raise _Other
        laws = [self.law(first), self.law(second)]
        if any(slope for _, slope in laws[0]):
            laws.reverse()
        if any(slope for _, slope in laws[0]):
            raise _Other
        found: Law = {}
        for (factor, _), p in laws[0].items():
            for (shift, slope), q in laws[1].items():
                key = (factor * shift, factor * slope)
                found[key] = found.get(key, Fraction(0)) + p * q
        return found

    def _factors(self, value: Any) -> tuple[Any, Any]:
        if isinstance(value, SymbolicForm) and len(value.terms) == 1 and not value.constant:
            ((symbol, c),) = value.terms
            node = self.m.terms.nodes[symbol]
            if node[0] == "mul":
                return node[1].times(c), node[2]
            if c == 1 and (recipe := recipe_of(self.m, node)) is not None:
                return self._factors(PublicValue(recipe))
        if isinstance(value, PublicValue) and value.recipe.function is operator.mul:
            first, second = value.recipe.arguments
            return first, second
        raise _Other

    # Pieces --------------------------------------------------------------------------------------

    def pieces(self, value: Any) -> _Pieces:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return [_Piece(Fraction(0), Fraction(1), Fraction(value))]
        if isinstance(value, np.floating):
            return self.pieces(float(value))
        if isinstance(value, SymbolicForm):
            found = [_Piece(Fraction(0), Fraction(1), value.constant)]
            for symbol, c in value.terms:
                mine = [p.times(c) for p in self._symbol(symbol)]
                found = _paired(_Piece.plus, found, mine)
            return found
        if isinstance(value, PublicValue) and value.recipe is not None and not value.recipe.named:
            return self._made(value.recipe.function, value.recipe.arguments)
        raise _Other

    def _symbol(self, symbol: int) -> _Pieces:
        node = self.m.terms.nodes[symbol]
        if node[0] == "uniform" or (node[0] == "pub" and node[1] in self.m.uniform_symbols):
            return [_Piece(Fraction(0), Fraction(1), Fraction(0), Fraction(1))]
        if (recipe := recipe_of(self.m, node)) is not None:
            return self.pieces(PublicValue(recipe))
        known: dict[str, Any] = {
            "abs": abs, "log": math.log, "log1p": math.log1p, "mul": operator.mul,
            "div": operator.truediv,
        }  # fmt: skip
        if node[0] not in known:
            raise _Other
        return self._made(known[node[0]], node[1:])

    def _made(self, function: Any, arguments: tuple[Any, ...]) -> _Pieces:
        if function is chosen:
            return self._chosen(*arguments)
        given = [self.pieces(a) for a in arguments]
        if function in (float, np.float64):
            return given[0]
        if function in (abs, math.fabs, np.abs, np.fabs):
            return [p.times(Fraction(p.sign())) for one in given[0] for p in one.split()]
        if function is np.sign:
            return [_constant(p, p.sign()) for one in given[0] for p in one.split()]
        if function in (math.copysign, np.copysign):
            return _paired(_signed, given[0], [p for one in given[1] for p in one.split()])
        if function in _LOGS and len(given) == 1:
            return [_logarithm(p) for p in given[0]]
        if function in _LOGS_ABOVE_ONE:
            return [_logarithm(p.plus(_constant(p, 1))) for p in given[0]]
        if function is operator.neg:
            return [p.times(Fraction(-1)) for p in given[0]]
        if function in _PAIRS:
            return _paired(_PAIRS[function], *given)
        raise _Other

    def _chosen(self, truth: Any, first: Any, second: Any) -> _Pieces:
        if (
            not isinstance(truth, RecordTruth)
            or truth.form is None
            or truth.relation not in (">", ">=")
        ):
            raise _Other
        deciding = [p for one in self.pieces(truth.form) for p in one.split()]
        signs = [_constant(p, p.sign()) for p in deciding]
        both = [self.pieces(first), self.pieces(second)]
        yes = _paired(lambda s, v: v if s.constant > 0 else _constant(v, 0), signs, both[0])
        no = _paired(lambda s, v: v if s.constant < 0 else _constant(v, 0), signs, both[1])
        return _paired(_Piece.plus, yes, no)


def _constant(piece: _Piece, value: Any) -> _Piece:
    return _Piece(piece.low, piece.high, Fraction(value))


def _signed(size: _Piece, like: _Piece) -> _Piece:
    """copysign(size, like)."""
    return size.times(Fraction(size.sign() * like.sign()))


def _logarithm(piece: _Piece) -> _Piece:
    ends = (piece.at(piece.low), piece.at(piece.high))
    if piece.factor or not piece.slope or min(ends) < 0:
        raise _Other
    zero = Fraction(0)
    return _Piece(
        piece.low, piece.high, zero, zero, Fraction(1), piece.constant, piece.slope
    )  # fmt: skip


def _times(a: _Piece, b: _Piece) -> _Piece:
    if b.slope or b.factor:
        a, b = b, a
    if b.slope or b.factor:
        raise _Other
    return a.times(b.constant)


def _over(a: _Piece, b: _Piece) -> _Piece:
    if b.slope or b.factor or not b.constant:
        raise _Other
    return a.times(1 / b.constant)


_PAIRS: dict[Any, Callable[[_Piece, _Piece], _Piece]] = {
    operator.add: _Piece.plus,
    operator.sub: lambda a, b: a.plus(b.times(Fraction(-1))),
    operator.mul: _times,
    operator.truediv: _over,
}


def _paired(
    function: Callable[[_Piece, _Piece], _Piece], first: _Pieces, second: _Pieces
) -> _Pieces:
    """A function of two numbers of one draw, on the common pieces."""
    found = []
    for a in first:
        for b in second:
            low, high = max(a.low, b.low), min(a.high, b.high)
            if low < high:
                found.append(function(a.within(low, high), b.within(low, high)))
    return found


def _law(pieces: _Pieces) -> Law:
    found: Law = {}
    for piece in pieces:
        key = (piece.constant, Fraction(0))
        if piece.slope:
            raise _Other
        if piece.factor:
            inner = [piece.p + piece.q * u for u in (piece.low, piece.high)]
            if min(inner) != 0 or max(inner) != 1:
                raise _Other  # log g is no rational, unless g is 1
            key = (piece.constant, -piece.factor)
        found[key] = found.get(key, Fraction(0)) + piece.high - piece.low
    return found


# What draws are behind a value ---------------------------------------------------------------


def recipe_of(m: ContributionMachine, node: tuple[Any, ...]) -> Any:
    """How a public symbol is made, where that is known."""
    return m.recipes.get(node[1]) if node[0] == "pub" else None


def sources_of(m: ContributionMachine, *values: Any) -> Iterator[tuple[str, Any]]:
    """What is behind values: ("uniform", place), ("pick", place), or another kind of symbol."""
    done: set[Any] = set()
    left: list[Any] = list(values)
    while left:
        value = left.pop()
        if isinstance(value, SymbolicForm):
            for symbol in value.symbols:
                if symbol in done:
                    continue
                done.add(symbol)
                node = m.terms.nodes[symbol]
                if node[0] == "uniform":
                    yield "uniform", node[1]
                elif node[0] == "pub" and node[1] in m.uniform_symbols:
                    yield "uniform", m.uniform_symbols[node[1]]
                elif (recipe := recipe_of(m, node)) is not None:
                    left += [*recipe.arguments, *recipe.named.values()]
                elif any(isinstance(a, SymbolicForm) for a in node[1:]):
                    left += node[1:]
                else:
                    yield node[0], node[1:]
        elif isinstance(value, PublicValue):
            if value.recipe is None:
                yield "unknown", None
            elif id(value.recipe) not in done:
                done.add(id(value.recipe))
                left += [*value.recipe.arguments, *value.recipe.named.values()]
                if not any(map(_holds, value.recipe.arguments)):
                    yield "pick", value.recipe.arguments
        else:
            left += _inside(value, done)


def _holds(value: Any) -> bool:
    return isinstance(value, (SymbolicForm, PublicValue, RecordTruth)) or is_dataclass(value)


def _inside(value: Any, done: set[Any]) -> Iterable[Any]:
    """What a value of the reading holds."""
    if isinstance(value, (str, bytes, int, float, Fraction, type)) or value is None:
        return ()
    if isinstance(value, (list, tuple, set, frozenset)):
        return value
    if isinstance(value, dict):
        return (*value.keys(), *value.values())
    if id(value) in done:
        return ()
    done.add(id(value))
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, f.name) for f in fields(value)]
    return list(vars(value).values()) if hasattr(value, "__dict__") else ()


# Noise ---------------------------------------------------------------------------------------


def with_made_noise(m: ContributionMachine, form: SymbolicForm) -> SymbolicForm:
    """A private number beside numbers that are made of uniform draws: those as noise."""
    kind = m.terms.kind(form)
    if not kind & (SUM | RECORD) or kind & NOISE or m.in_pass or m.joining:
        return form
    found, any_made = form_of({}, form.constant), False
    for symbol, c in _apart(m, form):
        one = form_of({symbol: Fraction(1)})
        try:
            if m.terms.kinds[symbol]:
                raise _Other
            law = _Reader(m).law(one)
            family, shift, slope = _family(law)
        except _Other:
            found += one.times(c)
            continue
        any_made = True
        around = (one - number(shift)).times(1 / slope)
        drawn = m.made_noise(family, around, frozenset(_Reader(m).sources(one)))
        found += (drawn.times(slope) + number(shift)).times(c)
    return found if any_made else form


def _apart(m: ContributionMachine, form: SymbolicForm) -> list[tuple[int, Fraction]]:
    """The terms; the logarithm of a ratio of draws as a difference."""
    found: list[tuple[int, Fraction]] = []
    for symbol, c in form.terms:
        node = m.terms.nodes[symbol]
        ratio = m.terms.nodes[node[1].terms[0][0]] if _is_log_of_symbol(node) else ("",)
        if ratio[0] != "div" or not all(_is_draw(m, a) for a in ratio[1:]):
            found.append((symbol, c))
            continue
        above, below = (m.terms.symbol(("log", a)) for a in ratio[1:])
        found += [(above, c), (below, -c)]
    return found


def _is_log_of_symbol(node: tuple[Any, ...]) -> bool:
    if node[0] != "log" or node[1].constant or len(node[1].terms) != 1:
        return False
    return bool(node[1].terms[0][1] == 1)


def _is_draw(m: ContributionMachine, form: SymbolicForm) -> bool:
    if form.constant or len(form.terms) != 1 or form.terms[0][1] != 1:
        return False
    node = m.terms.nodes[form.terms[0][0]]
    return node[0] == "pub" and node[1] in m.uniform_symbols


def _family(law: Law) -> tuple[str, Fraction, Fraction]:
    """The standard noise that a law is, with its shift and its slope."""
    if len(law) == 1:
        ((shift, slope),) = law
        if slope:
            return "exponential", shift, slope
    if len(law) == 2 and set(law.values()) == {_HALF}:
        (shift, slope), (other, opposite) = law
        if shift == other and slope == -opposite != 0:
            return "laplace", shift, abs(slope)
    raise _Other


def check_unused(m: ContributionMachine, used: frozenset[Any], *found: Any) -> None:
    """Refuses draws that noise was made of and that something else depends on."""
    if not used:
        return
    for kind, place in sources_of(m, *found):
        if kind == "uniform" and place in used:
            raise Unread("a uniform draw that noise is made of, and that is used besides")
