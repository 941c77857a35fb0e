"""Poisson noise, NumPy's `poisson`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dpest.noise.family import Floats
from dpest.noise.lattice import LatticeNoise
from dpest.noise.parameters import is_number
from dpest.noise.tails import Tail

# NumPy draws into int64 and refuses rates that would overflow it.
_LARGEST_RATE = 9.223372006484771e18


@dataclass(frozen=True)
class Poisson(LatticeNoise):
    """Mass exp(-rate)·rate^k/k! on k = 0, 1, 2, …"""

    rate: Any
    family: ClassVar[str] = "poisson"

    def __post_init__(self) -> None:
        if is_number(self.rate):
            if not self.rate >= 0:
                raise ValueError("lam < 0 or lam is NaN")
            if self.rate > _LARGEST_RATE:
                raise ValueError("lam value too large")

    def log_mass(self, k: Floats) -> Floats:
        from dpest.noise.counts.saddle_point import log_poisson

        if self.constant is not None:
            return np.zeros(np.shape(k))
        return log_poisson(k, float(self.rate))

    @property
    def mode(self) -> int:
        return math.floor(float(self.rate))

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        return generator.poisson(float(self.rate), size=size)

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, math.inf if self.constant is None else 0.0)

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (math.inf, math.inf)

    def tail(self, side: int) -> Tail | None:
        """By Stirling: log mass = -k·log k + k·(1 + log rate) - log(k)/2 + O(1)."""
        if side == 0 or not is_number(self.rate) or not self.rate > 0:
            return None
        linear = 1 + math.log(float(self.rate))
        return Tail(stirling=Fraction(-1), linear=linear, power=Fraction(-1, 2))

    @property
    def constant(self) -> Any:
        return 0 if is_number(self.rate) and self.rate == 0 else None

    @property
    def mean(self) -> float:
        return float(self.rate)

    @property
    def variance(self) -> float:
        return float(self.rate)
