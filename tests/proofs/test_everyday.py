"""Everyday code: right ones are proved for every length, and none with a mistake is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dpest.ask.declaration import as_mechanism
from dpest.ask.domain_text import parse_domain
from dpest.errors import DpestError
from dpest.evidence import Measure
from dpest.proofs.approximate.proving import prove_contributions
from dpest.proofs.question import asked
from proofs.everyday_mechanisms import RIGHT, WRONG


def bound(domain: str, function: Callable[..., Any], adjacency: str) -> float:
    """The proved ε; infinite where there is no proof."""
    inputs = parse_domain(domain)
    mechanism = as_mechanism(function)
    question = asked(mechanism, adjacency, inputs.length, None, None, inputs, None, inputs.form)
    try:
        proof = prove_contributions(question, Measure(), 1.0)
    except DpestError:
        return float("inf")
    assert proof.bound is not None
    return float(proof.bound)


def cases(found: dict[str, list[Callable[..., Any]]]) -> list[Any]:
    return [pytest.param(d, f, id=f.__name__) for d, many in found.items() for f in many]


@pytest.mark.parametrize(("domain", "function"), cases(RIGHT))
def test_a_right_one_is_proved(domain: str, function: Callable[..., Any]) -> None:
    assert bound(domain, function, "add_remove_one") == pytest.approx(1.0)


@pytest.mark.parametrize(("domain", "function"), cases(WRONG))
def test_a_wrong_one_is_not(domain: str, function: Callable[..., Any]) -> None:
    assert not bound(domain, function, "add_remove_one") <= 1.0


def test_a_sum_of_equal_numbers_is_the_length() -> None:
    def one_pass(values: Any, rng: Any) -> Any:
        n = total = 0
        for v in values:
            n += 1
            total += min(max(v, 0.0), 1.0)
        return (total + rng.laplace(0, 1)) / n

    assert bound("reals(any, 0, 1)", one_pass, "replace_one") == pytest.approx(1.0)
    assert not bound("reals(any, 0, 1)", one_pass, "add_remove_one") <= 1.0
