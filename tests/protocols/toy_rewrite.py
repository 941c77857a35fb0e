"""A rewrite of somebody else's, in one file: logistic noise by its quantiles."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpest.noise import Gumbel, Uniform
from dpest.reading.rewrites.laws.protocol import Applied, Combination, Drawn, Expression, Law

ONE = Fraction(1)


class LogOdds:
    """log(U / (1 − U)) is below t with probability 1 / (1 + e^−t), as G − G′ of two Gumbels is."""

    name = "log-odds"
    lemma = "log(U/(1 − U)) and the difference of two Gumbel noises are logistic"
    families: frozenset[str] = frozenset()
    scale: int = 1

    def law(self, made: Expression) -> Law | None:
        match made:
            case Applied("log", (Applied("/", (Drawn() as draw, other)),)):
                if draw.noise == Uniform(0, 1) and other == Combination(ONE, ((-ONE, draw),)):
                    return Law(((ONE, Gumbel(self.scale)), (-ONE, Gumbel(self.scale))))
        return None

    def is_part(self, made: Applied) -> bool:
        return made.function == "/"


class WrongScale(LogOdds):
    """A lemma that is false by a factor."""

    scale = 2


def released(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    u = rng.random()
    return x[0] + math.log(u / (1 - u)) / eps


def above(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    u = rng.random()
    return x[0] + math.log(u / (1 - u)) / eps > 1


def used_twice(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    """The draw itself is released, too: what is made of it is no noise any more."""
    u = rng.random()
    return x[0] + math.log(u / (1 - u)) / eps, u
