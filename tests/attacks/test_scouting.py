"""Pairs around the numbers of the code: which are made, and which a few runs tell apart."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpest
from dpest import ANY, add_remove_one, l1, linf, reals, records, replace_one
from dpest.ask.declaration import as_mechanism
from dpest.attacks.scouting.candidates import candidates
from dpest.attacks.scouting.coupled import Coupled
from dpest.running.landmarks import landmarks

LIMITS = {"income": 81_250.0, "age": [17, 64]}


def over_limit(x, rng, *, eps=1.0, scale=3):
    factor = 0.125
    return sum(v > LIMITS["income"] for v in x) * factor + rng.laplace(scale=scale / eps)


def test_landmarks_are_literals_parameters_and_named_constants():
    found = landmarks(as_mechanism(over_limit))
    assert {0.125, 1.0, 3.0, 81_250.0, 17.0, 64.0} <= set(found)


def test_landmarks_of_functions_that_are_called():
    def edge(v):
        return v >= 12.75

    def count(x, rng):
        return sum(map(edge, x)) + rng.laplace()

    assert 12.75 in landmarks(as_mechanism(count))


@pytest.mark.parametrize("adjacency", [l1(1), linf(1), replace_one(), add_remove_one()], ids=str)
def test_candidates_are_neighbours_in_the_domain(adjacency):
    domain = reals(4, 0.0, 100.0)
    found = list(candidates(adjacency, domain, 4, [7.5, 99.5, 1e9]))
    assert found
    for _, x, x2 in found:
        adjacency.check(x, x2, domain)
        assert x != x2
        assert all(0 <= v <= 100 for v in (*x, *x2))


def test_candidates_straddle_each_number_with_one_entry_and_with_all():
    found = [(x, x2) for _, x, x2 in candidates(l1(1), reals(5), 5, [0.5])]
    assert any(max(x) <= 0.5 < min(x2) for x, x2 in found), "all entries cross together"
    assert any(sum(u != v for u, v in zip(x, x2, strict=True)) == 1 for x, x2 in found)


def test_candidates_of_records_put_the_number_into_each_field():
    domain = records(ANY, fields={"age": (0, 120), "income": (0, 1e6)})
    found = [x2[-1] for _, x, x2 in candidates(add_remove_one(), domain, 3, [50_000.0])]
    assert any(entry["income"] == 50_000.0 for entry in found)


def test_short_and_empty_data_where_nobody_said_how_long():
    lengths = {
        len(x) for _, x, _ in candidates(add_remove_one(), reals(), 5, [], other_lengths=True)
    }
    assert lengths == {0, 1, 2, 3, 5}


def test_a_pair_that_differs_beyond_the_noise_scores_higher():
    def f(x, rng):
        return (x[0] > 3) * 100.0 + rng.laplace()

    coupled = Coupled(as_mechanism(f), reals(1))
    assert coupled.score([2.9], [3.1]) > 10 * max(coupled.score([3.1], [4.0]), 0.01)
    assert coupled.score([1.0], [2.0]) == 0


def test_what_is_not_noisy_at_all_scores_highest():
    def f(x, rng):
        return x[0], x[1] + rng.laplace()

    coupled = Coupled(as_mechanism(f), reals(2))
    assert coupled.score([1.0, 0.0], [2.0, 0.0]) > 1000 * coupled.score([1.0, 0.0], [1.0, 1.0])


def high_earners(x, rng):
    return sum(v > 50_000 for v in x) + rng.laplace(scale=0.5)


def above_half(x, rng):
    return sum(v > 0.5 for v in x) + rng.laplace(scale=2)


def suppressed(x, rng):
    return 0.0 if len(x) < 3 else len(x) + rng.laplace()


def suppressed_black_box(x):
    return suppressed(x, np.random)


@pytest.mark.parametrize(
    ("f", "adjacency", "true"),
    [
        (high_earners, l1(1), 10.0),
        (above_half, l1(1), 2.5),
        (suppressed, add_remove_one(), math.inf),
    ],
    ids=["far threshold", "entries that move together", "leak at n = 2"],
)
def test_misses_of_the_past(f, adjacency, true):
    verdict = dpest.audit(f, epsilon=1, adjacency=adjacency)
    assert verdict.violated
    assert verdict.lower.value == pytest.approx(true)


def test_a_leak_at_two_records_is_found_by_runs_alone():
    verdict = dpest.audit(suppressed_black_box, epsilon=1, adjacency=add_remove_one())
    assert verdict.violated
    assert verdict.question.length == 2


def test_a_private_count_is_not_accused():
    def count(x, rng):
        return sum(v > 50_000 for v in x) + rng.laplace(scale=1)

    verdict = dpest.audit(count, epsilon=1, adjacency=replace_one(), length=4)
    assert not verdict.violated
    assert verdict.lower.value <= 1 + 1e-9


@pytest.mark.parametrize("least", [3, 10, 40])
def test_withheld_small_counts_are_found_where_the_length_crosses(least):
    """The output is text: that it is always the same on one side is what tells the inputs apart."""

    def withheld(x, rng, *, epsilon=1.0):
        if len(x) < least:
            return "few"
        return f"{len(x) + rng.laplace(scale=1 / epsilon):.0f}"

    verdict = dpest.audit(
        withheld, epsilon=1, adjacency="add_remove_one", domain="integers(any, 0, 1)", seed=1
    )
    assert verdict.status == "violated"
    assert sorted(map(len, (verdict.lower.witness.x, verdict.lower.witness.x2))) == [
        least - 1,
        least,
    ]


def test_pairs_that_exact_values_leave_out_are_run():
    """The exact engine reads one branch only: the pairs of the other are left to runs."""

    def text_of_many(x, rng, *, epsilon=1.0):
        if sum(x) < 12:
            return "few"
        return str(round(sum(x) + rng.laplace(scale=1 / epsilon)))

    verdict = dpest.audit(
        text_of_many, epsilon=1, adjacency="add_remove_one", domain="integers(any, 0, 1)", seed=1
    )
    assert verdict.status == "violated"


@pytest.mark.parametrize("least", [2, 3, 5, 6])
def test_a_count_of_one_kind_is_crossed_at_a_fixed_length(least):
    made = candidates(replace_one(), dpest.integers(7, 0, 1), 7, [])
    assert any((sum(x) < least) != (sum(x2) < least) for _, x, x2 in made)


def test_an_entry_that_decides_the_median_is_among_them():
    made = list(candidates(replace_one(), reals(5, -10, 10), 5, []))
    medians = [abs(np.median(x) - np.median(x2)) for _, x, x2 in made]
    assert max(medians) == 20


def shown_from_two(x, rng):
    parts = []
    for k in range(3):
        n = sum(1 for v in x if v == k)
        if n >= 2:
            parts.append(f'"{k}": {n + rng.laplace()}')
    return "{" + ", ".join(parts) + "}"


def test_text_is_told_apart_by_its_pattern_and_its_numbers():
    """Another text in every run: what differs for sure is the pattern, not the noise."""
    domain = dpest.integers(4, 0, 2)
    coupled = Coupled(as_mechanism(shown_from_two), domain)
    one_more = coupled.score([0, 0, 1, 2], [0, 0, 1, 2, 0])
    now_shown = coupled.score([0, 0, 1, 2], [0, 0, 1, 2, 1])
    assert now_shown > 10 * one_more


def test_nan_on_one_input_alone_is_certain():
    """More than any shift of numbers: it is seen in every run."""

    def spoilt(x, rng):
        return [sum(x) + rng.laplace(), len(x) + rng.laplace()]

    coupled = Coupled(as_mechanism(spoilt), dpest.reals(2, nan=True))
    shifted = coupled.score([0.0, 0.0], [0.0, 5.0])
    missing = coupled.score([0.0, 0.0], [0.0, math.nan])
    assert missing > 10 * shifted > 0


def test_pairs_with_the_same_outputs_are_one():
    def counted(x, rng):
        return sum(v > 3 for v in x) + rng.laplace()

    pairs = [("", [0.0, 0.0], [0.0, v]) for v in (1.0, 2.0, 4.0, 5.0)]
    ranked = Coupled(as_mechanism(counted), dpest.reals(2)).rank(pairs, 10.0, 9)
    assert [(s.x2[1], s.score > 0) for s in ranked] == [(4.0, True), (1.0, False)]
