"""Forgeries, each of a kind that was once accepted: refused by the kernel, or by `dpest check`."""

from __future__ import annotations

import copy
import hashlib
import json
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from dpest import kernel
from dpest.cli.check import check as command
from dpest.proofs.certificates import sealed
from dpest.proofs.rebuilding import differences
from kernel.examples import TARGETS, certificate

HERE = Path(__file__).parent


def refused(changed) -> str:
    with pytest.raises(kernel.Invalid) as reason:
        kernel.check(changed)
    return str(reason.value)


def dpest_check(tmp_path, changed, *options) -> tuple[int, str]:
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(sealed(changed)))
    result = CliRunner().invoke(command, [str(path), *options], standalone_mode=False)
    assert result.exception is None, result.output
    return result.return_value, result.output


def with_source(whole, source):
    return {**whole, "source": source, "sha256": hashlib.sha256(source.encode()).hexdigest()}


# Finite tables: the base, the power, the factor


@pytest.mark.parametrize("factor", [2, 10])
def test_a_table_in_another_base_is_another_program(tmp_path, factor):
    """a = e^(-unit/D): with a larger D the same table claims less. It is then another model."""
    whole = certificate("finite")
    forged = {
        **whole,
        "denominator": whole["denominator"] * factor,
        "epsilon": str(Fraction(whole["epsilon"]) / factor),
    }
    assert "denominator" in differences(forged, TARGETS["finite"][0])
    status, output = dpest_check(tmp_path, forged, "--rebuild")
    assert (status, "denominator" in output) == (1, True)


@pytest.mark.parametrize(
    "change",
    [
        {"power": 0, "epsilon": "0"},
        {"power": -1, "epsilon": "-1"},
        {"power": 2},
        {"denominator": 2},
        {"denominator": 0},
        {"denominator": -1, "epsilon": "-1"},
        {"exponential": "2"},
        {"unit": None},
        {"unit": None, "epsilon": None, "power": None, "exponential": "3"},
    ],
)
def test_a_power_or_a_denominator_that_does_not_fit_is_refused(change):
    refused({**certificate("finite"), **change})


@pytest.mark.parametrize(
    "change",
    [
        {"exponential": "2"},
        {"power": 5},
        {"denominator": 4},
        {"exponential": "1/2", "tables": [], "domain": {"kind": "finite", "values": []}},
    ],
)
def test_a_smaller_factor_is_refused(change):
    refused({**certificate("numbers"), **change})


def test_a_factor_below_one_is_refused_even_without_neighbours():
    whole = certificate("numbers")
    alone = {"tables": whole["tables"][:1], "domain": {"kind": "finite", "values": [0]}}
    kernel.check({**whole, **alone})
    refused({**whole, **alone, "exponential": "1/2"})


# Another program's source


@pytest.mark.parametrize("name", ["loop", "selection", "cells", "finite", "records", "mixture"])
def test_the_source_of_another_program_is_not_believed(tmp_path, name):
    """The kernel speaks of a model and names no function; a comparison finds the difference."""
    whole = certificate(name)
    other = "def innocent(x, rng, *, eps=1.0):\n    return rng.laplace(scale=100 / eps)\n"
    forged = with_source({**whole, "mechanism": "innocent"}, other)
    assert "innocent" not in str(kernel.check(forged))
    status, output = dpest_check(tmp_path, forged)
    assert (status, "a model" in output, "innocent" in output) == (2, True, False)
    status, output = dpest_check(tmp_path, forged, "--proof-only")
    assert (status, "a model" in output, "innocent" in output) == (0, True, False)
    status, output = dpest_check(tmp_path, forged, "--rebuild")
    assert status in (1, 2)
    assert "valid" not in output
    target = TARGETS[name][0]
    assert "source" in differences(forged, target)


# Composition


def test_a_composition_with_no_paths_is_refused():
    whole = certificate("composition")
    assert "way" in refused({**whole, "paths": []})
    assert "way" in refused({**whole, "paths": [], "epsilon": "0"})
    refused({**whole, "parts": [], "paths": [[]]})


def test_a_composition_with_fewer_paths_or_calls_is_another_program(tmp_path):
    whole = certificate("composition")
    for paths in ([[]], [path[:1] for path in whole["paths"]]):
        forged = {**whole, "paths": paths, "epsilon": "1/2"}
        kernel.check(forged)  # of the program that calls no more than that it is true
        status, output = dpest_check(tmp_path, forged)
        assert (status, "a model" in output) == (2, True)
        assert "paths" in differences(forged, TARGETS["composition"][0])


