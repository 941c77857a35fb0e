"""Families of events: their tables against counting one event after the other. Seeds are fixed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpest.attacks.statdp import close_look
from dpest.attacks.statdp.close_look import Leader, front, leaders, look_closely, runs_to_tell
from dpest.attacks.statdp.detection import search
from dpest.attacks.statdp.families import Outputs, PairedOutputs, Products, Ranges, between_cuts
from dpest.attacks.statdp.laboratory import InputCase, Laboratory
from dpest.attacks.statdp.selector import Grammar, select_events
from dpest.running.batch.batch import batch


def value_svt(queries, rng, *, eps=0.7):
    rho = rng.laplace(scale=2 / eps)
    answers = []
    for q in queries:
        noisy = q + rng.laplace(scale=2 / eps)
        if noisy >= 1 + rho:
            answers.append(noisy)
            break
        answers.append(False)
    return answers


def answers(queries, rng, *, eps=0.7):
    return tuple("yes" if q + rng.laplace(scale=1 / eps) > 0.5 else "no" for q in queries)


def whole(queries, rng):
    return [int(rng.integers(0, 40)) + queries[0], None if rng.random() < 0.5 else 2.5]


PAIRS = [
    (value_svt, [1, 1, 1, 1], [2, 2, 0, 0]),
    (answers, [1, 1, 1], [0, 0, 1]),
    (whole, [0], [1]),
]


def samples(mechanism, x, x2, size=3000):
    return batch(mechanism, x, size, 1), batch(mechanism, x2, size, 2)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_values_are_sorted_between_cuts_as_by_a_search(scale):
    rng = np.random.default_rng(0)
    cuts = np.unique(rng.laplace(size=60)) * scale
    near = np.concatenate([np.nextafter(cuts, -np.inf), cuts, np.nextafter(cuts, np.inf)])
    ends = [-np.inf, np.inf, 0.0, -0.0, 1.7e308, -1.7e308, 5e-324]
    values = np.concatenate([rng.laplace(size=20_000) * scale, near, ends])
    expected = np.searchsorted(cuts, values, side="right")
    np.testing.assert_array_equal(between_cuts(cuts, values), expected)
    with_nan = between_cuts(cuts, np.append(values, np.nan))
    np.testing.assert_array_equal(with_nan[:-1], expected)
    np.testing.assert_array_equal(between_cuts(cuts[:1], values), values >= cuts[0])


@pytest.mark.parametrize(("mechanism", "x", "x2"), PAIRS)
@pytest.mark.parametrize("thorough", [False, True])
def test_tables_count_what_the_events_say(mechanism, x, x2, thorough):
    """Three candidates of a block; sets and unions are counted on the second half of the runs."""
    first, second = samples(mechanism, x, x2)
    search = select_events(first, second, thorough=thorough)
    rng = np.random.default_rng(0)
    compared = 0
    for block in search.blocks:
        for i in rng.choice(len(block.c1), min(3, len(block.c1)), replace=False):
            event = block.event(int(i))
            counts = event.count(first), event.count(second)
            if block.runs == first.size:
                assert (block.c1[i], block.c2[i]) == counts, event.words
            else:
                # Half of the runs, by their place: six standard errors.
                for half, all_of_them in zip((block.c1[i], block.c2[i]), counts, strict=True):
                    assert abs(half - all_of_them / 2) <= 3 * math.sqrt(all_of_them) + 1e-9
            compared += 1
    assert compared > 20


@pytest.mark.parametrize(("mechanism", "x", "x2"), PAIRS)
def test_tables_of_parts_add_up(mechanism, x, x2):
    first, second = samples(mechanism, x, x2)
    whole_reading = PairedOutputs(first, second)
    rows = np.arange(first.size)
    parts = [PairedOutputs(first.take(r), second.take(r)) for r in (rows[:1000], rows[1000:])]
    kinds = set()
    for family in Grammar(whole_reading, (), ()).families():
        together, one, two = (family.table(r) for r in (whole_reading, *parts))
        if not isinstance(family, Ranges):  # the halves are others in parts
            together, one, two = (t.sum(axis=0) for t in (together, one, two))
        np.testing.assert_array_equal(together, one + two)
        kinds.add(type(family))
    assert kinds & {Products, Outputs}


def test_a_thorough_search_has_several_categories_in_a_row():
    first, second = samples(value_svt, [1] * 4, [2] * 4)
    plain = select_events(first, second)
    thorough = select_events(first, second, thorough=True)
    assert thorough.size > plain.size
    words = {block.event(0).words for block in thorough.blocks}
    assert any(text.startswith("the length is at least 3 and") for text in words)
    assert any(text.startswith("the length is at most 2 and") for text in words)


def test_a_close_look_counts_the_leading_families_on_other_runs(monkeypatch):
    monkeypatch.setattr(close_look, "_PART", 3000)
    laboratory = Laboratory(value_svt, None, 0)
    case = InputCase([1] * 4, [2, 2, 0, 0])
    found, _ = search(laboratory, [case], 0.7, 4000, worth=0.5)
    best = leaders(front(found, [0.5, 1.0]), 8)
    assert best
    assert best[0].share == 1
    assert len({(leader.pair, leader.large, leader.small) for leader in best}) == len(best)
    before = laboratory.runs
    ((same, closer),), runs = look_closely(laboratory, found, [0.5, 1.0], lambda _: 40_000, 5000)
    assert same == case
    assert runs == 40_000 == (laboratory.runs - before) / 2
    assert len({block.family for block in closer.blocks}) <= 2
    assert max(block.runs for block in closer.blocks) == 40_000
    choice = closer.best(1.0, 2.0)
    assert choice is not None
    one, two = (laboratory.draw(case, x, 20_000, seed) for x, seed in ((case.x, 8), (case.x2, 9)))
    fresh = [choice.event.count(side) for side in (one, two)]
    large, small = reversed(fresh) if choice.swapped else fresh
    # Two estimates of one log ratio, chosen and fresh: six standard errors.
    error = math.sqrt(sum(1 / max(k, 1) for k in (choice.k1, choice.k2, large, small)))
    assert abs(math.log(choice.k1 / choice.k2) - math.log(large / small)) < 6 * error


def test_runs_to_tell_an_epsilon():
    """Of 1,000 and 500 in 10^6: to 0.01 of 0.7, and hardly any where ε is far below."""
    leader = Leader(0, None, 1000, 500, 0.69)
    wanted = 1e6 * (1 / 1000 + 1 / 500) / 0.007**2
    assert runs_to_tell([(0.7, [leader])], 1_000_000, 0.01) == pytest.approx(wanted, rel=1e-6)
    assert runs_to_tell([(0.2, [leader])], 1_000_000, 0.01) < wanted / 100
    assert runs_to_tell([], 1_000_000, 0.01) == 0


def test_without_anything_to_tell_there_is_no_leader():
    laboratory = Laboratory(lambda x, rng: 1, None, 0)
    found, _ = search(laboratory, [InputCase([0], [1])], 0.7, 1000, worth=0.5)
    assert leaders(front(found, [0.5]), 8) == []
    counted, runs = look_closely(laboratory, found, [0.5], lambda best: 500, 500)
    assert runs == 500
    assert not counted[0][1].blocks


def test_sets_of_outputs_are_counted_on_runs_that_did_not_choose_them():
    """Equal distributions: a set that looks good in one half has a ratio near 1 in the other.

    Six standard errors, for each of about 90 sets.
    """

    def coins(x, rng):
        return [bool(rng.random() < 0.5) for _ in range(6)]

    counted = select_events(batch(coins, [0], 4000, 1), batch(coins, [0], 4000, 2))
    sets = [b for b in counted.blocks if isinstance(b.family, Outputs) and b.runs == 2000]
    assert len(sets) == 2
    for block in sets:
        error = np.sqrt(1 / block.c1 + 1 / block.c2)
        assert (np.abs(np.log(block.c1 / block.c2)) < 6 * error).all()
        # Were they counted where they were chosen, the small ones would be two sigmas off.
        assert abs(np.mean(np.log(block.c1 / block.c2) / error)) < 3
