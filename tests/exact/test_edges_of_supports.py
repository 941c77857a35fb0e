"""Outputs that one input alone can have, where the first that is found lies at the very edge."""

from __future__ import annotations

import math

import pytest

import dpest


def least_and_count(x, rng):
    return min(q + rng.exponential(1) for q in x) + rng.binomial(3, 0.25)


def least_and_poisson(x, rng):
    return min(q + rng.exponential(2) for q in x) + rng.poisson(1)


def bounded_and_count(x, rng):
    return x[0] + rng.uniform(0, 1) + 3 * rng.binomial(4, 0.5)


def counted_and_compared(x, rng):
    s = rng.poisson(2)
    return [-q + rng.exponential(1) < s for q in x], s


def bounded_and_compared(x, rng):
    s = rng.geometric(0.5)
    return [q + rng.uniform(0, 1) < s for q in x], s


@pytest.mark.parametrize(
    ("mechanism", "x", "x2"),
    [
        (counted_and_compared, [0.0, 1.0], [1.0, 1.0]),  # s = 0: exponential noise below 0
        (bounded_and_compared, [0.0], [0.5]),
        (bounded_and_compared, [0.5], [1.0]),
        (least_and_count, [0.0, 1.0, -1.0], [0.0, 1.0, 0.0]),
        (least_and_count, [0.5, 0.25], [0.5, 0.75]),
        (least_and_poisson, [1.0, -1.0], [1.0, 0.0]),
        (bounded_and_count, [0.0], [0.5]),
        (bounded_and_count, [0.0], [1.0]),
    ],
)
def test_infinite(mechanism, x, x2):
    for pair in ((x, x2), (x2, x)):
        loss = dpest.exact(mechanism, *pair)
        assert loss.epsilon == math.inf


def test_finite_where_only_a_border_is_shared():
    """The same supports, touched at a point of the lattice: no difference of what is possible."""
    loss = dpest.exact(counted_and_compared, [1.0], [1.5])
    assert math.isfinite(loss.epsilon)
    first = -math.log1p(-math.exp(-1.0))  # P(true | s = 0) is 1 - e^-q
    assert loss.epsilon >= abs(first + math.log1p(-math.exp(-1.5))) - 1e-12


def test_kinks_of_a_sum_over_a_lattice():
    """Laplace noise plus a coin: the ratio is largest between the kinks of both summands."""

    def shifted(x, rng):
        return x[0] + rng.laplace(scale=0.1) + rng.binomial(3, 0.25)

    assert dpest.exact(shifted, [0.0], [0.05]).epsilon == pytest.approx(0.5, rel=1e-12)

    # One step of the lattice: P(y) under 0 against 1, far left of all kinks e^-10 or e^10, between
    # them the weights of the binomial decide.
    def density(y, centre):
        weights = [math.comb(3, k) * 0.25**k * 0.75 ** (3 - k) for k in range(4)]
        return sum(w * 5 * math.exp(-abs(y - centre - k) / 0.1) for k, w in enumerate(weights))

    grid = [i / 1000 for i in range(-3000, 8000)]
    best = max(math.log(density(y, 0) / density(y, 1)) for y in grid)
    assert dpest.exact(shifted, [0.0], [1.0]).epsilon >= best - 1e-9
