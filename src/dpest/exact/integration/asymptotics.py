"""How products and integrals of densities fall far out, exactly, up to a bounded factor.

An integrand is a product of factors at lines slope·r + rise·u + constant, where r is integrated
over and u goes to infinity. Lines at which a factor changes cut the plane into sectors. In a sector
each factor has one tail, so that the log of the integrand is a polynomial of degree two in r and u,
plus logarithms of distances and a bounded rest. Laplace's method then says how the integral over
the sector grows: by the value at the top inside, or at the end that is higher. The sum of all
sectors grows like the largest. What is not of this kind gives None: nothing is known.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dpest.exact.integration.densities import LineDensity, Tabulated
from dpest.geometry.linear import rational
from dpest.noise.exponential import Exponential
from dpest.noise.family import Noise
from dpest.noise.tails import Coefficient, Tail
from dpest.noise.uniform import Uniform

_CLOSE = 1e-9
_ZERO, _ONE = Fraction(0), Fraction(1)
_NAMES = ("square", "stirling", "linear", "power")


@dataclass(frozen=True)
class Line:
    """slope·r + rise·u + constant."""

    slope: Fraction
    rise: Fraction
    constant: Fraction

    def minus(self, other: Line) -> Line:
        return Line(
            self.slope - other.slope, self.rise - other.rise, self.constant - other.constant
        )

    def lowered(self, by: Fraction) -> Line:
        return replace(self, constant=self.constant - by)


@dataclass(frozen=True)
class DensityFactor:
    """The density at a line."""

    density: LineDensity
    at: Line


@dataclass(frozen=True)
class MassFactor:
    """The probability between the highest of some lines and the lowest of others."""

    density: LineDensity
    lows: tuple[Line, ...]
    highs: tuple[Line, ...]


@dataclass(frozen=True)
class GateFactor:
    """1 where the line is positive, else 0."""

    at: Line


AsymptoticFactor = DensityFactor | MassFactor | GateFactor


class UnknownTailError(Exception):
    """The growth is not worked out here."""


@dataclass(frozen=True)
class Growth:
    """log of a function far out, up to a bounded rest; `double` as in `Tail`, shifts by rate."""

    square: Coefficient = _ZERO
    stirling: Coefficient = _ZERO
    linear: Coefficient = _ZERO
    power: Coefficient = _ZERO
    double: tuple[tuple[Coefficient, tuple[Coefficient, ...]], ...] = ()
    """-Σ e^(rate·u + shift): the shifts for each rate, the rates in rising order."""

    def times(self, other: Growth) -> Growth:
        parts = {name: getattr(self, name) + getattr(other, name) for name in _NAMES}
        double = dict(self.double)
        for rate, shifts in other.double:
            double[rate] = tuple(sorted((*double.get(rate, ()), *shifts), key=float))
        return Growth(**parts, double=tuple(sorted(double.items(), key=lambda d: float(d[0]))))


def larger(one: Growth, two: Growth) -> bool | None:
    """Whether log one − log two goes to infinity: exact. None where that is not known.

    The first coefficient that differs decides, from the fastest growing one on.
    """
    if one.double != two.double:
        return _falls_slower(dict(one.double), dict(two.double))
    for name in _NAMES:
        a, b = getattr(one, name), getattr(two, name)
        if a != b:
            return None if _close(a, b) else a > b
    return False


def _falls_slower(
    over: dict[Coefficient, tuple[Coefficient, ...]],
    under: dict[Coefficient, tuple[Coefficient, ...]],
) -> bool | None:
    """Whether the second falls faster, where both fall like e^-e^u: single terms only."""
    rate = max((*over, *under), key=float)
    a, b = over.get(rate, ()), under.get(rate, ())
    if len(a) > 1 or len(b) > 1:
        return None
    if not a or not b:
        return not a
    return None if _close(a[0], b[0]) else a[0] < b[0]


def _close(a: Coefficient, b: Coefficient) -> bool:
    """Whether a difference may be that of a rounded parameter."""
    return abs(float(a - b)) <= _CLOSE * max(abs(float(a)), abs(float(b)))


def largest(found: Iterable[Growth | None]) -> Growth | None:
    """The growth of a sum; None stands for a function that is 0 far out."""
    best: Growth | None = None
    for growth in found:
        if growth is None or growth == best:
            continue
        if best is None:
            best = growth
            continue
        above, below = larger(growth, best), larger(best, growth)
        if above is None or below is None:
            raise UnknownTailError
        best = growth if above else best
    return best


def growth_of_product(factors: Sequence[AsymptoticFactor]) -> Growth | None:
    """The growth of a product of factors that only u moves; None if it is 0 far out."""
    total = Growth()
    for factor in factors:
        found = _Germ(_ZERO, _ZERO).tail_of(factor)
        if found is None:
            return None
        tail, at = found
        total = total.times(_along(tail, at))
    return total


def _along(tail: Tail, at: Line) -> Growth:
    """A tail at a distance rise·u + constant."""
    if tail == Tail():
        return Growth()
    linear = 2 * tail.square * at.rise * at.constant + tail.linear * at.rise
    if tail.stirling:
        linear += tail.stirling * at.rise * math.log(at.rise)
    double: tuple[tuple[Coefficient, tuple[Coefficient, ...]], ...] = ()
    if tail.double:
        double = ((tail.double * at.rise, (tail.double * at.constant,)),)
    return Growth(
        tail.square * at.rise**2,
        tail.stirling * at.rise,
        linear,
        tail.stirling * at.constant + tail.power,
        double,
    )


def growth_of_integral(factors: Sequence[AsymptoticFactor], lattice: bool = False) -> Growth | None:
    """The growth of the integral over r (or the sum over a lattice); None if it is 0 far out."""
    inner = [f for f in factors if any(line.slope for line in _lines(f))]
    outer = growth_of_product([f for f in factors if f not in inner])
    if outer is None:
        return None
    if lattice and any(_bounded(f) for f in inner):
        raise UnknownTailError  # few points, or none, of the lattice
    cuts = sorted({cut for f in inner for cut in _cuts(f)})
    faint = {cut for f in inner for cut in _vanishing(f)}
    borders = [None, *cuts, None]
    sectors = [
        _Sector(a, b, tuple(inner), frozenset(faint), lattice)
        for a, b in itertools.pairwise(borders)
    ]
    wide = largest(s.growth() for s in sectors if not s.strip)
    every = largest([wide, *(s.growth() for s in sectors if s.strip)])
    if lattice and every != wide:
        raise UnknownTailError  # a strip may hold no point of the lattice
    if every is None:
        if any(s.tiny for s in sectors):
            raise UnknownTailError
        return None
    return every.times(outer)


_Cut = tuple[Fraction, Fraction]  # r = rise·u + offset


def _lines(factor: AsymptoticFactor) -> tuple[Line, ...]:
    return (*factor.lows, *factor.highs) if isinstance(factor, MassFactor) else (factor.at,)


def _cut(line: Line) -> _Cut:
    return -line.rise / line.slope, -line.constant / line.slope


def _ends(density: LineDensity) -> list[Fraction]:
    return [rational(end) for end in density.support if math.isfinite(end)]


def _bounded(factor: AsymptoticFactor) -> bool:
    return not isinstance(factor, GateFactor) and len(_ends(factor.density)) == 2


def _crossings(factor: MassFactor) -> list[Line]:
    """Where two of its bounds are equal."""
    pairs = itertools.combinations((*factor.lows, *factor.highs), 2)
    return [a.minus(b) for a, b in pairs if a.slope != b.slope]


def _cuts(factor: AsymptoticFactor) -> list[_Cut]:
    """Where the factor changes: its origin, its support's ends, and crossings of its bounds."""
    if isinstance(factor, GateFactor):
        return [_cut(factor.at)]
    places = {_ZERO, *_ends(factor.density)}
    found = [line.lowered(p) for line in _lines(factor) if line.slope for p in places]
    if isinstance(factor, MassFactor):
        found += _crossings(factor)
    return [_cut(line) for line in found]


