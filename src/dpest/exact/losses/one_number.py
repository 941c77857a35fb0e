"""The loss between any two values of one number, where chances are linear in it.

A function of one number t that draws uniform numbers has, for each of its outputs, a chance that
is a sum of lengths of intervals whose ends are linear in t: between two values of t where such ends
cross, the chance is linear, and largest and smallest at the ends. For an output that is itself a
uniform number, moved and stretched, the density at y is constant between the lines of the (t, y)
plane that such ends are. So finitely many values of t (and strips of y) give the largest loss of
all pairs, exactly. Everything else is refused, by None.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpest.ask.declaration import Mechanism
from dpest.errors import DpestError
from dpest.geometry.linear import Condition, Form, Symbol, rational
from dpest.noise import Uniform
from dpest.reading.paths import Path, Trace

_ZERO, _ONE = Fraction(0), Fraction(1)
_MOST_LINES, _CHECKED = 60, 12
_CLOSE = 1e-9


class _OtherShape(Exception):
    """The paths are not of the shape that is known here."""


@dataclass(frozen=True)
class _Line:
    """constant + slope·t."""

    constant: Fraction
    slope: Fraction = _ZERO

    def at(self, t: Fraction) -> Fraction:
        return self.constant + self.slope * t

    def meets(self, other: _Line) -> list[Fraction]:
        if self.slope == other.slope:
            return []
        return [(other.constant - self.constant) / (self.slope - other.slope)]

    def scaled(self, factor: Fraction, moved: _Line) -> _Line:
        return _Line(factor * self.constant + moved.constant, factor * self.slope + moved.slope)


@dataclass(frozen=True)
class _Interval:
    """What a condition leaves of one uniform draw: between all `lows` and all `highs`."""

    lows: tuple[_Line, ...]
    highs: tuple[_Line, ...]
    width: Fraction

    @property
    def moves(self) -> bool:
        return any(line.slope for line in (*self.lows, *self.highs))

    def length(self, t: Fraction) -> Fraction:
        low, high = max(x.at(t) for x in self.lows), min(x.at(t) for x in self.highs)
        return max(high - low, _ZERO) / self.width

    def holds(self, t: Fraction, value: Fraction) -> bool:
        return all(x.at(t) < value for x in self.lows) and all(x.at(t) > value for x in self.highs)


@dataclass(frozen=True)
class _NumberPath:
    """One path: conditions on t alone, intervals of its draws, and what is released.

    `drawn`: the draw that the released number is made of, with its factor and what is added.
    """

    chance: Fraction
    about_t: tuple[tuple[_Line, str], ...]
    intervals: dict[Symbol, _Interval]
    drawn: tuple[Symbol, Fraction, _Line] | None

    def possible(self, t: Fraction) -> bool:
        return all(_holds(line.at(t), relation) for line, relation in self.about_t)

    def weight(self, t: Fraction) -> Fraction:
        if not self.possible(t):
            return _ZERO
        return self.chance * math.prod((i.length(t) for i in self.intervals.values()), start=_ONE)

    def density(self, t: Fraction, y: Fraction) -> Fraction:
        assert self.drawn is not None
        symbol, factor, added = self.drawn
        own = self.intervals[symbol]
        if not self.possible(t) or not own.holds(t, (y - added.at(t)) / factor):
            return _ZERO
        others = (i.length(t) for s, i in self.intervals.items() if s != symbol)
        return self.chance * math.prod(others, start=_ONE) / (own.width * abs(factor))

    def lines(self) -> list[_Line]:
        """Where, as a function of t, its density begins and ends."""
        assert self.drawn is not None
        symbol, factor, added = self.drawn
        own = self.intervals[symbol]
        return [line.scaled(factor, added) for line in (*own.lows, *own.highs)]


def _holds(value: Fraction, relation: str) -> bool:
    return {">": value > 0, ">=": value >= 0, "==": value == 0, "!=": value != 0}[relation]


_Ways = dict[Any, list[_NumberPath]]


def worst_of_one_number(mechanism: Mechanism, low: float, high: float) -> float | None:
    """The largest ε between two numbers from `low` to `high`; None where it isn't found here."""
    from dpest.reading.trace import trace

    ends = (rational(low), rational(high))
    try:
        ways = _ways(trace(mechanism, (low + high) / 2, symbolic=True))
        found, places = _ratio(ways, *ends)
        _check(mechanism, ways, [*ends, *places])
    except (DpestError, _OtherShape, TypeError, ValueError, ArithmeticError):
        return None
    return None if found is None else math.nextafter(math.log(found), math.inf)


