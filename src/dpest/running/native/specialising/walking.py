"""A state taken apart: its shape, and the leaves in it, which may differ where states merge."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator as Iterating
from typing import Any

import numpy as np

from dpest.reading.code.instructions import Code
from dpest.reading.code.liveness import live_while_waiting
from dpest.running.native.signals import NotCompiled
from dpest.running.native.specialising.state import (
    DICTS,
    OPAQUE,
    FrameReturn,
    Iterator,
    Outside,
    RunCell,
    RunClosure,
    RunFrame,
    RunGenerator,
    is_instance,
)
from dpest.running.native.values import SCALARS, RunValue
from dpest.running.skeleton import seen_constant


@functools.lru_cache(maxsize=65536)
def _waiting(code: Code, pc: int) -> tuple[str, ...]:
    return tuple(sorted(live_while_waiting(code, pc)))


@functools.lru_cache(maxsize=65536)
def _live(code: Code, pc: int) -> tuple[str, ...]:
    return tuple(sorted(code.live[pc]))


def _names(frame: RunFrame, top: bool) -> tuple[str, ...]:
    return _live(frame.code, frame.pc) if top else _waiting(frame.code, frame.pc)


class StateTraversal:
    """One order of traversal for both: taking a state apart, and copying it with other leaves.

    With `fixed_integers` plain integers belong to the shape: states that differ in one are two.
    """

    def __init__(self, outside: Outside, fixed_integers: bool) -> None:
        self.outside = outside
        self.fixed_integers = fixed_integers

    def _is_leaf(self, value: Any) -> bool:
        if isinstance(value, RunValue):
            return True
        if not isinstance(value, SCALARS):
            return False
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        return not (whole and self.fixed_integers)

    def collect(self, frames: list[RunFrame]) -> tuple[tuple[Any, ...], list[Any], list[Any]]:
        """Shape, leaves, and the objects whose identities are in the shape."""
        taking = _Taking(self)
        for place, frame in enumerate(frames):
            taking.frame(frame, _on_top(frames, place))
        return tuple(taking.shape), taking.leaves, taking.kept

    def rebuild(
        self,
        frames: list[RunFrame],
        leaves: list[Any] | None = None,
        replaced: tuple[Any, Any] | None = None,
    ) -> list[RunFrame]:
        """A copy, with these leaves in their places, and one object in another's."""
        copying = _Copying(self, None if leaves is None else iter(leaves))
        if replaced is not None:
            copying.memo[id(replaced[0])] = replaced[1], replaced[0]
        return [copying.frame(frame, _on_top(frames, place)) for place, frame in enumerate(frames)]


