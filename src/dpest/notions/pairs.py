"""Two finite distributions side by side, and every divergence between them.

All sums are of non-negative terms computed in the log domain, so that small divergences and small
tails keep their relative accuracy. Given as Fractions, the hockey-stick divergence at a rational
e^ε is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from numbers import Rational
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpest.errors import DomainError
from dpest.notions import domain
from dpest.notions.domain import Array, Number, scalar_like

if TYPE_CHECKING:
    from dpest.notions.tradeoff import PiecewiseLinear

# How far a sum of float probabilities may be from 1 before it is an error of the caller.
_MASS_TOLERANCE = 1e-9
# Losses closer than this are one atom when a product of pairs is formed.
_SAME_LOSS = 1e-13

Probabilities = Sequence[Any] | Mapping[Any, Any] | npt.NDArray[Any]


class FinitePair:
    """Distributions P and Q on the same finite set.

    `p` and `q` are probability vectors of one length, or mappings from outcomes to probabilities
    (an outcome that is missing has probability 0). With `log=True` they are log-probabilities.
    Divergences are from P to Q; `reverse` is the other direction.
    """

    def __init__(self, p: Probabilities, q: Probabilities, *, log: bool = False) -> None:
        if isinstance(p, Mapping) or isinstance(q, Mapping):
            if not (isinstance(p, Mapping) and isinstance(q, Mapping)):
                raise DomainError("p and q must both be mappings, or both be vectors")
            self.outcomes: tuple[Any, ...] = tuple(dict.fromkeys([*p, *q]))
            missing = -math.inf if log else 0
            p = [p.get(outcome, missing) for outcome in self.outcomes]
            q = [q.get(outcome, missing) for outcome in self.outcomes]
        else:
            self.outcomes = tuple(range(len(p)))
        if len(p) != len(q) or len(p) == 0:
            raise DomainError(
                f"p and q must have one length of at least 1, got {len(p)} and {len(q)}"
            )
        self.exact: tuple[tuple[Fraction, ...], tuple[Fraction, ...]] | None = None
        if not log and all(isinstance(x, Rational) for x in [*p, *q]):
            self.exact = (_fractions(p), _fractions(q))
        if log:
            self.log_p, self.log_q = _checked_logs(p, "p"), _checked_logs(q, "q")
            self.loss = _subtract(self.log_p, self.log_q)
        else:
            a, b = _checked(p, "p", self.exact), _checked(q, "q", self.exact)
            with np.errstate(divide="ignore"):
                self.log_p, self.log_q = np.log(a), np.log(b)
            self.loss = _accurate_loss(a, b, self.log_p, self.log_q)

    @property
    def p(self) -> Array:
        return np.exp(self.log_p)

    @property
    def q(self) -> Array:
        return np.exp(self.log_q)

    def __len__(self) -> int:
        return len(self.log_p)

    def __repr__(self) -> str:
        return f"FinitePair({len(self)} outcomes, max loss {self.max_loss():.6g})"

    @cached_property
    def reverse(self) -> FinitePair:
        """The pair (Q, P)."""
        other = object.__new__(FinitePair)
        other.outcomes = self.outcomes
        other.exact = self.exact[::-1] if self.exact else None
        other.log_p, other.log_q, other.loss = self.log_q, self.log_p, -self.loss
        return other

    # Divergences -----------------------------------------------------------------------------

    def delta(self, epsilon: npt.ArrayLike) -> Any:
        """The hockey-stick divergence Δ^ε(P‖Q) = Σ max(0, p − e^ε q); ε may be an array or ∞."""
        eps = domain.epsilons(epsilon)
        return scalar_like(self._delta(eps))

    def _delta(self, eps: Array) -> Array:
        """As `delta`, for any real ε."""
        real = self.log_p > -math.inf
        loss, p = self.loss[real], np.exp(self.log_p[real])
        with np.errstate(invalid="ignore"):
            # ∞ − ∞ is meant as "infinite loss still exceeds an infinite ε".
            gap = np.where(np.isposinf(loss), -math.inf, eps[..., None] - loss)
        kept = np.where(gap < 0, -np.expm1(np.minimum(gap, 0.0)), 0.0)
        return np.asarray((p * kept).sum(axis=-1))

    def delta_exact(self, ratio: Rational | int) -> Fraction:
        """Δ at e^ε = `ratio`, as an exact rational; needs p and q given as Fractions."""
        if self.exact is None:
            raise DomainError("an exact divergence needs p and q given as ints or Fractions")
        factor = Fraction(ratio)
        if factor < 1:
            raise DomainError(f"ratio = e^epsilon must be at least 1, got {ratio}")
        p, q = self.exact
        gaps = (max(Fraction(0), a - factor * b) for a, b in zip(p, q, strict=True))
        return sum(gaps, Fraction(0))

    def total_variation(self) -> float | Fraction:
        """max |P(S) − Q(S)|; a Fraction when p and q are."""
        return self.delta_exact(1) if self.exact else float(self.delta(0.0))

    def kl(self) -> float:
        """The Kullback-Leibler divergence, the limit of Rényi's as α → 1."""
        return self.renyi(1)

    def renyi(self, alpha: Number) -> float:
        """The Rényi divergence D^α(P‖Q); α = 1 and α = ∞ are the limits."""
        order = float(domain.order_or_one(alpha))
        if order == math.inf:
            return self.max_loss()
        real = self.log_p > -math.inf
        if np.isposinf(self.loss[real]).any():
            return math.inf
        live = (self.log_p > -math.inf) | (self.log_q > -math.inf)
        loss, q = self.loss[live], np.exp(self.log_q[live])
        if order == 1:
            return float((q * _entropy_gap(loss)).sum())
        powers = order * loss
        if np.max(powers, initial=0.0) < 30:
            return float(np.log1p((q * _power_gap(loss, order)).sum()) / (order - 1))
        from scipy.special import logsumexp

        terms = self.log_p[real] + (order - 1) * self.loss[real]
        return max(0.0, float(logsumexp(terms)) / (order - 1))

    def max_loss(self) -> float:
        """The max divergence D^∞(P‖Q): the least ε with P(S) ≤ e^ε Q(S) for every S."""
        return max(0.0, float(np.max(self.loss, where=self.log_p > -math.inf, initial=-math.inf)))

    @property
    def epsilon(self) -> float:
        """The least ε of pure differential privacy for the two together, both directions."""
        return max(self.max_loss(), self.reverse.max_loss())

    def f_divergence(
        self, f: Callable[[Array], Array], slope_at_infinity: float = math.inf
    ) -> float:
        """Σ q f(p/q) for a convex f with f(1) = 0.

        `slope_at_infinity` is lim f(t)/t, the weight of what Q never gives.
        """
        both = self.log_q > -math.inf
        total = float((np.exp(self.log_q[both]) * f(np.exp(self.loss[both]))).sum())
        only_p = float(np.exp(self.log_p[~both]).sum())
        return total + (only_p * slope_at_infinity if only_p > 0 else 0.0)

    # Inverse, trade-off, products -------------------------------------------------------------

    @cached_property
    def _ladder(self) -> tuple[Array, Array, Array, Array]:
        """Losses in falling order, running masses of P and Q, and δ at each of those losses."""
        real = self.log_p > -math.inf
        order = np.argsort(-self.loss[real], kind="stable")
        loss = self.loss[real][order]
        mass_p = np.cumsum(np.exp(self.log_p[real][order]))
        mass_q = np.cumsum(np.exp(self.log_q[real][order]))
        return loss, mass_p, mass_q, self._delta(loss)

    def epsilon_at(self, delta: Number) -> float:
        """The least ε ≥ 0 with Δ^ε(P‖Q) ≤ delta; infinite if Q misses more than delta of P."""
        wanted = float(domain.probability(delta))
        if float(self.delta(0.0)) <= wanted:
            return 0.0
        if float(self.delta(math.inf)) > wanted:
            return math.inf
        loss, mass_p, mass_q, deltas = self._ladder
        # On [loss[k], loss[k-1]] δ(ε) = mass_p[k-1] − e^ε mass_q[k-1]; deltas rise with k.
        k = int(np.searchsorted(deltas, wanted, side="right"))
        if k == 0:
            return max(0.0, float(loss[0]))
        a, b = float(mass_p[k - 1]), float(mass_q[k - 1])
        if b == 0 or a <= wanted:
            return max(0.0, float(loss[k - 1])) if math.isfinite(loss[k - 1]) else math.inf
        ceiling = float(loss[k - 1])
        return max(0.0, min(ceiling, math.log(a - wanted) - math.log(b)))

    def tradeoff(self) -> PiecewiseLinear:
        """T(P, Q): level x of a test of P against Q ↦ the least error on Q (Neyman-Pearson)."""
        from dpest.notions.tradeoff import PiecewiseLinear

        reverse = self.reverse
        live = (self.log_p > -math.inf) | (self.log_q > -math.inf)
        order = np.argsort(-reverse.loss[live], kind="stable")
        p, q = self.p[live][order], self.q[live][order]
        return PiecewiseLinear(
            np.concatenate([[0.0], np.cumsum(p)]),
            np.concatenate([[1.0], np.cumsum(q[::-1])[::-1][1:], [0.0]]),
        )

    def merged(self) -> FinitePair:
        """The same pair with one outcome for each value of the loss: nothing is lost by it."""
        live = (self.log_p > -math.inf) | (self.log_q > -math.inf)
        order = np.argsort(self.loss[live], kind="stable")
        loss = self.loss[live][order]
        finite = np.where(np.isfinite(loss), np.abs(loss), 0.0)
        with np.errstate(invalid="ignore"):
            jumps = np.diff(loss) > _SAME_LOSS * np.maximum(1.0, finite[1:])
        starts = np.concatenate([[0], np.flatnonzero(jumps) + 1])
        log_p = np.logaddexp.reduceat(self.log_p[live][order], starts)
        log_q = np.logaddexp.reduceat(self.log_q[live][order], starts)
        return FinitePair(log_p, log_q, log=True)

    def product(self, other: FinitePair, max_outcomes: int = 4_000_000) -> FinitePair:
        """Both mechanisms run independently: (P×P', Q×Q'), merged by loss.

        Products are exact up to rounding, and cover adaptive composition when the pairs dominate.
        """
        if len(self) * len(other) > max_outcomes:
            raise DomainError(
                f"the product has {len(self)}·{len(other)} outcomes, more than {max_outcomes}; "
                "use dpest.notions.accounting, which rounds losses to a lattice"
            )
        log_p = np.add.outer(self.log_p, other.log_p).ravel()
        log_q = np.add.outer(self.log_q, other.log_q).ravel()
        return FinitePair(log_p, log_q, log=True).merged()

    def power(self, times: int) -> FinitePair:
        """The product of the pair with itself, `times` times."""
        left = domain.count(times, "times")
        base, result = self.merged(), None
        while True:
            if left & 1:
                result = base if result is None else result.product(base)
            left >>= 1
            if not left:
                assert result is not None
                return result
            base = base.product(base)

    def after(self, channel: npt.ArrayLike) -> FinitePair:
        """Post-processing: `channel[i, j]` is the probability of j given outcome i."""
        matrix = np.asarray(channel, dtype=float)
        if matrix.ndim != 2 or matrix.shape[0] != len(self):
            raise DomainError(f"a channel from {len(self)} outcomes needs that many rows")
        for row in matrix:
            _checked(row, "a row of the channel", None)
        # A row may sum to 1 only up to rounding; the next pair's own check is as tolerant.
        return FinitePair(self.p @ matrix, self.q @ matrix)