# Paths ---------------------------------------------------------------------------------------


def _ways(trace: Trace) -> _Ways:
    if trace.leftover:
        raise _OtherShape
    found: _Ways = defaultdict(list)
    for path in trace.paths:
        for one in _without_indicators(path, trace):
            way = _way(one, trace)
            if way is not None:
                found[repr(one.skeleton), tuple(map(_named, one.leaves))].append(way)
    return found


def _named(leaf: Any) -> str:
    """What of a leaf is the same in all outputs of a group."""
    if isinstance(leaf, Form):
        return "a number" if leaf.terms else str(leaf.constant)
    plain = isinstance(leaf, (int, float)) and math.isfinite(leaf)
    return str(rational(leaf)) if plain else repr(leaf)


def _without_indicators(path: Path, trace: Trace) -> Iterable[Path]:
    """The path for each truth of the indicators that it releases."""
    symbols = [s for v in path.leaves if isinstance(v, Form) for s in v.symbols("indicator")]
    if not symbols:
        return [path]
    symbol = symbols[0]
    condition = getattr(trace.indicators[symbol], "condition", None)
    if not isinstance(condition, Condition) or [*condition.form.symbols("indicator")]:
        raise _OtherShape
    found: list[Path] = []
    for value, one in ((_ONE, condition), (_ZERO, condition.negated())):
        leaves = tuple(_filled(v, symbol, value) for v in path.leaves)
        known = replace(path, conditions=(*path.conditions, one), leaves=leaves)
        found += _without_indicators(known, trace)
    return found


def _filled(leaf: Any, symbol: Symbol, value: Fraction) -> Any:
    if not isinstance(leaf, Form) or symbol not in leaf.terms:
        return leaf
    rest = {s: c for s, c in leaf.terms.items() if s != symbol}
    return Form(rest, leaf.constant + leaf.terms[symbol] * value)


def _way(path: Path, trace: Trace) -> _NumberPath | None:
    chance = _ONE
    for choice in path.choices:
        if not isinstance(choice.probability, (int, Fraction)) or choice.rounded:
            raise _OtherShape
        chance *= choice.probability
    bounds: dict[Symbol, tuple[list[_Line], list[_Line]]] = {}
    about_t: list[tuple[_Line, str]] = []
    for condition in path.conditions:
        symbol, slope, rest = _apart(condition.form)
        if symbol is None:
            about_t.append((rest, condition.relation))
        elif condition.relation == "==":
            return None  # of no chance
        elif condition.relation != "!=":
            lows, highs = bounds.setdefault(symbol, ([], []))
            (lows if slope > 0 else highs).append(rest.scaled(-1 / slope, _Line(_ZERO)))
    drawn = _drawn(path)
    if drawn is not None:
        bounds.setdefault(drawn[0], ([], []))
    intervals = {}
    for symbol, (lows, highs) in bounds.items():
        noise = trace.noises.get(symbol)
        if type(noise) is not Uniform:
            raise _OtherShape
        ends = rational(noise.low), rational(noise.high)
        own = tuple(_Line(e) for e in ends)
        intervals[symbol] = _Interval((*lows, own[0]), (*highs, own[1]), ends[1] - ends[0])
    moving = [s for s, i in intervals.items() if i.moves]
    if len(moving) > 1 or (drawn is not None and moving not in ([], [drawn[0]])):
        raise _OtherShape
    return _NumberPath(chance, tuple(about_t), intervals, drawn)


def _apart(form: Form) -> tuple[Symbol | None, Fraction, _Line]:
    """The one draw in a form with its coefficient, and the rest as a line in t."""
    symbol, slope, by_t = None, _ZERO, _ZERO
    for s, c in form.terms.items():
        if s.kind == "input":
            by_t += c
        elif s.kind != "noise" or symbol is not None:
            raise _OtherShape
        else:
            symbol, slope = s, c
    return symbol, slope, _Line(form.constant, by_t)


def _drawn(path: Path) -> tuple[Symbol, Fraction, _Line] | None:
    numbers = [v for v in path.leaves if isinstance(v, Form) and v.terms]
    if not numbers:
        return None
    if len(numbers) > 1:
        raise _OtherShape
    symbol, factor, added = _apart(numbers[0])
    if symbol is None:
        raise _OtherShape  # the data themselves are released
    return symbol, factor, added


# The largest ratio ---------------------------------------------------------------------------


