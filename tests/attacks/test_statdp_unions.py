"""Unions of ranges, counting without the order of the runs, and draws that are made together."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpest.attacks.statdp import features as f
from dpest.attacks.statdp import replay
from dpest.attacks.statdp.attack import statdp_detection
from dpest.attacks.statdp.curve import p_value_curve
from dpest.attacks.statdp.detection import detect, fresh_counts
from dpest.attacks.statdp.events import ONE, Either, Event, Range
from dpest.attacks.statdp.laboratory import InputCase, Laboratory
from dpest.attacks.statdp.selector import select_events
from dpest.attacks.statdp.unions import unions
from dpest.execution.runner import open_runner
from dpest.running.batch.batch import batch
from dpest.running.samples import Samples

OUTPUTS = [[True, 0.5], [1.5], [False, True, -2.0], [0.2], [True, 3.0], [True, False, 0.1]]
UNION = Event(
    (
        (
            Either(
                (
                    Event(((f.Length(), Range(1, 1, True, True)), (f.Element(-1), Range(high=1)))),
                    Event(((f.Length(), Range(3, 3, True, True)), (f.Element(-1), Range(low=0)))),
                )
            ),
            ONE,
        ),
    )
)


def test_a_union_reads_counts_and_replays_alike():
    samples = Samples.from_outputs(OUTPUTS)
    expected = [False, False, False, True, False, True]
    assert UNION.mask(samples).tolist() == expected
    assert UNION.count(samples) == 2
    known = {name: getattr(replay, name) for name in ("leaves_of", "number")}
    for output, inside in zip(OUTPUTS, expected, strict=True):
        assert eval(UNION.source, {**known, "leaves": replay.leaves_of(output)}) == inside
    assert UNION.words == (
        "the length is 1 and the last element is below 1, or the length is 3 and the last element "
        "is above 0"
    )
    assert UNION.complexity > max(event.complexity for event in UNION.parts[0][0].events)


def test_a_turned_union_turns_what_is_in_it():
    inner = Event(((f.Mismatches((True,), "D1"), Range(0, 0, True, True)),))
    turned = Event(((Either((inner,)), ONE),)).turned()
    assert turned.parts[0][0].events[0].parts[0][0].of == "D2"


@pytest.mark.parametrize(
    "feature",
    [
        *(
            f.Length(),
            f.CountOfValue(True),
            f.Mismatches((True, 0.5), "D1"),
            f.Element(-1),
            f.Element(1),
        ),
        *(f.ElementIs(0, True), f.Aggregate("max"), f.Aggregate("last"), f.Difference(1, 0)),
        f.OneOf(((True, f.NUMBER),)),
    ],
)
def test_groups_in_a_row_have_the_values_of_the_runs(feature):
    samples = Samples.from_outputs(OUTPUTS)
    order = np.concatenate([group.rows for group in samples.groups])
    expected = feature.values(samples)[order]
    np.testing.assert_array_equal(feature.values(f.Grouped.of(samples)), expected)


def test_the_best_ranges_of_two_categories_are_joined():
    table = np.full((3, 2, 6), 100)  # category, input, bin; the last bin has no value
    table[0, 0, 1:3] = 300
    table[2, 0, 3] = 400
    found = list(unions(table, table, lambda place: Event(((f.Length(), Range(*place[1:])),))))
    assert found, "no union was made"
    counts, event = found[0]
    best = int(np.argmax(counts[:, 0] / counts[:, 1]))
    assert counts[best].tolist() == [1000, 300]
    assert [e.parts[0][1] for e in event(best).parts[0][0].events] == [Range(1, 2), Range(3, 3)]
    assert not list(unions(table[:1], table[:1], lambda place: UNION)), "of one category"


def test_selection_finds_a_union_that_no_single_range_reaches():
    """Eight kinds of outputs, and in each another part of the line where the inputs differ."""

    def mechanism(x, rng):
        kind = rng.integers(8)
        value = rng.uniform()
        if abs(value - 0.1 - 0.1 * kind) < 0.05 and x and rng.uniform() < 0.8:
            value = rng.uniform()
        return [kind, value]

    first, second = (batch(mechanism, x, 20_000, seed) for x, seed in ((0, 1), (1, 2)))
    best = select_events(first, second, thorough=True).best(0.0, 3.5)
    either = best.event.parts[0][0]
    assert isinstance(either, Either), best.event.words
    assert len(either.events) > 4
    assert best.k1 / best.k2 > 3


def test_parts_of_a_large_test_add_up(monkeypatch):
    from dpest.attacks.statdp import detection

    monkeypatch.setattr(detection, "_PART", 1000)
    event = Event(((f.Element(0, alone=True), Range(high=0)),))
    laboratory = Laboratory(lambda x, rng: x[0] + rng.laplace(), None, 0)
    ((c1, n1, c2, n2),) = fresh_counts(laboratory, InputCase([0.0], [1.0]), [event], 4500, 7)
    assert n1 + n2 == 9000 == laboratory.runs
    # 0.5 and 0.5/e, six standard errors
    for count, runs, share in ((c1, n1, 0.5), (c2, n2, 0.5 / math.e)):
        assert abs(count - runs * share) < 6 * math.sqrt(runs * share * (1 - share))


def test_an_error_on_one_input_tells_it_from_the_other():
    def mechanism(x, rng):
        if x[0] > 0:
            raise ValueError("too large")
        return x[0] + rng.laplace()

    found = detect(
        mechanism, [InputCase([0.0], [1.0])], 1.0, selection_runs=2000, test_runs=2000, seed=0
    )
    assert found.violated
    assert "raises ValueError" in found.counterexample.event.words


def test_workers_change_nothing():
    def answers(x, rng):
        return [bool(v + rng.laplace() > 0.5) for v in x]

    options = {"length": 4, "epsilon": 0.5, "selection_runs": 4000, "test_runs": 4000, "seed": 3}
    here = statdp_detection(answers, **options)
    with open_runner(workers=2) as runner:
        there = statdp_detection(answers, run_all=runner.batches, **options)
    assert (here.bound, here.runs) == (there.bound, there.runs)
    assert here.counterexample.to_dict() == there.counterexample.to_dict()


def test_the_curve_of_a_rare_event_rises_near_its_epsilon():
    """ε is 1.2 on outputs of probability 0.01; false alarms: about 1 in 10^4 (4 sigmas)."""

    def mechanism(x, rng):
        value = rng.uniform()
        return value if value > (0.01 if x else 0.01 * math.exp(1.2)) else -1.0

    curve = p_value_curve(
        mechanism,
        [InputCase(0, 1)],
        np.arange(0.8, 1.6, 0.05),
        selection_runs=50_000,
        test_runs=100_000,
        seed=0,
    )
    sigma = math.sqrt(1 / 1000 + 1 / 3320)
    assert abs(curve.rise() - 1.2) < 4 * sigma
