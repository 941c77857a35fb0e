"""Probabilities of small conjunctions against scipy and against sums written out."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from dpest.geometry.chances import probability
from dpest.geometry.linear import Condition, Form, Symbol, rational
from dpest.noise import Cauchy, Gaussian, Geometric, Laplace, StudentT, Uniform
from dpest.noise.family import Noise

A, B = Symbol("noise", "a"), Symbol("noise", "b")
SCIPY: dict[str, Any] = {
    "laplace": lambda n: stats.laplace(scale=n.scale),
    "gaussian": lambda n: stats.norm(scale=n.sigma),
}


def bounds(form: Form, low: float, high: float) -> list[Condition]:
    return [
        Condition(form.plus(Form.number(-low)), ">="),
        Condition(Form.number(high).plus(form, -1), ">"),
    ]


def combination(a: float, b: float) -> Form:
    return Form({A: rational(a), B: rational(b)})


@pytest.mark.parametrize("low", [-1.0, 0.0, 2.5, 30.0])
@pytest.mark.parametrize("noise", [Laplace(1.5), Gaussian(0.7)], ids=lambda n: n.family)
def test_one_noise(noise: Noise, low: float) -> None:
    found = probability(bounds(Form.of(A), low, low + 1.25), (), {A: noise})
    plain = SCIPY[noise.family](noise)
    want = (
        plain.sf(low) - plain.sf(low + 1.25) if low > 0 else plain.cdf(low + 1.25) - plain.cdf(low)
    )
    assert found == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize(
    ("x", "y"),
    [(Laplace(1.0), Laplace(1.0)), (Laplace(0.5), Gaussian(2.0)), (Gaussian(1.0), Gaussian(3.0))],
    ids=["laplaces", "mixed", "gaussians"],
)
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (2.0, -1.0)])
def test_two_reals(x: Noise, y: Noise, a: float, b: float) -> None:
    found = probability(bounds(combination(a, b), -0.5, 1.75), (), {A: x, B: y})
    first, second = SCIPY[x.family](x), SCIPY[y.family](y)

    def inner(v: float) -> float:
        ends = sorted([(-0.5 - a * v) / b, (1.75 - a * v) / b])
        return float(first.pdf(v) * (second.cdf(ends[1]) - second.cdf(ends[0])))

    kinks = [0.0, -0.25, 0.875, -0.5, 1.75]
    want = integrate.quad(inner, -60, 60, points=kinks, epsabs=1e-13, epsrel=1e-12, limit=500)[0]
    assert found == pytest.approx(want, abs=1e-11)


@pytest.mark.parametrize("heavy", [Cauchy(1.5), StudentT(4), StudentT(0.5)], ids=str)
def test_heavy_tails_beside_others(heavy: Noise) -> None:
    """The other noise is the one that is integrated: panels over heavy tails miss the middle."""
    other = Laplace(0.75)
    conditions = bounds(combination(1.0, 2.0), -0.5, 2.0)

    def inner(z: float) -> float:
        return float(heavy.cdf(2 - 2 * z) - heavy.cdf(-0.5 - 2 * z))

    plain = stats.laplace(scale=0.75)
    pieces = [
        integrate.quad(lambda z: plain.pdf(z) * inner(z), lo, hi, epsabs=1e-14)[0]
        for lo, hi in ((-40, -1), (-1, 0), (0, 1), (1, 40))
    ]
    found = probability(conditions, (), {A: heavy, B: other})
    assert found == pytest.approx(sum(pieces), rel=1e-10)
    assert probability(conditions, (), {A: heavy, B: heavy}) is None


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.3, 0.7), (0.05, 0.1)])
def test_two_integers(p: float, q: float) -> None:
    found = probability(bounds(combination(1, -1), -2, 4), (), {A: Geometric(p), B: Geometric(q)})
    k = np.arange(1, 2000)
    first, second = stats.geom.pmf(k, p), stats.geom.pmf(k, q)
    want = math.fsum(
        float(
            np.dot(first[max(d, 0) : len(k) + min(d, 0)], second[max(-d, 0) : len(k) - max(d, 0)])
        )
        for d in range(-2, 4)
    )
    assert found == pytest.approx(want, rel=1e-12)


def test_rational_where_it_can_be() -> None:
    found = probability(bounds(Form.of(A), 0.25, 0.5), (), {A: Uniform(0.0, 1.0)})
    assert found == Fraction(1, 4)


def test_what_hangs_together_is_not_multiplied() -> None:
    conditions = [Condition(Form.of(A), ">"), Condition(combination(1, 1), ">")]
    assert probability(conditions, (), {A: Laplace(1.0), B: Laplace(1.0)}) is None
