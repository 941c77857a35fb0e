"""Random small functions of two noises, and their densities by a second way.

A function is a tree of +, -, abs, max, min, clips and multiples over inputs and noises. It is
turned into source for dpest, and, by code that shares nothing with dpest, into cases: linear
conditions on the two noises, and a linear output. The density of an output is a sum over cases of
one-dimensional integrals of log-concave functions, computed in the log domain from their peaks
outwards, so that it is known far out in the tails as well.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_TINY = 1e-300


# Noises, centred -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Law:
    """One noise: how it is drawn, its log density and cdf, where it is not smooth."""

    call: str
    log_density: Callable[[Any], Any]
    log_cdf: Callable[[Any], Any]
    log_sf: Callable[[Any], Any]
    low: float
    high: float
    kinks: tuple[float, ...]
    size: float


def laplace(b: float) -> Law:
    def log_cdf(v: Any) -> Any:
        half = np.exp(-np.abs(v) / b) / 2
        return np.where(v < 0, v / b - math.log(2), np.log1p(-np.where(v < 0, 0, half)))

    return Law(
        f"rng.laplace(scale={b!r})",
        lambda v: -np.abs(v) / b - math.log(2 * b),
        log_cdf,
        lambda v: log_cdf(-v),
        -math.inf,
        math.inf,
        (0.0,),
        b,
    )


def gaussian(s: float) -> Law:
    return Law(
        f"rng.normal(scale={s!r})",
        lambda v: -((v / s) ** 2) / 2 - math.log(s * math.sqrt(2 * math.pi)),
        lambda v: special.log_ndtr(v / s),
        lambda v: special.log_ndtr(-v / s),
        -math.inf,
        math.inf,
        (0.0,),
        s,
    )


def exponential(b: float) -> Law:
    return Law(
        f"rng.exponential(scale={b!r})",
        lambda v: np.where(v >= 0, -v / b - math.log(b), -np.inf),
        lambda v: np.log(-np.expm1(-np.maximum(v, 0) / b)),
        lambda v: -np.maximum(v, 0) / b,
        0.0,
        math.inf,
        (0.0,),
        b,
    )


def gumbel(b: float) -> Law:
    def log_sf(v: Any) -> Any:
        inner = np.exp(-v / b)
        return np.where(inner < 1e-8, -v / b, np.log(-np.expm1(-inner)))

    return Law(
        f"rng.gumbel(scale={b!r})",
        lambda v: -v / b - np.exp(-v / b) - math.log(b),
        lambda v: -np.exp(-v / b),
        log_sf,
        -math.inf,
        math.inf,
        (0.0,),
        b,
    )


def uniform(low: float, high: float) -> Law:
    width = high - low
    return Law(
        f"rng.uniform({low!r}, {high!r})",
        lambda v: np.where((v >= low) & (v <= high), -math.log(width), -np.inf),
        lambda v: np.log(np.clip((v - low) / width, 0, 1)),
        lambda v: np.log(np.clip((high - v) / width, 0, 1)),
        low,
        high,
        (low, high),
        width,
    )


def any_law(source: random.Random) -> Law:
    size = source.choice((0.5, 1.0, 1.0, 2.0))
    return source.choice(
        (
            laplace(size),
            laplace(size),
            gaussian(size),
            gaussian(size),
            exponential(size),
            gumbel(size),
            uniform(-size, size),
            uniform(0.0, size),
        )
    )


# Functions -------------------------------------------------------------------------------------

Row = tuple[float, float, float]  # a·n0 + b·n1 + c


@dataclass(frozen=True)
class Case:
    """Where all `conditions` are at least 0 the output is `value`; with a coin's chance."""

    conditions: tuple[Row, ...]
    value: Row
    chance: float = 1.0


def _plus(a: Row, b: Row, factor: float = 1.0) -> Row:
    return (a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2])


_ZERO: Row = (0.0, 0.0, 0.0)