def memory_of(array: np.ndarray) -> Any:
    """The array that a view looks at, in the end."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _on_top(frames: list[RunFrame], place: int) -> bool:
    """Whether a frame will execute its instruction (again), or waits for its result."""
    return place == len(frames) - 1 or frames[place + 1].back.kind == "items"


class _Taking:
    def __init__(self, walk: StateTraversal) -> None:
        self.walk = walk
        self.shape: list[Any] = []
        self.leaves: list[Any] = []
        self.kept: list[Any] = []
        self.seen: dict[int, int] = {}
        self.memory: set[int] = set()

    def frame(self, frame: RunFrame, top: bool) -> None:
        self.shape.append((id(frame.code), frame.pc, frame.back.kind))
        self.kept.append(frame.code)
        self.value(frame.back.target)
        self.value(frame.error)
        for name in _names(frame, top):
            if name in frame.registers:
                self.shape.append(name)
                self.value(frame.registers[name])

    def value(self, value: Any) -> None:
        if self.walk._is_leaf(value):
            self.leaves.append(value)
            self.shape.append(".")
            return
        if isinstance(value, SCALARS):
            self.shape.append(seen_constant(value))
            return
        if id(value) in self.seen:
            self.shape.append(("again", self.seen[id(value)]))
            return
        self.kept.append(value)
        if isinstance(value, (range, slice)):
            if isinstance(value, slice) and any(
                isinstance(v, RunValue) for v in (value.start, value.stop, value.step)
            ):
                raise NotCompiled("a slice whose ends the run computes")
            self.shape.append(repr(value))
            return
        if isinstance(value, BaseException):
            self.shape.append((type(value), repr(value.args)))
            return
        if value in self.walk.outside or isinstance(value, OPAQUE):
            self.shape.append(("same", id(value)))
            return
        self.seen[id(value)] = len(self.seen)
        self.container(value)

    def container(self, value: Any) -> None:
        kind = type(value)
        parts: list[Any] = []
        if isinstance(value, np.ndarray):
            root = memory_of(value)
            if id(root) in self.memory and root not in self.walk.outside:
                raise NotCompiled("two views of one array")  # a copy would tear them apart
            self.memory.add(id(root))
            if value.dtype != object:
                self.shape.append(("array", value.dtype.str, value.shape, value.tobytes()))
                return
            head: Any = ("objects", value.shape)
            parts = list(value.flat)
        elif kind in (list, tuple) or (isinstance(value, tuple) and hasattr(value, "_fields")):
            head, parts = (kind, len(value)), list(value)
        elif kind in DICTS:
            head, parts = (kind, tuple((type(k), k) for k in value)), list(value.values())
        elif kind in (set, frozenset):
            head = (kind, frozenset((type(k), k) for k in value))
        elif isinstance(value, Iterator):
            head, parts = (kind, value.index), [value.items]
        elif isinstance(value, RunCell):
            head, parts = (kind, value.empty), [value.value]
        elif isinstance(value, RunClosure):
            head = (kind, id(value.code))
            parts = [*value.cells.values(), *value.defaults.values()]
            self.kept.append(value.code)
        elif isinstance(value, RunGenerator):
            head, parts = (kind, value.frame is None), [value.items]
        elif isinstance(value, functools.partial):
            head = (kind, len(value.args), tuple(value.keywords))
            parts = [value.func, *value.args, *value.keywords.values()]
        elif is_instance(value):
            head, parts = (kind, tuple(vars(value))), list(vars(value).values())
        else:
            head = ("same", id(value))
        self.shape.append(head)
        for part in parts:
            self.value(part)
        if isinstance(value, RunGenerator) and value.frame is not None:
            self.frame(value.frame, True)


class _Copying:
    def __init__(self, walk: StateTraversal, leaves: Iterating[Any] | None) -> None:
        self.walk = walk
        self.leaves = leaves
        self.memo: dict[int, tuple[Any, Any]] = {}

    def frame(self, frame: RunFrame, top: bool) -> RunFrame:
        back = FrameReturn(frame.back.kind, self.value(frame.back.target))
        made = RunFrame(frame.code, frame.names, {}, frame.pc, back, self.value(frame.error))
        for name in _names(frame, top):
            if name in frame.registers:
                made.registers[name] = self.value(frame.registers[name])
        return made

    def value(self, value: Any) -> Any:
        if self.walk._is_leaf(value):
            return value if self.leaves is None else next(self.leaves)
        if isinstance(value, (*SCALARS, *OPAQUE, slice)) or value in self.walk.outside:
            return value
        if id(value) in self.memo:
            return self.memo[id(value)][0]
        return self.container(value)

    def container(self, value: Any) -> Any:
        kind = type(value)
        made: Any
        if isinstance(value, np.ndarray):
            made = value.copy()
            self._keep(value, made)
            if value.dtype == object:
                for place, part in enumerate(value.flat):
                    made.flat[place] = self.value(part)
        elif kind is list:
            made = self._keep(value, [])
            made.extend(self.value(part) for part in value)
        elif kind in DICTS:
            made = self._keep(value, copy.copy(value))
            for key, part in value.items():
                made[key] = self.value(part)
        elif kind is tuple:
            made = self._keep(value, tuple(self.value(part) for part in value))
        elif isinstance(value, tuple) and hasattr(value, "_fields"):
            made = self._keep(value, kind(*(self.value(part) for part in value)))
        elif kind in (set, frozenset):
            made = self._keep(value, kind(value))
        elif isinstance(value, (Iterator, RunCell)):
            made = self._keep(value, copy.copy(value))
            if isinstance(value, Iterator):
                made.items = self.value(value.items)
            else:
                made.value = self.value(value.value)
        elif isinstance(value, RunClosure):
            made = self._keep(value, copy.copy(value))
            made.cells = {name: self.value(part) for name, part in value.cells.items()}
            made.defaults = {name: self.value(part) for name, part in value.defaults.items()}
        elif isinstance(value, RunGenerator):
            made = self._keep(value, RunGenerator(None))
            made.items = self.value(value.items)
            made.frame = None if value.frame is None else self.frame(value.frame, True)
        elif isinstance(value, functools.partial):
            func, *args = (self.value(part) for part in (value.func, *value.args))
            words = {name: self.value(part) for name, part in value.keywords.items()}
            made = self._keep(value, functools.partial(func, *args, **words))
        elif is_instance(value):
            made = self._keep(value, object.__new__(kind))
            for name, part in vars(value).items():
                made.__dict__[name] = self.value(part)
        else:
            made = value
        return made

    def _keep(self, value: Any, made: Any) -> Any:
        self.memo[id(value)] = made, value
        return made
