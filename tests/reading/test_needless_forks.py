"""Forks that make no difference go; all others stay."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.reading.loop_graph import LoopEdge
from dpest.reading.tracing.needless_forks import without_needless_forks

N, M = Symbol("noise", "n"), Symbol("noise", "m")
UP = Condition(Form.of(N), ">")
HIGH = Condition(Form({M: Fraction(1)}, Fraction(-1)), ">")
FIRST = LoopEdge(0, 1, True, ((UP,),), (N,), {}, (Form.of(N), True))
SECOND = replace(FIRST, blocks=((UP.negated(),),))


def test_equal_ways_are_one() -> None:
    edges, dead = without_needless_forks([FIRST, SECOND], ())
    assert edges == [replace(FIRST, blocks=())]
    assert not dead


@pytest.mark.parametrize(
    "other",
    [
        {"target": 2},
        {"released": (Form.of(N), False)},
        {"released": (Form.of(N), 1)},
        {"released": (Form.of(N).times(-1), True)},
        {"updates": {Symbol("state", "s"): Form.of(N)}},
        {"draws": (N, M)},
        {"places": {"i": "now"}},
        {"sized": {0: 1}},
        {"removed": True},
        {"looked": "p"},
    ],
    ids=str,
)
def test_ways_that_differ_stay(other: dict[str, object]) -> None:
    edges = [FIRST, replace(SECOND, **other)]  # type: ignore[arg-type]
    assert without_needless_forks(edges, ())[0] == edges


def test_a_fork_goes_only_with_all_that_follows_it() -> None:
    below = ((HIGH,),), ((HIGH.negated(),),)
    ways = [replace(e, blocks=(*e.blocks, *b)) for e in (FIRST, SECOND) for b in below]
    ways[1] = replace(ways[1], target=2)
    # On the second way the inner fork makes no difference; on the first one it does.
    kept = [*ways[:2], SECOND]
    assert without_needless_forks(ways, ())[0] == kept
    ways[3] = replace(ways[3], target=2)
    found, _ = without_needless_forks(ways, ())
    assert {(e.target, e.blocks) for e in found} == {(1, below[0]), (2, below[1])}


def test_an_impossible_way_is_a_way() -> None:
    dead = [(0, True, (*FIRST.blocks, (HIGH,)), (N,))]
    edges = [replace(FIRST, blocks=(*FIRST.blocks, (HIGH.negated(),))), SECOND]
    assert without_needless_forks(edges, dead) == (edges, dict.fromkeys(dead))
