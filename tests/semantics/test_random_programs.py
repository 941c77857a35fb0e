"""Random programs in the machine, and their traces, against plain runs: no mismatch."""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest

from dpest.errors import ReadingError
from dpest.reading.code.refusal import NotLowered
from dpest.reading.machine.execute import execute
from dpest.reading.machine.signals import Refused
from dpest.reading.trace import trace

from ..reading.conformance import check_conformance
from .random_programs import load, program
from .test_snippets import same

PLAIN, NOISY = 300, 120
INPUTS = ([1, 2], [0.5, -1.5, 2.0], [3])


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


@pytest.mark.parametrize("part", range(4))
def test_programs_on_numbers(part: int) -> None:
    found = [mismatch(i) for i in range(part, PLAIN, 4)]
    assert not [text for text in found if text], next(text for text in found if text)
    refused = sum(text is None for text in found)
    assert refused <= 0.2 * len(found), f"{refused} of {len(found)} are refused"


def conforms(number: int, runs: int = 20) -> bool | None:
    """Whether a trace says what runs do; None where there is no trace."""
    text = program(random.Random(10_000 + number), noise=True)
    function = load(text, 10_000 + number)
    for x in INPUTS[:2]:
        try:
            found = trace(function, list(x), max_paths=300, seconds=2.0)
        except ReadingError:
            return None
        check_conformance(function, list(x), found, runs=runs)
    return True


@pytest.mark.parametrize("part", range(4))
def test_programs_with_noise(part: int) -> None:
    found = [conforms(i) for i in range(part, NOISY, 4)]
    read = sum(answer is True for answer in found)
    assert read >= 0.4 * len(found), f"{read} of {len(found)} are read"
