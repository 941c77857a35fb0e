"""What can't be traced is refused with the line, the operation and what to do; nothing hangs."""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpest.errors import PathLimitError, UntraceableError
from dpest.geometry.masses import interval_mass
from dpest.noise import Gaussian, Laplace
from dpest.reading.trace import noise_free, trace

HERE = __file__


def to_float(x, rng):
    noisy = x + rng.laplace()
    return math.exp(noisy)


def to_log(x, rng):
    noisy = x + rng.laplace()
    return math.log(noisy)


def numpy_log(x, rng):
    return np.log(x + rng.exponential())


def wrapped_around(x, rng):
    return (x + rng.laplace()) % 1


def whole_steps(x, rng):
    return (x + rng.laplace()) // 2


def product(x, rng):
    return rng.laplace() * rng.laplace()


def quotient(x, rng):
    return x / rng.laplace()


def square(x, rng):
    return (x + rng.laplace()) ** 2


def variance(x, rng):
    return np.var(x + rng.laplace(size=3))


def equality(x, rng):
    return x + rng.laplace() == 1


def text(x, rng):
    return f"{x + rng.laplace():.2f}"


def noisy_scale(x, rng):
    return x + rng.laplace(scale=abs(rng.laplace()))


def unknown_noise(x, rng):
    return x + rng.gamma(2.0)


def norm(x, rng):
    return np.linalg.norm(x + rng.laplace(size=2))


def key(x, rng):
    return {x + rng.laplace(): 1}


@pytest.mark.parametrize(
    ("mechanism", "says"),
    [
        (to_float, "of a noisy"),
        (to_log, "log"),
        (numpy_log, "log"),
        (wrapped_around, "of a noisy"),
        (whole_steps, "of a noisy"),
        (product, "two noisy"),
        (quotient, "by a noisy"),
        (square, "power"),
        (variance, ".var"),
        (equality, "equality"),
        (text, "text"),
        (noisy_scale, "laplace"),
        (unknown_noise, "gamma"),
        (norm, "linalg.norm"),
        (key, "key"),
    ],
)
def test_what_is_not_linear_is_refused_at_its_line(mechanism: Any, says: str) -> None:
    with pytest.raises(UntraceableError) as caught:
        trace(mechanism, 1.0)
    error = caught.value
    assert says in str(error)
    assert error.where is not None
    file, line = error.where.rsplit(":", 1)
    assert file == HERE
    first = mechanism.__code__.co_firstlineno
    assert first < int(line) <= first + 3
    assert "sampling" in error.advice


def legacy_noise(x, rng):
    return x + np.random.laplace()  # noqa: NPY002


def python_noise(x, rng):
    return x + random.gauss(0, 1)


def own_generator(x, rng):
    return x + np.random.default_rng().laplace()


@pytest.mark.parametrize(
    ("mechanism", "noise"),
    [(legacy_noise, Laplace(1.0)), (python_noise, Gaussian(1)), (own_generator, Laplace(1.0))],
)
def test_noise_that_is_drawn_elsewhere_is_read(mechanism: Any, noise: Any) -> None:
    found = trace(mechanism, 1.0)
    assert list(found.noises.values()) == [noise]
    assert len(found.paths) == 1


CALLS: list[int] = []


def counts_calls(x, rng):
    CALLS.append(1)
    return x + rng.laplace() + len(CALLS)


def every_other_time(x, rng):
    CALLS.append(1)
    if rng.laplace() > 0 and len(CALLS) % 2:
        return bool(rng.laplace() > 1)
    return 0


def growing_default(x, rng, seen=[]):  # noqa: B006
    seen.append(x)
    return sum(seen) + rng.laplace()


@pytest.mark.parametrize(
    "mechanism",
    [counts_calls, every_other_time, growing_default],
)
def test_hidden_state_is_found(mechanism: Any) -> None:
    with pytest.raises(UntraceableError, match="from one call to the next"):
        trace(mechanism, 1.0)


def forever(x, rng):
    while True:
        pass


def forever_drawing(x, rng):
    total = 0
    while True:
        total = total + rng.laplace()


def forever_swallowing(x, rng):
    while True:
        try:
            x += 1
        except Exception:
            x = 0


