"""Chances of uniform draws that are no larger than the rounding of the program's own numbers."""

import math

import numpy as np

import dpest


def by_searchsorted(scores, rng):
    """The exponential mechanism by cumulative weights, in which a small one may be lost."""
    weights = np.exp(np.asarray(scores, dtype=float) / 2)
    ends = np.cumsum(weights / weights.sum())
    return int(np.searchsorted(ends, rng.random()))


def rarely_exact(bit, rng):
    """Gives the bit away with a chance that is small, and no rounding."""
    if rng.random() > 1 - 1e-12:
        return bit
    return 2


def test_a_weight_that_is_lost_in_a_sum_is_no_impossible_outcome():
    far = dpest.exact(by_searchsorted, [45, 45, 60, -15], [44, 44, 59, -14])
    assert far.epsilon <= 1


def test_an_impossible_outcome_is_still_seen_where_rounding_did_not_make_it():
    assert dpest.exact(rarely_exact, 0, 1).epsilon == math.inf


def test_chances_that_no_rounding_reaches_are_compared_as_before():
    near = dpest.exact(by_searchsorted, [1, 1, 1, 1], [0, 2, 2, 2])
    assert abs(near.epsilon - math.log((1 + 3 * math.e) / 4)) < 1e-9
