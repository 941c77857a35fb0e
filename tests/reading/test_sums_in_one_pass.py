"""Sums over the data, one after the other, are read as one pass; what only looks so is refused."""

from __future__ import annotations

from typing import Any

import pytest

import dpest


def sum_and_count(x, rng, *, eps=1.0):
    s = sum(x) + rng.laplace(scale=2 / eps)
    n = sum(v > 1 for v in x)
    return s, n + rng.laplace(scale=2 / eps)


def three_sums(x, rng, *, eps=1.0):
    first = sum(x) + rng.laplace(scale=3 / eps)
    second = sum(2 * v for v in x) + rng.laplace(scale=3 / eps)
    return first, second, sum(x) + rng.laplace(scale=3 / eps)


def decided_between(x, rng, *, eps=1.0):
    if sum(x) + rng.laplace(scale=2 / eps) > 3:
        return sum(v > 1 for v in x) + rng.laplace(scale=2 / eps)
    return None


@pytest.mark.parametrize(
    ("mechanism", "bound"),
    [(sum_and_count, 1), (three_sums, 4 / 3), (decided_between, 1)],
)
def test_sums_are_proved_for_every_length(mechanism: Any, bound: float) -> None:
    proof = dpest.prove(mechanism, adjacency=dpest.l1(1), domain=dpest.integers())
    assert (proof.length, proof.unit) == (dpest.ANY, "eps")
    assert float(proof.bound) == pytest.approx(bound)
    assert proof.certificate is not None


def an_exhausted_iterator(x, rng, *, eps=1.0):
    rest = iter(x)
    s = sum(rest) + rng.laplace(scale=1 / eps)
    return s, sum(rest)


def test_an_exhausted_iterator_has_no_sum() -> None:
    proof = dpest.prove(an_exhausted_iterator, adjacency=dpest.l1(1))
    assert (proof.length, proof.bound) == (dpest.ANY, 1)


def noise_in_the_second(x, rng, *, eps=1.0):
    s = sum(x) + rng.laplace(scale=2 / eps)
    return s, sum(v + rng.laplace(scale=2 / eps) for v in x)


def a_list_beside_it(x, rng, *, eps=1.0):
    seen = []
    s = sum(x) + rng.laplace(scale=2 / eps)
    n = sum(seen.append(v) or v for v in x) + rng.laplace(scale=2 / eps)
    return s, n, seen


def by_the_place(x, rng, *, eps=1.0):
    s = sum(x) + rng.laplace(scale=2 / eps)
    return s, sum(i * v for i, v in enumerate(x)) + rng.laplace(scale=2 / eps)


@pytest.mark.parametrize("mechanism", [noise_in_the_second, a_list_beside_it, by_the_place])
def test_what_is_no_sum_of_data_alone_is_no_pass(mechanism: Any) -> None:
    proof = dpest.prove(mechanism, adjacency=dpest.l1(1))
    assert proof.bound is None or proof.length is not dpest.ANY