def _vanishing(factor: AsymptoticFactor) -> list[_Cut]:
    """Where the factor may go to 0 at the border of where it is positive."""
    if isinstance(factor, GateFactor):
        return []
    if isinstance(factor, DensityFactor):
        if isinstance(factor.density, (Exponential, Uniform)):
            return []  # positive up to the ends of the support
        return [_cut(factor.at.lowered(end)) for end in _ends(factor.density)]
    found = [
        line.lowered(e) for line in _lines(factor) if line.slope for e in _ends(factor.density)
    ]
    return [_cut(line) for line in (*found, *_crossings(factor))]


@dataclass(frozen=True)
class _Germ:
    """A way to infinity: r = direction·u + offset."""

    direction: Fraction
    offset: Fraction

    def place(self, line: Line) -> tuple[Fraction, Fraction]:
        """The line's value there, as lead·u + rest."""
        lead = line.slope * self.direction + line.rise
        return lead, line.slope * self.offset + line.constant

    def tail_of(self, factor: AsymptoticFactor) -> tuple[Tail, Line] | None:
        """What the factor does there: a tail, at a distance; None if it is 0."""
        if isinstance(factor, GateFactor):
            return _STAYS if self.place(factor.at) > (_ZERO, _ZERO) else None
        if not isinstance(factor.density, Noise) and not (
            isinstance(factor.density, Tabulated) and factor.density.positive
        ):
            raise UnknownTailError  # it may be 0 inside of its support
        if isinstance(factor, DensityFactor):
            return self._density(factor)
        return self._mass(factor)

    def _density(self, factor: DensityFactor) -> tuple[Tail, Line] | None:
        lead, rest = self.place(factor.at)
        if not lead:
            low, high = factor.density.support
            return _STAYS if low <= rest <= high else None
        return _outwards(factor.density, factor.at, lead > 0)

    def _mass(self, factor: MassFactor) -> tuple[Tail, Line] | None:
        density = factor.density
        low = max(factor.lows, key=self.place, default=None)
        high = min(factor.highs, key=self.place, default=None)
        at = (-_ONE, _ZERO) if low is None else self.place(low)
        to = (_ONE, _ZERO) if high is None else self.place(high)
        if density.discrete and at[0] == to[0] and 0 <= to[1] - at[1] <= 1:
            raise UnknownTailError  # whether a whole number lies between depends on the place
        if at >= to:
            return None
        if at[0] > 0:
            assert low is not None
            found = _outwards(density, low, True)
        elif to[0] < 0:
            assert high is not None
            found = _outwards(density, high, False)
        else:
            bottom, top = density.support
            if density.discrete and (at == (0, top) or to == (0, bottom)):
                raise UnknownTailError  # the bound itself may count, or not
            inside = (at[0] < 0 or at[1] < top) and (to[0] > 0 or to[1] > bottom)
            return _STAYS if inside else None
        return None if found is None else (_integrated(found[0], density.discrete), found[1])


