"""Composition, groups, subsampling: exact products, closed forms, dp-accounting."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpest.errors import DomainError
from dpest.notions import (
    ZCDP,
    ApproxDP,
    FinitePair,
    GaussianDP,
    GaussianTradeoff,
    LaplaceTradeoff,
    LossDistribution,
    PureDP,
    RenyiCurve,
    RenyiDP,
    SubsampledTradeoff,
    TradeoffDP,
    advanced_composition,
    approx_tradeoff,
    compose,
    compose_tradeoffs,
    group,
    optimal_composition,
    parallel,
    post_process,
    subsample,
    subsampled_gaussian,
    subsampled_gaussian_renyi,
)
from dpest.notions.closed_forms import GaussianMechanism, LaplaceMechanism
from notions.strategies import distributions


def test_sums():
    assert compose(PureDP(1), PureDP(2)) == PureDP(3)
    assert compose(PureDP(1), ApproxDP(2, 0.1), ApproxDP(0.5, 0.2)) == ApproxDP(3.5, 0.1 + 0.2)
    assert compose(RenyiDP(4, 1), RenyiDP(2, 0.5)) == RenyiDP(2.0, 1.5)
    assert compose(ZCDP(0.1), GaussianDP(1)) == ZCDP(0.6)
    assert compose(GaussianDP(3), GaussianDP(4)) == GaussianDP(5)
    assert compose(RenyiCurve({2: 0.1, 4: 0.2}), GaussianDP(1)).at(4) == pytest.approx(2.2)
    assert compose(PureDP(1)) == PureDP(1)
    assert post_process(ZCDP(1)) == ZCDP(1)
    with pytest.raises(DomainError):
        compose(ApproxDP(1, 1e-5), ZCDP(1))
    with pytest.raises(DomainError):
        compose()


@given(distributions(3), distributions(3), distributions(3), distributions(3), st.floats(0, 4))
@settings(max_examples=30)
def test_products_are_exact(p, q, p2, q2, epsilon):
    product = FinitePair(p, q).product(FinitePair(p2, q2))
    full = FinitePair([a * b for a in p for b in p2], [a * b for a in q for b in q2])
    assert product.delta(epsilon) == pytest.approx(full.delta(epsilon), abs=1e-12)
    assert product.renyi(3) == pytest.approx(full.renyi(3), rel=1e-9, abs=1e-12)
    bound = compose(
        ApproxDP(0.3, min(1, FinitePair(p, q).delta(0.3))),
        ApproxDP(0.5, min(1, FinitePair(p2, q2).delta(0.5))),
    )
    assert product.delta(0.8) <= bound.delta + 1e-12


@pytest.mark.parametrize(("eps", "delta", "k"), [(0.1, 1e-6, 30), (0.5, 0.0, 12), (1.0, 0.01, 3)])
def test_optimal_composition_against_its_closed_form(eps, delta, k):
    """Kairouz, Oh and Viswanath: δ at (k − 2i)ε."""
    profile = optimal_composition(ApproxDP(eps, delta), times=k)
    for i in range(k // 2 + 1):
        at = (k - 2 * i) * eps
        total = (
            sum(
                math.comb(k, j) * (math.exp((k - j) * eps) - math.exp((k - 2 * i + j) * eps))
                for j in range(i)
            )
            / (1 + math.exp(eps)) ** k
        )
        wanted = 1 - (1 - delta) ** k * (1 - total)
        assert profile.delta_at(at) == pytest.approx(wanted, rel=1e-8, abs=1e-14)
    advanced = advanced_composition(ApproxDP(eps, delta), k, 1e-3)
    assert profile.delta_at(advanced.epsilon) <= advanced.delta


def test_different_parts_compose_optimally():
    profile = optimal_composition(PureDP(0.3), ApproxDP(0.7, 1e-3), PureDP(0.2))
    assert profile.delta_at(1.2) == pytest.approx(1e-3, rel=1e-9)
    assert profile.delta_at(0.5) < 1e-3 + PureDP(1.2).delta_at(0.5)


def test_tradeoff_functions_compose():
    exact = compose_tradeoffs(GaussianTradeoff(0.6), GaussianTradeoff(0.8))
    assert exact(0.2) == pytest.approx(GaussianTradeoff(1.0)(0.2))
    f = approx_tradeoff(0.5, 0.01)
    pair = compose_tradeoffs(f, f)
    wanted = optimal_composition(ApproxDP(0.5, 0.01), times=2)
    assert pair.delta(0.4) == pytest.approx(wanted.delta_at(0.4), rel=1e-10)
    rounded = compose_tradeoffs(GaussianTradeoff(0.6), LaplaceTradeoff(0.5), step=0.02, reach=8)
    grid = np.linspace(0, 1, 21)
    fine = compose_tradeoffs(GaussianTradeoff(0.6), LaplaceTradeoff(0.5), step=0.01, reach=8)
    assert (np.asarray(rounded(grid)) <= np.asarray(fine(grid)) + 1e-12).all()
    assert np.asarray(fine(grid)) == pytest.approx(np.asarray(rounded(grid)), abs=1e-3)
    claim = compose(TradeoffDP(f), PureDP(0.2))
    assert claim.delta_at(0.7) == pytest.approx(0.01, rel=1e-9)


def test_loss_distributions_bound_from_above():
    pytest.importorskip("dp_accounting")
    loss = LossDistribution.of(GaussianMechanism(4), step=1e-3)
    composed, truth = loss.power(9).compose(loss.power(7)), GaussianMechanism(1)
    for eps in (0.0, 0.5, 3.0):
        assert truth.delta(eps) <= composed.delta(eps) <= truth.delta(eps) * (1 + 1e-3)
    assert truth.epsilon_at(1e-6) <= composed.epsilon_at(1e-6) <= truth.epsilon_at(1e-6) + 1e-3
    pair = FinitePair([0.7, 0.2, 0.1], [0.5, 0.1, 0.4])
    mixed = LossDistribution.of(pair, pair.reverse, step=1e-3).power(4)
    exact = pair.power(4)
    wanted = max(exact.delta(0.3), exact.reverse.delta(0.3))
    assert wanted <= mixed.delta(0.3) <= wanted + 1e-3


@given(st.floats(0.01, 2), st.floats(0, 0.2), st.integers(2, 5))
def test_groups(eps, delta, k):
    assert group(PureDP(eps), k) == PureDP(k * eps)
    assert group(GaussianDP(eps), k) == GaussianDP(k * eps)
    assert group(ZCDP(eps), k) == ZCDP(k * k * eps)
    claim = group(ApproxDP(eps, delta), k)
    f = group(TradeoffDP(approx_tradeoff(eps, delta)), k).f
    assert f.delta(k * eps) <= claim.delta + 1e-9
    # Tight for small δ: the group's own trade-off function has exactly this δ at kε.
    small = group(ApproxDP(eps / 4, delta / 100), k)
    f = group(TradeoffDP(approx_tradeoff(eps / 4, delta / 100)), k).f
    assert small.delta == pytest.approx(f.delta(k * eps / 4), abs=1e-9)


def test_groups_of_gaussians():
    f = group(TradeoffDP(GaussianTradeoff(0.4)), 3).f
    assert f(0.1) == pytest.approx(GaussianTradeoff(1.2)(0.1), rel=1e-9)
    assert group(RenyiDP(16, 0.1), 3) == RenyiDP(4.0, 0.9)
    assert (
        GaussianMechanism(5, 3).renyi(4)
        <= group(RenyiDP(16, GaussianMechanism(5).renyi(16)), 3).rho
    )
    with pytest.raises(DomainError):
        group(RenyiDP(2, 0.1), 2)


def test_parallel():
    assert parallel(PureDP(1), PureDP(2)) == PureDP(2)
    assert parallel(PureDP(1), ApproxDP(0.5, 0.1)) == ApproxDP(1.0, 0.1)
    assert parallel(RenyiDP(4, 1), RenyiDP(2, 3)) == RenyiDP(2.0, 3.0)
    assert parallel(PureDP(1), GaussianDP(1)).delta_at(0.9) == GaussianDP(1).delta_at(0.9)


# Subsampling -------------------------------------------------------------------------------------


@given(st.floats(0, 5), st.floats(0, 0.3), st.floats(0.01, 1))
def test_amplification_is_that_of_the_worst_mechanism(eps, delta, rate):
    """Sampling a record mixes P with Q: the dominating pair reaches the formula."""
    pair = approx_tradeoff(eps, delta).pair()
    mixed = FinitePair(rate * pair.p + (1 - rate) * pair.q, pair.q)
    claim = subsample(ApproxDP(eps, delta), rate)
    assert mixed.delta(claim.epsilon) == pytest.approx(claim.delta, abs=1e-10)
    assert subsample(PureDP(eps), 1).epsilon == pytest.approx(eps, rel=1e-12, abs=1e-15)


def test_subsampled_gaussian():
    for alpha in (2, 5, 20):
        whole = subsampled_gaussian_renyi(1.5, 0.1, alpha)
        assert subsampled_gaussian(1.5, 0.1).renyi(alpha) == pytest.approx(whole, rel=1e-9)
    assert subsampled_gaussian_renyi(2, 1, 3) == pytest.approx(3 / 8)
    f = SubsampledTradeoff(GaussianTradeoff(1 / 1.5), 0.1)
    direct = subsampled_gaussian(1.5, 0.1)
    for eps in (0.0, 0.1, 0.4):
        assert f.delta(eps) == pytest.approx(direct.delta(eps), rel=1e-8)


def test_subsampled_gaussian_against_dp_accounting():
    pytest.importorskip("dp_accounting")
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    # Whole orders only: at fractional ones its series stops early (16 % off at 1.5).
    for alpha in (2, 3, 7, 32):
        theirs = rdp._compute_rdp_poisson_subsampled_gaussian(0.05, 1.1, [alpha])[0]
        assert subsampled_gaussian_renyi(1.1, 0.05, alpha) == pytest.approx(theirs, rel=1e-8)


@pytest.mark.parametrize("alpha", [1.5, 7.25])
def test_subsampled_gaussian_at_fractional_orders(alpha):
    with mpmath.workdps(25):
        q, s, a = mpmath.mpf("0.05"), mpmath.mpf("1.1"), mpmath.mpf(alpha)

        def integrand(x):
            return mpmath.npdf(x, 0, s) * (1 - q + q * mpmath.exp((2 * x - 1) / (2 * s * s))) ** a

        total = mpmath.quad(integrand, [-20, -5, 0, 1, 5, 10, 20, 40])
        truth = float(mpmath.log(total) / (a - 1))
    assert subsampled_gaussian_renyi(1.1, 0.05, alpha) == pytest.approx(truth, rel=1e-10)


def test_laplace_composes_below_the_sum():
    pair = LaplaceTradeoff(0.5)
    twice = compose_tradeoffs(pair, pair, step=0.01, reach=1)
    assert twice.delta(0.5) < PureDP(1).delta_at(0.5)
    assert twice.delta(1.0) <= 1e-12
    assert LaplaceMechanism(2).delta(0.25) <= twice.delta(0.25)