def _ratio(ways: _Ways, low: Fraction, high: Fraction) -> tuple[Fraction | None, list[Fraction]]:
    """The largest ratio of chances or densities, and the values of t that were looked at."""
    worst, places = _ONE, set[Fraction]()
    for group in ways.values():
        continuous = group[0].drawn is not None
        find = _of_density if continuous else _of_chance
        least, most, seen = find(group, low, high)
        places |= set(seen)
        if most and not least:
            return None, []
        if most:
            worst = max(worst, most / least) if not continuous else max(worst, most)
    return worst, sorted(places)


def _between(places: Iterable[Fraction], low: Fraction, high: Fraction) -> list[Fraction]:
    return sorted({low, high, *(p for p in places if low < p < high)})


def _own_places(group: Sequence[_NumberPath]) -> list[Fraction]:
    """Where conditions on t alone change."""
    return [-x.constant / x.slope for way in group for x, _ in way.about_t if x.slope]


def _of_chance(
    group: Sequence[_NumberPath], low: Fraction, high: Fraction
) -> tuple[Fraction, Fraction, list[Fraction]]:
    places = _own_places(group)
    for way in group:
        for interval in way.intervals.values():
            lines = list(dict.fromkeys((*interval.lows, *interval.highs)))
            for a, b in itertools.combinations(lines, 2):
                places += a.meets(b)
    cuts = _between(places, low, high)
    total = lambda t: sum((way.weight(t) for way in group), _ZERO)  # noqa: E731
    values = [total(t) for t in cuts]
    for begin, end in itertools.pairwise(cuts):
        third = (end - begin) / 3
        first, second = total(begin + third), total(end - third)
        values += [2 * first - second, 2 * second - first]  # linear up to both ends
    return min(values), max(values), cuts


def _of_density(
    group: Sequence[_NumberPath], low: Fraction, high: Fraction
) -> tuple[Fraction, Fraction, list[Fraction]]:
    """1 and the largest ratio of densities at one y; 0 and 1 where one of them is 0."""
    lines = list(dict.fromkeys(line for way in group for line in way.lines()))
    if len(lines) > _MOST_LINES:
        raise _OtherShape
    own = _between(_own_places(group), low, high)
    levels = {line.at(t) for line in lines for t in own}
    for a, b in itertools.combinations(lines, 2):
        levels |= {a.at(t) for t in a.meets(b) if low < t < high}
    worst = _ONE
    for below, above in itertools.pairwise(sorted(levels)):
        y = (below + above) / 2
        crossings = [t for line in lines for t in line.meets(_Line(y))]
        cuts = _between([*own, *crossings], low, high)
        middles = [(a + b) / 2 for a, b in itertools.pairwise(cuts)]
        values = [sum((w.density(t, y) for w in group), _ZERO) for t in (*middles, *own)]
        if max(values) and not min(values):
            return _ZERO, _ONE, own
        if max(values):
            worst = max(worst, max(values) / min(values))
    return _ONE, worst, own


# Against the function ------------------------------------------------------------------------


def _check(mechanism: Mechanism, ways: _Ways, places: Sequence[Fraction]) -> None:
    """The paths at some values of t are those that are read, and replayed, for that value alone."""
    from dpest.reading.trace import trace

    middles = [(a + b) / 2 for a, b in itertools.pairwise(sorted(set(places)))]
    chosen = [*places[:2], *middles, *places[2:]][:_CHECKED]
    for t in chosen:
        number = float(t)
        alone, at = _ways(trace(mechanism, number)), rational(number)
        for key in {*ways, *alone}:
            if not _alike(ways.get(key, []), alone.get(key, []), at):
                raise _OtherShape


def _alike(ours: Sequence[_NumberPath], theirs: Sequence[_NumberPath], t: Fraction) -> bool:
    drawn = [way for way in (*ours, *theirs) if way.drawn is not None]
    if not drawn:
        sums = [sum((w.weight(t) for w in ways), _ZERO) for ways in (ours, theirs)]
        return math.isclose(*map(float, sums), rel_tol=_CLOSE, abs_tol=_CLOSE)
    levels = sorted({line.at(t) for way in drawn for line in way.lines()})
    for below, above in itertools.pairwise(levels):
        if above - below < rational(_CLOSE):
            continue
        y = (below + above) / 2
        sums = [sum((w.density(t, y) for w in ways), _ZERO) for ways in (ours, theirs)]
        if not math.isclose(*map(float, sums), rel_tol=_CLOSE, abs_tol=_CLOSE):
            return False
    return True
