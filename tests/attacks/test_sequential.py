"""The sequential audit: power, soundness, budgets, bad black boxes."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy.stats import norm

from attacks import fakes
from dpest.attacks import power
from dpest.attacks.budget import Budget
from dpest.attacks.models.predictors import tree_predictions
from dpest.attacks.sampler import MechanismSampler
from dpest.attacks.sequential import SequentialAudit, sequential_attack
from dpest.attacks.sniper import sniper_attack
from dpest.errors import InputError, ReadingError
from dpest.running.samples import Samples


@pytest.mark.parametrize(("true", "claim", "target"), [(2.0, 1.0, 220), (0.5, 0.1, 560)])
def test_draws_to_refute(true, claim, target):
    runs = []
    for seed in range(20):
        found = sequential_attack(
            fakes.laplace(true), 1.0, 0.0, claim=claim, budget=20_000, seed=seed
        )
        assert found.details["refuted_claim"]
        assert claim <= found.value <= 12
        runs.append(found.runs)
    assert np.median(runs) <= target


def test_true_claims_are_rarely_refuted():
    # Each audit errs with probability at most 0.2: more than 13 of 30 happens once in 300 times.
    wrong = 0
    for seed in range(15):
        for sampler, inputs in (
            (fakes.laplace(1.0), (1.0, 0.0)),
            (fakes.randomised_response(1.0), (1, 0)),
        ):
            found = sequential_attack(
                sampler, *inputs, claim=1.0, epsilons=[0.5, 1.0], alpha=0.2, budget=1500, seed=seed
            )
            wrong += found.details["refuted_claim"]
    assert wrong <= 13


def test_approximate_claim_of_the_gaussian():
    sigma, epsilon = 1.0, 0.5
    exact = norm.cdf(0.5 / sigma - epsilon * sigma) - math.exp(epsilon) * norm.cdf(
        -0.5 / sigma - epsilon * sigma
    )
    # At the exact delta the claim is true; at a fifth of it, it is false.
    true = sequential_attack(
        fakes.gaussian(sigma), 1.0, 0.0, claim=epsilon, delta=exact, budget=20_000, seed=3
    )
    assert not true.details["refuted_claim"]
    false = sequential_attack(
        fakes.gaussian(sigma), 1.0, 0.0, claim=epsilon, delta=exact / 5, budget=60_000, seed=3
    )
    assert false.details["refuted_claim"]
    assert false.measure.delta == exact / 5


def test_same_seed_same_answer():
    first, second = (
        sequential_attack(fakes.laplace(1.0), 1.0, 0.0, budget=5000, seed=7) for _ in range(2)
    )
    assert (first.value, first.runs) == (second.value, second.runs)
    assert first.runs == 5000


def test_vectors_and_mixed_outputs():
    shift = fakes.ArraySampler(lambda x, n, rng: x + rng.laplace(scale=0.5, size=(n, 3)))
    found = sequential_attack(shift, 1.0, 0.0, budget=20_000, seed=1)
    assert (
        2.0 < found.value <= 6.0
    )  # three coordinates of epsilon 2 each; one alone shows 2 at most

    def ragged(x, rng):
        value = x + rng.laplace(scale=0.5)
        if value > 2.0:
            raise ValueError("too large")
        if value < -2.0:
            return float("nan")
        return [value] * int(abs(value) + 1)

    sampler = MechanismSampler(ragged)
    found = sequential_attack(sampler, 1.0, 0.0, budget=6000, seed=1)
    assert 1.0 < found.value <= 2.0
    assert any("raised" in note for note in found.notes)
    assert found.runs == 6000


def test_interrupt_gives_the_bound_so_far():
    class Interrupted:
        def __init__(self):
            self.inner, self.left = fakes.laplace(2.0), 60

        def draw(self, x, size, seed):
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return self.inner.draw(x, size, seed)

        def notes(self):
            return ()

    found = sequential_attack(Interrupted(), 1.0, 0.0, seed=1)
    assert found.details["interrupted"]
    assert found.value > 0.2
    assert any("interrupted" in note for note in found.notes)


def test_a_slow_black_box_keeps_its_budget_in_seconds():
    def slow(x):
        time.sleep(0.01)
        return x + np.random.default_rng().laplace(scale=0.25)

    seen = []
    begin = time.monotonic()
    found = sequential_attack(
        MechanismSampler(slow), 1.0, 0.0, budget="2s", seed=0, progress=seen.append
    )
    assert time.monotonic() - begin < 4.0
    assert 50 < found.runs < 250
    assert seen[-1].runs == found.runs
    assert [p.bound for p in seen] == sorted(p.bound for p in seen)


def test_bad_arguments():
    with pytest.raises(InputError, match="grid"):
        SequentialAudit([-1.0], 0.05)
    with pytest.raises(InputError, match="delta"):
        SequentialAudit([1.0], 0.05, delta=1.5)
    with pytest.raises(InputError, match="budget"):
        Budget.of("soon")
    assert Budget.of("2min") == Budget(seconds=120.0)
    assert Budget.of("1e6 runs") == Budget(runs=1_000_000)


def test_predictions_are_made_before_labels_are_seen():
    """Labels that contradict everything seen so far must cost wealth at once."""
    audit = SequentialAudit([0.5], 1e-300)  # so that it stays open
    zeros, ones = np.zeros(200, dtype=bool), np.ones(200, dtype=bool)
    for _ in range(3):
        audit.feed(Samples.from_outputs([0.0] * 200 + [1.0] * 200), np.concatenate([ones, zeros]))
    before = audit.log_wealth()[0]
    assert before > 10
    audit.feed(Samples.from_outputs([0.0] * 200), zeros)
    assert audit.log_wealth()[0] < before - 2


def test_tree_predictions_follow_the_counts():
    ones = np.array([[400.0, 10.0, 200.0, 200.0]])
    zeros = np.array([[10.0, 400.0, 200.0, 200.0]])
    guess, _ = tree_predictions(ones, zeros)
    np.testing.assert_allclose(guess[0], [0.97, 0.03, 0.5, 0.5], atol=0.02)
    flat, _ = tree_predictions(np.full((1, 8), 50.0), np.full((1, 8), 50.0))
    np.testing.assert_allclose(flat, 0.5, atol=1e-6)


def test_the_wealth_over_time_is_kept():
    found = sequential_attack(fakes.laplace(2.0), 1.0, 0.0, claim=1.0, budget=20_000, seed=0)
    wealth = found.details["wealth"]
    assert wealth[-1][0] == found.runs
    assert wealth[-1][1] >= math.log10(20.0)
    assert all(value < math.log10(20.0) for _, value in wealth[:-1])
    longer = sequential_attack(
        fakes.laplace(1.0), 1.0, 0.0, claim=1.0, epsilons=[1.0], budget=300_000, seed=0
    )
    assert 20 < len(longer.details["wealth"]) <= 200
    assert longer.details["wealth"][-1][0] == 300_000


@pytest.mark.parametrize(
    ("shape", "sampler", "x", "x2"),
    [
        ("laplace", fakes.laplace(2.0), 1.0, 0.0),
        ("response", fakes.randomised_response(2.0), 1, 0),
    ],
)
def test_the_stated_power_is_kept(shape, sampler, x, x2):
    """At most 20 % missed, as stated; 9 or more of 20 have chance 1 % if it were 20 %."""
    runs = power.runs_needed(1.0, 2.0, 1e-6, 0.2, shape)
    missed = 0
    for seed in range(20):
        found = sequential_attack(
            sampler, x, x2, claim=1.0, epsilons=[1.0], alpha=1e-6, budget=runs, seed=seed
        )
        missed += not found.details["refuted_claim"]
    assert missed < 9


def test_power_grows_with_runs_and_with_the_leak():
    for shape in ("laplace", "response"):
        chances = [power.missed_chance(1.0, 1.5, n, 1e-6, shape) for n in (50, 1000, 4000, 16_000)]
        assert chances == sorted(chances, reverse=True)
        assert chances[0] == 1.0
        assert chances[-1] < 1e-3
        least = power.detectable(1.0, 5000, 1e-6, 0.05, shape)
        assert power.missed_chance(1.0, least, 5000, 1e-6, shape) <= 0.05
        assert power.missed_chance(1.0, 0.95 * least, 5000, 1e-6, shape) > 0.05
        runs = power.runs_needed(1.0, least, 1e-6, 0.05, shape)
        assert 0.9 * 5000 < runs < 1.1 * 5000
    assert power.missed_chance(1.0, 0.9, 10**9) == 1.0
    assert power.detectable(1.0, 70, 1e-6) == math.inf
    assert power.detectable(200.0, 10**6, 1e-6) == math.inf  # its odds are 1 in doubles
    assert power.runs_needed(1.0, 1.0001, most=10_000) is None
    with pytest.raises(InputError, match="shape"):
        power.missed_chance(1.0, 2.0, 100, shape="gauss")


def test_bad_black_boxes_are_counted_and_stated():
    rng = np.random.default_rng(0)

    def ragged(x):
        values = x + rng.laplace(size=rng.integers(1, 4))
        return [float("nan") if v > 3 else v for v in values]

    found = sequential_attack(MechanismSampler(ragged), 1.0, 0.0, budget=400, seed=0)
    stated = " ".join(found.notes)
    assert "NaN" in stated
    assert "3 shapes" in stated

    def fails_on_one(x):
        if x:
            raise ValueError("no")
        return 0.0

    told = sniper_attack(MechanismSampler(fails_on_one), [(1.0, 0.0)], budget=2000, seed=0)
    assert told.value > 3.0
    assert "raised" in " ".join(told.notes)

    def fails(x):
        raise RuntimeError("no database")

    with pytest.raises(ReadingError, match=r"raised RuntimeError \(no database\)"):
        sequential_attack(MechanismSampler(fails), 1.0, 0.0, budget=2000, seed=0)
