"""Divergences of finite distributions and densities: their laws, and high-precision values."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpest.errors import DomainError
from dpest.notions import (
    Density,
    DensityPair,
    FinitePair,
    f_divergence,
    hockey_stick,
    k_cut,
    kl_divergence,
    max_divergence,
    renyi_divergence,
    total_variation,
)
from dpest.notions.divergences import (
    CHI_SQUARED,
    KL,
    SQUARED_HELLINGER,
    TOTAL_VARIATION,
    hockey_stick_generator,
    renyi_generator,
)
from notions.strategies import channels, distributions

epsilons = st.floats(0, 5)
orders = st.one_of(st.just(1.0), st.just(math.inf), st.floats(1.001, 60))


@given(distributions(), epsilons, orders)
def test_reflexive(p, epsilon, alpha):
    assert hockey_stick(p, p, epsilon) == 0
    assert renyi_divergence(p, p, alpha) == 0
    assert total_variation(p, p) == 0


@given(distributions(), distributions(), epsilons, epsilons)
def test_hockey_stick_does_not_increase_with_epsilon(p, q, a, b):
    low, high = min(a, b), max(a, b)
    assert hockey_stick(p, q, high) <= hockey_stick(p, q, low) + 1e-15


@given(distributions(), distributions(), st.lists(orders, min_size=2, max_size=2))
def test_renyi_does_not_decrease_with_the_order(p, q, alphas):
    low, high = sorted(alphas)
    assert renyi_divergence(p, q, low) <= renyi_divergence(p, q, high) * (1 + 1e-9) + 1e-12


@given(distributions(), distributions(), epsilons)
def test_hockey_stick_is_a_supremum_over_events(p, q, epsilon):
    events = itertools.chain.from_iterable(itertools.combinations(range(4), r) for r in range(5))
    best = max(
        float(sum(p[i] for i in e)) - math.exp(epsilon) * float(sum(q[i] for i in e))
        for e in events
    )
    assert hockey_stick(p, q, epsilon) == pytest.approx(best, abs=1e-13)


@given(distributions(), distributions(), channels(), epsilons, orders)
def test_data_processing(p, q, channel, epsilon, alpha):
    before, after = FinitePair(p, q), FinitePair(p, q).after(channel)
    assert after.delta(epsilon) <= before.delta(epsilon) + 1e-12
    assert after.renyi(alpha) <= before.renyi(alpha) * (1 + 1e-9) + 1e-9
    for generator in (KL, TOTAL_VARIATION, CHI_SQUARED, SQUARED_HELLINGER):
        full = before.f_divergence(generator.f, generator.slope_at_infinity)
        part = after.f_divergence(generator.f, generator.slope_at_infinity)
        assert part <= full * (1 + 1e-9) + 1e-9


@given(distributions(3), distributions(3), st.data(), epsilons, epsilons)
@settings(max_examples=60)
def test_hockey_stick_is_composable(mu, nu, data, first, second):
    """Δ^ε1(μ,ν) ≤ δ1 and Δ^ε2(f x, g x) ≤ δ2 for all x give Δ^(ε1+ε2)(f#μ, g#ν) ≤ δ1 + δ2."""
    f = [data.draw(distributions(3)) for _ in range(3)]
    g = [data.draw(distributions(3)) for _ in range(3)]
    inner = max(hockey_stick(f[x], g[x], second) for x in range(3))
    joint_p = [sum(mu[x] * f[x][y] for x in range(3)) for y in range(3)]
    joint_q = [sum(nu[x] * g[x][y] for x in range(3)) for y in range(3)]
    total = hockey_stick(joint_p, joint_q, first + second)
    assert total <= hockey_stick(mu, nu, first) + inner + 1e-12


@given(distributions(positive=True), distributions(positive=True), st.floats(1.001, 80))
@settings(max_examples=60)
def test_renyi_against_high_precision(p, q, alpha):
    with mpmath.workdps(50):
        a = mpmath.mpf(alpha)
        total = sum(
            mpmath.mpf(x.numerator)
            / x.denominator
            * (mpmath.mpf(x.numerator) * y.denominator / (x.denominator * y.numerator)) ** (a - 1)
            for x, y in zip(p, q, strict=True)
        )
        truth = float(mpmath.log(total) / (a - 1))
    assert renyi_divergence(p, q, alpha) == pytest.approx(truth, rel=1e-10, abs=1e-15)


@pytest.mark.parametrize("gap", [2.0**-10, 2.0**-20, 2.0**-30])
@pytest.mark.parametrize("alpha", [1, 1 + 1e-7, 1.5, 2, 40])
def test_small_divergences_keep_their_digits(gap, alpha):
    p, q = [0.5 + gap, 0.5 - gap], [0.5, 0.5]
    with mpmath.workdps(60):
        a, m = mpmath.mpf(alpha), [mpmath.mpf(x) for x in p]
        if alpha == 1:
            truth = sum(x * mpmath.log(2 * x) for x in m)
        else:
            truth = mpmath.log(sum((2 * x) ** a for x in m) / 2) / (a - 1)
    assert renyi_divergence(p, q, alpha) == pytest.approx(float(truth), rel=1e-8, abs=0)


def test_exact_rationals():
    p, q = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], [Fraction(1, 3)] * 3
    assert hockey_stick(p, q, ratio=Fraction(5, 4)) == Fraction(1, 12)
    assert hockey_stick(p, q, 0) == Fraction(1, 6)
    assert total_variation(p, q) == Fraction(1, 6)
    assert isinstance(total_variation(p, q), Fraction)


