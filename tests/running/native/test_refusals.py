"""What is no function of its draws alone is not compiled."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpest.ask.declaration import as_mechanism
from dpest.running.native.compiled import program_of
from dpest.running.native.runs import block_of_runs, compiled_for
from dpest.running.native.signals import NotCompiled

pytest.importorskip("llvmlite")
SEEN: list[float] = []
COUNT = 0


def remembers(x, rng):
    SEEN.append(x)
    return len(SEEN) + rng.laplace()


def counts_calls(x, rng):
    global COUNT
    COUNT += 1
    return COUNT + rng.laplace()


def reads_a_clock(x, rng):
    return rng.random() < time.time() % 1


def draws_elsewhere(x, rng):
    return x + random.random() + rng.random()


def draws_by_numpy(x, rng):
    return x + np.random.laplace() + rng.random()  # noqa: NPY002


def makes_a_generator(x, rng):
    return x + np.random.default_rng(3).random() + rng.random()


def prints(x, rng):
    print(x)
    return rng.random()


def shows_a_number(x, rng):
    return f"{x + rng.random():.2f}"


def default_list(x, rng, seen=[]):  # noqa: B006
    seen.append(1)
    return len(seen) + rng.random()


def looks_at_bits(x, rng):
    return rng.bit_generator.state["state"] and rng.random()


def unknown_noise(x, rng):
    return x + rng.vonmises(0, 1)


@pytest.mark.parametrize(
    "function",
    [remembers, counts_calls, reads_a_clock, draws_elsewhere, draws_by_numpy, makes_a_generator,
     prints, shows_a_number, default_list, looks_at_bits, unknown_noise],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_it_is_refused(function: Callable[..., Any]) -> None:
    before = list(SEEN), COUNT
    with pytest.raises(NotCompiled):
        program_of(as_mechanism(function), 0.5)
    assert (list(SEEN), COUNT) == before


def test_a_function_without_a_generator_is_called() -> None:
    with pytest.raises(NotCompiled):
        compiled_for(lambda x: x, 1)
    assert block_of_runs(lambda x, size: np.zeros(size), 0.0, 1 << 17, 1, 0).runner == "calls"


def test_few_runs_are_not_compiled() -> None:
    samples = block_of_runs(lambda x, rng: x + rng.random() < 1, 0.5, 1000, 1, 0)
    assert samples.runner == "batch"
