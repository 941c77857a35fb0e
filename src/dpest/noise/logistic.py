"""Logistic noise, NumPy's `logistic`."""

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
class Logistic(Noise):
    """cdf 1/(1 + exp(-x/scale)) on the reals.

    The slope of the log-density is -tanh(x/(2·scale))/scale: it lies within ±1/scale, and comes as
    near to that as one likes far out. So a shift by s costs at most |s|/scale, as for Laplace.
    """

    scale: Any
    family: ClassVar[str] = "logistic"

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def _z(self, x: ArrayLike) -> Floats:
        return np.asarray(x, dtype=float) / float(self.scale)

    def log_density(self, x: ArrayLike) -> Floats:
        z = np.abs(self._z(x))
        return -z - 2 * np.log1p(np.exp(-z)) - math.log(float(self.scale))

    def log_cdf(self, x: ArrayLike) -> Floats:
        return -np.logaddexp(0.0, -self._z(x))

    def log_sf(self, x: ArrayLike) -> Floats:
        return -np.logaddexp(0.0, self._z(x))

    def quantile(self, u: ArrayLike) -> Floats:
        u = np.asarray(u, dtype=float)
        with np.errstate(divide="ignore"):
            return float(self.scale) * (np.log(u) - np.log1p(-u))

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        return generator.logistic(scale=float(self.scale), size=size)

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (1 / float(self.scale), 1 / float(self.scale))

    def tail(self, side: int) -> Tail | None:
        return Tail(linear=-inverse(self.scale)) if is_number(self.scale) else None

    @property
    def constant(self) -> Any:
        return 0.0 if is_number(self.scale) and self.scale == 0 else None

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def variance(self) -> float:
        return (math.pi * float(self.scale)) ** 2 / 3

    def times(self, factor: Any) -> Noise | None:
        return Logistic(self.scale * factor)

    @property
    def shift_cost(self) -> ShiftCost:
        return ShiftCost("absolute", inverse(self.scale), attained=True)