def _holds(row: Row) -> bool:
    """Whether the row can be at least 0: where no noise is in it, whether it is."""
    return row[:2] != (0, 0) or row[2] >= 0


@dataclass(frozen=True)
class Node:
    """A part of a function: its source, and its cases at an input."""

    code: str
    cases: Callable[[list[float]], list[Case]]


def number(value: float) -> Node:
    return Node(repr(value), lambda x: [Case((), (0.0, 0.0, value))])


def datum(i: int) -> Node:
    return Node(f"x[{i}]", lambda x: [Case((), (0.0, 0.0, x[i]))])


def noise(i: int) -> Node:
    row: Row = (1.0, 0.0, 0.0) if i == 0 else (0.0, 1.0, 0.0)
    return Node(f"n{i}", lambda x: [Case((), row)])


def added(a: Node, b: Node, factor: float = 1.0) -> Node:
    sign = "+" if factor == 1 else "-" if factor == -1 else f"+ {factor!r} *"

    def cases(x: list[float]) -> list[Case]:
        return [
            Case(p.conditions + q.conditions, _plus(p.value, q.value, factor))
            for p, q in itertools.product(a.cases(x), b.cases(x))
        ]

    return Node(f"({a.code} {sign} {b.code})", cases)


def greater(a: Node, b: Node, largest: bool) -> Node:
    """max or min of two."""

    def cases(x: list[float]) -> list[Case]:
        found = []
        for p, q in itertools.product(a.cases(x), b.cases(x)):
            gap = _plus(p.value, q.value, -1.0)
            less = _plus(_ZERO, gap, -1.0)
            both = p.conditions + q.conditions
            one, two = (p.value, q.value) if largest else (q.value, p.value)
            if _holds(gap):
                found.append(Case((*both, gap), one))
            if not _holds(gap) or gap[:2] != (0, 0):
                found.append(Case((*both, less), two))
        return found

    return Node(f"{'max' if largest else 'min'}({a.code}, {b.code})", cases)


def absolute(a: Node) -> Node:
    def cases(x: list[float]) -> list[Case]:
        found = []
        for p in a.cases(x):
            other = _plus(_ZERO, p.value, -1.0)
            if _holds(p.value):
                found.append(Case((*p.conditions, p.value), p.value))
            if not _holds(p.value) or p.value[:2] != (0, 0):
                found.append(Case((*p.conditions, other), other))
        return found

    return Node(f"abs({a.code})", cases)


def chosen(a: Node, b: Node, c: Node, d: Node) -> Node:
    """a if b > c else d"""

    def cases(x: list[float]) -> list[Case]:
        found = []
        for p, q in itertools.product(b.cases(x), c.cases(x)):
            gap = _plus(p.value, q.value, -1.0)
            ways = [(gap, a.cases(x)), (_plus(_ZERO, gap, -1.0), d.cases(x))]
            if gap[:2] == (0, 0):
                ways = ways[:1] if gap[2] > 0 else ways[1:]
            for own, rows in ways:
                for r in rows:
                    found.append(Case((*p.conditions, *q.conditions, own, *r.conditions), r.value))
        return found

    return Node(f"({a.code} if {b.code} > {c.code} else {d.code})", cases)


def any_node(source: random.Random, depth: int, noises: int, data: int) -> Node:
    def leaf() -> Node:
        kind = source.random()
        if kind < 0.55:
            return noise(source.randrange(noises))
        if kind < 0.9:
            return datum(source.randrange(data))
        return number(source.choice((0.0, 0.5, 1.0, -1.0, 2.0)))

    if depth == 0:
        return leaf()

    def inner() -> Node:
        return any_node(source, depth - 1, noises, data)

    kind = source.random()
    if kind < 0.45:
        return added(inner(), inner(), source.choice((1.0, 1.0, 1.0, -1.0, 2.0, 0.5)))
    if kind < 0.6:
        return absolute(inner())
    if kind < 0.85:
        return greater(inner(), inner(), source.random() < 0.5)
    if kind < 0.93:
        return chosen(inner(), inner(), leaf(), inner())
    return leaf()


