"""DP-Finder on programs: smooth values against runs, exact events against traces, long inputs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpest
from dpest import zoo
from dpest.ask.adjacency import linf
from dpest.ask.domains import reals
from dpest.attacks.finder.event import PatternEvent
from dpest.attacks.finder.frozen import freeze
from dpest.attacks.finder.neighbourhood import neighbourhoods
from dpest.attacks.finder.objective import ProgramSide, Side, SmoothObjective
from dpest.attacks.finder.program import ProgramReading
from dpest.campaign.attacking import event_ratio
from dpest.geometry.linear import Symbol
from dpest.reading.trace import trace


def cubed(x, rng):
    y = x * x * x
    return y + rng.laplace(scale=2.0)


def endless(x, rng):
    total = x
    while total > rng.exponential():
        total = total - rng.exponential()
    return total


def _objective(n=3):
    reading = ProgramReading(zoo.get("AT"), n)
    symbols = [Symbol("input", f"x{i}") for i in range(n)]
    pair = neighbourhoods(linf(), reals(n), n, reach=math.inf)[0]
    side = ProgramSide(reading, symbols)
    noises = reading.noises
    pattern = (True, False, True)[:n]
    ordered = tuple(sorted(noises))
    objective = SmoothObjective((side, side), pair, pattern, {}, noises, ordered)
    objective.freeze(freeze(noises, 4096, np.random.default_rng(0)))
    return objective


def test_the_gradient_is_that_of_the_value():
    objective = _objective()
    rng = np.random.default_rng(1)
    point = objective.neighbourhood.random(rng)
    value, gradient = objective.value_and_gradient(point)
    for i in range(len(point)):
        step = np.zeros(len(point))
        step[i] = 1e-5
        slope = (objective.value(point + step) - objective.value(point - step)) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-4, abs=1e-8)
    assert value == pytest.approx(objective.value(point))


def test_the_smooth_probability_is_the_events_probability():
    """All noises but one are integrated: exact up to one integral by quasi-sampling."""
    objective = _objective()
    point = np.zeros(objective.size)
    exact = dpest.distribution(zoo.get("AT"), [0.0, 0.0, 0.0]).probability([True, False, True])
    assert objective.sharp
    assert objective.checks[0].value(point) == pytest.approx(exact, rel=1e-2)


@pytest.mark.parametrize("name", ["AT", "AT1", "AT4"])
def test_the_event_of_a_program_is_that_of_the_trace(name):
    mechanism = zoo.get(name)
    reading = ProgramReading(mechanism, 3)
    symbols = [Symbol("input", f"x{i}") for i in range(3)]
    side = Side(trace(mechanism, [0.0] * 3, symbolic=True), symbols)
    x, x2 = [1.0, -2.0, 0.5], [2.0, -3.0, 0.5]
    for pattern in ((True, False, False), (False, False, True), (False, True, False)):
        event = PatternEvent(pattern)
        one = event_ratio(reading.event_trace(x, event), reading.event_trace(x2, event))
        two = event_ratio(side.event_trace(x, event), side.event_trace(x2, event))
        assert one == pytest.approx(two, rel=1e-9)


def test_long_inputs_are_searched_without_listing_paths():
    found = dpest.attack(zoo.get("AT"), method="finder", length=9, seed=0)
    assert found.standing.name == "exact"
    assert 0.95 * 0.45 <= found.value <= 0.45 + 1e-9
    assert found.details["search_event"] <= found.details["refined_event"]
    # The witness, by the engine that knows nothing of programs.
    again = dpest.exact(zoo.get("AT"), found.witness.x, found.witness.x2)
    assert again.epsilon >= found.value * (1 - 1e-9)


def test_the_search_alone_is_told_from_refinement():
    alone = dpest.attack(zoo.get("AT1"), method="finder", refine=False, seed=0)
    whole = dpest.attack(zoo.get("AT1"), method="finder", seed=0)
    assert "refined_event" not in alone.details
    assert alone.value == pytest.approx(whole.details["search_pair"])
    assert whole.details["search_event"] <= whole.details["search_pair"] + 1e-9
    assert whole.value == pytest.approx(whole.details["refined_pair"])
    assert whole.value >= alone.value


def test_polynomials_of_inputs_are_smoothed():
    found = dpest.attack(cubed, method="finder", domain="real(0, 2)", adjacency="linf", seed=0)
    # |x³ - y³| ≤ 7 for neighbours in [0, 2]: ε = 7/2.
    assert any("program" in note for note in found.notes)
    assert 3.3 <= found.value <= 3.5 + 1e-9


@pytest.mark.slow
def test_a_loop_without_a_bound_falls_back_to_sampling():
    found = dpest.attack(
        endless, method="finder", domain="real(0, 2)", adjacency="linf", budget="6s"
    )
    assert any("random search instead" in note for note in found.notes)


def test_the_answer_does_not_depend_on_the_clock():
    one, two = (
        dpest.attack(zoo.get("AT"), method="finder", length=8, seed=3).value for _ in range(2)
    )
    assert one == two
