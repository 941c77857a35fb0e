"""Certificates as theorems: what is exported, what Coq makes of it, and that it can say no."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dpest
from dpest import kernel, zoo
from dpest.auditing import prove
from dpest.cli.check import check as check_command
from dpest.errors import RefusedError
from dpest.evidence import Measure
from dpest.notions.closed_forms import gaussian_delta
from dpest.proofs import coqc
from dpest.proofs.approximate.proving import prove_contributions
from dpest.proofs.coq import exporting as coq
from dpest.proofs.coq.terms import rational
from dpest.proofs.question import asked
from formal import stage_mechanisms as stage
from proofs import contribution_mechanisms as contribution

FORMAL = Path(__file__).resolve().parents[2] / "formal"
CHECKER = FORMAL / "checker" / "dpest-checker"
needs_coq = pytest.mark.skipif(
    not (coqc.available() and (FORMAL / "StageKinds.vo").exists()),
    reason="the formalisation is not built: make formal",
)
needs_checker = pytest.mark.skipif(not CHECKER.exists(), reason="make formal builds the checker")


def certificate(name: str, length: Any = dpest.ANY) -> dict[str, Any]:
    found = prove(zoo.get(name), length=length).certificate
    assert found is not None
    return json.loads(json.dumps(found))


@pytest.mark.parametrize("name", ["SVT1", "ReportNoisyMax1", "LaplaceMechanism"])
def test_the_mechanisms_written_by_hand_are_about_todays_export(name: str) -> None:
    # formal/ByHand.v proves equal to what is in formal/examples.
    assert (FORMAL / "examples" / f"{name}.v").read_text() == coq.export(certificate(name))


def test_nothing_is_assumed_in_the_sources() -> None:
    for path in FORMAL.rglob("*.v"):
        text = path.read_text()
        for word in ("Admitted", "admit.", "Axiom ", "Parameter ", "Conjecture "):
            assert word not in text, f"{path.name} has {word}"


def test_what_has_no_theorem_is_refused_with_the_reason() -> None:
    with pytest.raises(RefusedError, match="composed laws"):
        coq.export(accounted(stage.laplace_and_gaussian, Measure(delta=1e-5)))
    with pytest.raises(RefusedError, match="drawn again"):
        coq.export(
            accounted(contribution.truncated, Measure(delta=2e-3), dpest.integers(dpest.ANY, 0, 1))
        )
    with pytest.raises(RefusedError, match="by magic"):
        coq.export({**certificate("LaplaceMechanism"), "method": "magic"})
    indicator = certificate("SalaryMean", 5)
    for rule in indicator["derived"].values():
        rule["kind"] = "indicator"
    with pytest.raises(RefusedError, match="indicators"):
        coq.export(indicator)
    gumbel = certificate("NoisyMaxGap")
    gumbel["noises"] = {name: ["gumbel", scale] for name, (_, scale) in gumbel["noises"].items()}
    with pytest.raises(RefusedError, match="gap of gumbel noise"):
        coq.export(gumbel)


def composed(name: str, bound: str) -> dict[str, Any]:
    """Two calls of a mechanism, the second with half the unit."""
    part = certificate(name, 1)
    header = ("format", "version", "source", "sha256", "unit", "adjacency", "length", "parameters")
    found = {key: part[key] for key in header} | {"mechanism": "Twice", "method": "composition"}
    found |= {"epsilon": bound, "parts": [part, part], "paths": [[[0, "1"], [1, "1/2"]], []]}
    return found | ({"power": part["power"]} if "power" in part else {})


@needs_coq
def test_certificates_of_each_kind_are_theorems(tmp_path: Path) -> None:
    kinds = [
        ("MonotoneSVT", dpest.ANY),
        ("NoisyMax", 4),
        ("GumbelMax", dpest.ANY),
        ("GeometricMechanism", 1),
        ("RandomizedResponse", 1),
        ("SalarySumAndCount", dpest.ANY),
        ("SalaryMean", 5),
        ("SnappingLaplace", 1),
        ("GaussianMechanism", 1),
        ("DiscreteGaussianMechanism", 1),
        ("GaussianNoisyMax", 4),
        ("NoisyMaxGap", dpest.ANY),
    ]
    several = [composed("LaplaceMechanism", "3/2"), composed("GaussianMechanism", "3/2")]
    for one in several:
        kernel.check(one)
    path = tmp_path / "Batch.v"
    every = [*(certificate(*kind) for kind in kinds), *several]
    path.write_text(coqc.batch_text(map(coq.export, every)))
    answer = coqc.compile_file(path, FORMAL)
    assert answer.returncode == 0, answer.stderr
    assert set(coqc.assumptions(answer.stdout)) == coqc.STANDARD_AXIOMS


@needs_coq
def test_coq_refuses_what_is_false() -> None:
    smaller = certificate("SVT1")
    smaller["epsilon"] = "99/100"
    with pytest.raises(coqc.CoqError, match="refuses"):
        coqc.check(smaller)
    empty = certificate("SVT1")
    empty["components"][0]["steps"] = []
    with pytest.raises(coqc.CoqError, match="refuses"):
        coqc.check(empty)


@needs_coq
@pytest.mark.parametrize(
    ("name", "length"),
    [
        ("GaussianMechanism", 1),
        ("DiscreteGaussianMechanism", 1),
        ("NoisyMaxGap", dpest.ANY),
        ("SnappingLaplace", 1),
        ("SalaryMean", 5),
    ],
)
def test_coq_refuses_a_bound_that_is_too_small(name: str, length: Any) -> None:
    smaller = certificate(name, length)
    smaller["epsilon"] = str(Fraction(smaller["epsilon"]) * Fraction(99, 100))
    with pytest.raises(coqc.CoqError, match="refuses"):
        coqc.check(smaller)


@needs_coq
def test_coq_refuses_a_sum_of_costs_that_is_too_small() -> None:
    with pytest.raises(coqc.CoqError, match="refuses"):
        coqc.check(composed("LaplaceMechanism", "5/4"))
    with pytest.raises(coqc.CoqError, match="refuses"):
        coqc.check(composed("GaussianMechanism", "5/4"))


def clipped_twice(data: Any, rng: Any, *, scale: float = 2.0) -> Any:
    first = sum(min(max(x, 0.0), 1.0) for x in data) + rng.laplace(scale=scale)
    return first, sum(min(max(x, -1.0), 1.0) for x in data) + rng.laplace(scale=scale)


def clipped_gaussian(data: Any, rng: Any, *, sigma: float = 2.0) -> Any:
    return sum(min(max(x, -1.0), 1.0) for x in data) + rng.normal(scale=sigma)


@needs_coq
@pytest.mark.parametrize(
    ("function", "measure", "bound"),
    [(clipped_twice, Measure(), "1"), (clipped_gaussian, Measure("zcdp"), "1/8")],
)
def test_stages_of_noise_are_a_theorem(function: Any, measure: Measure, bound: str) -> None:
    domain = dpest.reals(dpest.ANY, -3, 3)
    question = asked(function, "add_remove_one", dpest.ANY, None, None, domain, None, None)
    found = json.loads(json.dumps(prove_contributions(question, measure, None).certificate))
    assert (found["method"], found["epsilon"]) == ("contributions", bound)
    assert coqc.check(found).statement.startswith("Every program whose stages of noise cost what")
    found["epsilon"] = str(Fraction(bound) * Fraction(99, 100))
    with pytest.raises(coqc.CoqError, match="refuses"):
        coqc.check(found)


def accounted(function: Any, measure: Measure, domain: Any = None) -> dict[str, Any]:
    domain = dpest.reals(dpest.ANY, -3, 3) if domain is None else domain
    question = asked(function, "add_remove_one", dpest.ANY, None, None, domain, None, None)
    return json.loads(json.dumps(prove_contributions(question, measure, None).certificate))


@needs_coq
def test_stages_of_the_accountant_are_theorems(tmp_path: Path) -> None:
    keys = dpest.integers(dpest.ANY, 0, 2)
    every = [
        certificate("ClassicGaussian"),
        accounted(stage.gaussian_twice, Measure(delta=1e-5)),
        accounted(stage.gaussian_twice, Measure("gdp")),
        accounted(contribution.keys, Measure(delta=1.000001e-3), keys),
        accounted(stage.sampled_laplace, Measure()),
        accounted(stage.exponential_choice, Measure()),
        accounted(stage.noisy_winner, Measure()),
    ]
    path = tmp_path / "Accounts.v"
    path.write_text(coqc.batch_text(map(coq.export, every)))
    answer = coqc.compile_file(path, FORMAL)
    assert answer.returncode == 0, answer.stderr
    assert set(coqc.assumptions(answer.stdout)) == coqc.STANDARD_AXIOMS


@needs_coq
@pytest.mark.parametrize(
    ("factor", "holds"), [("1000001/1000000", True), ("999999/1000000", False)]
)
def test_the_delta_of_gaussian_noise_is_verified_to_a_millionth(
    tmp_path: Path, factor: str, holds: bool
) -> None:
    found = certificate("ClassicGaussian")
    (noise,) = found["ways"][0]["noises"]
    exact = gaussian_delta(1 / float(Fraction(noise["scale"])), float(Fraction(found["epsilon"])))
    text, claimed = coq.export(found), rational(Fraction(found["delta"]))
    path = tmp_path / "Delta.v"
    path.write_text(text.replace(claimed, rational(Fraction(exact) * Fraction(factor))))
    assert (coqc.compile_file(path, FORMAL).returncode == 0) is holds


@needs_coq
def test_no_theorem_rests_on_more_than_the_axioms_of_the_reals() -> None:
    answer = subprocess.run(
        [sys.executable, str(FORMAL / "assumptions.py")], capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "beyond the axioms of the reals: nothing" in answer.stdout


@needs_coq
def test_an_audit_says_that_coq_has_checked_its_certificate() -> None:
    verdict = dpest.audit(zoo.get("SVT1"), engines=("proof",), coq=True)
    assert verdict.upper is not None
    assert any(note.startswith("checked by Coq") for note in verdict.upper.notes)
    assert "checked by Coq" in verdict.to_json()


def test_an_audit_says_why_coq_has_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    verdict = dpest.audit(zoo.get("SVT1"), engines=("proof",), coq=True)
    assert verdict.upper is not None
    assert any("not checked by Coq: Coq is not here" in note for note in verdict.upper.notes)


@needs_coq
def test_check_prints_the_theorem_and_its_assumptions(tmp_path: Path) -> None:
    path = tmp_path / "svt.cert.json"
    path.write_text(json.dumps(certificate("SVT1")))
    said = CliRunner().invoke(
        check_command, [str(path), "--proof-only", "--coq"], standalone_mode=False
    )
    assert said.return_value == 0, said.output
    assert "SVT1 is 1*eps-differentially private for every eps > 0" in said.output
    assert "Classical_Prop.classic" in said.output


def test_without_coq_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    path = tmp_path / "svt.cert.json"
    path.write_text(json.dumps(certificate("SVT1")))
    said = CliRunner().invoke(
        check_command, [str(path), "--proof-only", "--coq"], standalone_mode=False
    )
    assert said.return_value == 2
    assert "apt-get install coq libcoq-coquelicot" in said.output


def ask(batch: list[dict[str, Any]]) -> list[str]:
    lines = "\n".join(map(json.dumps, batch)) + "\n"
    answer = subprocess.run([str(CHECKER), "-"], input=lines, capture_output=True, text=True)
    return answer.stdout.splitlines()


@needs_checker
def test_the_verified_checker_accepts_and_rejects() -> None:
    names = ["SVT1", "GumbelMax", "SalaryMean", "SalarySumAndCount", "NoisyMaxGap"]
    fixed = [("NoisyMax", 4), ("GaussianMechanism", 1), ("DiscreteGaussianMechanism", 1)]
    good = [*map(certificate, names), *(certificate(*one) for one in fixed)]
    assert ask(good) == ["accepted"] * 8
    bad = copy.deepcopy(good)
    for one in bad:
        one["epsilon"] = "1/2"
    assert all(answer.startswith("rejected") for answer in ask(bad))
    assert ask([certificate("SnappingLaplace")])[0].startswith("out of scope")


@needs_checker
def test_the_verified_checker_reads_compositions_and_stages() -> None:
    names = ["ClassicGaussian", "GaussianMechanism", "GaussianNoisyMax"]
    good = [composed("LaplaceMechanism", "3/2"), *map(certificate, names)]
    assert [one["method"] for one in good] == ["composition", *["contributions"] * 3]
    assert ask(good) == ["accepted"] * 4
    bad = copy.deepcopy(good)
    for one in bad:
        one["epsilon"] = str(Fraction(one["epsilon"]) * Fraction(999_999, 1_000_000))
    part = copy.deepcopy(good[0])
    part["parts"][1]["epsilon"] = "1/2"
    assert all(answer.startswith("rejected") for answer in ask([*bad, part]))


@needs_checker
def test_the_verified_checker_reads_tables() -> None:
    with_unit, numbers = certificate("RandomizedResponse", 1), certificate("Rappor", 1)
    assert ask([with_unit, numbers]) == ["accepted"] * 2
    less = copy.deepcopy([with_unit, numbers])
    less[0]["power"], less[0]["epsilon"] = 0, "0"
    less[1]["exponential"] = str(Fraction(numbers["exponential"]) * Fraction(99, 100))
    more = copy.deepcopy(with_unit)
    more["tables"][0]["parts"][0]["0"][0][0] = "2"  # the chances sum to more than one
    other = copy.deepcopy(with_unit)
    other["domain"]["values"].append(2)  # an input without a table
    assert all(answer.startswith("rejected") for answer in ask([*less, more, other]))


@needs_checker
def test_the_verified_checker_does_not_take_what_is_malformed() -> None:
    one = certificate("SVT1")
    del one["components"]
    two = certificate("SVT1")
    two["epsilon"] = "1/0"
    three = certificate("SVT1")
    three["edges"][0]["to"] = 99
    assert all(answer.startswith("rejected") for answer in ask([one, two, three]))
