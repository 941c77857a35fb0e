"""Programs proved from the certificates of what they call."""

from __future__ import annotations

import copy
from fractions import Fraction

import pytest

from dpest.errors import RefusedError
from dpest.proofs import checker, prove
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
    assert "two_step" in checker.check(proof.certificate)


def test_a_cheaper_statement_is_refused(parts):
    certificate = copy.deepcopy(dict(compose(m.two_step, parts, adjacency="linf").certificate))
    with pytest.raises(checker.Invalid):
        checker.check({**certificate, "epsilon": "3/4"})
    certificate["parts"][0] = {**certificate["parts"][0], "epsilon": "1/2"}
    with pytest.raises(checker.Invalid):
        checker.check(certificate)


def test_a_program_that_looks_at_the_data_itself_is_refused(parts):
    with pytest.raises(RefusedError, match="itself looks at the data"):
        compose(m.peeking, parts, adjacency="linf")


def test_parts_for_other_neighbours_are_refused(parts):
    with pytest.raises(RefusedError, match="proved for"):
        compose(m.two_step, parts, adjacency="l1")
    assert Fraction(1) == parts[m.svt].epsilon
