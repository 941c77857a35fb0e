"""1 and 1.0 are one number, unless data decide which of them is seen."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpest
from dpest.ask.declaration import as_mechanism
from dpest.running.first_look import look


def told_by_type(x, rng):
    answer = x if rng.random() < 0.75 else 1 - x
    return float(answer) if x == 1 else answer


def told_by_type_in_a_list(x, rng):
    answer = x if rng.random() < 0.75 else 1 - x
    return [1.0 if answer else 0, 1] if x == 1 else [1 if answer else 0, 1]


@pytest.mark.parametrize("function", [told_by_type, told_by_type_in_a_list])
def test_a_type_that_the_data_decide_is_a_leak(function):
    verdict = dpest.audit(
        function, epsilon=1.1, adjacency="any_pair", domain=dpest.integer(0, 1), seed=1
    )
    assert verdict.status == "violated"


def clamped(x, rng):
    return max(0, x + rng.laplace(0, 1))


def clamped_or_rounded(x, rng):
    noisy = x + rng.laplace(0, 1)
    return {"value": max(noisy, 0), "whole": round(noisy)}


@pytest.mark.parametrize("function", [clamped, clamped_or_rounded])
def test_a_number_that_is_always_the_same_type_tells_nothing_by_it(function):
    assert look(as_mechanism(function), [-9.0, 0.0, 9.0]).types is None


def test_a_clamped_number_is_still_answered_exactly():
    domain = dpest.real(-5, 5)
    verdict = dpest.audit(clamped, epsilon=10, adjacency="any_pair", domain=domain)
    assert verdict.status == "exact"


def typed_by_data(x, rng):
    answer = x[0] + rng.laplace() > 0
    if x[0] > 0:
        return 1 if answer else 0
    return 1.0 if answer else 0.0


def signed_zero(x, rng):
    rng.laplace()
    return 0.0 if x[0] > 0 else -0.0


def rounded_by_hand(x, rng):
    """`x[0]` decides nothing but the sign of the zero."""
    noisy = rng.laplace()
    return (-0.0 if x[0] < 0 else 0.0) if abs(noisy) < 1 else float(np.sign(noisy))


def test_no_exact_value_goes_by_equality_where_a_receiver_sees_more():
    with pytest.raises(dpest.errors.RefusedError, match="released in one place"):
        dpest.exact(typed_by_data, [1.0], [0.0])


@pytest.mark.parametrize("function", [signed_zero, rounded_by_hand])
def test_the_sign_of_a_zero_is_seen(function):
    assert dpest.exact(function, [1.0], [-1.0]).epsilon == math.inf
    verdict = dpest.audit(
        function, epsilon=1, adjacency="replace_one", domain="integers(1, -1, 1)", seed=0
    )
    assert verdict.status == "violated"
    assert verdict.lower.value == math.inf
    assert verdict.upper is None
    assert not any("withdrawn" in note for note in verdict.notes)


def test_zeros_of_both_signs_are_two_outputs_of_noise_that_is_snapped():
    """On [9] the way to -0.0 lies beside the way to 0.0: they are not one."""
    snapped = dpest.distribution(dpest.zoo.get("SnappingLaplace"), [9.0]).outcomes
    zeros = {repr(o.output): o.probability for o in snapped if o.output == 0}
    scale = (1 + 100 * 2.0**-49) / 0.1
    negative = 0.5 * (math.exp(-9 / scale) - math.exp(-17 / scale))
    positive = 0.5 * (math.exp(-1 / scale) - math.exp(-9 / scale))
    assert zeros == pytest.approx({"-0.0": negative, "0.0": positive}, rel=1e-9)


def times_zero(x, rng):
    return 0.0 * x[0], rng.laplace()


def array_times_zero(x, rng):
    return [*(np.asarray(x) * 0.0).tolist(), rng.laplace()]


def zero_with_more(x, rng):
    """0.0 added to a zero of either sign is 0.0: nothing is seen."""
    return sum(x) * 0 + 0.0, rng.laplace()


@pytest.mark.parametrize("function", [times_zero, array_times_zero])
def test_a_number_times_zero_keeps_its_sign(function):
    verdict = dpest.audit(function, epsilon=1, adjacency="l1", length=3, seed=0)
    assert verdict.status != "exact"
    assert verdict.upper is None
    assert dpest.exact(function, [-0.5, 0, 0], [0.5, 0, 0]).epsilon == math.inf


def test_zeros_of_one_sign_show_nothing():
    verdict = dpest.audit(zero_with_more, epsilon=1, adjacency="l1", length=3, seed=0)
    assert verdict.upper.value == 0


def test_weights_of_zero_leave_a_sum_as_it_is():
    def weighted(x, rng):
        return np.dot([0.0, 1.0, 1.0], x) + rng.laplace()

    verdict = dpest.audit(weighted, epsilon=1, adjacency="l1", length=3, seed=0)
    assert verdict.status == "exact"
