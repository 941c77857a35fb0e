"""Sums of lattice noises far from the centre: no false infinity, nothing above the truth."""

from __future__ import annotations

import math

import pytest

from dpest import noise, zoo
from dpest.exact.engine import exact_loss


def one(x, rng):
    return x[0] + noise.discrete_laplace(rng, 2.0)


def two(x, rng):
    return x[0] + noise.discrete_laplace(rng, 2.0) + noise.discrete_laplace(rng, 3.0)


def doubled(x, rng):
    return x[0] + 2 * noise.discrete_laplace(rng, 2.0)


def waiting(x, rng):
    return x[0] + rng.geometric(0.3)


GEOMETRIC = zoo.get("GeometricMechanism")


def geometric_difference(x, rng):
    return GEOMETRIC(x, rng)


@pytest.mark.parametrize(
    ("function", "x", "x2", "epsilon"),
    [
        (geometric_difference, [0], [1], 0.5),
        (geometric_difference, [90], [89], 0.5),
        (geometric_difference, [-300], [-299], 0.5),
        (one, [500], [501], 1 / 2),
        (two, [0], [1], 1 / 3),  # the wider noise rules the tails: a limit, from below
        (two, [200], [201], 1 / 3),
        (doubled, [0], [2], 1 / 2),
        (doubled, [0], [1], math.inf),  # odd against even
        (one, [0], [0.5], math.inf),
        (waiting, [0], [1], math.inf),  # 1 is possible for 0 alone
    ],
)
def test_epsilon(function, x, x2, epsilon):
    found = exact_loss(function, x, x2).epsilon
    assert found == pytest.approx(epsilon, rel=1e-9)
