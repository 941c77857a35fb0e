"""Logistic, Cauchy, Student t and triangular noise: exact values against closed forms and SciPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import dpest
from dpest.errors import RefusedError
from dpest.noise import Cauchy, StudentT

EDGES = np.array([-1e9, -1e6, -1e4, -300, -40, -10, -3, -1, 0, 1, 3, 10, 40, 300, 1e4, 1e6, 1e9])


def logistic(x, rng):
    return x[0] + rng.logistic(scale=2.0)


def cauchy(x, rng):
    return x[0] + 2 * rng.standard_cauchy()


def student(x, rng):
    return x[0] + 2.5 * rng.standard_t(3)


def triangular(x, rng):
    return x[0] + rng.triangular(-3, 0, 3)


def greatest_cauchy(x, rng):
    return int(np.argmax(np.array(x) + rng.standard_cauchy(size=len(x))))


def greatest_student(x, rng):
    return int(np.argmax(np.array(x) + rng.standard_t(2, size=len(x))))


def greatest_logistic(x, rng):
    return int(np.argmax(np.array(x) + rng.logistic(scale=2, size=len(x))))


def wider_above_zero(x, rng):
    return x[0] + (2 if x[0] > 0 else 1) * rng.standard_cauchy()


def heavier_above_zero(x, rng):
    return x[0] + (rng.standard_t(3) if x[0] > 0 else rng.standard_t(9))


def wider_laplace(x, rng):
    return x[0] + (2 if x[0] > 0 else 1) * rng.laplace()


@pytest.mark.parametrize(
    ("mechanism", "expected"),
    [
        (logistic, 0.5),
        (cauchy, Cauchy(2).cost_of_shift(1)),
        (student, StudentT(3, 2.5).cost_of_shift(1)),
        (triangular, math.inf),
    ],
)
def test_added_noise(mechanism: Any, expected: float) -> None:
    loss = dpest.exact(mechanism, [0.0], [1.0])
    assert loss.epsilon == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("mechanism", "law", "scale"),
    [
        (greatest_cauchy, stats.cauchy, 1.0),
        (greatest_student, stats.t(2), 1.0),
        (greatest_logistic, stats.logistic, 2.0),
    ],
)
def test_the_greatest_of_several(mechanism: Any, law: Any, scale: float) -> None:
    x = [0.0, 1.0, 0.5]

    def integrand(t: float, i: int) -> float:
        below = [law.cdf((t - v) / scale) for j, v in enumerate(x) if j != i]
        return float(law.pdf((t - x[i]) / scale) / scale * np.prod(below))

    found = {o.output: o.probability for o in dpest.distribution(mechanism, x).outcomes}
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)
    for i in range(3):
        pieces = [
            integrate.quad(integrand, a, b, args=(i,), epsabs=1e-13)[0]
            for a, b in zip([-np.inf, *EDGES], [*EDGES, np.inf], strict=True)
        ]
        assert found[i] == pytest.approx(sum(pieces), rel=1e-8)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.45])
def test_deltas_of_cauchy_noise(epsilon: float) -> None:
    """p > e^ε·q between the roots of a quadratic in the output."""
    law, t = stats.cauchy(scale=2), math.exp(epsilon)
    roots = np.sort(np.roots([1 - t, -2, 5 - 4 * t]).real) if epsilon else np.array([-np.inf, 0.5])
    p, q = np.diff(law.cdf(roots))[0], np.diff(law.cdf(roots - 1))[0]
    expected = p - t * q
    assert dpest.exact(cauchy, [0.0], [1.0]).delta(epsilon) == pytest.approx(expected, rel=1e-10)


def test_the_wider_tail_counts_to_its_end() -> None:
    """P(|X| > t) of scale 2 against 1 for large t: half of δ(0) lies beyond any fixed window."""
    loss = dpest.exact(wider_above_zero, [1.0], [0.0])
    p, q = stats.cauchy(1, 2), stats.cauchy()
    roots = np.sort(np.roots([1, 2, -3]).real)  # of 2·(1 + t²) = 4 + (t − 1)²
    expected = (p.cdf(roots[0]) - q.cdf(roots[0])) + (p.sf(roots[1]) - q.sf(roots[1]))
    assert loss.delta(0.0) == pytest.approx(expected, rel=1e-11)
    # ∫ q²/p = 1 + χ² = 3/2 for these two (the integrand is a rational function).
    forward = sum(
        integrate.quad(lambda t: q.pdf(t) ** 2 / p.pdf(t), a, b, epsabs=1e-13)[0]
        for a, b in zip([-np.inf, *EDGES], [*EDGES, np.inf], strict=True)
    )
    backward = sum(
        integrate.quad(lambda t: p.pdf(t) ** 2 / q.pdf(t), a, b, epsabs=1e-13)[0]
        for a, b in zip([-np.inf, *EDGES], [*EDGES, np.inf], strict=True)
    )
    assert loss.renyi(2) == pytest.approx(math.log(max(forward, backward)), rel=1e-9)


def test_renyi_divergences_of_cauchy_noise() -> None:
    # 1 + s²/(2·scale²): the χ² divergence of Cauchy noise
    assert dpest.exact(cauchy, [0.0], [1.0]).renyi(2) == pytest.approx(math.log(9 / 8), rel=1e-12)


def test_a_renyi_divergence_is_infinite_by_its_tails() -> None:
    """∫ p²/q of scales 2 and 1: e^(−u + u) for Laplace noise, u^(−8 + 10) for Student's t."""
    assert dpest.exact(wider_laplace, [1.0], [0.0]).renyi(2) == math.inf
    assert dpest.exact(wider_laplace, [1.0], [0.0]).renyi(1.5) < 2
    assert dpest.exact(heavier_above_zero, [1.0], [0.0]).renyi(2) == math.inf
    with pytest.raises(RefusedError, match="heavy tails"):
        dpest.exact(heavier_above_zero, [1.0], [0.0]).renyi(1.2)


def test_a_heavier_tail_is_an_infinite_loss() -> None:
    loss = dpest.exact(heavier_above_zero, [1.0], [0.0])
    assert loss.epsilon == math.inf
    assert loss.epsilon_backward < 2


def test_tails_that_are_too_heavy_are_refused() -> None:
    def greatest(x, rng):
        return int(np.argmax(np.array(x) + rng.standard_t(0.1, size=len(x))))

    with pytest.raises(RefusedError, match="too heavy"):
        _ = dpest.distribution(greatest, [0.0, 1.0]).outcomes
