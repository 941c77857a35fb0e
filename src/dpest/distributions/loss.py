"""The exact privacy loss between two inputs."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpest.distributions import divergences
from dpest.distributions.pairs import CellExtreme, CellPair, GroupPair, compare, quadrature_error
from dpest.distributions.witness import describe
from dpest.errors import DomainError
from dpest.evidence import Witness
from dpest.program.paths import Trace


@dataclass
class ExactLoss:
    """How well one output tells two inputs apart, computed from the paths.

    `epsilon_forward` is the supremum of log p/q (p: the first input's density), `epsilon_backward`
    of log q/p, `epsilon` their maximum. `error` estimates the numerical error of ε. `mode` is
    "rational" (finite sums of rationals), "discrete" (probabilities by closed forms and
    quadrature), or "analytic" (real outputs). `enclosure` contains the true ε where it was asked
    for and could be had.
    """

    x: Any
    x2: Any
    groups: list[GroupPair]
    mode: str
    epsilon_forward: float
    epsilon_backward: float
    witness: Witness
    error: float
    enclosure: tuple[float, float] | None = None
    leftover: float = 0.0
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def epsilon(self) -> float:
        return max(self.epsilon_forward, self.epsilon_backward)

    @functools.cached_property
    def _measure(self) -> divergences.LossMeasure:
        return divergences.LossMeasure(self.groups)

    def delta(self, epsilon: float) -> float:
        """The least δ with (ε, δ)-DP between the two inputs: both directions."""
        if math.isnan(epsilon):
            raise DomainError(f"{epsilon=}: must be a number")
        if epsilon == math.inf:
            return max(self._measure.escape(0), self._measure.escape(1))
        return max(self._measure.delta(epsilon, 0), self._measure.delta(epsilon, 1))

    def epsilon_at(self, delta: float) -> float:
        """The least ε ≥ 0 with (ε, δ)-DP between the two inputs."""
        if not 0 <= delta <= 1:
            raise DomainError(f"{delta=}: must be between 0 and 1")
        if delta == 0:
            return max(self.epsilon, 0.0)
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, 1.0
        while self.delta(high) > delta:
            low, high = high, 2 * high
            if high > 1e6:
                return math.inf
        if math.isfinite(self.epsilon):
            high = min(high, max(self.epsilon, low))
        for _ in range(200):
            middle = (low + high) / 2
            if high - low <= 1e-13 * max(1.0, high):
                break
            if self.delta(middle) > delta:
                low = middle
            else:
                high = middle
        return high

    def renyi(self, alpha: float) -> float:
        """The Rényi divergence of order alpha, the larger of both directions."""
        if not alpha > 0:
            raise DomainError(f"{alpha=}: the order must be positive")
        if alpha == math.inf:
            return self.epsilon
        return max(self._measure.renyi(alpha, 0), self._measure.renyi(alpha, 1))

    def tradeoff(self, alpha: float) -> float:
        """The least type II error of a test of the first input against the second at level alpha.

        It is the larger half of the privacy region's border: min over both directions.
        """
        if not 0 <= alpha <= 1:
            raise DomainError(f"{alpha=}: must be between 0 and 1")
        return min(self._measure.tradeoff(alpha, 0), self._measure.tradeoff(alpha, 1))

    @functools.cached_property
    def total_variation(self) -> float:
        return self.delta(0.0)

    @property
    def errors(self) -> dict[str, float]:
        """Error estimates: of ε, and of δ, Rényi and the trade-off (absolute)."""
        return {"epsilon": self.error, **self._measure.errors}

    def __str__(self) -> str:
        shown = "∞" if self.epsilon == math.inf else f"{self.epsilon:.12g}"
        text = f"ε = {shown} ({self.mode}), {self.witness.event}"
        if self.enclosure is not None:
            text += f", enclosed in [{self.enclosure[0]!r}, {self.enclosure[1]!r}]"
        return text


def _mode(cells: list[CellPair]) -> str:
    if any(not c.lattice for pair in cells for c in pair.cell.coordinates):
        return "analytic"
    exact = all(
        piece.exact is not None for pair in cells for pieces in pair.cell.pieces for piece in pieces
    )
    return "rational" if exact else "discrete"


def privacy_loss(first: Trace, second: Trace, *, certify: bool = False) -> ExactLoss:
    """The exact loss between the output distributions of two traces.

    Raises RefusedError, with the reason, where the noises are tied together in a way that needs
    more than two nested integrals. With `certify` the result carries an enclosure in ball
    arithmetic, where all integrals are one-dimensional.
    """
    groups = compare(first, second)
    best = [_direction(groups, 0), _direction(groups, 1)]
    side = 0 if best[0][0] >= best[1][0] else 1
    value, group, extremes = best[side]
    cells = [pair for g in groups for block in g.blocks for pair in block.cells]
    leftover = float(first.leftover) + float(second.leftover)
    notes = tuple(dict.fromkeys((*first.notes, *second.notes)))
    error = 0.0
    if math.isfinite(value):
        error = 2 * quadrature_error(cells) * max(1, len(extremes)) + 1e-15
    witness = describe(group, extremes, first.inputs, second.inputs, side == 0)
    loss = ExactLoss(
        first.inputs,
        second.inputs,
        groups,
        _mode(cells),
        max(best[0][0], 0.0),
        max(best[1][0], 0.0),
        witness,
        error,
        leftover=leftover,
        notes=notes,
    )
    if certify:
        from dpest.distributions.enclosure import enclose

        loss.enclosure, reason = enclose(loss)
        if reason:
            loss.notes = (*loss.notes, reason)
    return loss


def _direction(
    groups: list[GroupPair], side: int
) -> tuple[float, GroupPair, tuple[CellExtreme, ...]]:
    best: tuple[float, GroupPair, tuple[CellExtreme, ...]] | None = None
    for group in groups:
        parts = tuple(block.extremes()[side] for block in group.blocks)
        value = _total(parts)
        if best is None or value > best[0]:
            best = (value, group, parts)
    assert best is not None
    return best


def _total(parts: tuple[CellExtreme, ...]) -> float:
    values = [part.value for part in parts]
    # A block that this side can't produce at all makes the whole group impossible here.
    return -math.inf if -math.inf in values else math.fsum(values)


def losses(loss: ExactLoss) -> tuple[np.ndarray, np.ndarray]:
    """For purely discrete outputs: all log-probabilities, one row a side."""
    pairs = [p.log_constant for g in loss.groups for b in g.blocks for p in b.cells]
    table = np.array(pairs)
    return table[:, 0], table[:, 1]
