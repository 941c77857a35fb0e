"""Domains: membership, clipping, drawing, listing, reading from text."""

from __future__ import annotations

import numpy as np
import pytest

from dpest.ask.domain_text import parse_domain
from dpest.ask.domains import ANY, finite, integers, real, reals
from dpest.ask.tables import records
from dpest.errors import InputError

PEOPLE = records(2, fields={"age": (0, 120), "salary": (0, float("inf"))})
DOMAINS = [
    reals(4),
    reals(3, 5, 6),
    reals(2, 50),
    integers(3, 0, 10),
    integers(2),
    finite([1, 2, 5]),
    finite(["yes", "no"]),
    records(3, 0, 1),
    PEOPLE,
]


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_random_inputs_belong(domain):
    rng = np.random.default_rng(0)
    for _ in range(50):
        domain.check(domain.random(rng))


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_clipping_is_idempotent_and_leaves_members(domain):
    x = domain.random(np.random.default_rng(1))
    assert domain.clip(x) == x


def test_clipping():
    assert reals(2, -1, 1).clip([5, 0.5]) == [1.0, 0.5]
    assert integers(2, 0, 3).clip([1.6, -4]) == [2, 0]
    assert records(2, 0, 1).clip([5, 0.5]) == [1.0, 0.5]
    assert PEOPLE.clip([{"age": 200, "salary": -1}]) == [{"age": 120.0, "salary": 0.0}]
    assert finite([1, 2, 5]).clip(4) == 5


@pytest.mark.parametrize(
    ("domain", "x", "says"),
    [
        (reals(2), [1.0], "length 1, not 2"),
        (reals(1, 0, 1), [2.0], "outside"),
        (integers(1, 0, 5), [0.5], "whole"),
        (finite([1]), 2, "none of"),
        (PEOPLE, [{"age": 5}] * 2, "no field 'salary'"),
        (PEOPLE, [5, 5], "not a record"),
        (PEOPLE, [{"age": 500, "salary": 1}] * 2, "outside"),
        (records(1, 0, 1), ["a"], "not a number"),
    ],
)
def test_what_does_not_belong(domain, x, says):
    assert not domain.contains(x)
    with pytest.raises(InputError, match=says):
        domain.check(x)


def test_a_data_frame_belongs_to_records():
    pandas = pytest.importorskip("pandas")
    PEOPLE.check(pandas.DataFrame({"age": [1, 2], "salary": [3.0, 4.0]}))


def test_listing():
    assert len(integers(2, 0, 3).enumerate()) == integers(2, 0, 3).size == 16
    assert integers(2).size is None
    with pytest.raises(InputError, match="too many"):
        reals(2).enumerate()


def test_the_box_follows_the_domain():
    assert reals(1, 0, 1).box == (0, 1)
    assert reals(1, 50).box == (50, 70)
    assert integers(1, 0, 5).box == (0, 5)


def test_lengths():
    assert reals().length is ANY
    assert reals().with_length(7).length == 7
    assert finite([1]).with_length(7).length == 1
    assert reals(1).as_input([3.0]) == [3.0]
    assert real().as_input([3.0]) == 3.0
    assert finite([0, 1]).as_input(1) == 1


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("reals(10)", reals(10)),
        ("reals:10", reals(10)),
        ("reals(3, -1, inf)", reals(3, -1)),
        ("integers(any, 0, 5)", integers(ANY, 0, 5)),
        ("integers:5,0,10", integers(5, 0, 10)),
        ("integers:0,10", integers(ANY, 0, 10)),
        ("reals:-10,10", reals(ANY, -10, 10)),
        ("reals: -inf, 0", reals(ANY, high=0)),
        ("records:0,1", records(ANY, 0, 1)),
        ("real:0,1", real(0, 1)),
        ("reals(low=0, high=1)", reals(low=0, high=1)),
        ("integers(3, high=2)", integers(3, high=2)),
        ("finite([1, 'a'])", finite([1, "a"])),
        ("records(5, 0, 1)", records(5, 0, 1)),
        ("reals", reals()),
    ],
)
def test_text(text, domain):
    assert parse_domain(text) == domain
    assert parse_domain(str(domain)) == domain


@pytest.mark.parametrize(
    "text",
    [
        "complex(3)",
        "reals(x)",
        "integers(2, 0.5, 3)",
        "reals(3, 2)x",
        "reals(0, 1)",
        "reals(-1, 1)",
        "reals(0.0, 1.0)",
        "reals(True, 0)",
        "reals:5,4",
        "reals(1), (2)",
        "records(3, 1, 0)",
        "reals(width=3)",
        "real(1, 2, 3)",
    ],
)
def test_bad_text(text):
    with pytest.raises(InputError):
        parse_domain(text)
