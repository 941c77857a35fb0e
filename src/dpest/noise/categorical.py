"""A finite choice: NumPy's `choice`, and `integers` with equal probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpest.noise.family import FiniteNoise, Floats
from dpest.noise.parameters import exact, is_number


@dataclass(frozen=True)
class Categorical(FiniteNoise):
    """`values[i]` with probability `probabilities[i]`.

    Values may be anything hashable; cdf and quantile need numbers. Probabilities sum to 1 within
    NumPy's tolerance; exact ones are scaled to sum to 1 as rationals.
    """

    values: tuple[Any, ...]
    probabilities: tuple[Any, ...]
    family: ClassVar[str] = "categorical"

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        object.__setattr__(self, "probabilities", tuple(self.probabilities))
        if not self.values:
            raise ValueError("a cannot be empty unless no samples are taken")
        if len(self.values) != len(self.probabilities):
            raise ValueError("a and p must have same size")
        if all(is_number(p) for p in self.probabilities):
            whole = abs(math.fsum(self.probabilities) - 1) <= math.sqrt(np.finfo(float).eps)
            if not whole or any(p < 0 for p in self.probabilities):
                # NumPy's own words: they differ between its versions, and a receiver sees them.
                chances = [float(p) for p in self.probabilities]
                np.random.default_rng(0).choice(len(self.values), p=chances)
                raise ValueError("Probabilities do not sum to 1")

    @classmethod
    def equal(cls, values: tuple[Any, ...]) -> Categorical:
        """Each value with the same probability."""
        return cls(tuple(values), (Fraction(1, max(len(values), 1)),) * len(values))

    @property
    def outcomes(self) -> tuple[tuple[Any, Any], ...]:
        """Each value once, with its whole probability; impossible ones left out."""
        if all(is_number(p) for p in self.probabilities):
            chances = [exact(p) for p in self.probabilities]
            total = sum(chances)
            chances = [p / total for p in chances]
        else:
            chances = list(self.probabilities)
        found: dict[Any, Any] = {}
        for value, chance in zip(self.values, chances, strict=True):
            if is_number(chance) and chance == 0:
                continue
            # 1, 1.0 and True are one dictionary key but three outputs.
            key = (type(value).__name__, value)
            found[key] = (value, found[key][1] + chance) if key in found else (value, chance)
        return tuple(found.values())

    def mass_exact(self, k: Any) -> Fraction | None:
        if not all(is_number(p) for p in self.probabilities):
            return None
        return sum((p for value, p in self.outcomes if value == k), start=Fraction(0))

    def _over(self, x: ArrayLike, relation: Any) -> Floats:
        x = np.asarray(x)
        total = np.zeros(x.shape)
        for value, chance in self.outcomes:
            total = total + float(chance) * relation(x, value)
        return np.minimum(total, 1.0)

    def density(self, x: ArrayLike) -> Floats:
        return self._over(x, lambda x, value: np.asarray(x == value))

    def log_density(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self.density(x))

    def cdf(self, x: ArrayLike) -> Floats:
        return self._over(x, lambda x, value: np.asarray(value <= x))

    def sf(self, x: ArrayLike) -> Floats:
        return self._over(x, lambda x, value: np.asarray(value > x))

    def log_cdf(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self.cdf(x))

    def log_sf(self, x: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self.sf(x))

    def quantile(self, u: ArrayLike) -> Floats:
        ordered = sorted(self.outcomes)
        steps = np.cumsum([float(p) for _, p in ordered])
        steps[-1] = 1.0
        places = np.searchsorted(steps, np.asarray(u, dtype=float), side="left")
        return np.array([float(value) for value, _ in ordered])[places]

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        chances = np.array([float(p) for p in self.probabilities])
        chances = chances / chances.sum()
        places = generator.choice(len(self.values), size=size, p=chances)
        if size is None:
            return self.values[int(places)]
        pool = np.array(self.values)
        if pool.ndim != 1 or len({type(value) for value in self.values}) > 1:
            # Tuples, or mixed types that NumPy would make all strings or all floats.
            pool = np.empty(len(self.values), dtype=object)
            pool[:] = self.values
        return pool[places]

    @property
    def mean(self) -> float:
        return math.fsum(float(value) * float(p) for value, p in self.outcomes)

    @property
    def variance(self) -> float:
        centre = self.mean
        return math.fsum((float(value) - centre) ** 2 * float(p) for value, p in self.outcomes)
