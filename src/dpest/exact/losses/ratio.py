"""The supremum of a log-density ratio over real outputs.

Between kinks the ratio is smooth: its largest value lies at a kink (from one side), at a stationary
point inside a piece, or is approached at infinity. The limit at infinity is followed outwards until
it has settled. Where it keeps growing, no trend makes it infinite: the value at the farthest place
that was looked at is a lower bound, and "growing" says so. Whether it is infinite is decided by the
exponents of the tails (`tail_exponents`), if those are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpest.errors import RefusedError
from dpest.exact.integration.quadrature import Floats, graded

LogPair = Callable[[Floats], tuple[Floats, Floats]]
_OFFSETS = np.array([0.06, 0.28, 0.5, 0.72, 0.94])
# Far points at distances that no lattice has: on one, kinks that are not listed lie on each other.
OFF_LATTICES = (math.sqrt(5) - 1) / 2
_SPIKES = 8
ONE_SIDED = 24  # outputs that are tried before a difference of supports is given up


@dataclass(frozen=True)
class Supremum:
    """A supremum of ±(log p - log q): the value, where, and how it is reached."""

    value: float
    at: tuple[float, ...] = ()
    how: str = "at"
    """ "at", "limit" (approached at infinity), "support" (one side alone has it), "growing" (still
    larger further out: a lower bound), "unbounded" (infinite, by exponents of the tails)."""
    log_p: float = math.nan
    log_q: float = math.nan
    doubt: float = 0.0  # rounding error: where the logs are large the value has fewer digits
    others: tuple[tuple[float, ...], ...] = ()  # more outputs that one side alone seems to have
    towards: tuple[float, ...] = ()  # of one that grows: the ends, or the place, where it does
    proved: bool = False  # by a law of its own: no tail has to be looked at
    unproved: bool = False  # that it is bounded far out is not known

    @property
    def sure(self) -> float:
        """What the supremum is at least: extremes are compared by it, so that noise never wins."""
        # Where the doubt has no bound the value was taken low already.
        return self.value - self.doubt if math.isfinite(self.doubt) else self.value


NOTHING = Supremum(-math.inf)


def scan(
    pair: LogPair,
    kinks: Sequence[float],
    scale: float,
    widest: float,
    sides: Sequence[int] = (0, 1),
) -> tuple[Supremum, Supremum]:
    """The suprema of log p - log q and of log q - log p over a real line.

    `scale` is the shortest length over which the densities change, `widest` the longest. Points
    where both densities are 0 are no outputs; where just one is 0 the supremum is infinite
    ("support", to be confirmed exactly by the caller).
    """
    spots = np.array(sorted(kinks)) if len(kinks) else np.zeros(1)
    low, high = spots[0] - 8 * widest, spots[-1] + 8 * widest
    starts, ends, _ = graded(np.array([[low, *spots, high]]), np.array([2 * scale]))
    inner = (starts[:, None] + (ends - starts)[:, None] * _OFFSETS).ravel()
    close = 1e-12 * np.maximum(np.abs(spots), scale)
    near = 1e-6 * np.maximum(np.abs(spots) * 1e-3, scale)
    middle = np.sqrt(close * near)
    beside = np.concatenate([d * side for d in (close, middle, near) for side in (-1.0, 1.0)])
    beside = np.tile(spots, 6) + beside
    outward = OFF_LATTICES * widest * np.exp2(np.arange(5, 12))
    points = np.concatenate(
        [
            spots[0] - outward[::-1],
            np.sort(np.concatenate([inner, beside])),
            spots[-1] + outward,
        ]
    )
    log_p, log_q = pair(points)
    poles = _poles(points, _ratio(log_p, log_q), spots, (close, middle, near))
    log_p, log_q = _without_vanishing(points, log_p, log_q, spots - close, spots - near)
    log_p, log_q = _without_vanishing(points, log_p, log_q, spots + close, spots + near)
    ratio = _ratio(log_p, log_q)
    doubt = rounding(log_p, log_q) + _conditioning(points, log_p) + _conditioning(points, log_q)
    doubt += _beside_kinks(points, ratio, spots, (close, middle))
    found = [NOTHING, NOTHING]
    for side in sides:
        sign = 1.0 if side == 0 else -1.0
        edges = (float(spots[0]), float(spots[-1]))
        outside = _Outside(pair, edges, 2 * OFF_LATTICES * widest)
        found[side] = _sup(pair, points, sign * ratio, doubt, sign, len(outward), scale, outside)
        pole = poles[side]
        if pole is not None and found[side].how != "support":
            found[side] = _at_pole(pair, found[side], pole, points, sign * ratio)
    return found[0], found[1]


def _at_pole(pair: LogPair, best: Supremum, pole: float, points: Floats, here: Floats) -> Supremum:
    """The largest value that was seen near a kink towards which the ratio grows."""
    near = np.flatnonzero(np.isfinite(here))
    near = near[np.argsort(np.abs(points[near] - pole), kind="stable")[:8]]
    if not len(near):
        return replace(best, how="growing", towards=(*best.towards, pole))
    place = near[int(np.argmax(here[near]))]
    if here[place] < best.sure:
        return replace(best, how="growing", towards=(*best.towards, pole))
    at = float(points[place])
    log_p, log_q = pair(np.array([at]))
    value = float(here[place])
    return Supremum(
        value, (at,), "growing", float(log_p[0]), float(log_q[0]), towards=(*best.towards, pole)
    )


def _poles(
    points: Floats, ratio: Floats, spots: Floats, distances: tuple[Floats, Floats, Floats]
) -> list[float | None]:
    """Kinks at which the ratio grows without bound, for each direction.

    Where one density goes to 0 like a higher power of the distance d than the other, the log-ratio
    grows like log 1/d: by equal steps over equal factors of d, far below the scale on which
    anything else changes.
    """
    found: list[float | None] = [None, None]
    close, middle, near = distances
    for way in (-1.0, 1.0):
        a, b, c = (ratio[_places(points, spots + way * d)] for d in (near, middle, close))
        with np.errstate(invalid="ignore"):
            first, second = b - a, c - b
            steps = np.log(near / middle)
            for side, sign in ((0, 1.0), (1, -1.0)):
                grows = (sign * first > 0.7 * steps) & (sign * second > 0.7 * steps)
                grows &= np.abs(first - second) < 0.1 * np.abs(first)
                if grows.any():
                    found[side] = float(spots[int(np.argmax(grows))])
    return found


def _places(points: Floats, spots: Floats) -> NDArray[np.intp]:
    """Where the spots lie among the points; one that rounding put beyond the last is the last."""
    return np.minimum(np.searchsorted(points, spots), len(points) - 1)


def _without_vanishing(
    points: Floats, log_p: Floats, log_q: Floats, close: Floats, near: Floats
) -> tuple[Floats, Floats]:
    """Leave out points right beside a kink where a density goes to 0.

    There the distance to the kink is mostly rounding error, and so is the ratio.
    """
    i, j = _places(points, close), _places(points, near)
    with np.errstate(invalid="ignore"):
        gone = (log_p[j] - log_p[i] > 8) | (log_q[j] - log_q[i] > 8)
    gone &= np.isfinite(log_p[i]) & np.isfinite(log_q[i])
    log_p, log_q = log_p.copy(), log_q.copy()
    log_p[i[gone]] = log_q[i[gone]] = -np.inf
    return log_p, log_q


def rounding(log_p: Floats, log_q: Floats) -> Floats:
    """Rounding error of a ratio: far out, where the logs are large, it has fewer digits."""
    with np.errstate(invalid="ignore"):
        return 4e-16 * (np.abs(log_p) + np.abs(log_q))


def _conditioning(points: Floats, log: Floats) -> Floats:
    """What the rounding of an output's own digits does to a log density, from its slopes.

    Gumbel's left tail is the steep one: its logarithm is itself an exponential.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        slopes = np.abs(np.diff(log) / np.diff(points))
    slopes = np.where(np.isfinite(slopes), slopes, 0.0)
    steepest = np.maximum(np.append(slopes, 0.0), np.insert(slopes, 0, 0.0))
    return np.asarray(2.3e-16 * np.abs(points) * steepest)


