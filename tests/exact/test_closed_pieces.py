"""Where closed pieces of a density meet, both have the common point: no loss is seen there."""

from __future__ import annotations

import functools
import math

import pytest

import dpest


def staircase(x, rng, *, epsilon=1.0, gamma=0.5):
    b = math.exp(-epsilon)
    sign = 1 if rng.random() < 0.5 else -1
    steps = rng.geometric(1 - b) - 1
    u = rng.random()
    inner = rng.random() < gamma / (gamma + (1 - gamma) * b)
    return x + sign * ((steps + gamma * u) if inner else (steps + gamma + (1 - gamma) * u))


@pytest.mark.parametrize(("x", "x2"), [(0.25, 1.0), (0.0, 1.0), (0.0, 0.5), (0.125, 0.625)])
def test_a_staircase_costs_its_epsilon_and_no_more(x, x2):
    assert dpest.exact(staircase, x, x2).epsilon == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("gamma", [0.25, 0.375, 0.5])
def test_stairs_of_other_widths_and_heights(gamma):
    for x2 in (0.25, 0.5, 0.75, 1.0):
        stairs = functools.partial(staircase, epsilon=2.0, gamma=gamma)
        loss = dpest.exact(stairs, 0.0, x2).epsilon
        assert loss <= 2.0 + 1e-9
