"""The kernel accepts what the prover writes, and refuses what was changed."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import dpest
from dpest import ANY, kernel, zoo
from dpest.ask.declaration import as_mechanism
from dpest.proofs import prove
from dpest.proofs.rebuilding import differences
from proofs import proof_mechanisms as m
from proofs import query_mechanisms as q

KERNEL = Path(kernel.__file__).parent


def certificate(function, **question):
    found = prove(function, **question).certificate
    assert found is not None
    return json.loads(json.dumps(found))


TARGETS = {
    "loop": (m.svt, {"adjacency": "linf", "params": {"cutoff": 2}}),
    "loop l1": (zoo.get("SmartSum"), {}),
    "clipped": (m.clipped_sum, {"adjacency": "replace_one"}),
    "selection": (m.noisy_max, {"adjacency": "linf"}),
    "gap": (m.noisy_max_with_gap, {"adjacency": "linf"}),
    "cells": (m.svt, {"adjacency": "linf", "length": 3}),
    "merged": (m.noisy_max_loop, {"adjacency": "linf", "length": 4}),
    "exponential": (zoo.get("ReportNoisyMax2"), {"length": 3}),
    "square": (m.gaussian_max, {"adjacency": "l1", "length": 3, "claim": "zcdp:1"}),
    "statistic": (q.spread, {"adjacency": "replace_one", "domain": dpest.reals(ANY, 0, 3)}),
    "records": (q.filtered_sum, {"adjacency": "add_remove_one"}),
    "steps": (q.parity, {"adjacency": "replace_one", "domain": dpest.integers(ANY, 0, 20)}),
}
CASES = {
    name: lambda target=target, question=question: certificate(target, **question)
    for name, (target, question) in TARGETS.items()
}


@pytest.fixture(scope="module")
def certificates():
    return {name: make() for name, make in CASES.items()}


def refused(changed) -> bool:
    try:
        kernel.check(changed)
    except kernel.Invalid:
        return True
    return False


@pytest.mark.parametrize("name", CASES)
def test_what_the_prover_writes_is_accepted(certificates, name):
    assert "≤" in str(kernel.check(certificates[name]))


def test_it_runs_on_its_own(certificates, tmp_path):
    """The folder alone, without the library, under Python's isolated mode."""
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(certificates["loop"]))
    bad.write_text(json.dumps({**certificates["loop"], "epsilon": "99/100"}))
    shutil.copytree(KERNEL, tmp_path / "kernel", ignore=shutil.ignore_patterns("__pycache__"))
    start = f"import sys, runpy; sys.path.insert(0, {str(tmp_path)!r}); "
    run = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        start + "runpy.run_module('kernel', None, '__main__', True)",
    ]
    fine = subprocess.run([*run, str(good)], capture_output=True, check=False, text=True)
    assert (fine.returncode, fine.stderr) == (0, "")
    assert "a model: ε ≤ 1·eps" in fine.stdout
    refused_run = subprocess.run([*run, str(bad)], capture_output=True, check=False, text=True)
    assert refused_run.returncode == 1
    assert "REFUSED" in refused_run.stdout


@pytest.mark.parametrize("name", CASES)
def test_a_smaller_bound_is_refused(certificates, name):
    changed = copy.deepcopy(certificates[name])
    value = Fraction(changed["epsilon"])
    changed["epsilon"] = str(value - Fraction(1, 1000))
    assert refused(changed)


@pytest.mark.parametrize("name", CASES)
def test_more_neighbours_are_refused(certificates, name):
    changed = copy.deepcopy(certificates[name])
    if "cases" in changed:  # any record for any other: the range of the data is what bounds it
        ends = [e for e in changed["domain"]["range"][0] if "inf" not in e]
        if not ends:
            return
        low, high = min(map(Fraction, ends)) - 20, max(map(Fraction, ends)) + 20
        changed["domain"]["range"] = [[str(low), str(high)]]
        assert refused(changed) or differences(changed, TARGETS[name][0])
        return
    if changed["adjacency"]["radius"] == "inf":
        return
    changed["adjacency"]["radius"] = str(Fraction(changed["adjacency"]["radius"]) * 2)
    assert refused(changed)


@pytest.mark.parametrize("name", CASES)
def test_less_noise_is_refused(certificates, name):
    changed = copy.deepcopy(certificates[name])
    for entry in changed["noises"].values():
        entry[1] = str(Fraction(entry[1]) / 2)
    assert refused(changed)


def test_another_family_of_noise_is_refused(certificates):
    changed = copy.deepcopy(certificates["cells"])
    for entry in changed["noises"].values():
        entry[0] = "exponential"
    assert refused(changed)
    changed = copy.deepcopy(certificates["selection"])
    for entry in changed["noises"].values():
        entry[0] = "gaussian"
    assert refused(changed)


def test_wider_adjacencies_are_refused(certificates):
    for name, wider in (("loop l1", "linf"), ("cells", "made_up")):
        changed = copy.deepcopy(certificates[name])
        changed["adjacency"]["name"] = wider
        assert refused(changed), name


