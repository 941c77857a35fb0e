"""The independent checker: it accepts what the prover writes and refuses what was changed."""

from __future__ import annotations

import ast
import copy
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from dpest import zoo
from dpest.proofs import checker, prove
from proofs import proof_mechanisms as m

CHECKER = Path(checker.__file__)


def certificate(function, **question):
    found = prove(function, **question).certificate
    assert found is not None
    return json.loads(json.dumps(found))


CASES = {
    "loop": lambda: certificate(m.svt, adjacency="linf", params={"cutoff": 2}),
    "loop l1": lambda: certificate(zoo.get("SmartSum")),
    "clipped": lambda: certificate(m.clipped_sum, adjacency="replace_one"),
    "selection": lambda: certificate(m.noisy_max, adjacency="linf"),
    "gap": lambda: certificate(m.noisy_max_with_gap, adjacency="linf"),
    "cells": lambda: certificate(m.svt, adjacency="linf", length=3),
    "merged": lambda: certificate(m.noisy_max_loop, adjacency="linf", length=4),
    "exponential": lambda: certificate(zoo.get("ReportNoisyMax2"), length=3),
    "square": lambda: certificate(m.gaussian_max, adjacency="l1", length=3, claim="zcdp:1"),
}


@pytest.fixture(scope="module")
def certificates():
    return {name: make() for name, make in CASES.items()}


def refused(changed) -> bool:
    try:
        checker.check(changed)
    except Exception:
        return True
    return False


@pytest.mark.parametrize("name", CASES)
def test_what_the_prover_writes_is_accepted(certificates, name):
    assert "≤" in checker.check(certificates[name])


def test_it_is_small_and_imports_only_the_standard_library():
    text = CHECKER.read_text()
    assert len(text.splitlines()) <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            assert all(name.name in sys.stdlib_module_names for name in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.module in sys.stdlib_module_names


def test_it_runs_as_a_script_on_its_own(certificates, tmp_path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(certificates["loop"]))
    bad.write_text(json.dumps({**certificates["loop"], "epsilon": "99/100"}))
    script = tmp_path / "checker.py"
    script.write_text(CHECKER.read_text())
    run = [sys.executable, "-I", str(script)]
    assert subprocess.run([*run, str(good)], capture_output=True, check=False).returncode == 0
    refused_run = subprocess.run([*run, str(bad)], capture_output=True, check=False, text=True)
    assert refused_run.returncode == 1
    assert "REFUSED" in refused_run.stdout


@pytest.mark.parametrize("name", CASES)
def test_a_smaller_bound_is_refused(certificates, name):
    changed = copy.deepcopy(certificates[name])
    value = checker.number(changed["epsilon"])
    changed["epsilon"] = str(value - checker.Q(1, 1000))
    assert refused(changed)


@pytest.mark.parametrize("name", CASES)
def test_more_neighbours_are_refused(certificates, name):
    changed = copy.deepcopy(certificates[name])
    if changed["adjacency"]["radius"] == "inf":
        return
    changed["adjacency"]["radius"] = str(checker.number(changed["adjacency"]["radius"]) * 2)
    assert refused(changed)


@pytest.mark.parametrize("name", CASES)
def test_less_noise_is_refused(certificates, name):
    changed = copy.deepcopy(certificates[name])
    for entry in changed["noises"].values():
        entry[1] = str(checker.number(entry[1]) / 2)
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


def still_true(name, path) -> bool:
    """Changes of one number that leave a valid proof of the same statement.

    Bounds of shifts, budgets of the end and of states with room, and shifts on faces with room to
    spare may be larger than needed; weights of a Farkas sum may have slack; constants of conditions
    cancel out of differences (a public threshold may be anything). The statement itself (epsilon,
    radius, noises, adjacency) may only become weaker.
    """
    return path[0] not in ("epsilon", "adjacency", "length") and name is not None


@pytest.mark.parametrize("name", CASES)
def test_changed_numbers_are_refused_or_leave_the_statement_alone(certificates, name):
    source = random.Random(len(name))
    whole = certificates[name]
    places = list(numbers(whole))
    accepted = 0
    tried = source.sample(places, min(120, len(places)))
    for path in tried:
        changed = copy.deepcopy(whole)
        inner = changed
        for step in path[:-1]:
            inner = inner[step]
        old = checker.number(inner[path[-1]])
        inner[path[-1]] = str(old + source.choice([-1, 1]) * source.choice([1, checker.Q(1, 7)]))
        if refused(changed):
            continue
        accepted += 1
        weaker = path[0] == "epsilon" and checker.number(changed["epsilon"]) > old
        more_noise = path[0] == "noises" and checker.number(inner[path[-1]]) > old
        fewer = path[:2] == ("adjacency", "radius") and checker.number(inner[path[-1]]) < old
        assert weaker or more_noise or fewer or still_true(name, path), path
    assert accepted < len(tried)
