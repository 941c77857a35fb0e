"""Cauchy noise, NumPy's `standard_cauchy` times a scale: noise of smooth sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpest.noise.family import Floats, Noise, ShiftCost
from dpest.noise.parameters import check_scale, inverse, is_number
from dpest.noise.tails import Tail


@dataclass(frozen=True)
class Cauchy(Noise):
    """Density proportional to 1/(1 + (x/scale)²) on the reals. It has no mean.

    The most that a shift by s costs is 2·asinh(|s|/(2·scale)), where x = (-s ± √(s² + 4·scale²))/2.
    That is concave in |s|, with slope 1/scale at 0: so |s|/scale is a bound, and no rate below it.
    """

    scale: Any = 1
    family: ClassVar[str] = "cauchy"

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def _z(self, x: ArrayLike) -> Floats:
        return np.asarray(x, dtype=float) / float(self.scale)

    def log_density(self, x: ArrayLike) -> Floats:
        z = np.abs(self._z(x))
        with np.errstate(divide="ignore", over="ignore"):
            value = np.where(z < 1e8, np.log1p(np.minimum(z, 1e8) ** 2), 2 * np.log(z))
        return -value - math.log(math.pi * float(self.scale))

    def cdf(self, x: ArrayLike) -> Floats:
        return self.sf(-np.asarray(x, dtype=float))

    def sf(self, x: ArrayLike) -> Floats:
        return np.arctan2(1.0, self._z(x)) / math.pi

    def log_cdf(self, x: ArrayLike) -> Floats:
        return self.log_sf(-np.asarray(x, dtype=float))

    def log_sf(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            below = np.log1p(-np.arctan2(1.0, -self._z(x)) / math.pi)
            return np.where(self._z(x) < 0, below, np.log(self.sf(x)))

    def quantile(self, u: ArrayLike) -> Floats:
        u = np.asarray(u, dtype=float)
        with np.errstate(divide="ignore"):
            far = np.where(u < 0.5, -1.0, 1.0) / np.tan(math.pi * np.minimum(u, 1 - u))
        middle = np.tan(math.pi * (u - 0.5))
        return float(self.scale) * np.where(np.abs(u - 0.5) < 0.25, middle, far)

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        return float(self.scale) * generator.standard_cauchy(size=size)

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (0.0, 0.0)

    def tail(self, side: int) -> Tail | None:
        return Tail(power=Fraction(-2)) if is_number(self.scale) else None

    @property
    def constant(self) -> Any:
        return 0.0 if is_number(self.scale) and self.scale == 0 else None

    @property
    def mean(self) -> float:
        return math.nan

    @property
    def variance(self) -> float:
        return math.inf

    @property
    def middle(self) -> float:
        return 0.0

    @property
    def width(self) -> float:
        return float(self.scale)

    def times(self, factor: Any) -> Noise | None:
        return Cauchy(self.scale * factor)

    @property
    def shift_cost(self) -> ShiftCost:
        return ShiftCost("absolute", inverse(self.scale))

    def cost_of_shift(self, shift: float) -> float:
        """The supremum of log f(x) − log f(x + shift) over x, exactly."""
        return 2 * math.asinh(abs(shift) / (2 * float(self.scale)))
