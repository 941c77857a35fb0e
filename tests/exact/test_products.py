"""Functions that return several independent results are taken apart; all others are left whole."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpest
from dpest import zoo
from dpest.ask.declaration import as_mechanism
from dpest.exact.engine import PairObjective, exact_loss
from dpest.exact.losses.loss import privacy_loss
from dpest.exact.outputs.products import independent_results
from dpest.reading.trace import trace


def above(x, rng, scale):
    rho = rng.laplace(scale=scale)
    return [v + rng.laplace(scale=2 * scale) >= rho for v in x]


def by_names(x, rng, *, scale=3.0):
    half = len(x) // 2
    first = above(x[:half], rng, scale)
    second = above(x[half:], rng, 2 * scale)
    return first, second


def in_the_return(x, rng, *, scale=3.0):
    return [above(x[:2], rng, scale), above(x[2:], rng, 2 * scale)]


def with_closures():
    scale = 3.0

    def mechanism(x, rng):
        first = above(x[:2], rng, scale)
        return first, above(x[2:], rng, 2 * scale)

    return mechanism


def shared_threshold(x, rng):
    rho = rng.laplace(scale=3.0)
    first = x[0] + rng.laplace(scale=2.0) >= rho
    second = x[1] + rng.laplace(scale=2.0) >= rho
    return first, second


def looks_back(x, rng):
    first = above(x[:2], rng, 2.0)
    second = above(x[2:], rng, 5.0 if first[0] else 2.0)
    return first, second


def changes_its_data(x, rng):
    first = _popped(x, rng)
    second = above(x, rng, 2.0)
    return first, second


def _popped(x, rng):
    return x.pop() + rng.laplace(scale=2.0) >= 0


def takes_turns(x, rng):
    a = rng.laplace(scale=2.0)
    b = rng.laplace(scale=3.0)
    c = a + rng.laplace(scale=4.0)
    return x[0] + c, x[1] + b


PAIR = ([1.0, 2.0, 0.0, 1.0], [0.0, 1.0, 1.0, 2.0])


@pytest.mark.parametrize("mechanism", [by_names, in_the_return, with_closures()])
def test_the_product_has_the_loss_of_the_whole(mechanism):
    together = privacy_loss(*(trace(mechanism, x) for x in PAIR))
    for apart in (exact_loss(mechanism, *PAIR), PairObjective(mechanism).loss(*PAIR)):
        assert len(apart.parts) == 2
        assert apart.epsilon_forward == pytest.approx(together.epsilon_forward, abs=1e-12)
        assert apart.epsilon_backward == pytest.approx(together.epsilon_backward, abs=1e-12)
        assert apart.delta(0.1) == pytest.approx(together.delta(0.1), abs=1e-4)


@pytest.mark.parametrize(
    "mechanism", [shared_threshold, looks_back, changes_its_data, takes_turns, above]
)
def test_what_is_no_product_stays_whole(mechanism):
    params = {"scale": 2.0} if mechanism is above else None
    target = as_mechanism(mechanism).with_params(params)
    assert independent_results(target, PAIR[0]) == [target]


def test_two_sparse_vectors_side_by_side_in_two_ways():
    """The parts of the whole against SVT3 and SVT4 alone, on n = 10."""
    pair = ([1.0] * 10, [2.0] * 5 + [0.0] * 5)
    both = exact_loss(zoo.get("SVT34Parallel"), *pair)
    alone = [exact_loss(zoo.get(n), *pair, params={"cutoff": 2}) for n in ("SVT3", "SVT4")]
    forward = math.fsum(loss.epsilon_forward for loss in alone)
    backward = math.fsum(loss.epsilon_backward for loss in alone)
    assert both.epsilon_forward == pytest.approx(forward, abs=1e-12)
    assert both.epsilon_backward == pytest.approx(backward, abs=1e-12)
    assert both.epsilon == pytest.approx(0.487446377, abs=1e-9)


class _Accountant:
    """State that one result may leave for the next."""

    def __init__(self):
        self.spent = False


def _first(x, rng, accountant):
    noisy = x[0] + rng.laplace()
    accountant.spent = accountant.spent or noisy > 40  # rare: no run shows it
    return noisy > 0


def _second(x, rng, accountant):
    return x[0] if accountant.spent else x[1] + rng.laplace()


SHARED = _Accountant()


def _with_an_object(x, rng):
    accountant = _Accountant()
    a = _first(x, rng, accountant)
    b = _second(x, rng, accountant)
    return a, b


def _with_a_global(x, rng):
    a = _first(x, rng, SHARED)
    b = _second(x, rng, SHARED)
    return a, b


@pytest.mark.parametrize("mechanism", [_with_an_object, _with_a_global])
def test_results_that_share_an_object_are_one(mechanism):
    assert len(independent_results(as_mechanism(mechanism), [0.0, 0.0])) == 1


def two_coins(x, rng):
    """The textbook's randomised response, for each entry of a list."""
    out = []
    for bit in x:
        if rng.integers(2) == 0:
            out.append(bit)
        else:
            out.append(int(rng.integers(2)))
    return out


