"""Probabilities as rational functions of a = e^(-unit/D): exact for every positive unit at once."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.geometry.linear import rational

Poly = tuple[int, ...]
"""Coefficients of 1, a, a², …; no zeros at the end."""


def trimmed(values: Iterable[int]) -> Poly:
    found = list(values)
    while found and not found[-1]:
        found.pop()
    return tuple(found)


def plus(p: Poly, q: Poly, factor: int = 1) -> Poly:
    return trimmed(x + factor * y for x, y in itertools.zip_longest(p, q, fillvalue=0))


def times(p: Poly, q: Poly) -> Poly:
    if not p or not q:
        return ()
    found = [0] * (len(p) + len(q) - 1)
    for i, x in enumerate(p):
        for j, y in enumerate(q):
            found[i + j] += x * y
    return trimmed(found)


class NeedsDenominatorError(BaseException):
    """The exponent of a is not whole: D must be a multiple of this."""

    def __init__(self, denominator: int) -> None:
        self.denominator = denominator


class Ratio:
    """top/bottom, polynomials in a; it adds, multiplies and divides. bottom > 0 on (0, 1).

    The coefficients are whole numbers without a common divisor, so that nothing is slow.
    """

    __slots__ = ("bottom", "top")

    def __init__(self, top: Poly, bottom: Poly = (1,)) -> None:
        while top and bottom and not top[0] and not bottom[0]:
            top, bottom = top[1:], bottom[1:]
        common = math.gcd(*top, *bottom)
        if common > 1:
            top = tuple(v // common for v in top)
            bottom = tuple(v // common for v in bottom)
        self.top, self.bottom = top, bottom

    @property
    def value(self) -> Fraction:
        """The number that this is, where it does not depend on a."""
        if len(self.top) > 1 or len(self.bottom) > 1:
            raise ValueError(f"{self} depends on the unit")
        return Fraction(self.top[0] if self.top else 0, self.bottom[0])

    @staticmethod
    def of(value: Any) -> Any:
        if isinstance(value, Ratio):
            return value
        if isinstance(value, numbers.Real):
            found = rational(value)
            return Ratio((found.numerator,) if found else (), (found.denominator,))
        return NotImplemented

    def _with(self, other: Any, how: Any) -> Any:
        found = Ratio.of(other)
        return found if found is NotImplemented else how(found)

    def __add__(self, other: Any) -> Any:
        return self._with(other, self._sum)

    def _sum(self, other: Ratio) -> Ratio:
        if self.bottom == other.bottom:
            return Ratio(plus(self.top, other.top), self.bottom)
        top = plus(times(self.top, other.bottom), times(other.top, self.bottom))
        return Ratio(top, times(self.bottom, other.bottom))

    __radd__ = __add__

    def __neg__(self) -> Ratio:
        return Ratio(tuple(-v for v in self.top), self.bottom)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda o: self + (-o))

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __mul__(self, other: Any) -> Any:
        return self._with(
            other, lambda o: Ratio(times(self.top, o.top), times(self.bottom, o.bottom))
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._with(
            other, lambda o: Ratio(times(self.top, o.bottom), times(self.bottom, o.top))
        )

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, lambda o: o / self)

    def __eq__(self, other: object) -> Any:
        found = Ratio.of(other)
        return found is not NotImplemented and self._sign(found) == 0

    def __hash__(self) -> int:
        return hash((self.top, self.bottom))

    def _sign(self, other: Ratio) -> int:
        """Of self - other, where it is the same for every a in (0, 1); otherwise refused."""
        gap = self - other
        if not gap.top:
            return 0
        product = times(gap.top, gap.bottom)
        if positive(product):
            return 1
        if positive(tuple(-v for v in product)):
            return -1
        raise RefusedError("a comparison of probabilities that depends on eps: give eps a value")

    def _order(self, other: Any, sign: int) -> bool:
        found = Ratio.of(other)
        if found is NotImplemented:
            return NotImplemented  # a draw, or an array of them, that compares itself
        return self._sign(found) == sign

    def __gt__(self, other: Any) -> bool:
        return self._order(other, 1)

    def __lt__(self, other: Any) -> bool:
        return self._order(other, -1)

    def __ge__(self, other: Any) -> bool:
        less = self._order(other, -1)
        return less if less is NotImplemented else not less

    def __le__(self, other: Any) -> bool:
        more = self._order(other, 1)
        return more if more is NotImplemented else not more

    def __float__(self) -> float:
        if len(self.top) <= 1 and len(self.bottom) == 1:
            return float(self.value)
        raise RefusedError("float() of a probability that depends on eps: give eps a value")

    def at(self, unit: float, denominator: int) -> float:
        """The number that this is for one value of the unit, a being e^(-unit/denominator)."""
        a = math.exp(-unit / denominator)
        top, bottom = (sum(c * a**i for i, c in enumerate(p)) for p in (self.top, self.bottom))
        return top / bottom

    def __repr__(self) -> str:
        return f"({list(map(str, self.top))})/({list(map(str, self.bottom))})"


def exponential(factor: Fraction, denominator: int) -> Ratio:
    """e^(factor·unit) as a power of a = e^(-unit/denominator)."""
    exponent = -factor * denominator
    if exponent.denominator != 1:
        raise NeedsDenominatorError(exponent.denominator)
    steps = int(exponent)
    power = (*[0] * abs(steps), 1)
    return Ratio(power, (1,)) if steps >= 0 else Ratio((1,), power)


def non_negative(poly: Poly, depth: int = 12) -> bool:
    """Whether poly ≥ 0 on [0, 1] is shown by its Bernstein coefficients, on ever smaller parts."""
    n = len(poly) - 1
    # The coefficient i times C(n, i), a whole number of the same sign.
    scaled = [sum(math.comb(n - j, i - j) * poly[j] for j in range(i + 1)) for i in range(n + 1)]
    if all(v >= 0 for v in scaled):
        return True
    if scaled[0] < 0 or scaled[-1] < 0:
        return False
    return _bernstein([Fraction(v, math.comb(n, i)) for i, v in enumerate(scaled)], depth)


def positive(poly: Poly) -> bool:
    """Whether poly > 0 on (0, 1) is shown so. Where it isn't 0, coefficients ≥ 0 are enough."""
    n = len(poly) - 1
    scaled = [sum(math.comb(n - j, i - j) * poly[j] for j in range(i + 1)) for i in range(n + 1)]
    values = [Fraction(v, math.comb(n, i)) for i, v in enumerate(scaled)]
    return any(values) and _bernstein(values, 12, strict=True)


def _bernstein(values: list[Fraction], depth: int, *, strict: bool = False) -> bool:
    """`strict`: and not 0 where one part meets the next."""
    if all(v >= 0 for v in values):
        return True
    if values[0] < 0 or values[-1] < 0 or depth == 0:
        return False
    left, right = [values[0]], [values[-1]]
    row = values
    while len(row) > 1:
        row = [(x + y) / 2 for x, y in itertools.pairwise(row)]
        left.append(row[0])
        right.append(row[-1])
    if strict and not row[0]:
        return False
    return _bernstein(left, depth - 1, strict=strict) and _bernstein(
        right[::-1], depth - 1, strict=strict
    )
