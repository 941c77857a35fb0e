"""A function that tells the trace from a run is found."""

from __future__ import annotations

import numpy as np
import pytest

from dpest.errors import UntraceableError
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
def test_types_are_those_that_a_run_has(mechanism):
    found = trace(mechanism, 0)
    assert [path.leaves for path in found.paths] == [(0,)]


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


@pytest.mark.parametrize("mechanism", [looks_up_far_values, hides_a_rounding])
@pytest.mark.parametrize("x", [0, 3, -50])
def test_text_of_noise_is_refused(mechanism, x):
    with pytest.raises(UntraceableError, match="text of a symbolic value"):
        trace(mechanism, x)


@pytest.mark.parametrize("x", [0, 3, -50])
def test_truth_values_are_those_of_a_run(x):
    found = trace(Sniffer(), x)
    assert all(leaf in (True, False) or leaf.terms for p in found.paths for leaf in p.leaves)
    assert {p.skeleton.kind for p in found.paths} == {"bool"}


def many_bits(x, rng):
    return [v + rng.laplace() > 0 for v in x], x[0] + rng.geometric(0.5)


def test_points_of_a_sound_trace_agree():
    assert len(trace(many_bits, [0, 40, -40, 1]).paths) == 1
