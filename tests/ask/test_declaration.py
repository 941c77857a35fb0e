"""What an author states beside the code, as objects or in short forms."""

from __future__ import annotations

import functools

import pytest

import dpest
from dpest.ask.declaration import parameters_of
from dpest.ask.domain_text import parse_domain


def noisy(x, rng, *, eps=1.0):
    return sum(x) + rng.laplace(scale=1 / eps)


@pytest.mark.parametrize("claim", [1.0, 1, "pure:1.0", dpest.PureDP(1.0)])
def test_a_claim_in_any_form(claim):
    declared = dpest.mechanism(claim=claim, adjacency="l1", domain="reals(2)")(noisy)
    assert declared.claim == dpest.PureDP(1.0)
    assert declared.adjacency == dpest.l1(1)
    assert declared.domain == dpest.reals(2)
    assert dpest.audit(declared).status == "exact"


def test_a_claim_of_an_audit_may_be_a_number():
    assert dpest.audit(noisy, claim=1.0, adjacency="l1", length=2).status == "exact"


@pytest.mark.parametrize(
    ("stated", "named"),
    [
        ({"claim": [1.0]}, "not a claim"),
        ({"claim": True}, "not a claim"),
        ({"claim": "one"}, "not a claim"),
        ({"adjacency": "nearby"}, "unknown adjacency"),
        ({"domain": "realz(2)"}, "realz"),
    ],
)
def test_what_nobody_can_read_is_refused_where_it_is_stated(stated, named):
    with pytest.raises(dpest.DpestError, match=named):
        dpest.mechanism(**stated)(noisy)


def private(sensitivity):
    def wrap(query):
        @functools.wraps(query)
        def released(data, rng):
            return query(data) + rng.laplace(scale=sensitivity)

        return released

    return wrap


def logged(function):
    @functools.wraps(function)
    def called(*args, **kwargs):
        return function(*args, **kwargs)

    return called


def test_a_wrapper_is_called_by_its_own_parameters():
    @private(sensitivity=1.0)
    def total(data):
        return sum(data)

    assert list(parameters_of(total)) == ["data", "rng"]
    assert list(parameters_of(logged(noisy))) == ["x", "rng", "eps"]
    bits = parse_domain("integers(4, 0, 1)")
    assert dpest.audit(total, epsilon=1, adjacency="replace_one", domain=bits).status == "exact"
    wide = parse_domain("integers(4, 0, 2)")
    assert dpest.audit(total, epsilon=1, adjacency="replace_one", domain=wide).status == "violated"


def test_a_generator_of_python_is_handed_in_where_its_names_are_used():
    def of_python(data, rng):
        return sum(data) + rng.expovariate(1.0) - rng.expovariate(1.0)

    bits = parse_domain("integers(4, 0, 1)")
    verdict = dpest.audit(of_python, epsilon=1, adjacency="replace_one", domain=bits)
    assert verdict.status in ("exact", "proved")