def test_another_length_is_refused(certificates):
    for name in ("cells", "merged", "square"):
        for length in (certificates[name]["length"] - 1, "any", 0):
            assert refused({**certificates[name], "length": length}), (name, length)


@pytest.mark.parametrize("name", ["cells", "merged"])
def test_a_missing_branch_is_refused(certificates, name):
    for place in range(len(certificates[name]["leaves"])):
        changed = copy.deepcopy(certificates[name])
        gone = changed["leaves"].pop(place)["node"]
        changed["nodes"] = [n for n in changed["nodes"] if n["id"] != gone]
        changed["alignments"] = [a for a in changed["alignments"] if a["leaf"] != gone]
        changed["disjoint"] = [d for d in changed["disjoint"] if gone not in d["pair"]]
        assert refused(changed)


def test_a_missing_step_or_edge_of_a_loop_is_refused(certificates):
    whole = certificates["loop"]
    for place in range(len(whole["components"][0]["steps"])):
        changed = copy.deepcopy(whole)
        changed["components"][0]["steps"].pop(place)
        assert refused(changed)
    for place in range(len(whole["edges"])):
        changed = copy.deepcopy(whole)
        changed["edges"].pop(place)
        assert refused(changed)


def test_a_release_that_is_hidden_as_discrete_changes_the_model_only(certificates):
    """Real releases are listed in the model; dropping one is a change of the program, not of the
    proof: that is what the digest of the source and the conformance run are for."""
    changed = {**certificates["loop"], "source": certificates["loop"]["source"] + "#"}
    assert refused(changed)


def numbers(node, path=()):
    """Places of all numbers of the proof: not of its description."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key not in ("source", "sha256", "parameters", "release", "mechanism", "format"):
                yield from numbers(value, (*path, key))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from numbers(value, (*path, i))
    elif isinstance(node, str) and node.replace("-", "").replace("/", "").isdigit():
        yield path


# Changes of one number that the checker accepts, and why they are harmless (docs/proofs.md):
# the parts of a certificate where that happens, with the kind of the change.
WEAKER, SLACK, UNUSED, MODEL = "weaker", "slack", "unused", "another model"
ACCEPTED = {
    ("epsilon",): WEAKER,  # a larger bound
    ("adjacency", "radius"): WEAKER,  # fewer neighbours
    ("noises",): MODEL,  # more noise
    ("alignments", "bound"): SLACK,  # a bound of a shift above its size; `upward` noise needs none
    ("components", "states", "budget"): SLACK,  # more than this state needs
    ("domain", "width"): UNUSED,  # but for any_pair, where the radius must be it
    ("bounds",): UNUSED,  # of a known family, whose support the checker knows itself
    ("derived", "constant"): UNUSED,
    ("derived", "of"): MODEL,  # the width of a clip bounds its move, whatever its slope
    ("edges", "real"): MODEL,  # a coefficient of something that does not move there
    ("edges", "set"): MODEL,
    ("element",): MODEL,  # scores that count less
    ("cases", "if"): MODEL,  # where a case of a record begins
    ("cases", "value"): MODEL,  # a record that adds less
    ("domain", "range"): WEAKER,  # data within narrower bounds
    ("cases", "empty"): SLACK,  # weights of a contradiction that add up to more than it needs
}


def part_of(path):
    words = {w for key in ACCEPTED for w in key}
    return tuple(step for step in path if step in words)


@pytest.mark.parametrize("name", CASES)
def test_every_number_that_may_be_changed_is_listed(certificates, name):
    """All numbers of all certificates, four changes each; accepted ones must be on the list.

    A statement that is not weaker is never accepted for the same model; another model is not the
    source's, which `dpest check` finds by reading the source again.
    """
    whole = certificates[name]
    seen, count = {}, 0
    for path in numbers(whole):
        for step in (1, -1, Fraction(1, 7), Fraction(-1, 7)):
            changed = copy.deepcopy(whole)
            inner = changed
            for key in path[:-1]:
                inner = inner[key]
            old = Fraction(inner[path[-1]])
            inner[path[-1]] = str(old + step)
            count += 1
            if refused(changed):
                continue
            part = part_of(path)
            assert part in ACCEPTED, path
            if part == ("epsilon",):
                assert step > 0
            if part == ("adjacency", "radius"):  # cases: any record for any other, in its range
                assert step < 0 or "cases" in whole
            if ACCEPTED[part] is MODEL:
                seen.setdefault(part, changed)
    assert count > 30
    target, question = TARGETS[name]
    function = as_mechanism(target).with_params(question.get("params"))
    for part, changed in seen.items():
        assert differences(changed, function) == [part[0]], part


def test_the_exceptions_are_listed_in_the_documentation():
    text = (Path(__file__).parents[2] / "docs" / "proofs.md").read_text()
    for part in ACCEPTED:
        assert f"`{'.'.join(part)}`" in text, part
