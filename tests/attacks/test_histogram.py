"""DPEST's sampling mode: estimates that cover the truth as they say, hints that are only hints."""

from __future__ import annotations

import math

import pytest

import dpest
from dpest import zoo
from dpest.ask.declaration import Mechanism
from dpest.attacks.histogram import histogram_attack
from dpest.attacks.sampler import MechanismSampler


def response(bit, rng):
    if rng.random() < 0.75:
        return bit
    return 1 - bit


def test_the_estimate_covers_the_truth_as_its_error_says():
    """60 estimates: two standard errors miss about 5 %; 11 misses have a chance below 1e-3."""
    sampler = MechanismSampler(Mechanism(response, "response"))
    missed = 0
    for seed in range(60):
        found = histogram_attack(sampler, (0, 1), runs=4000, seed=seed)
        missed += abs(found.details["estimate"] - math.log(3)) > 2 * found.error
    assert missed < 11


def test_a_choice_among_equal_patterns_does_not_raise_the_estimate():
    """On equal inputs every ratio is 1: a maximum of noisy ratios would lie far above."""
    sampler = MechanismSampler(zoo.get("ReportNoisyMax1"))
    values = [
        histogram_attack(sampler, ([0.0] * 5, [0.0] * 5), runs=4000, seed=s).details["estimate"]
        for s in range(20)
    ]
    assert abs(sum(values) / len(values)) < 0.1


def test_an_exclusive_pattern_is_a_hint_with_its_counts():
    found = dpest.attack(
        zoo.get("SVT5"), [0.5, 1.5], [1.5, 1.5], method="histogram", budget="20000runs"
    )
    assert not found.standing.is_bound
    assert math.isfinite(found.value)
    assert found.details["exclusive"][0]["count"] >= 20
    assert any("dpest exact" in note for note in found.notes)


@pytest.mark.parametrize("name", ["PrefixSum", "NumericalSVT"])
def test_private_mechanisms_are_not_called_infinite(name):
    found = dpest.attack(zoo.get(name), method="histogram", budget="8000runs", seed=1)
    assert math.isfinite(found.value)
