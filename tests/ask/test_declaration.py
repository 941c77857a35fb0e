"""What an author states beside the code, as objects or in short forms."""

from __future__ import annotations

import pytest

import dpest


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
        ({"claim": "1"}, "not a claim"),
        ({"adjacency": "nearby"}, "unknown adjacency"),
        ({"domain": "realz(2)"}, "realz"),
    ],
)
def test_what_nobody_can_read_is_refused_where_it_is_stated(stated, named):
    with pytest.raises(dpest.DpestError, match=named):
        dpest.mechanism(**stated)(noisy)
