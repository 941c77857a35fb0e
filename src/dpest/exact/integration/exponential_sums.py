"""Sums of Laplace and exponential noises in closed form: polynomials times exponentials.

The transform of such a sum is a product of simple poles; partial fractions, in exact rationals,
give density and tails on either side of 0. Close scales make terms that nearly cancel: where too
many digits are lost, the sum is taken in ball arithmetic instead, on demand or into a table.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpest.exact.integration.log_tables import LogTable
from dpest.exact.integration.quadrature import Floats
from dpest.noise.family import Noise
from dpest.noise.tails import Tail

Stages = tuple[tuple[Fraction, int], ...]  # scales, each with how often it occurs
_LOST = 30.0  # a sum whose terms are this many times larger has lost a digit and a half
_FEW = 48  # points that are computed one by one before a table is made
_BITS = 128


@dataclass(frozen=True)
class _Series:
    """Σ exp(-rate·x)·Σ c_j·x^j for x ≥ 0, which vanishes like x^order at 0."""

    parts: tuple[tuple[Fraction, tuple[Fraction, ...]], ...]
    order: int

    @functools.cached_property
    def _numbers(self) -> list[tuple[float, Floats]]:
        return [(float(rate), np.array([float(c) for c in cs])) for rate, cs in self.parts]

    def log_value(self, x: Floats) -> Floats:
        """The logarithm, to about 1e-14, at points x > 0."""
        total, doubtful = self._quick(x)
        if doubtful.any():
            total[doubtful] = self._careful(x[doubtful])
        return total

    def _quick(self, x: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        logs, signed, sizes = [], [], []
        big = np.maximum(x, 1.0)
        for rate, coefficients in self._numbers:
            degree = len(coefficients) - 1
            value, size = np.zeros(len(x)), np.zeros(len(x))
            for j in range(degree, -1, -1):  # Horner in x below 1, in 1/x above
                value = np.where(x <= 1, value * x + coefficients[j], value)
                size = np.where(x <= 1, size * x + abs(coefficients[j]), size)
            for j in range(degree + 1):
                value = np.where(x > 1, value / big + coefficients[j], value)
                size = np.where(x > 1, size / big + abs(coefficients[j]), size)
            logs.append(-rate * x + degree * np.log(big))
            signed.append(value)
            sizes.append(size)
        top = np.max(logs, axis=0)
        shares = np.exp(np.array(logs) - top)
        total = (shares * signed).sum(axis=0)
        size = (shares * sizes).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return top + np.log(total), ~(size < _LOST * total)

    def _careful(self, x: Floats) -> Floats:
        if len(x) > _FEW:
            inside = x <= self._table.high
            result = np.empty(len(x))
            result[inside] = self._table(x[inside]) + self.order * np.log(x[inside])
            result[~inside] = [self._exactly(v) for v in x[~inside]]
            return result
        return np.array([self._exactly(v) for v in x])

    @functools.cached_property
    def _table(self) -> LogTable:
        """log of the series over x^order, as far as the quick way has trouble."""
        lengths = [float(1 / rate) for rate, _ in self.parts if rate]
        end = 4 * max(lengths)
        while end < 80 * max(lengths) and self._quick(np.linspace(end / 2, end, 9))[1].any():
            end *= 2

        def smooth(x: Floats) -> Floats:
            return np.array([self._exactly(v) - self.order * math.log(v) for v in x])

        return LogTable(smooth, [0.0, min(lengths), end])

    def _exactly(self, x: float) -> float:
        from flint import arb, ctx, fmpq

        before = ctx.prec
        bits = _BITS
        try:
            while True:
                ctx.prec = bits
                at = arb(float(x))
                total = arb(0)
                for rate, coefficients in self.parts:
                    value = arb(0)
                    for c in reversed(coefficients):
                        value = value * at + arb(fmpq(c.numerator, c.denominator))
                    decay = arb(fmpq(rate.numerator, rate.denominator))
                    total += value * (-decay * at).exp()
                if total.rel_accuracy_bits() > 60 or bits > 1 << 15:
                    return float(total.log().mid())
                bits *= 2
        finally:
            ctx.prec = before


@dataclass(frozen=True)
class ExponentialSum(Noise):
    """A sum of independent exponentials (`right`) minus a sum of others (`left`).

    A Laplace noise is one of each, of its own scale. Log-concave, as sums of log-concave are.
    """

    right: Stages
    left: Stages
    family: ClassVar[str] = "sum of exponentials"

    @functools.cached_property
    def _sides(self) -> tuple[_RightHalf | None, _RightHalf | None]:
        """For x < 0 (mirrored) and for x > 0; None where there is nothing."""
        return (
            _RightHalf(self.left, self.right) if self.left else None,
            _RightHalf(self.right, self.left) if self.right else None,
        )

    def _piecewise(
        self,
        x: ArrayLike,
        negative: Callable[[Floats], Floats],
        positive: Callable[[Floats], Floats],
    ) -> Floats:
        given = np.asarray(x, dtype=float)
        flat = given.ravel()
        result = np.empty(len(flat))
        below = flat < 0
        result[below] = negative(-flat[below])
        result[~below] = positive(np.maximum(flat[~below], 1e-300))
        return result.reshape(given.shape)

    def log_density(self, x: ArrayLike) -> Floats:
        one, two = self._sides
        return self._piecewise(
            x,
            lambda v: _nothing(v) if one is None else one.density.log_value(v),
            lambda v: _nothing(v) if two is None else two.density.log_value(v),
        )

    def log_cdf(self, x: ArrayLike) -> Floats:
        one, two = self._sides
        return self._piecewise(
            x,
            lambda v: _nothing(v) if one is None else one.tail.log_value(v),
            lambda v: np.zeros(len(v)) if two is None else two.rest(v),
        )

    def log_sf(self, x: ArrayLike) -> Floats:
        one, two = self._sides
        return self._piecewise(
            x,
            lambda v: np.zeros(len(v)) if one is None else one.rest(v),
            lambda v: _nothing(v) if two is None else two.tail.log_value(v),
        )

    @property
    def support(self) -> tuple[float, float]:
        return (-math.inf if self.left else 0.0, math.inf if self.right else 0.0)

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0,)

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (
            float(1 / max(s for s, _ in self.left)) if self.left else math.inf,
            float(1 / max(s for s, _ in self.right)) if self.right else math.inf,
        )

    def tail(self, side: int) -> Tail | None:
        """The slowest exponential, with a power of its distance where it occurs several times."""
        stages = self.left if side == 0 else self.right
        if not stages:
            return None
        scale, count = max(stages)
        return Tail(linear=-1 / scale, power=Fraction(count - 1))

    @property
    def mean(self) -> float:
        return float(sum(s * n for s, n in self.right) - sum(s * n for s, n in self.left))

    @property
    def variance(self) -> float:
        return float(sum(s * s * n for s, n in (*self.right, *self.left)))

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        total: Any = 0.0
        for sign, stages in ((1.0, self.right), (-1.0, self.left)):
            for scale, count in stages:
                total = total + sign * generator.gamma(count, float(scale), size=size)
        return total


def _nothing(x: Floats) -> Floats:
    return np.full(len(x), -np.inf)


class _RightHalf:
    """The part at x > 0 of Σ stages - Σ others."""

    def __init__(self, stages: Stages, others: Stages) -> None:
        density, tail = [], []
        for scale, count in stages:
            rate = 1 / scale
            series = _expansion(rate, count, stages, others)
            # series[i]·t^(i-count): the pole of order j+1 is x^j·exp(-rate·x)/j!.
            poles = [series[count - 1 - j] for j in range(count)]
            density.append((rate, tuple(a / math.factorial(j) for j, a in enumerate(poles))))
            left = tuple(
                sum((poles[j] / rate ** (j + 1 - i) for j in range(i, count)), Fraction(0))
                / math.factorial(i)
                for i in range(count)
            )
            tail.append((rate, left))
        size = sum(count for _, count in stages)
        self.density = _Series(tuple(density), 0 if others else size - 1)
        self.tail = _Series(tuple(tail), 0)
        negated = [(rate, tuple(-c for c in cs)) for rate, cs in tail]
        whole = (Fraction(0), (Fraction(1),))
        self._complement = None if others else _Series((whole, *negated), size)

    def rest(self, x: Floats) -> Floats:
        """log P(X ≤ x) for x > 0."""
        if self._complement is not None:
            return self._complement.log_value(x)
        with np.errstate(divide="ignore"):
            return np.log1p(-np.exp(self.tail.log_value(x)))


def _expansion(rate: Fraction, count: int, stages: Stages, others: Stages) -> list[Fraction]:
    """Taylor coefficients at s = rate - t of the transform times t^count."""
    result = [rate**count] + [Fraction(0)] * (count - 1)
    for scale, times in stages:
        own = 1 / scale
        if own != rate:
            result = _times_power(result, own, own - rate, Fraction(1), times)
    for scale, times in others:
        own = 1 / scale
        result = _times_power(result, own, own + rate, Fraction(-1), times)
    return result


def _times_power(
    series: Sequence[Fraction], top: Fraction, bottom: Fraction, sign: Fraction, times: int
) -> list[Fraction]:
    """series·(top/(bottom + sign·t))^times, to the same number of terms."""
    factor = [(top / bottom) ** times]
    for i in range(1, len(series)):
        factor.append(factor[-1] * Fraction(-(times + i - 1), i) * sign / bottom)
    return [
        sum((series[k] * factor[i - k] for k in range(i + 1)), Fraction(0))
        for i in range(len(series))
    ]
