"""Runs without jumps give what the functions give, and count what they hand out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpest import zoo
from dpest.ask.declaration import as_mechanism
from dpest.running.native.compiled import Compiled, program_of
from dpest.running.native.replay import check_distribution, check_runs
from dpest.running.native.signals import NotCompiled
from dpest.running.native.straight import is_straight, runs_of_a_turn
from dpest.running.seeds import block_seed

pytest.importorskip("llvmlite")


def made(function: Callable[..., Any], x: Any) -> Compiled:
    program, any_input = program_of(as_mechanism(function), x)
    return Compiled(program, any_input, x)


def rounds_to_steps(x, rng):
    """Decisions one after the other, as in a table of cumulative chances."""
    u = rng.integers(0, 1000)
    for place, level in enumerate([100, 350, 351, 900]):
        if u < level:
            return place
    return 4


def answers_all(x, rng):
    """Ways that part at each answer and meet again; each has a place of its own."""
    rho, answers = rng.laplace(), []
    for q in x:
        if q + rng.laplace(scale=2.0) >= rho:
            answers.append(True)
        else:
            answers.append(False)
    return answers


def two_families(x, rng):
    """Draws of two families, of one many more than of the other."""
    tilt = rng.laplace()
    heads = 0
    for _ in range(40):
        if rng.random() < 0.3:
            heads = heads + 1
    return x[0] + heads + tilt


def nothing_or_value(x, rng):
    noisy = x[0] + rng.laplace()
    if noisy < 0:
        return "nothing"
    if noisy > 3:
        return "much", 3.0
    return "some", noisy


def large_range(x, rng):
    return rng.integers(0, 2**32 - 1), rng.integers(0, 2**32), rng.integers(0, 3)


def divides_on_one_way(x, rng):
    k = rng.integers(1, 5)
    return int(12 // k) if k < 3 else 0


def draws_on_one_way(x, rng):
    if rng.random() < 0.5:
        return 0
    return 1 if rng.random() < 0.5 else 2


STRAIGHT = [
    (rounds_to_steps, [0.0]),
    (answers_all, [0.0, 1.0, 2.0]),
    (two_families, [1.0]),
    (nothing_or_value, [1.0]),
    (large_range, [0.0]),
]


@pytest.mark.parametrize(("function", "x"), STRAIGHT, ids=lambda v: getattr(v, "__name__", ""))
def test_runs_without_jumps_are_those_of_the_function(
    function: Callable[..., Any], x: list[float]
) -> None:
    compiled = made(function, x)
    assert is_straight(compiled.program)
    # More runs than one turn has, so that the next one is met as well.
    check_runs(compiled, as_mechanism(function), x, runs_of_a_turn(compiled.program) + 100)
    check_distribution(compiled, as_mechanism(function), x)


@pytest.mark.parametrize("function", [divides_on_one_way, draws_on_one_way])
def test_what_is_not_for_every_run_keeps_its_jumps(function: Callable[..., Any]) -> None:
    """A division by zero stops the processor; a draw of one way shifts the others."""
    compiled = made(function, [0.0])
    assert not is_straight(compiled.program)
    check_runs(compiled, as_mechanism(function), [0.0])


@pytest.mark.parametrize("size", [1, 63, 64, 65, 2048, 2049, 10_001])
@pytest.mark.parametrize("name", ["TruncatedGeometric", "SVT6", "RandomizedResponse"])
def test_counts_are_those_of_the_runs(name: str, size: int) -> None:
    """Few codes are compared, many are counted in a table; neither counts beyond the last run."""
    x = {"TruncatedGeometric": [2], "SVT6": [1.0] * 10, "RandomizedResponse": [0]}[name]
    program, any_input = program_of(zoo.get(name), x)
    compiled = Compiled(program, any_input, x)
    assert is_straight(program)
    seed = block_seed(3, 0)
    codes, _ = compiled.columns(size, seed)
    counts = compiled.counts(size, seed)
    assert counts.tolist() == np.bincount(codes, minlength=compiled.layout.codes).tolist()


def test_integers_are_drawn_without_a_bias() -> None:
    """u·n / 2^64, cut off: a draw's chance is off by less than n / 2^64.

    Counts of 2e6 runs against their expectation: with 1,000 values a right kernel fails with
    probability below 1e-9 (chi-squared beyond 1,300 with 999 degrees).
    """

    def uniform(x, rng):
        return int(rng.integers(0, 1000))

    compiled = made(uniform, [0.0])
    counts = compiled.counts(2_000_000, block_seed(5, 0))
    assert counts.sum() == 2_000_000
    assert ((counts - 2000.0) ** 2 / 2000.0).sum() < 1300


def grows_on_one_way(x, rng):
    level = x[1]
    big = x[0] * (1 << 30)
    if rng.random() < level:
        return big * (1 << 30) * 4 > 0
    return x[0] > 1


def test_an_overflow_counts_where_a_run_goes() -> None:
    """Numbers that only the other way would compute may leave their 64 bits."""
    never, now_and_then = [1 << 20, -1.0], [1 << 20, 0.5]
    compiled = made(grows_on_one_way, never)
    assert is_straight(compiled.program)
    assert compiled.any_input
    check_runs(compiled, as_mechanism(grows_on_one_way), never)
    with pytest.raises(NotCompiled, match="64 bits"):
        compiled.on(now_and_then).counts(1000, block_seed(0, 0))
