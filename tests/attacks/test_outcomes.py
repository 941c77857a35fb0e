"""Attacks on outputs that are counted: the counts, the order that they give, and the bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpest import zoo
from dpest.attacks import outcomes, sniper
from dpest.attacks.outcomes import (
    OutcomeCounts,
    OutcomeScorer,
    count_outcomes,
    countable,
    keys_of,
    outcome_scorers,
    scores_of,
)
from dpest.attacks.sampler import MechanismSampler
from dpest.attacks.sniper import SniperPlan, sniper_attack
from dpest.attacks.thresholds import (
    COMPARED,
    RANKING,
    Counts,
    OrderedScores,
    ThresholdAttack,
    best_threshold,
)
from dpest.execution.runner import open_runner
from dpest.running.native.runs import WORTHWHILE
from dpest.running.samples import Samples

pytest.importorskip("llvmlite")
PAIR = ([1.0] * 5, [0.0] * 5)
FALSE_ALARM = 1e-3


def outputs_of(values: list[object]) -> Samples:
    return Samples.from_outputs(values)


def test_workers_count_what_this_process_counts() -> None:
    size = 2 * outcomes._LARGE_BLOCK + 5
    svt, draws = zoo.get("SVT6"), [(x, size, 5 + i) for i, x in enumerate(PAIR)]
    here = count_outcomes(svt, draws)
    with open_runner(workers=2) as pool:
        there = count_outcomes(svt, draws, pool.map_kept)
    for one, two in zip(here, there, strict=True):
        assert one.size == two.size == size
        assert keys_of(one.outputs) == keys_of(two.outputs)
        assert np.array_equal(one.counts, two.counts)


def test_what_can_be_counted() -> None:
    assert countable(zoo.get("SVT6"), PAIR[0])
    assert not countable(zoo.get("LaplaceMechanism"), 1.0)  # reals
    assert not countable(zoo.get("Rappor"), 1)  # a million outputs


def test_outputs_are_told_apart_by_what_is_written() -> None:
    outputs = outputs_of([0.0, -0.0, math.nan, math.nan, True, 1])
    keys = keys_of(outputs)
    assert keys[2] == keys[3]
    assert len(set(keys)) == 5


def test_an_output_that_never_came_up_says_nothing() -> None:
    scorer = OutcomeScorer(outputs_of(["a", "b"]), np.array([1.5, -2.0]))
    assert scorer.scores(outputs_of(["b", "c", "a"])).tolist() == [-2.0, 0.0, 1.5]
    assert scorer.words(0.0, math.inf) == "the output is 'a'"
    assert scorer.words(-1.0, math.inf) == "the output is 'a', or none of the 2 that were counted"
    assert scorer.words(2.0, math.inf) == "no output"
    assert ThresholdAttack(scorer, 0.0, 0.0, True).describe() == "the output is 'b'"


def test_counted_scores_are_those_of_the_runs() -> None:
    rng = np.random.default_rng(1)
    values, counts = rng.normal(size=2000).round(2), rng.integers(1, 9, 2000)
    whole, counted = (
        OrderedScores.of(np.repeat(values, counts)),
        OrderedScores.counted(values, counts),
    )
    levels = np.linspace(-3, 3, 601).round(2)
    assert whole.size == counted.size
    for one, two in ((whole, counted), (whole.negated(), counted.negated())):
        assert np.array_equal(one.above(levels), two.above(levels))
        assert np.array_equal(one.below(levels), two.below(levels))
        assert np.array_equal(one.levels(), two.levels())


def test_the_best_event_of_a_table_is_found() -> None:
    """Three outputs of many speak for the first input, as strongly as the truth has it."""
    names = [f"o{i}" for i in range(40)]
    p = np.full(40, 1 / 40)
    q = p.copy()
    q[:3] /= 2.0
    q[3:] += (1.0 - q.sum()) / 37
    rng = np.random.default_rng(3)
    first, first_rest, second, second_rest = (
        OutcomeCounts(outputs_of(names), rng.multinomial(10**6, chances))
        for chances in (p, p, q, q)
    )
    attack = max(
        (
            best_threshold(
                scorer, scores_of(scorer, first_rest), scores_of(scorer, second_rest), 10**7, 0.05
            )
            for scorer in outcome_scorers(first, second)
        ),
        key=lambda found: found.expected,
    )
    assert (
        attack.describe() == "the output is 'o0' or 'o1' or 'o2'"
        or (attack.scorer.scores(outputs_of(names)) > attack.t).tolist()
        == [True] * 3 + [False] * 37
    )
    assert 0.66 < attack.expected < math.log(2)


def test_what_measures_has_chosen_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No stream of the final stage was seen by any other stage."""
    seen: list[tuple[str, int]] = []
    stage = "choosing"
    counting, scoring, measure = (
        sniper.count_outcomes,
        sniper.count_scores,
        sniper._SniperRun.measure,
    )

    def counted(mechanism, draws, *more):
        seen.extend((stage, seed) for _, _, seed in draws)
        return counting(mechanism, draws, *more)

    def scored(mechanism, attack, draws, *more):
        seen.extend((stage, seed) for _, _, seed in draws)
        return scoring(mechanism, attack, draws, *more)

    def measured(self, *arguments):
        nonlocal stage
        stage = "final"
        yield from measure(self, *arguments)

    monkeypatch.setattr(sniper, "count_outcomes", counted)
    monkeypatch.setattr(sniper, "count_scores", scored)
    monkeypatch.setattr(sniper._SniperRun, "measure", measured)
    plan = SniperPlan(100_000, 100_000, 100_000, 16 * WORTHWHILE, counted=64 * WORTHWHILE)
    pairs = [PAIR, ([1.0] * 5, [2.0] * 5)]  # about as good as each other
    found = sniper_attack(MechanismSampler(zoo.get("SVT6")), pairs, plan=plan, seed=1)
    final = [seed for which, seed in seen if which == "final"]
    assert set(found.details["runner"]) == {"native, counted", "native, fused"}
    assert found.details["runner"]["native, fused"] > 2 * plan.final  # attacks were compared, too
    assert len(seen) == len({seed for _, seed in seen})
    assert len(final) >= 2
    assert 0.0 < found.value < 0.5


