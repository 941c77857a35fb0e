"""Binomial noise, NumPy's `binomial`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dpest.noise.family import Floats
from dpest.noise.lattice import LatticeNoise
from dpest.noise.parameters import check_probability, exact, is_number


@dataclass(frozen=True)
class Binomial(LatticeNoise):
    """The number of successes in n trials of probability p."""

    n: int
    p: Any
    family: ClassVar[str] = "binomial"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", int(self.n))
        if self.n < 0:
            raise ValueError("n < 0")
        check_probability(self.p, "p < 0, p > 1 or p is NaN")

    def log_mass(self, k: Floats) -> Floats:
        from dpest.noise.counts.saddle_point import log_binomial

        if self.constant is not None:
            return np.zeros(np.shape(k))
        return log_binomial(k, self.n, float(self.p))

    @property
    def mode(self) -> int:
        return min(self.n, math.floor((self.n + 1) * float(self.p)))

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        return generator.binomial(self.n, float(self.p), size=size)

    @property
    def support(self) -> tuple[float, float]:
        only = self.constant
        return (0.0, float(self.n)) if only is None else (float(only), float(only))

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (math.inf, math.inf)

    @property
    def constant(self) -> Any:
        if self.n == 0 or (is_number(self.p) and self.p == 0):
            return 0
        return self.n if is_number(self.p) and self.p == 1 else None

    @property
    def mean(self) -> float:
        return self.n * float(self.p)

    @property
    def variance(self) -> float:
        return self.n * float(self.p) * (1 - float(self.p))

    def mass_exact(self, k: int) -> Fraction | None:
        if not is_number(self.p):
            return None
        if not 0 <= k <= self.n:
            return Fraction(0)
        p = exact(self.p)
        return math.comb(self.n, k) * p**k * (1 - p) ** (self.n - k)

    @property
    def outcomes(self) -> tuple[tuple[Any, Any], ...]:
        p = exact(self.p) if is_number(self.p) else self.p
        every = (
            (k, math.comb(self.n, k) * p**k * (1 - p) ** (self.n - k)) for k in range(self.n + 1)
        )
        return tuple(o for o in every if not (is_number(o[1]) and o[1] == 0))
