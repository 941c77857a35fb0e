"""E-processes: fair bets, sticky refutations, and a confidence sequence's coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpest.stats import betting


def test_label_bets_are_fair_under_the_hypothesis():
    for epsilon in (0.05, 0.7, 2.0):
        a = float(betting.odds_limit(epsilon))
        guess = np.linspace(0.001, 0.999, 301)
        one, zero = betting.label_bets(guess, np.full_like(guess, epsilon))
        for share in np.linspace(1 - a, a, 21):
            assert (share * one + (1 - share) * zero <= 1 + 1e-12).all()
        assert (one[(guess > 1 - a) & (guess < a)] == 1.0).all()


def test_event_payoffs_are_fair_and_never_ruin_more_than_all():
    epsilon, delta = 0.6, 0.1
    inside = np.array([True, False])
    one, zero = betting.event_payoffs(inside, np.array([epsilon, epsilon]), delta)
    assert min(one.min(), zero.min()) >= -1.0
    for q in np.linspace(0.0, (1 - delta) / math.exp(epsilon), 20):
        p = math.exp(epsilon) * q + delta  # the boundary of (epsilon, delta)-DP
        mean = 0.5 * (p * one[0] + (1 - p) * one[1]) + 0.5 * (q * zero[0] + (1 - q) * zero[1])
        assert mean <= 1e-12


@pytest.mark.parametrize("wealth", [betting.tree_log_wealth, betting.tails_log_wealth])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_region_bets_are_fair_under_the_hypothesis(wealth, share):
    """The mean gain of one more run in any cell, exactly, from any counts, at most 1."""
    rng = np.random.default_rng(3)
    epsilon = np.array([0.05, 0.7, 2.0])
    for shape in ((1, 1), (3, 1), (1, 8), (2, 4)):
        ones, zeros = rng.integers(0, 30, (2, *shape)).astype(float)
        before = wealth(ones, zeros, epsilon)
        assert np.allclose(wealth(np.zeros(shape), np.zeros(shape), epsilon), 0.0)
        a = betting.odds_limit(epsilon)
        probability = 1 - a + share * (2 * a - 1)  # of label 1: anywhere from 1 - a to a
        for cell in np.ndindex(shape):
            one = np.zeros(shape)
            one[cell] = 1.0
            won = np.exp(wealth(ones + one, zeros, epsilon) - before)
            lost = np.exp(wealth(ones, zeros + one, epsilon) - before)
            assert (probability * won + (1 - probability) * lost <= 1 + 1e-9).all()


def test_region_bets_grow_where_a_label_is_too_likely():
    ones, zeros = np.array([[2.0, 3.0, 20.0, 22.0]]), np.array([[21.0, 19.0, 2.0, 2.0]])
    for wealth in (betting.tree_log_wealth, betting.tails_log_wealth):
        few, many = wealth(ones, zeros, np.array([0.5, 5.0]))
        assert few > 5.0
        assert many < 0.0


def test_wealth_does_not_grow_under_the_hypothesis():
    """The mean wealth after one fair bet, exactly."""
    share, guess, epsilon = float(betting.odds_limit(0.5)), 0.8, 0.5
    one, zero = betting.label_bets(np.array([[guess]]), np.array([[epsilon]]))
    means = 0.0
    for payoff, probability in ((one, share), (zero, 1 - share)):
        wealth = betting.MixtureWealth(1, 0.05)
        wealth.settle(np.array([0]), payoff - 1.0, np.ones((1, 1)))
        means += probability * math.exp(wealth.log_wealth()[0])
    assert means == pytest.approx(1.0)


def test_refutation_is_sticky():
    wealth = betting.MixtureWealth(1, 0.05)
    wealth.settle(np.array([0]), np.array([[1.0]]), np.array([[6.0]]))
    assert wealth.refuted[0]
    wealth.settle(np.array([0]), np.array([[-0.9]]), np.array([[20.0]]))
    assert wealth.log_wealth()[0] < 0
    assert wealth.refuted[0]


def test_prefix_bound_needs_all_smaller_values():
    grid = np.array([0.1, 0.2, 0.3])
    assert betting.prefix_bound(grid, np.array([True, True, False])) == 0.2
    assert betting.prefix_bound(grid, np.array([False, True, True])) == 0.0
    assert betting.prefix_bound(grid, np.array([True, True, True])) == 0.3


def test_bernoulli_sequence_covers_at_all_times_at_once():
    """Exact: the chance that any of 200 looks excludes the truth, by dynamic programming."""
    p, alpha, looks = 0.3, 0.1, 200
    alive = np.array([1.0])
    for n in range(1, looks + 1):
        grown = np.zeros(n + 1)
        grown[:-1] += alive * (1 - p)
        grown[1:] += alive * p
        k = np.arange(n + 1)
        alive = np.where(
            betting.bernoulli_log_wealth(k, float(n), p) < math.log(1 / alpha), grown, 0
        )
    assert 1.0 - alive.sum() <= alpha
    low, high = betting.bernoulli_sequence(60, 200, alpha)
    assert low < 0.3 < high
    assert betting.bernoulli_log_wealth(60, 200, low) == pytest.approx(
        math.log(1 / alpha), abs=1e-6
    )
    assert betting.bernoulli_sequence(0, 0, alpha) == (0.0, 1.0)
