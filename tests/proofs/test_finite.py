"""Finite mechanisms by enumeration, for every eps; discrete noise with integer shifts."""

from __future__ import annotations

import copy
import json
import math
from fractions import Fraction

import pytest

import dpest
from dpest import kernel, zoo
from dpest.proofs import prove
from dpest.proofs.enumeration.ratios import non_negative
from proofs import proof_mechanisms as m

BITS = dpest.finite([0, 1])
PAIRS = {"adjacency": "any_pair", "domain": BITS}


def test_randomised_response_for_every_eps():
    proof = prove(m.randomised_response, **PAIRS)
    assert (proof.status, proof.epsilon, proof.unit) == ("exact", 1, "eps")
    assert "valid" not in str(kernel.check(proof.certificate))


def test_a_response_that_lies_too_seldom_is_refuted():
    proof = prove(m.lying_response, claim=dpest.PureDP("eps"), **PAIRS)
    assert (proof.status, proof.epsilon) == ("refuted", 2)


def test_numbers_give_the_exact_exponential():
    proof = prove(m.fair_coin, **PAIRS)
    assert proof.exponential == 3
    (evidence,) = proof.evidence()
    assert evidence.value == pytest.approx(math.log(3), rel=1e-15)
    assert evidence.value >= math.log(3)


def test_the_truncated_geometric_of_the_literature():
    proof = prove(zoo.get("TruncatedGeometric"))
    assert proof.status == "refuted"
    assert proof.exponential == Fraction(9, 8)


@pytest.mark.parametrize("function", [m.two_sided_geometric, zoo.get("DiscreteLaplaceMechanism")])
def test_lattice_noise_moves_by_whole_steps(function):
    proof = prove(function, adjacency="l1", domain=dpest.integers(1), length=1)
    assert proof.epsilon == 1
    half = prove(function, adjacency="l1:0.5", length=1)
    assert half.epsilon is None


def refused(changed) -> bool:
    try:
        kernel.check(changed)
    except Exception:
        return True
    return False


def test_changed_tables_are_refused():
    certificate = json.loads(json.dumps(prove(m.randomised_response, **PAIRS).certificate))
    kernel.check(certificate)
    for change in (
        lambda c: c.update(epsilon="1/2"),
        lambda c: c.update(power=0, epsilon="0"),
        lambda c: c["tables"].pop(),
        lambda c: c["domain"]["values"].append(2),
        lambda c: c["tables"][0]["parts"][0]["0"][0].append("1/7"),
    ):
        changed = copy.deepcopy(certificate)
        change(changed)
        assert refused(changed)


def test_polynomials_on_the_unit_interval():
    def poly(*values):
        return tuple(Fraction(v) for v in values)

    assert non_negative(poly(0, 1, -1))
    assert non_negative(poly(1, -2, Fraction(11, 10)))
    assert not non_negative(poly(1, -3, 2))
    assert not non_negative(poly(-1, 2))


@pytest.mark.parametrize("name", ["OneTimeRappor", "Rappor"])
def test_reports_of_many_independent_bits(name):
    """2^20 outputs, but twenty small tables: exact, and equal to the zoo's formula."""
    entry = zoo.get(name)
    proof = prove(entry)
    assert (proof.status, proof.proved) == ("exact", True)
    truth = entry.about["truth"](1, entry.all_params)
    assert math.log(proof.exponential) == pytest.approx(truth, rel=1e-12)
    whole = json.loads(json.dumps(proof.certificate))
    kernel.check(whole)
    less = {**whole, "exponential": str(proof.exponential - Fraction(1, 10**6))}
    assert refused(less)
    swapped = copy.deepcopy(whole)
    bit = swapped["tables"][0]["parts"][0]
    bit["0"], bit["1"] = [["1/100"], ["1"]], [["99/100"], ["1"]]
    assert refused(swapped)
    fewer = copy.deepcopy(whole)
    fewer["tables"][0]["parts"].pop()
    assert refused(fewer)


def shared_draw(x, rng):
    u = rng.random()
    return [u < 0.25 + x / 2, u < 0.5 + x / 4]


def test_bits_that_share_a_draw_are_not_multiplied():
    """Their joint table is enumerated: (1, 0) is impossible on 0, so that ε is infinite."""
    proof = prove(shared_draw, adjacency="any_pair", domain=BITS)
    exact = dpest.exact(shared_draw, 0, 1).epsilon
    if proof.exponential is not None:
        assert math.log(proof.exponential) == pytest.approx(exact)
    else:
        assert proof.epsilon is None


@pytest.mark.parametrize("error", [AssertionError, ZeroDivisionError, RuntimeError])
def test_a_function_that_raises_on_some_input_is_not_enumerated_and_not_a_failure(error):
    def raising(bits, rng):
        if sum(bits) == 0:
            raise error("no cases")
        return bool(rng.random() < 0.5)

    bits = dpest.integers(3, 0, 1)
    verdict = dpest.audit(raising, epsilon=1, adjacency="replace_one", domain=bits, seed=0)
    assert verdict.status == "violated"


def by_choice(x, rng, *, eps=1.0):
    stay = math.exp(eps) / (math.exp(eps) + 2)
    chances = [(1 - stay) / 2] * 3
    chances[x] = stay
    return rng.choice(["a", "b", "c"], p=chances)


def by_binomial(x, rng, *, eps=1.0):
    flips = rng.binomial(1, 1 / (1 + math.exp(eps)))
    return (x + flips) % 2


def by_bernoulli(x, rng, *, eps=1.0):
    return 1 - x if dpest.noise.bernoulli(rng, 1 / (1 + math.exp(eps / 2))) else x


@pytest.mark.parametrize(
    ("function", "values", "bound"),
    [(by_choice, [0, 1, 2], 1), (by_binomial, [0, 1], 1), (by_bernoulli, [0, 1], Fraction(1, 2))],
)
def test_chances_that_are_made_of_eps(function, values, bound):
    proof = prove(function, adjacency="any_pair", domain=dpest.finite(values))
    assert (proof.status, proof.epsilon, proof.unit) == ("exact", bound, "eps")


def looks_at_eps(x, rng, *, eps=1.0):
    chance = 1 / (1 + math.exp(eps))
    if eps > 2:
        chance = 0.01
    return x if rng.random() > chance else 1 - x


def of_another_type(x, rng):
    answer = x if rng.random() < 0.75 else 1 - x
    return bool(answer) if x else answer


def test_what_differs_between_eps_or_in_types_is_not_enumerated():
    assert prove(looks_at_eps, **PAIRS).unit is None
    assert prove(of_another_type, **PAIRS).exponential is None
