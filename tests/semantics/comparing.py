"""What the machine gives against what CPython gives, for one program."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.errors import ReadingError
from dpest.reading.code.refusal import NotLowered
from dpest.reading.machine.execute import execute
from dpest.reading.machine.signals import Refused
from dpest.reading.trace import trace

from .random_programs import load, program

INPUTS = ([1, 2], [0.5, -1.5, 2.0], [3])


def same(first: Any, second: Any) -> bool:
    """Equal values of equal types, in containers of equal types."""
    if type(first) is not type(second):
        return False
    if isinstance(first, np.ndarray):
        alike = first.dtype == second.dtype and first.shape == second.shape
        return alike and bool(np.array_equal(first, second, equal_nan=first.dtype.kind == "f"))
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, dict):
        return same(list(first.items()), list(second.items()))
    if isinstance(first, float) and first != first:
        return bool(second != second)
    return bool(first == second)


def mismatch(number: int) -> str | None:
    """What the machine makes of a program on numbers, where it is not what CPython does."""
    text = program(random.Random(number))
    function = load(text, number)
    for x in INPUTS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = execute(function, list(x), None)
            except (Refused, NotLowered):
                return None
            try:
                wanted: Any = False, function(list(x), None)
            except Exception as error:
                wanted = True, type(error)
        raised, value = found
        if raised != wanted[0]:
            return f"{text}\non {x}: {found} against {wanted}"
        if raised and getattr(value, "__name__", value) != wanted[1].__name__:
            return f"{text}\non {x}: raises {value}, not {wanted[1]}"
        if not raised and not same(value, wanted[1]):
            return f"{text}\non {x}: {value}, not {wanted[1]}"
    return ""


def conforms(number: int, check: Callable[..., None], runs: int = 20) -> bool | None:
    """Whether a trace says what runs do, by `check`; None where there is no trace."""
    text = program(random.Random(10_000 + number), noise=True)
    function = load(text, 10_000 + number)
    for x in INPUTS[:2]:
        try:
            found = trace(function, list(x), max_paths=300, seconds=2.0)
        except ReadingError:
            return None
        check(function, list(x), found, runs=runs)
    return True
