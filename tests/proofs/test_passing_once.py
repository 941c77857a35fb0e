"""What can be gone through once, and what no number is; in branches that a replay never takes."""

from __future__ import annotations

import bisect
import math

import numpy as np
import pytest

import dpest
from dpest import ANY
from dpest.proofs import prove


def twice_through_an_iterator(x, rng):
    if len(x) + rng.laplace() < 1e4:
        return 0.0
    values = iter(x)
    return sum(values) - sum(values) + rng.laplace()


def twice_through_a_map(x, rng):
    if len(x) + rng.laplace() < 1e4:
        return 0.0
    values = map(abs, x)
    return sum(values) - sum(values) + rng.laplace()


def twice_through_a_zip(x, rng):
    if len(x) + rng.laplace() < 1e4:
        return 0.0
    pairs = zip(x, x, strict=True)
    return sum(a for a, _ in pairs) - sum(b for _, b in pairs) + rng.laplace()


def twice_by_loops(x, rng):
    if len(x) + rng.laplace() < 1e4:
        return 0.0
    values, total = iter(x), 0.0
    for v in values:
        total += v
    for v in values:
        total -= v
    return total + rng.laplace()


def twice_by_another_name(x, rng):
    if len(x) + rng.laplace() < 1e4:
        return 0.0
    values = iter(x)
    others = enumerate(values)
    return sum(values) - sum(v for _, v in others) + rng.laplace()


def weights_that_are_used_up(x, rng):
    if len(x) + rng.laplace() < 1e4:
        return 0.0
    weights = iter([1, 2])
    return sum(weights) * sum(x) - sum(weights) * sum(x) + rng.laplace()


def places_that_are_used_up(x, rng):
    if len(x) + rng.laplace() < 1e4:
        return 0.0
    places = iter([1, 2])
    return (len(list(places)) - len([*places])) * sum(x) + rng.laplace()


def gaps_behind_a_walk(x, rng):
    """How many gaps are left tells how many records are below the point."""
    if len(x) + rng.laplace() < 1e4:
        return 0.0, 0
    edges, n = [-1.0, *sorted(x), 11.0], len(x)
    w = [(edges[i + 1] - edges[i]) * math.exp(-abs(i - n / 2) / 2) for i in range(n + 1)]
    u, reached, places = rng.random() * sum(w), 0.0, iter(range(n + 1))
    for i in places:
        reached += w[i]
        if u <= reached:
            break
    return rng.uniform(edges[i], edges[i + 1]), len(list(places))


def pairs_of_gaps_twice(x, rng):
    """The walk has no gap left, and what is behind it is given."""
    edges, n = [-1.0, *sorted(x), 11.0], len(x)
    pairs = zip(edges, edges[1:], range(n + 1))  # noqa: B905
    w = [(b - a) * math.exp(-abs(i - n / 2) / 2) for a, b, i in pairs]
    total = sum((b - a) * math.exp(-abs(i - n / 2) / 2) for a, b, i in pairs)
    u, reached = rng.random() * total, 0.0
    for i in range(n + 1):
        reached += w[i]
        if u <= reached:
            break
    return rng.uniform(edges[i], edges[i + 1])


@pytest.mark.parametrize("function", [
    twice_through_an_iterator, twice_through_a_map, twice_through_a_zip, twice_by_loops,
    twice_by_another_name, weights_that_are_used_up, places_that_are_used_up, gaps_behind_a_walk,
    pairs_of_gaps_twice,
])  # fmt: skip
def test_an_iterator_is_gone_through_once(function):
    found = prove(function, adjacency="replace_one", domain=dpest.reals(ANY, 0, 10))
    assert found.bound is None or found.bound >= 10


def each_once(x, rng):
    pairs = zip(x, map(abs, x), strict=True)
    total = sum(min(a, b) for a, b in enumerate_of(pairs))
    weights = iter([1, 2])
    return total * next(weights) + rng.laplace(scale=10.0)


def enumerate_of(pairs):
    return [(a, b) for _, (a, b) in enumerate(pairs)]


def test_once_is_read():
    found = prove(each_once, adjacency="replace_one", domain=dpest.reals(ANY, 0, 10))
    assert found.bound == 1


def straight_between_points(x, rng):
    n = int((np.asarray(x) > 3).sum()) + rng.laplace()
    return np.interp(x, [2, 6], [0, 1]).sum() + rng.laplace() if n > 1e4 else n


def signs(x, rng):
    n = len(x) + rng.laplace()
    return np.sign(np.asarray(x) - 3).sum() + rng.laplace() if n > 1e4 else n


def test_the_sign_of_nan_is_nan():
    domain = dpest.reals(ANY, 0, 10, nan=True)
    assert prove(signs, adjacency="replace_one", domain=domain).bound is None
    found = prove(signs, adjacency="replace_one", domain=dpest.reals(ANY, 0, 10))
    assert found.bound == 2


def test_between_points_nan_stays_nan():
    domain = dpest.reals(ANY, 0, 10, nan=True)
    assert prove(straight_between_points, adjacency="replace_one", domain=domain).bound is None
    found = prove(straight_between_points, adjacency="replace_one", domain=dpest.reals(ANY, 0, 10))
    assert found.bound == 2


def counted_in_a_list(x, rng):
    """What `seen` holds is another for each record: only the first adds nothing."""
    if len(x) + rng.laplace() < 1e4:
        return 0.0
    seen = [0]

    def after_the_first(v):
        seen[0] += 1
        return v * (seen[0] > 1)

    return sum(map(after_the_first, x)) + rng.laplace()


