"""How a density falls far out: exact coefficients of what its logarithm grows like.

At distance u from the origin, towards one end,
    log f = -e^(double·u) + square·u² + stirling·u·log u + linear·u + power·log u + O(1).
Coefficients are rationals, or floats where the truth is irrational (log(1 - p)).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Coefficient = Fraction | float
_ZERO = Fraction(0)


@dataclass(frozen=True)
class Tail:
    """`double` 0: there is no such term."""

    double: Coefficient = _ZERO
    square: Coefficient = _ZERO
    stirling: Coefficient = _ZERO
    linear: Coefficient = _ZERO
    power: Coefficient = _ZERO
