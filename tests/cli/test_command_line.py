"""The command line as a person meets it, wrong input included."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from dpest.cli import COMMANDS


def dpest(*words: str, cwd=None, timeout: float = 120) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "dpest", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=timeout,
        check=False,
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "good.py").write_text(
        "def noisy(x, rng, *, eps=0.5):\n    return x[0] + rng.laplace(scale=1 / eps)\n"
        "def low(x, rng, *, eps=0.5):\n    return x[0] + rng.laplace(scale=0.5 / eps)\n"
        "number = 3\n"
    )
    (tmp_path / "broken.py").write_text("def noisy(x, rng:\n    return 1\n")
    (tmp_path / "raises.py").write_text("raise RuntimeError('at import')\n")
    return tmp_path


def test_help_lists_every_command():
    shown = dpest("--help").stdout
    for name in COMMANDS:
        assert f"  {name}" in shown


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_each_command_has_help_with_an_example(name):
    done = dpest(name, "--help")
    assert done.returncode == 0, done.stderr
    assert "Example" in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["audit", "missing.py:noisy"], "no file"),
        (["audit", "good.py"], "name a function, as good.py:noisy"),
        (["audit", "good.py:nothing"], "it has: noisy, low"),
        (["audit", "good.py:number"], "not a function"),
        (["audit", "broken.py:noisy"], "broken.py:1: syntax error"),
        (["audit", "raises.py:noisy"], "RuntimeError: at import"),
        (["audit", "NoSuchMechanism"], "NoSuchMechanism"),
        (["audit", "good.py:noisy", "--epsilon", "-1"], "-1"),
        (["audit", "good.py:noisy", "--epsilon", "nan"], "nan"),
        (["audit", "good.py:noisy", "--claim", "nonsense"], "nonsense"),
        (["audit", "good.py:noisy", "--adjacency", "l7"], "l7"),
        (["audit", "good.py:noisy", "--length", "0"], "0"),
        (["audit", "good.py:noisy", "--length", "9..2"], "9..2"),
        (["audit", "good.py:noisy", "--budget", "soon"], "soon"),
        (["audit", "good.py:noisy", "--alpha", "2"], "alpha"),
        (["audit", "good.py:noisy", "--param", "eps"], "name=value"),
        (["audit", "good.py:noisy", "--param", "no_such=1"], "no_such"),
        (["audit", "good.py:noisy", "--json", "no/such/folder/f.json"], "can't write"),
        (["audit", "good.py:noisy", "--html", "."], "can't write"),
        (["audit", "good.py:noisy", "--baseline", "good.py"], "baseline"),
        (["exact", "good.py:noisy", "--pair", "[1", "[2]"], "not an input"),
        (["exact", "good.py:noisy", "--pair", "[1]", "[9]", "--adjacency", "l1"], "neighbours"),
        (["exact", "good.py:noisy"], "--pair"),
        (["attack", "good.py:noisy", "--method", "guess"], "guess"),
        (["check", "good.py"], "good.py"),
    ],
)
def test_wrong_input_gets_one_reason_and_status_2(folder, words, says):
    before = sorted(folder.rglob("*"))
    done = dpest(*words, cwd=folder)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert says.lower() in done.stderr.lower()
    assert "Traceback" not in done.stderr
    after = [p for p in sorted(folder.rglob("*")) if "__pycache__" not in str(p)]
    assert after == before


def test_audit_of_a_file_writes_json_and_html(folder):
    done = dpest(
        *["audit", "good.py:noisy", "--epsilon", "0.5", "--adjacency", "l1", "--length", "1"],
        *["--json", "a.json", "--html", "a.html"],
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("EXACT")
    report = json.loads((folder / "a.json").read_text())
    assert report["status"] == "exact"
    assert report["lower"]["value"] == pytest.approx(0.5)
    assert "<svg" in (folder / "a.html").read_text()


def test_a_violation_exits_with_1_and_shows_the_witness(folder):
    words = ["audit", "good.py:low", "--epsilon", "0.5", "--adjacency", "l1", "--length", "1"]
    done = dpest(*words, cwd=folder)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("VIOLATED")
    assert "against" in done.stdout


def test_json_on_standard_output_is_json_alone(folder):
    words = ["audit", "good.py:noisy", "--adjacency", "l1", "--length", "1", "--json", "-"]
    done = dpest(*words, cwd=folder)
    assert json.loads(done.stdout)["mechanism"] == "noisy"


def test_baseline(folder):
    words = ["audit", "good.py:noisy", "--adjacency", "l1", "--length", "1", "--epsilon", "0.5"]
    assert dpest(*words, "--json", "old.json", cwd=folder).returncode == 0
    same = dpest(*words, "--baseline", "old.json", cwd=folder)
    assert same.returncode == 0
    assert "before and now" in same.stdout
    worse = dpest(*words, "--param", "eps=1.0", "--baseline", "old.json", cwd=folder)
    assert worse.returncode == 1
    assert "worse" in worse.stdout
    other = dpest(*words[:-1], "0.7", "--baseline", "old.json", cwd=folder)
    assert other.returncode == 2
    assert "another question" in other.stderr


def test_a_proof_for_one_length_answers_nothing_about_every_length():
    """The mechanism takes one number: with every length asked for, its proof is a note."""
    found = dpest("prove", "LaplaceMechanism", "--length", "any")
    assert found.returncode == 2
    assert "every length: unknown" in found.stdout.splitlines()[0]
    assert "note: for one length: LaplaceMechanism, l1, n = 1" in found.stdout
    answer = json.loads(dpest("prove", "LaplaceMechanism", "--length", "any", "--json", "-").stdout)
    assert answer["answers_the_question"] is False
    assert answer["length"] == 1
    without = dpest("prove", "LaplaceMechanism")
    assert without.returncode == 0
    assert "n = 1" in without.stdout.splitlines()[0]
