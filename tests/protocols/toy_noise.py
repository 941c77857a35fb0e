"""A noise family of somebody else's, in one file: Laplace noise that is wider on the right.

Density e^(x/b)/(3b) for x < 0 and e^(-x/(2b))/(3b) for x ≥ 0: sampled, exact and proved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpest import kernel, noise
from dpest.kernel.models.noise import Family, trust
from dpest.noise import Noise, ShiftCost
from dpest.noise.family import Floats
from dpest.noise.parameters import inverse
from dpest.noise.tails import Tail


@dataclass(frozen=True)
class SkewLaplace(Noise):
    scale: Any
    family: ClassVar[str] = "skew_laplace"

    def log_density(self, x: ArrayLike) -> Floats:
        z = np.asarray(x, dtype=float) / float(self.scale)
        return np.where(z < 0, z, -z / 2) - math.log(3 * float(self.scale))

    def cdf(self, x: ArrayLike) -> Floats:
        z = np.asarray(x, dtype=float) / float(self.scale)
        return np.where(z < 0, np.exp(np.minimum(z, 0)) / 3, 1 - 2 / 3 * np.exp(-np.abs(z) / 2))

    def log_cdf(self, x: ArrayLike) -> Floats:
        z = np.asarray(x, dtype=float) / float(self.scale)
        right = np.log1p(-2 / 3 * np.exp(-np.abs(z) / 2))
        return np.where(z < 0, z - math.log(3), right)

    def log_sf(self, x: ArrayLike) -> Floats:
        z = np.asarray(x, dtype=float) / float(self.scale)
        left = np.log1p(-np.exp(-np.abs(z)) / 3)
        return np.where(z < 0, left, -z / 2 + math.log(2 / 3))

    def quantile(self, u: ArrayLike) -> Floats:
        u = np.asarray(u, dtype=float)
        with np.errstate(divide="ignore"):
            z = np.where(u < 1 / 3, np.log(3 * u), -2 * np.log(1.5 * (1 - u)))
        return float(self.scale) * z

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        return self.quantile(generator.random(size))

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0,)

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (1 / float(self.scale), 0.5 / float(self.scale))

    def tail(self, side: int) -> Tail | None:
        return Tail(linear=-inverse(self.scale) / (1 if side == 0 else 2))

    @property
    def mean(self) -> float:
        return float(self.scale)

    @property
    def variance(self) -> float:
        return 5 * float(self.scale) ** 2

    @property
    def shift_cost(self) -> ShiftCost:
        return ShiftCost("absolute", inverse(self.scale))


trust("skew_laplace", Family("absolute", integral=False))


def skew_laplace(rng: Any, scale: Any, size: Any = None) -> Any:
    return noise.draw(rng, SkewLaplace(scale), size)


def noisy_sum(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return sum(x) + skew_laplace(rng, 1 / eps)


def above(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    bar = skew_laplace(rng, 2 / eps)
    for i, q in enumerate(x):
        if q + skew_laplace(rng, 4 / eps) >= bar:
            return i
    return None


__all__ = ["SkewLaplace", "above", "kernel", "noisy_sum", "skew_laplace"]
