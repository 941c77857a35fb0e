"""Exponential noise that is rounded to whole numbers is geometric noise.

For whole k ≥ 0, ⌊E⌋ ≥ k means E ≥ k, which has probability (e^(−1/b))^k for a scale b.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dpest.noise.exponential import Exponential
from dpest.noise.geometric import Geometric
from dpest.noise.parameters import exact, is_number
from dpest.reading.rewrites.laws.protocol import (
    Applied,
    Combination,
    Drawn,
    Expression,
    Law,
    register,
)

_ONE = Fraction(1)


class Floors:
    name = "floors"
    lemma = "1 + ⌊E⌋ and ⌈E⌉ are geometric with p = 1 − e^(−1/b) for exponential noise of scale b"
    families: frozenset[str] = frozenset()

    def law(self, made: Expression) -> Law | None:
        if not isinstance(made, Applied) or made.function not in ("floor", "ceil", "trunc"):
            return None
        (inner,) = made.arguments
        constant, slope, drawn = Fraction(0), _ONE, inner
        if isinstance(inner, Combination) and len(inner.terms) == 1:
            constant, ((slope, drawn),) = inner.constant, inner.terms
        if not isinstance(drawn, Drawn) or not isinstance(drawn.noise, Exponential):
            return None
        if not is_number(drawn.noise.scale) or constant.denominator != 1:
            return None
        if constant and made.function == "trunc":
            return None
        sign = 1 if slope > 0 else -1
        away = {"floor": sign < 0, "ceil": sign > 0, "trunc": False}[made.function]
        p = -math.expm1(-1 / float(abs(slope) * exact(drawn.noise.scale)))
        start = 0 if away else 1
        return Law(((Fraction(sign), Geometric(p)),), constant - sign * start)

    def is_part(self, made: Applied) -> bool:
        return False


register(Floors())
