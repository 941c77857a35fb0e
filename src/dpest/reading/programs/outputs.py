"""What a translated function returns, as variables: values, and where they differ types and length.

Everything that a receiver sees is part of the output: of a list its length, of an item its type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpest.errors import UntraceableError
from dpest.kernel.forms import ONE, ZERO
from dpest.kernel.judgments.assertions import FALSE, TRUE, LinearTerm, number
from dpest.kernel.judgments.programs import Assign, If, Program, Statement
from dpest.reading.programs.values import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    NUMPY_FLOAT,
    NUMPY_INT,
    ProgramConstant,
    ProgramNumber,
    ProgramTruth,
    Sequence_,
    Value,
)

OUT = "out"
_KINDS = {BOOL: 0, INT: 1, FLOAT: 2, NONE: 3, NUMPY_INT: 4, NUMPY_FLOAT: 5}


@dataclass(frozen=True)
class ProgramReturn:
    """The end of a path while a function is read; `kind`: scalar, list, tuple or array."""

    items: tuple[Value, ...]
    kind: str


@dataclass(frozen=True)
class ReturnShape:
    """What all returns have in common."""

    container: str
    most: int
    lengths: bool
    mixed: frozenset[int]
    """The places whose items have several types."""
    types: tuple[str, ...]
    """The type of each item that has one; empty where one has several."""

    @property
    def names(self) -> list[str]:
        return [OUT] if self.container == "scalar" else [f"{OUT}.{i}" for i in range(self.most)]

    @property
    def outputs(self) -> tuple[str, ...]:
        names = self.names
        kinds = [f"{names[i]}.type" for i in sorted(self.mixed)]
        return (*names, *kinds, *([f"{OUT}.len"] if self.lengths else []))


def finished(code: tuple[Any, ...], function: str) -> tuple[ReturnShape, Program]:
    """The outputs, and the program with every return as assignments to them."""
    shape = _shape(list(_returns(code)), function)
    return shape, _with_outputs(code, shape, shape.names, function)


def _returns(code: tuple[Any, ...]) -> Iterator[ProgramReturn]:
    for part in code:
        if isinstance(part, ProgramReturn):
            yield part
        elif isinstance(part, If):
            yield from _returns(part.then)
            yield from _returns(part.other)


def _shape(returns: list[ProgramReturn], function: str) -> ReturnShape:
    containers = {r.kind for r in returns}
    if len(containers) != 1:
        raise UntraceableError(
            f"{function} returns {' or '.join(sorted(containers))}", "Return one kind.", ""
        )
    most = max(len(r.items) for r in returns)
    found = [
        {_coded(r.items[i], function)[0] for r in returns if i < len(r.items)} for i in range(most)
    ]
    mixed = frozenset(i for i, kinds in enumerate(found) if len(kinds) > 1)
    names = {code: kind for kind, code in _KINDS.items()}
    types = () if mixed else tuple(names[next(iter(kinds))] for kinds in found)
    lengths = {len(r.items) for r in returns}
    return ReturnShape(containers.pop(), most, len(lengths) > 1, mixed, types)


def _coded(item: Value, function: str) -> tuple[int, LinearTerm]:
    """The type of an item, and its value as a number."""
    if isinstance(item, ProgramNumber):
        return _KINDS[item.kind], item.form
    if isinstance(item, ProgramTruth) and item.test in (TRUE, FALSE):
        return _KINDS[BOOL], number(ONE if item.test == TRUE else ZERO)
    if isinstance(item, ProgramTruth):
        return _KINDS[BOOL], number(ZERO)
    if isinstance(item, ProgramConstant) and item.value is None:
        return _KINDS[NONE], number(ZERO)
    what = "a list in a list" if isinstance(item, Sequence_) else "what is no number"
    raise UntraceableError(f"{function} returns {what}", "Return numbers, or a list of them.", "")


def _with_outputs(
    code: tuple[Any, ...], shape: ReturnShape, names: list[str], function: str
) -> Program:
    found: list[Statement] = []
    for part in code:
        if isinstance(part, ProgramReturn):
            found += _assignments(part, shape, names, function)
            break
        if isinstance(part, If):
            then = _with_outputs(part.then, shape, names, function)
            found.append(If(part.test, then, _with_outputs(part.other, shape, names, function)))
        else:
            found.append(part)
    return tuple(found)


def _assignments(
    part: ProgramReturn, shape: ReturnShape, names: list[str], function: str
) -> list[Statement]:
    found: list[Statement] = []
    for i, name in enumerate(names):
        if i >= len(part.items):
            found.append(Assign(name, number(ZERO)))
            kind = 0
        else:
            item = part.items[i]
            kind, form = _coded(item, function)
            if isinstance(item, ProgramTruth) and item.test not in (TRUE, FALSE):
                one, zero = Assign(name, number(ONE)), Assign(name, number(ZERO))
                found.append(If(item.test, (one,), (zero,)))
            else:
                found.append(Assign(name, form))
        if i in shape.mixed:
            found.append(Assign(f"{name}.type", number(Fraction(kind))))
    if shape.lengths:
        found.append(Assign(f"{OUT}.len", number(Fraction(len(part.items)))))
    return found
