"""From one notion of privacy to another.

A conversion is *tight* when no better number follows from the premise alone. The functions named
`…_of` give the tight answer for any claim; `convert` does the same with the formula it used, and is
what `dpest convert` prints. All of it is sound: numerical optima err to the weaker guarantee, up to
rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.errors import DomainError, DpestError
from dpest.notions import domain
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
from dpest.notions.closed_forms import gaussian_delta, randomised_response_renyi
from dpest.notions.domain import Array, Number
from dpest.notions.profiles import LARGEST_EPSILON, invert
from dpest.notions.quadrature import integrate
from dpest.notions.regions import RenyiRegion
from dpest.notions.tradeoff import (
    FromProfile,
    GaussianTradeoff,
    PiecewiseLinear,
    Tradeoff,
    approx_tradeoff,
    as_tradeoff,
    symmetrised,
)

# Orders tried first for a curve that is known as a function.
_ORDERS = np.concatenate([1 + np.geomspace(1e-3, 1, 10), np.geomspace(2.5, 1e5, 30)])

_DENSE_ORDERS = 1 + np.geomspace(1e-3, 1e6, 271)


# (ε, δ) ------------------------------------------------------------------------------------------


def approx_to_delta(epsilon: Number, delta: Number, at: Number) -> float:
    """The least δ' with (at, δ')-DP for every (ε, δ)-DP mechanism. Tight."""
    e, d, target = float(domain.epsilon(epsilon)), float(domain.probability(delta)), float(at)
    domain.epsilon(at, "at")
    if target >= e:
        return d
    if e == math.inf:
        return 1.0
    return d + (1 - d) * -math.expm1(target - e) / (1 + math.exp(-e))


def approx_to_epsilon(epsilon: Number, delta: Number, at: Number) -> float:
    """The least ε' with (ε', at)-DP for every (ε, δ)-DP mechanism. Tight."""
    e, d = float(domain.epsilon(epsilon)), float(domain.probability(delta))
    target = float(domain.probability(at, "at"))
    if target == 1:
        return 0.0
    if target < d or e == math.inf:
        return math.inf
    shrink = (target - d) / (1 - d) * (1 + math.exp(-e))
    return max(0.0, e + math.log1p(-shrink)) if shrink < 1 else 0.0


# Rényi → (ε, δ) ----------------------------------------------------------------------------------


def renyi_to_epsilon(alpha: Number, rho: Number, delta: Number) -> float:
    """ε = ρ + log((α−1)/α) − (log δ + log α)/(α−1), clamped at 0. Good, not tight."""
    a, r = float(domain.order(alpha)), float(domain.non_negative(rho, "rho"))
    d = float(domain.probability(delta))
    if a == math.inf:
        return r
    if d == 0:
        return math.inf
    return max(0.0, r + math.log1p(-1 / a) - (math.log(d) + math.log(a)) / (a - 1))


def renyi_to_delta(alpha: Number, rho: Number, epsilon: Number) -> float:
    """The δ at which `renyi_to_epsilon` gives ε: e^((α−1)(ρ−ε)) (1−1/α)^(α−1)/α. Not tight."""
    a, r = float(domain.order(alpha)), float(domain.non_negative(rho, "rho"))
    e = float(domain.epsilon(epsilon))
    if a == math.inf:
        return 0.0 if e >= r else 1.0
    if e == math.inf:
        return 0.0 if r < math.inf else 1.0
    log_delta = (a - 1) * (r - e + math.log1p(-1 / a)) - math.log(a)
    return math.exp(min(0.0, log_delta))


def renyi_to_delta_optimal(
    alpha: Number, rho: Number, epsilon: Number, *, both: bool = False
) -> float:
    """The least δ that follows from (α, ρ)-Rényi DP, from the region of the 2-cut. Tight.

    `both` uses D^α in both directions, as a claim over a symmetric adjacency gives.
    """
    if domain.order(alpha) == math.inf:
        return approx_to_delta(rho, 0, epsilon)
    return RenyiRegion({float(alpha): float(rho)}, both=both).delta(epsilon)


def renyi_to_epsilon_optimal(
    alpha: Number, rho: Number, delta: Number, *, both: bool = False
) -> float:
    """The least ε that follows from (α, ρ)-Rényi DP, from the region of the 2-cut. Tight."""
    if domain.order(alpha) == math.inf:
        return approx_to_epsilon(rho, 0, delta)
    return RenyiRegion({float(alpha): float(rho)}, both=both).epsilon_at(delta)


def curve_to_epsilon(curve: RenyiCurve, delta: Number) -> tuple[float, float]:
    """The usual formula of `renyi_to_epsilon` at its best order, and that order. Not tight."""
    return _best_order(curve, lambda a, r: renyi_to_epsilon(a, r, delta))


def curve_to_delta(curve: RenyiCurve, epsilon: Number) -> tuple[float, float]:
    """`renyi_to_delta` at its best order, and that order. Not tight."""
    return _best_order(curve, lambda a, r: renyi_to_delta(a, r, epsilon))


def _best_order(curve: RenyiCurve, bound: Callable[[float, float], float]) -> tuple[float, float]:
    if curve.orders is not None:
        return min((bound(a, curve.at(a)), a) for a in curve.orders)
    values = [(bound(float(a), curve.at(float(a))), float(a)) for a in _ORDERS]
    k = min(range(len(values)), key=values.__getitem__)
    low = math.log(_ORDERS[max(0, k - 1)] - 1)
    high = math.log(_ORDERS[min(len(_ORDERS) - 1, k + 1)] - 1)
    from scipy.optimize import minimize_scalar

    def at(log_order: float) -> float:
        order = 1 + math.exp(log_order)
        return bound(order, curve.at(order))

    # Any order gives a sound bound, so a poor optimum costs tightness and never soundness.
    found = minimize_scalar(at, bounds=(low, high), method="bounded", options={"xatol": 1e-12})
    return min(values[k], (float(found.fun), 1 + math.exp(float(found.x))))


def curve_to_approx_optimal(
    curve: RenyiCurve,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    both: bool = False,
) -> float:
    """The least δ at `epsilon`, or the least ε at `delta`, that follows from a whole Rényi curve.

    Tight for the orders of a mapping. For a function the orders that bind at the best event are
    found one after another; each step is sound, the limit is tight.
    """
    if (epsilon is None) == (delta is None):
        raise DomainError("give either epsilon or delta")

    def solve(region: RenyiRegion) -> tuple[float, float]:
        if epsilon is not None:
            return region.delta(epsilon), float(epsilon)
        assert delta is not None
        value = region.epsilon_at(delta)
        return value, value

    if curve.orders is not None:
        known = {a: curve.at(a) for a in curve.orders if a < math.inf}
        pure = curve.at(math.inf) if math.inf in curve.orders else math.inf
        limit = epsilon_or_delta_of_pure(pure, epsilon, delta)
        return min(limit, solve(RenyiRegion(known, both=both))[0]) if known else limit
    start = curve_to_epsilon(curve, delta) if delta else curve_to_delta(curve, epsilon or 0)
    orders = {start[1]: curve.at(start[1])}
    if math.isinf(orders[start[1]]):
        return math.inf if delta is not None else 1.0
    best = math.inf
    for _ in range(25):
        region = RenyiRegion(orders, both=both)
        value, eps = solve(region)
        if not value < best - 1e-12 * abs(best) or value == 0 or math.isinf(eps):
            return min(best, value)
        best = value
        order = _most_broken(curve, *region.best_event(eps), both)
        if order is None or order in orders:
            return best
        orders[order] = curve.at(order)
    return best


def _most_broken(curve: RenyiCurve, p: float, q: float, both: bool) -> float | None:
    """The order at which the two-valued pair (p, q) exceeds the curve the most, if at any."""
    from scipy.optimize import minimize_scalar

    from dpest.notions.pairs import FinitePair

    if not 0 < q < p < 1:
        return None
    logs = ([math.log(p), math.log1p(-p)], [math.log(q), math.log1p(-q)])
    pair = FinitePair(*map(np.array, logs), log=True)

    def slack(log_order: float) -> float:
        order = 1 + math.exp(log_order)
        divergence = pair.renyi(order)
        if both:
            divergence = max(divergence, pair.reverse.renyi(order))
        return curve.at(order) - divergence

    grid = np.log(_ORDERS - 1)
    values = [slack(float(x)) for x in grid]
    k = int(np.argmin(values))
    bounds = (float(grid[max(0, k - 1)]), float(grid[min(len(grid) - 1, k + 1)]))
    found = minimize_scalar(slack, bounds=bounds, method="bounded", options={"xatol": 1e-9})
    return 1 + math.exp(float(found.x)) if found.fun < 0 else None


def epsilon_or_delta_of_pure(pure: float, epsilon: Number | None, delta: Number | None) -> float:
    """What ε-DP gives at the one of `epsilon` and `delta` that is known."""
    if epsilon is not None:
        return approx_to_delta(pure, 0, epsilon)
    return approx_to_epsilon(pure, 0, delta if delta is not None else 0)


# Others ------------------------------------------------------------------------------------------


def pure_to_zcdp(epsilon: Number) -> float:
    """ρ = ε·tanh(ε/2), the Kullback-Leibler divergence of randomised response. Tight."""
    e = float(domain.epsilon(epsilon))
    return e * math.tanh(e / 2) if e < math.inf else math.inf


def pure_to_gdp(epsilon: Number) -> float:
    """μ = 2·Φ⁻¹(e^ε/(1 + e^ε)): G_μ touches the corner of f_ε. Tight."""
    from scipy.special import ndtri_exp

    e = float(domain.epsilon(epsilon))
    return math.inf if e == math.inf else abs(2 * float(ndtri_exp(-e - math.log1p(math.exp(-e)))))


def gdp_to_epsilon(mu: Number, delta: Number) -> float:
    """The least ε with (ε, delta)-DP, by inverting the analytic Gaussian profile. Tight."""
    m, d = float(domain.non_negative(mu, "mu")), float(domain.probability(delta))
    if d == 0:
        return 0.0 if m == 0 else math.inf
    return invert(lambda e: gaussian_delta(m, e), d)


def approx_to_gdp(epsilon: Number, delta: Number) -> float:
    """The μ whose Gaussian profile passes through (ε, δ): for calibration, not an implication."""
    e, d = float(domain.epsilon(epsilon)), float(domain.probability(delta))
    if d == 1:
        return math.inf
    low, high = 0.0, 1.0
    while gaussian_delta(high, e) < d:
        high *= 2
    while high - low > 1e-15 * high and high > 1e-300:
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, e) <= d else (low, middle)
    return low


def profile_to_renyi(
    delta: Callable[[Any], Any], alpha: Number, reverse_delta: Callable[[Any], Any] | None = None
) -> float:
    """D^α(P‖Q) from δ = Δ^·(P‖Q) and its reverse, to about 8 digits. An identity, so tight.

    e^((α−1)D) = 1 + α(α−1)·∫₀^∞ [e^((α−1)ε) δ(ε) + e^(−αε) δ_rev(ε)] dε. Without the reverse the
    profile is taken to hold in both directions.
    """
    a = float(domain.order(alpha))
    back = reverse_delta or delta
    if a == math.inf:
        return invert(delta, 0.0)
    if float(delta(math.inf)) > 0:
        return math.inf

    forth, rest = _elementwise(delta), _elementwise(back)

    def log_integrand(e: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.logaddexp((a - 1) * e + np.log(forth(e)), -a * e + np.log(rest(e)))

    # Where δ vanishes in both directions, truly or by underflow.
    low, high = 0.0, LARGEST_EPSILON
    for _ in range(60):
        middle = (low + high) / 2
        positive = float(delta(middle)) > 0 or float(back(middle)) > 0
        low, high = (middle, high) if positive else (low, middle)
    ends = np.unique(np.concatenate([[0.0], high * 2.0 ** np.arange(-12, 1)]))
    logs = log_integrand(np.linspace(0.0, high, 400))
    peak = float(logs.max())
    if peak == -math.inf:
        return 0.0
    if float(log_integrand(np.array([low]))[0]) > peak - 25:
        raise DpestError(
            f"δ(ε) is too small for a double where the Rényi divergence of order {a:g} is decided; "
            "use a closed form or a smaller order"
        )
    # e^(log) has lost digits to the size of the logarithm: a finer tolerance would chase rounding.
    area = integrate(lambda e: np.exp(log_integrand(e) - peak), ends, tolerance=1e-10)
    total = math.log(area) + peak
    return float(np.logaddexp(0.0, math.log(a * (a - 1)) + total)) / (a - 1)


def _elementwise(function: Callable[[Any], Any]) -> Callable[[Array], Array]:
    return np.vectorize(lambda x: float(function(float(x))), otypes=[float])


# Any claim ---------------------------------------------------------------------------------------


def delta_of(claim: Claim, epsilon: Number) -> float:
    """The least δ with (epsilon, δ)-DP that follows from a claim."""
    eps = domain.epsilon(epsilon)
    match claim:
        case PureDP():
            return approx_to_delta(known(claim.epsilon), 0, eps)
        case ApproxDP():
            return approx_to_delta(known(claim.epsilon), known(claim.delta), eps)
        case RenyiDP():
            return renyi_to_delta_optimal(known(claim.alpha), known(claim.rho), eps, both=True)
        case ZCDP() | RenyiCurve():
            return curve_to_approx_optimal(curve_of(claim), epsilon=eps, both=True)
        case GaussianDP():
            return gaussian_delta(float(claim.mu), float(eps))
        case TradeoffDP():
            return float(tradeoff_of(claim).delta(float(eps)))
        case PrivacyProfile():
            return float(domain.probability(float(claim.delta_of_epsilon(float(eps)))))
    raise DomainError(f"{claim!r} is no claim that can be converted")


def epsilon_of(claim: Claim, delta: Number) -> float:
    """The least ε with (ε, delta)-DP that follows from a claim."""
    d = domain.probability(delta)
    match claim:
        case PureDP():
            return approx_to_epsilon(known(claim.epsilon), 0, d)
        case ApproxDP():
            return approx_to_epsilon(known(claim.epsilon), known(claim.delta), d)
        case RenyiDP():
            return renyi_to_epsilon_optimal(known(claim.alpha), known(claim.rho), d, both=True)
        case ZCDP(rho=0):
            return 0.0
        case ZCDP() | RenyiCurve():
            if d == 0 and (isinstance(claim, ZCDP) or claim.orders is None):
                return math.inf
            return curve_to_approx_optimal(curve_of(claim), delta=d, both=True)
        case GaussianDP():
            return gdp_to_epsilon(known(claim.mu), d)
    return invert(lambda e: delta_of(claim, e), float(d))


def curve_of(claim: ZCDP | RenyiCurve) -> RenyiCurve:
    """A claim about many orders, as a curve."""
    if isinstance(claim, RenyiCurve):
        return claim
    rho = float(claim.rho)
    return RenyiCurve(lambda alpha: rho * alpha)


def renyi_of(claim: Claim, alpha: Number) -> float:
    """The least ρ with (alpha, ρ)-Rényi DP that follows from a claim."""
    a = float(domain.order(alpha))
    match claim:
        case PureDP():
            e = float(claim.epsilon)
            return e if math.inf in (a, e) else randomised_response_renyi(e, a)
        case ApproxDP(delta=0):
            return renyi_of(PureDP(claim.epsilon), a)
        case ApproxDP():
            return math.inf
        case RenyiDP():
            return float(claim.rho) if a <= float(claim.alpha) else math.inf
        case ZCDP():
            return float(claim.rho) * a if claim.rho != 0 else 0.0
        case GaussianDP():
            return a * float(claim.mu) ** 2 / 2 if claim.mu != 0 else 0.0
        case RenyiCurve():
            return claim.at(a)
        case TradeoffDP():
            f = tradeoff_of(claim)
            if isinstance(f, PiecewiseLinear):
                pair = f.pair()
                return max(pair.renyi(a), pair.reverse.renyi(a))
            if isinstance(f, GaussianTradeoff):
                return a * f.mu**2 / 2
            return profile_to_renyi(f.delta, a)
        case PrivacyProfile():
            return profile_to_renyi(claim.delta_of_epsilon, a)
    raise DomainError(f"{claim!r} is no claim that can be converted")


def tradeoff_of(claim: Claim) -> Tradeoff:
    """The greatest symmetric f with f-DP that follows from a claim."""
    match claim:
        case PureDP():
            return approx_tradeoff(known(claim.epsilon), 0)
        case ApproxDP():
            return approx_tradeoff(known(claim.epsilon), known(claim.delta))
        case GaussianDP():
            return GaussianTradeoff(known(claim.mu))
        case TradeoffDP():
            return symmetrised(as_tradeoff(claim.f))
        case PrivacyProfile():
            return FromProfile(claim.delta_of_epsilon)
        case RenyiDP() if claim.alpha == math.inf:
            return approx_tradeoff(known(claim.rho), 0)
        case RenyiDP():
            return RenyiRegion({float(claim.alpha): float(claim.rho)}, both=True).boundary()
        case ZCDP() | RenyiCurve():
            # Finitely many orders of a function: sound, and tight up to their spacing.
            curve = curve_of(claim)
            orders = [a for a in curve.orders or map(float, _DENSE_ORDERS) if a < math.inf]
            if orders:
                return RenyiRegion({a: curve.at(a) for a in orders}, both=True).boundary()
            return approx_tradeoff(curve.at(math.inf), 0)
    raise DomainError(f"{claim!r} is no claim that can be converted")
