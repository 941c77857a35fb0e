"""All pairs of one real number: the largest loss of all, and what is not linear is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest

import dpest
from dpest.ask.declaration import as_mechanism
from dpest.ask.domain_text import parse_domain
from dpest.exact.losses.one_number import worst_of_one_number


def worst(function: Any, low: float, high: float) -> float | None:
    return worst_of_one_number(as_mechanism(function), low, high)


def duchi(t: float, rng: Any) -> Any:
    e = math.e
    p = (t * (e - 1) + e + 1) / (2 * (e + 1))
    return 1 if rng.random() < p else -1


def piecewise(t: float, rng: Any) -> Any:
    z = math.exp(0.5)
    c = (z + 1) / (z - 1)
    left = (c + 1) / 2 * t - (c - 1) / 2
    right = left + c - 1
    if rng.random() < z / (z + 1):
        return rng.uniform(left, right)
    x = rng.uniform(-c, 1)
    return x if x < left else right + (x - left)


def bit(t: float, rng: Any) -> Any:
    return int(rng.random() < 0.25 + 0.5 * t)


def tent(t: float, rng: Any) -> Any:
    return rng.random() < (0.2 + t if t < 0.5 else 1.2 - t)


def by_parts(t: float, rng: Any) -> Any:
    return "high" if rng.random() < (0.3 if t < 0.5 else 0.6) else "low"


@pytest.mark.parametrize(
    ("function", "low", "high", "loss"),
    [
        (duchi, -1.0, 1.0, 1.0),
        (duchi, -0.5, 0.5, math.log(0.615529 / 0.384471)),
        (piecewise, -1.0, 1.0, 1.0),
        (bit, 0.0, 1.0, math.log(3)),
        (tent, 0.0, 1.0, math.log(0.7 / 0.2)),  # the most is in the middle of the numbers
        (by_parts, 0.0, 1.0, math.log(2)),
    ],
)
def test_the_largest_loss_of_all_pairs(function: Any, low: float, high: float, loss: float) -> None:
    found = worst(function, low, high)
    assert found is not None
    assert found == pytest.approx(loss, rel=1e-5)
    ends = dpest.exact(function, low, high).epsilon
    assert ends <= found * (1 + 1e-9)


def square(t: float, rng: Any) -> Any:
    return rng.random() < 0.2 + 0.5 * t * t


def two_bits(t: float, rng: Any) -> Any:
    """The chance of two ones is a square: largest and smallest need not be where it bends."""
    return int(rng.random() < 0.2 + 0.5 * t), int(rng.random() < 0.7 - 0.5 * t)


def bounded(t: float, rng: Any) -> Any:
    return t + rng.uniform(-1, 1)


def shown(t: float, rng: Any) -> Any:
    return rng.random() < 0.5, t


def hidden_case(t: float, rng: Any) -> Any:
    return rng.random() < (0.99 if t == 0.25 else 0.5)


@pytest.mark.parametrize("function", [square, two_bits, bounded, shown])
def test_what_is_not_linear_or_not_private_is_refused(function: Any) -> None:
    assert worst(function, 0.0, 1.0) is None


def test_one_single_number_counts() -> None:
    found = worst(hidden_case, 0.0, 1.0)
    assert found is None or found >= math.log(0.5 / 0.01) * (1 - 1e-9)


def test_an_audit_of_local_privacy_is_settled() -> None:
    verdict = dpest.audit(
        duchi, epsilon=1.0, adjacency="any_pair", domain=parse_domain("real(-1, 1)"), seed=0
    )
    assert verdict.status == "exact"
