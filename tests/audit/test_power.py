"""An assertion says what it would miss, and keeps its word."""

from __future__ import annotations

import random

import pytest

import dpest
from dpest.assertions import PrivacyViolation
from dpest.errors import InputError

STREAM = random.Random(5)


# Laplace noise for ε = 1 (the difference of two exponential draws). It has no source, so that it
# can only be run: what can be read is answered exactly, and misses nothing.
_NAMES = {"STREAM": STREAM}
exec("def black_box(x): return x + STREAM.expovariate(1.0) - STREAM.expovariate(1.0)", _NAMES)
black_box = _NAMES["black_box"]


def test_a_leak_of_the_stated_size_is_caught():
    # The chance that one of six audits misses it is at most 6 * 1 %; seeds are fixed.
    for seed in range(6):
        with pytest.raises(PrivacyViolation):
            dpest.assert_private(
                black_box, epsilon=0.5, adjacency="l1", catches=1.0, missed=0.01, seed=seed
            )


def test_what_would_be_missed_is_said():
    verdict = dpest.assert_private(black_box, epsilon=1.0, adjacency="l1", budget=20_000)
    power = verdict.details["power"]
    assert 1.0 < power["epsilon"] < 1.6
    assert power["missed"] == 0.05
    assert any("would have been missed" in note for note in verdict.notes)


def test_enough_runs_are_made():
    verdict = dpest.assert_private(black_box, epsilon=1.0, adjacency="l1", catches=1.6)
    # Both are found to a thousandth or so.
    assert verdict.details["power"]["epsilon"] <= 1.61


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 1.0, "catches": 0.9}, "must exceed the claim"),
        ({"epsilon": 1.0, "catches": 1.1, "budget": 500}, "takes .* runs"),
        ({"catches": 1.1}, "needs a claim"),
        ({"epsilon": 1.0, "catches": 2.0, "missed": 0}, "probability"),
    ],
)
def test_wrong_wishes(options, words):
    with pytest.raises(InputError, match=words):
        dpest.assert_private(black_box, adjacency="l1", **options)
