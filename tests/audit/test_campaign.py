"""How an audit goes about its question."""

from __future__ import annotations

import math
import random

import pytest

import dpest
from dpest import zoo
from dpest.campaign import rays
from dpest.errors import DomainError, InputError
from dpest.reading.trace import trace
from dpest.running.watchdog import Deadline, TimeUp, watched


def noisy(x, rng, *, eps=0.5):
    return x[0] + rng.laplace(scale=1 / eps)


def test_two_sides_of_a_plain_function():
    verdict = dpest.audit(noisy, epsilon=0.5, adjacency=dpest.l1(1), length=1)
    assert verdict.status == "exact"
    assert verdict.lower.value == pytest.approx(0.5)
    assert verdict.upper.value == pytest.approx(0.5)
    assert verdict.upper.standing.name == "proved"


def test_without_a_claim_it_measures():
    verdict = dpest.audit(noisy, adjacency="l1", length=1)
    assert verdict.question.claim is None
    assert verdict.status == "exact"


def test_what_is_assumed_is_said():
    verdict = dpest.audit(noisy)
    assert any("adjacency" in note for note in verdict.notes)
    assert any("length" in note for note in verdict.notes)


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("pure:0.5", "exact"),
        ("pure:0.4", "violated"),
        ("approx:0.5,0.001", "proved"),
        ("approx:0.1,0.001", "violated"),
        ("renyi:2,0.3", "proved"),
        ("renyi:2,0.01", "violated"),
        ("zcdp:0.125", "proved"),
        ("zcdp:0.01", "violated"),
        ("gdp:1", "proved"),
        ("gdp:0.1", "violated"),
    ],
)
def test_every_kind_of_claim(claim, status):
    verdict = dpest.audit(noisy, claim=claim, adjacency=dpest.l1(1), length=1)
    wanted = ("exact", "proved") if status != "violated" else ("violated",)
    assert verdict.status in wanted, str(verdict)


def gaussian(x, rng, *, sigma=2.0):
    return x[0] + rng.normal(scale=sigma)


@pytest.mark.parametrize(("rho", "status"), [(0.125, "exact"), (0.1, "violated")])
def test_gaussian_noise_and_zcdp(rho, status):
    verdict = dpest.audit(gaussian, claim=f"zcdp:{rho}", adjacency=dpest.l1(1), length=1)
    assert verdict.status == status, str(verdict)


def black_box(x):
    return x[0] + random.expovariate(1.0) - random.expovariate(1.0)


def test_noise_of_the_standard_library_is_read_and_has_no_proof():
    verdict = dpest.audit(black_box, epsilon=0.5, adjacency=dpest.l1(1), length=1)
    assert verdict.status == "violated"
    assert verdict.lower.standing.name == "exact"
    assert verdict.lower.value == pytest.approx(1.0)
    assert any("parameter `rng`" in note for note in verdict.notes)


def test_a_black_box_is_attacked():
    asked = {"epsilon": 0.5, "adjacency": dpest.l1(1), "length": 1, "budget": "40000runs"}
    verdict = dpest.audit(black_box, engines=("attack",), **asked)
    assert verdict.status == "violated"
    assert verdict.lower.standing.name == "confidence"


def test_the_same_seed_gives_the_same_answer():
    def untraceable(x, rng):
        return float(x[0] + rng.laplace(scale=2.0))

    asked = {"adjacency": dpest.l1(1), "length": 1, "budget": "20000runs", "seed": 5}
    first = dpest.audit(untraceable, engines=("attack",), **asked)
    second = dpest.audit(untraceable, engines=("attack",), **asked)
    assert first.lower.value == second.lower.value


def test_growth_with_the_length():
    def maximum(x, rng, *, eps=0.4):
        return max(q + rng.laplace(scale=2 / eps) for q in x)

    verdict = dpest.audit(maximum, epsilon=0.4, adjacency=dpest.linf(1), length=range(1, 5))
    rows = verdict.details["growth"]["rows"]
    assert [row["length"] for row in rows] == [1, 2, 3, 4]
    for row in rows:
        assert row["upper"] == pytest.approx(0.2 * row["length"])
        assert row["lower"] > 0.98 * row["upper"]
    assert "grows" in verdict.details["growth"]["summary"]


