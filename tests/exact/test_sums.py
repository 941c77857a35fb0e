"""Sums of noises: closed forms, moments, sampling; losses of released sums."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import gamma, irwinhall, norm

from dpest import zoo
from dpest.exact.engine import exact_loss
from dpest.exact.integration.exponential_sums import ExponentialSum
from dpest.exact.integration.quadrature import WEIGHTS, nodes_of
from dpest.exact.integration.sums import sum_of
from dpest.exact.outputs.output import output_distribution
from dpest.noise import discrete_laplace
from dpest.noise.exponential import Exponential
from dpest.noise.gaussian import Gaussian
from dpest.noise.laplace import Laplace
from dpest.noise.uniform import Uniform
from dpest.reading.trace import trace

ONE = Fraction(1)


def both(*scales: Fraction) -> ExponentialSum:
    stages = tuple((s, scales.count(s)) for s in sorted(set(scales)))
    return ExponentialSum(stages, stages)


SUMS = {
    "ten equal": both(*[ONE] * 10),
    "a hundred": both(*[ONE] * 100),
    "one to ten": both(*(Fraction(k) for k in range(1, 11))),
    "nearly equal": both(*(ONE + Fraction(k, 1000) for k in range(8))),
    "far apart": both(Fraction(1, 1000), ONE, Fraction(1000)),
    "one-sided": ExponentialSum(tuple((Fraction(k), 1) for k in range(1, 7)), ()),
    "lopsided": ExponentialSum(((ONE, 3), (Fraction(1, 50), 2)), ((Fraction(20), 1),)),
    "laplace and gaussian": sum_of(((Laplace(3.0), ONE), (Gaussian(2.0), ONE))),
    "uniform and laplace": sum_of(((Uniform(-1.0, 2.0), ONE), (Laplace(1.0), Fraction(-2)))),
}


@pytest.mark.parametrize("name", SUMS)
def test_mass_moments_and_tails_of_a_sum(name):
    noise = SUMS[name]
    width = math.sqrt(noise.variance)
    steps = np.geomspace(1e-6, 90.0, 300) * width
    breaks = np.unique(np.concatenate([-steps, [0.0], steps, list(noise.kinks)]))
    starts, ends = breaks[:-1], breaks[1:]
    x = nodes_of(starts, ends)
    density = np.exp(noise.log_density(x.ravel())).reshape(x.shape)
    half = (ends - starts) / 2
    masses = (density @ WEIGHTS) * half
    below = np.concatenate([[0.0], np.cumsum(masses)])
    assert below[-1] == pytest.approx(1.0, abs=1e-11)
    assert np.abs(np.exp(noise.log_cdf(breaks)) - below).max() < 1e-11
    assert np.abs(np.exp(noise.log_sf(breaks)) - (1 - below)).max() < 1e-11
    mean = ((density * x) @ WEIGHTS * half).sum()
    assert mean == pytest.approx(noise.mean, abs=1e-10 * width)
    square = ((density * (x - mean) ** 2) @ WEIGHTS * half).sum()
    assert square == pytest.approx(noise.variance, rel=1e-9)


def test_equal_exponentials_are_a_gamma_variable_down_to_its_smallest_digits():
    noise = sum_of(((Exponential(2.0), ONE),) * 5)
    x = np.array([1e-12, 1e-5, 0.1, 1.0, 10.0, 100.0, 1000.0])
    truth = gamma(5, scale=2.0)
    assert noise.log_density(x) == pytest.approx(truth.logpdf(x), abs=1e-12)
    assert noise.log_cdf(x) == pytest.approx(truth.logcdf(x), abs=1e-12)
    assert noise.log_sf(x) == pytest.approx(truth.logsf(x), abs=1e-12)


def test_uniform_noises_make_irwin_and_hall():
    noise = sum_of(((Uniform(0.0, 1.0), ONE),) * 4)
    x = np.array([1e-4, 0.3, 1.0, 1.7, 2.5, 3.2, 3.999])
    assert np.exp(noise.log_density(x)) == pytest.approx(irwinhall(4).pdf(x), rel=1e-10)


def test_close_scales_against_one_scale():
    """Scales that differ by 1e-9 make the same density to nine digits, without a digit lost."""
    x = np.linspace(-30, 30, 101)
    close = both(*(ONE + Fraction(k, 10**9) for k in range(6)))
    assert close.log_density(x) == pytest.approx(both(*[ONE] * 6).log_density(x), abs=1e-6)


def test_ten_laplace_draws_added_up():
    def mechanism(x, rng):
        return x + sum(rng.laplace(scale=1) for _ in range(10))

    loss = exact_loss(mechanism, 0, 1)
    assert loss.epsilon == 1.0  # a limit: far out the shift costs its full rate
    assert loss.complete
    noise = SUMS["ten equal"]
    # δ(0) of a symmetric log-concave density: the halves lie on their own sides of 1/2.
    half = float(np.exp(noise.log_cdf(np.array([0.5])))[0])
    assert loss.total_variation == pytest.approx(2 * half - 1, abs=1e-11)
    # The characteristic function's integral, by another route: 1/(1 + t²)^10.
    t, step = np.linspace(-40, 40, 400_001, retstep=True)
    at_zero = float((1 / (1 + t**2) ** 10).sum() * step / (2 * math.pi))
    found = output_distribution(trace(mechanism, 0)).density(0.0)
    assert found == pytest.approx(at_zero, rel=1e-9)


@pytest.mark.parametrize(
    ("draw", "epsilon"),
    [
        (lambda rng: sum(rng.laplace(scale=k) for k in range(1, 6)), 1 / 5),
        (lambda rng: rng.laplace() + rng.normal(scale=2) + rng.laplace(scale=3), 1 / 3),
        (lambda rng: rng.exponential(1) + rng.exponential(2) - rng.exponential(3), 1 / 2),
        (lambda rng: rng.uniform() + rng.uniform() + rng.uniform(), math.inf),
        (lambda rng: 2 * rng.laplace(scale=1) - rng.laplace(scale=1), 1 / 2),
    ],
)
def test_epsilon_of_a_released_sum(draw, epsilon):
    def mechanism(x, rng):
        return x + draw(rng)

    assert exact_loss(mechanism, 0, 1).epsilon == pytest.approx(epsilon, rel=1e-12)


def test_discrete_laplace_draws_added_up():
    def mechanism(x, rng):
        return x + sum(discrete_laplace(rng, 2.0) for _ in range(6)) - discrete_laplace(rng, 3.0)

    loss = exact_loss(mechanism, 0, 1)
    assert loss.epsilon == pytest.approx(1 / 3, rel=1e-14)
    assert exact_loss(mechanism, 0, 0.5).epsilon == math.inf  # between the lattice's points
    # By brute force: masses convolved on a wide window.
    k = np.arange(-400, 401)
    masses = np.ones(1)
    for scale in (2.0,) * 6 + (3.0,):
        one = math.tanh(1 / (2 * scale)) * np.exp(-np.abs(k) / scale)
        masses = np.convolve(masses, one)
    middle = len(masses) // 2
    found = output_distribution(trace(mechanism, 0))
    for at in (0, 1, 7, -40):
        assert found.density(at) == pytest.approx(masses[middle + at], rel=1e-12)
    shifted = np.append(0.0, masses[:-1])
    truth = np.maximum(masses - math.exp(0.1) * shifted, 0.0).sum()
    assert loss.delta(0.1) == pytest.approx(truth, abs=1e-12)


def test_gaussian_noises_add_their_variances():
    def mechanism(x, rng):
        return x + rng.normal(scale=1) + rng.normal(scale=2) + rng.normal(scale=2)

    loss, mu = exact_loss(mechanism, 0, 1), 1 / 3
    truth = norm.cdf(mu / 2 - 0.2 / mu) - math.exp(0.2) * norm.cdf(-mu / 2 - 0.2 / mu)
    assert loss.delta(0.2) == pytest.approx(truth, rel=1e-10)


def test_a_threshold_on_a_sum_against_sampling():
    """z = 5: a false alarm in 1.7 million tests."""

    def mechanism(x, rng):
        noisy = x + sum(rng.laplace(scale=1) for _ in range(4))
        return noisy > 1

    p = output_distribution(trace(mechanism, 0)).probability(True)
    draws = np.random.default_rng(5).laplace(size=(4, 1_000_000)).sum(axis=0)
    assert abs((draws > 1).mean() - p) < 5 * math.sqrt(p * (1 - p) / 1e6)


def test_a_sum_of_two_maxima_in_two_ways():
    """NoisyMaxSum's density against a plain Gauss-Legendre sum that knows the formula."""

    def density(centre, at, scale=10.0):
        def one(v):
            z = (v - centre) / scale
            tail = np.exp(-np.abs(z)) / 2
            below = np.where(z < 0, tail, 1 - tail)
            return 10 * below**9 * tail / scale

        edges = [-900.0, min(at - centre, centre), max(at - centre, centre), 700.0]
        breaks = np.concatenate([np.linspace(a, b, 1001) for a, b in itertools.pairwise(edges)])
        starts, ends = breaks[:-1], breaks[1:]
        x = nodes_of(starts, ends)
        return float(((one(x) * one(at - x)) @ WEIGHTS * (ends - starts) / 2).sum())

    entry = zoo.get("NoisyMaxSum")
    first, second = (output_distribution(trace(entry, [c] * 20)) for c in (1.0, 2.0))
    for at in (-60.0, 0.0, 30.0, 80.0):
        truth = math.log(density(1.0, at)), math.log(density(2.0, at))
        assert first.log_density(at) == pytest.approx(truth[0], abs=1e-11)
        assert second.log_density(at) == pytest.approx(truth[1], abs=1e-11)
    loss = exact_loss(entry, [1.0] * 20, [2.0] * 20)
    assert abs(loss.epsilon - 2.0) <= loss.error < 1e-10  # a limit at -∞: 2⌊n/2⌋·eps