def _beside_kinks(
    points: Floats, ratio: Floats, spots: Floats, distances: tuple[Floats, Floats]
) -> Floats:
    """How much a value right beside a kink may lie below the limit at the kink."""
    extra = np.zeros(len(points))
    close, middle = distances
    for way in (-1.0, 1.0):
        i, j = _places(points, spots + way * close), _places(points, spots + way * middle)
        with np.errstate(invalid="ignore"):
            change = np.abs(ratio[i] - ratio[j]) * close / middle
        extra[i] = np.where(np.isfinite(change), change, 0.0)
    return extra


def _ratio(log_p: Floats, log_q: Floats) -> Floats:
    """log p - log q; NaN where both are 0."""
    with np.errstate(invalid="ignore"):
        return np.asarray(log_p - log_q)


def _sup(
    pair: LogPair,
    points: Floats,
    here: Floats,
    doubt: Floats,
    sign: float,
    tail: int,
    scale: float,
    outside: _Outside,
) -> Supremum:
    alive = ~np.isnan(here)
    if not alive.any():
        return NOTHING
    x, y = points[alive], here[alive]
    top = int(np.argmax(y))
    if y[top] == math.inf:
        return _one_sided(pair, x[y == math.inf], sign)
    best = _peak(pair, x, y, doubt[alive], sign, scale)
    for _ in range(_SPIKES):
        if not _is_spike(pair, best, sign, scale):
            break
        kept = x != best.at[0]
        alive[alive] = kept
        x, y = x[kept], y[kept]
        best = _peak(pair, x, y, doubt[alive], sign, scale)
    else:
        return NOTHING
    return _with_ends(best, _tails(points, here, doubt, tail, sign, outside))


