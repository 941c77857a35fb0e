"""Functions that fool a tracer: each is read right, refused with its line, or told apart."""

from __future__ import annotations

import math
import random
import time
from typing import Any

import numpy as np
import pytest

import dpest
from dpest.errors import ReadingError

COUNTER = [0]


def changes_a_global(x, rng):
    COUNTER[0] += 1
    return x + rng.laplace() + COUNTER[0]


def mutable_default(x, rng, seen=[]):  # noqa: B006
    seen.append(1)
    return x * len(seen) + rng.laplace()


def draws_from_numpy(x, rng):
    return x + np.random.laplace()  # noqa: NPY002


def draws_from_random(x, rng):
    return x + random.gauss(0, 1)


def own_generator(x, rng):
    return x + np.random.default_rng().laplace()


def reads_the_clock(x, rng):
    return x + rng.laplace() + time.time() % 1


def bare_except(x, rng):
    try:
        return math.exp(x + rng.laplace())
    except:  # noqa: E722
        return 0


def is_true(x, rng):
    return 1 if (x + rng.laplace() > 0) is True else 0


def noisy_key(x, rng):
    return len({x + rng.laplace(), x + rng.laplace()})


def as_text(x, rng):
    return str(x + rng.laplace())


def hashed(x, rng):
    return hash(x + rng.laplace()) % 2


def noisy_scale(x, rng):
    return x + rng.laplace(scale=1 + abs(x + rng.laplace()))


def product(x, rng):
    return x + rng.laplace() * rng.laplace()


def spawned(x, rng):
    return x + rng.spawn(1)[0].laplace()


REFUSED = [
    changes_a_global,
    mutable_default,
    reads_the_clock,
    bare_except,
    noisy_key,
    as_text,
    hashed,
    noisy_scale,
    product,
    spawned,
]


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused_with_the_line(function: Any) -> None:
    with pytest.raises(ReadingError) as caught:
        dpest.exact(function, 0, 1)
    first = function.__code__.co_firstlineno
    lines = [f"{__file__}:{n}" for n in range(first, first + 6)]
    assert any(line in str(caught.value) for line in lines), str(caught.value)


def changes_its_list(x, rng):
    x[0] += 1
    x.append(0)
    return x[0] + rng.laplace()


def changes_its_array(x, rng):
    x += rng.laplace(size=2)
    return x


def seeded_generator(x, rng):
    return x[0] + np.random.default_rng(0).laplace()


def chained(x, rng):
    return 0 < x[0] + rng.laplace() < 1


def numpy_identity(x, rng):
    return ((np.asarray(x) + rng.laplace(size=2))[0] > 0) is True  # np.bool_ is never True


@pytest.mark.parametrize(
    ("function", "x", "x2", "want"),
    [
        (changes_its_list, [0.0, 0.0], [1.0, 0.0], 1.0),
        (changes_its_array, np.zeros(2), np.array([1.0, 0.0]), 1.0),
        (seeded_generator, [0], [1], math.inf),
        (draws_from_numpy, 0, 1, 1.0),
        (own_generator, 0, 1, 1.0),
        (is_true, 0, 1, 1.0),
        (numpy_identity, [0, 0], [1, 0], 0.0),
        (chained, [0.5, 0], [1.5, 0], 0.7190701963798385),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_read_right(function: Any, x: Any, x2: Any, want: float) -> None:
    kept = np.array(x, dtype=float)
    assert dpest.exact(function, x, x2).epsilon == pytest.approx(want, rel=1e-9)
    assert np.array_equal(np.array(x, dtype=float), kept)
