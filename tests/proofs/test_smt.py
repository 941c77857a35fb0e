"""The conditions of certificates, confirmed by z3 and by cvc5; smaller bounds are not."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpest import zoo
from dpest.proofs import prove, smt
from proofs import proof_mechanisms as m
from proofs import test_composition

pytest.importorskip("z3")
pytest.importorskip("cvc5")

CASES = [
    (m.svt, {"adjacency": "linf", "params": {"cutoff": 2}}),
    (m.svt, {"adjacency": "linf", "length": 3}),
    (m.noisy_max, {"adjacency": "linf", "length": 4}),
    (m.noisy_max_with_gap, {"adjacency": "linf"}),
    (m.clipped_sum, {"adjacency": "replace_one"}),
    (zoo.get("SmartSum"), {}),
    (zoo.get("ReportNoisyMax2"), {"length": 3}),
    (zoo.get("SalarySumAndCount"), {}),
    (zoo.get("ExponentialMechanism"), {}),
    (m.gaussian_max, {"adjacency": "l1", "length": 3, "claim": "zcdp:1"}),
    (m.gaussian_sum, {"adjacency": "l1", "claim": "zcdp:1"}),
    (test_composition.both, {"adjacency": "linf"}),
]


@pytest.mark.parametrize(("function", "question"), CASES)
def test_both_solvers_confirm_every_condition(function, question):
    certificate = prove(function, **question).certificate
    texts = [text for _, text in smt.conditions(certificate)]
    assert texts
    for text in texts:
        assert smt.ask_z3(text) == "unsat"
        assert smt.ask_cvc5(text) == "unsat"


@pytest.mark.parametrize(("function", "question"), CASES[:-3])
def test_a_smaller_bound_has_a_counterexample(function, question):
    proof = prove(function, **question)
    smaller = proof.epsilon - Fraction(1, 1000)
    texts = [text for _, text in smt.conditions(proof.certificate, smaller)]
    assert "sat" in {smt.ask_z3(text) for text in texts}
    assert "sat" in {smt.ask_cvc5(text) for text in texts}
