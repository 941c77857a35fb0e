"""One-dimensional densities: a family's own, or one made by eliminating other variables.

Interval probabilities are log-domain and keep their relative accuracy in both tails.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from dpest.errors import RefusedError
from dpest.exact.integration.quadrature import (
    ORDER,
    TO_LEGENDRE,
    Floats,
    graded,
    integrate,
    series_at,
)
from dpest.noise.exponential import Exponential
from dpest.noise.family import Noise
from dpest.noise.gaussian import Gaussian
from dpest.noise.gumbel import Gumbel
from dpest.noise.laplace import Laplace
from dpest.noise.logistic import Logistic
from dpest.noise.tails import Tail
from dpest.noise.triangular import Triangular
from dpest.noise.uniform import Uniform

_SNAP = 1e-9  # how far from an integer a bound on lattice noise counts as on it


class LineDensity(Protocol):
    """What quadrature needs to know of a distribution on the line, normalised or not."""

    def __hash__(self) -> int: ...

    @property
    def discrete(self) -> bool: ...

    @property
    def kinks(self) -> tuple[float, ...]: ...

    def log_density(self, x: Floats) -> Floats: ...

    def log_cdf(self, x: Floats) -> Floats: ...

    def log_sf(self, x: Floats) -> Floats: ...

    @property
    def support(self) -> tuple[float, float]: ...

    @property
    def tail_rates(self) -> tuple[float, float]: ...

    def tail(self, side: int) -> Tail | None: ...


@functools.lru_cache(maxsize=4096)
def spread(density: LineDensity) -> float:
    """A length over which the density changes by about a factor e."""
    if isinstance(density, Tabulated):
        return density.spread
    low, high = density.support
    rates = [r for r in density.tail_rates if 0 < r < math.inf]
    if rates:
        return 1 / max(rates)
    if math.isfinite(low) and math.isfinite(high):
        return max((high - low) / 2, 1e-12)
    if isinstance(density, Noise):
        return density.width
    return 1.0


@functools.lru_cache(maxsize=4096)
def features(density: LineDensity) -> tuple[float, ...]:
    """Places that quadrature should not step over: the kinks, or the centre of a smooth density."""
    kinks = density.kinks
    if kinks:
        return kinks
    return (density.middle if isinstance(density, Noise) else 0.0,)


@functools.lru_cache(maxsize=4096)
def reach(density: LineDensity, depth: float = 60.0) -> tuple[float, float]:
    """How far beyond its outermost features a density stays above e^-depth of its size there."""
    low, high = density.support
    spots = features(density)
    sides = []
    for rate, end, spot in (
        (density.tail_rates[0], low, spots[0]),
        (density.tail_rates[1], high, spots[-1]),
    ):
        if math.isfinite(end):
            sides.append(abs(end - spot))
        elif 0 < rate < math.inf:
            sides.append((depth + 10) / rate)
        elif rate == 0:
            sides.append(_heavy_reach(density, len(sides), depth))
        else:
            sides.append((math.sqrt(2 * depth) + 2) * spread(density))
    return sides[0], sides[1]


def _heavy_reach(density: LineDensity, side: int, depth: float) -> float:
    """How far out the mass beyond is about e^-depth, where a density falls like a power."""
    tail = density.tail(side) if isinstance(density, Noise) else None
    power = math.nan if tail is None else float(tail.power)
    # Of a longer way the panels are too many, and the rest that is left out weighs too much.
    if not depth < 300 * (-power - 1):
        raise RefusedError("an integral over noise whose tails are too heavy, or not known")
    return spread(density) * math.exp(depth / (-power - 1))


def log_concave(density: LineDensity | None) -> bool:
    """Whether the density is known to be log-concave.

    Products and integrals of such, between linear bounds, are too (Prékopa).
    """
    families = (Laplace, Gaussian, Exponential, Gumbel, Logistic, Triangular, Uniform)
    return isinstance(density, families)


def log_interval(
    density: LineDensity,
    low: Floats | float,
    high: Floats | float,
    low_strict: bool = False,
    high_strict: bool = False,
) -> Floats:
    """Log of the mass between `low` and `high` (-inf and inf: no bound), -inf if there is none.

    The flags matter for lattice noise only: whether the bound itself is left out.
    """
    low = np.asarray(low, dtype=float)
    high = np.asarray(high, dtype=float)
    if density.discrete:
        low, high = _lattice_bounds(low, high, low_strict, high_strict)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if low.ndim == 0 and low == -np.inf:
            return density.log_cdf(high)
        if high.ndim == 0 and high == np.inf:
            return density.log_sf(low)
        low, high = np.broadcast_arrays(low, high)
        cdf_low, cdf_high = density.log_cdf(low), density.log_cdf(high)
        sf_low, sf_high = density.log_sf(low), density.log_sf(high)
        # Subtract in the tail where both are small, so that the difference keeps its digits.
        left = cdf_high <= sf_low
        big = np.where(left, cdf_high, sf_low)
        small = np.where(left, cdf_low, sf_high)
        value = big + np.log1p(-np.exp(np.minimum(small - big, 0.0)))
        if not density.discrete:
            narrow = (high - low) < 1e-6 * spread(density)
            if narrow.any():
                middle = density.log_density((low + high) / 2) + np.log(high - low)
                value = np.where(narrow, middle, value)
        return np.where((high > low) & np.isfinite(big), value, -np.inf)


def _lattice_bounds(
    low: Floats, high: Floats, low_strict: bool, high_strict: bool
) -> tuple[Floats, Floats]:
    """Bounds for integer noise as half-open (low, high]: mass = cdf(high) - cdf(low)."""
    first = np.floor(low + _SNAP) + 1 if low_strict else np.ceil(low - _SNAP)
    last = np.ceil(high - _SNAP) - 1 if high_strict else np.floor(high + _SNAP)
    return np.where(np.isfinite(low), first - 1, low), np.where(np.isfinite(high), last, high)


class Tabulated:
    """A density known by its Legendre series on panels, with its integrals from both ends.

    Beyond the panels, where tails are exponential, it goes on with their slope, which is exact; a
    steeper tail ends so soon that the mass beyond a point is its density there over its slope.

    `tails`: what is known of its tails to the left and to the right. `positive`: whether it is
    known to be positive all over the inside of its support.
    """

    discrete = False

    def __init__(
        self,
        log_density: Callable[[Floats], Floats],
        breaks: list[float],
        width: float,
        kinks: tuple[float, ...],
        support: tuple[float, float],
        tail_rates: tuple[float, float],
        tail_slopes: tuple[float, float] = (math.inf, math.inf),
        *,
        tails: tuple[Tail | None, Tail | None] = (None, None),
        positive: bool = False,
    ) -> None:
        self.positive = positive
        self._tails = tails
        self.kinks = kinks
        self.support = support
        self.tail_rates = tail_rates
        self.spread = width
        self._function = log_density
        panels = graded(np.array([sorted(breaks)]), np.array([width]))
        result = integrate(
            lambda x, _: log_density(x)[None, :],
            panels,
            1,
            interpolate=True,
            finest=1e-13 * width,
        )
        self.error = float(result.error[0, 0])
        values = result.log_values[0]
        alive = np.isfinite(values).all(axis=1)
        if not alive.any():
            raise ValueError("a density without mass")
        self._starts, self._ends = result.starts[alive], result.ends[alive]
        values = values[alive]
        self._peak = values.max(axis=1)
        half = (self._ends - self._starts) / 2
        self._series = (np.exp(values - self._peak[:, None]) @ TO_LEGENDRE.T) * half[:, None]
        signs = (-1.0) ** np.arange(ORDER)
        self._integrals = (_integrated(self._series), _integrated(self._series * signs))
        whole = np.log(2 * self._series[:, 0]) + self._peak
        self._known = tail_slopes
        slopes = self._edge_slopes(log_density, tail_slopes)
        left_tail = self._tail_mass(self._starts[0], slopes[0], log_density)
        right_tail = self._tail_mass(self._ends[-1], slopes[1], log_density)
        self._slopes = slopes
        self._from_left = np.logaddexp.accumulate(np.concatenate([[left_tail], whole]))
        self._from_right = np.logaddexp.accumulate(np.concatenate([[right_tail], whole[::-1]]))[
            ::-1
        ]
        self.log_mass = float(np.logaddexp(self._from_left[-1], right_tail))

    def tail(self, side: int) -> Tail | None:
        return self._tails[side]

    def _edge_slopes(
        self, log_density: Callable[[Floats], Floats], known: tuple[float, float]
    ) -> tuple[float, float]:
        """How fast the density falls beyond the panels; `known` where tails are exponential."""
        step = 1e-3 * self.spread
        a, b = self._starts[0], self._ends[-1]
        ends = log_density(np.array([a, a + step, b - step, b]))
        with np.errstate(invalid="ignore"):
            measured = (ends[1] - ends[0]) / step, (ends[2] - ends[3]) / step
        is_open = self.support[0] < a and measured[0] > 0, self.support[1] > b and measured[1] > 0
        chosen = [k if math.isfinite(k) else float(m) for k, m in zip(known, measured, strict=True)]
        return (
            chosen[0] if is_open[0] else math.inf,
            chosen[1] if is_open[1] else math.inf,
        )

    def _tail_mass(
        self, edge: float, slope: float, log_density: Callable[[Floats], Floats]
    ) -> float:
        if slope == math.inf:
            return -math.inf
        return float(log_density(np.array([edge]))[0]) - math.log(slope)

    def log_density(self, x: Floats) -> Floats:
        return self._function(np.asarray(x, dtype=float))

    def _cumulative(self, x: Floats, from_left: bool) -> Floats:
        x = np.asarray(x, dtype=float)
        flat = x.ravel()
        panel = np.clip(np.searchsorted(self._ends, flat), 0, len(self._ends) - 1)
        width = self._ends[panel] - self._starts[panel]
        passed = flat - self._starts[panel] if from_left else self._ends[panel] - flat
        passed = np.clip(2 * passed / width, 0.0, 2.0)
        before = self._from_left[panel] if from_left else self._from_right[panel + 1]
        value = series_at(self._integrals[0 if from_left else 1], panel, passed - 1)
        # Next to an end of the support nothing lies before, and the integral must keep its digits.
        thin = (before < self._peak[panel] - 7 + np.log(width)) & (passed < 1)
        if thin.any():
            series = self._series[panel[thin]]
            mirrored = series if from_left else series * (-1.0) ** np.arange(ORDER)
            value[thin] = _small_integral(mirrored, passed[thin])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            inside = np.log(np.maximum(value, 0.0)) + self._peak[panel]
            result = np.logaddexp(inside, before)
            low, high = self._starts[0], self._ends[-1]
            if from_left:
                outside, rate, start = flat < low, self._slopes[0], self._from_left[0]
                distance = low - flat
                result = np.where(flat > high, self.log_mass, result)
            else:
                outside, rate, start = flat > high, self._slopes[1], self._from_right[-1]
                distance = flat - high
                result = np.where(flat < low, self.log_mass, result)
            tail = -np.inf if rate == math.inf else start - rate * distance
            result = np.where(outside, tail, result)
            steep = outside & (not math.isfinite(self._known[0 if from_left else 1]))
            if rate < math.inf and steep.any():
                result[steep] = self._beyond(flat[steep], rate, -1.0 if from_left else 1.0)
        return result.reshape(x.shape)

    def _beyond(self, x: Floats, slope: float, way: float) -> Floats:
        """The log of the mass beyond points in a tail that falls ever faster.

        f(x)/s(x), where s is the slope of -log f: what it leaves out is of the order of s'/s².
        """
        here = self.log_density(x)
        slopes = np.full(len(x), slope)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            for _ in range(60):  # the first step may be far too long for a slope like e^x
                step = 1e-2 / slopes
                found = (here - self.log_density(x + way * step)) / step
                done = ~(found > 1.5 * slopes)
                slopes = np.where(found > slopes, found, slopes)
                if done.all():
                    break
            return np.where(np.isfinite(here), here - np.log(slopes), -np.inf)

    def log_cdf(self, x: Floats) -> Floats:
        return self._cumulative(x, True)

    def log_sf(self, x: Floats) -> Floats:
        return self._cumulative(x, False)


def _integrated(series: Floats) -> Floats:
    """Legendre coefficients (orders × panels) of the integrals from -1 of these series."""
    # The integral of P_k from -1 is (P_{k+1} - P_{k-1})/(2k + 1), and P_1 + P_0 for k = 0.
    shares = series.T / (2 * np.arange(ORDER)[:, None] + 1)
    result = np.zeros((ORDER + 1, len(series)))
    result[1:] += shares
    result[: ORDER - 1] -= shares[1:]
    result[0] += shares[0]
    return result


def _small_integral(series: Floats, length: Floats) -> Floats:
    """The integral from -1 to -1 + length without cancellation, for a positive integrand."""
    nodes, weights = np.polynomial.legendre.leggauss(ORDER // 2)
    points = length[:, None] * (nodes + 1) / 2 - 1
    values = np.polynomial.legendre.legvander(points, ORDER - 1)
    heights = np.einsum("ijk,ik->ij", values, series)
    return (heights @ weights) * length / 2