_ENDS = ("plain", "plain", "plain", "plain", "clip", "square", "cells", "coin", "sign")


@dataclass(frozen=True)
class SmallFunction:
    """A function as source, and its densities by the second way."""

    code: str
    laws: tuple[Law, ...]
    node: Node
    ending: str
    pair: tuple[list[float], list[float]]
    other: Node | None = None

    def cases(self, x: list[float]) -> list[Case]:
        """Those of the number before a square, and of whole numbers for cells and truths."""
        found = [c for c in self.node.cases(x) if _possible(c)]
        if self.ending == "coin":
            assert self.other is not None
            more = [c for c in self.other.cases(x) if _possible(c)]
            return [Case(c.conditions, c.value, 0.25) for c in found] + [
                Case(c.conditions, c.value, 0.75) for c in more
            ]
        if self.ending == "sign":
            return _cut_up(found, (-math.inf, 0.0, math.inf))
        if self.ending == "cells":
            return _cut_up(found, (-math.inf, -2.0, -1.0, 0.0, 1.0, 2.0, math.inf))
        if self.ending == "clip":
            return _clipped(found, -1.0, 1.0)
        return found


def _cut_up(cases: list[Case], cuts: tuple[float, ...]) -> list[Case]:
    found = []
    for case, (k, (low, high)) in itertools.product(cases, enumerate(itertools.pairwise(cuts))):
        extra = []
        if case.value[:2] == (0, 0):  # a cell has its lower end, but for what is greater than 0
            at = case.value[2]
            if (low < at <= high) if len(cuts) == 3 else (low <= at < high):
                found.append(Case(case.conditions, (0.0, 0.0, float(k)), case.chance))
            continue
        if math.isfinite(low):
            extra.append(_plus(case.value, (0.0, 0.0, -low)))
        if math.isfinite(high):
            extra.append(_plus((0.0, 0.0, high), case.value, -1.0))
        found.append(Case((*case.conditions, *extra), (0.0, 0.0, float(k)), case.chance))
    return found


def _clipped(cases: list[Case], low: float, high: float) -> list[Case]:
    found = []
    for case in cases:
        if case.value[:2] == (0, 0):
            at = min(max(case.value[2], low), high)
            found.append(Case(case.conditions, (0.0, 0.0, at), case.chance))
            continue
        below, above = _plus((0.0, 0.0, low), case.value, -1.0), _plus(case.value, (0, 0, -high))
        inside = _plus(_ZERO, below, -1.0), _plus(_ZERO, above, -1.0)
        found.append(Case((*case.conditions, below), (0.0, 0.0, low), case.chance))
        found.append(Case((*case.conditions, above), (0.0, 0.0, high), case.chance))
        found.append(Case((*case.conditions, *inside), case.value, case.chance))
    return found


def small_function(seed: int) -> SmallFunction:
    """The same function for the same seed."""
    source = random.Random(seed)
    noises, data = source.choice((1, 2, 2, 2)), source.choice((1, 2))
    laws = tuple(any_law(source) for _ in range(noises))
    depth = source.choice((1, 2, 2, 3))
    node = added(datum(0), any_node(source, depth, noises, data))
    if source.random() < 0.6:
        node = added(node, noise(source.randrange(noises)))
    if source.random() < 0.3:
        node = source.choice((absolute(node), greater(node, number(0.0), True)))
    ending = source.choice(_ENDS)
    lines = ["def f(x, rng):"]
    lines += [f"    n{i} = {law.call}" for i, law in enumerate(laws)]
    lines.append(f"    y = {node.code}")
    other = None
    if ending == "plain":
        lines.append("    return y")
    elif ending == "clip":
        lines.append("    return min(max(y, -1.0), 1.0)")
    elif ending == "square":
        lines.append("    return y * y")
    elif ending == "sign":
        lines.append("    return y > 0")
    elif ending == "cells":
        lines.append("    return int(min(max(y // 1, -3), 2))")
    else:
        other = added(datum(0), noise(source.randrange(noises)))
        lines += ["    if rng.random() < 0.25:", "        return y", f"    return {other.code}"]
    first = [source.choice((0.0, 1.0, -1.0, 0.5)) for _ in range(data)]
    second = list(first)
    second[source.randrange(data)] += source.choice((1.0, -1.0, 0.5))
    return SmallFunction("\n".join(lines) + "\n", laws, node, ending, (first, second), other)


