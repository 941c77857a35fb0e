"""Functions of sums over records, read on lowered code: the tree of cases, and the graph."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpest
from dpest import ANY
from dpest.errors import DpestError, RefusedError
from dpest.proofs.conformance import check_graph
from dpest.proofs.loops.budgets import graph_of
from dpest.proofs.question import ProofGoal, asked
from dpest.reading.cases.records import RecordError
from dpest.reading.domains.unit import Unit

REALS = dpest.reals(ANY, -5, 5)
DIGITS = dpest.integers(ANY, 0, 3)


def goal(function: Any, adjacency: str, domain: Any) -> ProofGoal:
    return asked(function, adjacency, ANY, None, None, domain, dpest.PureDP("eps"), None)


def bands(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    low = sum(1 for v in x if v <= -1)
    middle = sum(min(max(v, -1), 1) for v in x)
    return low + rng.laplace(scale=2 / eps), middle + rng.laplace(scale=4 / eps)


def distances(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return sum(abs(v - 1) if v > 0 else 2 * v for v in x) + rng.laplace(scale=10 / eps)


def helper(v: Any) -> Any:
    return v if 0 < v < 2 else 0


def by_a_helper(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    total = 0
    for v in x:
        total += helper(v)
    if total + rng.laplace(scale=4 / eps) > 3:
        return True, len(x) + rng.laplace(scale=2 / eps)
    return False, None


def counted(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    counts = Counter(x)
    return {v: counts[v] + rng.laplace(scale=2 / eps) for v in range(4)}


def weights(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return sum(0.1 * v * v - v % 3 for v in x) + rng.laplace(scale=3 / eps)


def noisy_mean(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    n = max(len(x), 1)
    return 2 * (np.mean(np.clip(x, 0, 1)) + rng.laplace(scale=1 / (n * eps)))


def upper_quarter(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return sorted(x)[3 * len(x) // 4] + rng.laplace(scale=10 / eps)


READ = [
    (bands, "add_remove_one", REALS),
    (bands, "replace_one", REALS),
    (distances, "replace_one", REALS),
    (by_a_helper, "add_remove_one", REALS),
    (counted, "replace_one", DIGITS),
    (weights, "add_remove_one", DIGITS),
    (noisy_mean, "replace_one", REALS),
    (upper_quarter, "replace_one", REALS),
]


@pytest.mark.parametrize(("function", "adjacency", "domain"), READ)
def test_runs_of_the_function_follow_its_graph(function: Any, adjacency: str, domain: Any) -> None:
    """The same draws with the same scales, exactly one way, the same release, at many lengths."""
    question = goal(function, adjacency, domain)
    found = graph_of(question, by_cases=True)
    assert all(isinstance(n.scale, Unit) for n in found.noises.values())  # for every eps
    check_graph(
        question.run,
        found,
        integers=question.integers,
        where=None,
        entry=question.entry,
        ranges=question.record.ranges,
        marks=(-1.0, 0.0, 1.0, 2.0, 3.0),
    )


@pytest.mark.parametrize(("function", "adjacency", "domain"), READ)
def test_every_record_is_in_exactly_one_case(function: Any, adjacency: str, domain: Any) -> None:
    question = goal(function, adjacency, domain)
    cases = graph_of(question, by_cases=True).world.cases
    (symbol,) = question.entry
    source = random.Random(3)
    low, high = domain.low, domain.high
    values = [Fraction(v) for v in (low, high, -1, 0, 1, 2) if low <= v <= high]
    values += [Fraction(source.randint(-80, 80), 16) for _ in range(100)]
    for value in values:
        if not low <= value <= high or (question.integers and value.denominator != 1):
            continue
        fitting = [
            blocks
            for blocks, _ in cases.leaves
            if all(c.holds({symbol: value}) for block in blocks for c in block)
        ]
        assert len(fitting) == 1
        impossible = [all(c.holds({symbol: value}) for b in d for c in b) for d in cases.dead]
        assert not any(impossible)


def test_sums_that_are_equal_are_one() -> None:
    def twice(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
        first = sum(v > 0 for v in x)
        second = len([v for v in x if v > 0])
        return first + rng.laplace(scale=2 / eps), second + rng.laplace(scale=2 / eps)

    found = graph_of(goal(twice, "add_remove_one", REALS), by_cases=True)
    assert len(found.nodes[1].slots) == 1


def a_product_of_draws(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return (sum(v > 0 for v in x) + rng.laplace(scale=1 / eps)) ** 2


def a_scale_from_the_data(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return sum(v > 0 for v in x) + rng.laplace(scale=(1 + len(x)) / eps)


def a_mean_with_too_little(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return sum(min(max(v, 0), 1) for v in x) / len(x) + rng.laplace(scale=1 / eps)


def a_decision_without_noise(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    n = sum(v > 0 for v in x)
    return rng.laplace(scale=1 / eps) + (1 if n > 2 else 0)


def a_record_of_its_own(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return x[0] + rng.laplace(scale=10 / eps)


def a_curve(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return sum(v * v for v in x) + rng.laplace(scale=25 / eps)


@pytest.mark.parametrize(
    ("function", "adjacency"),
    [
        (a_product_of_draws, "replace_one"),
        (a_scale_from_the_data, "add_remove_one"),
        (a_mean_with_too_little, "replace_one"),
        (a_decision_without_noise, "replace_one"),
        (a_record_of_its_own, "replace_one"),
        (a_curve, "replace_one"),
    ],
)
def test_what_is_no_function_of_sums_is_refused(function: Any, adjacency: str) -> None:
    with pytest.raises((RefusedError, RecordError)):
        graph_of(goal(function, adjacency, REALS), by_cases=True)


def test_a_wrong_scale_is_no_run_of_the_graph() -> None:
    """A replay compares the parameters of draws, too: of a mean's noise, b/n at every n."""
    question = goal(noisy_mean, "replace_one", REALS)
    found = graph_of(question, by_cases=True)
    (symbol,) = found.world.sized
    assert found.world.sized[symbol] == -1
    found.world.sized.clear()
    with pytest.raises(DpestError):
        check_graph(
            question.run,
            found,
            integers=False,
            where=None,
            entry=question.entry,
            ranges=question.record.ranges,
        )


