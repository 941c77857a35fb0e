"""Medians and quantiles: right ones are proved, for every length; wrong ones never at the claim."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import dpest
from dpest import ANY, kernel
from dpest.errors import RefusedError
from dpest.proofs import prove
from dpest.proofs.coq.stages import stages
from dpest.proofs.rebuilding import differences
from proofs import quantile_mechanisms as right
from proofs.quantile_mistakes import WRONG

DATA = dpest.reals(ANY, -5, 20)
# What a record that comes or goes moves the score by, of what a replaced one does.
SHARE = {
    right.by_choice: Fraction(3, 4),
    right.by_scipy: Fraction(9, 10),
    right.as_in_libraries: Fraction(3, 4),
    right.quartiles: Fraction(2, 3),
}


@pytest.mark.parametrize("function", right.RIGHT)
def test_a_median_is_proved_for_every_length(function):
    found = prove(function, adjacency="replace_one", domain=DATA, claim="pure:1")
    assert (found.length, found.claim_holds) == (ANY, True)
    assert float(found.bound) == pytest.approx(1)
    assert kernel.check(found.certificate).bound == found.bound
    assert differences(found.certificate, function) == []


@pytest.mark.parametrize("function", [f for f in right.RIGHT if f is not right.masked])
def test_a_record_that_comes_moves_the_place_and_the_number(function):
    found = prove(function, adjacency="add_remove_one", domain=DATA, claim="pure:1")
    assert float(found.bound) == pytest.approx(float(SHARE.get(function, Fraction(1, 2))))


def test_a_place_that_is_rounded_is_not_known_where_records_come_and_go():
    assert holds(right.masked, "add_remove_one") is not True


def test_a_known_length_is_one_of_every_length():
    domain = dpest.reals(5, 0, 10)
    found = prove(right.by_walk, adjacency="replace_one", domain=domain, claim="pure:1", length=5)
    assert found.claim_holds


def test_coq_has_no_theorem_for_points():
    found = prove(right.by_walk, adjacency="replace_one", domain=DATA)
    with pytest.raises(RefusedError, match="no theorem for points"):
        stages(found.certificate)


def test_a_total_of_weights_is_positive_and_tells_nothing_else():
    def guarded(values, rng):
        xs = sorted(min(max(v, 0.0), 10.0) for v in values)
        edges, n = [0.0, *xs, 10.0], len(xs)
        w = [(edges[i + 1] - edges[i]) * math.exp(-abs(i - n / 2) / 2) for i in range(n + 1)]
        total = sum(w)
        if total <= 0:
            return 0.0
        i = rng.choice(n + 1, p=[v / total for v in w])
        return rng.uniform(edges[i], edges[i + 1])

    def decides(values, rng):
        xs = sorted(min(max(v, 0.0), 10.0) for v in values)
        edges, n = [0.0, *xs, 10.0], len(xs)
        w = [(edges[i + 1] - edges[i]) * math.exp(-abs(i - n / 2) / 2) for i in range(n + 1)]
        return int(sum(w) > 3)

    assert holds(guarded) is True
    assert holds(decides) is not True


def test_data_within_the_ends_need_no_clipping():
    found = prove(without_clipping, adjacency="replace_one", domain=dpest.reals(ANY, 0, 10))
    assert found.bound == 1
    assert holds(without_clipping) is not True


def without_clipping(values, rng, *, lo=0.0, hi=10.0):
    edges = [lo, *sorted(values), hi]
    n = len(values)
    w = [(edges[i + 1] - edges[i]) * math.exp(-abs(i - n / 2) / 2) for i in range(n + 1)]
    i = rng.choice(n + 1, p=[v / sum(w) for v in w])
    return rng.uniform(edges[i], edges[i + 1])


def holds(function, adjacency="replace_one", domain=DATA):
    """Whether the claim of ε = 1 is proved."""
    try:
        return prove(function, adjacency=adjacency, domain=domain, claim="pure:1").claim_holds
    except RefusedError:
        return None


@pytest.mark.parametrize("function", WRONG)
def test_a_wrong_median_is_not_proved_at_its_claim(function):
    assert holds(function) is not True


@pytest.mark.parametrize("adjacency", ["linf:1", "l1:1", "monotone"])
@pytest.mark.parametrize("function", [right.by_walk, right.by_gumbel, right.by_choice])
def test_records_that_all_move_are_another_question(function, adjacency):
    assert holds(function, adjacency) is not True


def test_people_with_several_rows_are_another_question():
    people = "table(any, user='who', rows_each=2, v=(0, 10), as_='dicts')"
    assert holds(of_rows, "add_remove_one", people) is not True


def of_rows(rows, rng):
    return right.by_walk([row["v"] for row in rows], rng)


def test_what_follows_the_point_costs_nothing():
    found = prove(histogram_of_the_point, adjacency="replace_one", domain=DATA, claim="pure:1")
    assert found.bound == 1


def histogram_of_the_point(values, rng):
    t = right.by_running_maximum(values, rng)
    if t > 5:
        return {"above": True, "about": round(2 * t)}
    return {"above": False, "about": -1}


def test_a_median_of_which_the_scale_of_noise_is_made():
    found = prove(centred, adjacency="replace_one", domain=DATA, claim="pure:2")
    assert found.bound == 2


def centred(values, rng):
    """The median, then a noisy sum of what lies near to it."""
    t = right.by_walk(values, rng)
    near = sum(min(max(v - t, -1.0), 1.0) for v in values)
    return t, near + rng.laplace(scale=2.0)


def test_what_a_gap_without_length_left_behind_is_not_what_it_was_before():
    found = prove(told_of_ties, adjacency="replace_one", domain=dpest.reals(ANY, 0, 10))
    assert found.bound is None


def told_of_ties(values, rng):
    """The walk seldom comes to the second gap; when it does, `ties` tells of equal records."""
    edges, n, ties = [-1.0, *sorted(values), 11.0], len(values), 0
    w = [(edges[i + 1] - edges[i]) * math.exp(-20 * i) for i in range(n + 1)]
    u, reached = rng.random() * sum(w), 0.0
    for i in range(n + 1):
        if edges[i + 1] <= edges[i]:
            ties = 1
            continue
        reached += w[i]
        if u <= reached:
            break
    return rng.uniform(edges[i], edges[i + 1]), ties
