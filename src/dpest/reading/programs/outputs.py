"""What a translated function returns, as variables: its numbers, and which skeleton they are in.

Everything that a receiver sees is part of the output: the container, of a list its length, of an
item its type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.errors import UntraceableError
from dpest.kernel.forms import ONE, ZERO
from dpest.kernel.judgments.assertions import FALSE, TRUE, LinearTerm, number
from dpest.kernel.judgments.programs import Assign, If, Program, Statement
from dpest.kernel.judgments.skeletons import SCALAR, SKELETON, ReturnSkeleton, output_names
from dpest.reading.programs.values import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    NUMPY_BOOL,
    NUMPY_FLOAT,
    NUMPY_INT,
    OTHER,
    ProgramConstant,
    ProgramNumber,
    ProgramTruth,
    Sequence_,
    Value,
)

_TYPES: dict[type, str] = {
    bool: BOOL,
    np.bool_: NUMPY_BOOL,
    int: INT,
    float: FLOAT,
    type(None): NONE,
    np.int64: NUMPY_INT,
    np.float64: NUMPY_FLOAT,
}


@dataclass(frozen=True)
class ProgramReturn:
    """The end of a path while a function is read; `kind`: scalar, list, tuple, array or range."""

    items: tuple[Value, ...]
    kind: str


def finished(code: tuple[Any, ...], function: str) -> tuple[tuple[ReturnSkeleton, ...], Program]:
    """The skeletons of all returns, and the program with every return as assignments to outputs."""
    skeletons = tuple(dict.fromkeys(_skeleton(r, function) for r in _returns(code)))
    return skeletons, _with_outputs(code, skeletons, function)


def _returns(code: tuple[Any, ...]) -> Iterator[ProgramReturn]:
    for part in code:
        if isinstance(part, ProgramReturn):
            yield part
        elif isinstance(part, If):
            yield from _returns(part.then)
            yield from _returns(part.other)


def _skeleton(part: ProgramReturn, function: str) -> ReturnSkeleton:
    return ReturnSkeleton(part.kind, tuple(_typed(item, function)[0] for item in part.items))


def _typed(item: Value, function: str) -> tuple[str, LinearTerm]:
    """The type of an item, and its value as a number."""
    if isinstance(item, ProgramNumber) and item.kind in _TYPES.values():
        return item.kind, item.form
    if isinstance(item, ProgramTruth) and item.kind in _TYPES.values():
        return item.kind, number(ONE if item.test == TRUE else ZERO)
    if isinstance(item, ProgramConstant) and item.value is None:
        return NONE, number(ZERO)
    what = "a list in a list" if isinstance(item, Sequence_) else "what is no number"
    if isinstance(item, (ProgramNumber, ProgramTruth)):
        what = f"a number of the type {item.kind}" if item.kind != OTHER else f"a number {OTHER}"
    raise UntraceableError(f"{function} returns {what}", "Return numbers, or a list of them.", "")


def _with_outputs(
    code: tuple[Any, ...], skeletons: tuple[ReturnSkeleton, ...], function: str
) -> Program:
    found: list[Statement] = []
    for part in code:
        if isinstance(part, ProgramReturn):
            found += _assignments(part, skeletons, function)
            break
        if isinstance(part, If):
            then = _with_outputs(part.then, skeletons, function)
            found.append(If(part.test, then, _with_outputs(part.other, skeletons, function)))
        else:
            found.append(part)
    return tuple(found)


def _assignments(
    part: ProgramReturn, skeletons: tuple[ReturnSkeleton, ...], function: str
) -> list[Statement]:
    found: list[Statement] = []
    skeleton = _skeleton(part, function)
    items = dict(zip(skeleton.names, part.items, strict=True))
    for name in output_names(skeletons):
        if name == SKELETON:
            found.append(Assign(name, number(Fraction(skeletons.index(skeleton)))))
        elif name not in items:
            found.append(Assign(name, number(ZERO)))
        else:
            found.append(_stored(name, items[name], function))
    return found


def _stored(name: str, item: Value, function: str) -> Statement:
    if isinstance(item, ProgramTruth) and item.test not in (TRUE, FALSE):
        return If(item.test, (Assign(name, number(ONE)),), (Assign(name, number(ZERO)),))
    return Assign(name, _typed(item, function)[1])


def in_table(
    program: Program, own: tuple[ReturnSkeleton, ...], table: tuple[ReturnSkeleton, ...]
) -> Program:
    """A program whose outputs are those of a longer list of skeletons, which has all of its own."""
    have, want = output_names(own), output_names(table)
    missing: list[Statement] = [Assign(n, number(ZERO)) for n in want if n not in have]
    if len(own) > 1:
        program = _renumbered(program, [table.index(skeleton) for skeleton in own])
    elif len(table) > 1:
        missing[-1] = Assign(SKELETON, number(Fraction(table.index(own[0]))))
    return (*program, *missing)


def _renumbered(program: Program, places: Sequence[int]) -> Program:
    found: list[Statement] = []
    for statement in program:
        if isinstance(statement, Assign) and statement.name == SKELETON:
            place = places[int(statement.value.constant)]
            found.append(Assign(SKELETON, number(Fraction(place))))
        elif isinstance(statement, If):
            then, other = (_renumbered(p, places) for p in (statement.then, statement.other))
            found.append(replace(statement, then=then, other=other))
        else:
            found.append(statement)
    return tuple(found)


def taken_apart(output: Any) -> tuple[ReturnSkeleton, list[float]] | None:
    """The skeleton and the numbers of what a function gave; None for what is no such output.

    Classes must be Python's and NumPy's own: a named tuple is no tuple to a receiver.
    """
    container = _CONTAINERS.get(type(output), SCALAR)
    if container == "array" and output.ndim != 1:
        return None
    items = [output] if container == SCALAR else list(output)
    types = [_TYPES.get(type(item)) for item in items]
    if not all(types):
        return None
    numbers = [0.0 if item is None else float(item) for item in items]
    return ReturnSkeleton(container, tuple(t for t in types if t is not None)), numbers


_CONTAINERS: dict[type, str] = {list: "list", tuple: "tuple", np.ndarray: "array", range: "range"}
