"""Graphs of turns: what loops keep from one turn to the next, and rounding inside of them.

Distributions are held against plain runs, within 6 standard deviations of each frequency, as in
`test_returning`; where a closed form is known, against it.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpest
from dpest.errors import PathLimitError
from dpest.exact.outputs.output import output_distribution
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise import Laplace
from dpest.reading.rewrites.rounding import PLAINLY, Window, rounded
from dpest.reading.trace import trace

RUNS = 20_000


def held_against_runs(mechanism: Any, x: Any, most_left: float = 0.0) -> None:
    found = trace(mechanism, x, leftover=1e-5, seconds=20)
    assert found.leftover <= most_left
    exact = {repr(o.output): o.probability for o in output_distribution(found).outcomes}
    assert math.fsum(exact.values()) == pytest.approx(1, abs=max(1e-12, 2 * found.leftover))
    rng = np.random.default_rng(7)
    plain = Counter(repr(_plain(mechanism(x, rng))) for _ in range(RUNS))
    for outcome in plain | Counter(exact.keys()):
        p = exact.get(outcome, 0.0)
        slack = 6 * math.sqrt(max(p * (1 - p), 1 / RUNS) / RUNS) + 2 * float(found.leftover)
        assert abs(plain[outcome] / RUNS - p) <= slack, (outcome, p, plain[outcome] / RUNS)


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(v) for v in value)
    return value.item() if isinstance(value, np.generic) else value


def kept_then_forgotten(x, rng):
    """One state is come back to with the noise of another one in it."""
    while True:
        a = rng.laplace()
        while rng.random() < 0.5:
            if rng.random() < 0.25:
                return x + a > 0
        if a > 3:
            return "far"


def two_ways_to_one_state(x, rng):
    """Both branches draw, and meet; the loop begins anew from two places."""
    while True:
        if rng.random() < 0.3:
            z = rng.laplace(scale=2)
        else:
            z = rng.normal()
        if abs(z) > 1:
            continue
        if rng.random() < 0.5:
            return x + z > 0.5


def walk_on_three_places(x, rng):
    place = 0
    while place < 3:
        step = rng.integers(4)
        if step == 0:
            place = 0
        elif step < 3:
            place += 1
        elif place > 0:
            place -= 1
        else:
            return "fell"
    return "arrived"


def the_same_noise_in_a_condition_again(x, rng):
    """What was drawn before the loop decides in every turn."""
    rho = rng.laplace()
    while rng.laplace() > rho:
        pass
    return x + rho > 0


def rounded_and_rejected(x, rng):
    while True:
        n = round(x + rng.laplace())
        if 0 <= n <= 3:
            return n


def rounded_and_counted(x, rng):
    tries = 0
    while True:
        tries += 1
        if math.floor(x + rng.normal()) > 0:
            return min(tries, 3)


@pytest.mark.parametrize("x", [0, 1])
@pytest.mark.parametrize(
    "mechanism", [kept_then_forgotten, two_ways_to_one_state, walk_on_three_places]
)
def test_states_that_are_come_back_to(mechanism: Any, x: int) -> None:
    held_against_runs(mechanism, x)


@pytest.mark.parametrize("x", [0, 1])
@pytest.mark.parametrize("mechanism", [rounded_and_rejected, rounded_and_counted])
def test_rounding_in_loops(mechanism: Any, x: int) -> None:
    held_against_runs(mechanism, x, 1e-5)


def test_a_turn_that_depends_on_what_is_kept_is_not_summed_up() -> None:
    """P(it goes on) depends on rho: a geometric series of one number would be wrong."""
    with contextlib.suppress(PathLimitError):  # refused: no wrong number
        held_against_runs(the_same_noise_in_a_condition_again, 0, 1e-3)


def test_a_walk_has_rational_probabilities() -> None:
    found = trace(walk_on_three_places, 0)
    chance = sum(
        (
            Fraction(math.prod(c.probability for c in path.choices))
            for path in found.paths
            if path.output == "arrived"
        ),
        start=Fraction(0),
    )
    # From 0, 1 and 2: a = a/4 + b/2, b = a/4 + c/2 + a/4, c = a/4 + 1/2 + b/4. So b = 3a/2 and
    # c = 2a, and 2a = 1/2 + a/4 + 3a/8.
    assert chance == Fraction(4, 11)


def test_a_loop_over_many_data_is_not_taken_for_one_without_a_bound() -> None:
    def first_above(x, rng):
        i = 0
        while i < len(x):
            if x[i] + rng.laplace() > 30:
                return i
            i += 1
        return None

    found = trace(first_above, [0.0] * 60)
    assert found.leftover == 0
    assert len(found.paths) == 61


def test_a_loop_that_never_ends_names_its_line() -> None:
    def never(x, rng):
        while True:
            if rng.laplace() + x > 0:
                x = x + 0

    with pytest.raises(PathLimitError, match="ends with a probability of 0") as caught:
        trace(never, 0.0, seconds=2)
    assert caught.value.where == f"{__file__}:{never.__code__.co_firstlineno + 2}"


def test_truncated_noise_of_a_vector() -> None:
    def clipped_by_rejection(x, rng):
        out = []
        for v in x:
            z = rng.laplace()
            while abs(z) > 2:
                z = rng.laplace()
            out.append(v + z)
        return out

    assert dpest.exact(clipped_by_rejection, [0.0, 0.0], [0.0, 0.5]).epsilon == math.inf
    found = dpest.distribution(clipped_by_rejection, [0.0, 0.5])
    one = stats.laplace.pdf(1.0) / (1 - 2 * stats.laplace.cdf(-2))
    assert found.density([1.0, 1.5]) == pytest.approx(one**2, rel=1e-10)


@pytest.mark.parametrize("how", ["round", "floor", "ceil", "trunc"])
def test_every_value_falls_into_the_cell_of_its_rounding(how: Any) -> None:
    """The cells of a window exclude each other, and say what Python says, ties included."""
    noise = Symbol("noise", "z")
    for quarter in range(-30, 31):
        value = Fraction(quarter, 4)

        def choose(window: Window, value: Fraction = value) -> int:
            cells = window.cells()
            fitting = [k for k, cell in enumerate(cells) if all(_holds(c, value) for c in cell)]
            assert len(fitting) == 1
            return fitting[0]

        found = rounded(Form.of(noise), how, Fraction(1), {noise: Laplace(0.1)}, choose)
        assert found == PLAINLY[how](value)


def _holds(condition: Condition, value: Fraction) -> bool:
    return condition.holds({Symbol("noise", "z"): value})


def test_a_small_negative_number_is_rounded_to_minus_zero() -> None:
    """Its text shows the sign, so that the sign is released."""

    def shown(x, rng):
        return str(np.rint(x + rng.laplace(scale=0.1)))

    outcomes = {o.output: o.probability for o in dpest.distribution(shown, 0.0).outcomes}
    assert outcomes["-0.0"] == pytest.approx(outcomes["0.0"])
    assert outcomes["0.0"] == pytest.approx(0.5 - 0.5 * math.exp(-5), rel=1e-9)