# Densities -------------------------------------------------------------------------------------


def _possible(case: Case) -> bool:
    """Whether a case without noise in some condition can hold: constant conditions alone."""
    return all(a or b or c >= 0 for a, b, c in case.conditions)


def _interval(rows: list[tuple[float, float]]) -> tuple[float, float]:
    """Where all slope·t + offset are at least 0."""
    low, high = -math.inf, math.inf
    for slope, offset in rows:
        if slope > 0:
            low = max(low, -offset / slope)
        elif slope < 0:
            high = min(high, -offset / slope)
        elif offset < 0:
            return 0.0, 0.0
    return low, high


def log_integral(h: Callable[[Any], Any], low: float, high: float, kinks: list[float]) -> float:
    """log ∫ exp h for a concave h between kinks: from the top of each piece outwards."""
    if not low < high:
        return -math.inf
    cuts = [low, *sorted({k for k in kinks if low < k < high}), high]
    parts = [_piece(h, a, b) for a, b in itertools.pairwise(cuts)]
    return float(np.logaddexp.reduce(parts))


def _piece(h: Callable[[Any], Any], a: float, b: float) -> float:
    left = a if math.isfinite(a) else (b if math.isfinite(b) else 0.0) - 1e6
    right = b if math.isfinite(b) else (a if math.isfinite(a) else 0.0) + 1e6
    # Where both ends are -inf nothing tells the way to the top: the best of many points is near it.
    spans = 1e-9 * 1.5 ** np.arange(90)
    near = np.concatenate([[left, right], left + spans, right - spans, spans, -spans, [0.0]])
    near = np.unique(near[(near >= left) & (near <= right)])
    with np.errstate(all="ignore"):
        heights = np.where(np.isfinite(h(near)), h(near), -np.inf)
    best = int(np.argmax(heights))
    begin, end = near[max(best - 1, 0)], near[min(best + 1, len(near) - 1)]
    for _ in range(200):  # the top of a concave function
        one, two = begin + (end - begin) * 0.45, begin + (end - begin) * 0.55
        first, second = h(np.array([one, two]))
        if first > second or (first == second and not np.isfinite(first)):
            end = two
        else:
            begin = one
        if end - begin <= 1e-15 * max(abs(begin), abs(end), 1e-6):
            break
    top = (begin + end) / 2
    edges = [top]
    for bound, sign in ((left, -1.0), (right, 1.0)):
        reach = abs(bound - top)
        steps = 1e-9 * 1.7 ** np.arange(80)
        edges += [top + sign * s for s in steps[steps < reach]]
        edges.append(bound)
    cuts = np.array(sorted(set(edges)))
    width = np.diff(cuts)
    points = cuts[:-1, None] + width[:, None] * (1 + _NODES) / 2
    with np.errstate(all="ignore"):
        values = h(points.ravel()).reshape(points.shape) + np.log(width[:, None] * _WEIGHTS / 2)
    values = values[np.isfinite(values)]
    return float(np.logaddexp.reduce(values)) if len(values) else -math.inf


