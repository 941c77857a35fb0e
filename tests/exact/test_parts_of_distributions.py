"""δ of outputs that come in several kinds, each with a part of the mass only."""

from __future__ import annotations

import math
from collections import Counter

import pytest

import dpest


def sometimes(x, rng):
    if rng.random() < 0.5:
        return None
    return [x + rng.uniform(0, 1), x + rng.laplace(0, 1)]


def test_an_impossible_part_counts_by_the_mass_of_its_kind():
    loss = dpest.exact(sometimes, 0.0, 0.5)
    # Half of the runs show the first number; half of those are below 0.5.
    assert loss.delta(20.0) == pytest.approx(0.25, abs=1e-9)


def shown_from_six(users, rng):
    out = {}
    for key, n in Counter(users).items():
        noisy = n + rng.laplace(0, 1)
        if noisy >= 6:
            out[key] = noisy
    return out


@pytest.mark.parametrize("others", [0, 1, 3])
def test_a_key_that_one_side_alone_has(others):
    adjacency = dpest.add_remove_one()
    loss = dpest.exact(shown_from_six, [0] * others, [0] * others + [1], adjacency=adjacency)
    assert loss.delta(1.0) == pytest.approx(math.exp(-5) / 2, rel=1e-6)
