"""Graphs with merged states: few nodes, exact regions, and plain paths where merging fails."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest

from dpest.ask.declaration import as_mechanism
from dpest.geometry.linear import Symbol
from dpest.reading.lengths.fixed import read_model
from dpest.reading.machine.signals import Refused
from dpest.reading.merged_states import disjoint
from dpest.reading.trace import trace
from dpest.reading.world import World


def running_maximum(x, rng):
    best, winner = None, None
    for i, value in enumerate(x):
        noisy = value + rng.laplace(scale=2)
        if best is None or noisy > best:
            best, winner = noisy, i
    return winner


def sign_of_sum(x, rng):
    total = 0
    for value in x:
        if value + rng.laplace(scale=1) > 0:
            total += 1
        else:
            total -= 1
    return total > 0


def private(x, rng):
    if x[0] > 0:
        return rng.laplace(scale=1)
    return 0


def model(function, length):
    data = [Symbol("input", f"q{j}") for j in range(length)]
    return read_model(as_mechanism(function), {}, data, lambda: World(private=True))


def test_a_running_maximum_has_one_region_for_each_winner():
    found = model(running_maximum, 6)
    assert found.merged
    assert len(found.leaves) == 6
    assert all(len(leaf.known) == 5 for leaf in found.leaves)


def test_a_running_maximum_of_twenty_is_fast():
    started = time.process_time()
    found = trace(running_maximum, [0.0] * 20)
    assert len(found.paths) == 20
    assert time.process_time() - started < 5


def test_regions_are_disjoint_and_cover_random_points():
    import random

    found = model(running_maximum, 4)
    for i, first in enumerate(found.leaves):
        for second in found.leaves[i + 1 :]:
            assert disjoint(first.known, second.known)
    source = random.Random(1)
    for _ in range(50):
        values = {s: Fraction(source.randint(-999, 999), 7) for s in found.noises}
        values |= {Symbol("input", f"q{j}"): Fraction(source.randint(-9, 9)) for j in range(4)}
        inside = [leaf for leaf in found.leaves if all(c.holds(values) for c in leaf.known)]
        assert len(inside) == 1


def test_states_that_do_not_make_a_polyhedron_fall_back_to_paths():
    found = model(sign_of_sum, 3)
    assert not found.merged
    assert len(found.leaves) == 8


def test_a_branch_on_private_data_alone_is_refused():
    with pytest.raises(Refused, match="a branch on private data") as caught:
        model(private, 1)
    assert "test_merging.py:" in str(caught.value.where)
