"""Student's t noise, NumPy's `standard_t` times a scale: noise of smooth sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpest.noise.family import Floats, Noise, ShiftCost
from dpest.noise.parameters import check_scale, exact, inverse, is_number
from dpest.noise.tails import Tail

_DIGITS = 10**24  # of a square root that is rounded down
_SMALL = 10**6
_FAR = 1e100  # beyond, 1 + z² is z²
_TINY = 1e-250


@dataclass(frozen=True)
class StudentT(Noise):
    """Density proportional to (1 + (x/scale)²/df)^(-(df+1)/2) on the reals.

    The most that a shift by s costs is (df + 1)·asinh(|s|/(2·scale·√df)), where
    x = (-s ± √(s² + 4·df·scale²))/2: the ratio is the Cauchy one to the power (df + 1)/2, for noise
    of scale √df. That is concave in |s|: |s|·(df + 1)/(2·scale·√df) is a bound.
    """

    df: Any
    scale: Any = 1
    family: ClassVar[str] = "student_t"

    def __post_init__(self) -> None:
        check_scale(self.scale)
        if is_number(self.df) and not 0 < self.df < math.inf:
            raise ValueError("df <= 0" if self.df <= 0 else "df is not a finite number")

    def _z(self, x: ArrayLike) -> Floats:
        return np.asarray(x, dtype=float) / float(self.scale)

    def log_density(self, x: ArrayLike) -> Floats:
        from scipy import special

        nu, z = float(self.df), np.abs(self._z(x))
        with np.errstate(divide="ignore"):
            far = 2 * np.log(z) - math.log(nu)
        rise = np.where(z < _FAR, np.log1p(np.minimum(z, _FAR) ** 2 / nu), far)
        top = special.gammaln((nu + 1) / 2) - special.gammaln(nu / 2) - 0.5 * math.log(nu * math.pi)
        return top - (nu + 1) / 2 * rise - math.log(float(self.scale))

    def log_cdf(self, x: ArrayLike) -> Floats:
        return self.log_sf(-np.asarray(x, dtype=float))

    def log_sf(self, x: ArrayLike) -> Floats:
        z = self._z(x)
        above = self._log_tail(np.abs(z))
        return np.where(z < 0, np.log1p(-np.exp(above)), above)

    def _log_tail(self, z: Floats) -> Floats:
        """log P(X > z) for z ≥ 0: half an incomplete beta function."""
        from scipy import special

        half, near = float(self.df) / 2, np.minimum(z, _FAR)
        rest = float(self.df) / (float(self.df) + near**2)
        part = near**2 / (float(self.df) + near**2)
        inside = 0.5 - 0.5 * special.betainc(0.5, half, part)
        outside = 0.5 * special.betainc(half, 0.5, rest)
        value = np.where(near < 1, inside, outside)
        with np.errstate(divide="ignore"):
            plain = np.log(value)
            log_rest = np.where(z < _FAR, np.log(rest), math.log(float(self.df)) - 2 * np.log(z))
        # I_w(a, 1/2) = w^a·F(a, 1/2; a + 1; w)/(a·B(a, 1/2)): it may be less than the least double.
        series = special.hyp2f1(half, 0.5, half + 1, np.minimum(rest, 0.999))
        small = half * log_rest - math.log(half) - special.betaln(half, 0.5) + np.log(0.5 * series)
        return np.where((value > _TINY) & (z < _FAR), plain, small)

    def quantile(self, u: ArrayLike) -> Floats:
        from scipy import special

        u = np.asarray(u, dtype=float)
        below = special.stdtrit(float(self.df), np.minimum(u, 1 - u))
        return float(self.scale) * np.where(u < 0.5, below, -below)

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        return float(self.scale) * generator.standard_t(float(self.df), size=size)

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (0.0, 0.0)

    def tail(self, side: int) -> Tail | None:
        if not is_number(self.scale) or not is_number(self.df):
            return None
        return Tail(power=-exact(self.df) - 1)

    @property
    def constant(self) -> Any:
        return 0.0 if is_number(self.scale) and self.scale == 0 else None

    @property
    def mean(self) -> float:
        return 0.0 if self.df > 1 else math.nan

    @property
    def variance(self) -> float:
        nu = float(self.df)
        return float(self.scale) ** 2 * nu / (nu - 2) if nu > 2 else math.inf

    @property
    def middle(self) -> float:
        return 0.0

    @property
    def width(self) -> float:
        return float(self.scale)

    def times(self, factor: Any) -> Noise | None:
        return StudentT(self.df, self.scale * factor)

    @property
    def shift_cost(self) -> ShiftCost:
        if not is_number(self.df):
            return ShiftCost("none")
        nu = exact(self.df)
        return ShiftCost("absolute", (nu + 1) / (2 * root_below(nu)) * inverse(self.scale))

    def cost_of_shift(self, shift: float) -> float:
        """The supremum of log f(x) − log f(x + shift) over x, exactly."""
        nu = float(self.df)
        return (nu + 1) * math.asinh(abs(shift) / (2 * float(self.scale) * math.sqrt(nu)))


def root_below(value: Fraction) -> Fraction:
    """A rational that is at most √value, and near to it: the root itself if that is rational."""
    above, below = math.isqrt(value.numerator), math.isqrt(value.denominator)
    if above**2 == value.numerator and below**2 == value.denominator:
        return Fraction(above, below)
    # √(n/d) = √(n·d)/d, with many digits of √(n·d).
    root = math.isqrt(value.numerator * value.denominator * _DIGITS**2)
    digits = Fraction(root, _DIGITS * value.denominator)
    return _convergent_below(digits) or digits


def _convergent_below(value: Fraction) -> Fraction:
    """The best of the continued fraction's convergents that lie below, with small denominators."""
    best, rest, is_below = Fraction(0), value, True
    numerators, denominators = (0, 1), (1, 0)
    while True:
        whole = math.floor(rest)
        numerators = (numerators[1], whole * numerators[1] + numerators[0])
        denominators = (denominators[1], whole * denominators[1] + denominators[0])
        if denominators[1] > _SMALL:
            return best
        if is_below:
            best = Fraction(numerators[1], denominators[1])
        if rest == whole:
            return best
        rest, is_below = 1 / (rest - whole), not is_below
