"""What follows from evidence."""

from __future__ import annotations

import math

import pytest

from dpest.evidence import ESTIMATE, Evidence, Measure, Standing, confidence
from dpest.verdict import Verdict
from report.verdicts import (
    EVERY,
    INFINITE,
    LOOSE,
    MEASURED,
    OPEN,
    TIGHT,
    VIOLATED,
    lower,
    question,
    upper,
)


@pytest.mark.parametrize(
    ("verdict", "status"),
    [
        (VIOLATED, "violated"),
        (TIGHT, "exact"),
        (LOOSE, "proved"),
        (OPEN, "unsettled"),
        (MEASURED, "exact"),
        (INFINITE, "violated"),
    ],
)
def test_status(verdict, status):
    assert verdict.status == status


def test_an_estimate_is_never_a_bound():
    verdict = Verdict(question(0.1), (lower(5.0, ESTIMATE),))
    assert verdict.lower is None
    assert verdict.status == "unsettled"


def test_evidence_on_another_measure_or_on_doubles_is_kept_apart():
    other = lower(5.0).with_(measure=Measure("renyi", alpha=2.0))
    machine = lower(7.0).with_(arithmetic="floating point")
    verdict = Verdict(question(0.1), (other, machine, upper(0.1)))
    assert verdict.lower is None
    assert verdict.status == "proved"
    assert verdict.floating_point_violated


def test_rounding_is_no_violation():
    assert Verdict(question(0.1), (lower(0.1 + 1e-16), upper(0.1))).status == "exact"
    assert Verdict(question(0.1), (lower(0.1001, error=0.001),)).status == "unsettled"
    assert Verdict(question(0.1), (lower(0.1001, error=1e-9),)).status == "violated"


def test_infinite_without_a_claim_is_exact():
    assert Verdict(question(None), (lower(math.inf),)).status == "exact"


def test_nan_and_misplaced_alpha_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        Evidence("lower", math.nan, confidence(0.1), "x")
    with pytest.raises(ValueError, match="alpha"):
        Standing("exact", 0.1)


def test_the_best_bounds_win():
    verdict = Verdict(question(None), (lower(0.1), lower(0.3), upper(0.9), upper(0.5)))
    assert (verdict.lower.value, verdict.upper.value) == (0.3, 0.5)
    assert verdict.gap == pytest.approx(0.4)


@pytest.mark.parametrize("verdict", EVERY)
def test_text_starts_with_the_answer_and_says_the_adjacency(verdict):
    text = str(verdict)
    assert text.split(":")[0] in ("VIOLATED", "EXACT", "PROVED", "UNSETTLED")
    assert verdict.question.adjacency in text
    assert "What to do" in text