_STAYS = (Tail(), Line(_ZERO, _ZERO, _ZERO))


def _outwards(density: LineDensity, at: Line, right: bool) -> tuple[Tail, Line] | None:
    """The density's tail at a line that goes to one end."""
    side = 1 if right else 0
    if math.isfinite(density.support[side]):
        return None
    tail = density.tail(side)
    if tail is None:
        raise UnknownTailError
    return tail, at if right else Line(-at.slope, -at.rise, -at.constant)


def _integrated(tail: Tail, discrete: bool) -> Tail:
    """The tail of the mass beyond: the density over the slope of its logarithm."""
    if discrete and not (tail.linear and not tail.square and not tail.stirling):
        raise UnknownTailError  # the next point of the lattice has almost all of it
    if tail.double:
        return Tail(tail.double, tail.square, tail.stirling, tail.linear - tail.double, tail.power)
    if tail.square:
        return replace(tail, power=tail.power - 1)
    if tail.stirling or tail.linear:
        return tail
    return replace(tail, power=tail.power + 1)


@dataclass
class _Polynomial:
    """rr·r² + ru·r·u + uu·u² + r·r + u·u, and logarithms of lines with their factors."""

    rr: Coefficient = _ZERO
    ru: Coefficient = _ZERO
    uu: Coefficient = _ZERO
    r: Coefficient = _ZERO
    u: Coefficient = _ZERO
    powers: list[tuple[Coefficient, Line]] = field(default_factory=list)
    largest: float = 0.0  # of the coefficients of r and r² that were added up

    def add(self, tail: Tail, at: Line) -> None:
        if tail.stirling:
            raise UnknownTailError
        a, b, c = at.slope, at.rise, at.constant
        self.rr += tail.square * a * a
        self.ru += tail.square * 2 * a * b
        self.uu += tail.square * b * b
        self.r += tail.square * 2 * a * c + tail.linear * a
        self.u += tail.square * 2 * b * c + tail.linear * b
        if tail.power:
            self.powers.append((tail.power, at))
        for size in (tail.linear * a, tail.square * a * a):
            self.largest = max(self.largest, abs(float(size)))


