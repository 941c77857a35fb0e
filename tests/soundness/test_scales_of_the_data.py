"""Noise whose scale, shape or place is made of data: no shift carries one run to the other.

Smooth sensitivity adds Cauchy or Student t noise scaled by a bound on what the data can do. Its
proof is one of dilations; a rule for shifts must not be applied to it.
"""

from __future__ import annotations

from typing import Any

import pytest
from scipy import stats

import dpest
from dpest.proofs import prove


def spread_of(x):
    s = sorted(x)
    return max(s[1] - s[0], s[2] - s[1])


def cauchy_by_product(x, rng):
    return sorted(x)[1] + max(1.0, spread_of(x)) * rng.standard_cauchy()


def student_by_product(x, rng):
    return sorted(x)[1] + max(1.0, spread_of(x)) * rng.standard_t(3)


def cauchy_of_scipy(x, rng):
    return stats.cauchy.rvs(sorted(x)[1], 1 + spread_of(x), random_state=rng)


def student_of_scipy(x, rng):
    return stats.t.rvs(3, loc=sorted(x)[1], scale=1 + spread_of(x), random_state=rng)


def logistic_scale(x, rng):
    return rng.logistic(sorted(x)[1], 1 + spread_of(x))


def linear_scale(x, rng):
    return (1 + x[0]) * rng.standard_cauchy()


def linear_scale_of_scipy(x, rng):
    return stats.cauchy.rvs(scale=1 + x[0], random_state=rng)


def linear_scale_of_logistic(x, rng):
    return rng.logistic(scale=1 + x[0])


def degrees_of_the_data(x, rng):
    return rng.standard_t(3 + x[0])


def degrees_by_a_branch(x, rng):
    return x[0] + rng.standard_t(3 if x[0] > 1 else 4)


def scale_by_a_branch(x, rng):
    return x[0] + (2 if x[0] > 1 else 1) * rng.standard_cauchy()


def ends_of_the_data(x, rng):
    return rng.triangular(0, x[0], 3)


def scale_of_noise(x, rng):
    return x[0] + (1 + abs(rng.laplace())) * rng.standard_cauchy()


MECHANISMS = [
    cauchy_by_product, student_by_product, cauchy_of_scipy, student_of_scipy, logistic_scale,
    linear_scale, linear_scale_of_scipy, linear_scale_of_logistic, degrees_of_the_data,
    degrees_by_a_branch, scale_by_a_branch, ends_of_the_data, scale_of_noise,
]  # fmt: skip


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.__name__)
@pytest.mark.parametrize("domain", [dpest.reals(3, low=0.5, high=2.5), dpest.reals(dpest.ANY)])
def test_no_shift_proves_it(mechanism: Any, domain: Any) -> None:
    proof = prove(mechanism, adjacency="linf", domain=domain)
    assert proof.bound is None


@pytest.mark.parametrize(
    ("mechanism", "least"),
    # Scales of 2 and 1, far out: log 2. Tails of powers 4 and 5: any loss.
    [(scale_by_a_branch, 0.69), (linear_scale, 0.49), (degrees_by_a_branch, 20.0)],
)
def test_what_they_lose_is_seen(mechanism: Any, least: float) -> None:
    domain = dpest.reals(1, low=0.5, high=2.5)
    found = dpest.audit(mechanism, epsilon=0.1, adjacency="linf", domain=domain, engines=("exact",))
    assert found.status == "violated"
    assert found.lower.value >= least
