"""Functions of one variable that a product of independent noises leaves behind, and their mass.

A composite is a product of rows in one variable x: densities at a·x + b, and probabilities that
another density lies between bounds that move with x. Composites that recur over many cells share
their nodes and their rows, so that a thousand cells cost little more than one.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dpest.exact.integration.asymptotics import (
    AsymptoticFactor,
    DensityFactor,
    GateFactor,
    Line,
    MassFactor,
    UnknownTailError,
    as_tail,
    growth_of_product,
)
from dpest.exact.integration.densities import (
    LineDensity,
    Tabulated,
    features,
    log_interval,
    reach,
    spread,
)
from dpest.exact.integration.quadrature import Floats, Ints, graded, integrate
from dpest.noise.tails import Tail

_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, eq=False)
class DensityRow:
    """log density(slope·x + offset). Made by `density_row`, so that equal rows are one object."""

    density: LineDensity
    slope: float
    offset: float
    exact: tuple[Fraction, Fraction] | None = None  # slope and offset before rounding

    def log_value(self, x: Floats) -> Floats:
        return self.density.log_density(self.slope * x + self.offset)

    @functools.cached_property
    def kinks(self) -> tuple[float, ...]:
        return tuple((k - self.offset) / self.slope for k in features(self.density))

    @functools.cached_property
    def spread(self) -> float:
        return spread(self.density) / abs(self.slope)

    def tail_slope(self, side: int) -> float:
        """How fast the row falls, per unit of x, towards -∞ (side 0) or ∞ (side 1)."""
        return self.density.tail_rates[side if self.slope > 0 else 1 - side] * abs(self.slope)


class LinearBound(NamedTuple):
    """slope·x + offset, as a bound on another variable."""

    slope: float
    offset: float
    strict: bool = False
    exact: tuple[Fraction, Fraction] | None = None  # slope and offset before rounding

    def at(self, x: Floats) -> Floats | float:
        return self.slope * x + self.offset if self.slope else self.offset


@dataclass(frozen=True, eq=False)
class IntervalRow:
    """log P(all lows ≤ V ≤ all highs) for a variable V with the given density.

    Made by `interval_row`, so that equal rows are one object.
    """

    density: LineDensity
    lows: tuple[LinearBound, ...]
    highs: tuple[LinearBound, ...]

    def log_value(self, x: Floats) -> Floats:
        low, low_strict = _tightest(self.lows, x, np.maximum, -np.inf)
        high, high_strict = _tightest(self.highs, x, np.minimum, np.inf)
        value = log_interval(self.density, low, high, low_strict, high_strict)
        return np.broadcast_to(value, x.shape)

    @functools.cached_property
    def kinks(self) -> tuple[float, ...]:
        both = self.lows + self.highs
        found = [(k - b.offset) / b.slope for b in both if b.slope for k in features(self.density)]
        for i, one in enumerate(both):
            for two in both[i + 1 :]:
                if one.slope != two.slope:
                    found.append((two.offset - one.offset) / (one.slope - two.slope))
        return tuple(found)

    @functools.cached_property
    def spread(self) -> float:
        steepest = max((abs(b.slope) for b in self.lows + self.highs), default=0.0)
        return spread(self.density) / steepest if steepest else math.inf

    def tail_slope(self, side: int) -> float:
        """How fast the row falls, per unit of x, towards -∞ (side 0) or ∞ (side 1)."""
        outward = -1.0 if side == 0 else 1.0
        rises = max((b.slope * outward for b in self.lows), default=0.0)
        falls = max((-b.slope * outward for b in self.highs), default=0.0)
        total = 0.0
        if rises > 0:
            total += self.density.tail_rates[1] * rises
        if falls > 0:
            total += self.density.tail_rates[0] * falls
        return total


_ROWS: dict[Any, Any] = {}


def _interned(key: Any, make: Callable[[], Any]) -> Any:
    row = _ROWS.get(key)
    if row is None:
        if len(_ROWS) > 200_000:
            _ROWS.clear()
        row = _ROWS[key] = make()
    return row


def density_row(
    density: LineDensity,
    slope: float | Fraction,
    offset: float | Fraction,
) -> DensityRow:
    """log density(slope·x + offset); rationals are kept beside their doubles."""
    exact = None
    if isinstance(slope, Fraction) and isinstance(offset, Fraction):
        exact = (slope, offset)
    return _interned(
        (density, slope, offset),
        lambda: DensityRow(density, float(slope), float(offset), exact),
    )


def rational_bound(slope: Fraction, offset: Fraction, strict: bool = False) -> LinearBound:
    return LinearBound(float(slope), float(offset), strict, (slope, offset))


def interval_row(
    density: LineDensity, lows: tuple[LinearBound, ...], highs: tuple[LinearBound, ...]
) -> IntervalRow:
    if not density.discrete:  # a bound itself has no mass
        lows = tuple(b._replace(strict=False) for b in lows)
        highs = tuple(b._replace(strict=False) for b in highs)
    return _interned((density, lows, highs), lambda: IntervalRow(density, lows, highs))


def _tightest(
    bounds: tuple[LinearBound, ...], x: Floats, pick: np.ufunc, none: float
) -> tuple[Floats | float, bool]:
    if not bounds:
        return none, False
    if len(bounds) == 1:
        return bounds[0].at(x), bounds[0].strict
    values = [np.broadcast_to(b.at(x), x.shape) for b in bounds]
    if len({b.strict for b in bounds}) > 1:
        # A strict bound is a hair tighter; only lattice noise can tell.
        nudge = 1e-6 if pick is np.maximum else -1e-6
        values = [v + nudge * b.strict for v, b in zip(values, bounds, strict=True)]
        return pick.reduce(values), False
    return pick.reduce(values), bounds[0].strict


Row = DensityRow | IntervalRow


@dataclass(frozen=True)
class Composite:
    """exp(Σ rows) on [low, high]; the first row is the variable's own density.

    A lattice composite lives on the integers (its own density is a mass function).
    """

    rows: tuple[Row, ...]
    low: float = -math.inf
    high: float = math.inf
    lattice: bool = False

    def log_value(self, x: Floats) -> Floats:
        total = np.zeros(x.shape)
        for row, count in Counter(self.rows).items():
            total = total + (count * row.log_value(x) if count > 1 else row.log_value(x))
        return np.where((x >= self.low) & (x <= self.high), total, -np.inf)

    def kinks(self) -> list[float]:
        found: set[float] = set()
        for row in set(self.rows):
            found.update(row.kinks)
        found.update(end for end in (self.low, self.high) if math.isfinite(end))
        if self.low == -math.inf and self.high == math.inf:
            return sorted(found)
        return sorted(k for k in found if self.low <= k <= self.high)

    @property
    def spread(self) -> float:
        return min(row.spread for row in self.rows)

    def extent(self, depth: float = 60.0) -> tuple[float, float]:
        """Where the composite can be more than e^-depth of its size at the outermost kinks."""
        own = self.rows[0]
        assert isinstance(own, DensityRow)
        left, right = reach(own.density, depth)
        if own.slope < 0:
            left, right = right, left
        kinks = self.kinks() or [max(self.low, min(self.high, 0.0))]
        size = abs(own.slope)
        return (
            max(self.low, kinks[0] - left / size),
            min(self.high, kinks[-1] + right / size),
        )

    def lattice_points(self) -> Floats:
        first, last = self.extent(depth=80.0)
        if last - first > 5e6:
            from dpest.errors import RefusedError

            raise RefusedError("lattice noise with more than five million likely values")
        return np.arange(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1, dtype=float)

    def tabulated(self) -> LineDensity:
        """The composite as a density of its own, to be bounded by other variables."""
        if self.lattice:
            return LatticeTable(self)
        found = _TABLES.get(self)
        if found is None:
            if len(_TABLES) > 2000:
                _TABLES.clear()
            found = _TABLES[self] = self._tabulate()
        return found

    def _tabulate(self) -> Tabulated:
        low, high = self.extent()
        kinks = self.kinks()
        own = self.rows[0]
        assert isinstance(own, DensityRow)
        bottom, top = own.density.support
        ends = sorted(((bottom - own.offset) / own.slope, (top - own.offset) / own.slope))
        rates = [r * abs(own.slope) for r in own.density.tail_rates]
        if own.slope < 0:
            rates.reverse()
        return Tabulated(
            self.log_value,
            sorted({low, high, *kinks}),
            2 * self.spread,
            tuple(kinks),
            (max(self.low, ends[0]), min(self.high, ends[1])),
            (rates[0], rates[1]),
            (self._tail_slope(0), self._tail_slope(1)),
            tails=(self._tail(0), self._tail(1)),
            positive=all(math.isinf(e) for row in self.rows[1:] for e in row.density.support),
        )

    def factors(self) -> list[AsymptoticFactor] | None:
        """The rows and ends as factors in r; None where slopes are known as rounded numbers only.

        Whoever has another variable exchanges slope and rise.
        """
        found: list[AsymptoticFactor] = []
        for row in self.rows:
            if isinstance(row, DensityRow):
                if row.exact is None:
                    return None
                found.append(DensityFactor(row.density, Line(row.exact[0], _ZERO, row.exact[1])))
                continue
            bounds = [[b.exact for b in side] for side in (row.lows, row.highs)]
            if any(e is None for side in bounds for e in side):
                return None
            lows, highs = (
                tuple(Line(e[0], _ZERO, e[1]) for e in side if e is not None) for side in bounds
            )
            found.append(MassFactor(row.density, lows, highs))
        if math.isfinite(self.low):
            found.append(GateFactor(Line(_ONE, _ZERO, -Fraction(self.low))))
        if math.isfinite(self.high):
            found.append(GateFactor(Line(-_ONE, _ZERO, Fraction(self.high))))
        return found

    def _tail(self, side: int) -> Tail | None:
        factors = self.factors()
        if factors is None:
            return None
        way = _ONE if side else -_ONE
        try:
            growth = growth_of_product([_turned(factor, way) for factor in factors])
        except UnknownTailError:
            return None
        return None if growth is None else as_tail(growth)

    def _tail_slope(self, side: int) -> float:
        return math.fsum(row.tail_slope(side) for row in self.rows)


def _turned(factor: AsymptoticFactor, way: Fraction) -> AsymptoticFactor:
    """A factor in r as one in u = way·r."""

    def turn(line: Line) -> Line:
        return Line(_ZERO, line.slope * way, line.constant)

    if isinstance(factor, MassFactor):
        lows, highs = tuple(map(turn, factor.lows)), tuple(map(turn, factor.highs))
        return replace(factor, lows=lows, highs=highs)
    return replace(factor, at=turn(factor.at))


_TABLES: dict[Composite, Tabulated] = {}


class LatticeTable:
    """A lattice composite with its cumulative sums."""

    discrete = True

    def __init__(self, composite: Composite) -> None:
        self._points = composite.lattice_points()
        self._values = composite.log_value(self._points)
        self.support = (float(self._points[0]), float(self._points[-1]))
        self.kinks: tuple[float, ...] = self.support
        self.tail_rates = (math.inf, math.inf)
        self._left = np.logaddexp.accumulate(self._values)
        self._right = np.logaddexp.accumulate(self._values[::-1])[::-1]

    def tail(self, side: int) -> Tail | None:
        return None  # the table ends where the tail goes on

    def log_density(self, x: Floats) -> Floats:
        x = np.asarray(x, dtype=float)
        index = np.clip(np.rint(x - self._points[0]).astype(int), 0, len(self._points) - 1)
        return np.where(np.abs(self._points[index] - x) < 1e-9, self._values[index], -np.inf)

    def log_cdf(self, x: Floats) -> Floats:
        index = np.searchsorted(self._points, np.asarray(x, dtype=float), side="right")
        return np.concatenate([[-np.inf], self._left])[index]

    def log_sf(self, x: Floats) -> Floats:
        index = np.searchsorted(self._points, np.asarray(x, dtype=float), side="right")
        return np.concatenate([self._right, [-np.inf]])[index]


def log_masses(composites: Sequence[Composite]) -> tuple[Floats, Floats]:
    """Log of each composite's integral (or lattice sum), and its relative error estimate."""
    log_mass = np.empty(len(composites))
    error = np.empty(len(composites))
    places: dict[Composite, list[int]] = {}
    for i, composite in enumerate(composites):
        places.setdefault(composite, []).append(i)
    for group in _groups(list(places)):
        values, errors = _batch(group)
        for composite, value, err in zip(group, values, errors, strict=True):
            log_mass[places[composite]] = value
            error[places[composite]] = err
    return log_mass, error