@dataclass(frozen=True)
class SecondWay:
    """Log densities and chances of the outputs of a small function at one input."""

    laws: tuple[Law, ...]
    cases: tuple[Case, ...]

    def atoms(self) -> dict[float, float]:
        """The log chances of single numbers."""
        found: dict[float, float] = {}
        for case in self.cases:
            if case.value[0] == case.value[1] == 0:
                value = self._chance(case)
                before = found.get(case.value[2], -math.inf)
                found[case.value[2]] = float(np.logaddexp(before, value))
        return {v: p for v, p in found.items() if p > -math.inf}

    def log_density(self, y: float) -> float:
        parts = [self._density(case, y) for case in self.cases]
        return float(np.logaddexp.reduce([-math.inf, *parts]))

    def corners(self) -> Iterator[float]:
        """Outputs at which something may change: where two edges of a case meet."""
        for case in self.cases:
            a, b, _ = case.value
            if a == b == 0:
                continue
            edges = [*case.conditions]
            for i, law in enumerate(self.laws):
                unit = (1.0, 0.0) if i == 0 else (0.0, 1.0)
                edges += [(*unit, -k) for k in law.kinks]
            for one, two in itertools.combinations(edges, 2):
                found = np.linalg.det(np.array([one[:2], two[:2]]))
                if abs(found) > 1e-9:
                    place = np.linalg.solve([one[:2], two[:2]], [-one[2], -two[2]])
                    yield float(a * place[0] + b * place[1] + case.value[2])
            for one in edges:
                if len(self.laws) == 1 and one[0]:
                    yield float(a * -one[2] / one[0] + case.value[2])

    def _density(self, case: Case, y: float) -> float:
        a, b, c = case.value
        log = math.log(case.chance)
        if a == b == 0:
            return -math.inf
        if len(self.laws) == 1:
            place = (y - c) / a
            if any(p * place + r < 0 for p, _, r in case.conditions):
                return -math.inf
            with np.errstate(all="ignore"):
                return log + float(self.laws[0].log_density(np.array(place))) - math.log(abs(a))
        one, two = self.laws
        if b == 0:  # the first noise is known: the second is free
            place = (y - c) / a
            rows = [(q, p * place + r) for p, q, r in case.conditions]
            low, high = _interval(rows)
            if not low < high:
                return -math.inf
            with np.errstate(all="ignore"):
                own = float(one.log_density(np.array(place)))
            return log + own - math.log(abs(a)) + _log_mass(two, low, high)
        # n1 = (y - c - a·n0)/b
        slope, offset = -a / b, (y - c) / b
        rows = [(p + q * slope, r + q * offset) for p, q, r in case.conditions]
        low, high = _interval(rows)
        kinks = list(one.kinks)
        if slope:
            kinks += [(k - offset) / slope for k in two.kinks]
            ends = sorted((end - offset) / slope for end in (two.low, two.high))
            low, high = max(low, ends[0]), min(high, ends[1])
        elif not two.low <= offset <= two.high:
            return -math.inf
        low, high = max(low, one.low), min(high, one.high)

        def integrand(t: Any) -> Any:
            with np.errstate(all="ignore"):
                return one.log_density(t) + two.log_density(slope * t + offset)

        return log + log_integral(integrand, low, high, kinks) - math.log(abs(b))

    def _chance(self, case: Case) -> float:
        log = math.log(case.chance)
        if len(self.laws) == 1:
            low, high = _interval([(p, r) for p, _, r in case.conditions])
            return log + _log_mass(self.laws[0], low, high) if low < high else -math.inf
        one, two = self.laws
        free = [(p, r) for p, q, r in case.conditions if not q]
        low, high = _interval(free)
        low, high = max(low, one.low), min(high, one.high)
        tied = [(p, q, r) for p, q, r in case.conditions if q]
        lines = [(-p / q, -r / q) for p, q, r in tied]
        floors = [line for line, (_, q, _) in zip(lines, tied, strict=True) if q > 0]
        ceilings = [line for line, (_, q, _) in zip(lines, tied, strict=True) if q < 0]
        kinks = [*one.kinks]
        for slope, offset in lines:
            kinks += [(k - offset) / slope for k in two.kinks] if slope else []
        for (s, o), (t, w) in itertools.combinations(lines, 2):
            kinks += [(w - o) / (s - t)] if s != t else []

        def integrand(t: Any) -> Any:
            with np.errstate(all="ignore"):
                bottom, top = np.full(t.shape, -np.inf), np.full(t.shape, np.inf)
                for s, o in floors:
                    bottom = np.maximum(bottom, s * t + o)
                for s, o in ceilings:
                    top = np.minimum(top, s * t + o)
                return one.log_density(t) + _log_masses(two, bottom, top)

        return log + log_integral(integrand, low, high, kinks)


