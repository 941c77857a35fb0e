"""Log densities of a column of outputs: against those of one output at a time, and as weights."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpest import zoo
from dpest.ask.declaration import as_mechanism
from dpest.attacks.sampler import MechanismSampler
from dpest.errors import RefusedError
from dpest.exact.engine import PairObjective
from dpest.exact.outputs.output import output_distribution
from dpest.reading.trace import trace
from dpest.running.samples import Samples


def clipped(x, rng):
    return min(max(x[0] + rng.laplace(scale=2.0), 0.0), 3.0)


def named(x, rng):
    count = x[0] + rng.laplace(scale=1.0)
    return {"count": count, "many": count > 1, "again": x[1] + rng.laplace(scale=1.0)}


def bits(x, rng):
    return [v + rng.laplace(scale=1.0) > 0 for v in x]


def answers(x, rng):
    rho = rng.laplace(scale=2.0)
    return ["yes" if v + rng.laplace(scale=1.0) > rho else None for v in x]


def related(x, rng):
    first = x[0] + rng.laplace(scale=1.0)
    return [first, 2 * first, x[1] + rng.laplace(scale=2.0)]


def integers(x, rng):
    return [x[0] + rng.geometric(0.5) - rng.geometric(0.5), rng.random() < 0.5]


CASES = [
    (clipped, [1.0], [2.0]),
    (named, [1.0, 0.0], [2.0, 1.0]),
    (bits, [0.0, 1.0, 2.0], [1.0, 1.0, 1.0]),
    (related, [0.0, 1.0], [1.0, 0.0]),
    (integers, [0], [1]),
    (answers, [0.0, 1.0, 2.0], [1.0, 0.0, 2.0]),
    (zoo.get("AT3"), [1, 1, 1, 1], [2, 2, 2, 0]),
    (zoo.get("SVT3"), [1] * 10, [2] * 5 + [0] * 5),
    (zoo.get("SVT4"), [1] * 10, [2] * 5 + [0] * 5),
]
TWO_LISTS = (zoo.get("SVT34Parallel"), [1] * 10, [2] * 5 + [0] * 5)


def drawn(mechanism, x, x2, runs):
    """As many outputs of each input, and both log densities of each."""
    target = as_mechanism(mechanism)
    sampler = MechanismSampler(target)
    both = Samples.concatenate([sampler.draw(x, runs, 1), sampler.draw(x2, runs, 2)])
    return both, PairObjective(target).densities(x, x2)(both)


def outputs_of(samples):
    found = [None] * samples.size
    for group in samples.groups:
        for i, row in enumerate(group.rows.tolist()):
            found[row] = group.output(i)
    return found


# What a run released after rounding misses an exact relation, which that oracle asks for.
@pytest.mark.parametrize(("mechanism", "x", "x2"), [c for c in CASES if c[0] is not related])
def test_as_of_one_output_at_a_time(mechanism, x, x2):
    samples, (log_p, log_q) = drawn(mechanism, x, x2, 25)
    first, second = (
        output_distribution(trace(as_mechanism(mechanism), given)) for given in (x, x2)
    )
    for i, output in enumerate(outputs_of(samples)):
        expected = first.log_density(output) - second.log_density(output)
        assert log_p[i] - log_q[i] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("mechanism", "x", "x2"), [*CASES, TWO_LISTS])
def test_weights_of_either_input_add_up_to_one(mechanism, x, x2):
    """Under half of each input the mean of 2p/(p+q) is 1, and so is that of any event's share.

    Five standard errors, for two means a case: a false alarm in 10^5.
    """
    _, (log_p, log_q) = drawn(mechanism, x, x2, 4000)
    for ratio in (log_p - log_q, log_q - log_p):
        weights = 2 / (1 + np.exp(-ratio))
        assert abs(weights.mean() - 1) < 5 * weights.std() / math.sqrt(len(weights)) + 1e-12
    # What an output tells is what the counts tell: of those likelier on x, more came from x.
    likelier = log_p > log_q
    came, other = likelier[:4000].mean(), likelier[4000:].mean()
    expected = (2 / (1 + np.exp(log_q - log_p)))[likelier].sum() / 8000
    assert abs(came - expected) < 5 * math.sqrt(0.5 / 4000)
    assert came >= other - 5 * math.sqrt(0.5 / 4000)


def test_numbers_that_depend_on_each_other_are_one_number():
    samples, (log_p, log_q) = drawn(related, [0.0, 1.0], [1.0, 0.0], 200)
    a, _, c = np.array(outputs_of(samples)).T
    expected = np.abs(a - 1) - np.abs(a) + (np.abs(c) - np.abs(c - 1)) / 2
    np.testing.assert_allclose(log_p - log_q, expected, atol=1e-9)


def test_what_is_never_released_has_no_density():
    samples = Samples.from_outputs([7.5, "no", [0.0]])
    log_p, log_q = PairObjective(as_mechanism(clipped)).densities([1.0], [2.0])(samples)
    # 7.5 is a real number where a density is released: outside of the bounds it is 0.
    assert np.all(log_p == -np.inf)
    assert np.all(log_q == -np.inf)


def test_many_outputs_of_one_real_are_interpolated_closely():
    def halves(x, rng):
        rho = rng.laplace(scale=2.0)
        noisy = x[0] + rng.laplace(scale=3.0) + rng.normal()
        return noisy if x[1] + rng.laplace(scale=1.0) < rho else None

    target = as_mechanism(halves)
    densities = PairObjective(target).densities([0.0, 0.0], [1.0, 1.0])
    some = MechanismSampler(target).draw([0.0, 0.0], 4000, 3)
    many_p, many_q = densities(some)
    few = Samples.from_outputs(outputs_of(some)[:50])
    few_p, few_q = densities(few)
    np.testing.assert_allclose((many_p - many_q)[:50], few_p - few_q, atol=2e-3)


def test_a_law_that_was_cut_off_is_refused(monkeypatch):
    objective = PairObjective(as_mechanism(clipped))
    whole = trace(as_mechanism(clipped), [1.0])
    monkeypatch.setattr(objective, "_trace", lambda x: [replace(whole, leftover=0.01)])
    with pytest.raises(RefusedError, match="cut off"):
        objective.densities([1.0], [2.0])
