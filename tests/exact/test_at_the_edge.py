"""A mechanism that is exactly at its δ is not refuted by the last bit; at 0.999 of it, it is."""

from __future__ import annotations

import math

import pytest

import dpest
from dpest.evidence import up_to_rounding


def truncated(x, rng, *, epsilon=1.0, delta=1e-3):
    most = (1 / epsilon) * math.log(1 + (math.exp(epsilon) - 1) / (2 * delta))
    while True:
        z = rng.laplace(scale=1 / epsilon)
        if abs(z) <= most:
            break
    return sum(x) + z


def majority(x, rng, *, epsilon=1.0, delta=1e-3):
    """Propose, test, release: the majority of bits, if it is far from changing."""
    ones = sum(x)
    distance = max(0, (abs(2 * ones - len(x)) - 1) // 2)
    if distance + rng.laplace(scale=1 / epsilon) > math.log(1 / (2 * delta)) / epsilon:
        return 1 if 2 * ones > len(x) else 0
    return None


@pytest.mark.parametrize(
    ("function", "x", "x2"),
    [(truncated, [0], [1]), (majority, [1, 1, 0], [1, 0, 0])],
)
def test_exactly_at_its_delta(function, x, x2):
    loss = dpest.exact(function, x, x2, adjacency=dpest.any_pair())
    assert loss.sure_epsilon_at(1e-3) <= 1 + 1e-9
    assert loss.sure_epsilon_at(0.999e-3) == math.inf


def test_what_counts_as_rounding():
    assert up_to_rounding(1e-6) == pytest.approx(1e-6, rel=2e-9)
    assert up_to_rounding(1e-3) < 1e-3 * 1.0001