def _fractions(values: Any) -> tuple[Fraction, ...]:
    return tuple(Fraction(int(x.numerator), int(x.denominator)) for x in values)


def _checked(values: Any, name: str, exact: Any) -> Array:
    array = np.asarray([float(x) for x in values])
    if np.isnan(array).any():
        raise DomainError(f"{name} contains NaN")
    if (array < 0).any():
        raise DomainError(f"{name} contains a negative probability, {array.min()}")
    mass = math.fsum(array)
    if abs(mass - 1) > _MASS_TOLERANCE or (exact and sum(_fractions(values)) != 1):
        raise DomainError(f"{name} must sum to 1, it sums to {mass!r}")
    return array


def _checked_logs(values: Any, name: str) -> Array:
    array = np.asarray(values, dtype=float)
    if np.isnan(array).any():
        raise DomainError(f"{name} contains NaN")
    mass = math.fsum(np.exp(array))
    if abs(mass - 1) > _MASS_TOLERANCE:
        raise DomainError(f"{name} must sum to 1, it sums to {mass!r}")
    return array


def _subtract(a: Array, b: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(a) & np.isneginf(b), 0.0, a - b)


def _accurate_loss(p: Array, q: Array, log_p: Array, log_q: Array) -> Array:
    """log(p/q), without the cancellation of two logarithms where p is near q."""
    loss = _subtract(log_p, log_q)
    near = (p > 0) & (q > 0) & (np.abs(loss) < 0.5)
    loss[near] = np.log1p((p[near] - q[near]) / q[near])
    return loss


