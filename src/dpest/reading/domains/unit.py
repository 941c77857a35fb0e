"""Quantities of eps, which is unknown: scales of noise in a proof that holds for every eps > 0.

c·eps^p, its square root (σ = √(1/(2ρ)), whose square a proof needs, exactly), and e^(c·eps^p).
"""

from __future__ import annotations

import math
import numbers
import sys
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.geometry.linear import rational
from dpest.reading.refusals import refuse

NO_VALUE = "which has no value here"
# Modules of ours that are a program, or that look up what a program does.
_THE_PROGRAM = ("dpest.zoo.", "dpest.reading.contributions.")


class Unit:
    """c·eps^p, exact, for eps > 0: it multiplies, divides and takes integer powers.

    Sums and comparisons need equal powers, or a zero; anything else depends on eps and is refused.

    >>> eps = Unit()
    >>> 4 * 2 / eps, eps / 2 + eps / 2 == eps
    (8·eps^-1, True)
    """

    __slots__ = ("factor", "power")
    __array_priority__ = 2000

    def __init__(self, factor: Any = 1, power: int = 1) -> None:
        self.factor = rational(factor)
        self.power = power if self.factor else 0

    def _plain(self) -> Any:
        """A number where eps has gone."""
        return self.factor if self.power == 0 else self

    def __mul__(self, other: Any) -> Any:
        found = _unit(other)
        if found is NotImplemented:
            return NotImplemented
        return Unit(self.factor * found.factor, self.power + found.power)._plain()

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        found = _unit(other)
        if found is NotImplemented:
            return NotImplemented
        return Unit(self.factor / found.factor, self.power - found.power)._plain()

    def __rtruediv__(self, other: Any) -> Any:
        found = _unit(other)
        return found if found is NotImplemented else found / self

    def __pow__(self, exponent: Any) -> Any:
        if int(exponent) != exponent:
            refuse(f"a power {exponent} of eps", "integer powers of eps can be followed")
        return Unit(self.factor ** int(exponent), self.power * int(exponent))._plain()

    def __neg__(self) -> Unit:
        return Unit(-self.factor, self.power)

    def __pos__(self) -> Unit:
        return self

    def __abs__(self) -> Unit:
        return Unit(abs(self.factor), self.power)

    def __add__(self, other: Any) -> Any:
        found = _unit(other)
        if found is NotImplemented:
            return NotImplemented
        if not found.factor or not self.factor:
            return (self if self.factor else found)._plain()
        if found.power != self.power:
            refuse(
                f"{self!r} and {found!r} are added",
                "a proof for every eps follows sums of equal powers of eps; give eps a value",
            )
        return Unit(self.factor + found.factor, self.power)._plain()

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        found = _unit(other)
        return found if found is NotImplemented else self + (-found)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def _gap(self, other: Any) -> Any:
        found = _unit(other)
        if found is NotImplemented:
            return NotImplemented
        if found.factor and self.factor and found.power != self.power:
            refuse(
                f"{self!r} is compared with {found!r}",
                "the answer depends on eps; give eps a value",
            )
        return self.factor - found.factor

    def __lt__(self, other: Any) -> Any:
        gap = self._gap(other)
        return gap if gap is NotImplemented else gap < 0

    def __le__(self, other: Any) -> Any:
        gap = self._gap(other)
        return gap if gap is NotImplemented else gap <= 0

    def __gt__(self, other: Any) -> Any:
        gap = self._gap(other)
        return gap if gap is NotImplemented else gap > 0

    def __ge__(self, other: Any) -> Any:
        gap = self._gap(other)
        return gap if gap is NotImplemented else gap >= 0

    def __eq__(self, other: object) -> bool:
        found = _unit(other)
        if found is NotImplemented:
            return False
        return bool(self._gap(found) == 0)

    def __hash__(self) -> int:
        if not self.power:
            return hash(self.factor)
        not_looked_up()
        return hash((self.factor, self.power))

    def __bool__(self) -> bool:
        return bool(self.factor)

    def __float__(self) -> float:
        if self.power:
            refuse(f"float() of eps, {NO_VALUE}", "give eps a value")
        return float(self.factor)

    def at(self, eps: Any) -> float:
        """Its value where eps has one."""
        return float(self.factor) * float(eps) ** self.power

    def exp(self) -> Any:
        """NumPy calls this for np.exp of an array of units."""
        return UnitExponential(self)

    def sqrt(self) -> Any:
        """NumPy calls this for np.sqrt."""
        return Root(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "__call__" and not options:
            if ufunc is np.exp:
                return self.exp()
            if ufunc is np.sqrt:
                return self.sqrt()
            arrays = [np.asarray(v, dtype=object) if _shaped(v) else _boxed(v) for v in inputs]
            result = ufunc(*arrays)
            return result.item() if isinstance(result, np.ndarray) and not result.ndim else result
        return NotImplemented

    def __repr__(self) -> str:
        return f"{self.factor}·eps^{self.power}" if self.power != 1 else f"{self.factor}·eps"


def not_looked_up() -> None:
    """Refuse the program's look-ups by eps in a dict or a set; the readers' own are by its form.

    Called by a `__hash__`: who asks for the hash is two frames up.
    """
    asking = str(sys._getframe(2).f_globals.get("__name__", ""))
    if not asking.startswith("dpest.") or asking.startswith(_THE_PROGRAM):
        refuse(f"a look-up by eps, {NO_VALUE}", "give eps a value")


def _shaped(value: Any) -> bool:
    return isinstance(value, (np.ndarray, list, tuple))


def _boxed(value: Any) -> Any:
    box = np.empty((), dtype=object)
    # NumPy's own scalars would hand the operation back to the ufunc.
    box[()] = value.item() if isinstance(value, np.generic) else value
    return box


def _unit(value: Any) -> Any:
    if isinstance(value, Unit):
        return value
    if isinstance(value, (int, float, Fraction, np.integer, np.floating)):
        return Unit(value, 0)
    return NotImplemented


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
