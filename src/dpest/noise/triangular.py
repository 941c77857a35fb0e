"""Triangular noise, NumPy's `triangular`: on an interval, highest at its mode."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpest.noise.family import Floats, Noise
from dpest.noise.parameters import is_number


@dataclass(frozen=True)
class Triangular(Noise):
    """Density that rises linearly from `left` to `mode` and falls linearly to `right`.

    A shift moves the support, and so costs infinitely much: there is no rule for it.
    """

    left: Any
    mode: Any
    right: Any
    family: ClassVar[str] = "triangular"

    def __post_init__(self) -> None:
        if not all(is_number(v) for v in (self.left, self.mode, self.right)):
            return
        if not all(math.isfinite(v) for v in (self.left, self.mode, self.right)):
            raise ValueError("left, mode and right must be finite numbers")
        if self.left > self.mode:
            raise ValueError("left > mode")
        if self.mode > self.right:
            raise ValueError("mode > right")
        if self.left == self.right:
            raise ValueError("left == right")

    def _ends(self) -> tuple[float, float, float]:
        return float(self.left), float(self.mode), float(self.right)

    def log_density(self, x: ArrayLike) -> Floats:
        left, mode, right = self._ends()
        x = np.asarray(x, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            rising = np.log(np.maximum(x - left, 0.0)) - math.log(max(mode - left, 1e-300))
            falling = np.log(np.maximum(right - x, 0.0)) - math.log(max(right - mode, 1e-300))
        value = np.where(x < mode, rising, falling)
        value = np.where(x == mode, 0.0, value) + math.log(2 / (right - left))
        return np.where((x >= left) & (x <= right), value, -np.inf)

    def log_cdf(self, x: ArrayLike) -> Floats:
        return self._log_mass(x, 1.0)

    def log_sf(self, x: ArrayLike) -> Floats:
        return self._log_mass(x, -1.0)

    def _log_mass(self, x: ArrayLike, sign: float) -> Floats:
        """The log of the mass below x (sign 1) or above it (sign -1)."""
        left, mode, right = (sign * v for v in self._ends()[:: int(sign)])
        x = np.clip(sign * np.asarray(x, dtype=float), left, right)
        rise, fall, size = mode - left, max(right - mode, 1e-300), right - left
        rest = (right - x) ** 2 / (size * fall)
        past = np.maximum(x - mode, 0.0)
        with np.errstate(divide="ignore"):
            near = 2 * np.log(x - left) - math.log(max(rise, 1e-300)) - math.log(size)
            # No difference of nearly equal numbers: above the mode, a sum of what lies below.
            middle = np.log((rise + past * (right - x + right - mode) / fall) / size)
            far = np.log1p(-np.minimum(rest, 1.0))
        return np.where(x < mode, near, np.where(rest > 0.5, middle, far))

    def quantile(self, u: ArrayLike) -> Floats:
        left, mode, right = self._ends()
        u = np.asarray(u, dtype=float)
        size, rise, fall = right - left, mode - left, max(right - mode, 1e-300)
        low = left + np.sqrt(u * size * rise)
        beyond = np.clip((u * size - rise) / fall, 0.0, 1.0)
        high = mode + fall * beyond / (1 + np.sqrt(1 - beyond))
        return np.where(u * size < rise, low, high)

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        return generator.triangular(*self._ends(), size=size)

    @property
    def support(self) -> tuple[float, float]:
        left, _, right = self._ends()
        return (left, right)

    @property
    def kinks(self) -> tuple[float, ...]:
        return tuple(sorted(set(self._ends())))

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (np.inf, np.inf)

    @property
    def mean(self) -> float:
        return sum(self._ends()) / 3

    @property
    def variance(self) -> float:
        a, m, b = self._ends()
        return (a * a + m * m + b * b - a * m - a * b - m * b) / 18