def forever_forking(x, rng):
    total = 0
    while total < 10:
        total = total + rng.laplace() + rng.laplace() + rng.laplace()
    return True


# The watch-dog may strike inside a callback of the garbage collector, which only reports it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "mechanism", [forever, forever_drawing, forever_swallowing, forever_forking]
)
def test_nothing_hangs(mechanism: Any) -> None:
    start = time.monotonic()
    with pytest.raises(PathLimitError) as caught:
        trace(mechanism, 1.0, seconds=0.5)
    assert time.monotonic() - start < 5
    assert caught.value.where is not None
    assert caught.value.where.startswith(HERE)
    assert "seconds=" in caught.value.advice


def many_bits(x, rng):
    return [1 if q + rng.laplace() > 0 else 0 for q in x]


def many_words(x, rng):
    return ["yes" if q + rng.laplace() > 0 else None for q in x]


def test_too_many_paths_name_the_line_that_forks() -> None:
    with pytest.raises(PathLimitError, match="more than 50 paths") as caught:
        trace(many_words, [0] * 20, max_paths=50)
    assert caught.value.where == f"{HERE}:{many_words.__code__.co_firstlineno + 1}"


def test_bits_that_are_made_by_forks_are_one_path_with_indicators() -> None:
    found = trace(many_bits, [0] * 20, max_paths=50)
    assert len(found.paths) == 1
    assert len(found.indicators) == 20


def test_the_deadline_does_not_outlive_the_trace() -> None:
    with pytest.raises(PathLimitError):
        trace(forever, 1.0, seconds=0.1)
    for _ in range(3):
        time.sleep(0.06)
    assert trace(many_bits, [0, 0], seconds=5).leftover == 0


def negative_scale(x, rng):
    return x + rng.laplace(scale=-1.0)


def test_an_exception_is_an_output_if_the_function_really_raises_it() -> None:
    found = trace(negative_scale, 1.0)
    assert [p.output for p in found.paths] == ["raises ValueError: scale < 0"]


def only_for_symbols(x, rng):
    noisy = x + rng.laplace()
    if not isinstance(noisy, float):
        raise TypeError("wanted a float")
    return noisy


def test_an_exception_that_only_symbols_would_cause_is_not_there() -> None:
    (path,) = trace(only_for_symbols, 1.0).paths
    assert len(path.forms) == 1


def treats_types_differently(x, rng):
    noisy = x + rng.laplace()
    return noisy if isinstance(noisy, float) else 0.0


def test_a_noisy_value_is_a_float() -> None:
    (path,) = trace(treats_types_differently, 1.0).paths
    assert len(path.forms) == 1


def no_rng(x, size):
    return [x] * size


def test_a_black_box_that_gives_many_outputs_is_refused() -> None:
    with pytest.raises(UntraceableError, match="no parameter called rng"):
        trace(no_rng, 1.0)


# Loops without a bound


def tosses(x, rng):
    n = 0
    while rng.random() < 0.5:
        n += 1
    return x + n


def rejection(x, rng):
    while True:
        noise = rng.laplace(scale=1.0)
        if -2 < noise < 2:
            return x + noise


def pairs(x, rng):
    for _ in iter(int, 1):
        a, b = rng.laplace(), rng.laplace()
        if a > b:
            return a


def test_loops_without_a_bound_carry_what_is_left() -> None:
    found = trace(tosses, 1, leftover=1e-6)
    assert 0 < found.leftover <= 1e-6


def test_an_iterator_without_an_end_is_a_loop_without_a_bound() -> None:
    found = trace(pairs, 1, leftover=1e-6)
    assert found.leftover <= 1e-6


def test_rejection_is_summed_up() -> None:
    found = trace(rejection, 1)
    assert found.leftover == 0
    assert math.fsum(mass(found, path) for path in found.paths) == pytest.approx(1, abs=1e-14)


def likely_rejection(x, rng):
    while True:
        noise = rng.laplace(scale=1.0)
        if abs(noise) < 0.7:
            return x + noise


def count_rejections(x, rng):
    tries = 0
    while True:
        tries += 1
        noise = rng.laplace(scale=2.0)
        if -1 < noise < 3:
            return tries


