"""Events in words in the place of a classifier's score."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpest.ask.declaration import as_mechanism
from dpest.attacks.readable import EventScorer, event_scorer, inside, named
from dpest.attacks.sampler import MechanismSampler
from dpest.attacks.sequential import sequential_attack
from dpest.attacks.sniper import sniper_attack
from dpest.attacks.statdp.events import Range
from dpest.attacks.thresholds import ThresholdAttack
from dpest.running.samples import Samples
from dpest.stats import clopper_pearson


def black_box(source):
    """A function that nobody can read: it has no file."""
    scope = {}
    exec(source, scope)
    return as_mechanism(scope["f"])


LABEL = black_box(
    "def f(x, rng):\n"
    "    s = sum(x) + rng.normal(0, 1.0)\n"
    "    return 'high' if s > 2 else 'low' if s < -1 else 'mid'\n"
)
LENGTHS = black_box(
    "def f(x, rng):\n    return [v for v in x if v + rng.laplace(0, 1.0) > 0.5] + [None, 'end']\n"
)
RESPONSE = black_box(
    "def f(x, rng):\n    return [v if rng.random() < 0.75 else 1 - v for v in x]\n"
)


def drawn(mechanism, x, size, seed):
    return MechanismSampler(mechanism).draw(x, size, seed)


def test_outputs_are_scored_in_their_order():
    first = drawn(LENGTHS, [1, 0, 1], 400, 1)
    second = drawn(LENGTHS, [0, 0, 1], 400, 2)
    scorer = event_scorer(first, second)
    assert scorer is not None
    for place in range(0, 400, 37):
        alone = first.take(np.array([place]))
        assert scorer.scores(alone)[0] == scorer.scores(first)[place]


def test_the_event_says_what_is_counted():
    samples = Samples.from_outputs([0.5, 1.5, 2.5, 3.5] * 50)
    other = Samples.from_outputs([0.5, 0.5, 0.5, 3.5] * 50)
    scorer = event_scorer(samples, other)
    assert scorer is not None
    assert scorer.second is not None
    score = scorer.scores(samples)
    first, second = inside(scorer.first, samples), inside(scorer.second, samples)
    assert np.array_equal(score == 1, first)
    assert np.array_equal(score == -1, second & ~first)
    one = ThresholdAttack(scorer, 0.0, 0.0, False)
    assert one.describe() == str(scorer.first)
    assert one.count(samples, np.random.default_rng(0))[0] == np.count_nonzero(first)
    turned = ThresholdAttack(scorer, 0.0, 0.0, True)
    assert turned.describe() in (f"{scorer.second}, and not: {scorer.first}", f"{scorer.second}")
    assert turned.count(samples, np.random.default_rng(0))[0] == np.count_nonzero(second & ~first)
    rest = ThresholdAttack(scorer, -1.0, 0.0, False)
    assert rest.describe() in (f"{scorer.first}, or not: {scorer.second}", f"not: {scorer.second}")
    both = ThresholdAttack(scorer, 0.0, 0.0, False, low=0.0)
    assert "for the other input" in both.describe()
    assert both.count(samples, np.random.default_rng(0)) == (
        np.count_nonzero(first),
        np.count_nonzero(second & ~first),
    )


def test_ranges_that_have_nothing_in_common():
    low, high = Range(high=1.0, high_closed=True), Range(1.0, 2.0, True, False)
    assert not low.apart_from(high)
    assert Range(high=1.0).apart_from(high)
    assert high.apart_from(Range(low=2.0, low_closed=True))
    assert not high.apart_from(Range(1.5, 1.5, True, True))
    assert not Range().apart_from(high)


def test_one_event_speaks_for_either_input():
    event = event_scorer(
        Samples.from_outputs(["a"] * 150 + ["b"] * 50), Samples.from_outputs(["b"] * 200)
    )
    assert event is not None
    scorer = EventScorer(event.first)
    assert ThresholdAttack(scorer, 0.0, 0.0, False).describe() == str(event.first)
    assert ThresholdAttack(scorer, -1.0, 0.0, True).describe() == f"not: {event.first}"


def test_a_black_boxs_event_reads_like_a_sentence():
    sampler = MechanismSampler(LABEL)
    found = sniper_attack(sampler, [([0, 1, 1], [1, 1, 1])], budget=20_000, seed=1)
    assert found.value > 0.8
    assert "'high'" in found.witness.event
    assert "score" not in found.witness.event
    p, q = found.witness.p, found.witness.q
    assert math.log(p / q) > found.value


def test_the_sequential_audit_names_an_event():
    sampler = MechanismSampler(LABEL)
    found = sequential_attack(sampler, [0, 1, 1], [1, 1, 1], budget=4_000, seed=3)
    assert found.witness.event.startswith("the output is ")
    assert math.log(found.witness.p / found.witness.q) >= 0.9 * found.value


def test_nothing_is_named_where_nothing_is_seen():
    same = [drawn(RESPONSE, [0, 1, 1], 2_000, seed) for seed in (1, 2)]
    assert named(same[0], same[1], 0.5) is None
    few = [part.take(np.arange(50)) for part in same]
    assert event_scorer(*few) is None
    assert named(*few, 0.1) is None


@pytest.mark.slow
def test_measuring_two_attacks_keeps_the_level():
    """Randomised response has ε = log 3 exactly; 250 attacks, each with an event in words."""
    wrong, alpha = 0, 0.2
    for seed in range(250):
        sampler = MechanismSampler(RESPONSE)
        found = sniper_attack(sampler, [([1, 0], [0, 0])], alpha=alpha, budget=2_000, seed=seed)
        wrong += found.value > math.log(3)
    assert float(clopper_pearson.lower(wrong, 250, 0.001)) <= alpha
