"""Products, quotients and curves of noise: densities by other ways, and what is refused."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import numpy as np
import pytest

import dpest
from dpest.errors import DpestError

SCRIPT = Path(__file__).parents[2] / "validation" / "transforms.py"


def test_twenty_values_agree_with_mpmath_to_ten_digits():
    found = list(runpy.run_path(str(SCRIPT))["rows"]())
    assert len(found) >= 20
    for name, ours, theirs in found:
        assert ours == pytest.approx(float(theirs), rel=1e-10), name


def product(x, rng):
    return (x + rng.laplace(scale=1.0)) * rng.exponential(scale=2.0)


def square(x, rng):
    return (x + rng.laplace(scale=1.0)) ** 2


def exponential(x, rng):
    return math.exp(x + rng.laplace(scale=2.0))


def scaled_by_data(x, rng):
    return math.exp(x + rng.laplace(scale=2.0)) * x


def shared(x, rng):
    noise = rng.laplace()
    return noise * (x + noise)


def of_negative(x, rng):
    return math.log(x + rng.laplace())


def branched(x, rng):
    noisy = math.exp(rng.laplace())
    return noisy if x > 0 else 2 * noisy


def test_a_density_integrates_to_one():
    assert dpest.distribution(exponential, 0.5).probability(0.0, math.inf) == pytest.approx(1)


@pytest.mark.slow
def test_a_density_of_a_product_fits_samples():
    found = dpest.distribution(product, 0.5)
    rng = np.random.default_rng(0)
    drawn = np.array([product(0.5, rng) for _ in range(20_000)])
    share = np.mean((drawn > 0.5) & (drawn < 2))
    chance = found.probability(0.5, 2.0)
    assert abs(share - chance) < 5 * math.sqrt(chance / len(drawn))


def test_a_one_to_one_function_of_the_output_changes_no_loss():
    found = dpest.exact(exponential, 0.0, 1.0)
    assert found.epsilon == pytest.approx(0.5, rel=1e-12)
    assert any("one-to-one" in note for note in found.notes)


@pytest.mark.parametrize("function", [square, scaled_by_data, shared, of_negative])
def test_what_is_not_one_to_one_or_depends_on_data_is_refused(function):
    """The square forgets a sign; a factor of the data is not the same function on both inputs."""
    with pytest.raises(DpestError):
        dpest.exact(function, 1.0, 2.0)


@pytest.mark.parametrize("function", [shared, of_negative, branched])
def test_distributions_that_are_not_understood_are_refused(function):
    with pytest.raises(DpestError):
        dpest.distribution(function, 1.0)
