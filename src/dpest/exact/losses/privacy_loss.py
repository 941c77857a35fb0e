"""The distribution of the privacy loss on a grid, rounded pessimistically or optimistically.

Each factor's loss log p/q is put into grid cells: rounded up, it is a distribution that is at
least as revealing as the true one, rounded down, at most. Products convolve. The result composes,
here or in dp-accounting.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpest.errors import MissingExtraError, RefusedError
from dpest.exact.integration.quadrature import NODES, WEIGHTS, Floats, graded
from dpest.exact.losses.pair_factors import Factor
from dpest.exact.losses.pairs import BlockPair, CellPair, GroupPair
from dpest.exact.losses.ratio import lattice_points

_TARGET_CELLS = 200_000
_REACH = 45.0


@dataclass(frozen=True)
class GridLoss:
    """P(loss = step·(first + i)) = masses[i], and `infinite` for outputs the other side lacks.

    Masses are of the side's own distribution. Pessimistic: δ(ε) is never below the true one.
    """

    step: float
    first: int
    masses: Floats
    infinite: float
    pessimistic: bool

    @functools.cached_property
    def losses(self) -> Floats:
        """In rising order."""
        return self.step * (self.first + np.arange(len(self.masses), dtype=np.float64))

    def delta(self, epsilon: float) -> float:
        """δ(ε) of this distribution: ∫ (1 - e^(ε - loss))₊."""
        above = int(np.searchsorted(self.losses, epsilon, side="right"))
        gained = -np.expm1(epsilon - self.losses[above:])
        return float(min(1.0, self.infinite + np.dot(self.masses[above:], gained)))

    @property
    def total(self) -> float:
        return float(self.masses.sum()) + self.infinite

    def composed(self, other: GridLoss) -> GridLoss:
        """The loss of two independent releases."""
        if other.step != self.step or other.pessimistic != self.pessimistic:
            raise ValueError("distributions with another step or another rounding don't compose")
        from scipy.signal import fftconvolve

        masses = fftconvolve(self.masses, other.masses)
        # FFT leaves rounding of about 1e-17 of either sign; keep it on the safe side.
        floor = 1e-17 if self.pessimistic else 0.0
        masses = np.maximum(masses, floor)
        # Of parts of a distribution, too, whose masses don't add up to 1.
        mine, theirs = self.infinite, other.infinite
        infinite = mine * other.total + self.total * theirs - mine * theirs
        return GridLoss(self.step, self.first + other.first, masses, infinite, self.pessimistic)

    def _trimmed(self, mass: float = 1e-16) -> GridLoss:
        """Without tails of negligible mass: moved to where they hurt, or dropped, by rounding."""
        from_top = np.cumsum(self.masses[::-1])[::-1]
        from_bottom = np.cumsum(self.masses)
        kept = np.flatnonzero((from_top > mass) & (from_bottom > mass))
        if not len(kept):
            return self
        a, b = int(kept[0]), int(kept[-1]) + 1
        masses = self.masses[a:b].copy()
        infinite = self.infinite
        if self.pessimistic:
            infinite += float(self.masses[b:].sum())
            masses[0] += float(self.masses[:a].sum())
        return GridLoss(self.step, self.first + a, masses, infinite, self.pessimistic)

    def to_dp_accounting(self) -> Any:
        """The same as dp-accounting's PrivacyLossDistribution (one direction, both uses)."""
        try:
            from dp_accounting.pld import pld_pmf, privacy_loss_distribution
        except ImportError as error:
            raise MissingExtraError("accounting", "handing over to dp-accounting") from error
        trimmed = self._trimmed()
        kept = np.flatnonzero(trimmed.masses > 0)
        pmf = pld_pmf.create_pmf(
            {int(trimmed.first + i): float(trimmed.masses[i]) for i in kept},
            self.step,
            float(trimmed.infinite),
            self.pessimistic,
        )
        return privacy_loss_distribution.PrivacyLossDistribution(pmf)


def loss_distribution(
    parts: Sequence[Sequence[GroupPair]],
    side: int,
    *,
    pessimistic: bool = True,
    step: float | None = None,
) -> GridLoss:
    """The loss distribution of a comparison, for outputs drawn from one side.

    `step`: the grid; by default fine enough for about 1e-5 of the range of losses.
    """
    if step is None:
        step = _default_step(parts)
    total: GridLoss | None = None
    for part in parts:
        mine = _sum([_of_group(g, side, pessimistic, step) for g in part], step, pessimistic)
        total = mine if total is None else total.composed(mine)
    assert total is not None
    return total


