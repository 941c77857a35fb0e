"""Enclosures contain the float answer and are narrow; where there is none, the reason is said."""

from __future__ import annotations

import math

import pytest

from dpest import zoo
from dpest.exact.engine import exact_loss

HALF = ([1.0] * 6, [2.0] * 3 + [0.0] * 3)


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("LaplaceMechanism", ([1.0], [0.0])),
        ("SVT1", HALF),
        ("SVT2", HALF),
        ("SVT4", HALF),
        ("SVT6", HALF),
        ("NumericalSVT", HALF),
        ("PrefixSum", HALF),
        ("ReportNoisyMax1", HALF),
        ("ReportNoisyMax2", HALF),
        ("GumbelMax", HALF),
        ("GaussianNoisyMax", HALF),
        ("TruncatedGeometric", ([1], [0])),
        ("Rappor", (1, 0)),
    ],
)
def test_the_enclosure_is_narrow_and_contains_the_float_answer(name, pair):
    plain = exact_loss(zoo.get(name), *pair)
    loss = exact_loss(zoo.get(name), *pair, certify=True)
    assert loss.enclosure is not None
    low, high = loss.enclosure
    assert low <= loss.epsilon <= high
    assert high - low < 1e-9
    assert plain.epsilon == pytest.approx((low + high) / 2, abs=1e-11)


def test_laplace_is_enclosed_in_one_tenth():
    low, high = exact_loss(zoo.get("LaplaceMechanism"), [1.0], [0.0], certify=True).enclosure
    assert low <= 0.1 <= high


def test_a_sum_of_laplace_noises_is_enclosed():
    def mechanism(x, rng):
        return x + rng.laplace(scale=1) + rng.laplace(scale=3) - 2 * rng.laplace(scale=5)

    low, high = exact_loss(mechanism, 0, 1, certify=True).enclosure
    assert low <= 0.1 <= high
    assert high - low < 1e-15


def test_an_infinity_by_supports_is_certain():
    loss = exact_loss(zoo.get("SVT5"), [0.5, 1.5], [1.5, 1.5], certify=True)
    assert loss.enclosure == (math.inf, math.inf)


def test_what_is_not_covered_is_said():
    loss = exact_loss(zoo.get("SVT3"), *HALF, certify=True)
    assert loss.enclosure is None
    assert any("no enclosure" in note for note in loss.notes)
