"""Densities and probabilities of the families in ball arithmetic: one class each, one list.

Each function is analytic on the side of the kinks where `middle` lies. A family that is not listed
has no enclosure.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from dpest.geometry.linear import rational
from dpest.noise.exponential import Exponential
from dpest.noise.gaussian import Gaussian
from dpest.noise.gumbel import Gumbel
from dpest.noise.laplace import Laplace
from dpest.noise.uniform import Uniform

Ball = Callable[[Any], Any]


class BallLaw(Protocol):
    family: ClassVar[type]

    def density(self, noise: Any, middle: float) -> Ball: ...

    def cdf(self, noise: Any, middle: float, upper: bool) -> Ball:
        """P(X ≤ z), or P(X > z) if `upper`."""
        ...

    def peak(self, noise: Any) -> float:
        """An upper bound of the density."""
        ...


def as_ball(value: Fraction) -> Any:
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def _zero(z: Any) -> Any:
    return 0 * z


def _one(z: Any) -> Any:
    return 0 * z + 1


class LaplaceBalls:
    family: ClassVar[type] = Laplace

    def density(self, noise: Any, middle: float) -> Ball:
        b = as_ball(rational(noise.scale))
        sign = 1 if middle < 0 else -1
        return lambda z: (sign * z / b).exp() / (2 * b)

    def cdf(self, noise: Any, middle: float, upper: bool) -> Ball:
        b = as_ball(rational(noise.scale))
        sign = -1 if upper else 1
        if (middle < 0) != upper:
            return lambda z: (sign * z / b).exp() / 2
        return lambda z: 1 - (-sign * z / b).exp() / 2

    def peak(self, noise: Any) -> float:
        return 0.51 / float(noise.scale)


class ExponentialBalls:
    family: ClassVar[type] = Exponential

    def density(self, noise: Any, middle: float) -> Ball:
        b = as_ball(rational(noise.scale))
        return (lambda z: (-z / b).exp() / b) if middle > 0 else _zero

    def cdf(self, noise: Any, middle: float, upper: bool) -> Ball:
        b = as_ball(rational(noise.scale))
        if middle <= 0:
            return _one if upper else _zero
        return (lambda z: (-z / b).exp()) if upper else (lambda z: 1 - (-z / b).exp())

    def peak(self, noise: Any) -> float:
        return 1.01 / float(noise.scale)


class GaussianBalls:
    family: ClassVar[type] = Gaussian

    def density(self, noise: Any, middle: float) -> Ball:
        from flint import arb

        s = as_ball(rational(noise.sigma))
        root = (2 * arb.pi()).sqrt() * s
        return lambda z: (-(z / s) * (z / s) / 2).exp() / root

    def cdf(self, noise: Any, middle: float, upper: bool) -> Ball:
        from flint import arb

        s = as_ball(rational(noise.sigma)) * arb(2).sqrt()
        sign = 1 if upper else -1
        return lambda z: (sign * z / s).erfc() / 2

    def peak(self, noise: Any) -> float:
        return 0.4 / float(noise.sigma)


class GumbelBalls:
    family: ClassVar[type] = Gumbel

    def density(self, noise: Any, middle: float) -> Ball:
        b = as_ball(rational(noise.scale))
        return lambda z: (-z / b - (-z / b).exp()).exp() / b

    def cdf(self, noise: Any, middle: float, upper: bool) -> Ball:
        b = as_ball(rational(noise.scale))
        if upper:
            return lambda z: 1 - (-(-z / b).exp()).exp()
        return lambda z: (-(-z / b).exp()).exp()

    def peak(self, noise: Any) -> float:
        return 0.37 / float(noise.scale)


class UniformBalls:
    family: ClassVar[type] = Uniform

    def density(self, noise: Any, middle: float) -> Ball:
        low, high = rational(noise.low), rational(noise.high)
        height = 1 / as_ball(high - low)
        inside = float(low) < middle < float(high)
        return (lambda z: 0 * z + height) if inside else _zero

    def cdf(self, noise: Any, middle: float, upper: bool) -> Ball:
        low, high = rational(noise.low), rational(noise.high)
        a, b = as_ball(low), as_ball(high)
        if middle <= float(low):
            return _one if upper else _zero
        if middle >= float(high):
            return _zero if upper else _one
        return (lambda z: (b - z) / (b - a)) if upper else (lambda z: (z - a) / (b - a))

    def peak(self, noise: Any) -> float:
        low, high = noise.support
        return float(1.01 / (high - low))


_LISTED: tuple[BallLaw, ...] = (
    LaplaceBalls(),
    ExponentialBalls(),
    GaussianBalls(),
    GumbelBalls(),
    UniformBalls(),
)
_BY_FAMILY = {law.family: law for law in _LISTED}


def ball_law(noise: Any) -> BallLaw | None:
    """The law of a noise in balls; None where there is none."""
    return _BY_FAMILY.get(type(noise))
