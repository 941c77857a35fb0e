"""Composition, post-processing, groups: what follows for programs built from private parts.

Sequential composition is adaptive: each part may depend on the outputs before it, as long as its
own guarantee holds for every value of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from dpest.errors import DomainError
from dpest.notions import conversions, domain
from dpest.notions.claims import (
    ZCDP,
    ApproxDP,
    Claim,
    GaussianDP,
    PrivacyProfile,
    PureDP,
    RenyiCurve,
    RenyiDP,
    TradeoffDP,
)
from dpest.notions.domain import Number
from dpest.notions.pairs import FinitePair
from dpest.notions.tradeoff import (
    GaussianTradeoff,
    PiecewiseLinear,
    Tradeoff,
    approx_tradeoff,
    lower_approximation,
)


def compose(*claims: Claim) -> Claim:
    """The guarantee of running mechanisms with these guarantees one after another, adaptively.

    Pure and (ε, δ) add up (sound, not tight), Rényi of one order and zCDP add up, Gaussian DP adds
    in squares (tight). Pure with (ε, δ) gives (ε, δ); pure, Gaussian and zCDP together give zCDP;
    any of them with Rényi gives Rényi of that order. `optimal_composition` is tight for (ε, δ).
    """
    if not claims:
        raise DomainError("give at least one claim to compose")
    for claim in claims:
        claim._known()
    kinds = {type(claim) for claim in claims}
    if kinds == {PureDP}:
        return PureDP(_total(claim.value for claim in claims))
    if kinds <= {PureDP, ApproxDP}:
        delta = min(1, _total(getattr(claim, "delta", 0) for claim in claims))
        return ApproxDP(_total(claim.value for claim in claims), delta)
    if kinds == {GaussianDP}:
        return GaussianDP(math.hypot(*(float(claim.value) for claim in claims)))
    if kinds <= {ZCDP, GaussianDP, PureDP}:
        from dpest.notions.implication import zcdp_of

        return ZCDP(_total(zcdp_of(claim) for claim in claims))
    orders = {float(claim.alpha) for claim in claims if isinstance(claim, RenyiDP)}
    if orders and kinds <= {RenyiDP, RenyiCurve, ZCDP, GaussianDP, PureDP}:
        order = min(orders)
        return RenyiDP(order, _total(conversions.renyi_of(claim, order) for claim in claims))
    if kinds <= {RenyiCurve, ZCDP, GaussianDP, PureDP}:
        return _compose_curves(claims)
    if kinds <= {TradeoffDP, PureDP, ApproxDP, GaussianDP}:
        return TradeoffDP(compose_tradeoffs(*(conversions.tradeoff_of(claim) for claim in claims)))
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise DomainError(f"no rule composes {names}; convert them to one notion first")


def _total(values: Any) -> Number:
    return sum(values, 0)


def _compose_curves(claims: Sequence[Claim]) -> RenyiCurve:
    known = [claim.orders for claim in claims if isinstance(claim, RenyiCurve) and claim.orders]
    if not known:
        return RenyiCurve(lambda a: sum(conversions.renyi_of(claim, a) for claim in claims))
    orders = sorted(set().union(*known))
    sums = {a: sum(conversions.renyi_of(claim, a) for claim in claims) for a in orders}
    return RenyiCurve(sums)


def advanced_composition(claim: ApproxDP | PureDP, times: int, slack: Number) -> ApproxDP:
    """k-fold adaptive composition of (ε, δ)-DP by Dwork, Rothblum and Vadhan; not tight.

    (ε√(2k·log(1/slack)) + kε(e^ε − 1), kδ + slack). `optimal_composition` is never worse.
    """
    claim._known()
    k, extra = domain.count(times, "times"), float(domain.probability(slack, "slack"))
    if extra == 0:
        raise DomainError("slack must be positive; without slack, privacy losses just add up")
    eps, delta = float(claim.value), float(getattr(claim, "delta", 0))
    if eps == math.inf:
        return ApproxDP(math.inf, min(1.0, k * delta + extra))
    total = eps * math.sqrt(2 * k * math.log(1 / extra)) + k * eps * math.expm1(eps)
    return ApproxDP(total, min(1.0, k * delta + extra))


def optimal_composition(*claims: ApproxDP | PureDP, times: int = 1) -> PrivacyProfile:
    """The exact profile of composing (ε, δ)-DP mechanisms adaptively, all of it `times` times.

    Tight: some mechanisms reach it (Kairouz, Oh and Viswanath). The work grows
    with the number of different sums of losses; equal ε keep it small.
    """
    pair = composed_pair(*claims, times=times)
    return PrivacyProfile(pair.delta)


def composed_pair(*claims: ApproxDP | PureDP, times: int = 1) -> FinitePair:
    """The pair of distributions that `optimal_composition` measures."""
    if not claims:
        raise DomainError("give at least one claim to compose")
    pairs = []
    for claim in claims:
        claim._known()
        f = approx_tradeoff(claim.value, getattr(claim, "delta", 0))
        pairs.append(f.pair() if f.y[0] > 0 else FinitePair([1, 0], [0, 1]))
    return reduce(FinitePair.product, pairs).power(times)


def compose_tradeoffs(*functions: Tradeoff, step: float = 1e-3, reach: float = 40.0) -> Tradeoff:
    """f ⊗ g ⊗ …: the trade-off function of the product experiments; tight for composition.

    Gaussian and piecewise linear functions compose exactly. Others are first replaced by a smaller
    piecewise linear function with losses on a lattice of width `step`: sound, nearly tight.
    """
    if not functions:
        raise DomainError("give at least one trade-off function")
    gaussian = [f for f in functions if isinstance(f, GaussianTradeoff)]
    if len(gaussian) == len(functions):
        return GaussianTradeoff(math.hypot(*(f.mu for f in gaussian)))
    if len(functions) == 1:
        return functions[0]
    linear = [
        f if isinstance(f, PiecewiseLinear) else lower_approximation(f, step, reach)
        for f in functions
    ]
    if any(f.y[0] == 0 for f in linear):
        return PiecewiseLinear([0.0, 1.0], [0.0, 0.0])
    return reduce(FinitePair.product, (f.pair() for f in linear)).tradeoff()


def parallel(*claims: Claim) -> Claim:
    """Mechanisms that each see their own part of the data: the worst of their guarantees.

    Holds when neighbouring inputs differ in one part only (one record added or removed, with a
    partition that looks at records one at a time). If neighbours can differ in two parts, as when a
    record is replaced, compose the two worst instead.
    """
    if not claims:
        raise DomainError("give at least one claim")
    kinds = {type(claim) for claim in claims}
    for claim in claims:
        claim._known()
    if kinds in ({PureDP, ApproxDP}, {ApproxDP}):
        delta = max(float(getattr(claim, "delta", 0)) for claim in claims)
        return ApproxDP(max(float(claim.value) for claim in claims), delta)
    if kinds == {RenyiDP}:
        order = min(float(claim.alpha) for claim in claims if isinstance(claim, RenyiDP))
        return RenyiDP(order, max(float(claim.value) for claim in claims))
    if len(kinds) == 1 and claims[0].main is not None:
        return max(claims, key=lambda claim: float(claim.value))
    return PrivacyProfile(lambda e: max(claim.delta_at(float(e)) for claim in claims))


def post_process(claim: Claim) -> Claim:
    """Whatever is computed from the output alone: the same guarantee (data-processing)."""
    return claim


def group(claim: Claim, size: int) -> Claim:
    """The guarantee for inputs that differ by `size` steps of the adjacency.

    Pure k·ε, Gaussian k·μ and zCDP k²·ρ; (kε, δ(e^(kε) − 1)/(e^ε − 1)); trade-off functions
    1 − (1 − f)∘…∘(1 − f). All tight, (ε, δ) for small δ. Rényi by Mironov's rule for groups of 2^c
    (rounded up to a power of two): (α/2^c, 3^c·ρ) when α ≥ 2^(c+1); not tight.
    """
    claim._known()
    k = domain.count(size, "size")
    if k == 1:
        return claim
    match claim:
        case PureDP():
            return PureDP(k * claim.value)
        case GaussianDP():
            return GaussianDP(k * claim.value)
        case ZCDP():
            return ZCDP(k * k * claim.value)
        case ApproxDP():
            eps, delta = float(claim.value), float(claim.delta)
            if delta == 0:
                return ApproxDP(k * eps, 0)
            growth = (
                k
                if eps == 0
                else math.expm1(k * eps) / math.expm1(eps)
                if eps < 700 / k
                else math.inf
            )
            return ApproxDP(k * eps, min(1.0, delta * growth))
        case RenyiDP():
            doublings = (k - 1).bit_length()
            alpha, rho = float(claim.alpha), float(claim.rho)
            if alpha < 2 ** (doublings + 1):
                raise DomainError(
                    f"a group of {k} needs an order of at least {2 ** (doublings + 1)}, got {alpha}"
                )
            return RenyiDP(alpha / 2**doublings, 3**doublings * rho)
        case TradeoffDP() | PrivacyProfile():
            return TradeoffDP(GroupTradeoff(conversions.tradeoff_of(claim), k))
    raise DomainError(f"no rule for groups is known for {claim}")


class GroupTradeoff(Tradeoff):
    """1 − (1 − f)∘…∘(1 − f), k times: f-DP for groups of k."""

    def __init__(self, f: Tradeoff, size: int) -> None:
        self.f, self.size = f, size

    def __repr__(self) -> str:
        return f"GroupTradeoff({self.f!r}, size={self.size})"

    def _values(self, x: np.ndarray[Any, np.dtype[np.float64]]) -> Any:
        power = np.asarray(x, dtype=float)
        for _ in range(self.size):
            power = 1 - self.f._values(power)
        return 1 - power
