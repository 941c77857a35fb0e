"""Two-sided geometric noise: the difference of two geometric noises."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpest.noise.family import Floats
from dpest.noise.lattice import LatticeNoise
from dpest.noise.parameters import check_probability, exact, is_number
from dpest.noise.tails import Tail


class TwoSidedDecay(LatticeNoise):
    """Mass tanh(rate/2)·exp(-rate·|k|) on the integers, however the rate is written."""

    @property
    def _rate(self) -> float:
        raise NotImplementedError

    @property
    def mode(self) -> int:
        return 0

    def log_mass(self, k: Floats) -> Floats:
        return math.log(math.tanh(self._rate / 2)) - np.abs(k) * self._rate

    def log_cdf(self, x: ArrayLike) -> Floats:
        k = np.floor(np.asarray(x, dtype=float))
        # P(X ≤ -m) = P(X ≥ m) = exp(-rate·m)/(1 + exp(-rate)) for m ≥ 0.
        common = math.log1p(math.exp(-self._rate))
        far = np.where(k < 0, -k, k + 1)
        tail = -self._rate * far - common
        return np.where(k < 0, tail, np.log1p(-np.exp(tail)))

    def log_sf(self, x: ArrayLike) -> Floats:
        return self.log_cdf(-np.floor(np.asarray(x, dtype=float)) - 1)

    def _log_tails(self, x: ArrayLike) -> tuple[Floats, Floats]:
        return self.log_cdf(x), self.log_sf(x)

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        p = -math.expm1(-self._rate)
        return generator.geometric(p, size=size) - generator.geometric(p, size=size)

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (self._rate, self._rate)

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def variance(self) -> float:
        return 1 / (2 * math.sinh(self._rate / 2) ** 2) if self._rate < 1400 else 0.0


@dataclass(frozen=True)
class TwoSidedGeometric(TwoSidedDecay):
    """Mass p/(2-p)·(1-p)^|k| on the integers: the difference of two `Geometric(p)`.

    The same family as `DiscreteLaplace`, written so that rational parameters give rational masses.
    """

    p: Any
    family: ClassVar[str] = "two_sided_geometric"

    def __post_init__(self) -> None:
        check_probability(self.p, "p <= 0, p > 1 or p contains NaNs", zero=False)

    def tail(self, side: int) -> Tail | None:
        if not is_number(self.p) or not 0 < self.p < 1:
            return None
        return Tail(linear=math.log1p(-float(self.p)))

    @property
    def _rate(self) -> float:
        return -math.log1p(-float(self.p)) if self.p != 1 else math.inf

    @property
    def constant(self) -> Any:
        return 0 if is_number(self.p) and self.p == 1 else None

    def mass_exact(self, k: int) -> Fraction | None:
        if not is_number(self.p):
            return None
        p = exact(self.p)
        return p / (2 - p) * (1 - p) ** abs(k)
