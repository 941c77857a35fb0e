"""Exponential noise, NumPy's `exponential`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpest.noise.family import Floats, Noise, ShiftCost
from dpest.noise.parameters import check_scale, inverse, is_number
from dpest.noise.tails import Tail


@dataclass(frozen=True)
class Exponential(Noise):
    """Density exp(-x/scale)/scale on x ≥ 0."""

    scale: Any
    family: ClassVar[str] = "exponential"

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def _z(self, x: ArrayLike) -> Floats:
        return np.asarray(x, dtype=float) / float(self.scale)

    def log_density(self, x: ArrayLike) -> Floats:
        z = self._z(x)
        return np.where(z >= 0, -z - math.log(float(self.scale)), -np.inf)

    def cdf(self, x: ArrayLike) -> Floats:
        return -np.expm1(-np.maximum(self._z(x), 0))

    def log_cdf(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self.cdf(x))

    def log_sf(self, x: ArrayLike) -> Floats:
        return -np.maximum(self._z(x), 0)

    def quantile(self, u: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return -float(self.scale) * np.log1p(-np.asarray(u, dtype=float))

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        return generator.exponential(scale=float(self.scale), size=size)

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, math.inf)

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0,)

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (math.inf, 1 / float(self.scale))

    def tail(self, side: int) -> Tail | None:
        if side == 0 or not is_number(self.scale):
            return None
        return Tail(linear=-inverse(self.scale))

    @property
    def constant(self) -> Any:
        return 0.0 if is_number(self.scale) and self.scale == 0 else None

    @property
    def mean(self) -> float:
        return float(self.scale)

    @property
    def variance(self) -> float:
        return float(self.scale) ** 2

    def times(self, factor: Any) -> Noise | None:
        return Exponential(self.scale * factor)

    @property
    def shift_cost(self) -> ShiftCost:
        return ShiftCost("one_sided", inverse(self.scale), attained=True)
