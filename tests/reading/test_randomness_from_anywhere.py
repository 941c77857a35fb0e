"""Noise is read wherever it is drawn from; what makes it no noise is seen."""

from __future__ import annotations

import random
import secrets
from typing import Any

import numpy as np
import pytest
from numpy.random import default_rng

import dpest
from dpest.errors import UntraceableError
from dpest.noise import Exponential, Gaussian, Laplace
from dpest.reading.trace import trace

# ruff: noqa: NPY002
SHARED = np.random.default_rng()


def of_numpy(x):
    return sum(x) + np.random.laplace(0, 1.5)


def made_inside(x):
    return sum(x) + default_rng().laplace(scale=2.0)


def of_random(x):
    return sum(x) + random.gauss(0, 1.0)


def shared(x):
    return sum(x) + SHARED.laplace()


def legacy(x):
    return sum(x) + np.random.RandomState().laplace()


def own_random(x):
    return sum(x) + random.Random().expovariate(2.0)


def by_another_name(x, generator=None):
    source = generator or np.random.default_rng()
    return sum(x) + source.laplace()


class Counter:
    def __init__(self) -> None:
        self._rng = np.random.default_rng()
        self.scale = 0.5
        self.calls = 0

    def run(self, x):
        return sum(x) + self._rng.laplace(scale=self.scale)

    def __call__(self, x):
        return self.run(x)

    def counting(self, x):
        self.calls += 1
        return self.run(x)


@pytest.mark.parametrize(
    ("mechanism", "noise"),
    [
        (of_numpy, Laplace(1.5)),
        (made_inside, Laplace(2.0)),
        (of_random, Gaussian(1.0)),
        (shared, Laplace(1.0)),
        (legacy, Laplace(1.0)),
        (own_random, Exponential(0.5)),
        (by_another_name, Laplace(1.0)),
        (Counter().run, Laplace(0.5)),
        (Counter(), Laplace(0.5)),
    ],
)
def test_noise_is_read(mechanism: Any, noise: Any) -> None:
    found = trace(mechanism, [1.0, 2.0])
    assert list(found.noises.values()) == [noise]
    (path,) = found.paths
    (form,) = path.forms
    assert form.constant == 3


def of_secrets(x):
    return x[0] if secrets.randbelow(4) else 0.0


def test_secrets_have_their_chances() -> None:
    found = trace(of_secrets, [1.0])
    zero = [p for p in found.paths if p.leaves == (0.0,)]
    assert sum(p.choices[0].probability for p in zero) * 4 == 1


def fixed_seed(x):
    return sum(x) + default_rng(3).laplace()


def test_a_fixed_seed_is_no_noise() -> None:
    found = trace(fixed_seed, [1.0])
    assert not found.noises
    assert found.paths[0].leaves == (fixed_seed([1.0]),)
    assert any("fixed seed" in note for note in found.notes)


def global_seed(x):
    np.random.seed(7)
    return sum(x) + np.random.laplace()


def seed_of_the_data(x):
    return sum(x) + default_rng(int(x[0])).laplace()


def test_a_seeded_global_generator_is_refused() -> None:
    with pytest.raises(UntraceableError, match="seeds NumPy's global generator"):
        trace(global_seed, [1.0])


def test_a_seed_of_the_data_is_no_noise() -> None:
    assert trace(seed_of_the_data, [1.0]).paths[0].leaves == (seed_of_the_data([1.0]),)


def test_an_object_that_counts_its_calls_is_refused() -> None:
    with pytest.raises(UntraceableError, match="from one call to the next"):
        trace(Counter().counting, [1.0])


def told(x):
    return x if random.choice(["heads", "tails"]) == "heads" else random.choice([True, False])


def turned(x):
    return x ^ random.choice([True, False])


def weighted(x):
    return random.choices([x, not x], weights=[3, 1])[0]


@pytest.mark.parametrize(("function", "chance"), [(told, 0.75), (turned, 0.5), (weighted, 0.75)])
def test_a_choice_between_two_is_read_as_it_is_made(function, chance):
    found = dpest.distribution(function, True)
    assert found.probability(True) == pytest.approx(chance)


def between(x, rng):
    low = 2.3 * x - 0.7
    return rng.uniform(low, low + 0.1)


def test_a_uniform_draw_between_data_is_replayed():
    (path,) = trace(between, 0.3, symbolic=True).paths
    assert path.conditions == ()
