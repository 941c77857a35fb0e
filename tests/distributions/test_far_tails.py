"""What the ratio does far out: limits that are reached late, and growth that never ends."""

from __future__ import annotations

import math

import pytest

import dpest


def late(x, rng, *, other=1.001):
    """The second tail takes over far out; then the ratio has settled at 2/other."""
    if rng.random() < 0.5:
        return x + rng.laplace(scale=1.0)
    return 2 * x + rng.laplace(scale=other)


def skellam(x, rng):
    return x + rng.poisson(2) - rng.poisson(2)


def private_scale(x, rng):
    return rng.laplace(scale=1 + 1e-4 * x)


def one_or_two(x, rng):
    return rng.laplace() + rng.laplace() if x > 0.5 else rng.laplace()


def gaussian(x, rng):
    return x + rng.normal()


def gumbel(x, rng):
    return x + rng.gumbel()


def discrete_gaussian(x, rng):
    return int(x) + dpest.noise.discrete_gaussian(rng, 2.0)


@pytest.mark.parametrize("other", [1.1, 1.001, 1.00001])
def test_a_tail_that_takes_over_late_is_no_infinity(other):
    loss = dpest.exact(late, 0.0, 1.0, params={"other": other})
    assert loss.epsilon == pytest.approx(2 / other, abs=1e-6)
    assert abs(loss.epsilon - 2 / other) <= loss.error + 1e-12


@pytest.mark.parametrize(
    "function", [skellam, private_scale, one_or_two, gaussian, gumbel, discrete_gaussian]
)
def test_growth_without_end_is_infinite(function):
    assert dpest.exact(function, 0.0, 1.0).epsilon == math.inf
