"""Bounds on one probability, and DP-Finder's intervals for a log ratio."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from dpest.stats import central_limit, clopper_pearson, hoeffding


def test_clopper_pearson_matches_scipy():
    for k, n in ((0, 10), (3, 10), (10, 10), (200, 10_000)):
        low, high = clopper_pearson.interval(k, n, 0.05)
        want = binomtest(k, n).proportion_ci(0.95, "exact")
        assert (low, high) == pytest.approx((want.low, want.high), abs=1e-12)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3])
def test_clopper_pearson_covers_exactly(alpha):
    n = 60
    k = np.arange(n + 1)
    low, high = clopper_pearson.lower(k, n, alpha), clopper_pearson.upper(k, n, alpha)
    for p in np.linspace(0.001, 0.999, 331):
        mass = binom.pmf(k, n, p)
        assert mass[low > p].sum() <= alpha + 1e-12
        assert mass[high < p].sum() <= alpha + 1e-12


def test_counts_are_refused_when_impossible():
    with pytest.raises(ValueError, match="successes <= trials"):
        clopper_pearson.lower(5, 4, 0.05)
    with pytest.raises(ValueError, match="whole"):
        clopper_pearson.lower(1.5, 4, 0.05)
    with pytest.raises(ValueError, match="alpha"):
        clopper_pearson.lower(1, 4, 0.0)


def test_dp_finders_example():
    """p = 3.24 %, q = 3.04 %, n = 10^7, correlation 0.97, 0.001 a side."""
    low, high = hoeffding.log_ratio_interval(0.0324, 0.0304, 10**7, 0.001)
    assert (low, high) == pytest.approx((0.0244, 0.1031), abs=5e-5)
    low, high = central_limit.log_ratio_interval(0.0324, 0.0304, 10**7, 0.001)
    assert (low, high) == pytest.approx((0.0522, 0.0753), abs=5e-5)
    low, high = central_limit.correlated_log_ratio_interval(0.0324, 0.0304, 0.97, 10**7, 0.001)
    middle = math.log(0.0324 / 0.0304)
    assert (middle - low, high - middle) == pytest.approx((0.0014, 0.0014), abs=5e-5)


def test_ratio_distribution_matches_sampling():
    # 4e5 draws: a deviation of 0.004 is five standard deviations, once in 10^6.
    rng = np.random.default_rng(1)
    x = rng.normal(1.0, 0.5, 400_000)
    y = 0.6 + 0.4 * (0.3 * (x - 1.0) / 0.5 + math.sqrt(1 - 0.09) * rng.normal(size=400_000))
    for w in (-2.0, 0.0, 0.5, 1.0, 3.0):
        assert central_limit.ratio_cdf(w, 1.0, 0.6, 0.5, 0.4, 0.3) == pytest.approx(
            np.mean(x / y <= w), abs=0.004
        )


def test_bivariate_normal_special_cases():
    cdf = central_limit.bivariate_normal_cdf
    assert cdf(0.0, 0.0, 0.5) == pytest.approx(1 / 3)
    assert cdf(1.0, 0.3, 0.0) == pytest.approx(cdf(1.0, math.inf, 0.2) * cdf(math.inf, 0.3, 0.1))
    assert cdf(0.7, -0.2, 1.0) == pytest.approx(cdf(math.inf, -0.2, 0.0))
    assert cdf(0.7, -0.2, -1.0) == pytest.approx(cdf(0.7, -0.2, -1.0 + 1e-12), abs=1e-5)
    assert cdf(0.0, 1.0, 0.3) == pytest.approx(cdf(1e-13, 1.0, 0.3), abs=1e-9)
    assert cdf(0.0, -1.0, 0.3) == pytest.approx(cdf(1e-13, -1.0, 0.3), abs=1e-9)
