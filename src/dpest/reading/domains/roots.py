"""Square roots of public parameters: σ = √(1/(2ρ)), whose square a proof needs, exactly."""

from __future__ import annotations

import math
import numbers
from fractions import Fraction
from typing import Any

from dpest.geometry.linear import rational
from dpest.reading.domains.unit import Unit, not_looked_up
from dpest.reading.refusals import refuse


class Root:
    """√square, square > 0 being a number or a Unit; it multiplies and divides."""

    __slots__ = ("square",)
    __array_priority__ = 2000
    __array_ufunc__ = None

    def __init__(self, square: Any) -> None:
        self.square = square if isinstance(square, Unit) else rational(square)

    def _combined(self, other: Any, power: int) -> Any:
        if isinstance(other, Root):
            inner = self.square * other.square if power == 1 else self.square / other.square
            if self.square == other.square:
                return self.square if power == 1 else Fraction(1)
            return Root(inner)
        if isinstance(other, (Unit, numbers.Real)):
            factor = other if isinstance(other, Unit) else rational(other)
            return Root(
                self.square * (factor * factor) ** power
                if power == 1
                else self.square / (factor * factor)
            )
        return NotImplemented

    def __mul__(self, other: Any) -> Any:
        return self._combined(other, 1)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._combined(other, -1)

    def __rtruediv__(self, other: Any) -> Any:
        if isinstance(other, (Unit, numbers.Real)):
            factor = other if isinstance(other, Unit) else rational(other)
            return Root(factor * factor / self.square)
        return NotImplemented

    def __pow__(self, exponent: Any) -> Any:
        return self.square if exponent == 2 else NotImplemented

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Root):
            return bool(self.square == other.square)
        if not isinstance(other, (Unit, numbers.Real)):
            return False
        if isinstance(self.square, Unit) or isinstance(other, Unit):
            factor = other if isinstance(other, Unit) else rational(other)
            return bool(factor > 0 and self.square == factor * factor)
        return float(self) == other

    def __hash__(self) -> int:
        if isinstance(self.square, Unit):
            not_looked_up()
        return hash(("root", self.square))

    def __float__(self) -> float:
        return math.sqrt(float(self.square))

    def __repr__(self) -> str:
        return f"√({self.square!r})"


class _OfExponent:
    """A function of e^exponent, the exponent being a multiple of the unit."""

    __slots__ = ("exponent",)
    __array_ufunc__ = None

    def __init__(self, exponent: Unit) -> None:
        self.exponent = exponent

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _OfExponent) and type(other) is type(self):
            return self.exponent == other.exponent
        return _not_a_number(other)

    def __hash__(self) -> int:
        not_looked_up()
        return hash((type(self).__name__, self.exponent))


class UnitExponential(_OfExponent):
    """e^exponent: only 1 − e^exponent is of use."""

    __slots__ = ()

    def __rsub__(self, other: Any) -> Any:
        return Complement(self.exponent) if other == 1 else NotImplemented

    def __repr__(self) -> str:
        return f"e^({self.exponent!r})"


class Complement(_OfExponent):
    """1 − e^exponent, exponent < 0: the success probability of geometric noise."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"1 − e^({self.exponent!r})"


def _not_a_number(other: object) -> bool:
    """False: nothing else is equal to e^eps. Whether a number is, depends on eps: refused."""
    if isinstance(other, (Unit, Root, UnitExponential, Complement, numbers.Number)):
        refuse(f"e^eps is compared with {other!r}", "the answer depends on eps; give eps a value")
    return False


def sqrt(value: Any) -> Any:
    """math.sqrt, exact for units."""
    if isinstance(value, Unit):
        return Root(value)
    return math.sqrt(value)
