"""Instructions whose exception would be caught: whether there is one must be public."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.code.instructions import Instruction
from dpest.reading.contributions.arithmetic import BINARY, is_number, is_plain
from dpest.reading.contributions.control.objects import ObjectMethod, Own, PartialCall
from dpest.reading.contributions.control.public import Native, item_of, method_of
from dpest.reading.contributions.control.stack import CallFrame
from dpest.reading.contributions.forms import Raised, Unread
from dpest.reading.contributions.functions.purity import is_library
from dpest.reading.contributions.functions.units import has_unit
from dpest.reading.contributions.values import (
    Bound,
    DrawMethod,
    LoweredFunction,
    Map,
    Object,
    ProgramObject,
    Seq,
    SmallArray,
)

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


SILENT_EXIT = Own(lambda m, *_: False)  # of `with np.errstate(…)`: exceptions go on


def handler_of(frame: CallFrame, instruction: Instruction) -> int | None:
    """Where an exception goes; a context that does nothing with it hands it on."""
    found = instruction.handler
    while found is not None:
        called = frame.code.instructions[found : found + 4]
        if not called or called[-1].op != "call":
            return found
        if frame.registers.get(called[-1].uses[0]) is not SILENT_EXIT:
            return found
        found = called[0].handler
    return None


def _error(*arguments: Any, call: Native) -> Exception | None:
    """What a call raises."""
    try:
        call.function(*arguments)
    except Exception as error:
        return error
    return None


_NEVER_RAISE = (
    sum, len, abs, min, max, float, range, enumerate, zip, list, tuple, sorted, dict, bool, round,
    np.sum, np.nansum, np.clip, np.abs, np.array, np.asarray, np.minimum, np.maximum, np.where,
)  # fmt: skip


_MAY_RAISE = ("/", "//", "%", "**")
_SAFE_METHODS = ("append", "extend", "items", "keys", "values", "get", "copy", "clear", "update")


def _may_raise(instruction: Instruction, uses: list[Any]) -> bool:
    if instruction.op in ("binary", "inplace"):
        divisor = uses[1]
        known = (is_number(divisor) and divisor != 0) or has_unit(divisor)
        return instruction.extra in _MAY_RAISE and not (known and instruction.extra != "**")
    if instruction.op == "item" and is_plain(uses[1]):
        # It was there, or the reading has raised already.
        if isinstance(uses[0], Object):
            return False
        return not (isinstance(uses[0], (Seq, tuple, SmallArray)) and not _of_data(uses[0]))
    if instruction.op == "call":
        function = uses[0]
        if isinstance(function, Bound) and isinstance(function.owner, Object):
            return False  # what of pandas may raise is refused
        if isinstance(function, Bound) and function.name in _SAFE_METHODS:
            return not (isinstance(function.owner, (Seq, Map)) and not _of_data(function.owner))
        read = (
            types.FunctionType,
            LoweredFunction,
            ObjectMethod,
            DrawMethod,
            PartialCall,
            ProgramObject,
        )
        if isinstance(function, read) and not is_library(function):
            return False  # its own instructions are looked at
        return not any(function is f for f in _NEVER_RAISE)
    return instruction.op == "item"


def _of_data(value: Any) -> bool:
    """Whether a list or dict holds records, or keys that only some data have."""
    if isinstance(value, Seq):
        return value.rows is not None or value.bag or value.noisy is not None
    return isinstance(value, Map) and not value.known


def guarded(
    m: ContributionMachine, frame: CallFrame, instruction: Instruction, uses: list[Any], action: Any
) -> Any:
    """An instruction whose exception would be caught: whether there is one must be public."""
    caught = handler_of(frame, instruction) is not None
    m.trying += caught
    try:
        value = action(m, frame, instruction, uses)
    finally:
        m.trying -= caught
    if all(map(is_plain, uses)) or not _may_raise(instruction, uses):
        return value
    if instruction.op == "item" and isinstance(uses[0], Map) and m.record is not None:
        m.looked_for.add(id(uses[0]))  # it was there: without it, KeyError
        return value
    call: tuple[Any, ...] = (BINARY.get(instruction.extra), *uses)
    if instruction.op == "item":
        call = (item_of, *uses)
    elif instruction.op == "call":
        if any(instruction.extra.stars) or instruction.extra.keywords:
            raise Unread("a call whose exception would be caught")
        call = tuple(uses)
        if isinstance(uses[0], Bound):
            call = (method_of(uses[0].name), uses[0].owner, *uses[1:])
    try:
        failed = m.publicly(_error, *call[1:], call=Native(call[0]))
    except Unread:
        raise Unread("private values where an exception would be caught") from None
    if m.decide(m.publicly(lambda e: e is not None, failed)):
        raise Raised(failed)
    return value