def _groups(composites: list[Composite]) -> list[list[Composite]]:
    """Composites that can share nodes without paying for each other's kinks."""
    groups: list[tuple[set[float], list[Composite]]] = []
    lattice: list[list[Composite]] = []
    kinks = {c: set(c.kinks()) for c in composites if not c.lattice}
    for composite in sorted(composites, key=lambda c: -len(c.rows)):
        if composite.lattice:
            lattice.append([composite])
            continue
        mine = kinks[composite]
        for known, members in groups:
            if len(mine - known) <= 0.25 * len(mine):
                known |= mine
                members.append(composite)
                break
        else:
            groups.append((set(mine), [composite]))
    return [members for _, members in groups] + lattice


def _batch(group: list[Composite]) -> tuple[Floats, Floats]:
    if group[0].lattice:
        (composite,) = group
        points = composite.lattice_points()
        values = composite.log_value(points) if len(points) else np.array([-np.inf])
        return np.array([np.logaddexp.reduce(values)]), np.array([1e-14])
    breaks = {k for c in group for k in c.kinks()}
    extents = np.array([c.extent() for c in group])
    low, high = extents[:, 0].min(), extents[:, 1].max()
    if not low < high:
        return np.full(len(group), -np.inf), np.zeros(len(group))
    width = 2 * min(c.spread for c in group)
    edges = np.array([sorted({low, high, *(b for b in breaks if low < b < high)})])
    rows = list(dict.fromkeys(row for c in group for row in c.rows))
    number = {row: i for i, row in enumerate(rows)}
    uses = np.zeros((len(group), len(rows)))
    for i, composite in enumerate(group):
        for row in composite.rows:
            uses[i, number[row]] += 1
    bounded = [(i, c) for i, c in enumerate(group) if c.low > low or c.high < high]

    def log_integrand(x: Floats, _: Ints) -> Floats:
        table = np.stack([row.log_value(x) for row in rows])
        np.maximum(table, -1e290, out=table)  # -inf would turn a factor that isn't used into NaN
        values = uses @ table
        for i, composite in bounded:
            values[i, (x < composite.low) | (x > composite.high)] = -np.inf
        values[values < -1e280] = -np.inf
        return values

    result = integrate(log_integrand, graded(edges, np.array([width])), 1)
    return result.log_total[:, 0], result.error[:, 0]
