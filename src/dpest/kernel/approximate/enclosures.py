"""Numbers with a guarantee, by integers alone: exp, log, √ and the normal distribution function.

Every function encloses its value between two rationals whose denominator is 2^BITS. Inside, they
count in units of 2^-WORK. Each rounds a few hundred times at most, by one unit each, and what
follows magnifies an error at most 2^16 times: 2^28 units in all, and 48 bits are kept in reserve.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

BITS = 128
WORK = BITS + 48
UNIT = 1 << BITS
_ONE = 1 << WORK
_SLACK = 1 << 30

Range = tuple[Fraction, Fraction]


def outward(middle: int, slack: int = _SLACK) -> Range:
    """The enclosure of a number that was computed to within `slack` units of 2^-WORK."""
    low = (middle - slack) >> (WORK - BITS)
    high = -((-(middle + slack)) >> (WORK - BITS))
    return Fraction(low, UNIT), Fraction(high, UNIT)


def rounded(value: Fraction, up: bool, bits: int = BITS) -> Fraction:
    """A nearby rational with a short denominator, on the side that was asked for."""
    scaled = value.numerator << bits
    whole = -((-scaled) // value.denominator) if up else scaled // value.denominator
    return Fraction(whole, 1 << bits)


def _units(value: Fraction) -> int:
    return (value.numerator << WORK) // value.denominator


@functools.cache
def _ln2() -> int:
    """ln 2 = 2·artanh(1/3), in units of 2^-WORK, to within 2^8 of them."""
    total, power, k = 0, (_ONE << 1) // 3, 1
    while power:
        total += power // k
        power //= 9
        k += 2
    return total


def _exp_units(n: int) -> tuple[int, int]:
    """(m, k) with e^(n units) = m·2^k, m in units and near 1, to within 2^24 of them."""
    k, rest = divmod(n, _ln2())
    rest >>= 8
    term = total = _ONE
    j = 0
    while term:
        j += 1
        term = (term * rest >> WORK) // j
        total += term
    for _ in range(8):
        total = total * total >> WORK
    return total, k


def exp_range(x: Fraction) -> Range:
    """Enclosure of e^x, for |x| up to 2^12: relative where e^x > 1, absolute below."""
    if abs(x) > 4096:
        raise ValueError("an exponent beyond 4096")
    # The multiple of ln 2 carries its error k times over: 2^13·2^8 units at most.
    middle, k = _exp_units(_units(x))
    low, high = outward(middle)
    if k >= 0:
        return low * (1 << k), high * (1 << k)
    return rounded(low / (1 << -k), False), rounded(high / (1 << -k), True)


def log_range(y: Fraction) -> Range:
    """Enclosure of ln y, for 2^-4096 < y < 2^4096."""
    if y <= 0:
        raise ValueError("the logarithm of a number that is not positive")
    k = y.numerator.bit_length() - y.denominator.bit_length()
    if abs(k) > 4096:
        raise ValueError("a logarithm beyond the reach of this arithmetic")
    near = y / (1 << k) if k >= 0 else y * (1 << -k)  # between 1/2 and 2
    z = _units((near - 1) / (near + 1))
    square = z * z >> WORK
    total, power, j = 0, z, 1
    while power not in (0, -1):
        total += power // j
        power = power * square >> WORK
        j += 2
    return outward(2 * total + k * _ln2())


def sqrt_range(x: Fraction) -> Range:
    """Enclosure of √x."""
    if x < 0:
        raise ValueError("the root of a negative number")
    low = math.isqrt((x.numerator << (2 * BITS)) // x.denominator)
    exact = Fraction(low, UNIT)
    return exact, exact if exact * exact == x else Fraction(low + 1, UNIT)


@functools.cache
def _root_of_two_pi() -> int:
    """√(2π) in units, by Machin's formula, to within 2^10 of them."""

    def arctan_of_inverse(n: int) -> int:
        total, power, k, sign = 0, _ONE // n, 1, 1
        while power:
            total += sign * (power // k)
            power //= n * n
            k += 2
            sign = -sign
        return total

    pi = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
    return math.isqrt(2 * pi << WORK)


_FAR = 13  # Φ(-13) < 2^-124


def normal_cdf_range(x: Fraction) -> Range:
    """Enclosure of Φ(x): ½ + φ(x)·(x + x³/3 + x⁵/(3·5) + …), all terms of one sign."""
    if x < 0:
        low, high = normal_cdf_range(-x)
        return max(Fraction(0), 1 - high), 1 - low
    if x > _FAR:  # 1 - Φ(x) < e^(-x²/2)/2
        tail = exp_range(max(-x * x / 2, Fraction(-4096)))[1] / 2
        return rounded(1 - tail, False), Fraction(1)
    n = _units(x)
    square = n * n >> WORK
    total = term = n
    k = 1
    while term:
        k += 2
        term = (term * square >> WORK) // k
        total += term
    # The sum is below 2^124, φ as much above 2^-124: errors are relative ones of 2^-150.
    full, shift = _exp_units(-square >> 1)
    value = full * total // _root_of_two_pi()
    value = value >> -shift if shift < 0 else value
    low, high = outward(_ONE // 2 + value)
    return low, min(high, Fraction(1))
