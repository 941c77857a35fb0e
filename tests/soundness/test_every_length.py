"""A bound for one length is no answer where data of every length were asked for."""

from __future__ import annotations

import math

import pytest

import dpest


def each(x, rng):
    return [v + rng.laplace(0, 1.0) for v in x]


def less_noise_for_long_data(x, rng):
    return sum(x) + rng.laplace(0, 1.0 if len(x) < 7 else 0.5)


def majority_if_stable(x, rng):
    ones = sum(1 for v in x if v == 1)
    zeros = len(x) - ones
    if abs(ones - zeros) / 2 + rng.laplace(0, 1.0) > math.log(50) + 1:
        return 1 if ones > zeros else 0
    return None


ASKED = [
    (each, {"epsilon": 5.0, "adjacency": "linf", "domain": "reals:0,1"}),
    (each, {"epsilon": 5.0, "adjacency": "linf", "domain": "reals"}),
    (less_noise_for_long_data, {"epsilon": 1.0, "adjacency": "l1", "domain": "reals"}),
    (less_noise_for_long_data, {"epsilon": 1.0, "adjacency": "l1", "domain": "reals:0,1"}),
    (
        majority_if_stable,
        {"epsilon": 0.8, "delta": 0.01, "adjacency": "replace_one", "domain": "integers:0,1"},
    ),
]


@pytest.mark.parametrize(("function", "question"), ASKED)
def test_other_lengths_are_looked_at(function, question):
    verdict = dpest.audit(function, **question)
    assert verdict.status == "violated"
    assert not any(e.side == "upper" and e.value <= question["epsilon"] for e in verdict.evidence)


def test_a_bound_for_one_length_is_noted_as_such():
    verdict = dpest.audit(each, epsilon=50.0, adjacency="linf", domain="reals:0,1")
    assert verdict.status == "unsettled"
    assert any(note.startswith("for n = 5 alone: ε at most 5") for note in verdict.notes)


def test_a_bound_for_the_length_that_was_asked_stands():
    verdict = dpest.audit(each, epsilon=5.0, adjacency="linf", domain="reals(5, 0, 1)")
    assert verdict.status == "exact"
    assert verdict.upper.value == pytest.approx(5.0)


def test_an_assumed_length_gives_way_to_one_that_breaks_the_claim():
    verdict = dpest.audit(less_noise_for_long_data, epsilon=1.0, adjacency="l1")
    assert verdict.status == "violated"
    assert verdict.question.length == 7
    assert not any(e.side == "upper" and e.value <= 1.0 for e in verdict.evidence)
