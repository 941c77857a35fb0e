"""δ(ε), Rényi divergences and trade-offs of a pair of distributions cut into cells.

A measure is a sum over groups of products over blocks of sums over cells of products over factors.
Rényi integrals follow that structure directly. δ(ε) does where no product is left; products go
through the distribution of the privacy loss on a fine grid, rounded up and down, and the answer
lies between.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpest.errors import RefusedError
from dpest.exact.integration.quadrature import (
    TO_LEGENDRE,
    WEIGHTS,
    Floats,
    Ints,
    graded,
    integrate,
    nodes_of,
)
from dpest.exact.losses.pair_factors import Factor
from dpest.exact.losses.pairs import CellPair, GroupPair
from dpest.exact.losses.ratio import lattice_points
from dpest.exact.losses.tail_exponents import TailEnd, moment_diverges

if TYPE_CHECKING:
    from dpest.exact.losses.privacy_loss import GridLoss

_REACH = 60.0
_TRANSFORM = 1e-12  # what rounding of Fourier transforms may add to a δ


class LossMeasure:
    """Integrals of both densities of a comparison.

    Side 0 looks at p against q, side 1 at q against p. `parts` are independent parts of the
    output. `errors` are filled by what was computed: absolute for δ and trade-offs.
    """

    def __init__(self, parts: list[list[GroupPair]]) -> None:
        self.parts = parts
        self._known: dict[int, Excess] = {}
        self._losses: dict[tuple[int, bool], GridLoss] = {}
        self.errors: dict[str, float] = {"delta": 1e-12, "renyi": 1e-12, "tradeoff": 1e-11}

    @functools.cached_property
    def _simple(self) -> list[CellPair] | None:
        """The cells, if the measure is a plain sum of cells with at most one real coordinate."""
        if len(self.parts) != 1:
            return None
        cells = []
        for group in self.parts[0]:
            if len(group.blocks) != 1:
                return None
            cells += group.blocks[0].cells
        if any(len(c.factors) > 1 or len(c.cell.coordinates) > 1 for c in cells):
            return None
        return cells

    @functools.cached_property
    def _constants(self) -> tuple[Floats, Floats]:
        assert self._simple is not None
        table = np.array([c.log_constant for c in self._simple if c.is_constant])
        table = table.reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def delta(self, epsilon: float, side: int) -> float:
        """∫ (p - e^ε q)₊, p being the side's density."""
        if self._simple is None:
            return self._delta_by_grid(epsilon, side)
        log_p, log_q = self._constants if side == 0 else self._constants[::-1]
        with np.errstate(over="ignore"):
            total = math.fsum(np.maximum(np.exp(log_p) - np.exp(epsilon + log_q), 0.0))
        for cell in self._simple:
            if not cell.is_constant:
                p, q = cell.log_constant if side == 0 else cell.log_constant[::-1]
                if p > -math.inf:
                    total += math.exp(p) * self._excess(cell).above(epsilon + q - p, side)
        return min(max(total, 0.0), 1.0)

    def _excess(self, cell: CellPair) -> Excess:
        found = self._known.get(id(cell))
        if found is None:
            (factor,) = cell.factors
            found = self._known[id(cell)] = Excess(factor)
        return found

    def escape(self, side: int) -> float:
        """The mass of outputs that are impossible on the other side: δ(∞)."""
        return self.delta(700.0, side)

    def _delta_by_grid(self, epsilon: float, side: int) -> float:
        low, high = self.bracket(epsilon, side)
        self.errors["delta"] = max(self.errors["delta"], (high - low) / 2)
        return (low + high) / 2

    def delta_below(self, epsilon: float, side: int) -> float:
        """The same from below, where losses were laid on a grid and convolved."""
        if self._simple is not None:
            return self.delta(epsilon, side)
        return max(0.0, self._loss(side, False).delta(epsilon) - _TRANSFORM)

    def bracket(self, epsilon: float, side: int) -> tuple[float, float]:
        """δ(ε) from below and from above."""
        return self._loss(side, False).delta(epsilon), self._loss(side, True).delta(epsilon)

    def _loss(self, side: int, pessimistic: bool) -> GridLoss:
        from dpest.exact.losses.privacy_loss import loss_distribution

        found = self._losses.get((side, pessimistic))
        if found is None:
            found = loss_distribution(self.parts, side, pessimistic=pessimistic)
            self._losses[side, pessimistic] = found
        return found

    def renyi(self, alpha: float, side: int) -> float:
        """The Rényi divergence of order alpha of the side's density from the other."""
        if alpha == 1:
            return max(0.0, self._relative_entropy(side))
        total = 0.0
        for part in self.parts:
            total += _log_sum([self._log_moment(g, alpha, side) for g in part])
        if total == -math.inf:
            return math.inf if alpha < 1 else 0.0
        return max(0.0, total / (alpha - 1))

    def _log_moment(self, group: GroupPair, alpha: float, side: int) -> float:
        """log ∫ p^α q^(1-α) over the group."""
        return math.fsum(
            _log_sum([_log_moment_of_cell(c, alpha, side) for c in block.cells])
            for block in group.blocks
        )

    def _relative_entropy(self, side: int) -> float:
        # The derivative of the log-moments at order 1, from both sides: fourth order in the step.
        steps = np.array([1e-3, 2e-3])
        values = []
        for h in steps:
            up = sum(
                _log_sum([self._log_moment(g, 1 + h, side) for g in part]) for part in self.parts
            )
            down = sum(
                _log_sum([self._log_moment(g, 1 - h, side) for g in part]) for part in self.parts
            )
            values.append((up - down) / (2 * h))
        self.errors["renyi"] = max(self.errors["renyi"], 1e-9)
        return float((4 * values[0] - values[1]) / 3)

    def tradeoff(self, alpha: float, side: int) -> float:
        """The least type II error at level alpha of a test of the side's input against the other.

        sup over λ = e^ε of 1 - ∫(q - λp)₊ - λα, which is concave in λ.
        """
        best = max(0.0, 1 - alpha - self.delta(0.0, 1 - side))
        if alpha == 0:
            # No false alarm is allowed: only outputs that are impossible under the null count.
            return max(best, 1 - self.delta(60.0, 1 - side))
        low, high = -40.0, 40.0
        golden = (math.sqrt(5) - 1) / 2

        def value(epsilon: float) -> float:
            return 1 - self.delta(epsilon, 1 - side) - math.exp(epsilon) * alpha

        # Concave in λ: in ε = log λ it is still unimodal.
        high = min(high, math.log(1 / alpha) + 1e-9)
        a, b = high - golden * (high - low), low + golden * (high - low)
        fa, fb = value(a), value(b)
        for _ in range(80):
            if fa < fb:
                low, a, fa = a, b, fb
                b = low + golden * (high - low)
                fb = value(b)
            else:
                high, b, fb = b, a, fa
                a = high - golden * (high - low)
                fa = value(a)
            if high - low < 1e-9:
                break
        return min(1 - alpha, max(best, fa, fb, 0.0))


