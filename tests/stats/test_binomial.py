"""Probabilities of counts, against SciPy where it is accurate and mpmath-free identities beyond."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from dpest.stats import binomial


def test_log_pmf_matches_scipy_and_sums_to_one():
    for n in (0, 1, 7, 40, 1000):
        for p in (0.0, 1e-6, 0.3, 0.5, 0.999, 1.0):
            k = np.arange(n + 1)
            ours = np.exp(binomial.log_pmf(k, n, p))
            np.testing.assert_allclose(ours, binom.pmf(k, n, p), atol=1e-13)
            assert ours.sum() == pytest.approx(1.0, abs=1e-12)


def test_log_pmf_keeps_its_digits_at_large_counts():
    # P(k+1)/P(k) = (n-k)/(k+1) p/(1-p) exactly: differences of log-gammas lose 8 digits here.
    n, p = 10**8, 0.37
    k = np.array([36_990_000, 37_000_000, 37_010_000])
    step = binomial.log_pmf(k + 1, n, p) - binomial.log_pmf(k, n, p)
    np.testing.assert_allclose(step, np.log((n - k) / (k + 1) * p / (1 - p)), atol=1e-12)


def test_tails_are_complements():
    n = 500
    k = np.arange(n + 1)
    np.testing.assert_allclose(
        binomial.upper_tail(k, n, 0.2) + binomial.lower_tail(k - 1.0, n, 0.2), 1.0, atol=1e-12
    )
    np.testing.assert_allclose(binomial.lower_tail(k, n, 0.2), binom.cdf(k, n, 0.2), atol=1e-12)


def test_hypergeometric_tail_matches_scipy():
    rng = np.random.default_rng(0)
    for _ in range(500):
        total = int(rng.integers(1, 400))
        good, draws = (int(v) for v in rng.integers(0, total + 1, 2))
        x = int(rng.integers(-1, draws + 2))
        ours = binomial.hypergeometric_upper_tail(x, total, good, draws)
        assert ours == pytest.approx(hypergeom.sf(x - 1, total, good, draws), abs=1e-11)


def test_hypergeometric_tail_at_ten_million():
    ours = binomial.hypergeometric_upper_tail(90_000, 2 * 10**7, 10**7, 180_500)
    assert ours == pytest.approx(hypergeom.sf(89_999, 2 * 10**7, 10**7, 180_500), abs=1e-9)
