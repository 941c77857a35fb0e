"""Loops that begin anew are summed up; loops that only seem to are not.

Every mechanism's exact distribution is held against plain runs: each outcome's frequency within
6 standard deviations (false-alarm rate below 1e-7 in all), and all probabilities sum to one.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import math
import types
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpest
from dpest.errors import DpestError
from dpest.exact.outputs.output import output_distribution
from dpest.reading.trace import trace

RUNS = 20_000


# Rejection, in the ways people write it


def until_inside(x, rng):
    while True:
        n = x + rng.laplace()
        if 0 <= n <= 3:
            return n > 1


def first_drawn_before(x, rng):
    n = x + rng.laplace()
    while n < 0 or n > 3:
        n = x + rng.laplace()
    return n > 1


def impossible_start(x, rng):
    n = -1
    while n < 0:
        n = x + rng.geometric(0.5) - rng.geometric(0.5)
    return "many" if n > 3 else "zero" if n < 1 else "few"


def walrus(x, rng):
    while not 0 <= (n := x + rng.laplace()) <= 3:
        pass
    return n > 1


def with_continue(x, rng):
    while True:
        n = x + rng.normal(scale=2)
        if n < 0:
            continue
        if n > 3:
            continue
        return n > 1


def truncated(rng, bound):
    z = rng.laplace()
    while abs(z) > bound:
        z = rng.laplace()
    return z


def in_a_helper(x, rng):
    return [v + truncated(rng, 2) > 0.5 for v in (x, x + 1)]


def in_a_closure(x, rng):
    def draw():
        while True:
            z = rng.normal()
            if -1 < z < 2:
                return z

    return x + draw() > 0.5, x + draw() > 0.5


def in_a_for_loop(x, rng):
    out = []
    for v in (x, x):
        while True:
            z = rng.laplace()
            if abs(z) <= 1:
                break
        out.append(v + z > 0.5)
    return out


def drawn_by_a_helper(x, rng):
    def once(scale):
        return rng.laplace(scale=2 * scale)

    while True:
        n = x + once(1.0)
        if n > 0:
            return n > 1


def vector_at_once(x, rng):
    while True:
        z = rng.laplace(size=2)
        if z[0] > 0 and z[1] > 0.5:
            return x + z[0] > 1


def vector_by_comprehension(x, rng):
    while True:
        z = [rng.laplace() for _ in range(2)]
        if z[0] > 0 and z[1] > 0.5:
            return x + z[0] > 1


def two_draws_a_turn(x, rng):
    while True:
        a = rng.normal()
        b = rng.laplace()
        if a > 0 and b < 1:
            return x + a > 1, b > 0


def loop_in_a_loop(x, rng):
    while True:
        while True:
            a = rng.laplace()
            if a > -1:
                break
        b = rng.laplace()
        if b > 0:
            return x + a > 1


def helper_in_a_loop(x, rng):
    while True:
        a = truncated(rng, 2)
        if a < 1 and rng.random() < 0.75:
            return x + a > 0.5


def after_a_branch(x, rng):
    if x + rng.laplace() > 0:
        return "above"
    while True:
        z = rng.laplace()
        if z > 0:
            return z > 1


def fair_die(x, rng):
    while True:
        roll = rng.integers(8)
        if roll < 6:
            return (x + roll) % 6


def coin_of_coins(x, rng):
    while True:
        a, b = rng.random() < 0.3, rng.random() < 0.3
        if a != b:
            return bool(a) == (x > 0)


def kept_noise(x, rng):
    rho = rng.laplace()
    while True:
        z = rng.laplace()
        if z > 0.5:
            return x + rho > 0, z > 1


RESTARTS = [
    until_inside, first_drawn_before, impossible_start, walrus, with_continue, in_a_helper,
    in_a_closure, in_a_for_loop, drawn_by_a_helper, vector_at_once, vector_by_comprehension,
    two_draws_a_turn, loop_in_a_loop, helper_in_a_loop, after_a_branch, fair_die, coin_of_coins,
    kept_noise,
]  # fmt: skip


# Finitely many states: a loop in a loop, or a flag that stays


def flag(x, rng):
    seen = False
    while True:
        z = rng.laplace()
        if z > 1:
            return "high", seen
        if z < -1:
            seen = True


def two_phases(x, rng):
    phase = 0
    while True:
        z = rng.laplace()
        if phase == 0:
            if z > 0:
                phase = 1
        else:
            if z > 1:
                return "a"
            if z < -1:
                phase = 0
            if -0.2 < z < 0.2:
                return "b"


def counts_round(x, rng):
    k = 0
    while True:
        k = k + 1 if k < 2 else 0
        z = rng.laplace()
        if z > k:
            return k


RESTARTS += [flag, two_phases, counts_round]


# Loops that only seem to begin anew


def counted(x, rng):
    k = 0
    while True:
        k += 1
        if rng.laplace() > 0:
            return min(k, 3)


def counted_in_a_list(x, rng):
    log = []
    while True:
        if rng.laplace() > 0:
            return min(len(log), 3)
        log.append(1)


class Counted:
    def __init__(self):
        self.turns = 0

    def draw(self, rng):
        while True:
            if rng.laplace() > 0:
                return
            self.turns += 1


def counted_in_an_object(x, rng):
    counter = Counted()
    counter.draw(rng)
    return min(counter.turns, 3)


def counted_by_a_closure(x, rng):
    turns = 0

    def rejected():
        nonlocal turns
        turns += 1

    while True:
        z = rng.laplace()
        if z > 0:
            return min(turns, 3)
        rejected()


def counted_on_a_function(x, rng):
    def turn():
        turn.made += 1

    turn.made = 0
    while True:
        if rng.laplace() > 0:
            return min(turn.made, 3)
        turn()


def counted_by_a_default(x, rng):
    def turn(log=[]):  # noqa: B006
        log.append(1)
        return len(log)

    while True:
        z = rng.laplace()
        if turn() > 2 or z > 0:
            return z > 0


def counted_in_a_namespace(x, rng):
    space = types.SimpleNamespace(turns=0)
    while True:
        z = rng.laplace()
        space.turns += 1
        if z > 0:
            return min(space.turns, 3)


def counted_in_an_array(x, rng):
    made = np.zeros(1)
    while True:
        z = rng.laplace()
        made[0] += 1
        if z > 0:
            return min(int(made[0]), 3)


def counted_by_an_iterator(x, rng):
    bounds = iter([0.0, -1.0, -100.0])
    while True:
        bound = next(bounds)
        if rng.laplace() > bound:
            return bound


def counted_by_a_for_loop(x, rng):
    for _ in range(3):
        while True:
            z = rng.laplace()
            if abs(z) <= 1:
                break
        if z > 0:
            return "early"
    return "late"


def tried_in_a_for_loop(x, rng):
    for _ in "abc":
        while True:
            z = rng.laplace()
            if z < -1:
                continue
            break
        if z > 0:
            return "early"
    return "late"


def last_rejected(x, rng):
    last = 0
    while True:
        n = rng.laplace()
        if n > 0:
            return last < -1
        last = n


def summed(x, rng):
    total = 0
    while total < 1:
        total = total + rng.exponential()
        if total > 3:
            return "far"
    return "near"


def popped(x, rng):
    stack = [0.0]
    while True:
        n = stack.pop() + rng.laplace()
        if n > 0:
            return n > 1
        stack.append(-0.5)


def swapped(x, rng):
    log: list[int] = []
    mine = log
    while True:
        if rng.laplace() > 0:
            return min(len(log), 2)
        mine.append(1)
        mine = []


def depends_on_earlier_noise(x, rng):
    rho = rng.laplace()
    for _ in range(1):
        while rng.laplace() < rho - 1:
            pass
    return rho > 0


def smaller_steps(x, rng):
    scale = 4.0
    while True:
        z = rng.laplace(scale=scale)
        if z > 1 or scale < 1:
            return z > 2
        scale = scale / 2


LOG: list[int] = []


def counted_in_a_global(x, rng):
    LOG.clear()
    while True:
        z = rng.laplace()
        if z > 0:
            return min(len(LOG), 3)
        LOG.append(1)


class Shared:
    made = 0


def counted_on_a_class(x, rng):
    Shared.made = 0
    while True:
        if rng.laplace() > 0:
            return min(Shared.made, 3)
        Shared.made += 1


class Wrapped:
    def __init__(self, rng):
        self.rng = rng
        self.draws = 0

    def laplace(self):
        self.draws += 1
        return self.rng.laplace()


def counted_by_a_wrapper(x, rng):
    wrapped = Wrapped(rng)
    while True:
        if wrapped.laplace() > 0:
            return min(wrapped.draws, 3)


def counted_at_the_end(x, rng):
    n = 0
    while True:
        try:
            if rng.laplace() > 0:
                return min(n, 3)
        finally:
            n += 1


def counted_by_a_bound_method(x, rng):
    box = []
    add = functools.partial(box.append, 1)
    while True:
        if rng.laplace() > 0:
            return min(len(box), 3)
        add()


def queue_of_bounds(x, rng):
    bounds = collections.deque([1.0, 0.0, -50.0])
    while True:
        bounds.rotate(-1)
        z = rng.laplace()
        if z > bounds[-1]:
            return bounds[-1]


SEEMING = [
    counted, counted_in_a_list, counted_in_an_object, counted_by_a_closure, counted_on_a_function,
    counted_by_a_default, counted_in_a_namespace, counted_in_an_array, counted_by_an_iterator,
    counted_by_a_for_loop, tried_in_a_for_loop, last_rejected, summed, popped, swapped,
    depends_on_earlier_noise, smaller_steps, queue_of_bounds, counted_in_a_global,
    counted_on_a_class, counted_by_a_wrapper, counted_at_the_end, counted_by_a_bound_method,
]  # fmt: skip


def check(mechanism: Any, x: Any, allowed: float) -> None:
    found = trace(mechanism, x, leftover=1e-5, seconds=3)
    assert found.leftover <= allowed
    exact = {repr(o.output): o.probability for o in output_distribution(found).outcomes}
    assert math.fsum(exact.values()) == pytest.approx(1, abs=max(1e-12, 2 * found.leftover))
    rng = np.random.default_rng(1)
    plain = Counter(repr(dpest_plain(mechanism(x, rng))) for _ in range(RUNS))
    for outcome in plain | Counter(exact.keys()):
        p = exact.get(outcome, 0.0)
        slack = 6 * math.sqrt(max(p * (1 - p), 1 / RUNS) / RUNS) + 2 * float(found.leftover)
        assert abs(plain[outcome] / RUNS - p) <= slack, (outcome, p, plain[outcome] / RUNS)


def dpest_plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(dpest_plain(v) for v in value)
    return value.item() if isinstance(value, np.generic) else value


@pytest.mark.parametrize("mechanism", RESTARTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [0, 1])
def test_restarts_are_summed_up(mechanism: Any, x: int) -> None:
    check(mechanism, x, 0.0)


@pytest.mark.parametrize("mechanism", SEEMING, ids=lambda f: f.__name__)
def test_what_only_seems_to_begin_anew_is_followed(mechanism: Any) -> None:
    with contextlib.suppress(DpestError):  # refused: no wrong number
        check(mechanism, 0, 1e-3)


def test_the_weight_is_rational_where_it_can_be() -> None:
    found = trace(fair_die, 0)
    assert {math.prod(c.probability for c in p.choices) for p in found.paths} == {Fraction(1, 6)}


def uniform_retry(x, rng):
    while True:
        u = rng.uniform(-1, 1)
        if u > -0.5:
            return x + u


def test_the_weight_is_rational_for_uniform_noise() -> None:
    (path,) = trace(uniform_retry, 0).paths
    assert math.prod(c.probability for c in path.choices) == Fraction(4, 3)


def truncated_laplace(x, rng, bound=3.0):
    while True:
        n = x + rng.laplace()
        if 0 <= n <= bound:
            return n


@pytest.mark.parametrize(("x", "x2"), [(0, 1), (1, 2), (0.25, 0.75)])
def test_truncation_by_rejection_in_closed_form(x: float, x2: float) -> None:
    accepted = [stats.laplace.cdf(3 - v) - stats.laplace.cdf(-v) for v in (x, x2)]
    want = abs(x2 - x) + abs(math.log(accepted[0] / accepted[1]))
    loss = dpest.exact(truncated_laplace, x, x2)
    assert loss.epsilon == pytest.approx(want, rel=1e-11)
    assert loss.leftover == 0


def never_ends(x, rng):
    while True:
        if rng.laplace() > 0:
            pass


def hardly_ever_ends(x, rng):
    while True:
        z = rng.laplace()
        if z > 20:
            return z


@pytest.mark.parametrize("mechanism", [never_ends, hardly_ever_ends], ids=lambda f: f.__name__)
def test_loops_that_hardly_end_are_told(mechanism: Any) -> None:
    with pytest.raises(DpestError):
        trace(mechanism, 0, seconds=2)


def test_samples_of_the_distribution_are_of_accepted_draws() -> None:
    drawn = np.array(dpest.distribution(truncated_laplace, 1.0).sample(4000, seed=1), dtype=float)
    assert np.all((drawn >= 0) & (drawn <= 3))
    accepted = stats.laplace.cdf(2) - stats.laplace.cdf(-1)

    def cdf(v: Any) -> Any:
        return (stats.laplace.cdf(v - 1) - stats.laplace.cdf(-1)) / accepted

    assert stats.kstest(drawn, cdf).pvalue > 1e-6