def _log_sum(values: list[float]) -> float:
    return float(np.logaddexp.reduce(np.array(values))) if values else -math.inf


def log_integral(factor: Factor, log_integrand: Callable[[Floats, Floats], Floats]) -> float:
    """log ∫ exp(f(log p, log q)) over a factor's only coordinate (or its lattice)."""
    (coordinate,) = factor.coordinates
    kinks = factor.kinks() or [0.0]
    if coordinate.lattice:
        offsets = [float(o) for o in coordinate.offsets]
        points = lattice_points(offsets, float(coordinate.step), kinks, factor.widest)
        log_p, log_q = factor.pair(points)
        return float(np.logaddexp.reduce(log_integrand(log_p, log_q)))
    low, high = factor.window(_REACH)
    breaks = np.array(sorted({low, *kinks, high}))

    def function(x: Floats, _: Ints) -> Floats:
        log_p, log_q = factor.pair(x)
        values = log_integrand(log_p, log_q)
        if (values == np.inf).any():
            raise OverflowError
        return values[None, :]

    panels = graded(breaks[None, :], np.array([2 * factor.scale]))
    try:
        return float(integrate(function, panels, 1).log_total[0, 0])
    except OverflowError:  # mass where the other side has none
        return math.inf


class Excess:
    """∫ (p - e^level·q)₊ of one factor for many levels: both densities are evaluated once.

    On panels that the ratio doesn't cross, the nodes give the answer; those that it crosses are
    cut at the roots of its Legendre series, where the integrand vanishes anyway.
    """

    def __init__(self, factor: Factor) -> None:
        self._factor = factor
        (coordinate,) = factor.coordinates
        kinks = factor.kinks() or [0.0]
        self._lattice = coordinate.lattice
        if self._lattice:
            offsets = [float(o) for o in coordinate.offsets]
            points = lattice_points(offsets, float(coordinate.step), kinks, factor.widest)
            self._logs = factor.pair(points)
            return
        low, high = factor.window(_REACH)
        panels = graded(np.array([sorted({low, *kinks, high})]), np.array([2 * factor.scale]))
        found = integrate(
            lambda x, _: np.stack(factor.pair(x)),
            panels,
            1,
            interpolate=True,
            finest=1e-13 * factor.scale,
        )
        self._starts, self._ends = found.starts, found.ends
        self._logs = (found.log_values[0], found.log_values[1])

    def above(self, level: float, side: int) -> float:
        """The integral, p being the side's density."""
        mine, theirs = self._logs if side == 0 else self._logs[::-1]
        values = _positive(mine, theirs, level)
        if self._lattice:
            return float(values.sum())
        with np.errstate(invalid="ignore"):
            ratio = mine - theirs
        over = ratio > level
        crossed = over.any(axis=1) & ~over.all(axis=1)
        half = (self._ends - self._starts) / 2
        total = float(((values @ WEIGHTS) * half)[~crossed].sum())
        if crossed.any():
            starts, ends = self._cut(np.flatnonzero(crossed), ratio - level)
            log_p, log_q = self._factor.pair(nodes_of(starts, ends).ravel())
            mine, theirs = (log_p, log_q) if side == 0 else (log_q, log_p)
            parts = _positive(mine, theirs, level).reshape(len(starts), -1)
            total += float(((parts @ WEIGHTS) * (ends - starts) / 2).sum())
        return total

    def _cut(self, panels: Ints, excess: Floats) -> tuple[Floats, Floats]:
        """The panels in parts on which the ratio stays on one side of the level."""
        starts, ends = [], []
        for i in panels:
            a, b = self._starts[i], self._ends[i]
            if np.isfinite(excess[i]).all():
                roots = np.polynomial.legendre.legroots(TO_LEGENDRE @ excess[i])
                inside = roots.real[(np.abs(roots.imag) < 1e-6) & (np.abs(roots.real) < 1)]
                places = a + (b - a) * (1 + np.sort(inside)) / 2
            else:
                places = np.linspace(a, b, 65)[1:-1]
            starts += [a, *places]
            ends += [*places, b]
        return np.array(starts), np.array(ends)


