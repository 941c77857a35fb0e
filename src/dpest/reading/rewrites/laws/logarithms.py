"""Logarithms of uniform and of exponential noise: how noise is made by hand.

The inverse of a distribution function at a uniform draw has that distribution. −log U > t means
U < e^−t, which has probability e^−t: exponential noise. −log E < t means E > e^−t, which has
probability e^(−e^−t): Gumbel noise. 1 − U is as uniform as U.
"""

from __future__ import annotations

from fractions import Fraction

from dpest.noise.exponential import Exponential
from dpest.noise.family import Noise
from dpest.noise.gumbel import Gumbel
from dpest.noise.uniform import Uniform
from dpest.reading.rewrites.laws.protocol import (
    Applied,
    Combination,
    Drawn,
    Expression,
    Law,
    register,
)

_STANDARD_UNIFORM = Uniform(0, 1)
_STANDARD_EXPONENTIAL = Exponential(1)
_GUMBEL = Gumbel(1)


class Logarithms:
    name = "logarithms"
    lemma = "−log U is exponential noise of scale 1 for U uniform on [0, 1); −log of that is Gumbel"
    families: frozenset[str] = frozenset()
    inside: frozenset[str] = frozenset()

    def law(self, made: Expression) -> Law | None:
        if not isinstance(made, Applied) or made.function != "log":
            return None
        (inner,) = made.arguments
        noise = _standard(inner)
        return None if noise is None else Law(((Fraction(-1), noise),))


def _standard(inner: Expression) -> Noise | None:
    """The noise of which the logarithm of this is the negative."""
    constant, factor, drawn = Fraction(0), Fraction(1), inner
    if isinstance(inner, Combination):
        if len(inner.terms) != 1:
            return None
        constant, ((factor, drawn),) = inner.constant, inner.terms
    if not isinstance(drawn, Drawn):
        return None
    place = (constant, factor)
    if drawn.noise == _STANDARD_UNIFORM and place in ((0, 1), (1, -1)):
        return _STANDARD_EXPONENTIAL
    if drawn.noise == _STANDARD_EXPONENTIAL and place == (0, 1):
        return _GUMBEL
    return None


register(Logarithms())
