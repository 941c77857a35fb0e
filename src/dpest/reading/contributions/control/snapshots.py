"""All containers that frames hold, to compare them with later ones and to go back to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dpest.reading.contributions.arithmetic import is_plain
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.values import (
    Bound,
    Held,
    LoweredFunction,
    Map,
    Object,
    PlainIterator,
    ProgramObject,
    Seq,
    SharedVariable,
    SmallArray,
)

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import CallFrame


_CONTAINERS = (Seq, Map, SmallArray, SharedVariable, ProgramObject, PlainIterator)
Place = tuple[Any, ...]


class Absent:
    """What a dict has for a key that a record brings: nothing yet, which counts as 0."""


class Left:
    """What a loop over the records left in a variable: it depends on the last one."""


class Snapshot:
    """All containers that frames hold, and the registers of the last frame: to go back to."""

    def __init__(self, frames: list[CallFrame], more: tuple[Any, ...] = ()) -> None:
        self.frame = frames[-1]
        self.registers = dict(self.frame.registers)
        self.containers: dict[int, tuple[Any, Any]] = {}
        for frame in frames:
            for value in (*frame.registers.values(), frame.yielded):
                self._walk(value)
        self._walk(more)

    def _walk(self, value: Any) -> None:
        if isinstance(value, tuple):
            for v in value:
                self._walk(v)
        elif is_changeable(value) and id(value) not in self.containers:
            inside = contents(value)
            self.containers[id(value)] = (value, inside)
            for v in inside.values() if isinstance(inside, dict) else inside:
                self._walk(v)
            if isinstance(value, PlainIterator):
                self._walk(tuple(value.values))
        else:
            self._walk(held_by(value))

    def restore(self) -> None:
        self.frame.registers.clear()
        self.frame.registers.update(self.registers)
        for value, inside in self.containers.values():
            if isinstance(value, Seq):
                value.items = list(inside)
            elif isinstance(value, Map):
                value.items = dict(inside)
            elif isinstance(value, ProgramObject):
                value.attributes = dict(inside)
            elif isinstance(value, SmallArray):
                value.cells = list(inside)
            elif isinstance(value, PlainIterator):
                value.place, value.gone = inside
            elif isinstance(value, Object):
                value.restore(dict(inside))
            else:
                (value.value,) = inside

    def changes(self) -> Iterator[tuple[Place, Any, Any]]:
        """Places whose value is another now: (place, before, now)."""
        for name, now in self.frame.registers.items():
            before = self.registers.get(name, Left)
            if not same_value(before, now):
                yield ("register", name), before, now
        for key, (value, inside) in self.containers.items():
            now = contents(value)
            if isinstance(inside, dict):
                if [k for k in now if k in inside] != list(inside) or (
                    len(now) > len(inside) and not isinstance(value, Map)
                ):
                    raise Unread("a dict that grows with the data, or loses keys")
                for k in now:
                    if k not in inside:
                        yield ("inside", key, k), Absent, now[k]
                for k in inside:
                    if not same_value(inside[k], now[k]):
                        yield ("inside", key, k), inside[k], now[k]
                continue
            if len(now) != len(inside):
                raise Unread("a list that grows with the data")
            for k, (a, b) in enumerate(zip(inside, now, strict=True)):
                if not same_value(a, b):
                    yield ("inside", key, k), a, b

    def before(self, place: Place) -> Any:
        """What a place held."""
        if place[0] == "register":
            return self.registers.get(place[1], Left)
        return self.containers[place[1]][1][place[2]]

    def put(self, place: Place, value: Any) -> None:
        if place[0] == "register":
            self.frame.registers[place[1]] = value
            return
        owner = self.containers[place[1]][0]
        if isinstance(owner, (Seq, Map)):
            owner.items[place[2]] = value
        elif isinstance(owner, ProgramObject):
            owner.attributes[place[2]] = value
        elif isinstance(owner, SmallArray):
            owner.cells[place[2]] = value
        elif isinstance(owner, SharedVariable):
            owner.value, owner.full = value, True
        else:
            raise Unread("something that goes on from record to record")


@contextmanager
def apart(m: Any) -> Iterator[None]:
    """Here the program's functions are called for records, or gaps, one apart from the other."""
    before, m.apart = m.apart, True
    try:
        yield
    finally:
        m.apart = before


def call_apart(m: Any, function: Callable[[], Any], holders: tuple[Any, ...]) -> Any:
    """A call that must leave all as it was: it stands for one for each record."""
    before = Snapshot(m.frames, holders)
    m.apart = False
    try:
        found = function()
    finally:
        m.apart = True
    if any(True for _ in before.changes()):
        raise Unread("something that goes on from record to record")
    return found


def is_changeable(value: Any) -> bool:
    """Whether a value can be changed in place."""
    if isinstance(value, Object):
        return value.state() is not None
    return isinstance(value, _CONTAINERS)


def contents(value: Any) -> Any:
    if isinstance(value, Object):
        return dict(value.state() or {})
    if isinstance(value, Seq):
        return list(value.items)
    if isinstance(value, Map):
        return dict(value.items)
    if isinstance(value, ProgramObject):
        return dict(value.attributes)
    if isinstance(value, SmallArray):
        return list(value.cells)
    return [value.place, value.gone] if isinstance(value, PlainIterator) else [value.value]


def held_by(value: Any) -> tuple[Any, ...]:
    """What functions and methods hold: variables of outer functions, their objects."""
    if isinstance(value, LoweredFunction):
        return (*value.cells, *value.defaults.values())
    if isinstance(value, (Bound, Held)):
        return value.held() if isinstance(value, Held) else (value.owner,)
    return ()


def same_value(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if (
        is_plain(a)
        and is_plain(b)
        and not isinstance(a, SmallArray)
        and not isinstance(b, SmallArray)
    ):
        return type(a) is type(b) and bool(a == b)
    return isinstance(a, SymbolicForm) and isinstance(b, SymbolicForm) and a == b