def test_bounds_are_multiples_of_eps() -> None:
    proof = dpest.prove(bands, adjacency="add_remove_one", domain=REALS)
    assert (proof.unit, proof.length) == ("eps", ANY)
    x, x2 = [0.5], [0.5, -3.0]
    exact = dpest.exact(bands, x, x2, adjacency="add_remove_one", params={"eps": 0.3}).epsilon
    assert exact <= 0.3 * float(proof.epsilon) + 1e-9
    assert math.isclose(float(proof.epsilon), 0.75)


def one_list_for_all(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    kept: Any = dict.fromkeys(("a", "b"), [])  # noqa: RUF024 (one list for both is the point)
    for v in x:
        if v > 0:
            kept["a"].append(v)
    return len(kept["b"]) + rng.laplace(scale=1 / eps)


def remainders(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    counts = [0, 0]
    for v in x:
        counts[v % 2] += 1
    return [c + rng.laplace(scale=2 / eps) for c in counts]


def test_one_list_under_two_names_is_not_two_lists() -> None:
    """`dict.fromkeys(keys, [])` holds one list: a count of "b" is one of "a"."""
    proof = dpest.prove(one_list_for_all, adjacency="add_remove_one", domain=REALS)
    assert proof.bound is None or proof.bound >= 1


def test_a_remainder_is_a_whole_number() -> None:
    proof = dpest.prove(remainders, adjacency="add_remove_one", domain=DIGITS)
    assert (proof.length, proof.epsilon) == (ANY, Fraction(1, 2))


def noisiest(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return int(np.argmax(np.bincount(x, minlength=4) + rng.laplace(scale=2 / eps, size=4)))


def at_least_nothing(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return max(0, sum(v > 1 for v in x) + rng.laplace(scale=1 / eps))


@pytest.mark.parametrize(("function", "ways"), [(noisiest, 4), (at_least_nothing, 2)])
def test_the_greatest_of_noisy_sums_is_one_decision(function: Any, ways: int) -> None:
    """As many ways as there are candidates; and the bound is one for every eps."""
    found = graph_of(goal(function, "replace_one", DIGITS), by_cases=True)
    assert len([e for e in found.edges if not e.reads and e.source == 1]) == ways
    proof = dpest.prove(function, adjacency="replace_one", domain=DIGITS)
    assert (proof.unit, proof.epsilon) == ("eps", 1)


class Counting:
    def __call__(self, x: Any, rng: Any, *, eps: float = 1.0) -> Any:
        return len(x) + rng.laplace(scale=1 / eps)


def test_what_has_no_source_of_its_own_is_refused() -> None:
    with pytest.raises(RecordError, match="no source"):
        graph_of(goal(Counting(), "add_remove_one", REALS), by_cases=True)
