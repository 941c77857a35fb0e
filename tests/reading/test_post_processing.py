"""A result is a function of the numbers behind it: which are found, and what is proved of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpest
from dpest.ask.declaration import as_mechanism
from dpest.reading.rewrites.post_processing import before_processing

X = [0.5, 1.0, 3.0]


def rounded(x, rng, *, eps=1.0):
    return round(x[0] + rng.laplace(scale=1 / eps), 1)


def whole(x, rng, *, eps=1.0):
    noisy = sum(x) + rng.laplace(scale=1 / eps)
    noisy = max(0, round(noisy))
    return noisy


def text(x, rng, *, eps=1.0):
    return f"about {x[0] + rng.laplace(scale=1 / eps):.2f}"


def power(x, rng, *, eps=1.0):
    return (x[0] + rng.laplace(scale=1 / eps)) ** 2


def grown(x, rng, *, eps=1.0):
    return math.exp(x[0] + rng.laplace(scale=1 / eps))


def each(x, rng, *, eps=1.0):
    return [int(np.rint(q + rng.laplace(scale=1 / eps))) for q in x]


def array(x, rng, *, eps=1.0):
    return np.round(np.array(x) + rng.laplace(scale=1 / eps, size=len(x)), 2).tolist()


def quotient(x, rng, *, eps=1.0):
    total = sum(x) + rng.laplace(scale=2 / eps)
    count = len(x) + rng.laplace(scale=2 / eps)
    return {"mean": total / max(count, 1), "shown": f"{total:.1f}"}


@pytest.mark.parametrize(
    ("function", "bound"),
    [
        (rounded, 1),
        (whole, 1),
        (text, 1),
        (power, 1),
        (grown, 1),
        (each, 1),
        (array, 1),
        (quotient, 0.5),
    ],
)
def test_a_result_has_the_bound_of_its_numbers(function, bound):
    proof = dpest.prove(function, adjacency="l1", length=3)
    assert proof.status == "upper bound"
    assert proof.epsilon == bound
    assert any("post-processing is free" in note for note in proof.notes)
    assert proof.ray is None  # what reveals the numbers need not reveal the result


def data_again(x, rng, *, eps=1.0):
    return round(rng.laplace(scale=1 / eps)) + x[0]


def data_as_digits(x, rng, *, eps=1.0):
    return round(x[0] + rng.laplace(scale=1 / eps), int(x[1]))


def read_in_between(x, rng, *, eps=1.0):
    first = round(x[0] + rng.laplace(scale=1 / eps))
    second = first + x[1]
    return round(second) + first


@pytest.mark.parametrize("function", [data_again, data_as_digits, read_in_between])
def test_what_uses_the_data_again_is_not_free(function):
    proof = dpest.prove(function, adjacency="l1", length=3)
    assert proof.bound is None


def test_a_function_of_the_users_own_is_no_processing():
    def round(value):  # it may do anything
        return value

    def mechanism(x, rng):
        return round(x[0] + rng.laplace()) ** 2

    found = before_processing(as_mechanism(mechanism), [X])
    assert found is not None
    assert found.steps == ("round(x[0] + rng.laplace()) ** 2",)
    released = found.mechanism.function(X, rng=np.random.default_rng(0))
    assert released == X[0] + np.random.default_rng(0).laplace()


def test_what_may_change_in_between_is_not_renamed():
    def mechanism(x, rng):
        noisy = np.array(x) + rng.laplace(size=3)
        shown = noisy.round()
        _ = noisy.sort()
        return shown

    assert before_processing(as_mechanism(mechanism), [X]) is None


def test_a_draw_in_a_branch_is_not_taken_out_of_it():
    def mechanism(x, rng):
        coin = rng.random()
        return round(x[0] + rng.laplace()) if coin < 0.5 else 0

    assert before_processing(as_mechanism(mechanism), [X]) is None


def test_an_audit_proves_a_rounded_count():
    verdict = dpest.audit(whole, adjacency="l1", claim=dpest.PureDP(1.0), length=3)
    assert verdict.status == "exact"
    assert verdict.upper.value == pytest.approx(1.0)
    assert 1 - 1e-6 < verdict.lower.value <= 1.0
