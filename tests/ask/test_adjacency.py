"""Which inputs are neighbours, and what is said of those that aren't."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpest.ask.adjacency import (
    add_remove_one,
    any_pair,
    l1,
    linf,
    monotone,
    parse_adjacency,
    replace_one,
)
from dpest.ask.domains import finite, integers, reals
from dpest.ask.tables import records
from dpest.errors import InputError

NAN = float("nan")


@pytest.mark.parametrize(
    ("adjacency", "x", "x2"),
    [
        (linf(), [1, 1], [2, 0]),
        (linf(), 1.0, 2.0),
        (linf(), np.array([0.1, 0.2]), [1.1, 1.2]),
        (linf(2), [0], [2]),
        (l1(), [1, 1], [1, 2]),
        (l1(), [1, 1], [1.5, 1.5]),
        (monotone(), [1, 1], [2, 1.5]),
        (monotone(), [1, 1], [0, 0.5]),
        (replace_one(), [1, 2, 3], [1, 99, 3]),
        (replace_one(), ["a", "b"], ["a", "c"]),
        (replace_one(), [{"s": 1}], [{"s": 2}]),
        (replace_one(5), [1, 2], [1, 7]),
        (add_remove_one(), [1, 2, 3], [1, 3]),
        (add_remove_one(), [], [4]),
        (add_remove_one(), [{"s": 1}], []),
        (add_remove_one(1), [5], [5, -1]),
        (any_pair(), "yes", "no"),
    ],
)
def test_neighbours(adjacency, x, x2):
    adjacency.check(x, x2)
    adjacency.check(x2, x)


@pytest.mark.parametrize(
    ("adjacency", "x", "x2", "says"),
    [
        (linf(), [1, 1], [2.5, 0], "entry 0 moves by 1.5"),
        (linf(), [1, 1], [1], "lengths differ"),
        (linf(), [], [], "empty"),
        (linf(), [NAN], [1], "NaN"),
        (linf(), [float("inf")], [1], "infinite"),
        (linf(), ["a"], [1], "numbers"),
        (l1(), [1, 1], [2, 0], "2 in total"),
        (monotone(), [1, 1], [2, 0.5], "up and entry 1 down"),
        (monotone(), [1, 1], [3, 1], "moves by 2"),
        (replace_one(), [1, 2, 3], [9, 99, 3], "entries 0 and 1 differ"),
        (replace_one(), [1, 2], [1], "lengths differ"),
        (replace_one(1), [1, 2], [1, 7], "moves by 5"),
        (replace_one(), [NAN], [1], "NaN"),
        (add_remove_one(), [1, 2], [1, 2, 3, 4], "differ by one"),
        (add_remove_one(), [1, 2], [3, 1, 4], "without an entry"),
        (add_remove_one(1), [5], [5, 2], "not a number in"),
    ],
)
def test_strangers_and_why(adjacency, x, x2, says):
    with pytest.raises(InputError, match=says):
        adjacency.check(x, x2)
    with pytest.raises(InputError):
        adjacency.check(x2, x)


def test_the_domain_is_checked_too():
    with pytest.raises(InputError, match="outside"):
        linf().check([10.5], [10], reals(1, -10, 10))
    with pytest.raises(InputError, match="whole number"):
        linf().check([0.5], [1], integers(1, 0, 5))
    with pytest.raises(InputError, match="length 2, not 3"):
        linf().check([1, 1], [1, 1], reals(3))
    with pytest.raises(InputError, match="none of the domain"):
        any_pair().check(3, 1, finite([0, 1]))
    add_remove_one().check([1, 1], [1], records(2, 0, 1))  # one of the two has another length


@given(st.integers(1, 6), st.integers(0, 10**6), st.sampled_from(["linf", "l1", "monotone"]))
def test_boxes_hold_the_differences_of_neighbours(n, seed, name):
    """Random neighbours lie in the boxes, or for l1 in their convex hull."""
    rng = np.random.default_rng(seed)
    adjacency = parse_adjacency(name)
    d = rng.uniform(-1, 1, n)
    if name == "l1":
        d *= rng.random() / np.abs(d).sum()
    if name == "monotone":
        d = np.abs(d) * rng.choice([-1, 1])
    x = rng.normal(size=n)
    adjacency.check(x, x + d)
    boxes = adjacency.boxes(n)
    if name == "l1":
        points = np.array([[float(low) for low, high in box] for box in boxes])
        assert np.abs(points).sum(axis=1).tolist() == [1.0] * (2 * n)
        assert len({tuple(p) for p in points}) == 2 * n
    else:
        assert any(
            all(low <= Fraction(float(v)) <= high for v, (low, high) in zip(d, box, strict=True))
            for box in boxes
        )


@given(st.integers(1, 8), st.sampled_from(["linf", "l1:2", "monotone", "linf:0.5"]))
def test_corners_are_neighbours_of_zero_and_distinct(n, name):
    adjacency = parse_adjacency(name)
    corners = adjacency.corners(n, 40)
    assert len(set(corners)) == len(corners) <= 40
    for corner in corners:
        assert len(corner) == n
        assert any(corner)
        adjacency.check([0.0] * n, corner)


def test_all_corners_are_given_when_there_is_room():
    assert len(linf().corners(4, 100)) == 16
    assert len(l1().corners(4, 100)) == 8
    assert len(monotone().corners(3, 100)) == 14  # 2·(2^3 - 1)


def test_no_boxes_without_a_difference_vector():
    with pytest.raises(InputError, match="add_remove_one"):
        add_remove_one().boxes(3)
    assert replace_one().boxes(2, integers(2, 0, 3))[0][0] == (-3, 3)


@pytest.mark.parametrize("text", ["linf", "l1:2", "monotone:0.5", "replace-one", "any_pair"])
def test_text_round_trip(text):
    adjacency = parse_adjacency(text)
    assert parse_adjacency(str(adjacency)) == adjacency
    assert adjacency.describe()


@pytest.mark.parametrize("text", ["l3", "linf:x", "linf:-1", "linf:nan", "any_pair:2", "linf:0"])
def test_bad_text(text):
    with pytest.raises(InputError):
        parse_adjacency(text)
