"""Geometric noise, NumPy's `geometric`: the number of trials up to the first success."""

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


@dataclass(frozen=True)
class Geometric(LatticeNoise):
    """Mass p·(1-p)^(k-1) on k = 1, 2, …"""

    p: Any
    family: ClassVar[str] = "geometric"

    def __post_init__(self) -> None:
        check_probability(self.p, "p <= 0, p > 1 or p contains NaNs", zero=False)

    @property
    def _rate(self) -> float:
        p = float(self.p)
        return -math.log1p(-p) if p < 1 else math.inf

    def log_mass(self, k: Floats) -> Floats:
        steps = np.asarray(k, dtype=float) - 1
        # 0·∞ at p = 1: the first trial succeeds for certain.
        cost = np.where(steps > 0, steps * self._rate if self._rate < math.inf else np.inf, 0.0)
        return math.log(float(self.p)) - cost

    @property
    def mode(self) -> int:
        return 1

    def log_sf(self, x: ArrayLike) -> Floats:
        k = np.maximum(np.floor(np.asarray(x, dtype=float)), 0)
        with np.errstate(invalid="ignore"):
            return np.where(k > 0, -k * self._rate, 0.0)

    def log_cdf(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(-np.expm1(self.log_sf(x)))

    def _log_tails(self, x: ArrayLike) -> tuple[Floats, Floats]:
        return self.log_cdf(x), self.log_sf(x)

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        return generator.geometric(float(self.p), size=size)

    @property
    def support(self) -> tuple[float, float]:
        return (1.0, math.inf if float(self.p) < 1 else 1.0)

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (math.inf, self._rate)

    def tail(self, side: int) -> Tail | None:
        if side == 0 or not is_number(self.p) or not 0 < self.p < 1:
            return None
        return Tail(linear=math.log1p(-float(self.p)))

    @property
    def constant(self) -> Any:
        return 1 if is_number(self.p) and self.p == 1 else None

    @property
    def mean(self) -> float:
        return 1 / float(self.p)

    @property
    def variance(self) -> float:
        return (1 - float(self.p)) / float(self.p) ** 2

    def mass_exact(self, k: int) -> Fraction | None:
        if not is_number(self.p):
            return None
        p = exact(self.p)
        return p * (1 - p) ** (k - 1) if k >= 1 else Fraction(0)
