"""A state as a node of the graph: what is live in it, with a slot for each real number.

Registers that nobody reads again are dropped. Numbers, text and the structure of containers stay
as they are: states that differ in them are different nodes. Lists that are only filled are empty
here: what they hold was released on the way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.reading.code.liveness import live_while_waiting
from dpest.reading.domains.numbers import Real, Truth, as_number
from dpest.reading.domains.weights import Normaliser, Weighted, WeightSum
from dpest.reading.lengths.machine import LengthMachine
from dpest.reading.lengths.places import (
    Candidates,
    CandidatesLeft,
    ChosenPlace,
    RandomOrder,
    RandomPlace,
)
from dpest.reading.lengths.values import (
    Argmax,
    Count,
    DataIterator,
    ElementPlace,
    Filled,
    FilledList,
    Kept,
    PassLog,
    PlacedList,
    Places,
    Plan,
    Scale,
    Sums,
    Vector,
)
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
    RowIterator,
    SequenceIterator,
    SetObject,
)
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.state import Frame, State
from dpest.reading.machine.values import (
    Array,
    BoundMethod,
    Closure,
    DictView,
    Journal,
    Lazy,
    Method,
    Partial,
    RandomSource,
    Ref,
    SciPyDistribution,
    Super,
    is_plain,
)

_PRELUDE = "machine/prelude.py"


class Abstraction:
    """One state: its key, what its slots are set to, and what was put into lists on the way."""

    def __init__(self, machine: LengthMachine, state: State, plan: Plan) -> None:
        self.machine = machine
        self.old = state
        self.plan = plan
        self.updates: dict[Symbol, Form] = {}
        self._slots: dict[Form, Symbol] = {}
        self.places: dict[str, str] = {}
        self.integers: dict[str, int] = {}
        self.sizes: dict[str, int] = {}
        self.put: list[Any] = []
        """The lists that are filled: what each got on this edge."""
        self.filled: dict[int, str] = {}
        self.parts: list[Any] = []
        self.objects: dict[int, HeapObject] = {}
        self.seen: dict[int, int] = {}
        self._known = {
            _address(value): id(thing)
            for thing, value in state.adopted.values()
            if _address(value) is not None
        }
        log: PassLog = state.heap.read(machine.log_ref)
        self.log = log
        number, exact = _next(log, plan)
        self.parts.append(("position", number, exact))
        user = [k for k, f in enumerate(state.frames) if not f.code.file.endswith(_PRELUDE)]
        self.main = user[-1] if user else 0
        frames = [
            self._frame(f, f"{k}", k == len(state.frames) - 1, k == self.main)
            for k, f in enumerate(state.frames)
        ]
        self.objects[machine.log_ref.address] = PassLog(
            fresh=True, begun=True, number=number, exact=exact
        )
        heap = state.heap.fork()
        heap.keep({a for a, thing in heap.items() if thing.outside})
        for address, thing in self.objects.items():
            heap.place(address, thing)
        adopted = {
            k: (thing, value)
            for k, (thing, value) in state.adopted.items()
            if (a := _address(value)) is None or heap.holds(a)
        }
        self.state = State(frames, heap, adopted=adopted)
        self.key = (*self.parts, tuple(sorted(self.updates)))

    # Frames

    def _frame(self, frame: Frame, name: str, top: bool, main: bool, fresh: bool = False) -> Frame:
        code = frame.code
        live = code.live[frame.pc] if top or fresh else live_while_waiting(code, frame.pc)
        made = Frame(code, frame.names, {}, frame.back)
        made.pc = frame.pc
        self.parts.append(("frame", id(code), frame.pc, frame.back))
        for register in sorted(live & frame.registers.keys()):
            self.parts.append(register)
            shown = register.replace("%", "t").replace("'", "_")
            path = shown if main else f"{shown}.{name}"
            where = f"{code.qualname}:{register}"
            made.registers[register] = self._of(frame.registers[register], path, where)
        made.target = self._of(frame.target, f"target.{name}", "")
        made.error = self._of(frame.error, f"error.{name}", "")
        return made

    # Values

    def _of(self, value: Any, path: str, where: str) -> Any:
        """A value as the node has it; `where` names the variable, over all readings."""
        say = self.parts.append
        if isinstance(value, Real):
            return self._number(value, path)
        if isinstance(value, Truth):
            value = value.kind(self.machine.holds(value))
        if is_plain(value):
            return self._plain(value, where)
        if isinstance(value, tuple):
            say(("tuple", type(value), len(value)))
            made = [self._of(v, f"{path}.{i}", f"{where}.{i}") for i, v in enumerate(value)]
            return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
        if isinstance(value, Ref):
            self._object(value, path, where)
            return value
        if isinstance(value, Array):
            shape = (value.places.tobytes(), value.places.shape, value.places.strides)
            say(("array", str(value.dtype), *shape))
            self._object(value.buffer, path, where)
            return value
        if isinstance(value, Weighted):
            return self._weighted(value, path)
        if isinstance(value, _LENGTHS):
            return self._lengths(value, path, where)
        if isinstance(value, _CODE):
            return self._code(value, path, where)
        if isinstance(value, Lazy) and value.node_key is not None:
            say(value.node_key)
            return value
        if isinstance(value, slice):
            say("slice")
            parts = (value.start, value.stop, value.step)
            return slice(*(self._of(v, f"{path}.{i}", where) for i, v in enumerate(parts)))
        if isinstance(value, RandomSource):
            say(("source", value.library))
            return value
        if isinstance(value, Journal):
            say("journal")
            return value
        if isinstance(value, (frozenset, *ATOMS)):
            say(("atom", id(value)))
            return value
        raise Refused(f"a {type(value).__name__} that is kept from one element to the next")

    def _plain(self, value: Any, where: str) -> Any:
        if where in self.plan.indices and type(value) is int:
            if self.log.begun:
                raise Refused("a variable that does not count the elements from the start")
            place = ElementPlace(value)
            self.parts.append(place)
            return place
        if where in self.plan.counters and type(value) is int:
            self.parts.append(Kept())
            return Kept()
        if type(value) is int:
            self.integers[where] = value
        self.parts.append((type(value), repr(value)))
        return value

    def _number(self, value: Real, path: str) -> Any:
        bits = [s for s in value.form.terms if s.kind == "indicator"]
        form = value.form
        if bits:
            decided = {
                s: Form.number(int(self.machine.holds(self.machine.definition(s)))) for s in bits
            }
            form = form.substitute(decided)
        self.parts.append(("real", value.kinds))
        if not form.terms:
            self.parts.append(repr(form.constant))
            return as_number(form, value.kinds)
        if all(s.kind == "parameter" for s in form.terms):
            self.parts.append(form)  # public: the same everywhere
            return Real(form, value.kinds)
        return Real(self._slot(form, path), value.kinds)

    def _weighted(self, value: Weighted, path: str) -> Any:
        """What all elements share stays; what belongs to the one of this edge is a number."""
        named = self.machine.named_values
        whole = isinstance(value, (WeightSum, Normaliser))
        if whole or all(named.is_shared(s) for s in value.form.terms):
            self.parts.append(value.key)
            return value
        return self._number(Real(named.number(value), (float,)), path)

    def _slot(self, form: Form, path: str) -> Form:
        """The slot of a number; numbers that are equal here have one."""
        if all(self.machine.named_values.is_shared(s) for s in form.terms):
            self.parts.append(form)
            return form
        symbol = self._slots.get(form)
        if symbol is None:
            symbol = Symbol("state", path)
            while symbol in self.updates:
                symbol = Symbol("state", symbol.name + "_")
            self.updates[symbol] = form
            self._slots[form] = symbol
        self.parts.append(symbol)
        return Form.of(symbol)

    def _lengths(self, value: Any, path: str, where: str) -> Any:
        say = self.parts.append
        if isinstance(value, ElementPlace):
            if where in self.plan.indices:
                place = ElementPlace(value.offset - self.log.at)
                if abs(place.offset) > 8:
                    raise Refused("a variable that does not keep up with the elements")
                say(place)
                return place
            self.places[path] = "now" if value.offset == 0 and self.log.at else "other"
            say(("kept", path))
            return Kept(path)
        if isinstance(value, Kept):
            self.places[path] = "kept" if value.path == path else "other"
            say(("kept", path if value.path else ""))
            return Kept(path) if value.path else value
        if isinstance(value, (RandomPlace, ChosenPlace)):
            return self._random_place(value, path)
        if isinstance(value, (Count, Scale)):
            say(value)
            return value
        if isinstance(value, RandomOrder):
            say(value.key)
            return value
        if isinstance(value, CandidatesLeft):
            return self._left(value, path, where)
        if isinstance(value, Places):
            say(("places", value.first))
            return value
        if isinstance(value, Sums):
            say("sums")
            return Sums(self._vector(value.vector, path))
        if isinstance(value, Vector):
            return self._vector(value, path)
        raise Refused("the place of the greatest of the data, kept over a loop")

    def _left(self, value: CandidatesLeft, path: str, where: str) -> CandidatesLeft:
        if self.old.heap.read(value.candidates).taken != value.taken:
            raise Refused("how many candidates were left earlier")
        self.parts.append("left")
        self._object(value.candidates, path, where)
        return CandidatesLeft(value.candidates, 0)

    def _random_place(self, value: RandomPlace | ChosenPlace, path: str) -> ChosenPlace:
        if isinstance(value, RandomPlace):
            self.places[path] = f"place {value.source}"
        else:
            self.places[path] = "kept" if value.path == path else "other"
        self.parts.append(("chosen", path, value.offset))
        return ChosenPlace(path, value.offset)

    def _vector(self, value: Vector, path: str) -> Vector:
        """What its elements share goes to slots; their own part stays an expression."""
        say = self.parts.append
        say(("vector", value.kind, tuple(sorted(value.own))))
        element = value.element
        if isinstance(element, Weighted):
            if not all(self._is_own(s, value) for s in element.form.terms):
                raise Refused("weights that hold a number of this turn, kept over a loop")
            say(element.key)
            return value
        if isinstance(element, Real):
            mine = {s: c for s, c in element.form.terms.items() if self._is_own(s, value)}
            shared = Form({s: c for s, c in element.form.terms.items() if s not in mine})
            form = Form(mine, element.form.constant)
            if shared.terms:
                form = form.plus(self._slot(shared, path))
            say((form, element.kinds))
            return replace(value, element=Real(form, element.kinds))
        if isinstance(element, Truth):
            found = self._shared_truth(element, value, path, {})
            say((found.key, found.kind))
            return replace(value, element=found)
        say((type(element), repr(element)))
        return value

    def _is_own(self, symbol: Symbol, vector: Vector) -> bool:
        if symbol in vector.own or symbol.kind == "input":
            return True
        return symbol in self.machine.named_values.meanings

    def _shared_truth(
        self, truth: Truth, value: Vector, path: str, known: dict[Symbol, Form]
    ) -> Truth:
        parts = tuple(self._shared_truth(p, value, path, known) for p in truth.parts)
        condition = truth.condition
        if condition is not None:
            for symbol in condition.form.terms:
                if symbol.kind == "indicator":
                    raise Refused("a truth about each of the data inside of another")
                if not self._is_own(symbol, value) and symbol not in known:
                    known[symbol] = self._slot(Form.of(symbol), f"{path}.{len(known)}")
            condition = Condition(condition.form.substitute(known), condition.relation)
        return Truth(condition, parts, truth.conjunction, truth.kind)

    def _code(self, value: Any, path: str, where: str) -> Any:
        """Functions that were made or bound while the machine ran."""
        say = self.parts.append
        if isinstance(value, Method):
            say(value)
            return value
        if isinstance(value, Closure):
            say(("closure", id(value.code), len(value.cells)))
            for i, cell in enumerate(value.cells):
                self._object(cell, f"{path}.cell{i}", f"{where}.cell{i}")
            defaults = self._of(value.defaults, f"{path}.defaults", where)
            attributes = self._of(value.attributes, f"{path}.attributes", where)
            return Closure(value.code, value.names, value.cells, defaults, attributes)
        if isinstance(value, BoundMethod):
            say("method")
            function = self._of(value.function, f"{path}.function", f"{where}.function")
            return BoundMethod(function, self._of(value.owner, f"{path}.owner", f"{where}.owner"))
        if isinstance(value, Partial):
            say(("partial", tuple(k for k, _ in value.kwargs)))
            function = self._of(value.function, f"{path}.function", f"{where}.function")
            args = self._of(value.args, f"{path}.args", f"{where}.args")
            named = tuple((k, self._of(v, f"{path}.{k}", where)) for k, v in value.kwargs)
            return Partial(function, args, named)
        if isinstance(value, SciPyDistribution):
            say(("distribution", value.name, value.frozen, tuple(k for k, _ in value.kwargs)))
            args = self._of(value.args, f"{path}.args", f"{where}.args")
            named = tuple((k, self._of(v, f"{path}.{k}", where)) for k, v in value.kwargs)
            return SciPyDistribution(value.name, value.frozen, args, named)
        if isinstance(value, DictView):
            say(("view", value.name))
            self._object(value.owner, path, where)
            return value
        raise Refused(f"a {type(value).__name__} that is kept from one element to the next")

    # Objects

    def _object(self, ref: Ref, path: str, where: str) -> None:
        thing = self.old.heap.read(ref)
        say = self.parts.append
        if thing.outside:
            known = self._known.get(ref.address)
            if known is None:
                raise Refused("an object of before the call that is not known by its name")
            say(("outside", known))
            return
        if ref.address in self.seen:
            say(("again", self.seen[ref.address]))
            return
        self.seen[ref.address] = len(self.seen)
        say(type(thing).__name__)
        self.objects[ref.address] = self._copied(ref, thing, path, where)

    def _copied(self, ref: Ref, thing: Any, path: str, where: str) -> HeapObject:
        say = self.parts.append

        def inner(value: Any, name: Any) -> Any:
            return self._of(value, f"{path}.{name}", f"{where}.{name}")

        if isinstance(thing, Candidates):
            say(thing.key)
            return replace(thing, taken=0)
        if isinstance(thing, PlacedList):
            say((thing.items.name, thing.kind))
            fill = self._of(thing.fill, f"{path}.fill", "")
            self.put.append(placed_values(thing, self.log))
            self.filled[ref.address] = thing.items.name
            return replace(thing, items=Filled(thing.items.name), fill=fill, current=())
        if isinstance(thing, FilledList):
            say(thing.items.name)
            self.put.append(thing.items.new)
            self.filled[ref.address] = thing.items.name
            return FilledList(items=Filled(thing.items.name))
        if isinstance(thing, ListObject):
            if thing.kind is list and where and where not in self.plan.lists:
                say(where)
                self.put.append(thing.items)
                self.filled[ref.address] = where
                self.parts[-2] = "FilledList"
                return FilledList(items=Filled(where))
            say(len(thing.items))
            self.sizes[where] = len(thing.items)
            return replace(thing, items=[inner(v, i) for i, v in enumerate(thing.items)])
        if isinstance(thing, DequeObject):
            say((len(thing.items), thing.maximum))
            return replace(thing, items=[inner(v, i) for i, v in enumerate(thing.items)])
        if isinstance(thing, DictObject):
            say((thing.kind, tuple(map(_key, thing.items))))
            factory = inner(thing.factory, "factory")
            return replace(
                thing,
                items={k: inner(v, _word(k)) for k, v in thing.items.items()},
                factory=factory,
            )
        if isinstance(thing, SetObject):
            say(tuple(map(_key, thing.items)))
            return thing.copied()
        if isinstance(thing, (Instance, LocalClass)):
            self._say_class(thing, path, where)
            say(tuple(thing.attributes))
            return replace(thing, attributes={k: inner(v, k) for k, v in thing.attributes.items()})
        if isinstance(thing, Cell):
            say(thing.empty)
            return replace(thing, value=self._of(thing.value, path, where))
        if isinstance(thing, Buffer):
            return self._buffer(thing, path, where)
        return self._iterator(thing, path, where)

    def _say_class(self, thing: Instance | LocalClass, path: str, where: str) -> None:
        """What an object is an instance of, or a class is derived from."""
        say = self.parts.append
        if isinstance(thing, Instance):
            if isinstance(thing.cls, Ref):
                self._object(thing.cls, f"{path}.class", f"{where}.class")
            else:
                say(id(thing.cls))
            return
        say((thing.name, tuple(id(o) for o in thing.order if not isinstance(o, Ref))))
        for o in thing.order:
            if isinstance(o, Ref):
                self._object(o, f"{path}.base", f"{where}.base")

    def _buffer(self, thing: Buffer, path: str, where: str) -> Buffer:
        if thing.data.dtype != object:
            self.parts.append((str(thing.data.dtype), thing.data.tobytes()))
            return thing.copied()
        made = np.empty(thing.data.size, dtype=object)
        self.parts.append(thing.data.size)
        for i, v in enumerate(thing.data):
            made[i] = self._of(v, f"{path}.{i}", f"{where}.{i}")
        return replace(thing, data=made)

    def _iterator(self, thing: Any, path: str, where: str) -> HeapObject:
        say = self.parts.append
        if isinstance(thing, DataIterator):
            source = self._of(thing.source, f"{path}.source", "")
            at = max(thing.at - self.log.at, -1)  # behind is behind
            say(at)
            return DataIterator(source, at)
        if isinstance(thing, RowIterator):
            say((thing.done, thing.strict))
            parts = tuple(
                self._of(v, f"{path}.{i}", f"{where}.{i}") for i, v in enumerate(thing.parts)
            )
            return replace(thing, parts=parts, count=self._row_number(thing))
        if isinstance(thing, SequenceIterator):
            say((thing.index, thing.step, thing.done))
            return replace(thing, source=self._source(thing.source, path, where))
        if isinstance(thing, KeysIterator):
            say((thing.index, thing.done, thing.view, tuple(map(_key, thing.keys))))
            return replace(thing, source=self._source(thing.source, path, where))
        if isinstance(thing, GeneratorObject):
            say((thing.started, thing.running, thing.frame is None))
            frame = thing.frame
            if frame is not None:
                frame = self._frame(frame, path, False, False, not thing.started)
            return replace(thing, frame=frame)
        raise Refused(f"a {type(thing).__name__} that is kept from one element to the next")

    def _source(self, value: Any, path: str, where: str) -> Any:
        """What an iterator goes through is read, so that no list of it is only filled."""
        return self._of(value, f"{path}.source", "" if isinstance(value, Ref) else where)

    def _row_number(self, thing: RowIterator) -> Any:
        """The number that enumerate counts: the place of an element, plus where it began."""
        count: Any = thing.count
        if count is None:
            return None
        lazy = isinstance(self.old.heap.read(thing.parts[0]), DataIterator)
        if not lazy:
            self.parts.append(count)
            return count
        if isinstance(count, ElementPlace):
            place = ElementPlace(count.offset - self.log.at)
        elif self.log.begun:
            raise Refused("enumerate of data of which some were read")
        else:
            place = ElementPlace(int(count))
        self.parts.append(place)
        return place


def placed_values(thing: PlacedList, log: PassLog) -> list[Any]:
    """What the place of an edge's element holds after it."""
    if thing.items.new:
        raise Refused("a list with a place for each of the data that gets longer")
    if not log.at:
        return []
    found = thing.current or thing.fill
    if not found:
        raise Refused("a place of an array that was not set")
    return [found[0]]


_LENGTHS = (
    *(ElementPlace, Kept, Count, Scale, Places, Sums, Vector, Argmax),
    *(RandomPlace, ChosenPlace, RandomOrder, CandidatesLeft),
)
_CODE = (Method, Closure, BoundMethod, Partial, SciPyDistribution, DictView, Super)


def _next(log: PassLog, plan: Plan) -> tuple[int, bool]:
    """The number of the next element, as far as it is known."""
    if not log.begun:
        return (0, True) if plan.limit else (0, False)
    number = log.number + log.at
    if log.exact and number < plan.limit:
        return number, True
    return number % plan.modulus, False


def _address(value: Any) -> int | None:
    if isinstance(value, Ref):
        return value.address
    return value.buffer.address if isinstance(value, Array) else None


def _key(key: Any) -> Any:
    return ("ref", key.address) if isinstance(key, Ref) else (type(key), repr(key))


def _word(key: Any) -> str:
    return "".join(c if c.isalnum() else "_" for c in str(key))
