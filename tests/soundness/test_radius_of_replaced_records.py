"""A record that is replaced by a near one: no lower bound comes from far ones."""

from __future__ import annotations

import math

import pytest

import dpest


def largest(x, rng, *, eps=1.0):
    return max(2 * v for v in x) + rng.laplace(scale=1 / eps)


def above(x, rng, *, eps=1.0):
    return sum(v for v in x if v > 0.5) + rng.laplace(scale=1 / eps)


def counts(x, rng, *, eps=1.0):
    return [sum(v > k for v in x) + rng.laplace(scale=1 / eps) for k in range(3)]


def squares(x, rng, *, eps=1.0):
    return sum(v * v for v in x) + rng.laplace(scale=1 / eps)


UNIT = dpest.reals(dpest.ANY, 0, 1)
WHOLE = dpest.integers(dpest.ANY, 0, 3)


@pytest.mark.parametrize(
    ("function", "radius", "domain", "truth"),
    [
        (largest, 0.5, UNIT, 1.0),
        (above, 0.1, UNIT, 0.6),
        (counts, 1, WHOLE, 1.0),
        (squares, 1, WHOLE, 5.0),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_lower_bounds_are_of_neighbours(function, radius, domain, truth):
    proof = dpest.prove(function, adjacency=dpest.replace_one(radius), domain=domain)
    assert proof.bound is None or proof.bound >= truth - 1e-9
    assert proof.lower is None or proof.lower.value <= truth + 1e-9
    assert proof.status != "exact" or math.isclose(proof.bound, truth)


def geometric(x, rng, *, eps=1.0):
    p = 1 - math.exp(-eps)
    return sum(x) + rng.geometric(p) - rng.geometric(p)


def test_geometric_noise_whose_chance_is_made_of_eps():
    proof = dpest.prove(geometric, adjacency="replace_one", domain=dpest.integers(3, 0, 1))
    assert proof.bound == 1