def counted_in_a_variable(x, rng):
    if len(x) + rng.laplace() < 1e4:
        return 0.0
    seen = 0

    def after_the_first(v):
        nonlocal seen
        seen += 1
        return v * (seen > 1)

    return sum(map(after_the_first, x)) + rng.laplace()


def used_up_by_the_first(x, rng):
    if len(x) + rng.laplace() < 1e4:
        return 0.0
    weights = iter([1.0, 2.0])
    return sum(map(lambda v: v * (3 - sum(weights)), x)) + rng.laplace()  # noqa: C417


def left_out_by_the_first(x, rng):
    if len(x) + rng.laplace() < 1e4:
        return 0.0
    weights = iter([1.0, 2.0])
    return sum(filter(lambda v: sum(weights) < 3, x)) + rng.laplace()


class Counter:
    def __init__(self):
        self.seen = 0

    def after_the_first(self, v):
        self.seen += 1
        return v * (self.seen > 1)


def counted_by_an_object(x, rng):
    if len(x) + rng.laplace() < 1e4:
        return 0.0
    return sum(map(Counter().after_the_first, x)) + rng.laplace()


@pytest.mark.parametrize("function", [
    counted_in_a_list, counted_in_a_variable, used_up_by_the_first, left_out_by_the_first,
    counted_by_an_object,
])  # fmt: skip
def test_what_goes_on_from_record_to_record_is_refused(function):
    found = prove(function, adjacency="replace_one", domain=dpest.reals(ANY, 0, 10))
    assert found.bound is None


def used_up_in_a_column(df, rng):
    if len(df) + rng.laplace() < 1e4:
        return 0.0
    weights = iter([1.0, 2.0])
    return df["v"].apply(lambda v: v * (3 - sum(weights))).sum() + rng.laplace()


def test_what_goes_on_from_row_to_row_is_refused():
    domain = 'table(any, v=(0, 20), as_="pandas")'
    found = prove(used_up_in_a_column, adjacency="add_remove_one", domain=domain)
    assert found.bound is None


def one_by_one(x, rng):
    top = 5.0

    def clipped(v):
        parts = (v, top)
        return min(parts)

    return sum(map(clipped, x)) + rng.laplace(scale=5.0)


def test_what_a_function_has_of_its_own_may_change():
    found = prove(one_by_one, adjacency="replace_one", domain=dpest.reals(ANY, 0, 10))
    assert found.bound == 1


def from_both_ends(x, rng):
    """A record is in two of the products."""
    if len(x) + rng.laplace() < 1e4:
        return 0.0
    pairs = zip(x, reversed(x), strict=True)
    return sum(min(a, 1) * min(b, 1) for a, b in pairs) + rng.laplace()


def test_the_data_from_behind_are_other_data():
    found = prove(from_both_ends, adjacency="replace_one", domain=dpest.reals(ANY, 0, 10))
    assert found.bound is None or found.bound >= 2


def rank_among_what_is_not_sorted(x, rng):
    n = len(x) + rng.laplace()
    return bisect.bisect_left(sorted(x), 1) + rng.laplace() if n > 1e4 else n


def test_nan_has_no_place_among_sorted_numbers():
    domain = dpest.reals(ANY, 0, 10, nan=True)
    found = prove(rank_among_what_is_not_sorted, adjacency="replace_one", domain=domain)
    assert found.bound is None
    domain = dpest.reals(ANY, 0, 10)
    found = prove(rank_among_what_is_not_sorted, adjacency="replace_one", domain=domain)
    assert found.bound == 1


def cut_off_in_an_array(x, rng):
    """A sum that moves by a tenth is cut off to a whole number: that moves by 1."""
    if len(x) + rng.laplace() < 1e4:
        return 0.0
    cells = np.array([0, 0])
    cells[0] = np.clip(x, 0, 0.1).sum()
    return cells[0] + rng.laplace()


def cut_off_in_an_array_of_counts(x, rng):
    if len(x) + rng.laplace() < 1e4:
        return 0.0
    cells = np.array([(np.asarray(x) > 3).sum(), (np.asarray(x) > 5).sum()])
    cells[:] = np.clip(x, 0, 0.1).sum()
    return cells[0] + rng.laplace()


@pytest.mark.parametrize("function", [cut_off_in_an_array, cut_off_in_an_array_of_counts])
def test_an_array_of_whole_numbers_takes_no_others(function):
    found = prove(function, adjacency="replace_one", domain=dpest.reals(ANY, 0, 10))
    assert found.bound is None


def counted_in_an_array(x, rng):
    cells = np.zeros(2, dtype=int)
    for v in x:
        cells[int(v > 3)] += 1
    return cells + rng.laplace(scale=2.0, size=2)


def test_an_array_of_whole_numbers_counts():
    found = prove(counted_in_an_array, adjacency="replace_one", domain=dpest.reals(ANY, 0, 10))
    assert found.bound == 1


def column_twice(df, rng):
    if len(df) + rng.laplace() < 1e4:
        return 0.0
    return df[["v", "v"]].clip(0, 1).sum().sum() + rng.laplace()


def value_of_another_type(df, rng):
    """pandas raises where a record is above 3."""
    if len(df) + rng.laplace() < 1e4:
        return 0.0
    df = df.copy()
    df["k"] = 0
    df.loc[df["v"] > 3, "k"] = 0.5
    return df["k"].sum() + rng.laplace()


@pytest.mark.parametrize("function", [column_twice, value_of_another_type])
def test_a_table_that_is_not_what_it_seems_is_refused(function):
    domain = 'table(any, v=(0, 20), as_="pandas")'
    assert prove(function, adjacency="add_remove_one", domain=domain).bound is None
