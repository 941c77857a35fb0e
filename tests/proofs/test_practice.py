"""Code as people write it: right ones are proved, and none with a mistake is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proofs.practice_mechanisms import (
    ANY_PAIR,
    ANY_PAIR_WRONG,
    REPLACED,
    REPLACED_WRONG,
    RIGHT,
    WRONG,
)
from proofs.test_everyday import bound, cases


@pytest.mark.parametrize(("domain", "function"), cases(RIGHT))
def test_a_right_one_is_proved(domain: str, function: Callable[..., Any]) -> None:
    assert bound(domain, function, "add_remove_one") == pytest.approx(1.0)


@pytest.mark.parametrize(("domain", "function"), cases(WRONG))
def test_a_wrong_one_is_not(domain: str, function: Callable[..., Any]) -> None:
    assert not bound(domain, function, "add_remove_one") <= 1.0


@pytest.mark.parametrize(("domain", "function"), cases(REPLACED))
def test_a_right_one_is_proved_where_records_are_replaced(
    domain: str, function: Callable[..., Any]
) -> None:
    assert bound(domain, function, "replace_one") == pytest.approx(1.0)


@pytest.mark.parametrize(("domain", "function"), cases(REPLACED_WRONG))
def test_a_wrong_one_is_not_where_records_are_replaced(
    domain: str, function: Callable[..., Any]
) -> None:
    assert not bound(domain, function, "replace_one") <= 1.0


@pytest.mark.parametrize(("domain", "function"), cases(ANY_PAIR))
def test_a_right_one_is_proved_for_any_two_inputs(
    domain: str, function: Callable[..., Any]
) -> None:
    assert bound(domain, function, "any_pair") == pytest.approx(1.0)


@pytest.mark.parametrize(("domain", "function"), cases(ANY_PAIR_WRONG))
def test_a_wrong_one_is_not_for_any_two_inputs(domain: str, function: Callable[..., Any]) -> None:
    assert not bound(domain, function, "any_pair") <= 1.0
