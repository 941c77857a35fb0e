"""Composition of privacy-loss distributions, by Google's dp-accounting (extra `accounting`).

Any loss with `.delta(eps)` is laid on a lattice of losses by the pessimistic "connect the dots"
rule, so that what comes out is an upper bound on δ and ε, nearly tight for a fine lattice.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dpest.errors import DomainError, MissingExtraError
from dpest.notions import domain
from dpest.notions.domain import Number, scalar_like


class LossDistribution:
    """A privacy-loss distribution on a lattice: composes fast, answers δ(ε) and ε(δ) from above."""

    def __init__(self, distribution: Any) -> None:
        self._inner = distribution

    @classmethod
    def of(
        cls, loss: Any, reverse: Any = None, *, step: float = 1e-4, reach: float | None = None
    ) -> LossDistribution:
        """From anything with `.delta(eps)`, or a claim.

        `reverse` is the loss of the other direction, where it differs. `step` is the lattice width;
        losses beyond `reach` count as infinite (by default where δ is below 1e-15, at most 50).
        """
        pld, pmf = _modules()
        if not 0 < step < 1:
            raise DomainError(f"step must lie between 0 and 1, got {step}")
        forth = _profile(loss)
        back = forth if reverse is None else _profile(reverse)
        limit = reach if reach is not None else max(_reach(forth), _reach(back))
        top = max(1, math.ceil(limit / step))
        eps = step * np.arange(top + 1)
        ahead, behind = forth(eps), back(eps)
        first = _pmf(pmf, ahead, behind, eps, step)
        if reverse is None:
            return cls(pld.PrivacyLossDistribution(first))
        return cls(pld.PrivacyLossDistribution(first, _pmf(pmf, behind, ahead, eps, step)))

    def compose(self, *others: LossDistribution) -> LossDistribution:
        """Run one after another, adaptively."""
        total = self._inner
        for other in others:
            total = total.compose(other._inner)
        return LossDistribution(total)

    def power(self, times: int) -> LossDistribution:
        """The composition with itself, `times` times."""
        return LossDistribution(self._inner.self_compose(domain.count(times, "times")))

    def delta(self, epsilon: npt.ArrayLike) -> Any:
        """An upper bound on δ(ε), over both directions."""
        eps = domain.epsilons(epsilon)
        values = np.vectorize(lambda e: float(self._inner.get_delta_for_epsilon(e)), otypes=[float])
        return scalar_like(values(eps))

    def epsilon_at(self, delta: Number) -> float:
        """An upper bound on the least ε with (ε, delta)-DP."""
        return float(self._inner.get_epsilon_for_delta(float(domain.probability(delta))))


def _modules() -> tuple[Any, Any]:
    try:
        from dp_accounting.pld import pld_pmf, privacy_loss_distribution
    except ImportError:
        raise MissingExtraError("accounting", "composing privacy-loss distributions") from None
    return privacy_loss_distribution, pld_pmf


def _profile(loss: Any) -> Any:
    delta = getattr(loss, "delta_at", None) or loss.delta

    def values(eps: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.array([float(delta(float(e))) for e in eps])

    return values


def _reach(profile: Any) -> float:
    for limit in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0):
        if profile(np.array([limit]))[0] < 1e-15:
            return limit
    return 50.0


def _pmf(pmf: Any, ahead: Any, behind: Any, eps: Any, step: float) -> Any:
    # Δ^−ε(P‖Q) = 1 − e^−ε + e^−ε Δ^ε(Q‖P).
    negative = (-np.expm1(-eps) + np.exp(-eps) * behind)[:0:-1]
    deltas = np.minimum.accumulate(np.clip(np.concatenate([negative, ahead]), 0.0, 1.0))
    top = len(eps) - 1
    return pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, -top, top, deltas)
