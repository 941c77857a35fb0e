"""The machine on concrete values does what CPython does, type for type.

Each case is an ordinary function; the machine executes its lowered code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpest.reading.machine.execute import execute
from dpest.reading.machine.signals import Refused
from reading.machine_cases import CASES


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and bool(np.all(a == b))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return bool(a == b)


@pytest.mark.parametrize("case", CASES, ids=lambda f: f.__name__)
def test_the_machine_does_what_python_does(case: Any) -> None:
    found = execute(case)
    assert not found.raised
    assert same(found.value, case())


def prints_an_address():
    return id([])


def changes_a_global():
    CASES.append(1)


def runs_text():
    return eval("1 + 1")


@pytest.mark.parametrize("case", [prints_an_address, changes_a_global, runs_text])
def test_what_is_not_known_is_refused(case: Any) -> None:
    with pytest.raises(Refused) as caught:
        execute(case)
    assert caught.value.where is not None
    assert caught.value.where.startswith(__file__)
    assert caught.value.final


def test_a_function_without_source_is_refused() -> None:
    names: dict[str, Any] = {}
    exec("def f(): return 1", names)
    with pytest.raises(Refused, match="no source"):
        execute(names["f"])


def fails_inside():
    return [1, 2][5]


def test_exceptions_are_outcomes() -> None:
    assert execute(fails_inside) == (True, IndexError)
