"""What follows from evidence."""

from __future__ import annotations

import math

import pytest

from dpest.evidence import ESTIMATE, Evidence, Measure, Standing, Witness, confidence
from dpest.report.text import advice, show_input, witness_lines
from dpest.verdict import Obstacle, Verdict
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


def machine(value: float = 7.0) -> Evidence:
    return lower(value, confidence(0.001)).with_(arithmetic="floating point")


@pytest.mark.parametrize("unasked", [True, False])
def test_doubles_that_fail_alone_do_not_refute_the_mathematics(unasked):
    details = {"floating_point_unasked": True} if unasked else {}
    verdict = Verdict(question(0.2), (lower(0.19), machine()), details=details)
    first = str(verdict).splitlines()[0]
    assert first.startswith("FLOATING POINT VIOLATED: SVT4 claims 0.2-DP, but its doubles leak")
    assert "The mathematics is not refuted" in first
    assert ("--no-floating-point" in first) is unasked
    assert first.endswith("UNSETTLED: the claim 0.2-DP of SVT4 is neither proved nor refuted; "
                          "ε in [0.19, ∞)")  # fmt: skip


def test_the_mathematics_holds_only_where_it_is_known():
    proved = Verdict(question(0.2), (upper(0.2), machine()))
    unknown = Verdict(question(0.2), (machine(),))
    assert "The mathematics holds" in advice(proved)
    assert "The mathematics holds" not in advice(unknown)
    assert "The mathematics is open" in advice(unknown)


def test_advice_names_the_line_that_stood_in_the_way():
    obstacles = [
        Obstacle("", "the kernel did not accept it", ""),
        Obstacle("code.py:3", "a branch on private data, in `if x > 3:`", "add noise first."),
    ]
    details = {"obstacles": [o.to_dict() for o in obstacles]}
    said = advice(Verdict(question(0.2), (lower(0.1),), details=details))
    assert "code.py:3: a branch on private data, in `if x > 3:`. Add noise first." in said
    assert "--budget raises the lower bound, and nothing else" in said


def test_advice_on_a_violation_says_what_could_be_claimed():
    assert "claim ε = 0.175, which is proved" in advice(VIOLATED)
    assert "no larger ε would hold" in advice(INFINITE)
    open_above = Verdict(question(0.1), (lower(0.3),))
    assert "no larger claim is proved" in advice(open_above)


def test_advice_on_a_proof_above_the_claim():
    said = advice(Verdict(question(0.1), (lower(0.05), upper(0.2))))
    assert "What is proved is ε ≤ 0.2: claim that" in said


def test_a_frame_is_shown_in_one_line():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1.0, 1.0, 2.0], "city": ["a", "a", "b"]})
    assert show_input(frame) == "DataFrame of 3 rows: 2 × {age: 1, city: a}, {age: 2, city: b}"


def test_probabilities_that_no_double_holds():
    found = lower(0.1).with_(witness=Witness(x=1, x2=2, p=0.0, q=0.0))
    assert "on either side less than any double" in "".join(witness_lines(found))


def test_a_finding_of_the_grey_box_is_no_estimate_beside_it():
    recorded = lower(1.0, ESTIMATE).with_(details={"recorded": {"findings": []}})
    text = str(Verdict(question(0.1), (recorded,)))
    assert "Grey box: no findings" in text
    assert "Estimate:" not in text


def test_long_lists_are_counted():
    assert show_input([1.0] * 3) == "[1, 1, 1]"
    assert show_input([2.0] + [0.0] * 99) == "[2, 0 (99 times)]"
