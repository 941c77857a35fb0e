"""The exact privacy loss between two inputs."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpest.errors import DomainError, MissingExtraError, RefusedError, RoundedChanceError
from dpest.evidence import Witness, up_to_rounding
from dpest.exact.losses import divergences
from dpest.exact.losses.cut import cut_loss, sure_delta
from dpest.exact.losses.pairs import (
    CellExtreme,
    CellPair,
    GroupPair,
    compare,
    quadrature_error,
    settle_extremes,
)
from dpest.exact.losses.witness import describe, joined
from dpest.exact.outputs.kinds import check_kinds
from dpest.exact.outputs.templates import independent_parts
from dpest.notebooks import as_html
from dpest.reading.paths import Trace

# Chances that the program computes in doubles: relative errors from which on there is no answer.
_MOST_ROUNDING = 1e-6
_ROUNDED = (
    "a chance lies so near 0 or 1 that it is decided by rounding of the program's own numbers"
)


@dataclass
class ExactLoss:
    """How well one output tells two inputs apart, computed from the paths.

    `epsilon_forward` is the supremum of log p/q (p: the first input's density), `epsilon_backward`
    of log q/p, `epsilon` their maximum. `error` estimates the numerical error of ε. `mode` is
    "rational" (finite sums of rationals), "discrete" (probabilities by closed forms and
    quadrature), or "analytic" (real outputs). `enclosure` contains the true ε where it was asked
    for and could be had.

    `leftovers` bound what was not explored of each input's outputs, where a loop without a bound
    was cut off. Then ε and δ are lower bounds, never infinite by the cut; the trade-off is an upper
    bound, and Rényi divergences are refused. `searched`: several released reals hang together, and
    ε is the loss at the best output that a search found, a lower bound. `growing`: the loss was
    still larger further out, and nothing decides whether it is bounded; ε is what was reached, a
    lower bound. `unproved`: nothing shows that the loss is bounded far out; ε is the largest that
    was seen, a lower bound. `complete` is False in these cases, and `notes` say which.
    """

    x: Any
    x2: Any
    parts: list[list[GroupPair]]  # independent parts of the output; their losses add
    mode: str
    epsilon_forward: float
    epsilon_backward: float
    witness: Witness
    error: float
    enclosure: tuple[float, float] | None = None
    leftovers: tuple[float, float] = (0.0, 0.0)
    searched: bool = False
    growing: bool = False
    unproved: bool = False
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def epsilon(self) -> float:
        return max(self.epsilon_forward, self.epsilon_backward)

    @property
    def leftover(self) -> float:
        return sum(self.leftovers)

    @property
    def complete(self) -> bool:
        """Whether ε is the value; otherwise it is a lower bound for this pair."""
        if self.epsilon == math.inf:
            return self.leftover == 0
        return not (self.leftover or self.searched or self.growing or self.unproved)

    @functools.cached_property
    def _measure(self) -> divergences.LossMeasure:
        return divergences.LossMeasure(self.parts)

    def delta(self, epsilon: float) -> float:
        """The least δ with (ε, δ)-DP between the two inputs: both directions.

        Where losses were laid on a grid it is the middle of the bounds (see `errors`); where a part
        of the outputs was cut off, a lower bound.
        """
        if math.isnan(epsilon):
            raise DomainError(f"{epsilon=}: must be a number")
        if self.leftover:
            return self.sure_delta(epsilon)
        measure = self._measure
        if epsilon == math.inf:
            return max(measure.escape(side) for side in (0, 1))
        return max(measure.delta(epsilon, side) for side in (0, 1))

    def sure_delta(self, epsilon: float) -> float:
        """What δ is at least, whatever was cut off or laid on a grid."""
        missing = self.leftovers[::-1]
        return max(sure_delta(self._measure, epsilon, side, missing[side]) for side in (0, 1))

    def epsilon_at(self, delta: float) -> float:
        """The least ε ≥ 0 with (ε, δ)-DP between the two inputs."""
        if not 0 <= delta <= 1:
            raise DomainError(f"{delta=}: must be between 0 and 1")
        return max(self.epsilon, 0.0) if delta == 0 else self._inverted(self.delta, delta)

    def _inverted(self, delta_at: Callable[[float], float], delta: float) -> float:
        """The least ε ≥ 0 at which δ(ε) is not above `delta`."""
        if delta_at(0.0) <= delta:
            return 0.0
        low, high = 0.0, 1.0
        while delta_at(high) > delta:
            low, high = high, 2 * high
            if high > 1e6:
                return math.inf
        if math.isfinite(self.epsilon):
            high = min(high, max(self.epsilon, low))
        for _ in range(200):
            middle = (low + high) / 2
            if high - low <= 1e-13 * max(1.0, high):
                break
            if delta_at(middle) > delta:
                low = middle
            else:
                high = middle
        return high

    def sure_epsilon_at(self, delta: float) -> float:
        """The same from below: δ counts as exceeded only where rounding can't have done it.

        That is rounding of this computation (where it lays losses on a grid) and of the program's
        own constants. A mechanism that is exactly at its δ would have ε = ∞ by the last bit.
        """
        if delta == 0:
            return self.epsilon_at(0)
        return self._inverted(self.sure_delta, min(up_to_rounding(delta), 1.0))

    def renyi(self, alpha: float) -> float:
        """The Rényi divergence of order alpha, the larger of both directions."""
        if not alpha > 0:
            raise DomainError(f"{alpha=}: the order must be positive")
        if alpha == math.inf:
            return self.epsilon
        if self.leftover:
            raise RefusedError(
                f"{_cut_off(self.leftover)}: no Rényi divergence is known; ε and δ are bounded"
            )
        return max(self._measure.renyi(alpha, 0), self._measure.renyi(alpha, 1))

    def tradeoff(self, alpha: float) -> float:
        """The least type II error of a test of the first input against the second at level alpha.

        It is the larger half of the privacy region's border: min over both directions.
        """
        if not 0 <= alpha <= 1:
            raise DomainError(f"{alpha=}: must be between 0 and 1")
        if not self.leftover:
            return min(self._measure.tradeoff(alpha, 0), self._measure.tradeoff(alpha, 1))
        # A test at a lower level on what was explored keeps its level on all outputs.
        bounds = [1 - alpha]
        for side, missing in enumerate(self.leftovers):
            if alpha > missing:
                bounds.append(self._measure.tradeoff(alpha - missing, side))
        return min(bounds)

    @functools.cached_property
    def total_variation(self) -> float:
        return self.delta(0.0)

    @property
    def errors(self) -> dict[str, float]:
        """Error estimates: of ε, and of δ, Rényi and the trade-off (absolute)."""
        return {"epsilon": self.error, **self._measure.errors}

    def plot(self, axes: Any = None) -> Any:
        """δ as a function of ε (extra `report`); gives the matplotlib axes."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise MissingExtraError("report", "plotting a privacy loss") from None
        if axes is None:
            axes = plt.figure(figsize=(5, 3.5)).add_subplot()
        top = self.epsilon if math.isfinite(self.epsilon) else 5.0
        epsilons = [max(top, 1e-6) * 1.1 * i / 80 for i in range(81)]
        axes.plot(epsilons, [float(self.delta(e)) for e in epsilons])
        axes.set(xlabel="ε", ylabel="δ(ε)", title="the pair's privacy profile")
        return axes

    def _repr_html_(self) -> str:
        return as_html(str(self))

    def __str__(self) -> str:
        shown = "∞" if self.epsilon == math.inf else f"{self.epsilon:.12g}"
        relation = "=" if self.complete else "≥"
        text = f"ε {relation} {shown} ({self.mode}), {self.witness.event}"
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


def privacy_loss(
    first: Trace | Sequence[Trace], second: Trace | Sequence[Trace], *, certify: bool = False
) -> ExactLoss:
    """The exact loss between the output distributions of two traces.

    A sequence of traces stands for independent parts of one output. Raises RefusedError, with the
    reason, where the noises are tied together in a way that needs more than two nested integrals.
    With `certify` the result carries an enclosure in ball arithmetic, where all integrals are
    one-dimensional. Where a trace was cut off (`leftover`) the result is a lower bound.
    """
    sides = [_as_parts(first), _as_parts(second)]
    if len(sides[0]) != len(sides[1]):
        if isinstance(first, Trace) and isinstance(second, Trace):
            sides = [[first], [second]]
        else:
            raise RefusedError("the outputs of the two inputs fall into different parts")
    for pair in zip(*sides, strict=True):
        check_kinds(pair)
    parts = [compare(p, q) for p, q in zip(*sides, strict=True)]
    cells = [pair for groups in parts for g in groups for b in g.blocks for pair in b.cells]
    traces = [*sides[0], *sides[1]]
    x, x2 = sides[0][0].inputs, sides[1][0].inputs
    leftovers = tuple(math.fsum(float(t.leftover) for t in own) for own in sides)
    # What one side was not followed to can't be told from impossible there.
    found = [
        _supremum(parts, side, x, x2)
        if leftovers[1 - side] == 0
        else (*cut_loss(parts, side, leftovers[1 - side], x, x2), 0.0)
        for side in (0, 1)
    ]
    side = 0 if found[0][0] >= found[1][0] else 1
    rounding = max(t.rounding for t in traces)
    finite = math.isfinite(found[side][0])
    # Where no chance may be 0 or 1 by rounding (that is ∞ here), what is impossible is so.
    if rounding > _MOST_ROUNDING and (rounding == math.inf or finite):
        raise RoundedChanceError(_ROUNDED)
    of_ends = max(t.rounding_of_ends for t in traces)
    if of_ends == math.inf and not finite:
        raise RoundedChanceError(_ROUNDED)
    if of_ends and finite and any(c.is_blurred(side) for c in cells for side in (0, 1)):
        raise RoundedChanceError(_ROUNDED)
    error = 0.0
    if math.isfinite(found[side][0]):
        pieces = max(sum(max(len(g.blocks) for g in groups) for groups in parts), 1)
        error = 2 * quadrature_error(cells) * pieces + found[side][2] + 2 * rounding + 1e-15
    loss = ExactLoss(
        x,
        x2,
        parts,
        _mode(cells),
        max(found[0][0], 0.0),
        max(found[1][0], 0.0),
        found[side][1],
        error,
        leftovers=(leftovers[0], leftovers[1]),
        searched=any(len(f.coordinates) > 1 for pair in cells for f in pair.factors),
        growing=any(f.growing for pair in cells for f in pair.factors),
        unproved=any(f.unproved for pair in cells for f in pair.factors),
    )
    notes = [note for t in traces for note in t.notes]
    notes += _why_a_lower_bound(loss, math.isfinite(found[side][0]))
    loss.notes = tuple(dict.fromkeys(notes))
    if certify:
        _enclose(loss)
    return loss


def _why_a_lower_bound(loss: ExactLoss, finite: bool) -> Iterator[str]:
    if any(loss.leftovers):
        yield f"{_cut_off(sum(loss.leftovers))}: ε is a lower bound for this pair"
    if loss.searched and finite:
        yield (
            "several released numbers hang together: ε is the loss at the best output that a "
            "search found, a lower bound for this pair"
        )
    if loss.growing and finite:
        yield (
            "the loss is still larger further out, and whether it is bounded is not known: ε is "
            "what was reached, a lower bound for this pair"
        )
    elif loss.unproved and finite:
        yield (
            "whether the loss is bounded far out is not known: ε is the largest that was seen, a "
            "lower bound for this pair"
        )


def _enclose(loss: ExactLoss) -> None:
    """Gives the loss an enclosure, or a note why there is none, and keeps its values inside."""
    if loss.leftover:
        reason = "no enclosure: a loop or a rounded number without a bound was cut off"
        loss.notes = (*loss.notes, reason)
        return
    from dpest.exact.losses.enclosure import enclose

    loss.enclosure, reason = enclose(loss)
    if reason:
        loss.notes = (*loss.notes, reason)
    if loss.enclosure is not None and math.isfinite(loss.enclosure[1]):
        low, high = loss.enclosure
        # The truth lies inside: the last digits of the doubles give way.
        if loss.epsilon_forward >= loss.epsilon_backward:
            loss.epsilon_forward = min(max(loss.epsilon_forward, low), high)
            loss.epsilon_backward = min(loss.epsilon_backward, high)
        else:
            loss.epsilon_backward = min(max(loss.epsilon_backward, low), high)
            loss.epsilon_forward = min(loss.epsilon_forward, high)


def _supremum(
    parts: list[list[GroupPair]], side: int, x: Any, x2: Any
) -> tuple[float, Witness, float]:
    """The supremum of one direction's loss, its witness and its rounding; parts' losses add."""
    best = [_direction(groups, side) for groups in parts]
    found = [describe(b.group, b.extremes, x, x2, side == 0) for b in best]
    witness = found[0] if len(found) == 1 else joined(found)
    doubt = math.fsum(part.doubt for b in best for e in b.extremes for part in e.parts)
    return _total([b.value for b in best]), witness, doubt


def _cut_off(leftover: float) -> str:
    return (
        "a loop or a rounded number without a bound was cut off where "
        f"{leftover:.3g} of the probability was left"
    )


def _as_parts(given: Trace | Sequence[Trace]) -> list[Trace]:
    return independent_parts(given) if isinstance(given, Trace) else list(given)


@dataclass(frozen=True)
class _Best:
    value: float
    sure: float  # the value less its rounding: groups are compared by it
    group: GroupPair
    extremes: tuple[CellExtreme, ...]


def _direction(groups: list[GroupPair], side: int) -> _Best:
    """The largest loss of one direction over the groups of a part."""
    alone = [g.blocks[0] for g in groups if len(g.blocks) == 1]
    if any(block._extremes is None for block in alone):
        settle_extremes(alone)
    best: _Best | None = None
    for group in groups:
        extremes = tuple(block.extremes()[side] for block in group.blocks)
        value = _total([e.value for e in extremes])
        sure = _total([e.sure for e in extremes])
        if best is None or sure > best.sure:
            best = _Best(value, sure, group, extremes)
    assert best is not None
    return best


def _total(values: Sequence[float]) -> float:
    # A part that this side can't produce at all makes the whole impossible here.
    return -math.inf if -math.inf in values else math.fsum(values)
