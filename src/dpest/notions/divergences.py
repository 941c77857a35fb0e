"""Divergences between two distributions, by one function each.

A distribution is a probability vector, a mapping from outcomes to probabilities, or a `Density`.
The functions choose how to integrate; `pair` gives the object that answers many questions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dpest.errors import DomainError
from dpest.notions import domain
from dpest.notions.densities import Density, DensityPair
from dpest.notions.domain import Array, Number
from dpest.notions.pairs import FinitePair


@runtime_checkable
class Loss(Protocol):
    """What the exact engine, a pair of distributions and the closed forms have in common."""

    def delta(self, epsilon: Any) -> Any: ...

    def renyi(self, alpha: Any) -> Any: ...


def pair(p: Any, q: Any) -> FinitePair | DensityPair:
    """The two distributions side by side."""
    if isinstance(p, Density) != isinstance(q, Density):
        raise DomainError("p and q must both be densities, or both be finite distributions")
    return DensityPair(p, q) if isinstance(p, Density) else FinitePair(p, q)


def hockey_stick(
    p: Any, q: Any, epsilon: Any = None, *, ratio: Rational | int | None = None
) -> Any:
    """Δ^ε(p‖q) = sup over events S of p(S) − e^ε q(S): the least δ of (ε, δ)-DP, one direction.

    Give `epsilon`, or `ratio` = e^ε as an exact number with p and q in Fractions for an exact
    answer. At ε = 0 Fractions give an exact answer by themselves.
    """
    both = pair(p, q)
    if (epsilon is None) == (ratio is None):
        raise DomainError("give either epsilon or ratio")
    exact = isinstance(both, FinitePair) and both.exact is not None
    if ratio is not None:
        if not isinstance(both, FinitePair):
            raise DomainError("ratio needs finite distributions in Fractions")
        return both.delta_exact(ratio)
    if exact and isinstance(epsilon, int) and epsilon == 0:
        return both.delta_exact(1)  # type: ignore[union-attr]
    return both.delta(epsilon)


def renyi_divergence(p: Any, q: Any, alpha: Number) -> float:
    """D^α(p‖q) for α in (1, ∞); α = 1 is Kullback-Leibler's, α = ∞ the max divergence."""
    return pair(p, q).renyi(alpha)


def kl_divergence(p: Any, q: Any) -> float:
    """The Kullback-Leibler divergence Σ p log(p/q)."""
    return pair(p, q).kl()


def max_divergence(p: Any, q: Any) -> float:
    """D^∞(p‖q): the least ε of pure DP, one direction; a numerical supremum for densities."""
    return pair(p, q).max_loss()


def total_variation(p: Any, q: Any) -> float | Fraction:
    """sup |p(S) − q(S)| = Δ^0(p‖q); exact for Fractions."""
    return pair(p, q).total_variation()


@dataclass(frozen=True)
class Generator:
    """A convex f with f(1) = 0, and lim f(t)/t as t → ∞."""

    name: str
    f: Callable[[Array], Array]
    slope_at_infinity: float


def _entropy(t: Array) -> Array:
    from scipy.special import xlogy

    return np.asarray(xlogy(t, t))


KL = Generator("Kullback-Leibler", _entropy, math.inf)
TOTAL_VARIATION = Generator("total variation", lambda t: np.abs(t - 1) / 2, 0.5)
CHI_SQUARED = Generator("chi-squared", lambda t: (t - 1) ** 2, math.inf)
SQUARED_HELLINGER = Generator("squared Hellinger", lambda t: (np.sqrt(t) - 1) ** 2 / 2, 0.5)


def hockey_stick_generator(epsilon: Number) -> Generator:
    """f(t) = max(0, t − e^ε), whose f-divergence is Δ^ε."""
    factor = math.exp(float(domain.epsilon(epsilon)))
    return Generator(f"hockey-stick at {epsilon}", lambda t: np.maximum(0.0, t - factor), 1.0)


def renyi_generator(alpha: Number) -> Generator:
    """f(t) = t^α − 1, with D^α = log(1 + f-divergence)/(α − 1)."""
    order = float(domain.order(alpha))
    return Generator(f"power {alpha}", lambda t: t**order - 1, math.inf)


def f_divergence(
    p: Any,
    q: Any,
    f: Generator | Callable[[Array], Array],
    slope_at_infinity: float = math.inf,
) -> float:
    """Csiszár's divergence Σ q f(p/q), for a `Generator` or a convex function with f(1) = 0."""
    if isinstance(f, Generator):
        return pair(p, q).f_divergence(f.f, f.slope_at_infinity)
    return pair(p, q).f_divergence(f, slope_at_infinity)


@dataclass(frozen=True)
class DivergenceCut:
    """The k-cut of a divergence: the most of it that an output with k values can carry.

    `cells` says which of the k values each outcome of the pair is sent to.
    """

    value: float
    cells: tuple[int, ...]


def k_cut(p: Any, q: Any, generator: Generator, k: int) -> DivergenceCut:
    """sup over channels onto k values of the f-divergence after the channel, and where it is met.

    An f-divergence is convex in the channel, so a deterministic map attains the supremum; and one
    that is monotone in the likelihood ratio does. So a dynamic program over the outcomes sorted by
    ratio finds it. For Rényi's divergence cut its generator and take log(1 + value)/(α − 1).
    """
    both = FinitePair(p, q)
    cells = domain.count(k, "k")
    order = np.argsort(both.loss, kind="stable")
    mass_p = np.concatenate([[0.0], np.cumsum(both.p[order])])
    mass_q = np.concatenate([[0.0], np.cumsum(both.q[order])])
    n = len(order)
    cost = np.full((n + 1, n + 1), 0.0)
    for i, j in itertools.combinations(range(n + 1), 2):
        cost[i, j] = _cell(mass_p[j] - mass_p[i], mass_q[j] - mass_q[i], generator)
    best = np.full(n + 1, -math.inf)
    best[0] = 0.0
    choices = []
    for _ in range(min(cells, n)):
        totals = best[:, None] + np.where(np.tri(n + 1, k=-1).T > 0, cost, -math.inf)
        choices.append(np.argmax(totals, axis=0))
        best = np.max(totals, axis=0)
    labels = np.empty(n, dtype=int)
    end = n
    for label in range(len(choices) - 1, -1, -1):
        start = int(choices[label][end])
        labels[order[start:end]] = label
        end = start
    return DivergenceCut(float(best[n]), tuple(int(x) for x in labels))


def _cell(p: float, q: float, generator: Generator) -> float:
    if q > 0:
        return q * float(generator.f(np.asarray(p / q)))
    return p * generator.slope_at_infinity if p > 0 else 0.0
