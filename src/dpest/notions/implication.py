"""The order between guarantees, and the least number of a notion that a measured loss satisfies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpest.errors import DomainError, DpestError
from dpest.notions import conversions
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
    known,
)
from dpest.notions.pairs import FinitePair
from dpest.notions.tradeoff import GaussianTradeoff, as_tradeoff

_SLACK = 1e-12
# Levels, ε and α at which functions are compared.
_LEVELS = np.concatenate([np.geomspace(1e-9, 0.01, 40), np.linspace(0.01, 1, 100)])
_EPSILONS = np.concatenate([[0.0], np.geomspace(1e-3, 30, 60)])
_ORDERS = 1 + np.geomspace(1e-3, 1e4, 60)


def implies(a: Claim, b: Claim) -> bool:
    """Whether every mechanism that satisfies `a` satisfies `b`, as far as is known.

    True is a theorem, up to rounding (and up to a fine grid where a or b is a function). False is
    exact where the conversion is tight; from Rényi claims to other Rényi, zCDP or GDP claims it
    means "no rule here shows it".
    """
    for claim in (a, b):
        if not claim.resolved:
            raise DomainError(f"{claim!r} has parameters without values; resolve it first")
    if a == b:
        return True
    match b:
        case PureDP():
            return _below(conversions.epsilon_of(a, 0), b.epsilon)
        case ApproxDP():
            return _below(conversions.delta_of(a, known(b.epsilon)), b.delta)
        case RenyiDP():
            return _below(conversions.renyi_of(a, known(b.alpha)), b.rho)
        case RenyiCurve():
            orders = b.orders or tuple(map(float, _ORDERS))
            return all(_below(conversions.renyi_of(a, x), b.at(x)) for x in orders)
        case ZCDP():
            return _below(zcdp_of(a), b.rho)
        case GaussianDP():
            return _below(gdp_of(a), b.mu)
        case PrivacyProfile():
            return all(
                _below(conversions.delta_of(a, float(e)), float(b.delta_of_epsilon(float(e))))
                for e in _EPSILONS
            )
        case TradeoffDP():
            wanted = np.asarray(as_tradeoff(b.f)(_LEVELS))
            given = np.asarray(conversions.tradeoff_of(a)(_LEVELS))
            return bool((given >= wanted - 1e-11).all())
    raise DomainError(f"{b!r} is no claim that can be compared")


def _below(value: Any, limit: Any) -> bool:
    return bool(float(value) <= float(limit) * (1 + _SLACK))


def zcdp_of(claim: Claim) -> float:
    """The least ρ with ρ-zCDP that follows from a claim; infinite when no rule gives one."""
    match claim:
        case ZCDP():
            return float(claim.rho)
        case PureDP():
            return conversions.pure_to_zcdp(known(claim.epsilon))
        case ApproxDP(delta=0):
            return conversions.pure_to_zcdp(known(claim.epsilon))
        case ApproxDP():
            return math.inf
        case GaussianDP():
            return float(claim.mu) ** 2 / 2
        case RenyiDP():
            pure = claim.alpha == math.inf
            return conversions.pure_to_zcdp(known(claim.rho)) if pure else math.inf
        case RenyiCurve() if claim.orders is not None and claim.orders[-1] < math.inf:
            return math.inf
        case TradeoffDP(f=GaussianTradeoff() as f):
            return f.mu**2 / 2
    return max(conversions.renyi_of(claim, float(a)) / float(a) for a in _ORDERS)


def gdp_of(claim: Claim) -> float:
    """The least μ with μ-GDP that follows from a claim; infinite when no rule gives one."""
    match claim:
        case GaussianDP():
            return float(claim.mu)
        case PureDP() | ApproxDP(delta=0):
            return conversions.pure_to_gdp(known(claim.epsilon))
        case RenyiDP(alpha=math.inf):
            return conversions.pure_to_gdp(known(claim.rho))
        case TradeoffDP() | PrivacyProfile():
            f = conversions.tradeoff_of(claim)
            return f.mu if isinstance(f, GaussianTradeoff) else _mu_below(f, _LEVELS)
    return math.inf


def _mu_below(f: Any, levels: Any) -> float:
    """sup over levels of Φ⁻¹(1 − x) − Φ⁻¹(f(x)): the least μ with G_μ ≤ f there."""
    from scipy.special import ndtri

    x = np.asarray(levels, dtype=float)
    y = np.asarray(f(x), dtype=float)
    with np.errstate(invalid="ignore"):
        mu = -ndtri(x) - ndtri(y)
    mu = np.where((x <= 0) & (y >= 1), 0.0, np.where((x >= 1) & (y <= 0), 0.0, mu))
    return max(0.0, float(np.max(mu)))


def least(claim: Claim, *losses: Any) -> float:
    """The least main number of `claim`'s notion that the measured losses satisfy.

    A loss has `.delta(eps)` and `.renyi(alpha)`; give both directions of a pair that is not
    symmetric. For PureDP the least ε; for ApproxDP the least ε at the claim's δ; for RenyiDP ρ at
    its α; for ZCDP sup D^α/α; for GaussianDP the least μ. The claim holds for these losses exactly
    when its own number is at least this. The suprema of zCDP and GDP are numerical: they are
    reached from below, so they are sound as lower bounds on what the mechanism leaks.
    """
    if not losses:
        raise DomainError("give at least one loss")
    match claim:
        case PureDP():
            return max(float(loss.renyi(math.inf)) for loss in losses)
        case ApproxDP():
            return max(_epsilon_at(loss, float(claim.delta)) for loss in losses)
        case RenyiDP():
            return max(float(loss.renyi(float(claim.alpha))) for loss in losses)
        case ZCDP():
            return max(_least_zcdp(loss) for loss in losses)
        case GaussianDP():
            return max(_least_gdp(loss) for loss in losses)
    raise DomainError(f"{claim} has no single number to measure; use satisfies")


def satisfies(claim: Claim, *losses: Any) -> bool:
    """Whether measured losses satisfy a claim, up to 1e-12 (functions: on a fine grid)."""
    if claim.main is not None:
        return _below(least(claim, *losses), claim.value)
    if isinstance(claim, RenyiCurve):
        orders = claim.orders or tuple(map(float, _ORDERS))
        return all(_below(loss.renyi(a), claim.at(a)) for loss in losses for a in orders)
    limit = claim.delta_at
    return all(
        float(loss.delta(float(e))) <= limit(float(e)) + 1e-12 for loss in losses for e in _EPSILONS
    )


def _epsilon_at(loss: Any, delta: float) -> float:
    own = getattr(loss, "epsilon_at", None)
    if own is not None:
        return float(own(delta))
    if delta == 0:
        return float(loss.renyi(math.inf))
    from dpest.notions.profiles import invert

    return invert(loss.delta, delta)


def _least_zcdp(loss: Any) -> float:
    from scipy.optimize import minimize_scalar

    def ratio(log_order: float) -> float:
        order = 1 + math.exp(log_order)
        return float(loss.renyi(order)) / order

    grid = np.log(_ORDERS - 1)
    values = [ratio(float(x)) for x in grid]
    if math.inf in values:
        return math.inf
    k = int(np.argmax(values))
    bounds = (float(grid[max(0, k - 1)]), float(grid[min(len(grid) - 1, k + 1)]))
    found = minimize_scalar(lambda x: -ratio(x), bounds=bounds, method="bounded")
    try:
        limit = float(loss.renyi(1))
    except (DpestError, ValueError):  # not every loss offers the limit at 1
        limit = 0.0
    return max(*values, -float(found.fun), limit)


def _least_gdp(loss: Any) -> float:
    if isinstance(loss, FinitePair):
        # Chords of a convex G_μ lie above it: the corners of f decide.
        f = loss.tradeoff()
        if f.y[0] < 1 - 1e-15 or f.x[np.argmin(f.y)] < 1 - 1e-15:
            return math.inf
        return _mu_below(f, f.x)
    if float(loss.delta(math.inf)) > 0:
        return math.inf
    from scipy.optimize import minimize_scalar

    def mu_at(eps: float) -> float:
        delta = float(loss.delta(eps))
        return conversions.approx_to_gdp(eps, delta) if delta > 1e-290 else 0.0

    values = [mu_at(float(e)) for e in _EPSILONS]
    k = int(np.argmax(values))
    bounds = (float(_EPSILONS[max(0, k - 1)]), float(_EPSILONS[min(len(values) - 1, k + 1)]))
    found = minimize_scalar(lambda e: -mu_at(float(e)), bounds=bounds, method="bounded")
    return max(*values, -float(found.fun))
