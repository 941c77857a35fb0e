"""Files for a pull request, forms for a notebook, and a starter for a project."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

import dpest
from dpest.cli.init import mechanisms, privacy_test
from dpest.report.sarif import Audited, badge, markdown, sarif

CODE = """import dpest


@dpest.mechanism(claim=dpest.PureDP("eps"), adjacency=dpest.l1(1), domain=dpest.reals(2))
def right(x, rng, *, eps=1.0):
    return sum(x) + rng.laplace(scale=1 / eps)


@dpest.mechanism(claim=dpest.PureDP("eps"), adjacency=dpest.l1(1), domain=dpest.reals(2))
def wrong(x, rng, *, eps=1.0):
    return sum(x) + rng.laplace(scale=0.5 / eps)
"""


@pytest.fixture(scope="module")
def audits(tmp_path_factory):
    from dpest.cli.targets import declared_in

    path = tmp_path_factory.mktemp("code") / "code.py"
    path.write_text(CODE, encoding="utf-8")
    return path.parent, [(m, dpest.audit(m)) for m in declared_in(str(path))]


@pytest.fixture(scope="module")
def reviewed(audits):
    folder, found = audits
    return [Audited.of(mechanism, verdict, folder) for mechanism, verdict in found]


def test_sarif_points_to_the_line_of_the_function_that_fails(reviewed):
    log = json.loads(sarif(reviewed))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    known = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    (result,) = run["results"]
    assert result["ruleId"] in known
    assert result["level"] == "error"
    assert "wrong claims 1-DP" in result["message"]["text"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "code.py"
    line = CODE.splitlines()[place["region"]["startLine"] - 1]
    assert line.startswith(("@dpest.mechanism", "def wrong"))


def test_the_summary_has_the_worst_first(reviewed):
    rows = [row for row in markdown(reviewed).splitlines() if row.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == ["wrong", "right"]


def test_several_targets_make_one_file_of_each_kind(audits):
    names = [
        "--json",
        "all.json",
        "--sarif",
        "all.sarif",
        "--summary",
        "all.md",
        "--badge",
        "b.svg",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "dpest", "audit", "code.py", "SVT1", "missing.py", *names],
        cwd=audits[0], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    found = json.loads((audits[0] / "all.json").read_text(encoding="utf-8"))
    assert found["format"] == "dpest-verdicts/1"
    told = {v["mechanism"]: v["status"] for v in found["verdicts"]}
    assert told["wrong"] == "violated"
    assert told["SVT1"] == "exact"
    assert told["missing.py"] == "unsettled"
    (run,) = json.loads((audits[0] / "all.sarif").read_text(encoding="utf-8"))["runs"]
    assert [r["ruleId"] for r in run["results"]] == ["privacy-claim-violated"]
    rows = (audits[0] / "all.md").read_text(encoding="utf-8").splitlines()
    order = [row.split("`")[1] for row in rows if row.startswith("| `")]
    assert order[:2] == ["wrong", "missing.py"]
    assert "violated" in (audits[0] / "b.svg").read_text(encoding="utf-8")


def test_the_badge_is_a_picture_of_the_worst(reviewed):
    text = badge(reviewed)
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg")
    assert "violated" in text


@pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_file_as_target(audits, tmp_path):
    from dpest.cli import dpest as command

    folder = audits[0]
    target = str(folder / "code.py")
    paths = {k: str(tmp_path / k) for k in ("sarif", "summary", "badge", "html")}
    options = [o for k, p in paths.items() for o in (f"--{k}", p)]
    options += ["--author", "A. <Person>"]
    ended = CliRunner().invoke(command, ["audit", target, *options], standalone_mode=False)
    assert ended.return_value == 1
    assert all(Path(p).exists() for p in paths.values())
    assert "wrong" in Path(paths["summary"]).read_text(encoding="utf-8")
    page = Path(paths["html"]).read_text(encoding="utf-8")
    assert "2 mechanisms: 1 violated, 1 exact" in page
    assert page.count("A. &lt;Person&gt;") == page.count("sha256:") == 2


def test_rich_forms(audits):
    mechanism, verdict = audits[1][1]
    loss = dpest.exact(mechanism, [0.0, 0.0], [1.0, 0.0])
    shown = [
        verdict,
        verdict.lower,
        loss,
        dpest.distribution(mechanism, [0.0, 0.0]),
        dpest.prove(mechanism),
    ]
    for value in shown:
        html = value._repr_html_()
        assert html.startswith("<div>")
        ElementTree.fromstring(html)
    assert "VIOLATED" in verdict._repr_html_()


def test_pictures(audits):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    mechanism, verdict = audits[1][1]
    assert verdict.plot().get_xlabel() == "ε"
    loss = dpest.exact(mechanism, [0.0, 0.0], [1.0, 0.0])
    (line,) = loss.plot().lines
    assert line.get_ydata()[0] == pytest.approx(loss.delta(0.0))


def test_init_finds_functions_without_running_them(tmp_path):
    (tmp_path / "counts.py").write_text(
        "raise SystemExit('imported')\n\ndef f(x, rng, *, eps=0.5):\n    return rng.laplace()\n"
        "\ndef g(x):\n    return x\n",
        encoding="utf-8",
    )
    assert mechanisms(tmp_path) == [("counts.py", "f", 0.5)]


@pytest.mark.parametrize(("scale", "passes"), [("1", True), ("0.5", False)])
def test_init_writes_a_test_that_runs(tmp_path, scale, passes):
    from dpest.cli import dpest as command

    (tmp_path / "counts.py").write_text(
        f"def count(x, rng, *, eps=1.0):\n"
        f"    return sum(v > 3 for v in x) + rng.laplace(scale={scale} / eps)\n",
        encoding="utf-8",
    )
    ended = CliRunner().invoke(command, ["init", str(tmp_path)], standalone_mode=False)
    assert ended.return_value == 0, ended.output
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert (run.returncode == 0) is passes, run.stdout
    assert (tmp_path / ".github/workflows/privacy.yml").exists()
    assert "counts.py" in privacy_test(mechanisms(tmp_path))


# What SARIF 2.1.0 asks of the objects that we write, and nothing that it doesn't know.
SARIF = {
    "type": "object",
    "additionalProperties": False,
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "items": {"$ref": "#/$defs/run"}},
    },
    "$defs": {
        "run": {
            "type": "object",
            "additionalProperties": False,
            "required": ["tool"],
            "properties": {
                "tool": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["driver"],
                    "properties": {"driver": {"$ref": "#/$defs/driver"}},
                },
                "results": {"type": "array", "items": {"$ref": "#/$defs/result"}},
                "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            },
        },
        "driver": {
            "type": "object",
            "additionalProperties": False,
            "required": ["name"],
            "properties": {
                "name": {"type": "string"},
                "version": {"type": "string"},
                "rules": {"type": "array", "uniqueItems": True, "items": {"$ref": "#/$defs/rule"}},
            },
        },
        "rule": {
            "type": "object",
            "additionalProperties": False,
            "required": ["id"],
            "properties": {
                "id": {"type": "string"},
                "shortDescription": {"$ref": "#/$defs/message"},
            },
        },
        "message": {
            "type": "object",
            "additionalProperties": False,
            "required": ["text"],
            "properties": {"text": {"type": "string"}},
        },
        "result": {
            "type": "object",
            "additionalProperties": False,
            "required": ["message"],
            "properties": {
                "ruleId": {"type": "string"},
                "level": {"enum": ["none", "note", "warning", "error"]},
                "message": {"$ref": "#/$defs/message"},
                "locations": {"type": "array", "items": {"$ref": "#/$defs/location"}},
                "partialFingerprints": {
                    "type": "object",
                    "additionalProperties": {"type": "string"},
                },
            },
        },
        "location": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "physicalLocation": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["artifactLocation"],
                    "properties": {
                        "artifactLocation": {
                            "type": "object",
                            "additionalProperties": False,
                            "properties": {
                                "uri": {"type": "string", "format": "uri-reference"},
                                "uriBaseId": {"type": "string"},
                            },
                        },
                        "region": {
                            "type": "object",
                            "additionalProperties": False,
                            "properties": {"startLine": {"type": "integer", "minimum": 1}},
                        },
                    },
                }
            },
        },
    },
}


def test_sarif_fits_its_schema(reviewed):
    """By our own writing of the parts we use; by the whole, where SARIF_SCHEMA names its file."""
    log = json.loads(sarif(reviewed))
    schemas = [SARIF]
    if path := os.environ.get("SARIF_SCHEMA"):
        schemas.append(json.loads(Path(path).read_text(encoding="utf-8")))
    for schema in schemas:
        validator = jsonschema.Draft202012Validator(schema)
        validator.validate(log)
        broken = json.loads(json.dumps(log))
        broken["runs"][0]["results"][0]["level"] = "bad"
        assert list(validator.iter_errors(broken))


def action_script() -> str:
    """What the action runs after it has installed dpest, with the caller's inputs filled in."""
    text = (Path(__file__).parents[2] / "action.yml").read_text(encoding="utf-8")
    script = textwrap.dedent(text.rpartition("run: |\n")[2])
    return script.replace("${{ inputs.target }}", "code.py").replace("${{ inputs.options }}", "")


@pytest.mark.parametrize(("code", "status"), [(CODE, 1), (CODE.replace("0.5 /", "1 /"), 0)])
def test_the_action_finds_the_planted_bug(tmp_path, code, status):
    (tmp_path / "code.py").write_text(code, encoding="utf-8")
    command = tmp_path / "bin" / "dpest"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m dpest "$@"\n')
    command.chmod(0o755)
    run = subprocess.run(
        ["bash", "-e", "-c", action_script()],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{command.parent}:{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        },
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert run.returncode == status, run.stderr
    log = json.loads((tmp_path / "dpest.sarif").read_text(encoding="utf-8"))
    assert len(log["runs"][0]["results"]) == status
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert ("| `wrong` | violated" in summary) is bool(status)
