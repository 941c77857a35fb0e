"""Conversions: never tighter than the truth, tight where they say so, and known values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpest.errors import DomainError, DpestError
from dpest.notions import (
    ZCDP,
    ApproxDP,
    FinitePair,
    GaussianDP,
    GaussianTradeoff,
    PrivacyProfile,
    PureDP,
    RenyiCurve,
    RenyiDP,
    RenyiRegion,
    TradeoffDP,
    convert,
    implies,
    least,
    satisfies,
)
from dpest.notions import conversions as c
from dpest.notions.closed_forms import GaussianMechanism, LaplaceMechanism, RandomisedResponse
from notions.strategies import distributions

pairs = st.builds(FinitePair, distributions(3, positive=True), distributions(3, positive=True))


def both(pair, question):
    return max(question(pair), question(pair.reverse))


@given(pairs, st.sampled_from([1.2, 2.0, 5.0, 30.0]), st.sampled_from([0.3, 0.01, 1e-6]))
@settings(max_examples=25)
def test_renyi_conversions_are_never_tighter_than_the_truth(pair, alpha, delta):
    rho = pair.renyi(alpha)
    truth = pair.epsilon_at(delta)
    optimal = c.renyi_to_epsilon_optimal(alpha, rho, delta)
    assert truth <= optimal + 1e-9
    assert optimal <= c.renyi_to_epsilon(alpha, rho, delta) + 1e-9
    symmetric = c.renyi_to_epsilon_optimal(
        alpha, both(pair, lambda s: s.renyi(alpha)), delta, both=True
    )
    assert truth <= symmetric + 1e-9


@given(pairs, st.floats(0, 3))
@settings(max_examples=25)
def test_the_other_conversions_are_never_tighter_than_the_truth(pair, epsilon):
    delta = both(pair, lambda s: float(s.delta(epsilon)))
    pure = PureDP(pair.epsilon)
    approx = ApproxDP(epsilon, min(1.0, delta))
    for at in (0.0, 0.2, 1.0, 4.0):
        truth = both(pair, lambda s, at=at: float(s.delta(at)))
        assert truth <= pure.delta_at(at) + 1e-12
        if at <= epsilon:
            assert truth <= approx.delta_at(at) + 1e-12
    for alpha in (1.1, 2, 10):
        assert both(pair, lambda s: s.renyi(alpha)) <= pure.renyi_at(alpha) + 1e-9
    assert least(ZCDP(1), pair, pair.reverse) <= c.pure_to_zcdp(pair.epsilon) + 1e-9
    assert least(GaussianDP(1), pair, pair.reverse) <= c.pure_to_gdp(pair.epsilon) + 1e-9


@given(pairs, st.floats(1.05, 20))
@settings(max_examples=8)
def test_the_renyi_divergence_from_the_profile(pair, alpha):
    found = c.profile_to_renyi(pair.delta, alpha, pair.reverse.delta)
    assert found == pytest.approx(pair.renyi(alpha), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("alpha", "rho"), [(1.3, 0.5), (2, 0.1), (10, 0.02), (50, 3.0)])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0])
def test_the_optimal_conversion_is_reached_by_a_two_valued_pair(alpha, rho, epsilon):
    """Tightness: an actual pair of distributions has D^α = ρ and the whole δ."""
    region = RenyiRegion({alpha: rho})
    p, q = region.best_event(epsilon)
    pair = FinitePair([p, 1 - p], [q, 1 - q])
    assert pair.renyi(alpha) == pytest.approx(rho, rel=1e-6)
    assert pair.delta(epsilon) == pytest.approx(region.delta(epsilon), rel=1e-7)
    assert region.epsilon_at(region.delta(epsilon)) == pytest.approx(epsilon, rel=1e-7)


def test_a_grid_finds_nothing_better_than_the_optimal_conversion():
    region, best = RenyiRegion({3.0: 0.3}), 0.0
    grid = np.geomspace(1e-4, 0.999, 300)
    for p in grid:
        q = grid[grid < p]
        inside = p**3 * q**-2 + (1 - p) ** 3 * (1 - q) ** -2 <= math.exp(0.6)
        best = max(best, float(np.max(p - math.exp(0.2) * q[inside], initial=0.0)))
    assert best <= region.delta(0.2)
    assert best == pytest.approx(region.delta(0.2), rel=0.05)


def test_the_seed_formula():
    a, r, d = 4.0, 0.2, 1e-5
    wanted = r + math.log((a - 1) / a) - (math.log(d) + math.log(a)) / (a - 1)
    assert c.renyi_to_epsilon(a, r, d) == pytest.approx(wanted, rel=1e-14)
    assert c.renyi_to_delta(a, r, wanted) == pytest.approx(d, rel=1e-12)
    assert c.renyi_to_epsilon(a, r, 0.9) == 0
    assert c.renyi_to_epsilon(a, r, 0) == math.inf
    assert c.renyi_to_epsilon_optimal(a, 0, 1e-5) == 0


def test_the_formula_over_orders_agrees_with_dp_accounting():
    pytest.importorskip("dp_accounting")
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    orders = [1.5, 2.0, 4.0, 8.0, 16.0, 32.0]
    rho = [a * 0.03 for a in orders]
    theirs, order = rdp.compute_epsilon(orders, rho, 1e-5)
    ours = c.curve_to_epsilon(RenyiCurve(dict(zip(orders, rho, strict=True))), 1e-5)
    assert ours == pytest.approx((theirs, order), rel=1e-8)


def test_zcdp_lies_between_its_gaussian_and_the_closed_formula():
    for rho in (0.01, 0.2, 2.0):
        gaussian = GaussianDP(math.sqrt(2 * rho)).epsilon_at(1e-6)
        optimal = ZCDP(rho).epsilon_at(1e-6)
        formula, _ = c.curve_to_epsilon(c.curve_of(ZCDP(rho)), 1e-6)
        assert gaussian <= optimal <= formula
        assert ZCDP(rho).delta_at(optimal) == pytest.approx(1e-6, rel=1e-6)


def test_pure_dp_is_met_by_randomised_response():
    form = RandomisedResponse(0.8)
    assert PureDP(0.8).delta_at(0.3) == pytest.approx(form.delta(0.3), rel=1e-12)
    assert PureDP(0.8).renyi_at(3) == pytest.approx(form.renyi(3), rel=1e-12)
    assert least(ZCDP(1), form) == pytest.approx(c.pure_to_zcdp(0.8), rel=1e-7)
    assert least(GaussianDP(1), form.pair) == pytest.approx(c.pure_to_gdp(0.8), rel=1e-9)
    assert PureDP(0.8).epsilon_at(PureDP(0.8).delta_at(0.3)) == pytest.approx(0.3)


def test_calibrating_a_gaussian():
    mu = c.approx_to_gdp(1.0, 1e-5)
    assert GaussianMechanism(1, mu).delta(1.0) == pytest.approx(1e-5, rel=1e-9)


def test_least_numbers_of_closed_forms():
    assert least(PureDP(1), LaplaceMechanism(2)) == 0.5
    assert least(RenyiDP(3, 1), GaussianMechanism(2)) == 0.375
    assert least(ZCDP(1), GaussianMechanism(2)) == pytest.approx(0.125, rel=1e-12)
    assert least(GaussianDP(1), GaussianMechanism(2)) == pytest.approx(0.5, rel=1e-9)
    assert least(ApproxDP(1, 1e-5), GaussianMechanism(2)) == GaussianMechanism(2).epsilon_at(1e-5)
    assert least(ZCDP(1), FinitePair([1.0, 0.0], [0.5, 0.5]).reverse) == math.inf
    assert satisfies(GaussianDP(0.5), GaussianMechanism(2))
    assert not satisfies(GaussianDP(0.49), GaussianMechanism(2))
    assert satisfies(TradeoffDP(GaussianTradeoff(0.5)), GaussianMechanism(2))
    assert not satisfies(PrivacyProfile(lambda e: 1e-3), GaussianMechanism(2))
    assert satisfies(RenyiCurve({2: 0.25, 9: 1.2}), GaussianMechanism(2))


# Order -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        (PureDP(1), PureDP(2), True),
        (PureDP(2), PureDP(1), False),
        (PureDP(1), ApproxDP(1, 0), True),
        (ApproxDP(1, 0), PureDP(1), True),
        (ApproxDP(1, 1e-9), PureDP(5), False),
        (PureDP(1), ApproxDP(0.9, 0.1), True),
        (PureDP(1), ApproxDP(0.9, 0.01), False),
        (PureDP(1), ZCDP(0.5), True),
        (PureDP(1), ZCDP(0.46), False),
        (PureDP(1), GaussianDP(1.2321), True),
        (PureDP(1), GaussianDP(1.2320), False),
        (GaussianDP(1), ZCDP(0.5), True),
        (ZCDP(0.5), RenyiDP(4, 2), True),
        (ZCDP(0.5), RenyiDP(4, 1.99), False),
        (RenyiDP(4, 1), RenyiDP(3, 1), True),
        (RenyiDP(3, 1), RenyiDP(4, 1), False),
        (RenyiDP(2, 0.1), ApproxDP(7.875, 1e-5), True),
        (RenyiDP(2, 0.1), ApproxDP(7.874, 1e-5), False),
        (GaussianDP(1), TradeoffDP(GaussianTradeoff(1.1)), True),
        (GaussianDP(1), TradeoffDP(GaussianTradeoff(0.9)), False),
        (TradeoffDP(GaussianTradeoff(1)), GaussianDP(1), True),
        (GaussianDP(1), PrivacyProfile(GaussianMechanism(0.9).delta), True),
        (GaussianDP(1), PrivacyProfile(GaussianMechanism(1.1).delta), False),
        (RenyiCurve({2: 0.1, 8: 0.4}), RenyiCurve({2: 0.1}), True),
        (RenyiCurve({2: 0.1}), RenyiCurve({2: 0.1, 8: 0.4}), False),
        (PureDP(math.inf), PureDP(1), False),
        (PureDP(1), PureDP(math.inf), True),
    ],
)
def test_implies(a, b, wanted):
    assert implies(a, b) is wanted
    assert a.implies(b) is wanted


def test_implies_needs_numbers():
    with pytest.raises(DomainError, match="resolve"):
        implies(PureDP("eps"), PureDP(1))


# convert -----------------------------------------------------------------------------------------


def test_convert_states_formula_and_tightness():
    tight = convert(RenyiDP(2, 0.1), "approx", delta=1e-5)
    closed = convert(RenyiDP(2, 0.1), "approx", delta=1e-5, closed_form=True)
    assert tight.tight
    assert not closed.tight
    assert tight.result.epsilon < closed.result.epsilon
    assert "log δ" in closed.formula
    assert convert(GaussianDP(1), "renyi", alpha=8).result == RenyiDP(8, 4.0)
    assert convert(GaussianDP(1), "zcdp").result == ZCDP(0.5)
    assert convert(ApproxDP(1, 0.1), "approx", epsilon=0).result.delta > 0.1
    assert convert(PureDP(1), "zcdp").result.rho == pytest.approx(math.tanh(0.5))


@pytest.mark.parametrize(
    ("claim", "to", "numbers"),
    [
        (PureDP(1), "approx", {}),
        (PureDP(1), "approx", {"delta": 0.1, "epsilon": 0.1}),
        (PureDP(1), "renyi", {}),
        (PureDP(1), "renyi", {"alpha": 1}),
        (PureDP(1), "gdp", {"delta": 0.1}),
        (PureDP(1), "magic", {}),
        (PureDP("eps"), "gdp", {}),
        (ApproxDP(1, 1e-5), "zcdp", {}),
        (ApproxDP(1, 1e-5), "pure", {}),
        (GaussianDP(1), "pure", {}),
        (RenyiDP(2, 0.1), "approx", {"delta": 1.5}),
        (RenyiDP(2, 0.1), "approx", {"epsilon": -1}),
        (RenyiDP(2, 0.1), "approx", {"delta": math.nan}),
    ],
)
def test_convert_refuses(claim, to, numbers):
    with pytest.raises(DomainError):
        convert(claim, to, **numbers)


@pytest.mark.parametrize("eps", [0.01, 0.5, 2.0, 8.0])
def test_pure_to_zcdp_is_the_supremum_over_orders(eps):
    reached = least(ZCDP(1), RandomisedResponse(eps))
    assert reached <= c.pure_to_zcdp(eps) * (1 + 1e-12)
    assert reached == pytest.approx(c.pure_to_zcdp(eps), rel=1e-9)


def test_a_large_epsilon_is_not_infinite():
    assert GaussianDP(40).epsilon_at(1e-6) == pytest.approx(989.1922, rel=1e-6)
    assert GaussianDP(math.inf).epsilon_at(1e-6) == math.inf
    assert RenyiDP(2, 1e4).epsilon_at(1e-6) < 1.1e4


def test_a_profile_that_underflows_says_so():
    """δ of 1-GDP is below every double where the divergence of order 64 comes from."""
    profile = PrivacyProfile(GaussianDP(1).delta_at)
    assert profile.renyi_at(4) == pytest.approx(2.0, rel=1e-8)
    with pytest.raises(DpestError, match="too small"):
        profile.renyi_at(64)


def test_small_terms_of_the_profile_integral_survive():
    profile = PrivacyProfile(RandomisedResponse(3.0).delta)
    for alpha in (1.01, 2, 50, 400):
        assert profile.renyi_at(alpha) == pytest.approx(PureDP(3).renyi_at(alpha), rel=1e-6)
