"""When two states are the same from here on: a key for each, by what can still be reached.

Addresses don't matter, nor what no live register leads to. Types do, and so does which names hold
the same object. A state with something in it that has no rule here has no key.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpest.geometry.linear import Form, Symbol
from dpest.reading.code.instructions import Code
from dpest.reading.code.liveness import live_while_waiting
from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.machine.adopting import ATOMS
from dpest.reading.machine.heap import (
    Buffer,
    Cell,
    DequeObject,
    DictObject,
    GeneratorObject,
    HeapObject,
    Instance,
    KeysIterator,
    ListObject,
    LocalClass,
    OpenList,
    RowIterator,
    SequenceIterator,
    SetObject,
)
from dpest.reading.machine.orders import Order, SortedBuffer, SortedList
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.state import Frame, State
from dpest.reading.machine.values import (
    Array,
    BoundMethod,
    Closure,
    DictView,
    Journal,
    Known,
    Partial,
    RandomSource,
    Ref,
    SciPyDistribution,
    Super,
)

_AS_THEY_ARE = frozenset({int, bool, str, bytes, type(None), type(...), type(NotImplemented)})
_UNBOUND = ("unbound",)
_MOST_KEPT = 4_000_000  # numbers in lists and arrays that are kept to be compared


class Unmergeable(Refused):
    """There is something in a state that can't be compared."""


@dataclass
class Canonical:
    """The key of a state, and what was seen on the way to it."""

    key: Any
    addresses: set[int]
    symbols: set[Symbol]
    open_lists: list[tuple[int, Any]] = field(default_factory=list)  # address, origin


class Contents:
    """The keys of objects that hold plain values only: they are made once.

    An object that was looked at here is frozen, so that its content never changes again.
    """

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, Any]] = {}  # by id; the object is kept, so that it stays
        self.size = 0

    def _grown(self, by: int) -> None:
        self.size += by
        if self.size > _MOST_KEPT:
            raise Unmergeable("states that are too large to be compared")

    def of(self, thing: Any, values: Iterable[Any]) -> Any:
        """A key of plain values, or None where one of them isn't plain."""
        found = self.known.get(id(thing))
        if found is None:
            parts = []
            for value in values:  # up to the first that isn't plain
                parts.append(_plain(value))
                if parts[-1] is None:
                    break
            self._grown(len(parts))
            whole = not parts or parts[-1] is not None
            key = (type(thing).__name__, _Once(tuple(parts))) if whole else None
            found = self.known[id(thing)] = (thing, key)
        return found[1]

    def of_numbers(self, array: np.ndarray) -> Any:
        found = self.known.get(id(array))
        if found is None:
            self._grown(array.size)
            key = _Once((array.dtype.str, array.shape, array.strides, array.tobytes()))
            found = self.known[id(array)] = (array, key)
        return found[1]


class _Once:
    """A tuple whose hash is computed once, however long it is."""

    __slots__ = ("_hash", "parts")

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, _Once) and self.parts == other.parts)