@dataclass(frozen=True)
class _Sector:
    """The points between two neighbouring cuts (None: no cut on that side)."""

    low: _Cut | None
    high: _Cut | None
    factors: tuple[AsymptoticFactor, ...]
    faint: frozenset[_Cut]  # where the integrand may vanish
    lattice: bool

    @property
    def strip(self) -> bool:
        """Whether it stays as wide as it is."""
        return self.low is not None and self.high is not None and self.low[0] == self.high[0]

    def _germ(self) -> _Germ:
        if self.low is None or self.high is None:
            border = self.low or self.high
            if border is None:
                return _Germ(_ZERO, _ZERO)
            return _Germ(border[0] + (1 if self.high is None else -1), _ZERO)
        if self.strip:
            return _Germ(self.low[0], (self.low[1] + self.high[1]) / 2)
        return _Germ((self.low[0] + self.high[0]) / 2, _ZERO)

    def _tails(self) -> list[tuple[Tail, Line]] | None:
        found = [self._germ().tail_of(factor) for factor in self.factors]
        return None if None in found else [f for f in found if f is not None]

    @property
    def tiny(self) -> bool:
        """Whether the integrand falls like e^-e^u all over."""
        tails = self._tails()
        return tails is not None and any(tail.double for tail, _ in tails)

    def growth(self) -> Growth | None:
        tails = self._tails()
        if tails is None:
            return None
        walls = [at for tail, at in tails if tail.double]
        if walls:
            return self._at_wall(walls, tails)
        total = _Polynomial()
        for tail, at in tails:
            total.add(tail, at)
        if self.strip:
            return self._of_strip(total)
        slope = _sign(total.rr, total.largest)
        if slope > 0:
            raise UnknownTailError
        return self._of_peak(total) if slope else self._of_slope(total)

    def _at_wall(self, walls: Sequence[Line], tails: Sequence[tuple[Tail, Line]]) -> Growth | None:
        """Where the integrand falls like e^-e^r from a cut on: it is as large as at the cut."""
        unlike = any(tail.square or tail.stirling for tail, _ in tails)
        if self.strip or self.lattice or unlike or not walls[0].slope:
            raise UnknownTailError
        cut = _cut(walls[0])
        if len(walls) > 1 or cut not in (self.low, self.high):
            return None  # e^-e^u, less than what any other sector has
        total = _Polynomial()
        for tail, at in tails:
            total.add(Tail(linear=tail.linear, power=tail.power) if not tail.double else Tail(), at)
        return self._ended(total, cut, _ZERO)

    def _of_strip(self, total: _Polynomial) -> Growth:
        assert self.low is not None
        assert self.high is not None
        rise = self.low[0]
        slope = _sign(2 * total.rr * rise + total.ru, 2 * total.rr * rise, total.ru)
        if not slope:
            return self._ended(total, self.low, _ZERO)
        return self._ended(total, self.high if slope > 0 else self.low, -_ONE)

    def _of_slope(self, total: _Polynomial) -> Growth:
        """No square of r: the integrand is an exponential in r, of a slope that stays."""
        if total.ru:
            raise UnknownTailError
        slope = _sign(total.r, total.largest)
        if slope:
            end = self.high if slope > 0 else self.low
            if end is None:
                raise UnknownTailError
            return self._ended(total, end, _ZERO)
        if self.low is None or self.high is None or any(p <= -1 for p, _ in total.powers):
            raise UnknownTailError
        power = sum((p for p, _ in total.powers), _ONE)
        return Growth(square=total.uu, linear=total.u, power=power)

    def _of_peak(self, total: _Polynomial) -> Growth:
        """A Gaussian in r: its top inside, or else the end that is next to it."""
        curve = -2 * total.rr
        top = total.ru / curve
        for end, sign in ((self.low, -1), (self.high, 1)):
            if end is not None and sign * _sign(top - end[0], top, end[0]) > 0:
                return self._ended(total, end, -_ONE)
        if self.lattice:
            raise UnknownTailError
        return Growth(
            square=total.uu + total.ru * top / 2,
            linear=total.u + total.r * top,
            power=_powers(total, top),
        )

    def _ended(self, total: _Polynomial, end: _Cut, width: Fraction) -> Growth:
        """The growth at an end of the sector, times that of the width that matters there."""
        if width and (self.lattice or end in self.faint):
            raise UnknownTailError
        rise, offset = end
        return Growth(
            square=total.uu + total.ru * rise + total.rr * rise**2,
            linear=total.u + total.r * rise + (total.ru + 2 * total.rr * rise) * offset,
            power=_powers(total, rise) + width,
        )


def _powers(total: _Polynomial, rise: Coefficient) -> Coefficient:
    """The powers of all lines that are far away where r is about rise·u."""
    found: Coefficient = _ZERO
    for power, line in total.powers:
        if _sign(line.slope * rise + line.rise, line.slope * rise, line.rise):
            found = found + power
    return found


def _sign(value: Coefficient, *sizes: Coefficient) -> int:
    """The sign of a difference; one that may be that of a rounded parameter has none."""
    if isinstance(value, Fraction) and not value:
        return 0
    if abs(float(value)) <= _CLOSE * max(abs(float(size)) for size in sizes):
        raise UnknownTailError
    return 1 if value > 0 else -1


def growth_of_sum(first: LineDensity, second: LineDensity, right: bool) -> Growth | None:
    """How the density of a sum of two independent numbers falls, to one side."""
    u = _ONE if right else -_ONE
    return growth_of_integral(
        [
            DensityFactor(first, Line(_ONE, _ZERO, _ZERO)),
            DensityFactor(second, Line(-_ONE, u, _ZERO)),
        ]
    )


def as_tail(growth: Growth) -> Tail | None:
    """The same of a density; None where it is e^-e^u with a shift, which no `Tail` tells."""
    if growth.double:
        return None
    return Tail(
        square=growth.square, stirling=growth.stirling, linear=growth.linear, power=growth.power
    )
