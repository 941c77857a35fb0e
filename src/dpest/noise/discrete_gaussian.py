"""Discrete Gaussian noise (Canonne, Kamath and Steinke, 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpest.noise.discrete_laplace import DiscreteLaplace
from dpest.noise.family import Floats, ShiftCost
from dpest.noise.lattice import LatticeNoise
from dpest.noise.parameters import check_scale, inverse, is_number
from dpest.noise.tails import Tail


@dataclass(frozen=True)
class DiscreteGaussian(LatticeNoise):
    """Mass proportional to exp(-k²/(2·sigma²)) on the integers.

    `sigma` is the parameter of the formula; the standard deviation is a little smaller.
    """

    sigma: Any
    family: ClassVar[str] = "discrete_gaussian"

    def __post_init__(self) -> None:
        check_scale(self.sigma, "sigma")

    @property
    def _log_normaliser(self) -> float:
        """log Σ exp(-k²/(2σ²)): the series itself, or its Poisson dual where that is shorter."""
        sigma = float(self.sigma)
        if sigma < 1:
            return math.log1p(
                2 * math.fsum(math.exp(-((k / sigma) ** 2) / 2) for k in range(1, 40))
            )
        dual = math.fsum(math.exp(-2 * (math.pi * sigma * j) ** 2) for j in range(1, 4))
        return math.log(sigma * math.sqrt(2 * math.pi)) + math.log1p(2 * dual)

    def log_mass(self, k: Floats) -> Floats:
        return -((k / float(self.sigma)) ** 2) / 2 - self._log_normaliser

    @property
    def mode(self) -> int:
        return 0

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        """Rejection from a discrete Laplace of scale ⌊σ⌋ + 1 (their Algorithm 3)."""
        if self.constant is not None:
            return 0 if size is None else np.zeros(size, dtype=np.int64)
        sigma = float(self.sigma)
        scale = math.floor(sigma) + 1
        proposal = DiscreteLaplace(scale)
        shape = () if size is None else size
        drawn = np.empty(shape, dtype=np.int64)
        flat = drawn.reshape(-1)
        missing = np.arange(flat.size)
        while missing.size:
            k = proposal.sample(generator, missing.size)
            log_accept = -(((np.abs(k) - sigma**2 / scale) / sigma) ** 2) / 2
            kept = generator.standard_exponential(missing.size) >= -log_accept
            flat[missing[kept]] = k[kept]
            missing = missing[~kept]
        return int(flat[0]) if size is None else drawn

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (math.inf, math.inf)

    def tail(self, side: int) -> Tail | None:
        return Tail(square=-(inverse(self.sigma) ** 2) / 2) if is_number(self.sigma) else None

    @property
    def constant(self) -> Any:
        return 0 if is_number(self.sigma) and self.sigma == 0 else None

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def variance(self) -> float:
        sigma = float(self.sigma)
        if sigma > 4:
            # Off by a factor 1 - O(exp(-2π²σ²)), below 1e-130 here.
            return sigma**2
        k = np.arange(1, 160, dtype=float)
        return float(2 * np.sum(k**2 * np.exp(self.log_mass(k))))

    @property
    def shift_cost(self) -> ShiftCost:
        once = inverse(self.sigma)
        return ShiftCost("square", once * once / 2, integral=True, attained=True)
