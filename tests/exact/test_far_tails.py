"""What the ratio does far out: limits that are reached late, and growth that never ends."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import dpest
from dpest import noise
from dpest.exact.integration.terms import FloatForm, KernelTerm
from dpest.exact.losses.tail_exponents import TailEnd, grows
from dpest.geometry.linear import Form, Symbol


def late(x, rng, *, other=1.001):
    """The second tail takes over far out; then the ratio has settled at 2/other."""
    if rng.random() < 0.5:
        return x + rng.laplace(scale=1.0)
    return 2 * x + rng.laplace(scale=other)


def skellam(x, rng):
    return x + rng.poisson(2) - rng.poisson(2)


def private_scale(x, rng):
    return rng.laplace(scale=1 + 1e-4 * x)


def one_or_two(x, rng):
    return rng.laplace() + rng.laplace() if x > 0.5 else rng.laplace()


def gaussian(x, rng):
    return x + rng.normal()


def gumbel(x, rng):
    return x + rng.gumbel()


def discrete_gaussian(x, rng):
    return int(x) + dpest.noise.discrete_gaussian(rng, 2.0)


@pytest.mark.parametrize("other", [1.1, 1.001, 1.00001])
def test_a_tail_that_takes_over_late_is_no_infinity(other):
    loss = dpest.exact(late, 0.0, 1.0, params={"other": other})
    assert loss.epsilon == pytest.approx(2 / other, abs=1e-6)
    assert abs(loss.epsilon - 2 / other) <= loss.error + 1e-12


@pytest.mark.parametrize(
    "function", [private_scale, one_or_two, gaussian, gumbel, discrete_gaussian]
)
def test_growth_without_end_is_infinite(function):
    """The exponents of the tails say so, not a trend."""
    loss = dpest.exact(function, 0.0, 1.0)
    assert loss.epsilon == math.inf
    assert loss.complete


def test_growth_that_nothing_decides_is_a_lower_bound():
    """The tails of a sum over a lattice are not known here: no infinity, and it says so."""
    loss = dpest.exact(skellam, 0.0, 1.0)
    assert 9 < loss.epsilon < math.inf
    assert not loss.complete
    assert any("whether it is bounded is not known" in note for note in loss.notes)
    output = loss.witness.details["output"]
    assert math.isfinite(output)


LAPLACE, WIDER = noise.Laplace(1.0), noise.Laplace(1.5)
GAUSSIAN, GUMBEL = noise.Gaussian(1.0), noise.Gumbel(1.0)


def kernel(density, slope=1, constant=0):
    return KernelTerm(density, FloatForm(Form({U: Fraction(slope)}, Fraction(constant))))


U = Symbol("state", "u")


@pytest.mark.parametrize(
    ("first", "second", "right", "left"),
    [
        ([kernel(LAPLACE)], [kernel(LAPLACE, 1, 3)], False, False),
        ([kernel(WIDER)], [kernel(LAPLACE)], True, True),
        ([kernel(LAPLACE)], [kernel(WIDER)], False, False),
        ([kernel(GAUSSIAN)], [kernel(GAUSSIAN, 1, -1)], False, True),
        ([kernel(GAUSSIAN, 1, -1)], [kernel(GAUSSIAN)], True, False),
        ([kernel(GAUSSIAN, -1, -1)], [kernel(GAUSSIAN)], False, True),
        ([kernel(LAPLACE)], [kernel(GAUSSIAN, 1, 100)], True, True),
        ([kernel(GUMBEL)], [kernel(GUMBEL, 1, -1)], False, True),
        ([kernel(GUMBEL)], [kernel(GUMBEL, 1, 1)], False, False),
        # Twice a shift of 1 against a shift of 2: the same exponents.
        (
            [kernel(GAUSSIAN, 1, 1), kernel(GAUSSIAN, 1, 1)],
            [kernel(GAUSSIAN, 1, 2), kernel(GAUSSIAN)],
            False,
            False,
        ),
        # Scales that differ by a rounding: nothing is said.
        ([kernel(noise.Laplace(0.1 + 0.2))], [kernel(noise.Laplace(0.3))], None, None),
        ([kernel(noise.Uniform(0, 1))], [kernel(LAPLACE)], False, False),
        ([kernel(LAPLACE)], [kernel(noise.Uniform(0, 1))], None, None),
    ],
)
def test_exponents_decide(first, second, right, left):
    assert grows([first], [second], TailEnd(U)) is right
    assert grows([first], [second], TailEnd(U, Fraction(-1))) is left
    for density in [term.density for term in (*first, *second)]:
        for side, sign in ((0, -1.0), (1, 1.0)):
            check_tail(density, side, sign)


def check_tail(density, side, sign):
    """The exponents against the log-density itself, from 20 to 40 scales out."""
    tail = density.tail(side)
    if tail is None:
        return
    u = np.array([20.0, 40.0])
    expected = -np.exp(float(tail.double) * u) * bool(tail.double) + float(tail.square) * u**2
    expected = expected + float(tail.linear) * u + float(tail.power) * np.log(u)
    found = np.diff(density.log_density(sign * u))
    assert found == pytest.approx(np.diff(expected), rel=1e-9)


def folded_sum(x, rng, *, eps=1.0):
    return abs(x[0] + rng.normal(scale=1 / eps)) + abs(rng.normal(scale=1 / eps))


def half_normal_added(x, rng):
    return x[0] + rng.normal() + abs(rng.normal())


def gaussian_below(x, rng):
    return x[0] + min(x[0], rng.exponential()) + rng.normal()


def laplace_pieces(x, rng):
    return abs(x[0] + rng.laplace()) + max(x[1] + rng.laplace(), 0.0)


@pytest.mark.parametrize("function", [folded_sum, half_normal_added, gaussian_below])
@pytest.mark.parametrize("pair", [([0.0], [1.0]), ([1.0], [0.0]), ([0.0], [2**-10])])
def test_sums_over_paths_are_asked_for_their_exponents(function, pair):
    """log φ*φ falls like u²/4 with a linear part that the input moves: no bound."""
    loss = dpest.exact(function, *pair)
    assert loss.epsilon == math.inf
    assert loss.complete
    assert loss.witness.details["how"] == "unbounded"


def test_exponential_tails_of_pieces_are_proved_to_be_bounded():
    loss = dpest.exact(laplace_pieces, [0.0, 0.0], [1.0, 0.0])
    assert loss.epsilon == pytest.approx(1.0, abs=1e-9)
    assert loss.complete


def three_hidden(x, rng):
    a, b, c = rng.gumbel(), rng.gumbel(), rng.gumbel()
    return x[0] + abs(a + b) + abs(a - c)


def test_tails_that_nobody_knows_give_a_lower_bound_or_a_refusal():
    try:
        loss = dpest.exact(three_hidden, [0.0], [1.0])
    except dpest.errors.DpestError:
        return
    assert not loss.complete or loss.epsilon == math.inf
