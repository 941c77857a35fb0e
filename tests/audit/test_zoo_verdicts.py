"""One audit of each mechanism of the zoo, with default settings, against what is known of it."""

from __future__ import annotations

import math

import pytest

import dpest
from dpest import zoo
from dpest.report.text import headline

# What is found must not depend on how fast the machine is: no engine is to give up in time's want.
PATIENCE = 20.0


@pytest.mark.parametrize("name", zoo.names())
def test_verdict_agrees_with_the_truth(name):
    mechanism = zoo.get(name)
    verdict = dpest.audit(mechanism, patience=PATIENCE)
    n = verdict.question.length
    truth = mechanism.about["truth"]
    true = truth(n, mechanism.all_params) if truth is not None else None
    if true is not None:
        if verdict.lower is not None:
            assert verdict.lower.value <= true * (1 + 1e-9) + verdict.lower.error
        if verdict.upper is not None:
            assert verdict.upper.value >= true * (1 - 1e-9)
    wrong = not mechanism.about["right"] and n >= mechanism.about["wrong_from"]
    if wrong:
        assert verdict.status == "violated", str(verdict)
    else:
        assert verdict.status in ("exact", "proved"), str(verdict)
    if mechanism.about.get("floating_point"):
        assert verdict.floating_point is not None
        assert not verdict.floating_point_violated
        assert "FLOATING POINT: no violation of 0.1-DP found" in headline(verdict)
    pure = isinstance(mechanism.claim, dpest.PureDP) and true is not None
    if pure and math.isfinite(true):
        assert verdict.gap is not None, str(verdict)
        assert verdict.gap <= 0.01, str(verdict)
