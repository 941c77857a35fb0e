"""StatDP's randomised conditional test."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from dpest.stats import conditional_test


def _by_enumeration(c1, n1, c2, n2, epsilon):
    kept = np.arange(c1 + 1)
    weights = binom.pmf(kept, c1, math.exp(-epsilon))
    return float((weights * hypergeom.sf(kept - 1, n1 + n2, n1, kept + c2)).sum())


def test_expected_p_value_is_the_mean_over_all_thinnings():
    rng = np.random.default_rng(2)
    for _ in range(200):
        n1, n2 = (int(v) for v in rng.integers(1, 80, 2))
        c1, c2 = int(rng.integers(0, n1 + 1)), int(rng.integers(0, n2 + 1))
        epsilon = float(rng.choice([0.0, 0.1, 0.5, 2.0]))
        ours = conditional_test.expected_p_value(c1, n1, c2, n2, epsilon)
        assert ours == pytest.approx(_by_enumeration(c1, n1, c2, n2, epsilon), abs=1e-10)


def test_thinned_p_values_average_to_the_expectation():
    # 4000 thinnings of a p-value in [0, 1]: 0.04 is five standard errors at most.
    rng = np.random.default_rng(3)
    for counts in ((60, 200, 40, 200), (20, 200, 40, 200)):
        mean = conditional_test.randomised_p_value(*counts, 0.2, rng, thinnings=4000)
        assert mean == pytest.approx(conditional_test.expected_p_value(*counts, 0.2), abs=0.04)


def test_one_thinning_is_a_valid_p_value():
    """Exact, without simulation: P(p <= a) over all counts and all thinnings, at the boundary."""
    n, epsilon, p2 = 12, 0.5, 0.3
    p1 = math.exp(epsilon) * p2
    k = np.arange(n + 1)
    for level in (0.01, 0.05, 0.2):
        wrong = 0.0
        for c1 in k:
            kept = np.arange(c1 + 1)
            thin = binom.pmf(kept, c1, math.exp(-epsilon))
            for c2 in k:
                p = np.array([conditional_test.fisher_p_value(int(v), n, int(c2), n) for v in kept])
                mass = binom.pmf(c1, n, p1) * binom.pmf(c2, n, p2)
                wrong += mass * thin[p <= level].sum()
        assert wrong <= level + 1e-12


def test_ten_million_counts_are_fast():
    begin = time.process_time()
    value = conditional_test.expected_p_value(5_020_000, 10**7, 4_540_000, 10**7, 0.1)
    assert 0.15 < value < 0.18
    assert time.process_time() - begin < 3.0


def test_both_sides_and_edges():
    one, two = conditional_test.both_sides(40, 100, 10, 100, 0.3)
    assert one < 0.01 < 0.99 < two
    assert conditional_test.expected_p_value(0, 10, 0, 10, 0.1) == pytest.approx(1.0)
    assert conditional_test.expected_p_value(10, 10, 10, 10, 0.1) == 1.0
    with pytest.raises(ValueError, match="epsilon"):
        conditional_test.expected_p_value(1, 2, 1, 2, -0.1)
