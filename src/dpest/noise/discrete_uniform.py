"""Uniform noise on consecutive integers, NumPy's `integers`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpest.noise.family import Floats, Noise


@dataclass(frozen=True)
class DiscreteUniform(Noise):
    """Each integer from low to high, both included, with the same probability."""

    low: int
    high: int
    family: ClassVar[str] = "discrete_uniform"
    discrete: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.high < self.low:
            raise ValueError("low > high")

    @property
    def count(self) -> int:
        return self.high - self.low + 1

    def mass_exact(self, k: int) -> Fraction:
        inside = k == int(k) and self.low <= k <= self.high
        return Fraction(1, self.count) if inside else Fraction(0)

    def density(self, x: ArrayLike) -> Floats:
        x = np.asarray(x, dtype=float)
        inside = (x >= self.low) & (x <= self.high) & (x == np.floor(x))
        return np.where(inside, 1 / self.count, 0.0)

    def log_density(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self.density(x))

    def cdf(self, x: ArrayLike) -> Floats:
        steps = np.floor(np.asarray(x, dtype=float)) - self.low + 1
        return np.clip(steps, 0, self.count) / self.count

    def sf(self, x: ArrayLike) -> Floats:
        steps = self.high - np.floor(np.asarray(x, dtype=float))
        return np.clip(steps, 0, self.count) / self.count

    def log_cdf(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.where(self.cdf(x) < 0.5, np.log(self.cdf(x)), np.log1p(-self.sf(x)))

    def log_sf(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.where(self.sf(x) < 0.5, np.log(self.sf(x)), np.log1p(-self.cdf(x)))

    def quantile(self, u: ArrayLike) -> Floats:
        steps = np.ceil(np.asarray(u, dtype=float) * self.count)
        return self.low - 1 + np.clip(steps, 1, self.count)

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        return generator.integers(self.low, self.high, size=size, endpoint=True)

    @property
    def outcomes(self) -> tuple[tuple[Any, Any], ...] | None:
        if self.count > 10_000:
            return None
        chance = Fraction(1, self.count)
        return tuple((k, chance) for k in range(self.low, self.high + 1))

    @property
    def support(self) -> tuple[float, float]:
        return (float(self.low), float(self.high))

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (math.inf, math.inf)

    @property
    def constant(self) -> Any:
        return self.low if self.count == 1 else None

    @property
    def mean(self) -> float:
        return (self.low + self.high) / 2

    @property
    def variance(self) -> float:
        return (self.count**2 - 1) / 12