def _entropy_gap(loss: Array) -> Array:
    """r·log r − r + 1 ≥ 0 at r = e^loss."""
    ratio = np.exp(loss)
    with np.errstate(invalid="ignore"):
        direct = np.where(np.isneginf(loss), 1.0, ratio * loss - np.expm1(loss))
    # e^L(L − 1) + 1 = Σ_{k≥2} L^k (k−1)/k!, where the direct form cancels.
    series = np.zeros_like(loss)
    small = np.abs(loss) < 0.05
    x = np.where(small, loss, 0.0)
    for k in range(11, 1, -1):
        series = series * x + (k - 1) / math.factorial(k)
    return np.where(small, series * x * x, direct)


def _power_gap(loss: Array, alpha: float) -> Array:
    """r^α − 1 − α(r − 1) ≥ 0 at r = e^loss, for α > 1."""
    with np.errstate(invalid="ignore", over="ignore"):
        # Written so that both terms shrink with α − 1.
        direct = np.exp(loss) * np.expm1((alpha - 1) * loss) - (alpha - 1) * np.expm1(loss)
    direct = np.where(np.isneginf(loss), alpha - 1, direct)
    # Σ_{k≥2} L^k (α^k − α)/k!, where the direct form cancels.
    series = np.zeros_like(loss)
    small = np.abs(loss) * max(alpha, 1.0) < 0.05
    x = np.where(small, loss, 0.0)
    for k in range(11, 1, -1):
        # The series runs in α·x, whose coefficients stay bounded for large α.
        series = series * (alpha * x) + -math.expm1((1 - k) * math.log(alpha)) / math.factorial(k)
    return np.where(small, series * (alpha * x) ** 2, direct)
