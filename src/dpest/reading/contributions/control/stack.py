"""Calls in progress, and generators that stand at a yield."""

from __future__ import annotations

import contextlib
from typing import Any

from dpest.reading.code.instructions import Code
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.values import (
    Held,
    KeyCounts,
    Map,
    Object,
    ProgramObject,
    Rows,
    RowsIterator,
    Seq,
    SharedVariable,
)


class CallFrame:
    """One call: its registers, and what a generator has handed out."""

    def __init__(self, code: Code, registers: dict[str, Any], names: dict[str, Any]) -> None:
        self.code = code
        self.registers = registers
        self.globals = names
        self.pc = 0
        self.yielded: Any = Seq()
        self.caught: Any = None
        self.lazy = False  # a generator: `yield` stops it
        self.handed: list[Any] = []


class Suspended(Held):
    """A generator: a call that was not begun, or stands at a yield."""

    def __init__(self, frame: CallFrame, record: Any) -> None:
        self.frame = frame
        self.record = record
        self.started = self.ended = False

    def held(self) -> tuple[Any, ...]:
        return tuple(self.frame.registers.values())


class Managed(Held):
    """What a function under @contextlib.contextmanager gives: up to its yield, and behind it."""

    def __init__(self, generator: Suspended) -> None:
        self.generator = generator

    def held(self) -> tuple[Any, ...]:
        return (self.generator,)

    def entered(self, m: Any) -> Any:
        more, value = m.advance(self.generator)
        if not more:
            raise Unread("a context manager that never yields")
        return value

    def left(self, m: Any) -> bool:
        """Without an exception: those that a body raises are not handed to it."""
        if m.advance(self.generator)[0]:
            raise Unread("a context manager that yields twice")
        return False


# The function that @contextlib.contextmanager puts in the place of another.
CONTEXT = contextlib.contextmanager(lambda: iter(())).__code__


def goes_over_rows(frame: CallFrame) -> bool:
    """Whether a generator that was not begun may go over the data."""
    return holds_data(tuple(frame.registers.values()))


def holds_data(value: Any) -> bool:
    """Whether something holds a value for each record."""
    seen: set[int] = set()
    pending = [value]
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        listed = isinstance(value, Seq) and value.rows is not None
        if listed or isinstance(value, (Rows, RowsIterator, KeyCounts, Object)):
            return True
        if isinstance(value, SharedVariable):
            pending.append(value.value)
        elif isinstance(value, ProgramObject):
            pending += value.attributes.values()
        elif isinstance(value, Suspended):
            pending += value.frame.registers.values()
        elif isinstance(value, tuple):
            pending += value
        elif isinstance(value, (Seq, Map)):
            pending += value.items.values() if isinstance(value, Map) else value.items
    return False
