"""1 and 1.0 are one number, unless data decide which of them is seen."""

from __future__ import annotations

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


@pytest.mark.parametrize("function", [typed_by_data, signed_zero])
def test_no_exact_value_goes_by_equality_where_a_receiver_sees_more(function):
    with pytest.raises(dpest.errors.RefusedError, match="released in one place"):
        dpest.exact(function, [1.0], [0.0])
