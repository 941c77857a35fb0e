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

import numpy as np

from dpest.distributions.pairs import CellPair, Factor, GroupPair
from dpest.distributions.quadrature import Floats, Ints, graded, integrate
from dpest.distributions.ratio import lattice_points
from dpest.errors import RefusedError

_REACH = 60.0


class LossMeasure:
    """Integrals of both densities of a comparison.

    Side 0 looks at p against q, side 1 at q against p. `parts` are independent parts of the
    output. `errors` are filled by what was computed: absolute for δ and trade-offs.
    """

    def __init__(self, parts: list[list[GroupPair]]) -> None:
        self.parts = parts
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
                total += _delta_of_factor(cell, epsilon, side)
        return min(max(total, 0.0), 1.0)

    def escape(self, side: int) -> float:
        """The mass of outputs that are impossible on the other side: δ(∞)."""
        return self.delta(700.0, side)

    def _delta_by_grid(self, epsilon: float, side: int) -> float:
        low, high = self.bracket(epsilon, side)
        self.errors["delta"] = max(self.errors["delta"], (high - low) / 2)
        return (low + high) / 2

    def bracket(self, epsilon: float, side: int) -> tuple[float, float]:
        """δ(ε) from below and from above."""
        from dpest.distributions.privacy_loss import loss_distribution

        return (
            loss_distribution(self.parts, side, pessimistic=False).delta(epsilon),
            loss_distribution(self.parts, side, pessimistic=True).delta(epsilon),
        )

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


def log_integral(
    factor: Factor, log_integrand: Callable[[Floats, Floats], Floats], extra: Floats | None = None
) -> float:
    """log ∫ exp(f(log p, log q)) over a factor's only coordinate (or its lattice)."""
    (coordinate,) = factor.coordinates
    kinks = factor.kinks() or [0.0]
    if coordinate.lattice:
        offsets = [float(o) for o in coordinate.offsets]
        points = lattice_points(offsets, float(coordinate.step), kinks, factor.widest)
        log_p, log_q = factor.pair(points)
        return float(np.logaddexp.reduce(log_integrand(log_p, log_q)))
    low, high = kinks[0] - _REACH * factor.widest, kinks[-1] + _REACH * factor.widest
    breaks = np.array(sorted({low, *kinks, *(extra if extra is not None else ()), high}))

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


def crossings(factor: Factor, level: float, side: int) -> Floats:
    """Where the log-ratio of the side's density to the other crosses a level."""
    kinks = factor.kinks() or [0.0]
    low, high = kinks[0] - _REACH * factor.widest, kinks[-1] + _REACH * factor.widest
    starts, ends, _ = graded(np.array([[low, *kinks, high]]), np.array([factor.scale / 2]))
    grid = np.unique(np.concatenate([starts + (ends - starts) * f for f in (0.0, 0.25, 0.5, 0.75)]))
    grid = np.append(grid, high)

    def excess(x: Floats) -> Floats:
        log_p, log_q = factor.pair(x)
        with np.errstate(invalid="ignore"):
            ratio = log_p - log_q if side == 0 else log_q - log_p
        return np.where(np.isnan(ratio), -1.0, np.clip(ratio - level, -1e300, 1e300))

    values = excess(grid)
    change = np.flatnonzero((values[:-1] > 0) != (values[1:] > 0))
    a, b = grid[change], grid[change + 1]
    fa = values[change]
    for _ in range(60):
        middle = (a + b) / 2
        fm = excess(middle) if len(middle) else middle
        same = (fm > 0) == (fa > 0)
        a, b = np.where(same, middle, a), np.where(same, b, middle)
    return np.concatenate([a, b])


def _delta_of_factor(cell: CellPair, epsilon: float, side: int) -> float:
    p, q = cell.log_constant if side == 0 else cell.log_constant[::-1]
    if p == -math.inf:
        return 0.0
    (factor,) = cell.factors
    own = (lambda a, b: a) if side == 0 else (lambda a, b: b)
    other = (lambda a, b: b) if side == 0 else (lambda a, b: a)
    if q == -math.inf:
        return math.exp(p + log_integral(factor, own))
    level = epsilon + q - p
    lattice = factor.coordinates[0].lattice
    roots = None if lattice else crossings(factor, level, side)

    def positive(log_p: Floats, log_q: Floats) -> Floats:
        mine, theirs = own(log_p, log_q), other(log_p, log_q)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gap = level - (mine - theirs)
            value = mine + np.log(-np.expm1(np.minimum(gap, 0.0)))
        return np.where((mine > -np.inf) & ~np.isnan(value), value, -np.inf)

    return math.exp(p + log_integral(factor, positive, roots))


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

        def moment(log_p: Floats, log_q: Floats) -> Floats:
            mine, theirs = (log_p, log_q) if side == 0 else (log_q, log_p)
            with np.errstate(invalid="ignore"):
                value = alpha * mine + (1 - alpha) * theirs
            none = mine == -np.inf
            return np.where(none, -np.inf, np.where(np.isnan(value), np.inf, value))

        total += log_integral(factor, moment)
    return total


__all__ = ["LossMeasure", "crossings", "log_integral"]
