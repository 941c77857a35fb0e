"""The cheapest shift of the noise that keeps a release, for all differences of the data at once.

A region of the noise releases one thing. Running on q + d instead of q, shift each noise h to
h + s(d), with s affine in d. If every condition of the region changes by at least 0 and every
released real by exactly 0, the region is carried into itself with the same release. A translation
is injective with Jacobian 1, so the densities differ by at most e^cost: the Laplace rule of apRHL,
once per draw. The least cost is a linear program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, get_args

from dpest.geometry.linear import Symbol
from dpest.proofs.alignments.linear_program import (
    CONSTANT,
    Affine,
    InfeasibleError,
    LinearProgram,
    combine,
    constant,
)

Face = Mapping[Symbol, tuple[Fraction, Fraction]]
"""A box of differences: an interval for each symbol of the data; absent symbols don't move."""

_CLOSE = 1e-9


Kind = Literal["absolute", "upward", "square"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class AlignedNoise:
    """One noise, and what shifting it by s costs in log-density.

    `absolute`: rate·|s|. `upward`: rate·s, and s ≥ 0 is needed (exponential, because of its
    support; Gumbel, because of its left tail). `square`: rate·s² per unit of Rényi order.
    """

    kind: Kind
    rate: Fraction
    integral: bool = False
    family: str = ""
    attained: bool = True
    """Whether that is what a shift costs, not only a bound on it."""


@dataclass(frozen=True)
class Change:
    """How an expression moves: Σ coefficient·shift + Σ coefficient·difference + constant."""

    noise: Mapping[Symbol, Fraction]
    data: Mapping[Symbol, Fraction]
    constant: Fraction = Fraction(0)

    def at(self, point: Mapping[Symbol, Fraction]) -> Fraction:
        moved = (c * point.get(s, Fraction(0)) for s, c in self.data.items())
        return sum(moved, self.constant)


@dataclass(frozen=True)
class Problem:
    """What a region asks of its shift: `keep` must not decrease, `pin` must not change."""

    draws: Mapping[Symbol, AlignedNoise]
    keep: Sequence[Change]
    pin: Sequence[Change]
    whole: frozenset[Symbol] = frozenset()
    """The data whose differences are integers."""

    @property
    def integral(self) -> bool:
        return any(draw.integral for draw in self.draws.values())

    def data_symbols(self) -> set[Symbol]:
        return {s for change in (*self.keep, *self.pin) for s in change.data}


@dataclass(frozen=True)
class AffineShift:
    """constant + Σ slope·difference."""

    constant: Fraction
    slopes: Mapping[Symbol, Fraction] = field(default_factory=dict)

    @property
    def is_zero(self) -> bool:
        return not self.constant and not any(self.slopes.values())


@dataclass(frozen=True)
class Alignment:
    """Shifts, bounds on their sizes, and their cost on one face; `corner` is where it is worst."""

    face: Face
    cost: Fraction
    shifts: Mapping[Symbol, AffineShift]
    bounds: Mapping[Symbol, AffineShift]
    corner: Mapping[Symbol, Fraction]


@dataclass(frozen=True)
class Expression:
    """An affine function of the differences whose coefficients are expressions of the program."""

    constant: Affine
    slopes: dict[Symbol, Affine]

    def plus(self, other: Expression, factor: Fraction | int = 1) -> Expression:
        slopes = dict(self.slopes)
        for symbol, slope in other.slopes.items():
            slopes[symbol] = combine((1, slopes.get(symbol, {})), (factor, slope))
        return Expression(combine((1, self.constant), (factor, other.constant)), slopes)


def align(problem: Problem, face: Face) -> Alignment:
    """The cheapest shift that is affine in the difference, on a whole face."""
    program = LinearProgram()
    free = {s for s, (low, high) in face.items() if low != high}
    may_depend = _dependencies(problem, free)
    shifts: dict[Symbol, Expression] = {}
    bounds: dict[Symbol, Expression] = {}

    def unknown(symbol: Symbol, integral: bool) -> Expression:
        met = sorted(may_depend[symbol] & problem.whole if integral else may_depend[symbol])
        slopes = {j: program.variable(integral=integral) for j in met}
        return Expression(program.variable(integral=integral), slopes)

    for symbol, draw in problem.draws.items():
        shifts[symbol] = unknown(symbol, draw.integral)
        bounds[symbol] = unknown(symbol, False) if draw.kind == "absolute" else shifts[symbol]

    for change in problem.keep:
        _at_least_zero(program, _moved(change, shifts, face), face)
    for change in problem.pin:
        moved = _moved(change, shifts, face)
        for part in (moved.constant, *moved.slopes.values()):
            program.require_zero(part)
    epsilon = program.variable(0)
    left = Expression(epsilon, {})
    for symbol, draw in problem.draws.items():
        if draw.kind == "absolute":
            _at_least_zero(program, bounds[symbol].plus(shifts[symbol]), face)
            _at_least_zero(program, bounds[symbol].plus(shifts[symbol], -1), face)
        else:
            _at_least_zero(program, shifts[symbol], face)
        left = left.plus(bounds[symbol], -draw.rate)
    marks = _at_least_zero(program, left, face)
    solution = program.minimise(epsilon)

    def value(expression: Expression) -> AffineShift:
        slopes = {j: solution.at(slope) for j, slope in expression.slopes.items()}
        return AffineShift(solution.at(expression.constant), {j: v for j, v in slopes.items() if v})

    corner = {}
    for symbol, (low, high) in face.items():
        row = marks.get(symbol)
        at_low = row is None or (
            solution.inequality_multipliers[row] < solution.inequality_multipliers[row + 1]
        )
        corner[symbol] = low if at_low else high
    return Alignment(
        face,
        solution.at(epsilon),
        {s: value(e) for s, e in shifts.items()},
        {s: value(e) for s, e in bounds.items()},
        corner,
    )


def _dependencies(problem: Problem, free: set[Symbol]) -> dict[Symbol, set[Symbol]]:
    """The differences that a noise meets in some condition or release: the rest can't help it."""
    found: dict[Symbol, set[Symbol]] = {symbol: set() for symbol in problem.draws}
    for change in (*problem.keep, *problem.pin):
        met = free & change.data.keys()
        for symbol in change.noise:
            found[symbol] |= met
    return found


def _moved(change: Change, shifts: Mapping[Symbol, Expression], face: Face) -> Expression:
    result = Expression(constant(change.constant), {})
    for symbol, coefficient in change.noise.items():
        result = result.plus(shifts[symbol], coefficient)
    fixed = Fraction(0)
    slopes: dict[Symbol, Affine] = {}
    for symbol, coefficient in change.data.items():
        low, high = face.get(symbol, (Fraction(0), Fraction(0)))
        if low == high:
            fixed += coefficient * low
        else:
            slopes[symbol] = constant(coefficient)
    return result.plus(Expression(constant(fixed), slopes))


def _at_least_zero(program: LinearProgram, expression: Expression, face: Face) -> dict[Symbol, int]:
    """expression ≥ 0 on the whole face: each difference at its own worst end.

    Returns the first of the two rows of each difference, for its multipliers.
    """
    total = expression.constant
    marks = {}
    for symbol, slope in expression.slopes.items():
        low, high = face[symbol]
        if math.isinf(low) or math.isinf(high):
            program.require_zero(slope)
            continue
        worst = program.variable()
        marks[symbol] = program.require_non_negative(combine((low, slope), (-1, worst)))
        program.require_non_negative(combine((high, slope), (-1, worst)))
        total = combine((1, total), (1, worst))
    program.require_non_negative(total)
    return marks


@dataclass(frozen=True)
class PointCost:
    """The least cost at one difference, its slope in the difference, and the LP's multipliers."""

    cost: float
    slopes: Mapping[Symbol, float]
    keep: Sequence[float]
    pin: Sequence[float]


def cost_at(problem: Problem, point: Mapping[Symbol, Fraction]) -> PointCost:
    """The least cost at one difference; infinite where no shift exists."""
    program = LinearProgram()
    shifts = {}
    objective: Affine = {}
    for symbol, draw in problem.draws.items():
        if draw.kind == "absolute":
            shifts[symbol] = program.variable()
            size = program.variable(0)
            objective = combine((1, objective), (draw.rate, size))
        else:
            shifts[symbol] = program.variable(0)
            objective = combine((1, objective), (draw.rate, shifts[symbol]))
    sizes = iter([i for i in range(len(program.lower)) if program.lower[i] is not None])
    for change in problem.keep:
        program.require_non_negative(_at_point(change, shifts, point))
    for change in problem.pin:
        program.require_zero(_at_point(change, shifts, point))
    for symbol, draw in problem.draws.items():
        bound = {next(sizes): Fraction(1)}
        if draw.kind == "absolute":
            program.require_non_negative(combine((1, bound), (1, shifts[symbol])))
            program.require_non_negative(combine((1, bound), (-1, shifts[symbol])))
    try:
        solution = program.minimise(objective)
    except InfeasibleError:
        return PointCost(math.inf, {}, (), ())
    keep = [max(0.0, -y) for y in solution.inequality_multipliers[: len(problem.keep)]]
    pin = list(solution.equality_multipliers)
    slopes: dict[Symbol, float] = {}
    for changes, weights in ((problem.keep, keep), (problem.pin, pin)):
        for change, weight in zip(changes, weights, strict=True):
            if weight:
                for symbol, coefficient in change.data.items():
                    slopes[symbol] = slopes.get(symbol, 0.0) - weight * float(coefficient)
    return PointCost(float(solution.at(objective)), slopes, keep, pin)


Cost = Callable[[Problem, Mapping[Symbol, Fraction]], PointCost]
"""`cost_at`, or one that remembers."""


def _at_point(
    change: Change, shifts: Mapping[Symbol, Affine], point: Mapping[Symbol, Fraction]
) -> Affine:
    parts = [(c, shifts[s]) for s, c in change.noise.items()]
    return combine((1, constant(change.at(point))), *parts)


@dataclass(frozen=True)
class DualBound:
    """Multipliers that prove: at this difference no shift costs less than `value`.

    With weights y ≥ 0 on `keep` and z on `pin`, and |Σ y·a + z·e| ≤ rate for each draw, the cost
    is at least −(y·b + z·f)·d.
    """

    value: Fraction
    keep: tuple[Fraction, ...]
    pin: tuple[Fraction, ...]


def dual_bound(
    problem: Problem, point: Mapping[Symbol, Fraction], cost: Cost = cost_at
) -> DualBound | None:
    """The exact lower bound at a difference, from rounded multipliers; None if rounding fails."""
    found = cost(problem, point)
    if math.isinf(found.cost):
        return None
    for denominator in (5040, 10**6):
        keep = tuple(Fraction(y).limit_denominator(denominator) for y in found.keep)
        pin = tuple(Fraction(z).limit_denominator(denominator) for z in found.pin)
        if dual_feasible(problem, keep, pin):
            value = -sum(
                (
                    w * change.at(point)
                    for w, change in zip((*keep, *pin), (*problem.keep, *problem.pin), strict=True)
                ),
                Fraction(0),
            )
            return DualBound(value, keep, pin)
    return None


def dual_feasible(problem: Problem, keep: Sequence[Fraction], pin: Sequence[Fraction]) -> bool:
    if any(y < 0 for y in keep):
        return False
    total: dict[Symbol, Fraction] = {}
    for weight, change in zip((*keep, *pin), (*problem.keep, *problem.pin), strict=True):
        if weight:
            for symbol, coefficient in change.noise.items():
                total[symbol] = total.get(symbol, Fraction(0)) + weight * coefficient
    for symbol, draw in problem.draws.items():
        pull = total.get(symbol, Fraction(0))
        if pull > draw.rate or (draw.kind == "absolute" and -pull > draw.rate):
            return False
    return True


_MOST_POINTS = 41


def points(
    symbol: Symbol, ends: tuple[Fraction, Fraction], integral: bool, whole: frozenset[Symbol]
) -> list[Fraction]:
    """Where a range of differences may be split; nowhere if it is endless.

    At its ends, as the cost is convex: a mixture of differences is met by the mixture of shifts.
    A mixture of integer shifts is no integer, so that with integer noise every integer of the
    range is needed, and the data must differ by integers.
    """
    low, high = ends
    if not math.isfinite(high - low):
        return []
    if not integral or low == high:
        return sorted({low, high})
    if symbol not in whole or high - low > _MOST_POINTS:
        return []
    return [Fraction(v) for v in range(math.ceil(low), math.floor(high) + 1)]


def climb(
    problem: Problem, face: Face, start: Mapping[Symbol, Fraction]
) -> tuple[float, Mapping[Symbol, Fraction]]:
    """A corner of a face where the cost is locally greatest (the cost is convex)."""
    return climb_shared([problem], face, start)


def climb_shared(
    problems: Sequence[Problem],
    face: Face,
    start: Mapping[Symbol, Fraction],
    cost: Cost = cost_at,
) -> tuple[float, Mapping[Symbol, Fraction]]:
    """The same for several regions that share a release: the least of their costs counts."""
    best, where = -1.0, start
    point = start
    for _ in range(20):
        found = min((cost(p, point) for p in problems), key=lambda f: f.cost)
        if found.cost <= best + _CLOSE:
            break
        best, where = found.cost, point
        if math.isinf(best):
            break
        point = {
            s: max(ends, key=lambda v: float(v) * found.slopes.get(s, 0.0))
            for s, ends in face.items()
        }
    return best, where


def starts(
    face: Face, aligned: Iterable[Alignment], seed: int, tries: int
) -> list[Mapping[Symbol, Fraction]]:
    """Corners to climb from: both extreme ones, the worst of the alignments, some more."""
    import random

    found: list[Mapping[Symbol, Fraction]] = [
        {s: low for s, (low, _) in face.items()},
        {s: high for s, (_, high) in face.items()},
        *({s: a.corner.get(s, ends[0]) for s, ends in face.items()} for a in aligned),
    ]
    source = random.Random(seed)
    free = [s for s, (low, high) in face.items() if low != high]
    if len(free) > 1:
        found += [{s: source.choice(ends) for s, ends in face.items()} for _ in range(tries)]
    unique = {tuple(sorted(p.items())): p for p in found}
    return list(unique.values())


__all__ = ["CONSTANT", "AlignedNoise", "Alignment", "Change", "Face", "Problem", "align"]
