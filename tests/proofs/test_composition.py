"""Programs proved from the certificates of what they call."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dpest
from dpest import kernel, zoo
from dpest.errors import RefusedError
from dpest.proofs import prove
from dpest.proofs.composition import compose
from proofs import proof_mechanisms as m


@pytest.fixture(scope="module")
def parts():
    return {
        m.noisy_max: prove(m.noisy_max, adjacency="linf"),
        m.svt: prove(m.svt, adjacency="linf"),
    }


def test_costs_add_up_on_the_worst_path(parts):
    proof = compose(m.two_step, parts, adjacency="linf")
    assert proof.epsilon == 1
    assert proof.unit == "eps"
    assert "ε ≤ 1·eps" in str(kernel.check(proof.certificate))


def test_a_cheaper_statement_is_refused(parts):
    certificate = copy.deepcopy(dict(compose(m.two_step, parts, adjacency="linf").certificate))
    with pytest.raises(kernel.Invalid):
        kernel.check({**certificate, "epsilon": "3/4"})
    certificate["parts"][0] = {**certificate["parts"][0], "epsilon": "1/2"}
    with pytest.raises(kernel.Invalid):
        kernel.check(certificate)


def test_a_program_that_looks_at_the_data_itself_is_refused(parts):
    with pytest.raises(RefusedError, match="itself looks at the data"):
        compose(m.peeking, parts, adjacency="linf")


def test_parts_for_other_neighbours_are_refused(parts):
    with pytest.raises(RefusedError, match="proved for"):
        compose(m.two_step, parts, adjacency="l1")
    assert Fraction(1) == parts[m.svt].epsilon


def svt(x, rng, *, eps=1.0):
    bar = rng.laplace(scale=2 / eps)
    for i, q in enumerate(x):
        if q + rng.laplace(scale=4 / eps) >= bar:
            return i
    return None


def noisy_max(x, rng, *, eps=1.0):
    return np.argmax(np.asarray(x) + rng.laplace(scale=2 / eps, size=len(x)))


def both(x, rng, *, eps=1.0):
    return svt(x, rng, eps=eps / 2), noisy_max(x, rng, eps=eps / 2)


def one_after_the_other(x, rng, *, eps=1.0):
    place = svt(x, rng, eps=eps / 2)
    if place is None:
        return None
    return noisy_max(x, rng, eps=eps / 2), rng.normal()


def twice_the_claim(x, rng, *, eps=1.0):
    return svt(x, rng, eps=eps), noisy_max(x, rng, eps=eps)


@pytest.mark.parametrize(
    ("function", "status", "expected"),
    [
        (both, "upper bound", 1),
        (one_after_the_other, "upper bound", 1),
        (twice_the_claim, "refuted", 2),
    ],
)
def test_a_program_of_mechanisms_is_proved_for_every_length(function, status, expected):
    proof = prove(function, adjacency="linf", claim=dpest.PureDP("eps"))
    assert (proof.length, proof.status, proof.epsilon) == (dpest.ANY, status, expected)
    assert proof.method == "composition"
    loss = dpest.exact(function, [0.0, 9.0], [1.0, 8.0]).epsilon
    assert loss <= float(expected) + 1e-9


def histogram(x, rng, *, eps=1.0):
    return [q + rng.laplace(scale=1 / eps) for q in x]


def gaussian(x, rng, *, eps=1.0):
    return sum(x) + rng.normal(scale=1 / eps)


def of_both_kinds(x, rng, *, eps=1.0):
    return histogram(x, rng, eps=eps / 2), gaussian(x, rng, eps=eps)


def test_pure_and_gaussian_parts_compose():
    """ρ = (1/2)²/2 + 1/2; and (ε, δ) by the sequence rule: 1/2 and what μ = 1 gives at δ."""
    proof = prove(of_both_kinds, adjacency="l1", claim=dpest.ApproxDP(5.0, 1e-5))
    assert (proof.length, proof.rho, proof.method) == (dpest.ANY, Fraction(5, 8), "composition")
    alone = prove(gaussian, adjacency="l1", claim=dpest.ApproxDP(5.0, 1e-5))
    assert alone.gaussian
    assert proof.epsilon_at(1e-5, 1.0) == pytest.approx(0.5 + alone.epsilon_at(1e-5, 1.0))
    assert proof.proved
    assert not prove(of_both_kinds, adjacency="l1", claim=dpest.ApproxDP(4.5, 1e-5)).proved
    certificate = json.loads(json.dumps(proof.certificate))
    assert "ρ" in str(kernel.check(certificate))
    with pytest.raises(kernel.Invalid):
        kernel.check({**certificate, "epsilon": "62/100"})
    with pytest.raises(kernel.Invalid):
        kernel.check({**certificate, "power": 1})


def looks_at_the_type(x, rng, *, eps=1.0):
    if isinstance(x, list):
        return x
    return noisy_max(x, rng, eps=eps)


def looks_when_nobody_does(x, rng, *, eps=1.0):
    found = noisy_max(x, rng, eps=eps)
    return found if type(x).__name__ == "Data" else (found, float(np.sum(x)))


def test_a_program_that_looks_when_it_is_run_is_refused():
    for program in (looks_at_the_type, looks_when_nobody_does):
        assert prove(program, adjacency="linf").certificate is None
        part = prove(noisy_max, adjacency="linf")
        with pytest.raises(RefusedError, match="looks at the data"):
            compose(program, {noisy_max: part}, adjacency="linf")


def test_the_zoo_s_parallel_composition_is_refuted():
    proof = prove(zoo.get("SVT34Parallel"))
    assert proof.status == "refuted"


def _scaled(x, rng, *, eps=1.0, times=1):
    return sum(x) + rng.laplace(scale=times / eps)


def _asks_the_default(x, rng, *, eps=1.0):
    return _scaled(x, rng, eps=eps)


def test_a_proof_for_other_parameters_than_those_of_the_call_is_refused():
    other = dpest.prove(_scaled, adjacency="l1", length=3, params={"times": 5})
    with pytest.raises(RefusedError, match="another value of times"):
        compose(_asks_the_default, {_scaled: other}, adjacency="l1")


def test_two_sparse_vectors_at_their_length():
    proof = dpest.prove(dpest.zoo.get("SVT34Parallel"), length=10)
    assert proof.bound == Fraction(23, 4)
    assert proof.method == "composition"


def test_rays_of_the_parts_are_joined():
    """The worst directions of SVT3 and SVT4 are one: where the first rests, the other moves."""
    proof = prove(zoo.get("SVT34Parallel"), length=6)
    directions = [tuple(map(int, ray.direction)) for ray in proof.rays]
    assert (-1, 1, 1, 1, 1, -1) in directions


def test_idle_entries_of_a_ray_do_not_change_its_value():
    mechanism = zoo.get("SVT4").with_params({"cutoff": 2})
    ray = prove(mechanism, length=10).ray
    assert [d for i, d in enumerate(ray.felt) if i in ray.idle] == [0] * len(ray.idle)
    still = replace(ray, direction=ray.felt)
    values = [dpest.exact(mechanism, *way.pair(2000)).epsilon for way in (ray, still)]
    assert values == pytest.approx([0.325, 0.325], rel=1e-3)


def test_a_ray_says_whether_its_value_is_reached():
    """Added noise leaks the same everywhere; a comparison leaks most far out."""
    assert not prove(zoo.get("NoisyHist1"), length=3).ray.far
    assert prove(zoo.get("SVT1"), length=3).ray.far
