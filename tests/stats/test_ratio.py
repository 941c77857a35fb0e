"""Lower bounds on a ratio of probabilities: coverage by exact arithmetic, and tightness."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpest.stats import binomial, ratio


def _worst_error(bounds, n, delta):
    k = np.arange(n + 1)
    worst = 0.0
    for p2 in np.linspace(0.01, 0.99, 40):
        for log_ratio in np.linspace(-2.0, 3.0, 50):
            p1 = math.exp(log_ratio) * p2 + delta
            if p1 > 1.0:
                continue
            mass = np.exp(binomial.log_pmf(k[:, None], n, p1) + binomial.log_pmf(k[None], n, p2))
            worst = max(worst, float(mass[bounds > log_ratio + 1e-12].sum()))
    return worst


@pytest.mark.parametrize(("alpha", "delta"), [(0.05, 0.0), (0.2, 0.0), (0.1, 0.1)])
def test_unconditional_covers_for_all_probabilities(alpha, delta):
    n = 9
    bounds = np.array(
        [
            [ratio.unconditional(i, n, j, n, alpha, delta) for j in range(n + 1)]
            for i in range(n + 1)
        ]
    )
    assert _worst_error(bounds, n, delta) <= alpha
    # It rises with the first count and falls with the second.
    assert (np.diff(np.nan_to_num(bounds, neginf=-1e3), axis=0) >= -0.02).all()


def test_split_covers():
    n = 12
    bounds = np.array([[ratio.split(i, n, j, n, 0.1) for j in range(n + 1)] for i in range(n + 1)])
    assert _worst_error(bounds, n, 0.0) <= 0.1


def test_coin_label_covers_given_the_number_of_hits():
    hits, alpha = 30, 0.05
    k = np.arange(hits + 1)
    bounds = np.array([ratio.coin_label(int(i), hits - int(i), alpha) for i in k])
    for odds in np.linspace(-3, 3, 200):
        share = 1.0 / (1.0 + math.exp(-odds))
        assert np.exp(binomial.log_pmf(k, hits, share))[bounds > odds].sum() <= alpha + 1e-12


@pytest.mark.parametrize(
    ("k1", "k2", "n"), [(221_000, 200_000, 2 * 10**7), (11_052_000, 10**7, 2 * 10**7)]
)
def test_unconditional_is_close_to_the_best_possible(k1, k2, n):
    """Within 3 % of the normal approximation's width, which no valid bound can beat by much."""
    spread = math.sqrt((1 - k1 / n) / k1 + (1 - k2 / n) / k2)
    ideal = math.log(k1 / k2) - 1.6449 * spread
    found = ratio.unconditional(k1, n, k2, n, 0.05)
    assert ideal - 0.06 * spread < found < ideal + 0.02 * spread
    assert found > ratio.split(k1, n, k2, n, 0.05) + spread


def test_a_zero_count_gives_a_finite_bound():
    assert 4.0 < ratio.unconditional(300, 2 * 10**7, 0, 2 * 10**7, 0.05) < math.log(300)
    assert math.isfinite(ratio.coin_label(50, 0, 0.05))
    assert ratio.unconditional(0, 10, 5, 10, 0.05) == -math.inf
    assert ratio.split(0, 10, 5, 10, 0.05) == -math.inf
    assert ratio.coin_label(0, 0, 0.05) == -math.inf
