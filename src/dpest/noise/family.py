"""What every family of noise knows about itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpest.noise.tails import Tail

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ShiftCost:
    """What it costs at most, in log-density ratio, to translate a noise by s (the proof rule).

    `absolute`: rate·|s|. `one_sided`: rate·s, for s of either sign, with the support as a
    constraint on the noise (exponential). `upward`: rate·s, s ≥ 0 needed (Gumbel).
    `square`: α·s²·rate for Rényi order α (Gaussian: rate = 1/(2σ²)). `none`: no translation rule.
    `integral` restricts s to integers (lattice noise).
    """

    kind: Literal["absolute", "one_sided", "upward", "square", "none"]
    rate: Any = None
    integral: bool = False
    attained: bool = False
    """Whether far out in every direction a shift costs exactly that (for `upward`: to the right).

    Only then does a proof look for inputs that attain its bound; otherwise it is an upper bound.
    """


@dataclass(frozen=True)
class Noise:
    """One distribution of one family, centred: location is added by the program.

    All functions are vectorised and accurate in both tails: `log_cdf` and `log_sf` don't
    underflow. Frozen and hashable, so that equal noises are one.
    """

    family: ClassVar[str]
    discrete: ClassVar[bool] = False

    def log_density(self, x: ArrayLike) -> Floats:
        """Log of the density, or of the mass for discrete families; -inf outside the support."""
        raise NotImplementedError

    def density(self, x: ArrayLike) -> Floats:
        return np.exp(self.log_density(x))

    def cdf(self, x: ArrayLike) -> Floats:
        """P(X ≤ x)."""
        return np.exp(self.log_cdf(x))

    def sf(self, x: ArrayLike) -> Floats:
        """P(X > x)."""
        return np.exp(self.log_sf(x))

    def log_cdf(self, x: ArrayLike) -> Floats:
        raise NotImplementedError

    def log_sf(self, x: ArrayLike) -> Floats:
        raise NotImplementedError

    def quantile(self, u: ArrayLike) -> Floats:
        """The least x with cdf(x) ≥ u."""
        raise NotImplementedError

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        raise NotImplementedError

    @property
    def support(self) -> tuple[float, float]:
        """Least and greatest possible values (may be infinite); all between for continuous."""
        return (-np.inf, np.inf)

    @property
    def kinks(self) -> tuple[float, ...]:
        """Where the density is not smooth, the finite ends of the support included."""
        return ()

    @property
    def tail_rates(self) -> tuple[float, float]:
        """Exponential decay of the density to the left and to the right.

        `inf` where the support ends or the decay is faster than exponential.
        """
        raise NotImplementedError

    def tail(self, side: int) -> Tail | None:
        """What the log-density grows like to the left (0) or to the right (1), exactly.

        None where the support ends, or where nobody has worked it out: then no ratio of such
        densities is called infinite because of its tails.
        """
        return None

    @property
    def constant(self) -> Any:
        """The value of a noise that can't vary (scale 0, p = 1), else None.

        Such a noise has no density; a program that meets one has met a number.
        """
        return None

    @property
    def mean(self) -> float:
        raise NotImplementedError

    @property
    def variance(self) -> float:
        raise NotImplementedError

    @property
    def middle(self) -> float:
        """A place amid the mass: the mean, unless there is none."""
        return self.mean

    @property
    def width(self) -> float:
        """A typical distance from the middle: the deviation, unless that is infinite."""
        return math.sqrt(float(self.variance))

    @property
    def shift_cost(self) -> ShiftCost:
        return ShiftCost("none")

    def times(self, factor: Any) -> Noise | None:
        """The law of a positive multiple, which may be a symbol; None: not of this family."""
        return None

    @property
    def outcomes(self) -> tuple[tuple[Any, Any], ...] | None:
        """All (value, probability) of a finite discrete family, exact where it can be."""
        return None

    def mass_exact(self, k: int) -> Fraction | None:
        """The mass at k as a rational, where the parameters make it one."""
        return None


class FiniteNoise(Noise):
    """Finitely many `outcomes`, each of which is possible."""

    discrete: ClassVar[bool] = True

    @property
    def outcomes(self) -> tuple[tuple[Any, Any], ...]:
        raise NotImplementedError

    @property
    def support(self) -> tuple[float, float]:
        values = [float(value) for value, _ in self.outcomes]
        return (min(values), max(values))

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (np.inf, np.inf)

    @property
    def constant(self) -> Any:
        possible = self.outcomes
        return possible[0][0] if len(possible) == 1 else None
