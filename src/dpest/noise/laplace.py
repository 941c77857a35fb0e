"""Laplace noise, NumPy's `laplace`."""

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
class Laplace(Noise):
    """Density exp(-|x|/scale)/(2·scale) on the reals."""

    scale: Any
    family: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def log_density(self, x: ArrayLike) -> Floats:
        b = float(self.scale)
        return -np.abs(np.asarray(x, dtype=float)) / b - math.log(2 * b)

    def cdf(self, x: ArrayLike) -> Floats:
        z = np.asarray(x, dtype=float) / float(self.scale)
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z < 0, tail, 1 - tail)

    def sf(self, x: ArrayLike) -> Floats:
        return self.cdf(-np.asarray(x, dtype=float))

    def log_cdf(self, x: ArrayLike) -> Floats:
        z = np.asarray(x, dtype=float) / float(self.scale)
        tail = -np.abs(z) - math.log(2)
        return np.where(z < 0, tail, np.log1p(-np.exp(tail)))

    def log_sf(self, x: ArrayLike) -> Floats:
        return self.log_cdf(-np.asarray(x, dtype=float))

    def quantile(self, u: ArrayLike) -> Floats:
        u = np.asarray(u, dtype=float)
        with np.errstate(divide="ignore"):
            z = np.where(u < 0.5, np.log(2 * u), -np.log(2 * (1 - u)))
        return float(self.scale) * z

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        return generator.laplace(scale=float(self.scale), size=size)

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0,)

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
        return 2 * float(self.scale) ** 2

    def times(self, factor: Any) -> Noise | None:
        return Laplace(self.scale * factor)

    @property
    def shift_cost(self) -> ShiftCost:
        return ShiftCost("absolute", inverse(self.scale), attained=True)
