"""The functions that mechanisms call, the errors they share with NumPy, and costs for proofs."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from dpest import noise
from dpest.noise import (
    Bernoulli,
    Binomial,
    Categorical,
    Cauchy,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Geometric,
    Gumbel,
    Laplace,
    Logistic,
    Poisson,
    StudentT,
    Triangular,
    TwoSidedGeometric,
    Uniform,
)

NAN, INF = float("nan"), float("inf")


class Recorder:
    def draw_noise(self, family, size):
        return family, size


@pytest.mark.parametrize(
    ("draw", "parameter", "family"),
    [
        (noise.discrete_laplace, 2.0, DiscreteLaplace(2.0)),
        (noise.discrete_gaussian, 2.0, DiscreteGaussian(2.0)),
        (noise.two_sided_geometric, 0.5, TwoSidedGeometric(0.5)),
        (noise.bernoulli, 0.5, Bernoulli(0.5)),
    ],
)
def test_draws_reach_every_reading(draw, parameter, family):
    assert draw(Recorder(), parameter, size=3) == (family, 3)
    rng = np.random.default_rng(0)
    assert isinstance(draw(rng, parameter), (int, bool))
    assert draw(rng, parameter, size=(2, 3)).shape == (2, 3)
    assert draw(rng, parameter, size=0).shape == (0,)


@pytest.mark.parametrize(
    ("ours", "numpys"),
    [
        (lambda: Laplace(-1), lambda rng: rng.laplace(0, -1)),
        (lambda: Laplace(-0.0), lambda rng: rng.laplace(0, -0.0)),
        (lambda: Exponential(-1), lambda rng: rng.exponential(-1)),
        (lambda: Gaussian(-1), lambda rng: rng.normal(0, -1)),
        (lambda: Gumbel(-1), lambda rng: rng.gumbel(0, -1)),
        (lambda: Geometric(0), lambda rng: rng.geometric(0)),
        (lambda: Geometric(NAN), lambda rng: rng.geometric(NAN)),
        (lambda: Binomial(3, 1.5), lambda rng: rng.binomial(3, 1.5)),
        (lambda: Binomial(3, NAN), lambda rng: rng.binomial(3, NAN)),
        (lambda: Binomial(-3, 0.5), lambda rng: rng.binomial(-3, 0.5)),
        (lambda: Poisson(-1), lambda rng: rng.poisson(-1)),
        (lambda: Poisson(NAN), lambda rng: rng.poisson(NAN)),
        (lambda: Poisson(1e30), lambda rng: rng.poisson(1e30)),
        (lambda: Uniform(1, 0), lambda rng: rng.uniform(1, 0)),
        (lambda: Logistic(-1), lambda rng: rng.logistic(0, -1)),
        (lambda: StudentT(0), lambda rng: rng.standard_t(0)),
        (lambda: Triangular(1, 0, 2), lambda rng: rng.triangular(1, 0, 2)),
        (lambda: Triangular(0, 3, 2), lambda rng: rng.triangular(0, 3, 2)),
        (lambda: Triangular(1, 1, 1), lambda rng: rng.triangular(1, 1, 1)),
        (lambda: Uniform(0, INF), lambda rng: rng.uniform(0, INF)),
        (lambda: Categorical((1, 2), (0.5,)), lambda rng: rng.choice([1, 2], p=[0.5])),
        (lambda: Categorical((1, 2), (1.5, -0.5)), lambda rng: rng.choice(2, p=[1.5, -0.5])),
        (lambda: Categorical((1, 2), (0.5, NAN)), lambda rng: rng.choice(2, p=[0.5, NAN])),
        (lambda: Categorical((), ()), lambda rng: rng.choice([])),
    ],
)
def test_bad_parameters_raise_what_numpy_raises(ours, numpys):
    with pytest.raises((ValueError, OverflowError)) as wanted:
        numpys(np.random.default_rng(0))
    with pytest.raises(wanted.type) as found:
        ours()
    assert str(found.value) == str(wanted.value)


@pytest.mark.parametrize("scale", [NAN, INF])
def test_noise_without_a_distribution_is_refused(scale):
    for family in (
        *(Laplace, Exponential, Gaussian, Gumbel, Logistic, Cauchy),
        *(DiscreteLaplace, DiscreteGaussian),
    ):
        with pytest.raises(ValueError, match=r"NaN|infinite"):
            family(scale)


def test_scale_zero_is_a_constant_as_in_numpy():
    rng = np.random.default_rng(0)
    for family in (Laplace(0), Exponential(0.0), Gaussian(0), Gumbel(0), DiscreteLaplace(0)):
        assert family.constant == 0
        assert np.all(family.sample(rng, 3) == 0)
    assert Geometric(1).constant == 1
    assert Binomial(4, 1).constant == 4
    assert Laplace(1).constant is None


class Unit:
    """A stand-in for the symbolic eps of a proof."""

    def __rtruediv__(self, other):
        return ("per unit", other)


def test_symbolic_scales_pass_through():
    unit = Unit()
    assert Laplace(unit).scale is unit
    assert Laplace(unit).shift_cost.rate == ("per unit", 1)


def test_shift_costs():
    assert Laplace(0.1).shift_cost.rate == 10
    assert Exponential(Fraction(1, 3)).shift_cost == noise.ShiftCost(
        "one_sided", Fraction(3), attained=True
    )
    assert Logistic(2).shift_cost == noise.ShiftCost("absolute", Fraction(1, 2), attained=True)
    assert Cauchy(2).shift_cost == noise.ShiftCost("absolute", Fraction(1, 2))
    assert StudentT(4, 5).shift_cost == noise.ShiftCost("absolute", Fraction(1, 4))
    assert Gumbel(2).shift_cost == noise.ShiftCost("upward", Fraction(1, 2), attained=True)
    assert Gaussian(2).shift_cost == noise.ShiftCost("square", Fraction(1, 8), attained=True)
    assert DiscreteLaplace(4).shift_cost == noise.ShiftCost("absolute", Fraction(1, 4), True, True)
    assert Uniform().shift_cost.kind == "none"


@pytest.mark.parametrize(
    ("family", "shift"), [(Laplace(2.0), 1.5), (Exponential(2.0), 1.5), (Gumbel(2.0), 1.5)]
)
def test_the_cost_bounds_the_log_ratio_of_a_shift(family, shift):
    x = np.linspace(-30, 30, 2001)
    low, _ = family.support
    x = x[x >= low]
    ratio = family.log_density(x) - family.log_density(x + shift)
    bound = float(family.shift_cost.rate) * shift
    assert ratio.max() <= bound + 1e-12
    assert ratio.max() == pytest.approx(bound)


SLOPES = [Logistic(2.0), Cauchy(2.0), StudentT(3, 2.0), StudentT(0.5), StudentT(40)]


@pytest.mark.parametrize("family", SLOPES, ids=str)
def test_the_rate_is_the_steepest_slope_of_the_log_density(family):
    x = np.linspace(-60, 60, 1_200_001)
    slopes = np.diff(family.log_density(x)) / np.diff(x)
    rate = float(family.shift_cost.rate)
    assert slopes.max() <= rate * (1 + 1e-9)
    assert slopes.max() == pytest.approx(rate, rel=1e-8)
    assert family.shift_cost.kind == "absolute"


@pytest.mark.parametrize("family", [Cauchy(2.0), StudentT(3, 2.0), StudentT(0.5)], ids=str)
@pytest.mark.parametrize("shift", [0.01, 1.5, -40.0])
def test_what_a_shift_of_heavy_tails_costs_exactly(family, shift):
    x = np.linspace(-100, 100, 400_001)
    ratio = family.log_density(x) - family.log_density(x + shift)
    exactly = family.cost_of_shift(shift)
    assert ratio.max() <= exactly * (1 + 1e-9)
    assert ratio.max() == pytest.approx(exactly, rel=1e-5)
    assert exactly < float(family.shift_cost.rate) * abs(shift)


@pytest.mark.parametrize("df", [1, 4, Fraction(9, 4), 2, 3, Fraction(7, 10), 12.5, 1e-9])
def test_the_rate_of_students_t_is_never_too_small(df):
    # (ν + 1)/(2·√ν) ≤ rate, in rationals: (ν + 1)² ≤ 4·ν·rate²
    nu, rate = Fraction(repr(df)) if isinstance(df, float) else Fraction(df), StudentT(df)
    square = 4 * nu * rate.shift_cost.rate**2
    assert (nu + 1) ** 2 <= square
    assert float(square) == pytest.approx(float((nu + 1) ** 2), rel=1e-6)


def test_no_shift_of_triangular_noise_has_a_price():
    assert Triangular(-1, 0, 2).shift_cost.kind == "none"


def test_equal_noises_are_one():
    assert len({Laplace(2), Laplace(2.0), Laplace(Fraction(2))}) == 1


def test_categorical_keeps_types_and_merges_values():
    mixed = Categorical((1, True, "a"), (0.25, 0.25, 0.5))
    assert len(mixed.outcomes) == 3
    drawn = mixed.sample(np.random.default_rng(0), 50).tolist()
    assert {type(v) for v in drawn} == {int, bool, str}
    merged = Categorical((1, 1, 2), (0.25, 0.25, 0.5))
    assert dict(merged.outcomes) == {1: Fraction(1, 2), 2: Fraction(1, 2)}


def test_importing_noise_does_not_import_scipy():
    code = (
        "import sys, numpy as np, dpest.noise as n\n"
        "rng = np.random.default_rng(0)\n"
        "n.discrete_gaussian(rng, 2.0, 10); n.discrete_laplace(rng, 2.0); n.bernoulli(rng, 0.2)\n"
        "assert 'scipy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
