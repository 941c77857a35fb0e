"""Properties that every family must have, over several parameters each."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from dpest import noise
from dpest.noise import (
    Bernoulli,
    Binomial,
    Categorical,
    Cauchy,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteUniform,
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

CONTINUOUS = [
    Laplace(1.0),
    Laplace(Fraction(2, 5)),
    Laplace(40),
    Exponential(1.0),
    Exponential(0.05),
    Gaussian(1.0),
    Gaussian(7.5),
    Gumbel(1.0),
    Gumbel(20),
    Uniform(),
    Uniform(-3, 2.5),
    Logistic(1.0),
    Logistic(Fraction(7, 3)),
    Cauchy(1.0),
    Cauchy(Fraction(1, 20)),
    StudentT(0.7),
    StudentT(3, 2.5),
    StudentT(Fraction(25, 2)),
    StudentT(400),
    Triangular(-2, 0, 2),
    Triangular(0, 0, 1.5),
    Triangular(-1, 3.0, 3.0),
]
# The mean of samples says little of these, or nothing: they have no fourth moment.
HEAVY = {*(Cauchy(b) for b in (1.0, Fraction(1, 20), 2.5)), StudentT(0.7), StudentT(3, 2.5)}
DISCRETE = [
    Bernoulli(0.3),
    Bernoulli(Fraction(9, 10)),
    Categorical((0, 1, 5), (0.2, 0.5, 0.3)),
    Categorical((3, -1, 3, 2), (Fraction(1, 4),) * 4),
    DiscreteUniform(-2, 7),
    Geometric(0.3),
    Geometric(0.95),
    TwoSidedGeometric(0.4),
    DiscreteLaplace(0.3),
    DiscreteLaplace(5.0),
    DiscreteGaussian(0.4),
    DiscreteGaussian(3.0),
    DiscreteGaussian(60.0),
    Binomial(1, 0.5),
    Binomial(30, 0.1),
    Binomial(1000, 0.7),
    Poisson(0.4),
    Poisson(80.0),
]
ALL = [*CONTINUOUS, *DISCRETE]
REFERENCE = [
    (Laplace(2.5), stats.laplace(scale=2.5)),
    (Exponential(2.5), stats.expon(scale=2.5)),
    (Gaussian(2.5), stats.norm(scale=2.5)),
    (Gumbel(2.5), stats.gumbel_r(scale=2.5)),
    (Uniform(-1, 4), stats.uniform(-1, 5)),
    (Logistic(2.5), stats.logistic(scale=2.5)),
    (Cauchy(2.5), stats.cauchy(scale=2.5)),
    (StudentT(3, 2.5), stats.t(3, scale=2.5)),
    (StudentT(0.7), stats.t(0.7)),
    (Triangular(-1, 0.5, 3), stats.triang(0.375, -1, 4)),
    (Geometric(0.3), stats.geom(0.3)),
    (DiscreteLaplace(2.5), stats.dlaplace(0.4)),
    (Binomial(40, 0.3), stats.binom(40, 0.3)),
    (Poisson(12.5), stats.poisson(12.5)),
]


def lattice(family):
    """Integers that hold all but 1e-14 of the mass."""
    low, high = family.support
    low = low if math.isfinite(low) else float(family.quantile(1e-15)) - 50
    high = high if math.isfinite(high) else -float(-family.quantile(1 - 1e-15)) + 50
    return np.arange(low, high + 1)


# Heavy tails are integrated from one of these quantiles to the next.
LEVELS = np.concatenate([np.logspace(-12, -1, 45), 1 - np.logspace(-12, -1, 45)])


def name(value):
    return repr(value) if isinstance(value, noise.Noise) else None


@pytest.mark.parametrize("family", CONTINUOUS, ids=name)
def test_density_integrates_to_the_cdf(family):
    low, high = (float(family.quantile(u)) for u in (1e-12, 1 - 1e-12))
    for u in (0.02, 0.3, 0.5, 0.9, 1 - 1e-12):
        point = float(family.quantile(u))
        kinks = [k for k in family.kinks if low < k < point]
        inner = np.concatenate([np.linspace(low, point, 30)[1:-1], family.quantile(LEVELS)])
        edges = [low, *kinks, *inner[(inner > low) & (inner < point)], point]
        mass = sum(
            integrate.quad(family.density, a, b, epsabs=1e-14)[0]
            for a, b in itertools.pairwise(sorted(edges))
        )
        assert mass == pytest.approx(float(family.cdf(point)), abs=1e-9)
    assert high > low


@pytest.mark.parametrize("family", DISCRETE, ids=name)
def test_masses_sum_to_one_and_to_the_cdf(family):
    points = lattice(family)
    masses = family.density(points)
    assert masses.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(np.cumsum(masses), family.cdf(points), atol=1e-12)
    np.testing.assert_allclose(family.cdf(points + 0.5), family.cdf(points))
    assert family.density(0.5) == 0


@pytest.mark.parametrize("family", ALL, ids=name)
def test_cdf_and_survival_are_complements_and_logs_agree(family):
    low, high = (float(family.quantile(u)) for u in (1e-6, 1 - 1e-6))
    x = np.linspace(low - 3, high + 3, 200)
    np.testing.assert_allclose(family.cdf(x) + family.sf(x), 1, atol=1e-13)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(family.log_cdf(x), np.log(family.cdf(x)), atol=1e-12)
        np.testing.assert_allclose(family.log_sf(x), np.log(family.sf(x)), atol=1e-12)
        np.testing.assert_allclose(family.log_density(x), np.log(family.density(x)), atol=1e-12)


@pytest.mark.parametrize("family", ALL, ids=name)
def test_quantile_is_the_least_value_that_reaches_u(family):
    u = np.array([1e-9, 0.01, 0.2, 0.5, 0.77, 0.99, 1 - 1e-9])
    points = family.quantile(u)
    assert np.all(family.cdf(points) >= u * (1 - 1e-9))
    step = 0.5 if family.discrete else 1e-6 * (1 + np.abs(points))
    before = family.cdf(points - step)
    assert np.all(before < u) or not family.discrete
    if not family.discrete:
        np.testing.assert_allclose(family.cdf(points), u, rtol=1e-8)


@pytest.mark.parametrize("family", [f for f in ALL if f not in HEAVY], ids=name)
def test_moments(family):
    u = np.random.default_rng(3).random(200_000)
    values = family.quantile(u)
    spread = math.sqrt(family.variance / len(u))
    assert abs(values.mean() - family.mean) < 5 * spread  # false alarm below 1e-6 each
    assert values.var() == pytest.approx(family.variance, rel=0.1)


# Null hypothesis: the sampler draws from the cdf. 40 families at 1e-5 each: a correct sampler
# fails this file with probability below 4e-4 over the choice of the seed, which is fixed.
LEVEL = 1e-5


@pytest.mark.parametrize("family", ALL, ids=name)
def test_sampler_matches_the_cdf(family):
    draws = np.asarray(family.sample(np.random.default_rng(7), 20_000), dtype=float)
    if not family.discrete:
        assert stats.kstest(draws, family.cdf).pvalue > LEVEL
        return
    values, counts = np.unique(draws, return_counts=True)
    expected = family.density(values) * len(draws)
    assert np.all(expected > 0)
    rare = expected < 10
    observed = np.append(counts[~rare], len(draws) - counts[~rare].sum())
    wanted = np.append(expected[~rare], len(draws) - expected[~rare].sum())
    if wanted[-1] < 5:  # too little for the approximation: leave it out
        observed, wanted = observed[:-1], wanted[:-1]
    statistic = ((observed - wanted) ** 2 / wanted).sum()
    assert stats.chi2.sf(statistic, max(len(wanted) - 1, 1)) > LEVEL


@pytest.mark.parametrize(("family", "reference"), REFERENCE, ids=name)
def test_agrees_with_scipy(family, reference):
    x = np.concatenate([np.linspace(-40, 60, 101), reference.ppf([0.01, 0.5, 0.99])])
    log_density = reference.logpmf if family.discrete else reference.logpdf
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(family.log_density(x), log_density(x), rtol=1e-9, atol=1e-12)
        inside = reference.cdf(x) > 1e-5  # SciPy's own tails are differences from 1
        np.testing.assert_allclose(
            family.log_cdf(x)[inside], reference.logcdf(x)[inside], rtol=1e-8, atol=1e-10
        )
        inside = reference.sf(x) > 1e-5
        np.testing.assert_allclose(
            family.log_sf(x)[inside], reference.logsf(x)[inside], rtol=1e-8, atol=1e-10
        )
    if family not in HEAVY:
        assert family.mean == pytest.approx(reference.mean())
        assert family.variance == pytest.approx(reference.var())


def exact_log_tail(family, k, terms=4000):
    """log P(X > k) in rational or 60-digit arithmetic."""
    import mpmath

    with mpmath.workdps(60):
        if isinstance(family, DiscreteGaussian):
            s = mpmath.mpf(family.sigma)
            total = mpmath.nsum(
                lambda j: mpmath.exp(-(j**2) / (2 * s**2)), [-mpmath.inf, mpmath.inf]
            )
            part = mpmath.fsum(
                mpmath.exp(-(mpmath.mpf(j) ** 2) / (2 * s**2)) for j in range(k + 1, k + terms)
            )
            return float(mpmath.log(part / total))
        if isinstance(family, Poisson):
            r = mpmath.mpf(family.rate)
            part = mpmath.fsum(
                mpmath.exp(-r + j * mpmath.log(r) - mpmath.loggamma(j + 1))
                for j in range(k + 1, k + terms)
            )
            return float(mpmath.log(part))
        n, p = family.n, Fraction(repr(family.p))
        part = sum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k + 1, n + 1))
        return float(mpmath.log(mpmath.mpf(part.numerator) / part.denominator))


@pytest.mark.parametrize(
    ("family", "k"),
    [
        (DiscreteGaussian(3.0), 2),
        (DiscreteGaussian(3.0), 200),
        (DiscreteGaussian(0.4), 30),
        (DiscreteGaussian(60.0), 700),
        (Poisson(4.0), 6),
        (Poisson(4.0), 300),
        (Binomial(60, 0.2), 11),
        (Binomial(60, 0.2), 58),
        (Binomial(400, 0.01), 350),
    ],
    ids=str,
)
def test_tails_far_below_the_smallest_double(family, k):
    assert float(family.log_sf(k)) == pytest.approx(exact_log_tail(family, k), rel=1e-12)


@pytest.mark.parametrize("family", [Laplace(2.0), Gumbel(2.0), Exponential(2.0)], ids=name)
def test_exponential_tails_keep_their_rate(family):
    rate = family.tail_rates[1]
    far = float(family.log_sf(5000.0) - family.log_sf(4000.0))
    assert far == pytest.approx(-1000 * rate, rel=1e-12)


@pytest.mark.parametrize("family", DISCRETE, ids=name)
def test_exact_masses_agree_and_sum_to_one(family):
    if family.outcomes is not None:
        chances = [p for _, p in family.outcomes]
        assert all(isinstance(p, Fraction) for p in chances)
        assert sum(chances) == 1
        values = np.array([float(v) for v, _ in family.outcomes])
        np.testing.assert_allclose(family.density(values), [float(p) for p in chances], rtol=1e-11)
    for k in (-3, 0, 1, 2, 5):
        exact = family.mass_exact(k)
        if exact is not None:
            assert float(exact) == pytest.approx(float(family.density(k)), rel=1e-11, abs=1e-300)


def test_two_sided_tails_are_exact():
    family, p = TwoSidedGeometric(0.4), Fraction(2, 5)
    for k in (-3, -1, 0, 1, 4):
        above = sum(family.mass_exact(j) for j in range(k + 1, 200))
        rest = (1 - p) ** 200 / (2 - p)
        assert math.exp(float(family.log_sf(k))) == pytest.approx(float(above + rest), rel=1e-13)
    far = float(family.log_sf(5000))
    assert far == pytest.approx(5001 * math.log(0.6) - math.log(1.6), rel=1e-13)
    assert float(family.log_cdf(-5001)) == pytest.approx(far, rel=1e-13)


@pytest.mark.parametrize("family", [DiscreteGaussian(900.0), Poisson(4e5), Binomial(10**6, 0.3)])
def test_many_points_of_a_wide_family_share_their_sums(family):
    spread = math.sqrt(family.variance)
    points = np.round(family.mean + spread * np.linspace(-12, 12, 3001))
    table = family.log_sf(points)
    one_by_one = [float(family.log_sf(p)) for p in points[::500]]
    np.testing.assert_allclose(table[::500], one_by_one, rtol=1e-10, atol=1e-10)
    assert np.all(np.diff(table) <= 0)
    assert family.log_sf(np.array([np.inf, -np.inf])).tolist() == [-np.inf, 0.0]
