"""Differences of two exponential noises of one scale, or of two geometric ones.

For t ≥ 0, P(E − E′ > t) = E[e^−(E′+t)] = e^−t/2, and E − E′ is symmetric: Laplace noise. The same
sum over whole numbers gives two-sided geometric noise.
"""

from __future__ import annotations

from dpest.noise.exponential import Exponential
from dpest.noise.geometric import Geometric
from dpest.noise.laplace import Laplace
from dpest.noise.two_sided_geometric import TwoSidedGeometric
from dpest.reading.rewrites.laws.protocol import (
    Applied,
    Combination,
    Drawn,
    Expression,
    Law,
    register,
)


class Differences:
    name = "differences"
    lemma = "E − E′ is Laplace noise for exponential noises of one scale; two-sided if geometric"
    families = frozenset({Exponential.family, Geometric.family})

    def law(self, made: Expression) -> Law | None:
        if not isinstance(made, Combination) or made.constant or len(made.terms) != 2:
            return None
        (factor, first), (opposite, second) = made.terms
        if not isinstance(first, Drawn) or not isinstance(second, Drawn):
            return None
        if first.symbol == second.symbol or first.noise != second.noise or factor != -opposite:
            return None
        noise = first.noise
        if isinstance(noise, Exponential):
            return Law(((factor, Laplace(noise.scale)),))
        if isinstance(noise, Geometric):
            return Law(((factor, TwoSidedGeometric(noise.p)),))
        return None

    def is_part(self, made: Applied) -> bool:
        return False


register(Differences())
