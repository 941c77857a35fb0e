"""Logarithms of exponential noise.

−log E < t means E > e^−t, which has probability e^(−e^−t): Gumbel noise.
"""

from __future__ import annotations

from fractions import Fraction

from dpest.noise.exponential import Exponential
from dpest.noise.gumbel import Gumbel
from dpest.reading.rewrites.laws.protocol import (
    Applied,
    Drawn,
    Expression,
    Law,
    register,
)


class Logarithms:
    name = "logarithms"
    lemma = "−log E is Gumbel noise of scale 1 for exponential noise of scale 1"
    families: frozenset[str] = frozenset()

    def law(self, made: Expression) -> Law | None:
        if not isinstance(made, Applied) or made.function != "log":
            return None
        (inner,) = made.arguments
        if not isinstance(inner, Drawn) or inner.noise != Exponential(1):
            return None
        return Law(((Fraction(-1), Gumbel(1)),))

    def is_part(self, made: Applied) -> bool:
        return False


register(Logarithms())