def _with_ends(best: Supremum, ends: list[Supremum]) -> Supremum:
    """The best of a peak and of both ends; where an end grows, nobody knows a supremum."""
    for end in ends:
        # Of equal values the one at a definite place is the better witness.
        if end.sure > best.sure + 1e-12 * max(1.0, abs(best.value)):
            best = end
    towards = tuple(t for end in ends for t in end.towards)
    return replace(best, how="growing", towards=towards) if towards else best


def _one_sided(pair: LogPair, x: Floats, sign: float) -> Supremum:
    """Outputs that one side alone seems to have, the likeliest first.

    Several, since the first may lie at the very edge of what is possible, which shows nothing.
    """
    x = x[np.unique(np.linspace(0, len(x) - 1, min(len(x), ONE_SIDED)).astype(int))]
    log_p, log_q = pair(x)
    order = np.argsort(-(log_p if sign > 0 else log_q), kind="stable")
    first, *others = [(float(x[i]),) for i in order]
    p, q = float(log_p[order[0]]), float(log_q[order[0]])
    return Supremum(math.inf, first, "support", p, q, others=tuple(others))


def _peak(
    pair: LogPair, x: Floats, y: Floats, doubt: Floats, sign: float, scale: float
) -> Supremum:
    """The best sampled point, refined where it lies inside a smooth piece."""
    sure = y - doubt
    first = int(np.argmax(sure))
    best, where, unsure = float(sure[first]), float(x[first]), float(doubt[first])
    inside = _promising(x, sure, best)
    if len(inside):
        low, high = x[inside - 1].copy(), x[inside + 1].copy()
        fractions = np.linspace(0, 1, 9)
        rows = np.arange(len(inside))
        for _ in range(12):
            grid = low[:, None] + (high - low)[:, None] * fractions
            log_p, log_q = pair(grid.ravel())
            values = sign * _ratio(log_p, log_q) - doubt[inside].repeat(len(fractions))
            values = np.where(np.isfinite(values), values, -np.inf).reshape(grid.shape)
            pick = np.argmax(values, axis=1)
            most = int(np.argmax(values[rows, pick]))
            gain = values[most, pick[most]] - best
            if gain > 0:
                best, where = float(values[most, pick[most]]), float(grid[most, pick[most]])
                unsure = float(doubt[inside[most]])
            low = grid[rows, np.maximum(pick - 1, 0)]
            high = grid[rows, np.minimum(pick + 1, 8)]
            # Near a smooth top, a bracket of width h is wrong by h²: no need to go further.
            if (high - low).max() <= 1e-6 * scale or 0 < gain < 1e-14 * max(1.0, abs(best)):
                break
    log_p, log_q = pair(np.array([where]))
    value = sign * float(log_p[0] - log_q[0])
    return Supremum(value, (where,), "at", float(log_p[0]), float(log_q[0]), unsure)


def _is_spike(pair: LogPair, best: Supremum, sign: float, scale: float) -> bool:
    """Whether a value is that of a single point, far above those on both of its sides.

    Where closed pieces of a density meet, both count at their common end: a set of measure 0, on
    which a density may have any value.
    """
    if not best.at or not math.isfinite(best.value) or not math.isfinite(best.at[0]):
        return False
    beside = 1e-9 * max(abs(best.at[0]), scale)
    around = np.array([best.at[0] - beside, best.at[0] + beside])
    values = sign * _ratio(*pair(around))
    most = np.max(np.where(np.isnan(values), -np.inf, values))
    return bool(most < best.value - best.doubt - 1e-6 * max(1.0, abs(best.value)))


