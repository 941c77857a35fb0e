"""A fair coin and exponential noise are the sign and the size of one Laplace noise.

They are found where the noise stands with both signs, depending on how the coin fell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.exponential import Exponential
from dpest.noise.family import Noise
from dpest.reading.domains.numbers import Truth
from dpest.reading.rewrites.draws.changes import ChangedWay, symbols_in
from dpest.reading.rewrites.laws.protocol import (
    Applied,
    Combination,
    Drawn,
    Expression,
    Holds,
    Law,
    linear,
    recognised,
)
from dpest.reading.rewrites.laws.signs import is_fair

_ONE = Fraction(1)


class SignSide:
    """The new noise is positive, or it is not."""

    def __init__(self, pair: SignAndSize, positive: bool) -> None:
        self.pair, self.positive = pair, positive

    @property
    def side(self) -> tuple[Condition, ...]:
        above = Condition(Form.of(self.pair.noise), ">")
        return (above if self.positive else above.negated(),)

    def holds(self, condition: Condition) -> bool:
        return (_direction(condition) == _direction(self.pair.heads)) == self.positive

    def value(self, symbol: Symbol) -> Form | None:
        if symbol != self.pair.size:
            return None
        return Form({self.pair.noise: _ONE if self.positive else -_ONE})


class SignAndSize:
    """A coin (heads is one of the conditions on it) and a noise, by one new noise."""

    keeps_draw = False

    def __init__(self, heads: Condition, size: Symbol, noises: Mapping[Symbol, Noise]) -> None:
        (self.draw,) = heads.form.terms
        self.heads, self.size = heads, size
        self.noise: Symbol
        self.cases = (SignSide(self, True), SignSide(self, False))
        truth = Holds(linear(heads.form, noises), heads.relation)
        sign = Combination(-_ONE, ((2 * _ONE, truth),))
        self._made = Applied("*", (sign, Drawn(size, noises[size])))

    def noise_made(self) -> tuple[Expression, Law]:
        law = recognised(self._made)
        assert law is not None
        return self._made, law


def _direction(condition: Condition) -> bool:
    """Whether a condition on one symbol holds for large values."""
    (slope,) = condition.form.terms.values()
    return slope > 0


def pairs(
    ways: Sequence[ChangedWay],
    noises: Mapping[Symbol, Noise],
    definitions: Mapping[Symbol, Truth],
    order: Mapping[Symbol, int],
) -> Iterator[SignAndSize]:
    """Coins and noises that may be one noise, those that are drawn near each other first."""
    sizes = [s for s in _turned(ways) if isinstance(noises.get(s), Exponential)]
    if not sizes:
        return
    coins = _fair_coins(ways, noises, definitions)
    for size in sizes:
        near = sorted(coins, key=lambda coin: abs(order[coin] - order[size]))
        for coin in near:
            if coin != size:
                yield SignAndSize(coins[coin], size, noises)


def _turned(ways: Sequence[ChangedWay]) -> list[Symbol]:
    """The symbols that stand with both signs, in what is released or beside another symbol."""
    seen: dict[Symbol, set[tuple[Symbol | None, bool]]] = {}
    for way in ways:
        for n, form in enumerate((*way.forms, *(c.form for c in way.conditions))):
            for symbol, slope in form.terms.items():
                found = seen.setdefault(symbol, set())
                if n < len(way.forms):
                    found.add((None, slope > 0))
                for other, beside in form.terms.items():
                    if other != symbol:
                        found.add((other, (slope > 0) == (beside > 0)))
    return [
        symbol
        for symbol, found in seen.items()
        if any((other, not same) in found for other, same in found)
    ]


def _fair_coins(
    ways: Sequence[ChangedWay], noises: Mapping[Symbol, Noise], definitions: Mapping[Symbol, Truth]
) -> dict[Symbol, Condition]:
    """Draws of which nothing matters but one condition, which is fair."""
    found: dict[Symbol, Condition] = {}
    others: set[Symbol] = set()
    for way in ways:
        for symbol, condition in symbols_in(way, definitions):
            if symbol in others or symbol not in noises:
                continue
            if condition is None or not _is_fair(condition, noises):
                others.add(symbol)
            else:
                found.setdefault(symbol, condition)
    return {symbol: heads for symbol, heads in found.items() if symbol not in others}


def _is_fair(condition: Condition, noises: Mapping[Symbol, Noise]) -> bool:
    if len(condition.form.terms) > 1:
        return False
    return is_fair(Holds(linear(condition.form, noises), condition.relation))
