"""A function that tells the trace from a run is found."""

from __future__ import annotations

import numpy as np
import pytest

from dpest.errors import ReplayError
from dpest.reading.trace import trace


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


def looks_up_far_values(x, rng):
    noisy = x + rng.laplace()
    return 0 if repr(noisy).startswith("-") else 1


def hides_a_rounding(x, rng):
    # repr() of a number that is not known stays the same: another point tells.
    noisy = x + rng.laplace()
    return len(repr(noisy).split(".")[0])


class Sniffer:
    """Adds truth values as integers in a trace, and as NumPy's in a run."""

    def __call__(self, x, rng):
        first, second = x + rng.laplace() > 0, x + rng.laplace() > 0
        if isinstance(first, bool):
            return first or second
        return first + second


@pytest.mark.parametrize("mechanism", [looks_up_far_values, hides_a_rounding, Sniffer()])
@pytest.mark.parametrize("x", [0, 3, -50])
def test_other_points_of_a_path_are_looked_at(mechanism, x):
    with pytest.raises(ReplayError):
        trace(mechanism, x)


def many_bits(x, rng):
    return [v + rng.laplace() > 0 for v in x], x[0] + rng.geometric(0.5)


def test_points_of_a_sound_trace_agree():
    assert len(trace(many_bits, [0, 40, -40, 1]).paths) == 1
