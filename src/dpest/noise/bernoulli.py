"""A biased coin."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpest.noise.family import FiniteNoise, Floats
from dpest.noise.parameters import check_probability, exact, is_number


@dataclass(frozen=True)
class Bernoulli(FiniteNoise):
    """True with probability p; in arithmetic True is 1 and False is 0."""

    p: Any
    family: ClassVar[str] = "bernoulli"

    def __post_init__(self) -> None:
        check_probability(self.p, "p < 0, p > 1 or p is NaN")

    @property
    def outcomes(self) -> tuple[tuple[Any, Any], ...]:
        p = exact(self.p) if is_number(self.p) else self.p
        both = ((False, 1 - p), (True, p))
        return tuple(o for o in both if not (is_number(o[1]) and o[1] == 0))

    def mass_exact(self, k: int) -> Fraction | None:
        if not is_number(self.p):
            return None
        return sum((p for value, p in self.outcomes if value == k), start=Fraction(0))

    def density(self, x: ArrayLike) -> Floats:
        x = np.asarray(x, dtype=float)
        p = float(self.p)
        return np.where(x == 1, p, np.where(x == 0, 1 - p, 0.0))

    def log_density(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self.density(x))

    def log_cdf(self, x: ArrayLike) -> Floats:
        x = np.asarray(x, dtype=float)
        with np.errstate(divide="ignore"):
            inside = np.log1p(-float(self.p))
        return np.where(x < 0, -np.inf, np.where(x < 1, inside, 0.0))

    def log_sf(self, x: ArrayLike) -> Floats:
        x = np.asarray(x, dtype=float)
        with np.errstate(divide="ignore"):
            inside = np.log(float(self.p))
        return np.where(x < 0, 0.0, np.where(x < 1, inside, -np.inf))

    def quantile(self, u: ArrayLike) -> Floats:
        return np.where(np.asarray(u, dtype=float) > 1 - float(self.p), 1.0, 0.0)

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        flips = generator.random(size) < float(self.p)
        return bool(flips) if size is None else flips

    @property
    def mean(self) -> float:
        return float(self.p)

    @property
    def variance(self) -> float:
        return float(self.p) * (1 - float(self.p))