def _default_step(parts: Sequence[Sequence[GroupPair]]) -> float:
    widest = 0.0
    for part in parts:
        for group in part:
            size = 0.0
            for block in group.blocks:
                forward, backward = block.extremes()
                values = [v.value for v in (forward, backward) if math.isfinite(v.value)]
                size += max(values, default=0.0) if len(values) == 2 else 40.0
            widest = max(widest, size)
    return max(widest, 1e-6) * 2 / _TARGET_CELLS


def _sum(parts: list[GridLoss], step: float, pessimistic: bool) -> GridLoss:
    first = min(p.first for p in parts)
    last = max(p.first + len(p.masses) for p in parts)
    masses = np.zeros(last - first)
    for p in parts:
        masses[p.first - first : p.first - first + len(p.masses)] += p.masses
    return GridLoss(step, first, masses, sum(p.infinite for p in parts), pessimistic)


def _of_group(group: GroupPair, side: int, pessimistic: bool, step: float) -> GridLoss:
    total: GridLoss | None = None
    for block in group.blocks:
        mine = _of_block(block, side, pessimistic, step)
        total = mine if total is None else total.composed(mine)
    assert total is not None
    return total


def _of_block(block: BlockPair, side: int, pessimistic: bool, step: float) -> GridLoss:
    return _sum([_of_cell(c, side, pessimistic, step) for c in block.cells], step, pessimistic)


def _of_cell(cell: CellPair, side: int, pessimistic: bool, step: float) -> GridLoss:
    p, q = cell.log_constant if side == 0 else cell.log_constant[::-1]
    constant_loss = np.array([p - q]) if p > -math.inf and q > -math.inf else np.array([math.inf])
    mass = np.array([math.exp(p)])
    if p == -math.inf:
        constant_loss, mass = np.array([0.0]), np.array([0.0])
    if len(cell.factors) == 1:  # shift before rounding: one rounding instead of two
        losses, masses = _of_factor(cell.factors[0], side)
        return _rounded(losses + constant_loss[0], masses * mass[0], step, pessimistic)
    total = _rounded(constant_loss, mass, step, pessimistic)
    for factor in cell.factors:
        total = total.composed(_rounded(*_of_factor(factor, side), step, pessimistic))
    return total


def _of_factor(factor: Factor, side: int) -> tuple[Floats, Floats]:
    """Losses and their masses, on quadrature nodes fine enough that rounding dominates."""
    if len(factor.coordinates) > 1:
        raise RefusedError(
            f"{len(factor.coordinates)} released numbers hang together: only ε is computed"
        )
    (coordinate,) = factor.coordinates
    kinks = factor.kinks() or [0.0]
    if coordinate.lattice:
        offsets = [float(o) for o in coordinate.offsets]
        x = lattice_points(offsets, float(coordinate.step), kinks, factor.widest)
        weights = np.ones(len(x))
    else:
        low, high = factor.window(_REACH)
        starts, ends, _ = graded(np.array([[low, *kinks, high]]), np.array([factor.scale / 4]))
        pieces = 64  # many narrow panels: the loss is nearly linear on each
        cuts = np.linspace(0, 1, pieces + 1)
        a = (starts[:, None] + (ends - starts)[:, None] * cuts[:-1]).ravel()
        b = (starts[:, None] + (ends - starts)[:, None] * cuts[1:]).ravel()
        half = (b - a)[:, None] / 2
        x = (a[:, None] + half * (1 + NODES)).ravel()
        weights = (half * WEIGHTS).ravel()
    log_p, log_q = factor.pair(x)
    mine, theirs = (log_p, log_q) if side == 0 else (log_q, log_p)
    with np.errstate(invalid="ignore"):
        losses = np.where(mine > -np.inf, mine - theirs, 0.0)
    return losses, np.exp(mine) * weights


def _rounded(losses: Floats, masses: Floats, step: float, pessimistic: bool) -> GridLoss:
    finite = np.isfinite(losses)
    infinite = float(masses[~finite].sum())
    losses, masses = losses[finite], masses[finite]
    keep = masses > 0
    losses, masses = losses[keep], masses[keep]
    if not len(losses):
        return GridLoss(step, 0, np.zeros(1), infinite, pessimistic)
    scaled = losses / step
    near = np.rint(scaled)
    exact = np.abs(scaled - near) < 1e-7
    up = np.where(exact, near, np.ceil(scaled))
    down = np.where(exact, near, np.floor(scaled))
    index = (up if pessimistic else down).astype(np.int64)
    limit = 50_000_000
    index = np.clip(index, -limit, limit)
    first = int(index.min())
    result = np.bincount(index - first, weights=masses).astype(np.float64)
    return GridLoss(step, first, result, infinite, pessimistic)