def test_mappings_are_matched_by_outcome():
    p, q = {"a": 0.5, "b": 0.5}, {"b": 0.25, "c": 0.75}
    assert hockey_stick(p, q, math.log(2)) == pytest.approx(0.5)
    assert max_divergence(p, q) == math.inf
    assert kl_divergence(p, q) == math.inf
    assert hockey_stick(p, q, math.inf) == 0.5


def test_arrays_of_epsilon():
    pair = FinitePair([0.8, 0.2], [0.3, 0.7])
    grid = np.array([0.0, 0.5, 2.0])
    assert pair.delta(grid) == pytest.approx([pair.delta(float(e)) for e in grid])


@given(distributions(), distributions(), st.floats(0, 1))
def test_epsilon_at_inverts_delta(p, q, delta):
    pair = FinitePair(p, q)
    epsilon = pair.epsilon_at(delta)
    if epsilon == math.inf:
        assert pair.delta(math.inf) > delta
        return
    assert pair.delta(epsilon) <= delta + 1e-12
    if epsilon > 1e-9:
        assert pair.delta(epsilon * (1 - 1e-6)) >= delta - 1e-12


def test_far_tails_in_the_log_domain():
    """Masses of e^−2000 are below every double, their ratios are not."""
    log_p = np.array([-1e-300, -2000.0])
    pair = FinitePair(log_p, np.array([-1e-300, -2003.0]), log=True)
    assert pair.max_loss() == 3.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: hockey_stick([0.5, 0.5], [0.5, 0.5], -0.1),
        lambda: hockey_stick([0.5, 0.5], [0.5, 0.5], math.nan),
        lambda: hockey_stick([0.5, 0.5], [0.5, 0.5]),
        lambda: hockey_stick([0.5, 0.5], [0.5, 0.5], ratio=2),
        lambda: hockey_stick([0.5, 0.6], [0.5, 0.5], 0.1),
        lambda: hockey_stick([1.5, -0.5], [0.5, 0.5], 0.1),
        lambda: hockey_stick([math.nan, 1], [0.5, 0.5], 0.1),
        lambda: hockey_stick([1.0], [0.5, 0.5], 0.1),
        lambda: hockey_stick([], [], 0.1),
        lambda: renyi_divergence([0.5, 0.5], [0.5, 0.5], 0.9),
        lambda: renyi_divergence([0.5, 0.5], [0.5, 0.5], math.nan),
        lambda: FinitePair([Fraction(1, 2)], [Fraction(1, 2)]),
        lambda: FinitePair([0.5, 0.5], [0.5, 0.5]).epsilon_at(1.1),
        lambda: FinitePair([0.5, 0.5], [0.5, 0.5]).after([[1.0]]),
        lambda: Density(lambda x: -x),
        lambda: DensityPair(*[Density(lambda x: -np.abs(x), (0.0,))] * 2),
    ],
)
def test_domain_errors(call):
    with pytest.raises(DomainError):
        call()


# Cuts --------------------------------------------------------------------------------------------


