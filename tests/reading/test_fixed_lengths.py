"""Symbolic data of one known length, read by the machine: models that runs are held against."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpest
from dpest import zoo
from dpest.geometry.polyhedra import feasible
from dpest.proofs import prove
from dpest.proofs.conformance import check_model
from dpest.proofs.question import ProofGoal, asked
from dpest.reading.lengths.fixed import read_model
from dpest.reading.loops import inputs
from dpest.reading.loops.merging import build
from dpest.reading.loops.vector_functions import LISTS
from dpest.reading.machine.signals import Refused
from dpest.reading.merged_states import MergedModel
from proofs import proof_mechanisms as m

NAMES = ["SVT1", "ReportNoisyMax1", "NoisyHist1", "NumericalSVT", "SmartSum", "AdaptiveSVT", "AT5"]
FUNCTIONS = [m.svt, m.svt_without_cutoff, m.noisy_max, m.noisy_max_loop, m.noisy_max_value]


def goal(target: Any, length: int) -> ProofGoal:
    adjacency = None if isinstance(target, dpest.Mechanism) else "linf"
    return asked(target, adjacency, length, None, None, None, None, None)


def model_of(question: ProofGoal, length: int) -> MergedModel:
    variables, data = question.variables(), question.data(length)
    return read_model(question.mechanism, variables, data, question.world)


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("target", [*map(zoo.get, NAMES), *FUNCTIONS], ids=lambda f: f.__name__)
def test_runs_of_the_function_follow_the_model(target: Any, length: int) -> None:
    question = goal(target, length)
    found = model_of(question, length)
    check_model(
        question.run,
        found,
        question.inputs(length),
        integers=question.integers,
        where=None,
        marks=(0.0, 0.5, 1.0),
    )


@pytest.mark.parametrize("target", [*map(zoo.get, NAMES), *FUNCTIONS], ids=lambda f: f.__name__)
def test_the_builder_before_it_finds_the_same_releases(target: Any) -> None:
    """Two readings that share no code: as many releases, with the same numbers in them."""
    question = goal(target, 3)
    found = model_of(question, 3)
    variables = question.variables()
    variables[question.argument] = inputs.fresh(question.data(3), lenient=False)
    other = build(question.mechanism.function, variables, question.world, replacements=LISTS)

    def shapes(model: MergedModel) -> list[str]:
        return sorted(
            repr(
                [type(v).__name__ if not isinstance(v, (bool, int)) else v for v in leaf.release[1]]
            )
            for leaf in model.leaves
            if leaf.release is not None
        )

    assert shapes(found) == shapes(other)


def running_maximum(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    best, winner = -np.inf, 0
    for i, v in enumerate(x):
        noisy = v + rng.laplace(scale=2 / eps)
        if noisy > best:
            best, winner = noisy, i
    return winner


def test_ways_to_one_release_are_one_leaf() -> None:
    found = model_of(goal(running_maximum, 5), 5)
    assert (len(found.leaves), found.merged) == (5, True)
    assert sum(len(leaf.incoming) for leaf in found.leaves) == 16
    for i, first in enumerate(found.leaves):
        for second in found.leaves[i + 1 :]:
            assert feasible([*first.known, *second.known]) is None


def test_truths_that_are_released_are_decided_one_by_one() -> None:
    found = model_of(goal(m.svt_without_cutoff, 3), 3)
    released = {leaf.release[1] for leaf in found.leaves if leaf.release is not None}
    assert len(released) == 8
    assert prove(m.svt_without_cutoff, adjacency="linf", length=3).status == "exact"


_CALLS = [0]


def counts_its_calls(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    _CALLS[0] += 1
    return x[0] + rng.laplace(scale=1 / eps)


def branches_on_data(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return (1 if x[0] > 0 else 0) + rng.laplace(scale=1 / eps)


@pytest.mark.parametrize("function", [counts_its_calls, branches_on_data])
def test_what_it_has_no_rule_for_is_refused(function: Any) -> None:
    with pytest.raises(Refused):
        model_of(goal(function, 2), 2)


@pytest.mark.parametrize("name", ["GaussianMechanism", "GeometricMechanism"])
def test_roots_and_exponentials_of_the_unit(name: str) -> None:
    proof = prove(zoo.get(name), length=1)
    assert (proof.unit is not None, proof.bound) == (True, 1)