def keep_the_last_rejected(x, rng):
    rejected = 0.0
    while True:
        noise = rng.normal()
        if abs(noise) < 1:
            return x + noise, rejected
        rejected = noise


def two_noises(x, rng):
    while True:
        a = rng.laplace()
        b = rng.exponential()
        if (a > 0 and b < 1) or a < -2:
            return x + a


def decisions_inside_one_statement(x, rng):
    total = 0
    while True:
        total = total + (1 if rng.laplace() > 0 else 2) * (1 if abs(rng.laplace()) > 1 else 3)
        if rng.random() < 0.9:
            return total


def mass(trace_: Any, path: Any) -> float:
    """Of a path whose conditions are bounds on single noises."""
    bounds: dict[Any, list[Any]] = {}
    for condition in path.conditions:
        (symbol,) = condition.form.terms
        bounds.setdefault(symbol, []).append(condition)
    result = math.prod(float(choice.probability) for choice in path.choices)
    for symbol, conditions in bounds.items():
        found = interval_mass(trace_.noises[symbol], conditions)
        assert found is not None
        result *= found
    return result


@pytest.mark.parametrize(
    ("mechanism", "bound"),
    [
        (likely_rejection, 1e-9),
        (count_rejections, 1e-9),
        (keep_the_last_rejected, 1e-9),
        (two_noises, 1e-9),
        (decisions_inside_one_statement, 1e-2),
    ],
)
def test_rejected_turns_are_joined_and_the_mass_is_all_there(mechanism: Any, bound: float) -> None:
    found = trace(mechanism, 1, leftover=bound, seconds=600.0)
    assert found.leftover <= bound
    assert len(found.paths) < 2000
    total = math.fsum(mass(found, path) for path in found.paths)
    assert total <= 1 + 1e-12
    assert total + found.leftover >= 1 - 1e-12


def test_joined_turns_keep_the_distribution() -> None:
    found = trace(count_rejections, 0)
    accepted = Laplace(2.0).cdf(3.0) - Laplace(2.0).cdf(-1.0)
    for path in found.paths:
        expected = accepted * (1 - accepted) ** (path.output - 1)
        assert mass(found, path) == pytest.approx(expected, rel=1e-12)
    one = trace(decisions_inside_one_statement, 0, leftover=1e-2)
    totals = Counter({})
    for path in one.paths:
        totals[path.output] += mass(one, path)
    outside = 2 * Laplace(1.0).sf(1.0)
    first = {1: outside / 2, 2: outside / 2, 3: (1 - outside) / 2, 6: (1 - outside) / 2}
    twice = sum(p * q for a, p in first.items() for b, q in first.items() if a + b == 2)
    assert totals[1] == pytest.approx(0.9 * first[1], rel=1e-9)
    assert totals[2] == pytest.approx(0.9 * (first[2] + 0.1 * twice), rel=1e-9)


def test_the_paths_and_the_leftover_are_everything() -> None:
    found = trace(tosses, 0, leftover=1e-6)
    # Conditions u < 1/2 or u >= 1/2, one draw each: a path of k conditions has mass 2^-k.
    explored = sum(Fraction(1, 2 ** len(p.conditions)) for p in found.paths)
    assert {p.output for p in found.paths} == set(range(len(found.paths)))
    assert 1 - explored <= Fraction(found.leftover)


def test_improbable_paths_of_a_bounded_loop_over_data_are_kept() -> None:
    def over_data(x, rng):
        i = 0
        while i < len(x):
            if x[i] + rng.laplace() > 20:
                return i
            i += 1

    found = trace(over_data, [0.0] * 30)
    assert found.leftover == 0
    assert len(found.paths) == 31


def test_a_run_without_noise() -> None:
    def svt(x, rng):
        rho = rng.laplace(scale=2)
        return [bool(q + rng.laplace(scale=4) >= 1 + rho) for q in x]

    assert noise_free(svt, [0, 1, 2]) == [False, True, True]
    assert noise_free(lambda x, rng: x + rng.exponential() + rng.geometric(0.5), 1) == 2
    with pytest.raises(PathLimitError):
        noise_free(forever, 1, seconds=0.2)
