"""One audit of each mechanism of the zoo, with default settings, against what is known of it."""

from __future__ import annotations

import math

import pytest

import dpest
from dpest import zoo

# Private in the mathematics only up to what the machine's arithmetic adds; see the float verdict.
MACHINE = {"SnappingLaplace"}


@pytest.mark.parametrize("name", zoo.names())
def test_verdict_agrees_with_the_truth(name):
    mechanism = zoo.get(name)
    verdict = dpest.audit(mechanism)
    truth = mechanism.about["truth"]
    n = verdict.question.length
    true = truth(n, mechanism.all_params) if truth is not None else None
    if true is not None:
        if verdict.lower is not None:
            assert verdict.lower.value <= true * (1 + 1e-9) + verdict.lower.error
        if verdict.upper is not None:
            assert verdict.upper.value >= true * (1 - 1e-9)
    if name in MACHINE:
        assert verdict.status != "violated"
        return
    wrong = not mechanism.about["right"] and n >= mechanism.about["wrong_from"]
    if wrong:
        assert verdict.status == "violated", str(verdict)
    else:
        assert verdict.status in ("exact", "proved"), str(verdict)


LAPLACE_OR_EXPONENTIAL = [
    m.name
    for m in zoo.entries()
    if m.about["truth"] is not None and m.name not in MACHINE and isinstance(m.claim, dpest.PureDP)
]


@pytest.mark.parametrize("name", LAPLACE_OR_EXPONENTIAL)
def test_the_two_bounds_meet(name):
    verdict = dpest.audit(zoo.get(name))
    assert verdict.lower is not None
    if math.isinf(verdict.lower.value):
        return
    assert verdict.gap is not None, str(verdict)
    assert verdict.gap <= 0.01, str(verdict)
