"""The literature's patterns, in the published order."""

from __future__ import annotations

import pytest

from dpest.ask.adjacency import add_remove_one, any_pair, l1, linf, monotone, replace_one
from dpest.ask.domains import finite, integers, reals
from dpest.ask.patterns import change_points, patterns
from dpest.ask.tables import records


def pairs(*args, **options):
    return [(x, x2) for _, x, x2 in patterns(*args, **options)]


def test_linf_has_the_eight_in_the_published_order():
    one, half = [1.0] * 5, 2
    assert pairs(linf(), reals(5), both_orders=False) == [
        (one, [0, 1, 1, 1, 1]),
        (one, [2, 1, 1, 1, 1]),
        (one, [2, 0, 0, 0, 0]),
        (one, [0, 2, 2, 2, 2]),
        (one, [2] * half + [0] * 3),
        (one, [2] * 5),
        (one, [0] * 5),
        ([1] * half + [0] * 3, [0] * half + [1] * 3),
    ]


def test_both_orders_follow_each_other():
    found = patterns(linf(), reals(4))
    assert len(found) == 16
    for (_, x, x2), (title, y, y2) in zip(found[::2], found[1::2], strict=True):
        assert (x, x2) == (y2, y)
        assert title.endswith("swapped")


def test_l1_has_the_first_two_only():
    assert pairs(l1(), integers(5, 0, 10), both_orders=False) == [
        ([1] * 5, [0, 1, 1, 1, 1]),
        ([1] * 5, [2, 1, 1, 1, 1]),
    ]


def test_clipped_to_the_domain():
    for x, x2 in pairs(linf(), reals(4, 0, 1.5)):
        assert max(x + x2) <= 1.5
        assert min(x + x2) >= 0


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20])
@pytest.mark.parametrize(
    "adjacency",
    [linf(), l1(), monotone(), linf(0.5), replace_one(), add_remove_one(), add_remove_one(1)],
    ids=str,
)
@pytest.mark.parametrize(
    "domain", [reals(), integers(), reals(low=5, high=5.5), records(low=0, high=1)], ids=str
)
def test_every_pattern_is_a_pair_of_different_neighbours(adjacency, domain, n):
    found = patterns(adjacency, domain.with_length(n))
    whole = isinstance(domain.clip_entry(0), int)
    far = domain.clip_entry(0) > 1  # an entry in [-1, 1] is outside of such a domain
    usable = not (whole and adjacency == linf(0.5)) and not (far and adjacency == add_remove_one(1))
    assert found or not usable
    for _, x, x2 in found:
        assert x != x2
        adjacency.check(x, x2, domain.with_length(n))


def test_finite_domains_give_all_pairs():
    assert len(patterns(any_pair(), finite(range(-10, 11)))) == 21 * 20


def test_records_with_fields():
    domain = records(2, fields={"salary": (0, 100)})
    found = pairs(replace_one(), domain)
    assert ([{"salary": 100.0}] * 2, [{"salary": 0.0}, {"salary": 100.0}]) in found


def test_adding_to_nothing_is_among_them():
    assert ([], [1.0]) in pairs(add_remove_one(1), reals(2))


def test_change_points_move_the_first_entries_up_and_the_others_down():
    found = change_points(linf(), reals(4), 4)
    assert [(x, x2) for _, x, x2 in found] == [([1.0] * 4, [2.0, 2.0, 2.0, 0.0])]
    assert change_points(l1(), reals(4), 4) == []
    assert change_points(replace_one(), reals(4), 4) == []
