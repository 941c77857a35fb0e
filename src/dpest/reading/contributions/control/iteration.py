"""Going through values one by one: iterators, generators, the turns of loops."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dpest.reading.code.instructions import Instruction
from dpest.reading.contributions.control.objects import field_names, has_special, special
from dpest.reading.contributions.control.stack import CallFrame, Suspended, goes_over_rows
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.functions.flips import Permuted
from dpest.reading.contributions.gaps.loops import pass_over_gaps
from dpest.reading.contributions.gaps.values import PerGap
from dpest.reading.contributions.loops import KEYS
from dpest.reading.contributions.persons import by_person, of_people
from dpest.reading.contributions.values import (
    GONE,
    KeyCounts,
    Map,
    Object,
    PlainIterator,
    ProgramObject,
    Rows,
    RowsIterator,
    Seq,
    SmallArray,
)

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


def iterator_over(m: ContributionMachine, value: Any) -> Any:
    if is_once(value):
        if value.gone:
            raise Unread(GONE)
        return value
    if isinstance(value, Suspended):
        if goes_over_rows(value.frame):
            return iterator_over(m, all_handed_out(m, value))
        return value
    if isinstance(value, ProgramObject):
        if field_names(value.kind):
            return PlainIterator.over(value.attributes.values())
        if has_special(value, "__iter__"):
            return iterator_over(m, special(m, value, "__iter__"))
    if isinstance(value, Object):
        return value.iterate(m)
    if isinstance(value, Rows):
        return RowsIterator(value)
    if isinstance(value, KeyCounts):
        return value
    if isinstance(value, Seq):
        if value.noisy is not None and len(value.items) == 1:
            noisy = value.noisy
            return KeyCounts(noisy.rows, "items", value, noisy.order)
        if value.drained:
            raise Unread("a loop over what is left of candidates")
        if value.rows is not None:
            return RowsIterator(value.rows)
        if value.bag:
            raise Unread("a loop over a list whose order is private")
        return PlainIterator.over(value.items)
    if (people := by_person(value)) is not None:
        return iterator_over(m, of_people(m, people, "keys"))
    if isinstance(value, Map):
        if value.partial:
            return m.counts_of(value)
        if value.open:
            raise Unread(f"a loop over a mapping whose keys are those of the data: {KEYS}")
        return PlainIterator.over(value.items)
    if isinstance(value, SmallArray) and value.shape:
        return PlainIterator.over(value.rows())
    if isinstance(value, (tuple, range, str)):
        return PlainIterator.over(value)
    raise Unread(f"a loop over {type(value).__name__}")


def listed(m: ContributionMachine, value: Any) -> list[Any]:
    """All values of something that can be gone through one by one."""
    found = iterator_over(m, value)
    if isinstance(found, Suspended):
        values: list[Any] = []
        while True:
            more, one = advance(m, found)
            if not more:
                return values
            values.append(one)
    if not isinstance(found, PlainIterator):
        raise Unread("a list of values for each record")
    items = list(found.items)
    found.gone = found is value
    return items


def is_once(value: Any) -> bool:
    """Whether a value is an iterator, through which one goes once."""
    return isinstance(value, (PlainIterator, RowsIterator)) or (
        isinstance(value, PerGap) and value.once
    )


_LEAVING = (builtins.iter, builtins.next, builtins.isinstance, builtins.type)
"""Functions that leave in an iterator what they don't hand out."""


@contextmanager
def going_through(function: Any, arguments: list[Any], named: dict[str, Any]) -> Iterator[None]:
    """What is handed to a function of a library is gone afterwards, if it is an iterator."""
    given = [
        v
        for value in (*arguments, *named.values())
        for v in ((value, *value) if isinstance(value, tuple) else (value,))
        if is_once(v)
    ]
    if any(v.gone for v in given) or len(set(map(id, given))) < len(given):
        raise Unread(GONE)
    yield
    if not any(function is leaving for leaving in _LEAVING):
        for v in given:
            v.gone = True


def next_turn(m: ContributionMachine, frame: CallFrame, instruction: Instruction) -> None:
    iterator = frame.registers[instruction.uses[0]]
    if isinstance(iterator, PlainIterator):
        if iterator.gone:
            raise Unread(GONE)
        if iterator.place >= len(iterator.values):
            if instruction.extra is not None:
                frame.registers[instruction.extra] = None
            frame.pc = instruction.jumps[0]
            return
        value = iterator.values[iterator.place]
        iterator.place += 1
        if instruction.dst is not None:
            frame.registers[instruction.dst] = value
        frame.pc += 1
    elif isinstance(iterator, Permuted):
        if instruction.dst is not None:
            frame.registers[instruction.dst] = iterator.candidate(m)
        frame.pc += 1
    elif isinstance(iterator, Suspended):
        more, value = advance(m, iterator)
        if not more:
            if instruction.extra is not None:
                frame.registers[instruction.extra] = None
            frame.pc = instruction.jumps[0]
            return
        if instruction.dst is not None:
            frame.registers[instruction.dst] = value
        frame.pc += 1
    elif isinstance(iterator, RowsIterator):
        if frame.lazy:
            raise Unread("a generator that goes over the data, one by one")
        rows = RowsIterator(iterator.rows, iterator.reader)
        iterator.gone = True
        m.pass_over(frame, instruction, rows)
    elif isinstance(iterator, PerGap):
        if iterator.gone:
            raise Unread(GONE)
        iterator.gone = iterator.once
        pass_over_gaps(m, frame, instruction, iterator)
    elif isinstance(iterator, KeyCounts):
        m.pass_over_keys(frame, instruction, iterator)
    else:
        raise Unread(f"a loop over {type(iterator).__name__}")


def advance(m: ContributionMachine, generator: Suspended) -> tuple[bool, Any]:
    """(whether there is another value, the value): the body goes on to its next yield."""
    frame = generator.frame
    if m.joining or m.record is not generator.record:
        raise Unread("a generator that goes on in another place than it was made")
    if generator.ended:
        return False, None
    frame.lazy, frame.handed = True, []
    m.frames.append(frame)
    try:
        done, _ = m.run_until(frame, None)
    finally:
        m.frames.pop()
        frame.lazy = False
    generator.started = True
    if done:
        generator.ended = True
        return False, None
    return True, frame.handed[0]


def all_handed_out(m: ContributionMachine, generator: Suspended) -> Seq:
    """All that a generator hands out; one value for each record where it goes over them."""
    frame = generator.frame
    if generator.started or m.record is not generator.record:
        raise Unread("a generator that goes on in another place than it was made")
    generator.started = generator.ended = True
    m.run(frame)
    return frame.yielded
