"""Bounds from scores: against closed forms and brute force; coverage with fixed seeds."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from dpest.stats import clopper_pearson, extremes, gaussian_curve, one_run
from dpest.stats.divergence_bound import divergence_bound
from dpest.stats.order_band import fails, looked_at, tail_band
from dpest.stats.ranks import insiders_below, shuffled_order, ties
from dpest.stats.score_curve import AnytimeCurve, score_curve


def gaussians(seed, m, n, mu):
    rng = np.random.default_rng(seed)
    return rng.normal(size=m) + mu, rng.normal(size=n)


# The band -----------------------------------------------------------------------------------------


def test_the_chance_that_a_band_fails_is_that_of_counting_paths():
    counts, upper = np.array([0, 2]), np.array([0.4, 0.8])
    n = 5
    holds = 0.0
    for below in range(1, n + 1):  # more than counts[0] below 0.4
        first = binom.pmf(below, n, 0.4)
        more = max(0, 3 - below)  # more than counts[1] below 0.8
        holds += first * binom.sf(more - 1, n - below, 0.4 / 0.6)
    assert fails(n, counts, upper) == pytest.approx(1 - holds, abs=1e-8)


@pytest.mark.parametrize("n", [1, 2, 7, 50, 3000])
def test_a_band_fails_as_often_as_it_says(n):
    band = tail_band(n, 0.05)
    assert fails(n, band.counts, band.upper) <= 0.05 * (1 + 1e-6)
    assert band.level >= 0.05 / len(band.counts)
    assert (np.diff(band.upper) > 0).all()
    rng = np.random.default_rng(n)
    repeats = 4000 if n < 1000 else 400
    values = np.sort(rng.random((repeats, n)), axis=1)
    missed = int((values[:, band.counts] > band.upper).any(axis=1).sum())
    # False alarm of this test: one in 10,000.
    assert clopper_pearson.lower(missed, repeats, 1e-4) <= 0.05


def test_a_band_is_tighter_than_adding_up():
    band = tail_band(2000, 0.05)
    assert band.level > 1.5 * 0.05 / len(looked_at(2000))


# The curve ----------------------------------------------------------------------------------------


def test_a_curve_lies_above_the_truth_everywhere_at_once():
    missed = 0
    for seed in range(400):
        curve = score_curve(*gaussians(seed, 150, 90, 1.0), 0.1)
        assert curve.x[0] == 0
        assert curve.y[-1] == 0
        slopes = np.diff(curve.y) / np.diff(curve.x)
        assert all(a <= b + 1e-9 for a, b in pairwise(slopes))
        missed += bool(np.any(curve.y < ndtr(-ndtri(curve.x) - 1.0) - 1e-12))
    assert clopper_pearson.lower(missed, 400, 1e-4) <= 0.1


def test_everything_read_off_a_curve_is_below_the_truth():
    curve = score_curve(*gaussians(1, 20_000, 20_000, 1.0), 0.05)
    assert 0.93 < curve.mu() < 1.0
    assert 0.40 < curve.zcdp() < 0.5
    assert 0.75 < curve.renyi(2.0) < 1.0
    assert curve.renyi(1.0) < curve.renyi(1.5) < curve.renyi(4.0) < 2.0
    assert 2.0 < curve.epsilon(1e-5) < 4.377
    assert curve.epsilon(1e-5) >= curve.epsilon(0.01) > curve.epsilon(0.2)


def test_an_anytime_curve_grows_and_stays_below_the_truth():
    curves = AnytimeCurve(0.05)
    inside, outside = gaussians(3, 5000, 5000, 1.0)
    seen = []
    for begin in range(0, 5000, 500):
        curves.feed(inside[begin : begin + 500], outside[begin : begin + 500])
        seen.append(curves.mu())
    assert seen == sorted(seen)
    assert 0.7 < seen[-1] < 1.0
    assert sum(c.alpha for c in curves.curves) < 0.05
    assert curves.zcdp() < 0.5
    assert curves.epsilon(1e-5) < 4.377


# Labels of the extremes ---------------------------------------------------------------------------


def test_the_chance_of_the_least_p_value_is_that_of_all_walks():
    n, chance, limits = np.array([2, 4]), 0.3, np.array([0, 1])
    crossed = 0.0
    for first in range(3):
        for rest in range(3):
            if first <= 0 or first + rest <= 1:
                crossed += binom.pmf(first, 2, chance) * binom.pmf(rest, 2, chance)
    assert extremes._crossing(limits, n, chance) == pytest.approx(crossed)


@pytest.mark.parametrize("delta", [0.0, 2e-3])
def test_labels_refute_the_truth_seldom(delta):
    right = math.e / (1 + math.e)
    alarms, audits = 0, 300
    rng = np.random.default_rng(7)
    for _ in range(audits):
        inside = rng.random(400) < 0.5
        high = rng.random(400) < np.where(inside, right, 1 - right)
        score = rng.random(400) * np.where(high, 1, -1)
        score = np.where(rng.random(400) < delta, np.where(inside, 2, -2), score)
        found = extremes.extreme_labels(score[inside], score[~inside], 0.5, rng)
        alarms += found.refutes(1.0, delta, 0.05)
    assert clopper_pearson.lower(alarms, audits, 1e-4) <= 0.05


def test_a_coin_sample_is_never_larger_than_what_there_is():
    rng = np.random.default_rng(0)
    for m, n in ((30, 30), (20, 200), (5000, 4000)):
        inside, outside, share, paid = extremes.coin_sample(np.arange(m), -np.arange(n), 0.05, rng)
        assert len(inside) <= m
        assert len(outside) <= n
        assert share == m / (m + n)
        assert paid == pytest.approx(0.05 / 1000)
        assert len(inside) + len(outside) > 0.5 * min(m, n)
        assert set(inside) <= set(range(m))


# Ranks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_ranks_by_sorting_are_those_of_the_order(shift):
    rng = np.random.default_rng(5)
    for _ in range(40):
        first = rng.integers(0, 30, size=12).astype(float)
        second = rng.integers(0, 30, size=20) + shift
        ranks = np.arange(33)
        if ties(first, second):
            found = insiders_below(first, second, ranks, rng)
            assert found[0] == 0
            assert found[-1] == 12
            assert set(np.diff(found)) <= {0, 1}
            continue
        members = shuffled_order(np.concatenate([first, second]), rng) < 12
        assert (insiders_below(first, second, ranks, rng) == [0, *np.cumsum(members)]).all()
        area = gaussian_curve.right_pairs(first, second, rng)
        assert area == pytest.approx(np.mean(first[:, None] > second))


def test_equal_scores_are_ordered_at_random():
    rng = np.random.default_rng(1)
    areas = [gaussian_curve.right_pairs(np.zeros(30), np.zeros(30), rng) for _ in range(300)]
    assert abs(np.mean(areas) - 0.5) < 0.02
    assert 0.05 < np.std(areas) < 0.1


# Gaussian curves ----------------------------------------------------------------------------------


def test_the_spread_of_right_pairs_is_that_of_simulation():
    rng = np.random.default_rng(2)
    areas = [
        gaussian_curve.right_pairs(rng.normal(size=40) + 1, rng.normal(size=60), rng)
        for _ in range(3000)
    ]
    assert np.mean(areas) == pytest.approx(float(ndtr(1 / math.sqrt(2))), abs=0.005)
    assert np.std(areas) == pytest.approx(
        gaussian_curve.spread_of_right_pairs(1.0, 40, 60), rel=0.06
    )


@pytest.mark.parametrize("mu", [0.0, 1.0, 2.5])
def test_mu_is_exceeded_seldom(mu):
    rng = np.random.default_rng(11)
    alarms = 0
    for _ in range(300):
        area = gaussian_curve.right_pairs(rng.normal(size=60) + mu, rng.normal(size=60), rng)
        alarms += gaussian_curve.mu_bound(area, 60, 60, 0.05) > mu
    assert clopper_pearson.lower(alarms, 300, 1e-4) <= 0.05


def test_the_fit_is_rejected_where_the_curve_is_not_gaussian():
    rng = np.random.default_rng(3)
    good = gaussian_curve.fit_p_value(*gaussians(4, 3000, 3000, 1.0), rng)
    assert good[0] > 0.01
    assert good[1] == pytest.approx(1.0, abs=0.1)
    # A monotone function of the scores has the same curve.
    inside, outside = gaussians(4, 3000, 3000, 1.0)
    assert gaussian_curve.fit_p_value(np.exp(inside), np.exp(outside), rng)[0] == pytest.approx(
        good[0]
    )
    bad = gaussian_curve.fit_p_value(rng.laplace(size=3000) + 1.5, rng.laplace(size=3000), rng)
    assert bad[0] < 1e-6


# Divergences --------------------------------------------------------------------------------------


def test_divergences_are_approached_from_below():
    inside, outside = gaussians(6, 20_000, 20_000, 1.0)
    for order, least in ((None, 0.42), (1.0, 0.42), (2.0, 0.7)):
        found = divergence_bound(inside, outside, 0.05, np.random.default_rng(0), order)
        truth = 0.5 if order is None else order / 2
        assert least < found.value < truth
        assert abs(found.estimate - truth) < 6 * found.error + 0.05 * truth


def test_divergences_of_equal_inputs_are_seldom_positive():
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        inside, outside = rng.normal(size=300), rng.normal(size=300)
        alarms += divergence_bound(inside, outside, 0.05, rng, 2.0).value > 0
    assert clopper_pearson.lower(alarms, 60, 1e-4) <= 0.05


@pytest.mark.parametrize("order", [None, 1.0, 2.0])
def test_scores_of_one_or_two_values_have_a_bound(order):
    rng = np.random.default_rng(0)
    same = divergence_bound(np.zeros(1000), np.zeros(1000), 0.01, rng, order)
    assert same.value == 0.0
    often, seldom = (1.0 * (rng.random(5000) < chance) for chance in (0.6, 0.3))
    found = divergence_bound(often, seldom, 0.01, rng, order)
    truth = 0.6 * math.log(2) + 0.4 * math.log(4 / 7)  # at order 1; the least of both directions
    assert found.value > 0.05
    if order == 1.0:
        assert found.value < truth


# One run ------------------------------------------------------------------------------------------


def test_one_run_without_delta_is_a_binomial_tail():
    p = one_run.p_value(100, 40, 33, 1.0)
    assert p == pytest.approx(float(binom.sf(32, 40, math.e / (1 + math.e))))
    bound = one_run.epsilon_bound(100, 40, 33, 0.05)
    assert one_run.p_value(100, 40, 33, bound) <= 0.05 < one_run.p_value(100, 40, 33, bound + 0.01)
    assert one_run.epsilon_bound(100, 40, 20, 0.05) == 0


def test_delta_costs_something():
    assert one_run.epsilon_bound(1000, 150, 130, 0.05, 1e-3) < one_run.epsilon_bound(
        1000, 150, 130, 0.05
    )


def test_f_dp_says_of_pure_dp_no_more_than_the_binomial():
    for right in (35, 45, 55):
        exact = one_run.epsilon_bound(60, 60, right, 0.05)
        assert one_run.f_dp_epsilon_bound(60, 60, right, 0.05) <= exact + 1e-3


def test_more_right_guesses_show_more():
    bounds = [one_run.mu_bound(1000, 150, right, 0.05) for right in range(75, 151, 15)]
    assert bounds[0] == 0
    assert all(a <= b for a, b in pairwise(bounds))
    assert bounds[-1] > 1


def test_leaving_out_steps_is_on_the_safe_side(monkeypatch):
    full = one_run.mu_bound(4000, 600, 480, 0.05)
    monkeypatch.setattr(one_run, "_STEPS", 50)
    assert one_run.mu_bound(4000, 600, 480, 0.05) <= full


def test_impossible_counts_are_refused():
    with pytest.raises(ValueError, match="right"):
        one_run.p_value(10, 5, 6, 1.0)