def _log_mass(law: Law, low: float, high: float) -> float:
    return float(_log_masses(law, np.array([low]), np.array([high]))[0])


def _log_masses(law: Law, low: Any, high: Any) -> Any:
    """log P(low < X < high), subtracted on the side where both are small."""
    with np.errstate(all="ignore"):
        left, right = law.log_cdf(high), law.log_cdf(low)
        below = np.where(right > -np.inf, left + np.log(-np.expm1(right - left)), left)
        left, right = law.log_sf(low), law.log_sf(high)
        above = np.where(right > -np.inf, left + np.log(-np.expm1(right - left)), left)
        found = np.where(law.log_cdf(high) < law.log_sf(low), below, above)
    return np.where(high > low, np.where(np.isnan(found), -np.inf, found), -np.inf)


# Losses ----------------------------------------------------------------------------------------

_SLOWEST = 0.3  # an infinite loss grows by more when the distance doubles: by log 2 / 2 at least
_ENDLESS = 1e10  # a loss that only e^e^u reaches
_DEEPEST = 1e13  # logs beyond it have no digits left after the point


@dataclass(frozen=True)
class SeenLoss:
    """The largest log-ratio of one direction that was seen, and what makes it infinite."""

    value: float
    at: float
    infinite: str = ""
    limit: float = -math.inf  # what it goes to far out, if it goes there like 1/u


def seen_losses(function: SmallFunction) -> tuple[SeenLoss, SeenLoss]:
    """Both directions' largest losses, over atoms, a net of outputs, and places far out."""
    ways = [SecondWay(function.laws, tuple(function.cases(x))) for x in function.pair]
    folded = function.ending == "square"

    def logs(y: float) -> tuple[float, float]:
        if folded and y <= 0:
            return -math.inf, -math.inf
        found = [
            float(np.logaddexp(w.log_density(y), w.log_density(-y))) if folded else w.log_density(y)
            for w in ways
        ]
        return found[0], found[1]

    atoms = [_folded(w.atoms()) if folded else w.atoms() for w in ways]
    corners = sorted({round(c, 9) for w in ways for c in w.corners()} | {0.0})
    if folded:
        corners = sorted({abs(c) for c in corners} | {0.0})
    net = _net(corners)
    table = {y: logs(y) for y in net}
    return _seen(table, atoms, corners, logs, 0), _seen(table, atoms, corners, logs, 1)


def _folded(atoms: dict[float, float]) -> dict[float, float]:
    found: dict[float, float] = {}
    for value, log in atoms.items():
        found[abs(value)] = float(np.logaddexp(found.get(abs(value), -math.inf), log))
    return found


_NEAR = (1e-3, 1e-5, 1e-7)
_POWERS = np.arange(-3, 13)


def _net(corners: list[float]) -> list[float]:
    found = {c + s * d for c in corners for d in _NEAR for s in (-1.0, 1.0)}
    for a, b in itertools.pairwise(corners):
        found |= {a + (b - a) * t for t in (0.06, 0.2, 0.35, 0.5, 0.65, 0.8, 0.94)}
    found |= {corners[0] - 2.0**k for k in _POWERS} | {corners[-1] + 2.0**k for k in _POWERS}
    return sorted(found)