def _promising(x: Floats, y: Floats, best: float) -> NDArray[np.intp]:
    """Sampled points whose parabola with their neighbours could rise above the best."""
    inside = np.flatnonzero((y[1:-1] >= y[:-2]) & (y[1:-1] >= y[2:])) + 1
    if not len(inside):
        return inside
    a, b, c = x[inside - 1], x[inside], x[inside + 1]
    with np.errstate(invalid="ignore", divide="ignore"):
        left = (y[inside] - y[inside - 1]) / (b - a)
        right = (y[inside] - y[inside + 1]) / (c - b)
        # The top of a smooth piece lies above its sample by no more than the slopes allow.
        rise = np.minimum(left * (c - b), right * (b - a))
    reach = y[inside] + np.maximum(rise, 0.0)
    keep = np.isfinite(reach) & (reach > best + 1e-12 * max(1.0, abs(best)))
    order = np.argsort(-reach[keep])[:6]
    return inside[keep][order]


@dataclass(frozen=True)
class _Outside:
    """How to look further out: the log densities at doubling distances beyond an edge."""

    pair: LogPair
    edges: tuple[float, float]  # the last places on the left and on the right where things change
    unit: float
    step: float = 0.0  # of a lattice, else 0
    base: float = 0.0

    def place(self, end: float, power: int) -> float:
        edge = self.edges[0] if end < 0 else self.edges[1]
        x = edge + math.copysign(1.0, end) * self.unit * 2.0**power
        if self.step:
            x = self.base + self.step * float(np.rint((x - self.base) / self.step))
        return x

    def at(self, end: float, sign: float, powers: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """The ratio and its rounding error at unit·2^power beyond the edge at this end."""
        x = np.array([self.place(end, power) for power in powers.tolist()])
        order = np.argsort(x)
        log_p, log_q = self.pair(x[order])
        back = np.argsort(order)
        return sign * _ratio(log_p, log_q)[back], rounding(log_p, log_q)[back]


# Powers of two, each with the three before it: nearby ones have more digits.
_FURTHER = (14, 17, 20, 24, 28, 32)
_FAR_ENOUGH = 28


def _tails(
    points: Floats, here: Floats, doubt: Floats, count: int, sign: float, outside: _Outside
) -> list[Supremum]:
    """What the ratio does at both ends: a limit, or growth as far as one looks."""
    found = []
    for end, part in ((-math.inf, slice(count - 1, None, -1)), (math.inf, slice(-count, None))):
        values, unsure = here[part], doubt[part]
        alive = np.isfinite(values)
        if not alive.any():
            continue
        values, unsure, places = values[alive], unsure[alive], points[part][alive]
        if _grows_slowly(values) or _grows_fast(values):
            found.append(_growing(end, sign, outside, float(places[-1])))
            continue
        if len(values) >= 4 and _grows(values[-4:], unsure[-4:]):
            # Two rates that differ by little look so, too, before the slower one takes over.
            found.append(_followed(end, sign, outside, float(places[-1])))
            continue
        # The nearest point from which on nothing changes any more: it has the most digits.
        settled = np.abs(values - values[-1]) <= unsure + unsure[-1] + 1e-15
        place = int(np.argmax(settled))
        rough_limit = float(unsure[place] + unsure[-1])
        if place < len(values) - 1 or len(values) < 5:
            found.append(Supremum(float(values[place]), (end,), "limit", doubt=rough_limit))
        else:
            limit, change = _extrapolated(values)
            found.append(Supremum(limit, (end,), "limit", doubt=rough_limit + change))
    return found


def _grows(values: Floats, doubt: Floats) -> bool:
    """Whether four values at doubling distances grow in proportion to the distance."""
    steps = np.diff(values)
    if not np.all(steps > np.maximum(1e-6, 8 * (doubt[1:] + doubt[:-1]))):
        return False
    return bool(steps[2] > 1.5 * steps[1] > 1.5 * 1.5 * steps[0])


def _grows_slowly(values: Floats) -> bool:
    """Whether the values have grown like the logarithm of the distance over many doublings.

    A higher power of the distance in front of one density does that, or tails like those of
    Poisson noise; nothing that has a limit takes six equal steps on its way.
    """
    steps = np.diff(values)[-6:]
    return len(steps) == 6 and bool(steps.min() > 0.3 and steps.max() < 1.15 * steps.min())


def _grows_fast(values: Floats) -> bool:
    """Whether the values grow faster than the distance, as only a noise with such tails does.

    (Where exponential tails take over from each other, the ratio is linear once it is large.)
    """
    steps = np.diff(values)[-3:]
    large = len(steps) == 3 and values[-1] > 50
    return large and bool(steps[2] > 3 * steps[1] > 9 * steps[0] > 0)


def _followed(end: float, sign: float, outside: _Outside, where: float) -> Supremum:
    """A ratio that grows with the distance, followed until it settles or is far enough out.

    `where`: the farthest place that was looked at so far.
    """
    for top in _FURTHER:
        try:
            with np.errstate(all="ignore"):
                values, doubt = outside.at(end, sign, np.arange(top - 3, top + 1))
        except RefusedError:
            break
        if not np.all(np.isfinite(values)):
            break
        if np.ptp(values) <= 2 * float(doubt.max()) + 1e-12:
            return Supremum(float(values[0]), (end,), "limit", doubt=float(2 * doubt.max()))
        where = outside.place(end, top)
        if top >= _FAR_ENOUGH and _grows(values, doubt):
            break
    return _growing(end, sign, outside, where)


def _growing(end: float, sign: float, outside: _Outside, where: float) -> Supremum:
    """The value at the farthest place that was looked at."""
    log_p, log_q = outside.pair(np.array([where]))
    value, doubt = sign * float(log_p[0] - log_q[0]), float(rounding(log_p, log_q)[0])
    p, q = float(log_p[0]), float(log_q[0])
    return Supremum(value - doubt, (where,), "growing", p, q, towards=(end,))


def _extrapolated(values: Floats) -> tuple[float, float]:
    """The limit of a sequence at doubling distances d that behaves like c + a/d + b/d² + …

    Tails that are a polynomial times an exponential have such ratios. By Richardson's scheme; its
    own error estimate is taken off, and the last value is kept where it doesn't converge. Gives
    the limit and that estimate.
    """
    row = values.copy()
    best, doubt = float(values[-1]), math.inf
    for order in range(1, len(values)):
        better = (2.0**order * row[1:] - row[:-1]) / (2.0**order - 1)
        change = abs(float(better[-1] - row[-1]))
        if change >= doubt:
            break
        best, doubt, row = float(better[-1]), change, better
    if doubt < 1e-6:
        return best - doubt, doubt
    return float(values[-1]), abs(best - float(values[-1]))


def scan_lattice(
    pair: LogPair, offsets: Sequence[float], step: float, spots: Sequence[float], widest: float
) -> tuple[Supremum, Supremum]:
    """The same over lattice points offset + step·k."""
    points = lattice_points(offsets, step, spots, widest)
    reach = 60 * widest
    outward = np.exp2(np.arange(1, 9)) * reach
    base = float(offsets[0])
    far = []
    for side in (-1.0, 1.0):
        edge = min(spots) if side < 0 else max(spots)
        raw = edge + side * outward
        far.append(base + step * np.rint((raw - base) / step))
    everything = np.concatenate([far[0][::-1], points, far[1]])
    log_p, log_q = pair(everything)
    ratio = _ratio(log_p, log_q)
    doubt = rounding(log_p, log_q)
    outside = _Outside(pair, (min(spots), max(spots)), reach, step, base)
    results = []
    for sign in (1.0, -1.0):
        here = sign * ratio
        alive = ~np.isnan(here)
        if not alive.any():
            results.append(NOTHING)
            continue
        masked = np.where(alive, here - np.where(np.isfinite(here), doubt, 0.0), -np.inf)
        top = int(np.argmax(masked))
        value = float(here[top])
        if value == math.inf:
            results.append(_one_sided(pair, everything[here == math.inf], sign))
            continue
        at, unsure = (float(everything[top]),), float(doubt[top])
        best = Supremum(value, at, "at", float(log_p[top]), float(log_q[top]), unsure)
        ends = _tails(everything, here, doubt, len(outward), sign, outside)
        results.append(_with_ends(best, ends))
    return results[0], results[1]


def lattice_points(
    offsets: Sequence[float], step: float, spots: Sequence[float], widest: float
) -> Floats:
    """All lattice points within the reach of the densities."""
    reach = 60 * widest
    low, high = min(spots) - reach, max(spots) + reach
    parts = []
    for offset in offsets:
        first, last = math.ceil((low - offset) / step), math.floor((high - offset) / step)
        if last - first > 4_000_000:
            raise RefusedError("a lattice output with more than four million likely values")
        parts.append(offset + step * np.arange(first, last + 1))
    return np.unique(np.concatenate(parts))
