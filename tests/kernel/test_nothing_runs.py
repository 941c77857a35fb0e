"""`dpest check` executes nothing from a certificate: a canary file never appears."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from dpest.cli.check import check as command
from dpest.errors import RefusedError
from dpest.proofs.certificates import sealed
from dpest.proofs.literals import read_literal
from kernel.examples import certificate

TARGET = f"{Path(__file__).parent / 'examples.py'}:both"


def payloads(canary: Path) -> list[str]:
    touch = f"open({str(canary)!r}, 'w').close()"
    return [
        f"__import__('builtins').exec({touch!r})",
        touch,
        f"[{touch} for _ in [0]]",
        f"(lambda: {touch})()",
        f"Fraction({touch}, 1)",
        f"array([{touch}])",
        f"np.__class__.__init__.__globals__['x'] if {touch} else 1",
        f"f'{{{touch}}}'",
    ]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def forged(payload: str, canary: Path) -> dict[str, dict]:
    """The payload in every place where a text stands."""
    whole, inner = certificate("mixture"), certificate("loop")
    source = f"def both(x, rng, *, eps=1.0, more={payload}):\n    return 0\n"
    module = canary.with_name("canary_module")
    module.with_suffix(".py").write_text(f"open({str(canary)!r}, 'w').close()\n")
    part = {**whole["parts"][0], "parameters": {"x": payload}, "mechanism": payload}
    first = next(iter(inner["noises"]))
    return {
        "parameters": {**whole, "parameters": {"eps": payload, payload: payload}},
        "name": {**whole, "mechanism": payload},
        "module": {**whole, "module": "canary_module"},
        "source": {**whole, "source": source, "sha256": _sha256(source)},
        "parts": {**whole, "parts": [part, *whole["parts"][1:]]},
        "unit": {**whole, "unit": payload},
        "adjacency": {**whole, "adjacency": {"name": payload, "radius": payload}},
        "length": {**whole, "length": payload},
        "noise": {**inner, "noises": {**inner["noises"], f"h{payload}": inner["noises"][first]}},
        "family": {**inner, "noises": {**inner["noises"], first: [payload, payload]}},
        "fields": {**inner, "domain": {**inner["domain"], "fields": [payload], "form": payload}},
        "version": {**inner, "version": payload},
    }


@pytest.mark.parametrize("number", range(8))
def test_no_payload_runs(tmp_path, monkeypatch, number):
    canary = tmp_path / "canary"
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    payload = payloads(canary)[number]
    for place, changed in forged(payload, canary).items():
        path = tmp_path / f"{place}.json"
        path.write_text(json.dumps(sealed(changed)))
        for options in ([], ["--proof-only"], ["--against", TARGET]):
            if options[:1] == ["--against"] and number not in (0, 4):
                continue  # slower: the function is read again
            result = CliRunner().invoke(command, [str(path), *options], standalone_mode=False)
            assert result.exception is None, (place, options, result.exception)
            assert not canary.exists(), (place, options)
        with pytest.raises(RefusedError):
            read_literal(payload, "x")
        assert not canary.exists()


def test_the_kernel_alone_runs_nothing_either(tmp_path):
    canary = tmp_path / "canary"
    paths = []
    for place, changed in forged(payloads(canary)[0], canary).items():
        paths.append(tmp_path / f"{place}.json")
        paths[-1].write_text(json.dumps(sealed(changed)))
    run = [sys.executable, "-m", "dpest.kernel", *map(str, paths)]
    subprocess.run(run, check=False, capture_output=True, cwd=tmp_path)
    assert not canary.exists()


def test_rebuilding_says_that_it_runs_the_source(tmp_path):
    path = tmp_path / "good.json"
    path.write_text(json.dumps(certificate("selection")))
    result = CliRunner().invoke(command, [str(path), "--rebuild"], standalone_mode=False)
    assert "compiled and run" in result.output
    assert result.return_value == 0
    assert "valid" in result.output
    assert "noisy_max" in result.output


def test_the_canary_sings_where_the_source_is_run(tmp_path):
    """Otherwise the tests above could not fail."""
    canary = tmp_path / "canary"
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(sealed(forged(payloads(canary)[1], canary)["source"])))
    result = CliRunner().invoke(command, [str(path), "--rebuild"], standalone_mode=False)
    assert "compiled and run" in result.output
    assert canary.exists()


def test_a_comparison_with_your_own_function_runs_nothing_of_the_certificate(tmp_path):
    path = tmp_path / "good.json"
    path.write_text(json.dumps(certificate("mixture")))
    result = CliRunner().invoke(command, [str(path), "--against", TARGET], standalone_mode=False)
    assert result.return_value == 0, result.output
    assert "both" in result.output
    assert "compiled" not in result.output


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("-0.5", -0.5), ("'a'", "a"), ("[1, (2, None)]", [1, (2, None)]), ("True", True),
        ("{'a': 1}", {"a": 1}), ("inf", float("inf")), ("np.float64(0.5)", 0.5),
    ],
)  # fmt: skip
def test_literals(text, value):
    assert read_literal(text, "x") == value
