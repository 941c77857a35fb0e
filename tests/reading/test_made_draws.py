"""Draws that noise is made of, and that are used in other ways too: models against plain runs."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpest
from dpest.errors import UntraceableError
from dpest.reading.trace import trace

RUNS = 8_000


def two_unequal_pieces(x, rng):
    u = rng.random()
    if u < 0.6:
        return bool(x[0] - math.log(u / 0.6) > 1)
    return bool(x[0] + math.log((1 - u) / 0.4) > -1)


def three_pieces(x, rng):
    u = rng.random()
    if u < 0.25:
        return "low", bool(x[0] - math.log(4 * u) > 1)
    if u < 0.75:
        return "middle", bool(x[0] - math.log(2 * u - 0.5) > 1)
    return "high", bool(x[0] - 3 * math.log(4 - 4 * u) > 1)


def pieces_without_an_if(x, rng):
    u = rng.random()
    high = np.where(u < 0.5, -np.log(4 * np.abs(u - 0.25)), -np.log(2 - 2 * u))
    return bool(np.where(u < 0.25, np.log(4 * u), high) > 0.4)


def side_of_the_noise(x, rng):
    u = rng.random() - 0.5
    noise = -np.sign(u) * np.log(1 - 2 * abs(u))
    return bool(noise > 0.5), bool(u > 0)


def one_sign_for_two(x, rng):
    sign, first, second = rng.choice([-1, 1]), rng.exponential(1.0), rng.exponential(1.0)
    return bool(sign * first > 0.3), bool(sign * second > 0.3)


def one_branch_for_two(x, rng):
    first, second = rng.exponential(1.0), rng.exponential(1.0)
    if rng.random() < 0.5:
        first, second = -first, -second
    return bool(first > 0.3), bool(second > 0.3), bool(first + second > 0.1)


def size_beside_its_sign(x, rng):
    sign, size = rng.choice([-1, 1]), rng.exponential(1.0)
    return bool(sign * size > 0.3), bool(size > 0.3)


def sign_beside_the_noise(x, rng):
    u = rng.random() - 0.5
    return int(np.sign(u)), bool(rng.exponential(1.0) * np.sign(u) > 0.5)


def unfair_sign(x, rng):
    e = rng.exponential(1.0)
    return bool((e if rng.random() < 0.7 else -e) > -0.5)


def walk(x, rng):
    total = 0.0
    for _ in range(3):
        e = rng.exponential(1.0)
        total += e if rng.random() < 0.5 else -e
    return bool(total > 0.7)


def nested(x, rng):
    u = rng.random()
    if u < 0.5:
        noise = math.log(2 * u)
        if noise < -1:
            return "far", bool(x[0] + noise > -2)
        return "near", bool(rng.random() < 0.3)
    return "up", bool(-math.log(2 - 2 * u) > 0.2)


def equal_where_both_are_cut_off(x, rng):
    u, v = rng.random(), rng.random()
    return bool(np.where(u < 0.5, 0.0, u) == np.where(v < 0.5, 0.0, v))


def nearer_end_and_side(x, rng):
    u = rng.random()
    return bool(-np.log(2 * min(u, 1 - u)) > 0.5), bool(u > 0.5)


def logarithm_that_may_raise(x, rng):
    u = rng.random()
    try:
        noise = math.log(2 * u - 1)
    except ValueError:
        return None
    return bool(x[0] - noise > 1)


def other_base(x, rng):
    return bool(-math.log(rng.random(), 2) > 1), bool(-np.log10(rng.random()) > 1)


PROGRAMS = [
    two_unequal_pieces,
    three_pieces,
    pieces_without_an_if,
    side_of_the_noise,
    one_sign_for_two,
    one_branch_for_two,
    size_beside_its_sign,
    sign_beside_the_noise,
    unfair_sign,
    walk,
    nested,
    equal_where_both_are_cut_off,
    nearer_end_and_side,
    logarithm_that_may_raise,
    other_base,
]


@pytest.mark.filterwarnings("ignore:invalid value encountered in log:RuntimeWarning")
@pytest.mark.parametrize("mechanism", PROGRAMS, ids=lambda m: m.__name__)
def test_the_distribution_is_that_of_runs(mechanism: Any) -> None:
    # False alarms: 15 programs with at most 8 outcomes, 4.5 standard deviations each: 1e-3 in all.
    rng = np.random.default_rng(2)
    seen = Counter(mechanism([0.5], rng) for _ in range(RUNS))
    found = {o.output: o.probability for o in dpest.distribution(mechanism, [0.5]).outcomes}
    assert sum(found.values()) == pytest.approx(1, abs=1e-9)
    for output in set(seen) | set(found):
        p = found.get(output, 0.0)
        assert abs(seen[output] / RUNS - p) < 4.5 * math.sqrt(max(p * (1 - p) / RUNS, 1e-9))


def test_what_a_logarithm_raises_is_released_also_where_it_is_not_used() -> None:
    def mechanism(x, rng):
        noise = math.log(rng.random() - 0.001)
        return bool(rng.random() < 0.3) if noise < 10 else None

    def unused(x, rng):
        math.log(rng.random() - 0.001)
        return bool(rng.random() < 0.3)

    with pytest.raises(UntraceableError, match="a uniform draw between 0 and 999/1000"):
        trace(mechanism, [0.0])
    found = {o.output: o.probability for o in dpest.distribution(unused, [0.0]).outcomes}
    raised = [p for output, p in found.items() if str(output).startswith("raises ValueError")]
    assert raised == [pytest.approx(0.001)]


def gumbel_and_its_draw(x, rng):
    e = rng.exponential()
    return x[0] - math.log(e), bool(e > 0.5)


def compared_inside_of_a_piece(x, rng):
    u = rng.random() - 0.5
    return x[0] - np.sign(u) * np.log(1 - 2 * abs(u)), bool(u > 0.1)


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (gumbel_and_its_draw, "read as gumbel noise, and used in another way"),
        (compared_inside_of_a_piece, "noise with an end"),
    ],
)
def test_what_is_used_in_two_ways_is_refused_at_its_line(mechanism: Any, message: str) -> None:
    with pytest.raises(UntraceableError, match=message) as caught:
        trace(mechanism, [0.0])
    assert "test_made_draws.py" in str(caught.value)


def test_numbers_of_scipy_have_its_types() -> None:
    def mechanism(x, rng):
        drawn = [
            stats.laplace.rvs(random_state=rng),
            stats.expon(scale=2.0).rvs(random_state=rng),
            stats.geom.rvs(0.5, random_state=rng),
            stats.bernoulli.rvs(0.5, random_state=rng),
            stats.laplace.ppf(rng.random()),
        ]
        return [type(v).__name__ for v in drawn]

    expected = mechanism([0.0], np.random.default_rng(0))
    (path,) = trace(mechanism, [0.0]).paths
    assert list(path.leaves) == expected