def test_a_loop_of_any_length_is_said_to_be_bounded():
    def totals(x, rng, *, eps=0.4):
        total, answers = 0, []
        for q in x:
            total = total + q + rng.laplace(scale=1 / eps)
            answers.append(total)
        return answers

    verdict = dpest.audit(totals, adjacency=dpest.l1(1), length=[2, 4])
    assert "bounded: at most 0.4 for every n" in verdict.details["growth"]["summary"]


def test_infinite_is_shown_not_counted():
    def tells(x, rng):
        return x[0] + rng.exponential(1.0)

    verdict = dpest.audit(tells, epsilon=3.0, adjacency=dpest.l1(1), length=1)
    assert verdict.status == "violated"
    assert math.isinf(verdict.lower.value)
    assert verdict.lower.standing.name == "exact"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"epsilon": -1}, DomainError),
        ({"epsilon": 1, "claim": "pure:1"}, InputError),
        ({"delta": 2, "epsilon": 1}, DomainError),
        ({"alpha": 0}, DomainError),
        ({"engines": ("guess",)}, InputError),
        ({"length": 0}, InputError),
        ({"params": {"nothing": 1}}, InputError),
    ],
)
def test_wrong_questions(words, error):
    with pytest.raises(error):
        dpest.audit(noisy, **words)


def test_assert_private():
    asked = {"adjacency": dpest.l1(1), "length": 1}
    assert dpest.assert_private(noisy, epsilon=0.5, **asked).status == "exact"
    with pytest.raises(AssertionError, match="VIOLATED") as failure:
        dpest.assert_private(noisy, epsilon=0.4, **asked)
    assert "replay" in str(failure.value)


def test_calibrate_finds_the_least_noise():
    found = dpest.calibrate(noisy, epsilon=0.7, param="eps", adjacency=dpest.l1(1), length=1)
    assert found.value == pytest.approx(0.7, rel=1e-5)
    assert found.bound.value <= 0.7 * (1 + 1e-12)
    assert found.error["mean_absolute"] == pytest.approx(1 / 0.7, rel=0.05)


def test_the_replay_lines_run(capsys):
    verdict = dpest.audit(dpest.zoo.get("SVT4"))
    exec(verdict.lower.witness.replay, {})
    assert float(capsys.readouterr().out.split()[0]) == pytest.approx(verdict.lower.value)


def test_a_proof_speaks_from_below_where_pairs_take_too_long(monkeypatch):
    """No pair is computed in no time: the ray argument's supremum is the lower bound then."""
    monkeypatch.setattr(rays, "RAY_SECONDS", 1e-9)
    mechanism = zoo.get("SVT4")
    verdict = dpest.audit(mechanism, length=4)
    assert verdict.status == "violated"
    assert "ray argument" in verdict.lower.method
    true = mechanism.about["truth"](4, mechanism.all_params)
    assert true * (1 - 1e-9) <= verdict.lower.value <= true
    assert any("could not be followed" in note for note in verdict.notes)


def test_a_bounded_domain_ends_before_the_ray(monkeypatch):
    """The supremum over all reals is no lower bound for inputs between 0 and 1."""
    monkeypatch.setattr(rays, "RAY_SECONDS", 1e-9)
    verdict = dpest.audit(zoo.get("SVT4"), domain=dpest.reals(4, 0, 1))
    assert verdict.lower is None or "ray argument" not in verdict.lower.method
    assert verdict.upper.value == pytest.approx(0.175)
    assert verdict.lower.value < 0.17


def test_the_end_of_a_wider_time_limit_is_not_taken_for_the_traces_own():
    def endless(x, rng):
        turns = 0
        while turns >= 0:
            turns += 1
        return x[0] + rng.laplace()

    with pytest.raises(TimeUp), watched(Deadline(0.2)):
        trace(endless, [0.0], seconds=1000.0)


@pytest.mark.parametrize("patience", [0.0, -1.0, math.inf, math.nan])
def test_patience_is_a_positive_number(patience):
    with pytest.raises((DomainError, InputError), match="patience"):
        dpest.audit(zoo.get("SVT4"), patience=patience)


def test_an_upper_bound_below_an_exact_value_is_withdrawn():
    from dpest.campaign.contradictions import contradictions
    from dpest.evidence import EXACT, PROVED, Evidence

    lower = Evidence("lower", 1.0, EXACT, "exact: one below")
    upper = Evidence("upper", 1.0 - 1e-12, PROVED, "proof: potentials")
    false = Evidence("upper", 0.5, PROVED, "proof: contributions")
    assert contradictions([lower, upper]) == []
    assert contradictions([lower, upper, false]) == [false]
