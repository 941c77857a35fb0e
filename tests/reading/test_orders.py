"""Orders of noisy values: decided no further than they are looked at, and as Python has them."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import pytest

from dpest.errors import UntraceableError
from dpest.reading.trace import trace
from reading.conformance import check_conformance

X = [1.0, 2.0, 0.5, 1.5]


def noisy(x, rng):
    return [q + rng.laplace() for q in x]


def first(x, rng):
    return sorted(noisy(x, rng))[0]


def last_two_places(x, rng):
    return np.argsort(np.array(noisy(x, rng)))[-2:]


def top_two(x, rng):
    return heapq.nlargest(2, noisy(x, rng))


def by_key(x, rng):
    values = noisy(x, rng)
    return sorted(range(len(x)), key=lambda i: values[i], reverse=True)[:2]


def by_items(x, rng):
    values = dict(enumerate(noisy(x, rng)))
    return [k for k, _ in sorted(values.items(), key=lambda item: -item[1])[:2]]


def pairs(x, rng):
    return sorted((v, i) for i, v in enumerate(noisy(x, rng)))[-1][1]


def reversed_view(x, rng):
    return np.sort(np.array(noisy(x, rng)))[::-1][:2]


def unpacked(x, rng):
    low, *_, high = sorted(noisy(x, rng))
    return high - low


def looped(x, rng):
    for v in sorted(noisy(x, rng)):
        if v > 1:
            return v
    return None


def sorted_in_place(x, rng):
    values = noisy(x, rng)
    other = values
    values.sort(reverse=True)
    return other[0]


def array_in_place(x, rng):
    values = np.array(noisy(x, rng))
    view = values[:]
    values.sort()
    return view[-1]


def changed(x, rng):
    values = sorted(noisy(x, rng))
    values[0] = 0
    values.append(7)
    return values[0], len(values), values[-1]


def looked_up(x, rng):
    order = np.argsort(np.array(noisy(x, rng)))
    return np.array(x)[order[:1]]


def within(x, rng):
    return {"order": sorted(noisy(x, rng))[:1]}


def quantile(x, rng):
    return np.percentile(np.array(noisy(x, rng)), 25)


ALL = [
    (first, 4), (last_two_places, 12), (top_two, 12), (by_key, 12), (by_items, 12), (pairs, 4),
    (reversed_view, 12), (unpacked, 24), (looped, None), (sorted_in_place, 4), (array_in_place, 4),
    (changed, 24), (looked_up, 4), (within, 4), (quantile, 12),
]  # fmt: skip


@pytest.mark.parametrize(("mechanism", "paths"), ALL)
def test_orders_are_decided_place_by_place(mechanism: Any, paths: int | None) -> None:
    found = trace(mechanism, X)
    assert paths is None or len(found.paths) == paths
    check_conformance(mechanism, X, found)


def test_the_first_of_twelve_is_twelve_cells() -> None:
    found = trace(lambda x, rng: np.argsort([q + rng.laplace() for q in x])[0], [1.0] * 12)
    assert sorted(path.output for path in found.paths) == list(range(12))


def test_equal_whole_numbers_keep_their_order() -> None:
    def places(x, rng):
        counts = [q + rng.geometric(0.5) for q in x]
        return sorted(range(3), key=lambda i: counts[i])

    check_conformance(places, [0, 0, 1], trace(places, [0, 0, 1]))


def test_an_order_of_ties_that_is_up_to_numpy_is_refused() -> None:
    def places(x, rng):
        return np.argsort(np.array([q + rng.geometric(0.5) for q in x]))

    with pytest.raises(UntraceableError, match="their order is up to NumPy"):
        trace(places, [0, 0])


def test_ties_of_noise_are_left_out_and_said() -> None:
    def places(x, rng):
        values = noisy(x, rng)
        return values.index(max(values))

    found = trace(places, X)
    assert len(found.paths) == 4
    assert any("ties" in note for note in found.notes)
    with pytest.raises(UntraceableError, match="equality"):
        trace(lambda x, rng: x[0] + rng.laplace() == 1, X)