def _seen(
    table: dict[float, tuple[float, float]],
    atoms: list[dict[float, float]],
    corners: list[float],
    logs: Callable[[float], tuple[float, float]],
    side: int,
) -> SeenLoss:
    mine, theirs = atoms if side == 0 else atoms[::-1]
    best = SeenLoss(-math.inf, math.nan)
    for value, log in mine.items():
        if value not in theirs:
            return SeenLoss(math.inf, value, "an atom of one side")
        best = max(best, SeenLoss(log - theirs[value], value), key=lambda s: s.value)

    def loss(y: float) -> float:
        p, q = table[y] if y in table else logs(y)
        p, q = (p, q) if side == 0 else (q, p)
        if p == -math.inf or max(abs(p), abs(q) if q > -math.inf else 0.0) > _DEEPEST:
            return -math.inf
        return p - q

    for y in sorted(table):
        value = loss(y)
        if value == math.inf:
            return SeenLoss(math.inf, y, "an output of one side")
        best = max(best, SeenLoss(value, y), key=lambda s: s.value)
    limit = -math.inf
    for edge, sign in ((corners[0], -1.0), (corners[-1], 1.0)):
        found = [loss(edge + sign * 2.0**k) for k in _POWERS[-4:]]
        if all(b - a > _SLOWEST for a, b in itertools.pairwise(found)):
            return SeenLoss(best.value, sign * math.inf, "growth far out")
        if math.isfinite(found[-1]):
            first, second = 2 * found[-2] - found[-3], 2 * found[-1] - found[-2]
            limit = max(limit, found[-1], second, (4 * second - first) / 3)
    for corner, sign in itertools.product(corners, (-1.0, 1.0)):
        found = [loss(corner + sign * d) for d in _NEAR]
        if all(b - a > 2 for a, b in itertools.pairwise(found)):
            return SeenLoss(best.value, corner, "growth near a point")
    best = replace(_refined(best, sorted(table), loss), limit=limit)
    return replace(best, infinite="growth like an exponential") if best.value > _ENDLESS else best


def _refined(best: SeenLoss, net: list[float], loss: Callable[[float], float]) -> SeenLoss:
    """The largest loss between the neighbours of the best place."""
    if best.at not in net:
        return best
    place = net.index(best.at)
    low, high = net[max(place - 1, 0)], net[min(place + 1, len(net) - 1)]
    for _ in range(40):
        one, two = low + (high - low) * 0.4, low + (high - low) * 0.6
        first, second = loss(one), loss(two)
        best = max(best, SeenLoss(first, one), SeenLoss(second, two), key=lambda s: s.value)
        low, high = (low, two) if first > second else (one, high)
    return best


def disagreement(function: SmallFunction, loss: Any, tolerance: float = 1e-6) -> str:
    """What of an exact loss is false by the second way; "" if nothing is."""
    seen = seen_losses(function)
    for found, other in zip((loss.epsilon_forward, loss.epsilon_backward), seen, strict=True):
        slack = tolerance * (1 + abs(other.value)) if math.isfinite(other.value) else 0.0
        slack += loss.error if math.isfinite(loss.error) else 0.0
        value = max(other.value, 0.0)
        if found == math.inf and not other.infinite:
            return f"infinite, where {value:.9g} at {other.at:.6g} is the most that was seen"
        if found < math.inf and other.infinite and loss.complete and loss.epsilon < math.inf:
            return f"{found:.9g}, where it is infinite by {other.infinite} at {other.at:.6g}"
        if found < value - slack and loss.complete and loss.epsilon < math.inf:
            return f"{found:.9g}, where {value:.9g} is seen at {other.at:.6g}"
        if max(value, other.limit) + slack < found < math.inf and not other.infinite:
            return f"{found:.9g}, where {value:.9g} at {other.at:.6g} is the most that was seen"
    return ""
