"""SciPy's distributions draw from the reading's generator, as NumPy's do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from scipy import stats
from scipy.stats import laplace

import dpest
from dpest.errors import UntraceableError
from dpest.reading.trace import trace
from dpest.running.batch.batch import batch


def by_name(x, rng):
    return x[0] + laplace.rvs(scale=2.0, random_state=rng)


def by_position(x, rng):
    return laplace.rvs(x[0], 2.0, random_state=rng)


def frozen(x, rng):
    return x[0] + stats.laplace(scale=2.0).rvs(random_state=rng)


def frozen_with_size(x, rng):
    return x[0] + stats.laplace(0, 2.0).rvs(3, random_state=rng)[1]


def by_quantile(x, rng):
    return x[0] + scipy.stats.laplace.ppf(rng.random(), scale=2.0)


def by_frozen_quantile(x, rng):
    return stats.laplace(loc=x[0], scale=2.0).ppf(rng.random())


def difference(x, rng):
    first = stats.expon.rvs(scale=2.0, random_state=rng)
    return x[0] + first - stats.expon.rvs(scale=2.0, random_state=rng)


def by_quantiles_of_expon(x, rng):
    return x[0] + 2 * (stats.expon.ppf(rng.random()) - stats.expon.ppf(rng.random()))


def log_of_uniform(x, rng):
    u = stats.uniform.rvs(loc=-0.5, scale=1, random_state=rng)
    return x[0] - 2 * np.sign(u) * np.log(1 - 2 * abs(u))


def with_a_bernoulli_sign(x, rng):
    sign = 2 * stats.bernoulli.rvs(0.5, random_state=rng) - 1
    return x[0] + sign * stats.expon.rvs(0, 2.0, random_state=rng)


LAPLACE = [
    by_name,
    by_position,
    frozen,
    frozen_with_size,
    by_quantile,
    by_frozen_quantile,
    difference,
    by_quantiles_of_expon,
    log_of_uniform,
    with_a_bernoulli_sign,
]


@pytest.mark.parametrize("mechanism", LAPLACE, ids=lambda m: m.__name__)
def test_laplace_noise_of_scipy(mechanism: Any) -> None:
    assert dpest.exact(mechanism, [0.0], [1.0]).epsilon == pytest.approx(0.5, rel=1e-14)
    proof = dpest.prove(mechanism, adjacency=dpest.linf(1), length=1)
    assert (proof.bound, proof.status) == (0.5, "exact")


@pytest.mark.parametrize("mechanism", LAPLACE, ids=lambda m: m.__name__)
def test_batches_have_its_distribution(mechanism: Any) -> None:
    # False alarms: 0.001 for each of the two samples, at fixed seeds.
    found = batch(mechanism, [0.25], 20_000, 1)
    (group,) = found.groups
    rng = np.random.default_rng(2)
    runs = [float(mechanism([0.25], rng)) for _ in range(200)]
    for values in (group.columns[0], runs):
        assert stats.kstest(values, stats.laplace(0.25, 2.0).cdf).pvalue > 0.001


def test_other_families() -> None:
    def several(x, rng):
        return (
            bool(stats.norm.rvs(x[0], 2.0, random_state=rng) > 1),
            int(stats.geom.rvs(0.3, random_state=rng)) > 2,
            int(stats.dlaplace.rvs(0.5, random_state=rng)) > 1,
            int(stats.poisson(2.0).rvs(random_state=rng)) > 1,
            int(stats.binom.rvs(3, 0.25, random_state=rng)) > 0,
            bool(stats.gumbel_r.rvs(scale=2.0, random_state=rng) > 1),
            bool(stats.logistic.rvs(x[0], 2.0, random_state=rng) > 1),
            bool(stats.cauchy(x[0], 2.0).rvs(random_state=rng) > 1),
            bool(stats.t.rvs(3, scale=2.0, random_state=rng) > 1),
            bool(stats.triang.rvs(0.25, loc=x[0], scale=2.0, random_state=rng) > 1),
        )

    expected = [
        stats.norm(0.5, 2.0).sf(1),
        stats.geom(0.3).sf(2),
        stats.dlaplace(0.5).sf(1),
        stats.poisson(2.0).sf(1),
        stats.binom(3, 0.25).sf(0),
        stats.gumbel_r(scale=2.0).sf(1),
        stats.logistic(0.5, 2.0).sf(1),
        stats.cauchy(0.5, 2.0).sf(1),
        stats.t(3, scale=2.0).sf(1),
        stats.triang(0.25, 0.5, 2.0).sf(1),
    ]
    found = dpest.distribution(several, [0.5]).outcomes
    for place, chance in enumerate(expected):
        share = sum(o.probability for o in found if o.output[place])
        assert share == pytest.approx(chance, rel=1e-12)


def test_every_length() -> None:
    def vector(x, rng):
        return np.array(x) + laplace.rvs(scale=2.0, size=len(x), random_state=rng)

    proof = dpest.prove(vector, adjacency=dpest.l1(1))
    assert (proof.bound, proof.length) == (0.5, dpest.ANY)


def test_a_wrong_scale_is_seen() -> None:
    def mechanism(x, rng):
        return x[0] + laplace.rvs(scale=0.5, random_state=rng)

    verdict = dpest.audit(
        mechanism, claim=dpest.PureDP(0.5), adjacency=dpest.linf(1), domain=dpest.reals(1)
    )
    assert verdict.status == "violated"
    assert verdict.lower.value == pytest.approx(2.0)


def test_what_is_not_known_says_so() -> None:
    def normal_quantile(x, rng):
        return x[0] + stats.norm.ppf(rng.random())

    def by_keyword(x, rng):
        return x[0] + stats.geom.rvs(p=0.3, random_state=rng)

    with pytest.raises(UntraceableError, match=r"norm\.ppf of a noisy value"):
        trace(normal_quantile, [0.0])
    with pytest.raises(UntraceableError, match="with these arguments"):
        trace(by_keyword, [0.0])


def test_scipy_stays_as_it_is() -> None:
    assert laplace.ppf(0.75, scale=2.0) == pytest.approx(2 * math.log(2))
    before = stats.laplace
    trace(by_name, [0.0])
    assert stats.laplace is before
    assert laplace is before
