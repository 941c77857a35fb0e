"""Gaussian noise at every length, and what follows for (ε, δ) by μ of Gaussian DP."""

from __future__ import annotations

import copy
import json
import math
import random

import numpy as np
import pytest

import dpest
from dpest import ANY, ZCDP, kernel, noise, zoo
from dpest.evidence import Measure
from dpest.measures import of_loss
from dpest.proofs import prove
from dpest.proofs.rebuilding import differences


def clipped_sum(x, rng, *, rho=0.5):
    return np.clip(x, 0, 1).sum() + rng.normal(scale=np.sqrt(1 / (2 * rho)))


def each(x, rng, *, rho=0.5):
    return np.asarray(x) + rng.normal(scale=np.sqrt(1 / (2 * rho)), size=len(x))


def running(x, rng, *, rho=0.5):
    out, s = [], 0
    for v in x:
        s = s + v + rng.normal(scale=np.sqrt(1 / (2 * rho)))
        out.append(s)
    return out


def signs(x, rng, *, rho=0.5):
    out = []
    for v in x:
        out.append(v + rng.normal(scale=np.sqrt(1 / (2 * rho))) > 0)
    return out


def one_then_the_other(x, rng, *, rho=0.5):
    s = sum(x) + rng.normal(scale=np.sqrt(1 / rho))
    n = sum(v > 1 for v in x) + rng.normal(scale=np.sqrt(1 / rho))
    if s > 3:
        return n
    return s, n


CASES = [
    (clipped_sum, "replace_one", True),
    (clipped_sum, "add_remove_one", True),
    (each, "l1", True),
    (running, "l1", True),
    (signs, "l1", False),
    (one_then_the_other, "l1", False),
]


@pytest.mark.parametrize(("function", "adjacency", "straight"), CASES)
def test_one_datum_that_moves_costs_rho_at_every_length(function, adjacency, straight):
    """And the exact ρ of random neighbours is never above."""
    # Under l1 many reals could cross the threshold of a count, each by a little.
    domain = dpest.integers() if function is one_then_the_other else None
    proof = prove(function, adjacency=adjacency, claim=ZCDP("rho"), domain=domain)
    assert (proof.length, proof.rho, proof.proved) == (ANY, 1, True)
    assert proof.gaussian is straight
    assert proof.epsilon is None
    assert differences(json.loads(json.dumps(proof.certificate)), function) == []
    source = random.Random(1)
    for _ in range(3):
        x = [source.randint(-1, 3) for _ in range(2)]
        x2 = list(x)
        x2[source.randrange(2)] += source.choice((-1, 1))
        loss = dpest.exact(function, x, x2)
        assert of_loss(loss, Measure("zcdp")) <= 0.5 * (1 + 1e-6)


def argmax(x, rng, *, rho=0.5):
    return np.argmax(np.asarray(x) + rng.normal(scale=np.sqrt(1 / (2 * rho)), size=len(x)))


def two_kinds(x, rng, *, rho=0.5):
    return sum(x) + rng.normal(scale=1.0), sum(x) + rng.laplace(scale=1.0)


@pytest.mark.parametrize(
    ("function", "adjacency", "words"),
    [
        (argmax, "l1", "no bound on a Rényi divergence"),
        (each, "linf", "grows with their number"),
    ],
)
def test_what_has_no_rule_at_every_length_is_refused(function, adjacency, words):
    proof = prove(function, adjacency=adjacency, claim=ZCDP("rho"))
    assert (proof.status, proof.certificate) == ("unknown", None)
    assert words in proof.reason


@pytest.mark.parametrize("function", [each, signs])
def test_the_checker_adds_up_squares(function):
    proof = prove(function, adjacency="l1", claim=ZCDP("rho"))
    whole = json.loads(json.dumps(proof.certificate))
    assert "ρ" in str(kernel.check(whole))
    radius = {**whole, "adjacency": {"name": "l1", "radius": "2"}}  # costs 4 times as much
    laplace = copy.deepcopy(whole)
    laplace["noises"] = {h: ["laplace", scale] for h, (_, scale) in whole["noises"].items()}
    wider = {**whole, "adjacency": {"name": "linf", "radius": "1"}}
    for changed in ({**whole, "epsilon": "99/100"}, radius, laplace, wider):
        with pytest.raises(Exception, match=r".") as error:
            kernel.check(changed)
        assert error.type is not AssertionError


def test_shifts_that_differ_between_branches_are_refused():
    """The two answers of `signs` with different shifts: a maximum over ways, no Rényi bound."""
    whole = prove(signs, adjacency="l1", claim=ZCDP("rho")).certificate
    changed = json.loads(json.dumps(whole))
    for step in changed["components"][0]["steps"]:
        if step["shift"]:
            step["shift"] = {}
            break
    with pytest.raises(kernel.Invalid):
        kernel.check(changed)


def classic(x, rng, *, eps=0.5, delta=1e-5):
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / eps
    return np.clip(x, 0, 1).sum() + rng.normal(scale=sigma)


def test_epsilon_and_delta_follow_exactly_from_mu():
    claim = dpest.ApproxDP("eps", "delta")
    proof = prove(classic, adjacency="replace_one", claim=claim)
    assert proof.length is ANY
    assert proof.proved
    less = prove(classic, adjacency="replace_one", claim=dpest.ApproxDP("eps/2", "delta"))
    assert not less.proved
    verdict = dpest.audit(zoo.get("ClassicGaussian"), engines=["proof", "exact"])
    truth = zoo.get("ClassicGaussian").about["truth"](1, zoo.get("ClassicGaussian").all_params)
    assert verdict.upper.value == pytest.approx(truth, rel=1e-6)
    assert verdict.lower.value == pytest.approx(truth, rel=1e-6)


def whole_counts(x, rng, *, rho=0.5):
    return len(x) + noise.discrete_gaussian(rng, math.sqrt(1 / (2 * rho)))


def test_discrete_gaussian_noise_has_rho_but_no_mu():
    proof = prove(whole_counts, adjacency="add_remove_one", claim=ZCDP("rho"))
    assert (proof.rho, proof.gaussian) == (1, False)
    assert math.isinf(proof.mu(0.5))
    assert [e.measure.kind for e in proof.evidence(0.5)] == ["zcdp"]


def test_gaussian_noise_where_laplace_was_meant_is_not_proved():
    assert prove(zoo.get("GaussianNoisyMax_wrong")).certificate is None


def test_two_kinds_of_noise_at_every_length():
    """ρ = 1/2 of the Gaussian number, and ε²/2 of the Laplace one."""
    proof = prove(two_kinds, adjacency="l1", claim=ZCDP("rho"))
    assert (proof.status, proof.bound, proof.length) == ("upper bound", 1, ANY)
