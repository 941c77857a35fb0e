"""Rounded noisy values: one path for each whole number that they may become."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import dpest


def rounds(x, rng):
    return round(x[0] + rng.laplace(scale=2))


def floors(x, rng):
    return math.floor(x[0] + rng.laplace(scale=2))


def ceils(x, rng):
    return math.ceil(x[0] + rng.laplace(scale=2))


def truncates(x, rng):
    return int(x[0] + rng.laplace(scale=2))


def numpy_rounds(x, rng):
    return np.rint(np.array(x) + rng.laplace(scale=2, size=len(x)))[0]


def cast(x, rng):
    return (np.array(x) + rng.laplace(scale=2, size=len(x))).astype(int)[0]


def laplace_cdf(t, scale):
    return 0.5 * math.exp(t / scale) if t < 0 else 1 - 0.5 * math.exp(-t / scale)


def chance(low, high, at):
    return laplace_cdf(high - at, 2) - laplace_cdf(low - at, 2)


BORDERS = {
    rounds: lambda k: (k - 0.5, k + 0.5),
    numpy_rounds: lambda k: (k - 0.5, k + 0.5),
    floors: lambda k: (k, k + 1),
    ceils: lambda k: (k - 1, k),
    truncates: lambda k: (k - (k <= 0), k + (k >= 0)),
    cast: lambda k: (k - (k <= 0), k + (k >= 0)),
}


@pytest.mark.parametrize("mechanism", BORDERS)
@pytest.mark.parametrize("at", [0.0, 0.25, -3.5])
def test_probabilities(mechanism, at):
    found: Counter[float] = Counter()  # 0.0 and -0.0 are two outputs, and one number
    for outcome in dpest.distribution(mechanism, [at]).outcomes:
        found[outcome.output] += outcome.probability
    assert sum(found.values()) == pytest.approx(1, abs=1e-8)
    for k in range(-9, 10):
        assert found[k] == pytest.approx(chance(*BORDERS[mechanism](k), at), rel=1e-12)


@pytest.mark.parametrize("mechanism", BORDERS)
def test_loss(mechanism):
    best = max(
        abs(math.log(chance(*BORDERS[mechanism](k), 0.0) / chance(*BORDERS[mechanism](k), 0.75)))
        for k in range(-30, 30)
    )
    loss = dpest.exact(mechanism, [0.0], [0.75])
    assert loss.epsilon == pytest.approx(best, rel=1e-8)
    assert loss.epsilon <= best * (1 + 1e-12)


def test_ties_go_to_the_even_number():
    """Half of a whole number has ties with positive probability."""

    def halves(x, rng):
        return round(0.5 * rng.integers(0, 8) + x[0])

    counted = {}
    for k in range(8):
        value = round(Fraction(k, 2))
        counted[value] = counted.get(value, 0) + Fraction(1, 8)
    found = {o.output: o.probability for o in dpest.distribution(halves, [0]).outcomes}
    assert found == pytest.approx({k: float(p) for k, p in counted.items()})


def test_digits():
    def tenths(x, rng):
        return round(x[0] + rng.laplace(scale=0.25), 1)

    found = {o.output: o.probability for o in dpest.distribution(tenths, [0.0]).outcomes}
    expected = laplace_cdf(0.15, 0.25) - laplace_cdf(0.05, 0.25)
    assert found[0.1] == pytest.approx(expected, rel=1e-9)


def test_bounded_noise_has_few_values():
    def dice(x, rng):
        return math.floor(rng.uniform(0, 6) + x[0])

    loss = dpest.exact(dice, [0], [1])
    assert loss.epsilon == math.inf
    outcomes = dpest.distribution(dice, [0]).outcomes
    assert sorted(o.output for o in outcomes) == list(range(6))


def test_many_entries_are_many_small_distributions():
    def histogram(x, rng):
        return [max(0, round(v + rng.laplace(scale=1))) for v in x]

    loss = dpest.exact(histogram, [0, 3, 1, 0, 2, 5, 1, 1], [0, 3, 1, 0, 2, 6, 1, 1])
    assert loss.epsilon == pytest.approx(1, rel=1e-6)
    assert loss.epsilon <= 1


def test_samples_agree():
    def clipped(x, rng):
        return int(np.clip(round(sum(x) + rng.normal(0, 1.5)), 0, 4))

    outcomes = dpest.distribution(clipped, [1.0, 0.5]).outcomes
    known = {o.output: o.probability for o in outcomes}
    rng = np.random.default_rng(3)
    runs = 20_000
    drawn = [clipped([1.0, 0.5], rng) for _ in range(runs)]
    for k, p in known.items():
        spread = math.sqrt(p * (1 - p) / runs)
        assert abs(drawn.count(k) / runs - p) < 5 * spread


def test_audit_of_a_rounded_count():
    def count(x, rng, *, eps=1.0):
        return max(0, round(sum(1 for v in x if v > 3) + rng.laplace(scale=1 / eps)))

    asked = {"adjacency": "replace_one", "domain": dpest.integers(4, 0, 5)}
    verdict = dpest.audit(count, epsilon=1, **asked)
    assert verdict.status == "exact"
    assert verdict.lower.value == pytest.approx(1, rel=1e-6)
    assert dpest.audit(count, epsilon=0.98, **asked).violated


def test_values_that_depend_on_the_data_are_left_alone_in_proofs():
    """A proof is about all data: it does not round them, it takes the rounding off."""
    proof = dpest.prove(rounds, adjacency="l1", length=1)
    assert float(proof.bound) == 0.5
    assert any("post-processing" in note for note in proof.notes)


def test_rounded_data():
    def rounded_data(x, rng):
        return round(x[0])

    assert dpest.exact(rounded_data, [0.2], [0.4]).epsilon == 0
    assert dpest.exact(rounded_data, [0.2], [0.7]).epsilon == math.inf
