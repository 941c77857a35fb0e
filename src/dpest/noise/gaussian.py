"""Gaussian noise, NumPy's `normal`."""

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
class Gaussian(Noise):
    """Density exp(-x²/(2·sigma²))/(sigma·√(2π)) on the reals; `sigma` is the standard deviation."""

    sigma: Any
    family: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        check_scale(self.sigma)

    def _z(self, x: ArrayLike) -> Floats:
        return np.asarray(x, dtype=float) / float(self.sigma)

    def log_density(self, x: ArrayLike) -> Floats:
        return -(self._z(x) ** 2) / 2 - math.log(float(self.sigma) * math.sqrt(2 * math.pi))

    def cdf(self, x: ArrayLike) -> Floats:
        from scipy.special import ndtr

        return ndtr(self._z(x))

    def sf(self, x: ArrayLike) -> Floats:
        return self.cdf(-np.asarray(x, dtype=float))

    def log_cdf(self, x: ArrayLike) -> Floats:
        from scipy.special import log_ndtr

        return log_ndtr(self._z(x))

    def log_sf(self, x: ArrayLike) -> Floats:
        return self.log_cdf(-np.asarray(x, dtype=float))

    def quantile(self, u: ArrayLike) -> Floats:
        from scipy.special import ndtri

        return float(self.sigma) * ndtri(np.asarray(u, dtype=float))

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        return generator.normal(scale=float(self.sigma), size=size)

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (math.inf, math.inf)

    def tail(self, side: int) -> Tail | None:
        return Tail(square=-(inverse(self.sigma) ** 2) / 2) if is_number(self.sigma) else None

    @property
    def constant(self) -> Any:
        return 0.0 if is_number(self.sigma) and self.sigma == 0 else None

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def variance(self) -> float:
        return float(self.sigma) ** 2

    def times(self, factor: Any) -> Noise | None:
        return Gaussian(self.sigma * factor)

    @property
    def shift_cost(self) -> ShiftCost:
        once = inverse(self.sigma)
        return ShiftCost("square", once * once / 2, attained=True)
