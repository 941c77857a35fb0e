"""Symbolic values, arrays and draws, one operation at a time."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpest.errors import UntraceableError
from dpest.geometry.linear import Condition, Form, Symbol, rational
from dpest.noise import DiscreteLaplace, Laplace
from dpest.noise.discrete_uniform import DiscreteUniform
from dpest.reading.domains.unit import Unit
from dpest.reading.fixed import at_centre
from dpest.reading.trace import trace

# Operations against NumPy's own on random numbers: one draw of noise is as good as a number, so
# each function is traced and the trace evaluated at random points (see program.conformance).

ELEMENTWISE: list[tuple[str, Any]] = [
    ("add", lambda a, b: a + b),
    ("subtract", lambda a, b: np.subtract(b, a)),
    ("scale", lambda a, b: 3 * a - b / 4),
    ("reflected", lambda a, b: 1 - a),
    ("negative", lambda a, b: -a),
    ("absolute", lambda a, b: np.abs(a)),
    ("sign", lambda a, b: np.sign(a)),
    ("maximum", lambda a, b: np.maximum(a, b)),
    ("minimum", lambda a, b: np.minimum(a, 0)),
    ("clip", lambda a, b: np.clip(a, -1, 1)),
    ("clip method", lambda a, b: a.clip(0)),
    ("where", lambda a, b: np.where(a > b, a, b)),
    ("where numbers", lambda a, b: np.where(a > b, 1, 0)),
    ("logical", lambda a, b: np.logical_and(a > 0, np.logical_not(b > 0))),
    ("bitwise", lambda a, b: (a > 0) & (b > 0) | (a < -1)),
    ("xor", lambda a, b: (a > 0) ^ (b > 0)),
    ("sum", lambda a, b: np.sum(a) + a.sum() + sum(b)),
    ("mean", lambda a, b: np.mean(a) + b.mean()),
    ("average", lambda a, b: np.average(a, weights=[1, 2, 1])),
    ("cumsum", lambda a, b: np.cumsum(a)),
    ("diff", lambda a, b: np.diff(a)),
    ("dot", lambda a, b: np.dot(a, [1, -1, 2]) + a @ np.array([0.5, 0, 1])),
    ("max", lambda a, b: (np.max(a), a.min(), max(a), min(b))),
    ("argmax", lambda a, b: (np.argmax(a), np.argmin(b))),
    ("sort", lambda a, b: np.sort(a)),
    ("argsort", lambda a, b: np.argsort(a)),
    ("sorted", lambda a, b: sorted(a, reverse=True)),
    ("median", lambda a, b: np.median(a)),
    ("ptp", lambda a, b: np.ptp(a)),
    ("any", lambda a, b: np.any(a > 1)),
    ("all", lambda a, b: (a > -1).all()),
    ("count", lambda a, b: np.count_nonzero(a > 0)),
    ("first", lambda a, b: np.argmax(a > 0)),
    ("nonzero", lambda a, b: np.nonzero(a > 0)[0]),
    ("concatenate", lambda a, b: np.concatenate([a, [1.0], b])),
    ("stack", lambda a, b: np.stack([a, b]).max(axis=0)),
    ("vstack", lambda a, b: np.vstack([a, b]).sum(axis=1)),
    ("reshape", lambda a, b: np.append(a, b).reshape(2, 3).T),
    ("roll", lambda a, b: np.roll(a, 1)[::-1]),
    ("repeat", lambda a, b: np.repeat(a[:1], 2)),
    ("fancy", lambda a, b: a[[2, 0]]),
    ("mask", lambda a, b: a[b > 0]),
    ("assign", lambda a, b: _assigned(a, b)),
    ("tolist", lambda a, b: [v + 1 for v in a.tolist()]),
    ("astype", lambda a, b: (a > 0).astype(int) + (b > 0).astype(float)),
    ("searchsorted", lambda a, b: np.searchsorted([-1, 0, 1], a)),
    ("digitize", lambda a, b: np.digitize(a[0], [-1.0, 0.0])),
    ("isclose", lambda a, b: np.isclose(a, 0, atol=1.0)),
    ("isnan", lambda a, b: np.isnan(a) | ~np.isfinite(b)),
    ("outer", lambda a, b: np.add.outer(a, [0, 1])),
    ("accumulate", lambda a, b: np.maximum.accumulate(a)),
    ("heaviside", lambda a, b: np.heaviside(a, 0.5)),
    ("zeros like", lambda a, b: np.zeros_like(a) + np.full_like(a, 2)),
    ("tensordot", lambda a, b: np.outer(a, [1, 2])),
    ("in place", lambda a, b: _in_place(a, b)),
    ("keepdims", lambda a, b: np.vstack([a, b]).max(axis=1, keepdims=True)),
    ("iteration", lambda a, b: [x - y for x, y in zip(a, b, strict=True)]),
    ("unpacking", lambda a, b: (lambda x, *rest: (x, len(rest)))(*a)),
    ("float64", lambda a, b: np.float64(2) * a[0] + np.float64(1)),
    ("comparison", lambda a, b: bool(np.float64(0) < a[0])),
    ("infinity", lambda a, b: (bool(a[0] > -np.inf), max(-np.inf, a[0]))),
    ("select", lambda a, b: np.select([a < 0, a < 1], [0, a], 5)),
]


def _assigned(a: Any, b: Any) -> Any:
    a = a.copy()
    a[1:] = b[1:] * 2
    a[0] = 7
    a[a < 0] = 0
    return a


def _in_place(a: Any, b: Any) -> Any:
    a = a + 0
    a += b
    a -= 1
    a *= 2
    return a


@pytest.mark.parametrize(("name", "operation"), ELEMENTWISE, ids=[n for n, _ in ELEMENTWISE])
def test_operations_do_what_numpy_does(name: str, operation: Any) -> None:
    from reading.conformance import check_conformance

    def mechanism(x, rng):
        a = np.array(x) + rng.laplace(size=3)
        b = rng.normal(size=3) - np.array(x)
        return operation(a, b)

    x = [0.5, -1.0, 1.0]
    check_conformance(mechanism, x, trace(mechanism, x), runs=25)


def outputs_of(function: Any) -> list[Any]:
    return [path.output for path in trace(function, 0).paths]


def test_a_decision_is_made_once() -> None:
    def run(x, rng):
        v = rng.laplace()
        return [bool(v > 0), bool(v > 0), bool(2 * v > 0), bool(v <= 0), bool(v > -1)]

    assert outputs_of(run) == [
        [True, True, True, False, True],
        [False, False, False, True, True],
        [False, False, False, True, False],
    ]


def test_ways_that_no_noise_can_take_are_dropped_exactly() -> None:
    def run(x, rng):
        a, b, c = rng.laplace(size=3)
        return [bool(a > b), bool(b > c), bool(c > a)]

    outcomes = {tuple(found) for found in outputs_of(run)}
    assert outcomes == set(itertools.product((True, False), repeat=3)) - {
        (True, True, True),
        (False, False, False),  # a ≤ b ≤ c ≤ a: only where all are equal, which has no mass
    }


def test_supports_and_integers_count() -> None:
    assert outputs_of(lambda x, rng: bool(rng.exponential() >= 0)) == [True]
    assert outputs_of(lambda x, rng: bool(rng.random() > 1)) == [False]
    assert outputs_of(lambda x, rng: bool(rng.geometric(0.5) < 1)) == [False]

    def between(x, rng):
        k = rng.poisson(2.0)
        return bool(k > 0) and bool(k < 1)

    assert set(outputs_of(between)) == {False}

    def equal(x, rng):
        k = rng.poisson(2.0)
        return "one" if k == 1 else "small" if k < 3 else "large"

    assert sorted(outputs_of(equal)) == ["large", "one", "small"]


def test_assumptions_hold_from_the_start() -> None:
    q = Symbol("input", "q")
    assume = [Condition(Form({q: Fraction(1)}, Fraction(-2)), ">=")]
    (path,) = trace(lambda x, rng: bool(x > 1), q, assume=assume).paths
    assert path.output is True
    assert path.conditions == ()


SHAPES: list[tuple[Any, tuple[int, ...]]] = [
    (lambda rng: rng.laplace(size=(2, 3)), (2, 3)),
    (lambda rng: rng.normal([0, 1], [[1], [2]]), (2, 2)),
    (lambda rng: rng.uniform(-1, 1, 4), (4,)),
    (lambda rng: rng.standard_normal(2), (2,)),
    (lambda rng: rng.random((1, 2)), (1, 2)),
    (lambda rng: rng.exponential(size=0), (0,)),
    (lambda rng: rng.choice(5, size=(2, 1)), (2, 1)),
    (lambda rng: rng.permutation(3), (3,)),
]
ERRORS: list[tuple[Any, str]] = [
    (lambda rng: rng.laplace(scale=-1), "scale < 0"),
    (lambda rng: rng.laplace(loc=[1, 2, 3], size=2), "broadcast to a single shape"),
    (lambda rng: rng.laplace([1, 2, 3], [1, 2]), "broadcast"),
    (lambda rng: rng.choice(3, p=[0.5, 0.5]), "same size"),
    (lambda rng: rng.choice(2, size=3, replace=False), "larger sample"),
    (lambda rng: rng.integers(3, 3), "low >= high"),
    (lambda rng: rng.binomial(1, 2.0), "p < 0"),
]


@pytest.mark.parametrize(("draw", "shape"), SHAPES)
def test_draws_have_numpys_shapes(draw: Any, shape: tuple[int, ...]) -> None:
    for path in trace(lambda x, rng: draw(rng).shape, 0).paths:
        assert path.output == shape
    assert draw(at_centre()).shape == shape


@pytest.mark.parametrize(("draw", "text"), ERRORS)
def test_draws_have_numpys_errors(draw: Any, text: str) -> None:
    (path,) = trace(lambda x, rng: draw(rng), 0).paths
    assert text in path.leaves[0]
    with pytest.raises(ValueError, match=text):
        draw(at_centre())


def test_finite_draws_have_exact_probabilities() -> None:
    found = trace(lambda x, rng: rng.choice(["a", "b", "c"], p=[0.2, 0.3, 0.5]), 0).paths
    assert {p.output: p.choices[0].probability for p in found} == {
        "a": Fraction(1, 5),
        "b": Fraction(3, 10),
        "c": Fraction(1, 2),
    }
    orders = trace(lambda x, rng: tuple(rng.permutation(3)), 0).paths
    assert len(orders) == 6
    for path in orders:
        assert math.prod(choice.probability for choice in path.choices) == Fraction(1, 6)


def test_symbols_are_shared_between_paths_that_draw_alike() -> None:
    def run(rng):
        a = rng.laplace(scale=1.0)
        b = rng.laplace(scale=1.0 if a > 0 else 2.0)
        return a + b

    found = trace(lambda x, rng: run(rng), 0)
    assert found.noises == {
        Symbol("noise", "laplace0"): Laplace(1.0),
        Symbol("noise", "laplace1"): Laplace(1.0),
        Symbol("noise", "laplace1_2"): Laplace(2.0),
    }


def test_noise_of_dpest_keeps_its_family() -> None:
    import dpest

    found = trace(lambda x, rng: x + dpest.noise.discrete_laplace(rng, 3), 1)
    assert list(found.noises.values()) == [DiscreteLaplace(3)]
    assert found.paths[0].skeleton.kind == "int"


def test_kinds_of_leaves() -> None:
    def run(x, rng):
        v = rng.laplace()
        return v, v > 0, (v > 0) + 1, v - v, rng.poisson(2.0)

    path = trace(run, 0).paths[0]
    assert [part.kind for part in path.skeleton.parts] == ["real", "bool", "int", "float", "int"]
    assert path.leaves[3] == 0.0


def test_what_the_path_has_decided_is_no_indicator() -> None:
    def run(x, rng):
        v = rng.laplace(size=2)
        above = v > 0
        return (above, v > -1) if above[0] else above

    found = trace(run, 0)
    first, second = found.paths
    assert first.leaves[0] is True
    assert isinstance(first.leaves[1], Form)
    assert first.leaves[2] is True  # v > 0 entails v > -1
    assert second.leaves[0] is False


def test_discrete_uniform_is_a_distribution() -> None:
    noise = DiscreteUniform(-2, 3)
    k = np.arange(-4, 6)
    assert np.isclose(noise.density(k).sum(), 1)
    assert np.allclose(noise.cdf(k), np.cumsum(noise.density(k)))
    assert np.allclose(noise.cdf(k) + noise.sf(k), 1)
    assert np.allclose(np.exp(noise.log_sf(k)), noise.sf(k))
    u = np.array([1e-9, 1 / 6, 0.17, 0.5, 1.0])
    assert noise.quantile(u).tolist() == [-2, -2, -1, 0, 3]
    drawn = noise.sample(np.random.default_rng(0), 1000)
    assert (drawn.min(), drawn.max()) == (-2, 3)
    assert np.isclose(noise.mean, (k * noise.density(k)).sum())
    assert np.isclose(noise.variance, ((k - noise.mean) ** 2 * noise.density(k)).sum())


def test_units_are_exact_powers() -> None:
    eps = Unit()
    assert 4 * 2 / eps == Unit(8, -1)
    assert eps / 2 + eps / 2 == eps
    assert (2 * eps) ** 2 / eps == Unit(4, 1)
    assert eps / eps == 1
    assert 1 / eps > 0
    assert eps - eps == 0
    assert Unit(2, -1) < Unit(3, -1)
    assert (np.array([1.0, 2.0]) / eps).tolist() == [Unit(1, -1), Unit(2, -1)]
    for wrong in (lambda: eps + 1, lambda: eps < 1, lambda: float(eps), lambda: eps**0.5):
        with pytest.raises(UntraceableError):
            wrong()


def test_floats_stand_for_the_decimals_they_print_as() -> None:
    assert rational(0.1) + rational(0.2) == rational(0.3)
    found = trace(lambda x, rng: 1 if x + rng.laplace() >= 0.3 else 0, 0.1)
    assert found.paths[0].conditions[0].form.constant == Fraction(-1, 5)


def random_program(seed: int) -> Any:
    """Decisions about random linear combinations of random noises, nested at random."""
    plan = np.random.default_rng(seed)
    kinds = plan.choice(["laplace", "exponential", "uniform", "poisson", "integers"], size=4)
    weights = plan.integers(-2, 3, size=(6, 4))
    constants = plan.integers(-2, 3, size=6)
    strict = plan.random(6) < 0.5

    def mechanism(x, rng):
        draws = []
        for kind in kinds:
            if kind == "poisson":
                draws.append(rng.poisson(1.5))
            elif kind == "integers":
                draws.append(rng.integers(0, 50))
            else:
                draws.append(getattr(rng, kind)())
        out = []
        for i in range(6):
            value = sum(int(w) * d for w, d in zip(weights[i], draws, strict=True)) + x
            value = value + int(constants[i])
            if (value > 0) if strict[i] else (value >= 0):
                out.append(i)
                if i == 4:
                    return out, value
            elif i == 3 and len(out) > 1:
                return None
        return out

    return mechanism


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_conform(seed: int) -> None:
    from reading.conformance import check_conformance

    mechanism = random_program(seed)
    found = trace(mechanism, 0.5)
    check_conformance(mechanism, 0.5, found, runs=80)
    # No two paths share an interior point of one of them.
    assert len({p.conditions for p in found.paths}) == len(found.paths)
