"""The audit of doubles: naive noise leaks, snapping and rounding don't."""

from __future__ import annotations

import numpy as np
import pytest

from dpest import zoo
from dpest.attacks.bits import NoiseCall, granularity, reachable
from dpest.attacks.floating import audit_doubles, noise_calls


def naive(x, rng, *, scale=10.0):
    return x + rng.laplace(scale=scale)


def gaussian(x, rng, *, scale=10.0):
    return x + rng.normal(scale=scale)


@pytest.mark.parametrize(
    ("function", "x", "x2", "scale", "true"),
    [
        (naive, 0.0, 1.0, 10.0, 0.1),
        (naive, 5.0, 6.0, 10.0, 0.1),
        (naive, 0.3, 0.7, 0.37, 1.09),
        (gaussian, 0.0, 1.0, 10.0, 1.0),
        (gaussian, 5.0, 6.0, 10.0, 1.0),
    ],
)
def test_naive_noise_is_refuted(function, x, x2, scale, true):
    found = audit_doubles(function, x, x2, params={"scale": scale}, budget=40_000, seed=1)
    assert found.value > 3 * true
    assert found.arithmetic == "floating point"
    assert found.runs <= 40_000


def test_snapping_and_rounding_are_not():
    # Each bound exceeds the truth with probability 0.05 at most; the seeds are fixed.
    def rounded(x, rng):
        return float(np.round(x + rng.laplace(scale=10.0)))

    assert audit_doubles(rounded, 0.0, 1.0, budget=40_000, seed=1).value <= 0.1
    snapping = zoo.get("SnappingLaplace")
    assert audit_doubles(snapping, [0.0], [1.0], budget=20_000, seed=1).value <= 0.1


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 10.0), (1.0, 1 / 0.3), (3.3, 0.37), (1e3, 7.0)])
def test_every_output_is_reachable_from_its_own_input(shift, scale):
    rng = np.random.default_rng(5)
    values = np.array([shift + rng.laplace(scale=scale) for _ in range(3000)])
    assert reachable(values, shift, NoiseCall("laplace", scale)).all()
    normal = np.array([shift + rng.normal(scale=scale) for _ in range(3000)])
    assert reachable(normal, shift, NoiseCall("normal", scale)).all()


def test_other_inputs_reach_few_of_them():
    rng = np.random.default_rng(6)
    values = np.array([rng.laplace(scale=10.0) for _ in range(3000)])
    assert reachable(values, 1.0, NoiseCall("laplace", 10.0)).mean() < 0.4


def test_granularity_is_the_place_of_the_last_bit():
    codes = granularity(np.array([1.0, 1 + 2.0**-40, 1 + 2.0**-52, 0.0, np.nan, np.inf]))
    assert codes[3] == codes[4] == codes[5] == 0
    assert len(set(codes[:3].tolist())) == 3
    assert granularity(np.array([3.0])) == granularity(np.array([-3.0]))


def test_noise_is_read_off_the_generator():
    def mixed(x, rng):
        return x + rng.laplace(0, 2.5) + rng.normal(0.0, scale=3.0) + rng.standard_normal()

    assert noise_calls(mixed, [1.0]) == [
        NoiseCall("laplace", 2.5),
        NoiseCall("normal", 3.0),
        NoiseCall("normal", 1.0),
    ]
    assert noise_calls(lambda x: x, [1.0]) == []
