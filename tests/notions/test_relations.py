"""Liftings and Blackwell's order, against enumeration and their definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpest.errors import DomainError
from dpest.notions import FinitePair, blackwell, divergence_lifting, lifting
from notions.strategies import channels, distributions

relations = st.lists(st.booleans(), min_size=16, max_size=16).map(
    lambda bits: np.array(bits).reshape(4, 4)
)


@given(distributions(), distributions(), st.floats(0, 3))
@settings(max_examples=30)
def test_lifting_equality_is_differential_privacy(p, q, epsilon):
    found = lifting(p, q, lambda i, j: i == j, epsilon)
    assert found.delta == pytest.approx(FinitePair(p, q).delta(epsilon), abs=1e-9)
    assert found.check([float(x) for x in p], [float(x) for x in q])


@given(distributions(), distributions(), relations, st.floats(0, 2))
@settings(max_examples=30)
def test_the_star_lifting_is_the_condition_on_all_events(p, q, relation, epsilon):
    found = lifting(p, q, relation, epsilon, star=True)
    best = 0.0
    for size in range(5):
        for event in itertools.combinations(range(4), size):
            image = relation[list(event)].any(axis=0)
            mass = float(sum(p[i] for i in event))
            best = max(best, mass - math.exp(epsilon) * float(np.array(q, float)[image].sum()))
    assert found.delta == pytest.approx(best, abs=1e-8)
    assert found.event_delta == pytest.approx(best, abs=1e-8)
    assert found.check([float(x) for x in p], [float(x) for x in q])
    plain = lifting(p, q, relation, epsilon)
    assert plain.delta >= found.delta - 1e-8


def test_liftings_by_hand():
    shifted = lifting([0.5, 0.5, 0], [0, 0.5, 0.5], [(0, 1), (1, 2)], 0.0)
    assert shifted.delta == pytest.approx(0)
    assert shifted.holds(0)
    impossible = lifting([1.0, 0.0], [0.5, 0.5], [(0, 0)], 0.0)
    assert impossible.delta == math.inf
    assert impossible.left is None
    assert lifting([1.0, 0.0], [0.5, 0.5], [(0, 0)], 0.0, star=True).delta == pytest.approx(0.5)
    with pytest.raises(DomainError):
        lifting([1.0], [1.0], [(0, 3)], 0.0)
    with pytest.raises(DomainError):
        lifting([1.0], [1.0], [(0, 0)], -1.0)


@given(distributions(), distributions(), channels())
@settings(max_examples=25)
def test_a_garbled_experiment_is_recognised(p, q, channel):
    before = ([float(x) for x in p], [float(x) for x in q])
    after = tuple(np.array(side) @ channel for side in before)
    found = blackwell(after, before)
    assert found.garbled
    rows = found.channel
    assert rows.min() >= -1e-9
    for side, other in zip(before, after, strict=True):
        assert np.array(side) @ rows == pytest.approx(other, abs=1e-7)


@given(distributions(3), distributions(3), distributions(3), distributions(3))
@settings(max_examples=40)
def test_blackwell_is_the_order_of_tradeoff_functions(p0, p1, q0, q1):
    first, second = FinitePair(p0, p1).tradeoff(), FinitePair(q0, q1).tradeoff()
    levels = np.union1d(first.x, second.x)
    gap = float(np.min(np.asarray(first(levels)) - np.asarray(second(levels))))
    found = blackwell((p0, p1), (q0, q1))
    if gap < -1e-6:
        assert not found.garbled
        assert found.error < found.other_error
    elif gap >= -1e-12:
        assert found.garbled


def _closest(p, q, relation, divergence):
    """The least divergence of witnesses, by a general optimiser: slow, and another way."""
    from scipy.optimize import minimize

    edges = list(zip(*np.nonzero(relation), strict=True))
    n = len(edges)
    start = np.concatenate([np.full(n, 1.0 / n), np.full(n, 1.0 / n)])
    rows = np.array([[float(i == r) for i, _ in edges] + [0.0] * n for r in range(len(p))])
    columns = np.array([[0.0] * n + [float(j == c) for _, j in edges] for c in range(len(q))])
    found = minimize(
        lambda v: divergence(np.maximum(v[:n], 1e-12), np.maximum(v[n:], 1e-12)),
        start,
        bounds=[(1e-12, 1)] * (2 * n),
        constraints=[
            {"type": "eq", "fun": lambda v: rows @ v - p},
            {"type": "eq", "fun": lambda v: columns @ v - q},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    # Some versions stop outside of the constraints: that is no witness.
    off = max(np.abs(rows @ found.x - p).max(), np.abs(columns @ found.x - q).max())
    return found.fun if off < 1e-7 else math.inf


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
@pytest.mark.parametrize("seed", range(6))
def test_liftings_for_other_divergences_against_an_optimiser(seed):
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))
    relation = rng.random((4, 4)) < 0.5
    relation |= np.eye(4, dtype=bool)
    lifted = divergence_lifting(p, q, relation)
    assert lifted.check(p, q, relation)
    square = _closest(p, q, relation, lambda a, b: (a**2 / b).sum())
    # The optimiser comes near from above: it must find nothing closer than the witnesses.
    assert lifted.renyi(2) <= math.log(square) + 1e-6
    kl = _closest(p, q, relation, lambda a, b: (a * np.log(a / b)).sum())
    assert lifted.pair.kl() <= kl + 1e-6


@given(distributions(), distributions(), relations, st.floats(0, 2))
@settings(max_examples=30)
def test_one_pair_of_witnesses_is_the_closest_at_every_epsilon(p, q, relation, epsilon):
    p, q = [float(x) for x in p], [float(x) for x in q]
    lifted = divergence_lifting(p, q, relation)
    one = lifting(p, q, relation, epsilon)
    assert (lifted is None) == math.isinf(one.delta)
    if lifted is not None:
        assert lifted.check(p, q, relation)
        assert lifted.pair.delta(epsilon) == pytest.approx(one.delta, abs=1e-7)
