"""Sums that doubles round: no pair is worth more than it is in real numbers for that alone."""

from __future__ import annotations

import math
from typing import Any

import pytest

import dpest


def rounded(x, rng, *, eps=1.0):
    return math.floor(sum(x) + 0.5) + rng.laplace(scale=1 / eps)


def cut(x, rng, *, eps=1.0):
    return int(sum(x)) + rng.laplace(scale=1 / eps)


@pytest.mark.parametrize("function", [rounded, cut], ids=lambda f: f.__name__)
@pytest.mark.parametrize("length", [3, 5, 6])
def test_a_sum_that_moves_by_one_crosses_one_whole_number(function: Any, length: int) -> None:
    verdict = dpest.audit(
        function, epsilon=1, adjacency="l1", length=length, engines=("proof", "exact")
    )
    assert verdict.lower is not None
    assert verdict.lower.value <= 1 + 1e-9


def each(x, rng, *, eps=1.0):
    return sum(math.floor(v) for v in x) + rng.laplace(scale=1 / eps)


def test_entries_that_move_by_a_third_cross_three() -> None:
    verdict = dpest.audit(each, epsilon=1, adjacency="l1", length=3, engines=("proof", "exact"))
    assert verdict.lower is not None
    assert verdict.lower.value == 3.0