def test_the_power_of_two_on_pure_parts_is_refused():
    """ε/2 to the power of two would be a quarter."""
    whole = certificate("composition")
    assert "power" in refused({**whole, "power": 2, "epsilon": "1/2"})
    parts = [{**part, "power": 2} for part in whole["parts"]]
    assert "power" in refused({**whole, "power": 2, "parts": parts, "epsilon": "1/2"})


def test_scales_of_calls_must_be_positive_and_need_a_unit():
    whole = certificate("composition")
    for scale in ("0", "-1/2"):
        paths = [[[i, scale] for i, _ in path] for path in whole["paths"]]
        assert "scale" in refused({**whole, "paths": paths})
    mixed = certificate("mixture")
    refused({**mixed, "power": 1})
    refused({**mixed, "unit": None})


def test_parts_must_be_about_the_same_neighbours_and_lengths():
    whole = certificate("composition")
    refused({**whole, "adjacency": {"name": "linf", "radius": "2"}})
    refused({**whole, "adjacency": {"name": "l1", "radius": "1"}})
    short = certificate("cells")
    forged = copy.deepcopy(whole)
    forged["parts"][0] = short
    assert "length" in refused({**forged, "epsilon": "100"})


# Radius


@pytest.mark.parametrize("name", [n for n in TARGETS if n not in ("steps", "statistic", "clip")])
def test_a_larger_radius_than_was_checked_is_refused(name):
    """Left out are those that were checked for every radius: records, and clipped data."""
    whole = copy.deepcopy(certificate(name))
    if whole["adjacency"]["radius"] == "inf":
        pytest.skip("there is no larger one")
    larger = {**whole["adjacency"], "radius": str(2 * Fraction(whole["adjacency"]["radius"]))}
    if "parts" in whole:
        whole["parts"] = [{**part, "adjacency": larger} for part in whole["parts"]]
    refused({**whole, "adjacency": larger})


def test_the_radius_is_in_the_statement():
    assert "linf(1)" in str(kernel.check(certificate("loop")))
    assert "add_remove_one(2)" in str(kernel.check(certificate("radius")))


@pytest.mark.parametrize("name", ["steps", "statistic"])
def test_replaced_records_are_checked_for_every_radius(name):
    """Any record of the range for any other was checked: a larger radius says nothing more."""
    whole = certificate(name)
    wider = {**whole["adjacency"], "radius": "inf"}
    assert str(kernel.check({**whole, "adjacency": wider})).count("replace_one,") == 1


# Smaller holes


def test_what_is_assumed_at_the_first_node_is_refused():
    whole = copy.deepcopy(certificate("merged"))
    whole["nodes"][0]["invariant"] = [["-1", {}, False]]
    refused(whole)


def test_data_derived_from_noise_are_refused():
    """A clip of noise would be taken for something that does not move."""
    whole = copy.deepcopy(certificate("clip"))
    symbol = next(iter(whole["derived"]))
    noise = next(iter(whole["noises"]))
    whole["derived"][symbol]["of"] = {noise: "1"}
    assert "something else than data" in refused(whole)
    whole["derived"][symbol]["of"] = {"q7": "1"}
    assert "something else than data" in refused(whole)


def test_a_pure_bound_is_not_sold_as_rho():
    """A Gaussian noise that is never drawn made ε a ρ."""
    whole = copy.deepcopy(certificate("cells"))
    whole["noises"]["h9"] = ["gaussian", "1"]
    assert kernel.check(whole).measure == "epsilon"


def test_records_of_many_values_are_not_taken_for_a_list():
    """One case that adds a real number, beside cases that add its two ends."""
    whole = copy.deepcopy(certificate("steps"))
    whole["noises"] = {h: ["discrete_laplace", s] for h, (_, s) in whole["noises"].items()}
    kernel.check(whole)
    cut = ["0", {"q": "1"}, False]
    opposite = ["0", {"q": "-1"}, True]
    slots = [t for case in whole["cases"] if "value" in case for t in case["value"]]
    whole["cases"] = [
        {"if": [cut], "value": {slots[0]: ["0", {"q": "1/20"}]}},
        {"if": [opposite], "value": {}},
    ]
    assert "whole" in refused(whole)


def test_a_branch_on_noise_that_was_not_drawn_is_refused():
    forged = copy.deepcopy(certificate("merged"))
    node = next(n for n in forged["nodes"] if len(n["in"]) > 1)
    way = next(w for w in node["in"] if w["noise"])
    way["noise"] = way["noise"][1:]
    assert "not drawn" in refused(forged)


def test_a_number_that_is_released_has_a_form():
    forged = copy.deepcopy(certificate("loop l1"))
    edge = next(e for e in forged["edges"] if e["real"])
    edge["real"] = []
    assert "for each number" in refused(forged)
