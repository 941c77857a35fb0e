"""Certificates as theorems: what is exported, what Coq makes of it, and that it can say no."""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dpest
from dpest import zoo
from dpest.auditing import prove
from dpest.cli.check import check as check_command
from dpest.errors import RefusedError
from dpest.proofs import coq, coqc

FORMAL = Path(__file__).resolve().parents[2] / "formal"
CHECKER = FORMAL / "checker" / "dpest-checker"
needs_coq = pytest.mark.skipif(
    not (coqc.available() and (FORMAL / "FiniteTable.vo").exists()),
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


@pytest.mark.parametrize(
    ("name", "why"),
    [("GaussianMechanism", "square"), ("NoisyMaxGap", "gap"), ("SnappingLaplace", "clipped")],
)
def test_what_has_no_theorem_is_refused_with_the_reason(name: str, why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        coq.export(certificate(name))


@needs_coq
def test_certificates_of_each_kind_are_theorems(tmp_path: Path) -> None:
    kinds = [
        ("MonotoneSVT", dpest.ANY),
        ("NoisyMax", 4),
        ("GumbelMax", dpest.ANY),
        ("GeometricMechanism", 1),
        ("RandomizedResponse", 1),
        ("SalarySumAndCount", dpest.ANY),
    ]
    path = tmp_path / "Batch.v"
    path.write_text(coqc.batch_text(coq.export(certificate(*kind)) for kind in kinds))
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
    good = [certificate("SVT1"), certificate("NoisyMax", 4), certificate("GumbelMax")]
    assert ask(good) == ["accepted"] * 3
    bad = copy.deepcopy(good)
    for one in bad:
        one["epsilon"] = "1/2"
    assert all(answer.startswith("rejected") for answer in ask(bad))
    assert ask([certificate("GaussianMechanism")])[0].startswith("out of scope")


@needs_checker
def test_the_verified_checker_does_not_take_what_is_malformed() -> None:
    one = certificate("SVT1")
    del one["components"]
    two = certificate("SVT1")
    two["epsilon"] = "1/0"
    three = certificate("SVT1")
    three["edges"][0]["to"] = 99
    assert all(answer.startswith("rejected") for answer in ask([one, two, three]))