def _plain(value: Any) -> Any:
    """A key for a plain value: equal ones have the same type and the same text."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return (kind, value)
    if kind is float or kind is complex:
        return (kind, repr(value))
    if isinstance(value, np.generic):
        return (kind, value.dtype.str, value.tobytes())
    if kind is range:
        return (kind, value.start, value.stop, value.step)
    return None


@functools.lru_cache(maxsize=4096)
def _live_registers(code: Code, pc: int, waiting: bool) -> tuple[str, ...]:
    if not waiting:
        return tuple(sorted(code.live[pc]))
    # An instruction that waits may be executed again, where its result leaves something open.
    return tuple(sorted({*live_while_waiting(code, pc), *code.instructions[pc].uses}))


def live_registers(state: State) -> list[tuple[str, ...]]:
    """Of each frame: the registers that are read later."""
    last = len(state.frames) - 1
    return [_live_registers(f.code, f.pc, n < last) for n, f in enumerate(state.frames)]


class CanonicalWalk:
    """One walk through a state, from its live registers to all that they lead to."""

    def __init__(
        self,
        definitions: Any,
        contents: Contents,
        state: State,
        own: int,
        closed: set[Any],
    ) -> None:
        self.definitions = definitions
        self.contents = contents
        self.state = state
        self.own = own  # addresses up to this one were there before the function began
        self.closed = closed
        self.numbers: dict[int, int] = {}  # of addresses, in the order of the walk
        self.identities: dict[int, int] = {}  # of immutable objects that have an identity
        self.pending: list[Ref] = []
        self.symbols: set[Symbol] = set()
        self.open: dict[int, Any] = {}

    def canonical(self) -> Canonical:
        state = self.state
        frames = []
        for frame, live in zip(state.frames, live_registers(state), strict=True):
            for name in live:
                self._look_for_lists(frame, name)
            frames.append(self.frame(frame, live))
        objects = []
        for ref in self.pending:  # grows while it is gone through
            objects.append(self.thing(ref))
        adopted = tuple(
            sorted(
                (i, self.numbers[value.address])
                for i, (_, value) in state.adopted.items()
                if isinstance(value, Ref) and value.address in self.numbers
            )
        )
        key = (tuple(frames), tuple(objects), adopted)
        order = [(a, self.open[a]) for a in self.numbers if a in self.open]
        return Canonical(key, set(self.numbers), self.symbols, order)

    def _look_for_lists(self, frame: Frame, name: str) -> None:
        """A list that a live variable holds may be open: the ways may differ in what it holds."""
        value = frame.registers.get(name)
        if type(value) is not Ref:
            return
        thing = self.state.heap.read(value)
        if type(thing) is Cell:
            self._may_be_open(thing.value, (frame.code, name))
        elif type(thing) is Instance:
            for attribute, held in thing.attributes.items():
                self._may_be_open(held, (frame.code, name, attribute))
        else:
            self._may_be_open(value, (frame.code, name))

    def _may_be_open(self, value: Any, origin: Any) -> None:
        if type(value) is not Ref or value.address <= self.own or value.address in self.open:
            return
        thing = self.state.heap.read(value)
        if type(thing) is OpenList:
            self.open[value.address] = thing.origin
        elif type(thing) is ListObject and not (thing.outside or origin in self.closed):
            self.open[value.address] = origin

    def frame(self, frame: Frame, live: Iterable[str]) -> Any:
        registers = frame.registers
        values = tuple(
            [self.value(registers[r]) if r in registers else _UNBOUND for r in live]
        )  # a list: faster, and this is where the time goes
        error, target = self.value(frame.error), self.value(frame.target)
        return frame.code, frame.pc, id(frame.names), frame.back, error, target, values

    def value(self, value: Any) -> Any:
        kind = type(value)
        if kind in _AS_THEY_ARE:
            return (kind, value)
        if kind is Real:
            self._speaks_of(value.form)
            return (value.form, value.kinds)
        if kind is Ref:
            return ("ref", self._number(value))
        if kind is Truth:
            self._speaks_of_truth(value)
            return ("truth", value.key, value.kind)
        if isinstance(value, tuple):
            return (kind, *map(self.value, value))
        plain = _plain(value)
        if plain is not None:
            return plain
        if isinstance(value, ATOMS):
            return ("atom", kind, value)
        if kind is BoundMethod:
            return ("method", self.value(value.function), self.value(value.owner))
        if kind in (Array, Closure, Partial, DictView, RandomSource, SciPyDistribution):
            return self._identified(value)
        if kind is Known:
            return ("known", id(value.thing))
        if kind is Journal:
            return ("journal",)
        if kind is slice:
            return ("slice", *map(self.value, (value.start, value.stop, value.step)))
        if kind is frozenset:
            return ("frozenset", frozenset(map(self.value, value)))
        if kind is Super:
            return ("super", self.value(value.after), self.value(value.owner))
        raise Unmergeable(f"states with a {kind.__name__} can't be compared")

    def _number(self, ref: Ref) -> int:
        number = self.numbers.get(ref.address)
        if number is None:
            number = self.numbers[ref.address] = len(self.numbers)
            self.pending.append(ref)
        return number

    def _identified(self, value: Any) -> Any:
        """An object that nobody can change, but which is only ever the same as itself."""
        number = self.identities.get(id(value))
        if number is not None:
            return ("same", number)
        self.identities[id(value)] = len(self.identities)
        if isinstance(value, RandomSource):
            return ("random", value.library, value.kind)
        if isinstance(value, SciPyDistribution):
            given = (value.name, value.frozen, value.args, value.kwargs)
            return ("distribution", *map(self.value, given))
        if isinstance(value, Array):
            places = self.contents.of_numbers(value.places)
            return ("array", self._number(value.buffer), places, value.dtype.str)
        if isinstance(value, Closure):
            parts = (value.cells, value.defaults, value.attributes)
            return ("closure", value.code, id(value.names), *map(self.value, parts))
        if isinstance(value, DictView):
            return ("view", self._number(value.owner), value.name)
        return ("partial", *map(self.value, (value.function, value.args, value.kwargs)))

    def _speaks_of(self, form: Form) -> None:
        for symbol in form.terms:
            if symbol not in self.symbols:
                self.symbols.add(symbol)
                if symbol.kind == "indicator":
                    self._speaks_of_truth(self.definitions[symbol])

    def _speaks_of_truth(self, truth: Truth) -> None:
        if truth.condition is not None:
            self._speaks_of(truth.condition.form)
        for part in truth.parts:
            self._speaks_of_truth(part)

    # Objects

    def thing(self, ref: Ref) -> Any:
        thing = self.state.heap.read(ref)
        if ref.address in self.open:
            return ("open", self.open[ref.address])
        if type(thing) is OpenList:
            self.open[ref.address] = thing.origin
            return ("open", thing.origin)
        return (thing.outside, self._content(thing))

    def _content(self, thing: HeapObject) -> Any:
        if isinstance(thing, SortedList):
            view = (thing.view.start, thing.view.stop, thing.view.step)
            return ("sorted", self._order(thing.order), view, self._all(thing.values))
        if isinstance(thing, SortedBuffer):
            return ("sorted buffer", self._order(thing.order), self._all(thing.values))
        if isinstance(thing, ListObject):
            plain = self.contents.of(thing, thing.items)
            return ("list", thing.kind, plain or self._all(thing.items))
        if isinstance(thing, (SequenceIterator, KeysIterator, RowIterator)):
            parts = tuple(vars(thing).items())
            return (type(thing), *[(name, self.value(v)) for name, v in parts])
        if isinstance(thing, Cell):
            return ("cell", thing.empty, self.value(thing.value))
        if isinstance(thing, Buffer):
            if thing.symbolic:
                return ("buffer", thing.data.shape, self._all(thing.data.reshape(-1)))
            return ("buffer", self.contents.of_numbers(thing.data))
        if isinstance(thing, DictObject):
            pairs = [(self.value(k), self.value(v)) for k, v in thing.items.items()]
            return ("dict", thing.kind, self.value(thing.factory), tuple(pairs))
        if isinstance(thing, SetObject):
            return ("set", self._all(thing.items))
        if isinstance(thing, DequeObject):
            return ("deque", thing.maximum, self._all(thing.items))
        if isinstance(thing, Instance):
            held = [(name, self.value(v)) for name, v in thing.attributes.items()]
            return ("instance", self.value(thing.cls), tuple(held))
        if isinstance(thing, LocalClass):
            held = [(name, self.value(v)) for name, v in thing.attributes.items()]
            return ("class", thing.name, self._all(thing.order), tuple(held))
        if isinstance(thing, GeneratorObject):
            return ("generator", thing.started, thing.running, self._generator_frame(thing))
        raise Unmergeable(f"states with a {type(thing).__name__} can't be compared")

    def _order(self, order: Order) -> Any:
        for form in order.forms:
            self._speaks_of(form)
        return order.key

    def _all(self, values: Iterable[Any]) -> Any:
        return tuple([self.value(v) for v in values])

    def _generator_frame(self, thing: GeneratorObject) -> Any:
        frame = thing.frame
        if frame is None:
            return None
        return self.frame(frame, _live_registers(frame.code, frame.pc, thing.started))