def _positive(mine: Floats, theirs: Floats, level: float) -> Floats:
    """(p - e^level·q)₊ from the logarithms; p where the other side has nothing."""
    with np.errstate(invalid="ignore", over="ignore"):
        gap = level + theirs - mine
        value = np.exp(mine) * -np.expm1(np.minimum(gap, 0.0))
    return np.where(mine > -np.inf, value, 0.0)


def _log_moment_of_cell(cell: CellPair, alpha: float, side: int) -> float:
    p, q = cell.log_constant if side == 0 else cell.log_constant[::-1]
    if p == -math.inf:
        return -math.inf
    if q == -math.inf:
        return math.inf if alpha > 1 else -math.inf
    total = alpha * p + (1 - alpha) * q
    for factor in cell.factors:
        if len(factor.coordinates) > 1:
            raise RefusedError(
                f"{len(factor.coordinates)} released numbers hang together: only ε is computed"
            )
        if alpha > 1 and _diverges(factor, alpha, side):
            return math.inf

        def moment(log_p: Floats, log_q: Floats) -> Floats:
            mine, theirs = (log_p, log_q) if side == 0 else (log_q, log_p)
            with np.errstate(invalid="ignore"):
                value = alpha * mine + (1 - alpha) * theirs
            none = mine == -np.inf
            return np.where(none, -np.inf, np.where(np.isnan(value), np.inf, value))

        total += log_integral(factor, moment)
    return total


def _diverges(factor: Factor, alpha: float, side: int) -> bool:
    """Whether ∫ p^α q^(1-α) is infinite by the tails, for α > 1; refused if that is not known.

    Where p/q is bounded it is not: the integrand is p times a power of p/q.
    """
    most = factor.extremes()[side]
    if math.isfinite(most.value) and most.how != "growing":
        return False
    (symbol,) = factor.symbols
    if factor.pieces is not None and not factor.coordinates[0].lattice:
        p, q = factor.pieces if side == 0 else factor.pieces[::-1]
        ends = (TailEnd(symbol, Fraction(way)) for way in (-1, 1))
        if any(moment_diverges(p, q, alpha, end) for end in ends):
            return True
    if factor.heavy and most.how != "support":
        raise RefusedError("a Rényi divergence of heavy tails whose ratio is not bounded")
    return False


__all__ = ["Excess", "LossMeasure", "log_integral"]