def kept_or_not(x: int, rng: np.random.Generator) -> int:
    if rng.random() < 0.75:
        return x
    return 1 - x


@pytest.mark.slow
def test_bounds_from_counts_exceed_the_truth_seldom() -> None:
    """Randomised response at its ε: 100 bounds at 95 %."""
    plan = SniperPlan(0, 20_000, 20_000, WORTHWHILE)
    found = [
        sniper_attack(MechanismSampler(kept_or_not), [(0, 1)], plan=plan, seed=seed)
        for seed in range(100)
    ]
    above = sum(one.value > math.log(3) for one in found)
    assert above <= binom.ppf(1 - FALSE_ALARM, 100, 0.05)
    assert all("native, fused" in one.details["runner"] for one in found)
    assert np.median([one.value for one in found]) > 1.07


def test_a_promise_is_what_the_bound_will_be() -> None:
    attack = ThresholdAttack(OutcomeScorer(outputs_of(["a"]), np.ones(1)), 0.0, 0.0, False)
    counts = Counts(10**6, 10**6, 20_000, 10_000)
    bound = counts.bound(attack, 0.05, 0.0, stopped=False, paper=False)
    assert counts.promise(attack, 10**6, 0.05, 0.0, 0.0) == pytest.approx(bound, abs=1e-3)
    promise = counts.promise(attack, 10**8, 0.05, 0.0, 0.0)
    assert promise == pytest.approx(math.log(2), abs=4e-3)
    assert Counts().promise(attack, 10**6, 0.05, 0.0, 0.0) == -math.inf


def test_the_luckiest_of_many_rare_events_is_not_preferred_to_a_common_one() -> None:
    """Nine events of ratio 1.02 that came up 25 times in what compares them: one looks like 1.8."""
    attack = ThresholdAttack(OutcomeScorer(outputs_of(["a"]), np.ones(1)), 0.0, 0.0, False)
    runs, final = 10**7, 2 * 10**8
    common = Counts(runs, runs, 840_000, 800_000)
    rare = Counts(runs, runs, 36, 20)
    bold, careful = (
        [one.promise(attack, final, 0.05, 0.0, caution) for one in (common, rare)]
        for caution in (0.0, COMPARED)
    )
    assert bold[0] < bold[1]
    assert careful[1] < careful[0] == pytest.approx(math.log(1.05), abs=5e-3)


@pytest.mark.parametrize("both", [False, True])
def test_caution_costs_the_same_share_of_chance_for_one_input_and_for_both(both: bool) -> None:
    """A promise with caution z lies above the truth with chance Φ(-z), about."""
    low = 0.0 if both else -math.inf
    attack = ThresholdAttack(OutcomeScorer(outputs_of(["a"]), np.ones(1)), 0.0, 0.0, False, low=low)
    rng = np.random.default_rng(5)
    runs, p, q = 10**6, 2e-4, 1e-4
    above = 0
    for _ in range(2000):
        ones, twos = rng.binomial(runs, p), rng.binomial(runs, q)
        counts = Counts(runs, runs, ones, twos, *((0, 0) if both else ()))
        above += counts.promise(attack, 10**12, 0.05, 0.0, RANKING) > math.log(p / q)
    assert above <= binom.ppf(1 - FALSE_ALARM, 2000, norm.sf(RANKING) * 1.2)
    assert above >= binom.ppf(FALSE_ALARM, 2000, norm.sf(RANKING) * 0.4)
