"""Noises that a program only ever adds up are one noise: the density of their sum.

Laplace and exponential noises have a closed form (`exponential_sums`), Gaussian ones are Gaussian
again, discrete Laplace ones a table; what is left is convolved numerically.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpest.exact.integration.asymptotics import UnknownTailError, as_tail, growth_of_sum
from dpest.exact.integration.composites import Composite, density_row
from dpest.exact.integration.convolution import ConvolutionTerm, Mixture
from dpest.exact.integration.densities import Tabulated, features, reach, spread
from dpest.exact.integration.exponential_sums import ExponentialSum
from dpest.exact.integration.log_tables import LogTable
from dpest.exact.integration.quadrature import Floats
from dpest.geometry.linear import Form, Symbol, rational
from dpest.noise.exponential import Exponential
from dpest.noise.family import Noise
from dpest.noise.gaussian import Gaussian
from dpest.noise.laplace import Laplace
from dpest.noise.lattice import LatticeNoise
from dpest.noise.tails import Tail
from dpest.noise.two_sided_geometric import TwoSidedDecay
from dpest.noise.uniform import Uniform

Summand = tuple[Noise, Fraction]
_FAMILIES = (Laplace, Exponential, Gaussian, Uniform)
_MOST_KINKS = 64
_MOST_POINTS = 5_000_000


@dataclass(frozen=True)
class Merged:
    """Forms in which sums of noises have become single symbols, and what those are."""

    forms: tuple[Form, ...]
    noises: Mapping[Symbol, Noise]
    members: Mapping[Symbol, tuple[Symbol, ...]]


def merged_noises(
    forms: Sequence[Form], released: int, noises: Mapping[Symbol, Noise]
) -> Merged | None:
    """Noises that occur in fixed proportions only, as one; None if there are none.

    The last `released` forms are outputs. Two noises that are only compared stay two: that has a
    quicker way.
    """
    if all(len(f.terms) < (3 if i < len(forms) - released else 2) for i, f in enumerate(forms)):
        return None
    seen: dict[Symbol, list[tuple[int, Fraction]]] = {}
    for i, form in enumerate(forms):
        for symbol, c in form.terms.items():
            seen.setdefault(symbol, []).append((i, c))
    groups: dict[Any, list[Symbol]] = {}
    first = len(forms) - released
    for symbol, places in seen.items():
        lead = places[0][1]
        shape = tuple((i, c / lead) for i, c in places)
        if isinstance(noises.get(symbol), _FAMILIES):
            groups.setdefault(shape, []).append(symbol)
        elif isinstance(noises.get(symbol), TwoSidedDecay) and places[0][0] >= first:
            # On one lattice: equal steps, of either sign, since the noise is symmetric.
            groups.setdefault((*shape, abs(lead)), []).append(symbol)
    found: dict[Symbol, Noise] = {}
    members: dict[Symbol, tuple[Symbol, ...]] = {}
    names: dict[Symbol, Form] = {}
    for symbols in groups.values():
        outputs = any(i >= first for i, _ in seen[symbols[0]])
        if len(symbols) < (2 if outputs else 3):
            continue
        lead = seen[symbols[0]][0][1]
        parts = tuple((noises[s], seen[s][0][1] / lead) for s in symbols)
        density = sum_of(tuple(sorted(parts, key=repr)))
        if density is None:
            continue
        whole = Symbol("noise", f"({' + '.join(s.name for s in symbols)})")
        found[whole], members[whole] = density, tuple(symbols)
        names[symbols[0]] = Form.of(whole)
        names.update({s: Form() for s in symbols[1:]})
    if not found:
        return None
    return Merged(tuple(_renamed(f, names) for f in forms), found, members)


def _renamed(form: Form, names: Mapping[Symbol, Form]) -> Form:
    if not any(s in names for s in form.terms):
        return form
    result = Form(None, form.constant)
    for symbol, c in form.terms.items():
        result = result.plus(names[symbol] if symbol in names else Form.of(symbol), c)
    return result


@functools.lru_cache(maxsize=1024)
def sum_of(parts: tuple[Summand, ...]) -> Noise | None:
    """The distribution of Σ c·X for independent X; None where there is no way to have it."""
    if isinstance(parts[0][0], TwoSidedDecay):
        rates = tuple(sorted(noise.tail_rates[0] for noise, _ in parts))
        wide = 400 / min(rates) > _MOST_POINTS or not max(rates) < math.inf
        return None if wide else TwoSidedSum(rates)
    right: dict[Fraction, int] = {}
    left: dict[Fraction, int] = {}
    square = 0.0
    others: list[Noise] = []
    for noise, c in parts:
        if isinstance(noise, (Laplace, Exponential)):
            scale = rational(noise.scale) * abs(c)
            sides = (right, left) if isinstance(noise, Laplace) else (right if c > 0 else left,)
            for side in sides:
                side[scale] = side.get(scale, 0) + 1
        elif isinstance(noise, Gaussian):
            square += (float(noise.sigma) * float(c)) ** 2
        else:
            others.append(noise if c == 1 else ScaledDensity(noise, float(c)))
    pieces = others  # the fastest tails first: the widest noise is integrated against a table
    if square:
        pieces.append(Gaussian(math.sqrt(square)))
    if right or left:
        pieces.append(ExponentialSum(tuple(sorted(right.items())), tuple(sorted(left.items()))))
    total = pieces[0]
    for piece in pieces[1:]:
        total = Convolved(total, piece)
        if len(total.kinks) > _MOST_KINKS:
            return None
    return total


def edge_orders(noise: Noise) -> tuple[int, int]:
    """The powers by which the cdf leaves 0 and the survival function reaches it; 0: no end."""
    if isinstance(noise, Convolved):
        one, two = edge_orders(noise.first), edge_orders(noise.second)
        left, right = (a + b if a and b else 0 for a, b in zip(one, two, strict=True))
        return left, right
    ends = [math.isfinite(end) for end in noise.support]
    if isinstance(noise, ExponentialSum):
        size = sum(count for _, count in (*noise.left, *noise.right))
        return size * ends[0], size * ends[1]
    return int(ends[0]), int(ends[1])


@dataclass(frozen=True)
class ScaledDensity(Noise):
    """A noise times a constant."""

    noise: Noise
    factor: float
    family: ClassVar[str] = "scaled"

    def log_density(self, x: ArrayLike) -> Floats:
        scaled = np.asarray(x, dtype=float) / self.factor
        return self.noise.log_density(scaled) - math.log(abs(self.factor))

    @property
    def support(self) -> tuple[float, float]:
        ends = sorted(end * self.factor for end in self.noise.support)
        return ends[0], ends[1]

    @property
    def kinks(self) -> tuple[float, ...]:
        return tuple(sorted(k * self.factor for k in self.noise.kinks))

    @property
    def tail_rates(self) -> tuple[float, float]:
        one, two = (rate / abs(self.factor) for rate in self.noise.tail_rates)
        return (one, two) if self.factor > 0 else (two, one)

    def tail(self, side: int) -> Tail | None:
        found = self.noise.tail(side if self.factor > 0 else 1 - side)
        size = 1 / abs(Fraction(self.factor))
        if found is None or found.stirling:
            return None
        return replace(
            found,
            double=found.double * size,
            square=found.square * size**2,
            linear=found.linear * size,
        )

    @property
    def mean(self) -> float:
        return self.factor * self.noise.mean

    @property
    def variance(self) -> float:
        return self.factor**2 * self.noise.variance


@dataclass(frozen=True)
class Convolved(Noise):
    """The sum of two independent noises, by quadrature. Log-concave if both are.

    Tables serve the points that matter; far out each value is an integral of its own.
    """

    first: Noise
    second: Noise
    family: ClassVar[str] = "sum"

    @functools.cached_property
    def _integral(self) -> ConvolutionTerm:
        parts = [
            Mixture({Composite((density_row(n, 1.0, 0.0),), *n.support): 1.0})
            for n in (self.first, self.second)
        ]
        return ConvolutionTerm(_AT, parts[0], parts[1])

    def _directly(self, x: Floats) -> Floats:
        low, high = self.support
        inside = (x > low) & (x < high)
        result = np.full(len(x), -np.inf)
        if inside.any():
            result[inside] = self._integral.log_value({_AT: x[inside]})
        return result

    @functools.cached_property
    def _tables(self) -> list[LogTable]:
        """Between the kinks, of the density over the power by which it vanishes at its ends."""
        low, high = self._window
        inner = {k for k in (*self.kinks, self.mean) if low < k < high}
        return [
            LogTable(lambda x: self._directly(x) - self._vanishing(x), [a, b])
            for a, b in itertools.pairwise(sorted({low, high, *inner}))
        ]

    def _vanishing(self, x: Floats) -> Floats:
        """Log of the distance to the support's ends, each to the power of the density there."""
        total = np.zeros(len(x))
        for end, order, sign in zip(self.support, edge_orders(self), (1.0, -1.0), strict=True):
            if order > 1:
                total += (order - 1) * np.log(sign * (x - end))
        return total

    @property
    def _window(self) -> tuple[float, float]:
        parts = [(features(n), reach(n)) for n in (self.first, self.second)]
        low = sum(spots[0] - sides[0] for spots, sides in parts)
        high = sum(spots[-1] + sides[1] for spots, sides in parts)
        return max(low, self.support[0]), min(high, self.support[1])

    @property
    def error(self) -> float:
        """The largest relative error that the tables' checks, or the integrals, have seen."""
        return max([self._integral.error, *(t.error for t in self._tables)])

    def log_density(self, x: ArrayLike) -> Floats:
        given = np.asarray(x, dtype=float)
        flat = given.ravel()
        low, high = self.support
        if len(flat) < 16 and "_tables" not in self.__dict__:
            return self._directly(flat).reshape(given.shape)
        result = np.empty(len(flat))
        left = (flat > low) & (flat < high)
        result[~left] = -np.inf
        for table in self._tables:
            mine = left & (flat >= table.low) & (flat <= table.high)
            if mine.any():
                result[mine] = table(flat[mine]) + self._vanishing(flat[mine])
                left &= ~mine
        if left.any():
            result[left] = self._directly(flat[left])
        return result.reshape(given.shape)

    @functools.cached_property
    def _cumulative(self) -> Tabulated:
        low, high = self._window
        return Tabulated(
            self.log_density,
            sorted({low, high, *(k for k in self.kinks if low < k < high), self.mean}),
            2 * spread(self),
            self.kinks or (self.mean,),
            self.support,
            self.tail_rates,
            self.tail_rates,
        )

    def log_cdf(self, x: ArrayLike) -> Floats:
        return self._cumulative.log_cdf(np.asarray(x, dtype=float)) - self._cumulative.log_mass

    def log_sf(self, x: ArrayLike) -> Floats:
        return self._cumulative.log_sf(np.asarray(x, dtype=float)) - self._cumulative.log_mass

    @property
    def support(self) -> tuple[float, float]:
        one, two = self.first.support, self.second.support
        return one[0] + two[0], one[1] + two[1]

    @functools.cached_property
    def kinks(self) -> tuple[float, ...]:
        """Where kinks of both meet; a smooth summand leaves none."""
        found = {a + b for a in self.first.kinks for b in self.second.kinks}
        return tuple(sorted(found))

    @property
    def tail_rates(self) -> tuple[float, float]:
        one, two = self.first.tail_rates, self.second.tail_rates
        return min(one[0], two[0]), min(one[1], two[1])

    @functools.cached_property
    def _tails(self) -> list[Tail | None]:
        found: list[Tail | None] = []
        for right in (False, True):
            try:
                growth = growth_of_sum(self.first, self.second, right)
            except UnknownTailError:
                growth = None
            found.append(None if growth is None else as_tail(growth))
        return found

    def tail(self, side: int) -> Tail | None:
        return self._tails[side]

    @property
    def mean(self) -> float:
        return self.first.mean + self.second.mean

    @property
    def variance(self) -> float:
        return self.first.variance + self.second.variance


