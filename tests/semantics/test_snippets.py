"""Odd Python in the machine: what CPython gives, or a refusal."""

from __future__ import annotations

import linecache
import warnings
from typing import Any

import pytest

from dpest.reading.code.refusal import NotLowered
from dpest.reading.machine.execute import execute
from dpest.reading.machine.signals import Refused

from .comparing import same
from .snippets import SNIPPETS

MOST_REFUSED = 0.08


def function_of(name: str, text: str) -> Any:
    file = f"<snippet {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": "snippet"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, file, "exec", dont_inherit=True), scope)
    return scope["snippet"]


def in_cpython(function: Any) -> tuple[bool, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return False, function()
        except Exception as error:
            return True, type(error)


def by_the_machine(function: Any) -> tuple[bool, Any] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = execute(function)
        except (Refused, NotLowered):
            return None
        return found.raised, found.value


@pytest.mark.parametrize("name", SNIPPETS)
def test_it_is_what_python_gives(name: str) -> None:
    function = function_of(name, SNIPPETS[name])
    found = by_the_machine(function)
    if found is None:
        return
    raised, value = found
    wanted_raised, wanted = in_cpython(function)
    assert raised == wanted_raised, (found, wanted)
    if raised:
        assert value is wanted or getattr(value, "__name__", value) == wanted.__name__
    else:
        assert same(value, wanted), (value, wanted)


def test_few_are_refused() -> None:
    refused = [n for n, text in SNIPPETS.items() if by_the_machine(function_of(n, text)) is None]
    print(f"{len(refused)} of {len(SNIPPETS)} snippets are refused")
    assert len(SNIPPETS) >= 500
    assert len(refused) <= MOST_REFUSED * len(SNIPPETS), refused
