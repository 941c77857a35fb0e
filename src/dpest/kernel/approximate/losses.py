"""Laws of the privacy loss by integers: rounded up, composed, and read off as δ(ε).

A law is a measure on the losses k·ln(1 + 1/N), k whole, and on ∞. Its curve, in t = e^ε, is

    δ(t) = m_∞ + Σ m_k·(1 − t/t_k)₊,     t_k = (1 + 1/N)^k.

**Connecting the dots** (Doroshenko et al. 2022). The curve of a pair of distributions is convex in
t, is 1 at t = 0 and never grows. So the broken line through values h_k ≥ δ(t_k), through 1 at 0,
and level behind the last point lies above it everywhere. It is the curve of a law with the masses
m_k = (N + 1)(h_{k−1} − h_k) − N(h_k − h_{k+1}): exact, since t_{k+1}/t_k = 1 + 1/N. A mass that
rounding makes negative counts as 0; more mass is never less loss.

**Composition.** The curve of two releases is ∫ δ₁(t/e^l) dm₂(l). It grows with either curve, so
that laws above the true ones compose to one above the true composition, also where the second
release looks at the first (Zhu, Dong and Wang 2022, Theorem 10).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from .enclosures import (
    exp_range,
    log_range,
    normal_cdf_range,
    rounded,
    sqrt_range,
)

BITS = 88  # of masses: a convolution rounds each up, by 2^-88
UNIT = 1 << BITS
_FINE = 256  # bits of the points of a grid

Curve = Callable[[Fraction], Fraction]
"""An upper bound on δ at t = e^ε, for any t > 0."""


# Curves of single steps -------------------------------------------------------------------------


def gaussian_curve(mu2: Fraction) -> Curve:
    """N(μ, 1) against N(0, 1): Φ(μ − x) − t·Φ(−x), x = ln(t)/μ + μ/2 (Balle and Wang 2018)."""
    mu = rounded(sqrt_range(mu2)[1], True, 80)  # the curve grows with μ

    def at(t: Fraction) -> Fraction:
        low, high = log_range(t)
        first = normal_cdf_range(rounded(mu / 2 - low / mu, True))[1]
        second = normal_cdf_range(rounded(-high / mu - mu / 2, False))[0]
        return first - t * second

    return at


def laplace_curve(epsilon: Fraction) -> Curve:
    """One draw of Laplace noise, moved by ε scales: 1 − √(t/e^ε) between e^−ε and e^ε."""
    top = exp_range(epsilon)[1]

    def at(t: Fraction) -> Fraction:
        if t >= top:
            return Fraction(0)
        if t * top <= 1:
            return 1 - t
        # Right of e^−ε the root is the curve; left of it, up to rounding, the line lies above.
        return max(1 - sqrt_range(t / top)[0], 1 - t)

    return at


def pure_curve(epsilon: Fraction) -> Curve:
    """Randomised response, which no ε-private step exceeds (Kairouz, Oh and Viswanath 2015)."""
    top = exp_range(epsilon)[1]

    def at(t: Fraction) -> Fraction:
        if t >= top:
            return Fraction(0)
        return max((top - t) / (1 + top), 1 - t)

    return at


def sampled_curve(curve: Curve, q: Fraction) -> Curve:
    """(1 − q)Q + qP against Q: q·δ(1 + (t − 1)/q), and 1 − t where that argument is below 0."""

    def at(t: Fraction) -> Fraction:
        inner = 1 + (t - 1) / q
        return 1 - t if inner <= 0 else q * curve(inner)

    return at


# Laws -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LossLaw:
    """Masses in units of 2^-BITS of the losses (low + i)·ln(1 + 1/N), and of ∞."""

    grid: int
    low: int
    masses: tuple[int, ...]
    infinite: int

    def delta(self, epsilon: Fraction) -> Fraction:
        """An upper bound on δ(ε)."""
        t = exp_range(epsilon)[0]
        total = self.infinite
        inverse = _powers(self.grid, self.low, len(self.masses))
        t_units = t.numerator * UNIT // t.denominator
        whole = 0
        for mass, power in zip(self.masses, inverse, strict=True):
            share = UNIT - (t_units * power >> BITS)
            if share > 0:
                whole += mass * share
        return Fraction(total - (-whole >> BITS), UNIT)

    def times(self, other: LossLaw) -> LossLaw:
        """The composition of two laws."""
        if self.grid != other.grid:
            raise ValueError("laws on different grids")
        masses = _product(self.masses, other.masses)
        mine, theirs = sum(self.masses), sum(other.masses)
        infinite = self.infinite * (theirs + other.infinite) + other.infinite * mine
        return LossLaw(self.grid, self.low + other.low, masses, -(-infinite >> BITS))

    def trimmed(self, tail: int) -> LossLaw:
        """Without far cells of a mass of `tail` units: to ∞ from above, upwards from below."""
        masses = list(self.masses)
        infinite, last = 0, len(masses)
        while last > 1 and infinite + masses[last - 1] <= tail:
            last -= 1
            infinite += masses[last]
        first, moved = 0, 0
        while first < last - 1 and moved + masses[first] <= tail:
            moved += masses[first]
            first += 1
        kept = masses[first:last]
        kept[0] += moved
        return LossLaw(self.grid, self.low + first, tuple(kept), self.infinite + infinite)

    def power(self, times: int, tail: int) -> LossLaw:
        """The composition with itself, by squaring."""
        if times < 1:
            raise ValueError("a power of a law is at least 1")
        if times == 1:
            return self
        half = self.power(times // 2, tail)
        found = half.times(half).trimmed(tail)
        return found.times(self).trimmed(tail) if times & 1 else found


@functools.lru_cache(maxsize=8)
def _powers(grid: int, low: int, count: int) -> tuple[int, ...]:
    """(1 + 1/N)^−k for k = low, low + 1, …, rounded down, in units."""
    extra = 64
    at = (UNIT << extra) * Fraction(grid, grid + 1) ** low
    value = at.numerator // at.denominator
    found = []
    for _ in range(count):
        found.append(value >> extra)
        value = value * grid // (grid + 1)
    return tuple(found)


def points(grid: int, low: int, high: int) -> list[Fraction]:
    """t_k for k = low, …, high, rounded down by less than 2^-200 (for |ln t| up to 30)."""
    ratio = Fraction(grid + 1, grid)
    t = rounded(ratio**low, False, _FINE)
    found = []
    for _ in range(low, high + 1):
        found.append(t)
        t = rounded(t * ratio, False, _FINE)
    if not Fraction(1, 10**13) < found[0] <= found[-1] < 10**13:
        raise ValueError("a window of losses beyond ±30")
    return found


def values_of(curve: Curve, at: Sequence[Fraction]) -> list[int]:
    """Upper bounds on δ at the points of a grid, in units: at a smaller t it is no smaller."""
    return [_up(min(max(curve(t), Fraction(0)), Fraction(1))) for t in at]


def reversed_values(values: Sequence[int], at: Sequence[Fraction]) -> list[int]:
    """The same pair the other way round, at 1/t_k in growing order: 1 − t + t·δ(1/t).

    1/t lies above the grid's own point by less than 2^-140, and the curve falls at most like −t.
    """
    found = []
    for value, t in zip(reversed(values), reversed(at), strict=True):
        exact = 1 - 1 / t + Fraction(value, UNIT) / t
        found.append(min(UNIT, max(0, _up(exact)) + 1))
    return found


def law_through(values: Sequence[int], grid: int, low: int) -> LossLaw:
    """The law whose curve is the broken line through values at low, low + 1, …"""
    masses = []
    for i, here in enumerate(values):
        left = (grid + 1) * (values[i - 1] - here) if i else UNIT - here
        right = grid * (here - values[i + 1]) if i + 1 < len(values) else 0
        masses.append(max(0, left - right))
    return LossLaw(grid, low, tuple(masses), values[-1])


def _up(value: Fraction) -> int:
    return -((-value.numerator << BITS) // value.denominator)


def _product(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The convolution, rounded up: one product of whole numbers with room for every sum."""
    room = (2 * BITS + 32 + 7) // 8
    count = len(a) + len(b) - 1
    left = int.from_bytes(b"".join(m.to_bytes(room, "little") for m in a), "little")
    right = left
    if b is not a:
        right = int.from_bytes(b"".join(m.to_bytes(room, "little") for m in b), "little")
    product = (left * right).to_bytes(room * (count + 1), "little")
    return tuple(
        -(-int.from_bytes(product[i * room : (i + 1) * room], "little") >> BITS)
        for i in range(count)
    )