_AT = Symbol("state", "sum")


@dataclass(frozen=True)
class TwoSidedSum(LatticeNoise):
    """A sum of discrete Laplace noises (two-sided geometric ones) with these rates.

    Masses by positive recursions, so that no digit is lost; beyond e^-90 they go on with the decay
    of the widest noise, which is their limit.
    """

    rates: tuple[float, ...]
    family: ClassVar[str] = "sum of two-sided geometric noises"

    @functools.cached_property
    def _table(self) -> Floats:
        """Log-masses at 0, 1, …"""
        from scipy.signal import lfilter

        kept = math.ceil(90 / min(self.rates)) + 1
        masses = np.zeros(4 * kept + 1)  # twice as far as is kept: what lies beyond is nothing
        masses[2 * kept] = 1.0
        for rate in self.rates:
            ratio = math.exp(-rate)
            right = lfilter([1.0], [1.0, -ratio], masses)
            left = lfilter([1.0], [1.0, -ratio], masses[::-1])[::-1]
            masses = right
            masses[:-1] += ratio * left[1:]
            masses *= math.tanh(rate / 2)
        return np.log(masses[2 * kept : 3 * kept])

    @property
    def mode(self) -> int:
        return 0

    def log_mass(self, k: Floats) -> Floats:
        far = np.abs(k)
        last = len(self._table) - 1
        inside = self._table[np.minimum(far, last).astype(np.int64)]
        return inside - min(self.rates) * np.maximum(far - last, 0.0)

    def sample(self, generator: np.random.Generator, size: Any = None) -> Any:
        total: Any = 0
        for rate in self.rates:
            p = -math.expm1(-rate)
            total = total + generator.geometric(p, size=size) - generator.geometric(p, size=size)
        return total

    @property
    def tail_rates(self) -> tuple[float, float]:
        return min(self.rates), min(self.rates)

    def tail(self, side: int) -> Tail | None:
        """As of a sum of exponentials: the slowest, and how often it occurs."""
        slowest = min(self.rates)
        if any(0 < rate / slowest - 1 < 1e-9 for rate in self.rates):
            return None
        return Tail(linear=-slowest, power=Fraction(self.rates.count(slowest) - 1))

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def variance(self) -> float:
        return math.fsum(1 / (2 * math.sinh(rate / 2) ** 2) for rate in self.rates)
