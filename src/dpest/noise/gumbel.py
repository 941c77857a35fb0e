"""Gumbel noise, NumPy's `gumbel`: the noise of the exponential mechanism."""

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
class Gumbel(Noise):
    """cdf exp(-exp(-x/scale)) on the reals (the maximum's type, as in NumPy)."""

    scale: Any
    family: ClassVar[str] = "gumbel"

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def _z(self, x: ArrayLike) -> Floats:
        return np.asarray(x, dtype=float) / float(self.scale)

    def log_density(self, x: ArrayLike) -> Floats:
        z = self._z(x)
        with np.errstate(over="ignore", invalid="ignore"):
            value = -z - np.exp(-z) - math.log(float(self.scale))
        return np.where(z == -np.inf, -np.inf, value)

    def log_cdf(self, x: ArrayLike) -> Floats:
        with np.errstate(over="ignore"):
            return -np.exp(-self._z(x))

    def log_sf(self, x: ArrayLike) -> Floats:
        z = self._z(x)
        with np.errstate(over="ignore", divide="ignore", under="ignore"):
            t = np.exp(-z)
            # log(1 - exp(-t)) = log t - t/2 + O(t²) where t itself may underflow.
            return np.where(z > 30, -z - t / 2, np.log(-np.expm1(-t)))

    def quantile(self, u: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return -float(self.scale) * np.log(-np.log(np.asarray(u, dtype=float)))

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        return generator.gumbel(scale=float(self.scale), size=size)

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (math.inf, 1 / float(self.scale))

    def tail(self, side: int) -> Tail | None:
        if not is_number(self.scale):
            return None
        rate = inverse(self.scale)
        return Tail(double=rate, linear=rate) if side == 0 else Tail(linear=-rate)

    @property
    def constant(self) -> Any:
        return 0.0 if is_number(self.scale) and self.scale == 0 else None

    @property
    def mean(self) -> float:
        return float(self.scale) * float(np.euler_gamma)

    @property
    def variance(self) -> float:
        return (math.pi * float(self.scale)) ** 2 / 6

    def times(self, factor: Any) -> Noise | None:
        return Gumbel(self.scale * factor)

    @property
    def shift_cost(self) -> ShiftCost:
        return ShiftCost("upward", inverse(self.scale), attained=True)
