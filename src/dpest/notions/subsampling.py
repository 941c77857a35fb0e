"""Amplification by subsampling: a mechanism run on a random part of the data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpest.errors import DomainError
from dpest.notions import domain
from dpest.notions.claims import ApproxDP, PureDP
from dpest.notions.densities import Density, DensityPair
from dpest.notions.domain import Array, Number
from dpest.notions.tradeoff import Tradeoff


def subsample(claim: PureDP | ApproxDP, rate: Number) -> PureDP | ApproxDP:
    """(log(1 + rate·(e^ε − 1)), rate·δ)-DP, for a sample of a fraction `rate` of the records.

    Holds for Poisson sampling with records added or removed, and for samples of fixed size without
    replacement with one record replaced (rate = sample size/data size). Tight for both (Balle,
    Barthe and Gaboardi), for mechanisms known only by their (ε, δ).
    """
    claim._known()
    q, eps = float(domain.probability(rate, "rate")), float(claim.value)
    if q == 0:
        amplified = 0.0
    elif eps > 30:
        amplified = eps + math.log(q + (1 - q) * math.exp(-eps)) if eps < math.inf else math.inf
    else:
        amplified = math.log1p(q * math.expm1(eps))
    if isinstance(claim, PureDP):
        return PureDP(amplified)
    return ApproxDP(amplified, q * float(claim.delta))


def _mixture(log_base: Any, log_shifted: Any, q: float) -> Array:
    return np.logaddexp(math.log1p(-q) + log_base, math.log(q) + log_shifted)


def subsampled_gaussian(sigma: Number, rate: Number, *, removed: bool = True) -> DensityPair:
    """The worst pair of the Poisson-subsampled Gaussian of sensitivity 1 (noise σ).

    With `removed` P = (1−q)·N(0,σ²) + q·N(1,σ²) against Q = N(0,σ²), the direction of a removed
    record; without it the two change places. A guarantee for both is the larger of the two.
    """
    s, q = float(domain.real(sigma, "sigma")), float(domain.probability(rate, "rate"))
    if not 0 < s < math.inf or not 0 < q < 1:
        raise DomainError(f"sigma must be positive and rate inside (0, 1), got {sigma} and {rate}")
    constant = math.log(s) + math.log(2 * math.pi) / 2

    def normal(x: Array, mean: float) -> Array:
        return -(((x - mean) / s) ** 2) / 2 - constant

    breaks = (0.0, 1.0, -s, s, 1 + s)
    plain = Density(lambda x: normal(x, 0.0), breaks)
    mixed = Density(lambda x: _mixture(normal(x, 0.0), normal(x, 1.0), q), breaks)
    return DensityPair(mixed, plain) if removed else DensityPair(plain, mixed)


def subsampled_gaussian_renyi(sigma: Number, rate: Number, alpha: Number) -> float:
    """D^α of the Poisson-subsampled Gaussian, mixture against plain (the larger direction). Tight.

    A finite sum for whole α (Mironov, Talwar and Zhang), quadrature otherwise.
    """
    from scipy.special import gammaln, logsumexp

    a = float(domain.order(alpha))
    s, q = float(domain.real(sigma, "sigma")), float(domain.probability(rate, "rate"))
    if not 0 < s < math.inf:
        raise DomainError(f"sigma must be positive, got {sigma}")
    if q == 0 or a == math.inf:
        return 0.0 if q == 0 else math.inf
    if q == 1:
        return a / (2 * s * s)
    if a != int(a) or a > 10_000:
        return subsampled_gaussian(s, q).renyi(a)
    k = np.arange(int(a) + 1)
    choose = gammaln(a + 1) - gammaln(k + 1) - gammaln(a - k + 1)
    weights = choose + (a - k) * math.log1p(-q) + k * math.log(q)
    exponents = k * (k - 1) / (2 * s * s)
    if exponents[-1] < 30:
        # Binomial weights sum to 1: subtracting it term by term keeps tiny divergences.
        return float(np.log1p((np.exp(weights) * np.expm1(exponents)).sum()) / (a - 1))
    return max(0.0, float(logsumexp(weights + exponents)) / (a - 1))


class SubsampledTradeoff(Tradeoff):
    """f_q = q·f + (1 − q)·Id, of a removed record under Poisson sampling (Dong, Roth and Su)."""

    def __init__(self, f: Tradeoff, rate: Number) -> None:
        self.f, self.rate = f, float(domain.probability(rate, "rate"))

    def __repr__(self) -> str:
        return f"SubsampledTradeoff({self.f!r}, rate={self.rate:g})"

    def _values(self, x: Array) -> Array:
        return self.rate * self.f._values(x) + (1 - self.rate) * (1 - x)

    def _delta(self, eps: float) -> float:
        # sup of q(1 − f(x)) + (1−q)x − e^ε x is q·δ_f at e^ε' = (e^ε − 1 + q)/q.
        if eps == math.inf or self.rate == 0:
            return self.rate * self.f._delta(math.inf) if self.rate else 0.0
        moved = math.log1p(math.expm1(eps) / self.rate) if eps < 700 else eps - math.log(self.rate)
        return self.rate * self.f._delta(moved)
