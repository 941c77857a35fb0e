"""What is laid on a grid is never taken for more than it is."""

from __future__ import annotations

import math

import pytest
from scipy.special import ndtr

import dpest
from dpest import measures
from dpest.evidence import Measure

SHIFT = 1 / math.sqrt(2)


def two_numbers(x, rng, *, sigma=4.0):
    """Moved by one in the Euclidean norm: 1/sigma-GDP, exactly."""
    return [x[0] + rng.normal(scale=sigma), x[1] + rng.normal(scale=sigma)]


def delta_of_gaussian(mu, epsilon):
    return ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
def test_two_gaussian_numbers(sigma):
    """Far out, the grid's rounding is larger than δ: it must not be inverted to a large μ or ε."""
    loss = dpest.exact(
        two_numbers, [0.0, 0.0], [SHIFT, SHIFT], params={"sigma": sigma}, adjacency=dpest.any_pair()
    )
    mu = 1 / sigma
    found = measures.of_loss(loss, Measure("gdp"))
    assert found <= mu * (1 + 1e-9)
    assert found >= 0.99 * mu
    for epsilon in (0.1, 0.5, 1.0, 3.0):
        delta = delta_of_gaussian(mu, epsilon)
        assert loss.sure_delta(epsilon) <= delta
        assert abs(loss.delta(epsilon) - delta) <= 2e-3 * delta + 1e-11
        if delta > 1e-9:
            assert loss.sure_epsilon_at(delta) <= epsilon * (1 + 1e-9)
            assert loss.sure_epsilon_at(delta) >= 0.99 * epsilon
