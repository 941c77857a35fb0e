"""Mechanisms whose privacy is known in closed form: the oracles for every engine.

Each speaks of its worst pair of neighbouring inputs and is symmetric in the pair, so that one
direction says all: `epsilon`, `delta(eps)`, `renyi(alpha)`, `kl()`, `epsilon_at(delta)` and
`tradeoff()`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dpest.errors import DomainError
from dpest.notions import domain
from dpest.notions.domain import Number, scalar_like
from dpest.notions.pairs import FinitePair
from dpest.notions.profiles import invert
from dpest.notions.tradeoff import GaussianTradeoff, LaplaceTradeoff, Tradeoff


class ClosedForm(ABC):
    """What all closed forms answer."""

    # The least ε of pure differential privacy; infinite if there is none.
    epsilon: Any

    def delta(self, epsilon: npt.ArrayLike) -> Any:
        """The least δ with (ε, δ)-DP, for a scalar or an array of ε."""
        return scalar_like(np.vectorize(self._delta, otypes=[float])(domain.epsilons(epsilon)))

    @abstractmethod
    def _delta(self, eps: float) -> float: ...

    @abstractmethod
    def renyi(self, alpha: Number) -> float:
        """The Rényi divergence of order α of the worst pair; the limits 1 and ∞ are allowed."""

    def kl(self) -> float:
        """The Kullback-Leibler divergence of the worst pair."""
        return self.renyi(1)

    def epsilon_at(self, delta: Number) -> float:
        """The least ε with (ε, delta)-DP."""
        wanted = float(domain.probability(delta))
        return float(self.epsilon) if wanted == 0 else invert(self._delta, wanted)

    @abstractmethod
    def tradeoff(self) -> Tradeoff:
        """The trade-off function of the worst pair."""


def expm1_gap(x: float) -> float:
    """e^x − 1 − x ≥ 0, without cancellation for small x."""
    if abs(x) > 0.1:
        return math.expm1(x) - x
    term, total = x * x / 2, 0.0
    for k in range(3, 16):
        total += term
        term *= x / k
    return total


def gaussian_delta(mu: float, epsilon: float) -> float:
    """δ(ε) of μ-Gaussian DP: Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), accurate far into the tail.

    With a = ε/μ − μ/2 both terms are φ(a) times a Mills ratio, so that
    δ = φ(a)·∫₀^∞ e^(−a·s − s²/2) (1 − e^(−μs)) ds, in which nothing cancels.
    """
    if mu == math.inf:
        return 1.0
    if mu == 0 or epsilon == math.inf:
        return 0.0
    from scipy.special import erfcx, ndtr

    a = epsilon / mu - mu / 2
    b = epsilon / mu + mu / 2
    if a < -8:
        # Φ(−a) is 1 up to rounding and the other term is e^ε Φ(−b), of any size up to 1.
        return float(ndtr(-a) - math.exp(-a * a / 2) * erfcx(b / math.sqrt(2)) / 2)
    density = math.exp(-a * a / 2)
    first, second = float(erfcx(a / math.sqrt(2))), float(erfcx(b / math.sqrt(2)))
    if first - second > 1e-3 * first:
        return density * (first - second) / 2
    from dpest.notions.quadrature import integrate

    reach = min(40.0 / max(a, 1e-300), 12.0 + max(0.0, -2 * a))
    ends = np.concatenate([[0.0], reach * 2.0 ** np.arange(-10, 1)])
    gap = integrate(lambda s: np.exp(-a * s - s * s / 2) * -np.expm1(-mu * s), ends)
    return density / math.sqrt(2 * math.pi) * gap


def randomised_response_renyi(epsilon: float, alpha: float) -> float:
    """D^α of randomised response: the largest of any ε-DP mechanism (the tight pure → Rényi).

    log[(e^(αε) + e^((1−α)ε)) / (1 + e^ε)]/(α − 1); ε·tanh(ε/2) at α = 1.
    """
    return _binary(epsilon).renyi(alpha)


def _binary(epsilon: float) -> FinitePair:
    """(e^ε, 1)/(1 + e^ε) against its mirror image."""
    tail = math.log1p(math.exp(-epsilon))
    log_p = np.array([-tail, -epsilon - tail])
    pair = FinitePair(log_p, log_p[::-1].copy(), log=True)
    pair.loss = np.array([epsilon, -epsilon])  # free of the rounding of two logarithms
    return pair


class _Finite(ClosedForm):
    """A mechanism whose worst pair reduces to finitely many losses."""

    @cached_property
    @abstractmethod
    def pair(self) -> FinitePair:
        """The worst pair, one outcome per value of the loss."""

    def _delta(self, eps: float) -> float:
        return float(self.pair.delta(eps))

    def renyi(self, alpha: Number) -> float:
        return self.pair.renyi(alpha)

    def epsilon_at(self, delta: Number) -> float:
        return max(self.pair.epsilon_at(delta), self.pair.reverse.epsilon_at(delta))

    def tradeoff(self) -> Tradeoff:
        return self.pair.tradeoff()


def _positive(value: Number, name: str) -> float:
    number = float(domain.real(value, name))
    if not 0 < number < math.inf:
        raise DomainError(f"{name} must be a positive number, got {value}")
    return number


@dataclass(frozen=True)
class LaplaceMechanism(ClosedForm):
    """A query of L1 `sensitivity` plus Laplace noise, whose density is e^(−|z|/scale)/(2·scale)."""

    scale: Number
    sensitivity: Number = 1

    def __post_init__(self) -> None:
        _positive(self.scale, "scale")
        _positive(self.sensitivity, "sensitivity")

    @property
    def epsilon(self) -> float:
        return float(self.sensitivity) / float(self.scale)

    def _delta(self, eps: float) -> float:
        return abs(math.expm1(min(0.0, (eps - self.epsilon) / 2)))

    def renyi(self, alpha: Number) -> float:
        """log[α/(2α−1)·e^((α−1)ε) + (α−1)/(2α−1)·e^(−αε)]/(α − 1)."""
        a, e = float(domain.order_or_one(alpha)), self.epsilon
        if a == math.inf:
            return e
        if a == 1:
            return expm1_gap(-e)
        top = (a - 1) * e
        if top > 30:
            rest = math.log1p((a - 1) / a * math.exp(-a * e - top))
            return e + (math.log(a / (2 * a - 1)) + rest) / (a - 1)
        gap = (a * expm1_gap(top) + (a - 1) * expm1_gap(-a * e)) / (2 * a - 1)
        return math.log1p(gap) / (a - 1)

    def tradeoff(self) -> LaplaceTradeoff:
        return LaplaceTradeoff(self.epsilon)


@dataclass(frozen=True)
class GaussianMechanism(ClosedForm):
    """A query of L2 `sensitivity` plus normal noise of standard deviation `sigma`."""

    sigma: Number
    sensitivity: Number = 1

    def __post_init__(self) -> None:
        _positive(self.sigma, "sigma")
        _positive(self.sensitivity, "sensitivity")

    @property
    def mu(self) -> float:
        return float(self.sensitivity) / float(self.sigma)

    @property
    def epsilon(self) -> float:
        return math.inf

    def _delta(self, eps: float) -> float:
        return gaussian_delta(self.mu, eps)

    def renyi(self, alpha: Number) -> float:
        """α·μ²/2."""
        return float(domain.order_or_one(alpha)) * self.mu**2 / 2

    def tradeoff(self) -> GaussianTradeoff:
        return GaussianTradeoff(self.mu)


@dataclass(frozen=True)
class RandomisedResponse(_Finite):
    """The true category with probability e^ε/(e^ε + k − 1), each of the k − 1 others equally."""

    epsilon: Number
    categories: int = 2

    def __post_init__(self) -> None:
        if not math.isfinite(domain.epsilon(self.epsilon)):
            raise DomainError("randomised response needs a finite epsilon")
        if domain.count(self.categories, "categories") < 2:
            raise DomainError("randomised response needs at least 2 categories")

    @cached_property
    def pair(self) -> FinitePair:
        eps, others = float(self.epsilon), self.categories - 1
        tail = math.log1p(others * math.exp(-eps))
        rest = math.log(others - 1) - eps - tail if others > 1 else -math.inf
        log_p = np.array([-tail, -eps - tail, rest])
        pair = FinitePair(log_p, log_p[[1, 0, 2]], log=True)
        pair.loss = np.array([eps, -eps, 0.0])
        return pair


@dataclass(frozen=True)
class GeometricMechanism(_Finite):
    """An integer query plus two-sided geometric noise: P(z) ∝ e^(−ε|z|/sensitivity).

    Also called the discrete Laplace mechanism of scale sensitivity/ε. `sensitivity` is an integer.
    """

    epsilon: Number
    sensitivity: int = 1

    def __post_init__(self) -> None:
        _positive(self.epsilon, "epsilon")
        domain.count(self.sensitivity, "sensitivity")

    @cached_property
    def pair(self) -> FinitePair:
        shift = int(self.sensitivity)
        rate = float(self.epsilon) / shift
        # Outputs ≤ 0 share one loss, outputs ≥ shift another; those between have their own.
        between = np.arange(1, shift)
        log_half = -math.log1p(math.exp(-rate))
        log_one = math.log(-math.expm1(-rate)) + log_half
        log_p = np.concatenate([[log_half], log_one - rate * between, [log_half - rate * shift]])
        pair = FinitePair(log_p, log_p[::-1].copy(), log=True)
        pair.loss = np.asarray(rate * (shift - 2.0 * np.arange(shift + 1)), dtype=float)
        return pair


@dataclass(frozen=True)
class ExponentialMechanism(_Finite):
    """The exponential mechanism on one pair: P(i) ∝ e^(ε·score_i/(2·sensitivity)).

    Its worst case over all scores is at most ε; this is the exact value for these two.
    """

    scores: Sequence[float]
    other_scores: Sequence[float]
    eps: Number
    sensitivity: Number = 1

    def __post_init__(self) -> None:
        _positive(self.eps, "epsilon")
        _positive(self.sensitivity, "sensitivity")
        if len(self.scores) != len(self.other_scores) or not len(self.scores):
            raise DomainError("both score vectors must have one length of at least 1")

    @cached_property
    def pair(self) -> FinitePair:
        from scipy.special import log_softmax

        factor = float(self.eps) / (2 * float(self.sensitivity))
        first = log_softmax(factor * np.asarray(self.scores, dtype=float))
        second = log_softmax(factor * np.asarray(self.other_scores, dtype=float))
        return FinitePair(first, second, log=True)

    @property
    def epsilon(self) -> float:
        return self.pair.epsilon

    def _delta(self, eps: float) -> float:
        return max(float(self.pair.delta(eps)), float(self.pair.reverse.delta(eps)))

    def renyi(self, alpha: Number) -> float:
        return max(self.pair.renyi(alpha), self.pair.reverse.renyi(alpha))