def test_answers_for_each_entry_are_taken_apart():
    loss = dpest.exact(two_coins, [0, 1, 0, 1, 1, 0], [1, 1, 0, 1, 1, 0])
    assert len(loss.parts) == 6
    assert loss.epsilon == pytest.approx(math.log(3), abs=1e-12)
    assert isinstance(loss.witness.details["output"], list)
    # By all 64 outputs of one entry that differs: δ(0) is the total variation of one answer.
    assert loss.delta(0.0) == pytest.approx(0.5, abs=1e-12)


def test_entries_that_share_a_draw_are_not_taken_apart():
    def shared(x, rng):
        coin = rng.integers(2)
        return [bit if coin == 0 else int(rng.integers(2)) for bit in x]

    # Both answers are true or both are random: (1, 1) has 1/2 + 1/8 against 1/8.
    loss = dpest.exact(shared, [1, 1], [0, 1])
    assert len(loss.parts) == 1
    assert loss.epsilon == pytest.approx(math.log(5), abs=1e-12)


def kept(x, rng, *, eps=1.0):
    """What a histogram looks like before it is published."""
    out = []
    scale = 1 / eps
    for _, q in enumerate(x):
        v = q + rng.laplace(scale=scale)
        if v > 0:
            out.append(v)
        elif v > -5:
            out.append(0.0)
        else:
            out.append(None)
    return out


def clipped(x, rng, *, eps=1.0):
    return [min(max(0, q + rng.laplace(scale=1 / eps)), 9) for q in x]


@pytest.mark.parametrize("function", [kept, clipped, two_coins])
def test_what_is_done_for_each_entry_is_done_apart(function):
    x = [1] * 20
    x2 = [0, *x[1:]]
    assert len(independent_results(as_mechanism(function), x, x2)) == 20
    few = [dpest.exact(function, v[:2], w[:2]) for v, w in ((x, x2), (x2, x))]
    many = dpest.exact(function, x, x2)
    assert many.complete
    assert many.epsilon == pytest.approx(few[0].epsilon, abs=1e-12)
    # The same without the split.
    whole = privacy_loss(
        trace(as_mechanism(function), x[:2]), trace(as_mechanism(function), x2[:2])
    )
    assert whole.epsilon == pytest.approx(few[0].epsilon, abs=1e-9)
    assert whole.delta(0.3) == pytest.approx(few[0].delta(0.3), abs=1e-9)


def carries_the_last(x, rng):
    out, last = [], 0.0
    for q in x:
        v = q + rng.laplace()
        if v > last:
            out.append(v)
        else:
            out.append(0)
        last = v
    return out


def shares_a_threshold(x, rng):
    threshold = rng.laplace()
    return [max(q + rng.laplace(), threshold) for q in x]


def remembers(x, rng):
    seen = {}
    out = []
    for q in x:
        v = seen.setdefault(q, q + rng.laplace())
        out.append(max(v, 0))
    return out


def stops(x, rng):
    out = []
    for q in x:
        if q + rng.laplace() > 0:
            break
        out.append(max(0, q + rng.laplace()))
    return out


def draws_sometimes(x, rng):
    out = []
    for q in x:
        if rng.random() < 0.5:
            noise = rng.laplace()
        else:
            out.append(q)
            continue
        out.append(max(0, q + noise))
    return out


def test_a_branch_that_draws_less_is_done_apart():
    assert len(independent_results(as_mechanism(draws_sometimes), [1.0, 2.0], [0.0, 2.0])) == 2


@pytest.mark.parametrize("function", [carries_the_last, shares_a_threshold, remembers, stops])
def test_entries_that_see_each_other_stay_together(function):
    assert len(independent_results(as_mechanism(function), [1.0, 2.0], [0.0, 2.0])) == 1


def clipped_array(x, rng, *, eps=1.0):
    n = len(x)
    noisy = np.asarray(x) + rng.laplace(scale=1 / eps, size=n)
    return np.clip(noisy, 0, 9)


def shown_above(x, rng, *, eps=1.0):
    noisy = np.array(x) + rng.laplace(scale=1 / eps, size=len(x))
    return np.where(noisy > 2, noisy, 0).tolist()


@pytest.mark.parametrize("function", [clipped_array, shown_above])
def test_arithmetic_on_arrays_is_done_apart(function):
    x = [1.0] * 16
    assert len(independent_results(as_mechanism(function), x)) == 16
    loss = dpest.exact(function, x, [2.0, *x[1:]])
    assert loss.complete
    assert loss.epsilon == pytest.approx(1.0, abs=1e-12)


def centred(x, rng):
    noisy = np.asarray(x) + rng.laplace(size=len(x))
    return np.maximum(noisy - noisy.mean(), 0)


def drawn_twice(x, rng):
    first = np.asarray(x) + rng.laplace(size=len(x))
    second = np.asarray(x) + rng.laplace(size=len(x))
    return np.maximum(first, second)


def one_draw(x, rng):
    return np.maximum(np.asarray(x) + rng.laplace(), 0)


@pytest.mark.parametrize("function", [centred, drawn_twice, one_draw])
def test_arrays_whose_entries_meet_stay_together(function):
    assert len(independent_results(as_mechanism(function), [1.0, 2.0])) == 1
