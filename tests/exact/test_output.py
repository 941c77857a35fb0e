"""Output distributions: mass 1, and exact against sampled for every mechanism of the zoo."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

import dpest
from dpest import zoo
from dpest.ask.patterns import patterns
from dpest.errors import DpestError, InputError
from dpest.exact.outputs.output import RELEASED, output_distribution
from dpest.geometry.linear import Form
from dpest.reading.trace import trace
from dpest.running.batch.batch import batch
from dpest.running.skeleton import flatten

RUNS = 20_000


def typical_input(entry):
    length = entry.about.get("length")
    found = patterns(entry.adjacency, entry.domain, min(length, 4) if length else length)
    return found[0][1]


def traced(entry):
    try:
        return trace(entry, typical_input(entry))
    except DpestError as error:
        pytest.skip(f"not traced: {error}")


def hidden(output):
    """An output as its outcome: reals hidden."""
    skeleton, leaves = flatten(output)
    return str(skeleton).replace("float", "real").replace("int", "real"), tuple(
        "real" if isinstance(v, (float, np.floating)) else v for v in leaves
    )


@pytest.mark.parametrize("entry", zoo.entries(), ids=lambda e: e.name)
def test_all_probabilities_add_up_to_one(entry):
    distribution = output_distribution(traced(entry))
    assert abs(distribution.total - 1) <= 1e-10 + distribution.leftover


@pytest.mark.parametrize("entry", zoo.entries(), ids=lambda e: e.name)
def test_exact_probabilities_agree_with_runs(entry):
    """z = 5.5 for each outcome: below one false alarm in 10^5 runs of the whole suite."""
    distribution = output_distribution(traced(entry))
    try:
        outcomes = distribution.outcomes
    except DpestError as error:
        pytest.skip(str(error))
    if len(outcomes) == 1:
        _marginal_agrees(entry, distribution)
        return
    constant_reals = {v for o in outcomes for v in flatten(o.output)[1] if isinstance(v, float)}
    samples = batch(entry, typical_input(entry), RUNS, seed=11)
    counts = Counter(
        tuple(
            "…" if isinstance(v, float) and v not in constant_reals else v
            for v in flatten(output)[1]
        )
        for output in samples
    )
    expected: Counter = Counter()
    for o in outcomes:
        key = tuple("…" if v is RELEASED else v for v in flatten(o.output)[1])
        expected[key] += o.probability
    for key in expected.keys() | counts.keys():
        p, n = min(expected[key], 1.0), counts[key]
        spread = math.sqrt(RUNS * p * (1 - p)) + 1
        assert abs(n - RUNS * p) < 5.5 * spread, (key, p, n / RUNS)


def _marginal_agrees(entry, distribution):
    leaves = distribution.trace.paths[0].leaves
    if not leaves or not isinstance(leaves[0], Form):
        return
    samples = batch(entry, typical_input(entry), RUNS, seed=11)
    values = np.sort([float(flatten(output)[1][0]) for output in samples])
    middle = float(np.median(values))
    x, density = distribution.marginal(0)
    step = x[1] - x[0]
    below = float(density[x <= middle].sum() * step)
    assert abs(below - 0.5) < 5.5 * 0.5 / math.sqrt(RUNS) + density.max() * step


def test_densities_of_reals():
    def mechanism(x, rng):
        return [x[0] + rng.laplace(scale=1.0), x[0] + rng.laplace(scale=2.0)]

    distribution = output_distribution(trace(mechanism, [0.0]))
    truth = math.log(0.5) - 1.0 + math.log(0.25) - 0.25
    assert distribution.log_density([1.0, 0.5]) == pytest.approx(truth, abs=1e-13)
    x, density = distribution.marginal(1, np.linspace(-60, 60, 20_001))
    assert np.trapezoid(density, x) == pytest.approx(1.0, abs=1e-5)
    with pytest.raises(InputError):
        distribution.marginal(5)


def test_samples_of_the_traced_distribution_follow_it():
    """z = 5: one false alarm in a million."""
    distribution = output_distribution(trace(zoo.get("SVT1"), [1.0] * 4))
    counts = Counter(map(tuple, distribution.sample(50_000, seed=3)))
    assert sum(counts.values()) == 50_000
    for outcome in distribution.outcomes:
        n, p = counts[tuple(outcome.output)], outcome.probability
        assert abs(n - 50_000 * p) < 5 * math.sqrt(50_000 * p * (1 - p))
    assert distribution.probability([False] * 4) == pytest.approx(
        distribution.density([False] * 4), abs=1e-14
    )


def counted(x, rng):
    return sum(q + rng.laplace() > 0 for q in x)


def lattice(x, rng):
    return int(x[0]) + rng.geometric(0.5)


def clipped(x, rng):
    return min(max(x[0] + rng.laplace(), 0.0), 1.0)


@pytest.mark.parametrize(
    ("function", "x"), [(counted, [0.0]), (counted, [0.0, 1.0]), (lattice, [1])]
)
def test_whole_numbers_are_drawn_as_such_and_have_their_chances(function, x):
    """Chances against 20,000 runs of the function itself: a false alarm is six standard errors."""
    found = dpest.distribution(function, x)
    drawn = found.sample(20_000, seed=1)
    assert {type(v) for v in drawn} == {int}
    generator = np.random.default_rng(2)
    runs = [function(x, generator) for _ in range(20_000)]
    for value in range(5):
        chance = found.probability(value)
        slack = 6 * (chance * (1 - chance) / 20_000) ** 0.5
        assert abs(drawn.count(value) / 20_000 - chance) <= slack
        assert abs(runs.count(value) / 20_000 - chance) <= slack


def test_a_density_is_no_probability():
    found = dpest.distribution(clipped, [0.0])
    assert found.probability(0.0) == pytest.approx(0.5)
    assert found.probability(2.0) == 0.0
    with pytest.raises(dpest.errors.RefusedError, match=r"use density\(\)"):
        found.probability(0.5)
    assert found.density(0.5) == pytest.approx(0.5 * np.exp(-0.5))


def cut_off(x, rng):
    total, place, turns = rng.normal(size=3).sum(), rng.permutation(3)[0], 0
    while rng.random() < 0.3:
        turns += 1
    return float(max(min(place, total), -turns))


def test_what_was_not_explored_is_no_output():
    found = dpest.distribution(cut_off, [1.0])
    assert found.leftover > 1e-5
    assert all(isinstance(v, float) for v in found.sample(50_000, seed=1))
