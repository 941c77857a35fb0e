"""Lower bounds by rays are claimed only where the argument holds."""

from __future__ import annotations

import pytest

import dpest
from dpest import zoo


def biased_coin(x, rng):
    return rng.random() < 0.5 + 0.1 * x[0]


def biased_coins(x, rng):
    answers = []
    for value in x:
        answers.append(rng.random() < 0.5 + 0.1 * value)
    return answers


@pytest.mark.parametrize("function", [biased_coin, biased_coins])
def test_a_uniform_draw_that_cannot_be_shifted_is_no_infinity(function):
    """The true ε is ln(0.6/0.5) at most; an infeasible shift says nothing here."""
    domain = dpest.reals(1, -1, 1)
    proof = dpest.prove(function, adjacency=dpest.linf(1), length=1, domain=domain)
    assert proof.lower is None
    assert proof.status == "unknown"


def test_lattice_noise_is_no_infinity():
    proof = dpest.prove(zoo.get("GeometricMechanism"), length=1)
    assert proof.lower is None
    assert proof.status != "refuted"


def test_a_bounded_domain_has_no_room_for_a_ray():
    svt = zoo.get("SVT1")
    whole = dpest.prove(svt, length=5)
    assert (whole.status, whole.epsilon) == ("exact", 1)
    inside = dpest.prove(svt, length=5, domain=dpest.reals(5, -1, 1))
    assert inside.epsilon == 1
    assert inside.lower is None
    assert inside.status != "exact"


def test_released_reals_can_be_walked_along_in_a_bounded_domain():
    proof = dpest.prove(zoo.get("NoisyHist1"), length=3)
    assert (proof.status, proof.epsilon) == ("exact", 1)
