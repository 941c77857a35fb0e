"""Uniform noise, NumPy's `uniform` and `random`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpest.noise.family import Floats, Noise
from dpest.noise.parameters import is_number


@dataclass(frozen=True)
class Uniform(Noise):
    """Density 1/(high - low) between low and high."""

    low: Any = 0.0
    high: Any = 1.0
    family: ClassVar[str] = "uniform"

    def __post_init__(self) -> None:
        if is_number(self.low) and is_number(self.high):
            width = self.high - self.low
            if not math.isfinite(width):
                raise OverflowError("high - low range exceeds valid bounds")
            if width < 0:
                raise ValueError("high - low < 0")

    def _from_low(self, x: ArrayLike) -> Floats:
        low, high = self.support
        return np.clip((np.asarray(x, dtype=float) - low) / (high - low), 0, 1)

    def _from_high(self, x: ArrayLike) -> Floats:
        low, high = self.support
        return np.clip((high - np.asarray(x, dtype=float)) / (high - low), 0, 1)

    def log_density(self, x: ArrayLike) -> Floats:
        low, high = self.support
        x = np.asarray(x, dtype=float)
        return np.where((x >= low) & (x <= high), -math.log(high - low), -np.inf)

    def cdf(self, x: ArrayLike) -> Floats:
        return self._from_low(x)

    def sf(self, x: ArrayLike) -> Floats:
        return self._from_high(x)

    def log_cdf(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.where(
                self._from_low(x) < 0.5, np.log(self._from_low(x)), np.log1p(-self._from_high(x))
            )

    def log_sf(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.where(
                self._from_high(x) < 0.5, np.log(self._from_high(x)), np.log1p(-self._from_low(x))
            )

    def quantile(self, u: ArrayLike) -> Floats:
        low, high = self.support
        return low + np.asarray(u, dtype=float) * (high - low)

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        return generator.uniform(*self.support, size=size)

    @property
    def support(self) -> tuple[float, float]:
        return (float(self.low), float(self.high))

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.support

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (math.inf, math.inf)

    @property
    def constant(self) -> Any:
        known = is_number(self.low) and is_number(self.high)
        return float(self.low) if known and self.low == self.high else None

    @property
    def mean(self) -> float:
        return (float(self.low) + float(self.high)) / 2

    @property
    def variance(self) -> float:
        return (float(self.high) - float(self.low)) ** 2 / 12