def _brute_cut(p, q, generator, k):
    best = -math.inf
    for labels in itertools.product(range(k), repeat=len(p)):
        merged_p = [float(sum(p[i] for i in range(len(p)) if labels[i] == c)) for c in range(k)]
        merged_q = [float(sum(q[i] for i in range(len(p)) if labels[i] == c)) for c in range(k)]
        best = max(best, f_divergence(merged_p, merged_q, generator))
    return best


@given(distributions(positive=True), distributions(positive=True), st.integers(1, 3))
@settings(max_examples=25)
def test_cuts_by_ratio_are_the_best_of_all_maps(p, q, k):
    for generator in (renyi_generator(2), TOTAL_VARIATION, hockey_stick_generator(0.3)):
        cut = k_cut(p, q, generator, k)
        assert cut.value == pytest.approx(_brute_cut(p, q, generator, k), abs=1e-12)
        merged = [
            [float(sum(x for x, c in zip(d, cut.cells, strict=True) if c == i)) for i in range(k)]
            for d in (p, q)
        ]
        assert f_divergence(*merged, generator) == pytest.approx(cut.value, abs=1e-12)


@given(distributions(5), distributions(5), epsilons)
def test_hockey_stick_is_generated_by_two_outcomes(p, q, epsilon):
    cut = k_cut(p, q, hockey_stick_generator(epsilon), 2)
    assert cut.value == pytest.approx(float(hockey_stick(p, q, epsilon)), abs=1e-12)


def test_renyi_is_not_generated_by_two_outcomes():
    p, q = [0.7, 0.2, 0.1], [0.1, 0.2, 0.7]
    two, three = (k_cut(p, q, renyi_generator(2), k).value for k in (2, 3))
    full = renyi_divergence(p, q, 2)
    assert math.log1p(three) == pytest.approx(full)
    assert math.log1p(two) < full - 0.01


# Densities ---------------------------------------------------------------------------------------


def test_a_density_with_atoms():
    """Laplace noise clamped to [0, 1]: two atoms and a density between them."""

    def clamped(mean):
        def log_pdf(x):
            inside = (x > 0) & (x < 1)
            return np.where(inside, -np.abs(x - mean) - math.log(2), -math.inf)

        low = 0.5 * math.exp(-mean)
        high = 0.5 * math.exp(mean - 1)
        return Density(log_pdf, (0.0, mean, 1.0), {0.0: low, 1.0: high})

    pair = DensityPair(clamped(0.2), clamped(0.7))
    with mpmath.workdps(30):
        e = mpmath.mpf("0.1")
        near, far = mpmath.mpf("0.2"), mpmath.mpf("0.7")

        def excess(x):
            return max(0, mpmath.exp(-abs(x - near)) - mpmath.exp(e - abs(x - far))) / 2

        cross = mpmath.mpf("0.4")
        truth = mpmath.quad(excess, [0, near, cross, far, 1])
        truth += (mpmath.exp(-near) - mpmath.exp(e - far)) / 2
    assert pair.delta(0.1) == pytest.approx(float(truth), rel=1e-11)
    assert pair.max_loss() == pytest.approx(0.5, rel=1e-9)


def test_f_divergences_of_densities():
    def normal(mean, s):
        constant = math.log(s) + math.log(2 * math.pi) / 2
        return Density(lambda x: -(((x - mean) / s) ** 2) / 2 - constant, (mean,))

    p, q = normal(0.0, 1.0), normal(0.3, 1.2)
    kl = math.log(1.2) + (1 + 0.09) / (2 * 1.44) - 0.5
    assert kl_divergence(p, q) == pytest.approx(kl, rel=1e-10)
    assert f_divergence(p, q, KL) == pytest.approx(kl, rel=1e-10)
    hellinger = 1 - math.sqrt(2 * 1.2 / (1 + 1.44)) * math.exp(-0.09 / (4 * (1 + 1.44)))
    assert f_divergence(p, q, SQUARED_HELLINGER) == pytest.approx(hellinger, rel=1e-10)


def test_disjoint_supports():
    def uniform(low):
        return Density(
            lambda x: np.where((x > low) & (x < low + 1), 0.0, -math.inf), (low, low + 1)
        )

    pair = DensityPair(uniform(0.0), uniform(0.25))
    assert pair.delta(math.inf) == pytest.approx(0.25, rel=1e-12)
    assert pair.renyi(2) == math.inf
    assert pair.max_loss() == math.inf
    assert pair.total_variation() == pytest.approx(0.25, rel=1e-12)
