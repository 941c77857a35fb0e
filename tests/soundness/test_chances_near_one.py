"""Chances that the program computes in doubles: what rounding leaves of them is no evidence."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import dpest


def sigmoid(x, rng):
    return rng.random() < 1 / (1 + math.exp(-x[0]))


def sigmoid_of_numpy(x, rng):
    p = 1 / (1 + np.exp(-np.asarray(x)))
    return bool(rng.random() < p[0])


def sigmoid_of_scipy(x, rng):
    return bool(rng.random() < expit(x[0]))


def hyperbolic(x, rng):
    return rng.random() < 0.5 + 0.5 * math.tanh(x[0] / 2)


def drawn_by_binomial(x, rng):
    return rng.binomial(1, 1 / (1 + math.exp(-x[0])))


def drawn_by_choice(x, rng):
    p = 1 / (1 + math.exp(-x[0]))
    return rng.choice([0, 1], p=[1 - p, p])


def less_and_less(x, rng):
    return rng.random() < 1 - 0.5 * math.exp(-abs(x[0]))


def power(x, rng):
    return rng.random() < 0.5 * math.exp(-1) ** abs(x[0])


def other_side(x, rng):
    return 1 - rng.random() < 1 / (1 + math.exp(-x[0]))


def in_percent(x, rng):
    return 100 * rng.random() < 100 / (1 + math.exp(-x[0]))


def weighed(x, rng):
    return rng.random() * (1 + math.exp(-x[0])) < 1


ONE_PRIVATE = [
    other_side,
    in_percent,
    weighed,
    sigmoid,
    sigmoid_of_numpy,
    sigmoid_of_scipy,
    hyperbolic,
    drawn_by_binomial,
    drawn_by_choice,
    less_and_less,
    power,
]


@pytest.mark.parametrize("function", ONE_PRIVATE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("bound", [20, 30, 100, 1000])
def test_rounding_refutes_nothing(function: Any, bound: int) -> None:
    """log(p / (1 − p)) moves by no more than x: all of them are 1-DP, in real numbers."""
    if bound == 1000 and "math.exp(-x[0])" in inspect.getsource(function):
        return  # it overflows: an exception, which a receiver sees
    verdict = dpest.audit(
        function,
        epsilon=1,
        adjacency="l1",
        domain=f"reals(1, -{bound}, {bound})",
        engines=("proof", "exact"),
    )
    assert verdict.status != "violated"
    assert verdict.lower is not None
    assert verdict.lower.value <= 1 + 1e-6


def last_of_running_sums(x, rng):
    weights = [math.exp(v / 2) for v in x]
    total, below, u = sum(weights), 0.0, rng.random()
    for i, weight in enumerate(weights):
        below += weight / total
        if u < below:
            return i


def test_running_sums_that_fall_short_of_one_are_no_outcome() -> None:
    verdict = dpest.audit(
        last_of_running_sums,
        epsilon=1,
        adjacency="linf",
        domain="reals(3, -10, 10)",
        engines=("proof", "exact"),
    )
    assert verdict.status != "violated"


def test_one_pair_is_refused_where_rounding_decides() -> None:
    assert dpest.exact(sigmoid, [1.0], [2.0], adjacency="any_pair").epsilon <= 1
    for near in ([37.5], [36.5]), ([-10.0], [100.0]), ([30.0], [29.0]):
        with pytest.raises(dpest.DpestError, match="rounding"):
            dpest.exact(sigmoid, *near, adjacency="any_pair")


def test_local_privacy_of_a_sigmoid_is_not_infinite() -> None:
    def one(x, rng):
        return rng.random() < 1 / (1 + math.exp(-x))

    verdict = dpest.audit(one, epsilon=200, adjacency="any_pair", domain="real(-100, 100)")
    assert verdict.status != "violated"


def surely(x, rng):
    return rng.random() < (1.0 if x[0] > 0.5 else 0.3)


def linear(x, rng):
    return rng.random() < 0.5 + 0.5 * x[0]


def clipped(x, rng):
    return rng.random() < min(1.0, 0.1 + x[0])


@pytest.mark.parametrize("function", [surely, linear, clipped], ids=lambda f: f.__name__)
def test_a_chance_that_is_1_is_1(function: Any) -> None:
    verdict = dpest.audit(function, epsilon=1, adjacency="l1", domain="reals(1, 0, 1)")
    assert verdict.lower is not None
    assert verdict.lower.value == math.inf


def test_a_chance_near_one_keeps_its_value_within_its_error() -> None:
    def response(x, rng, *, eps=12.0):
        p = math.exp(eps) / (1 + math.exp(eps))
        return rng.random() < p if x[0] > 0 else rng.random() >= p

    loss = dpest.exact(response, [1.0], [0.0], adjacency="any_pair")
    assert abs(loss.epsilon - 12) <= loss.error


def scaled_by_a_large_array(x, rng):
    weights = np.exp(np.linspace(0, 1, 200_000))
    return sum(x) + rng.laplace(0, weights.mean() / weights.mean())


def test_errors_of_large_arrays_are_known_in_time() -> None:
    """Looking each number up among all others would take minutes."""
    assert dpest.exact(scaled_by_a_large_array, [0.0], [1.0]).epsilon == 1.0


def product_of_matrices(x, rng):
    tree = np.array([[1, 1], [1, 0], [0, 1]], dtype=float)
    scale = np.abs(np.matmul(tree, np.ones((2, 2)))).max() / np.exp([0.0, 0.0])[0]
    return tree @ np.asarray(x) + rng.laplace(scale=scale, size=3)


def test_products_of_known_matrices_are_no_functions_of_elements() -> None:
    assert dpest.exact(product_of_matrices, [0.0, 0.0], [1.0, 0.0]).epsilon == 1.0
