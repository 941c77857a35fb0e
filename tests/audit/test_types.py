"""Outputs whose types tell what their values do not: found, and the report says what to do."""

from typing import Any

import pytest

import dpest


def told_by_its_type(answer: Any, rng: Any) -> Any:
    """The truth is Python's text, a random answer NumPy's: which of them it is, is seen."""
    if rng.random() < 0.5:
        return "yes" if answer else "no"
    return rng.choice(["yes", "no"])


def of_one_type(answer: Any, rng: Any) -> Any:
    return str(told_by_its_type(answer, rng))


def test_a_type_that_tells_is_a_violation_with_a_remedy() -> None:
    """A false alarm has chance 0.001, and the seed is fixed."""
    verdict = dpest.audit(
        told_by_its_type, epsilon=1.1, adjacency="any_pair", domain="integer(0, 1)", seed=0
    )
    assert verdict.status == "violated"
    assert any("Convert what is returned" in note for note in verdict.notes)


def test_one_type_tells_nothing() -> None:
    verdict = dpest.audit(
        of_one_type, epsilon=1.1, adjacency="any_pair", domain="integer(0, 1)", seed=0
    )
    assert verdict.status in ("exact", "proved")
    assert verdict.upper is not None
    assert verdict.upper.value == pytest.approx(1.0986, abs=1e-4)
