"""A function that tells the trace from a run is found."""

from __future__ import annotations

import numpy as np
import pytest

from dpest.errors import ReplayError
from dpest.program.trace import trace


def tells_numbers_apart(x, rng):
    noisy = x + rng.laplace()
    if isinstance(noisy, float):
        return x
    return noisy


def tells_generators_apart(x, rng):
    if isinstance(rng, np.random.Generator):
        return x
    return x + rng.laplace()


def looks_at_the_type(x, rng):
    return x if type(rng).__name__ == "Generator" else x + rng.laplace()


@pytest.mark.parametrize(
    "mechanism", [tells_numbers_apart, tells_generators_apart, looks_at_the_type]
)
def test_found(mechanism):
    with pytest.raises(ReplayError, match=r"test_conforming\.py"):
        trace(mechanism, 0)


def normalises_its_generator(x, rng):
    rng = np.random.default_rng(rng)
    return x + rng.laplace()


def test_a_usual_idiom_is_no_offence():
    assert len(trace(normalises_its_generator, 0).paths) == 1
