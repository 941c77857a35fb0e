"""Trade-off functions: Neyman-Pearson, duality with profiles both ways, regions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpest.errors import DomainError
from dpest.notions import (
    ApproxDP,
    FinitePair,
    FromProfile,
    GaussianDP,
    GaussianTradeoff,
    LaplaceTradeoff,
    PiecewiseLinear,
    PrivacyRegion,
    RenyiRegion,
    approx_tradeoff,
    plot_regions,
)
from dpest.notions.tradeoff import FromFunction, lower_approximation
from notions.strategies import distributions

LEVELS = np.linspace(0, 1, 41)


@given(distributions(), distributions())
def test_no_test_beats_the_tradeoff_function(p, q):
    f = FinitePair(p, q).tradeoff()
    for size in range(5):
        for event in itertools.combinations(range(4), size):
            x = float(sum(p[i] for i in event))
            y = 1 - float(sum(q[i] for i in event))
            assert y >= f(x) - 1e-12


@given(distributions(), distributions(), st.floats(0, 4))
def test_conjugate_is_the_hockey_stick(p, q, epsilon):
    pair = FinitePair(p, q)
    assert pair.tradeoff().delta(epsilon) == pytest.approx(pair.reverse.delta(epsilon), abs=1e-12)
    assert pair.tradeoff().inverse.delta(epsilon) == pytest.approx(pair.delta(epsilon), abs=1e-12)


@given(distributions(), distributions())
def test_conjugating_twice_gives_the_function_back(p, q):
    pair = FinitePair(p, q)
    f = pair.tradeoff()
    back = FromProfile(pair.reverse.delta, pair.delta)
    assert back(LEVELS) == pytest.approx(np.asarray(f(LEVELS)), abs=1e-9)


@given(distributions(), distributions())
def test_the_pair_of_a_tradeoff_function_has_it(p, q):
    f = FinitePair(p, q).tradeoff()
    assert f.pair().tradeoff()(LEVELS) == pytest.approx(np.asarray(f(LEVELS)), abs=1e-12)
    assert f.inverse.inverse(LEVELS) == pytest.approx(np.asarray(f(LEVELS)), abs=1e-12)


@pytest.mark.parametrize(
    "f", [GaussianTradeoff(0.7), LaplaceTradeoff(1.3), approx_tradeoff(0.8, 0.02)]
)
def test_generic_code_agrees_with_closed_forms(f):
    plain = FromFunction(f)
    for eps in (0.0, 0.3, 1.0, 2.5):
        assert plain.delta(eps) == pytest.approx(f.delta(eps), abs=1e-10)
    assert FromProfile(f.delta)(LEVELS) == pytest.approx(np.asarray(f(LEVELS)), abs=1e-9)
    assert plain.inverse(LEVELS) == pytest.approx(np.asarray(f(LEVELS)), abs=1e-9)
    assert f.symmetric


@pytest.mark.parametrize("f", [GaussianTradeoff(0.7), LaplaceTradeoff(1.3)])
def test_lower_approximation_is_below_and_close(f):
    g = lower_approximation(f, 0.01)
    gap = np.asarray(f(LEVELS)) - np.asarray(g(LEVELS))
    assert gap.min() >= -1e-12
    assert gap.max() <= 1e-4
    coarse = np.asarray(f(LEVELS)) - np.asarray(lower_approximation(f, 0.1)(LEVELS))
    assert coarse.max() > gap.max()


def test_approx_tradeoff_formula():
    e, d = 0.7, 0.05
    wanted = np.maximum.reduce(
        [0 * LEVELS, 1 - d - math.exp(e) * LEVELS, math.exp(-e) * (1 - d - LEVELS)]
    )
    assert approx_tradeoff(e, d)(LEVELS) == pytest.approx(wanted, abs=1e-14)
    assert approx_tradeoff(math.inf, 0)(LEVELS) == pytest.approx(0 * LEVELS)
    assert approx_tradeoff(0, 0)(LEVELS) == pytest.approx(1 - LEVELS)


@given(distributions(), distributions(), st.floats(0, 3))
def test_the_privacy_region_characterises_approximate_dp(p, q, epsilon):
    pair = FinitePair(p, q)
    delta = max(pair.delta(epsilon), pair.reverse.delta(epsilon))
    inside, outside = PrivacyRegion(epsilon, min(1, delta + 1e-12)), None
    if delta > 1e-6:
        outside = PrivacyRegion(epsilon, delta - 1e-7)
    missed = False
    for size in range(5):
        for event in itertools.combinations(range(4), size):
            x = min(1.0, float(sum(p[i] for i in event)))
            y = max(0.0, 1 - float(sum(q[i] for i in event)))
            assert inside.contains(x, y)
            missed |= outside is not None and not outside.contains(x, y)
    assert outside is None or missed


@given(distributions(2), distributions(2), st.sampled_from([1.5, 2.0, 6.0]), st.floats(0.01, 2))
def test_the_renyi_region_is_that_of_two_valued_pairs(p, q, alpha, rho):
    pair = FinitePair(p, q)
    divergence = pair.renyi(alpha)
    if abs(divergence - rho) < 1e-9:
        return
    region = RenyiRegion({alpha: rho})
    assert region.contains(float(p[0]), 1 - float(q[0])) == (divergence <= rho)
    both = RenyiRegion({alpha: rho}, both=True)
    wanted = max(divergence, pair.reverse.renyi(alpha)) <= rho
    assert both.contains(float(p[0]), 1 - float(q[0])) == wanted


def test_the_renyi_region_has_the_boundary_of_the_seed():
    alpha, rho = 3.0, 0.4
    f = RenyiRegion({alpha: rho}).boundary()
    for x in (0.02, 0.2, 0.5):
        y = f(x)
        left = (1 - x) ** alpha * y ** (1 - alpha) + x**alpha * (1 - y) ** (1 - alpha)
        assert left == pytest.approx(math.exp(rho * (alpha - 1)), rel=1e-9)


def test_regions_can_be_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = plot_regions(
        [
            ("(0.5, 0.05)-DP", PrivacyRegion(0.5, 0.05)),
            ("Rényi 2", RenyiRegion({2.0: 0.2}, both=True)),
            ("Gaussian", GaussianTradeoff(0.5)),
        ]
    )
    curves = axes.get_lines()
    assert len(curves) == 4
    assert curves[2].get_ydata()[20] == pytest.approx(GaussianTradeoff(0.5)(0.1))
    import matplotlib.pyplot as plt

    plt.close(axes.figure)


@pytest.mark.parametrize(
    "call",
    [
        lambda: GaussianTradeoff(1)(1.1),
        lambda: GaussianTradeoff(1)(math.nan),
        lambda: GaussianTradeoff(1).delta(-1),
        lambda: PiecewiseLinear([0, 1], [1, 0.5, 0]),
        lambda: PiecewiseLinear([0, 0.5, 1], [1, 0.9, 0]),
        lambda: PiecewiseLinear([0, 1], [0, 1]),
        lambda: PiecewiseLinear([0.1, 1], [0.5, 0]),
        lambda: FromFunction(lambda x: 1 + 0 * x),
        lambda: FromFunction(lambda x: 1 - np.asarray(x) ** 0.5 - 0.9 * (np.asarray(x) > 0.5)),
        lambda: PrivacyRegion(-1, 0),
        lambda: PrivacyRegion(1, 0).contains(2, 0),
        lambda: RenyiRegion({}),
        lambda: RenyiRegion({1.0: 0.1}),
        lambda: lower_approximation(GaussianTradeoff(1), 0),
    ],
)
def test_domain_errors(call):
    with pytest.raises(DomainError):
        call()


def test_claims_and_tradeoff_functions_agree():
    assert GaussianDP(1).tradeoff()(0.2) == GaussianTradeoff(1)(0.2)
    assert ApproxDP(1, 0.1).tradeoff().delta(1) == pytest.approx(0.1)
