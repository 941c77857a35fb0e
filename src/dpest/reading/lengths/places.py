"""Places of data of any length that were come to at random, and lists of candidates.

A place that was drawn has no number: it indexes the data on the edge that drew it, and is released.
Later it is only known that it was kept (`Chosen`). A list of all places may be put into a random
order before the pass, or be drawn from, one candidate after the other (`Candidates`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.geometry.linear import Condition
from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.domains.weights import Weighted
from dpest.reading.lengths.values import (
    Argmax,
    Count,
    DataIterator,
    ElementPlace,
    Kept,
    Places,
    Vector,
    symbols_of,
)
from dpest.reading.machine.heap import ListObject, RowIterator
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.values import Array, BoundMethod, Lazy, Method, Ref, is_plain
from dpest.reading.rewrites.races import POOL, TURN, UNIFORM, ArgmaxLaw

if TYPE_CHECKING:
    from dpest.reading.lengths.machine import LengthMachine


IN_ORDER = "order"


@dataclass(frozen=True)
class RandomPlace(Lazy):
    """The place of an element that was come to at random, plus an offset.

    `source` says by which draw: `TURN` of a random order, `UNIFORM` with replacement, or a list.
    """

    source: str
    offset: int = 0
    python_type = np.int64


@dataclass(frozen=True)
class ChosenPlace(Lazy):
    """A random place of an earlier edge, kept in `path`. It is handed on and released."""

    path: str
    offset: int = 0
    python_type = np.int64


@dataclass(frozen=True, eq=False)
class DrawnByLaw(Lazy):
    """A place that was drawn with chances proportional to e^score. It can only be released."""

    law: ArgmaxLaw
    python_type = np.int64


@dataclass(frozen=True, eq=False)
class PlaceLabel(Lazy):
    """What a public list has at a place that is released: it tells as much as the place."""

    table: tuple[Any, ...]
    place: Any


@dataclass(frozen=True, eq=False)
class OneDraw(Lazy):
    """An array of one drawn place."""

    place: Any


@dataclass(frozen=True, eq=False)
class OneHot(Lazy):
    """Zeros, and a one at a drawn place: np.argmax of it is the place."""

    place: Any


@dataclass(frozen=True)
class CandidatesLeft(Lazy):
    """How many candidates a list still has from which some were taken.

    `taken` tells whether the number is that of now.
    """

    candidates: Ref
    taken: int


@dataclass(frozen=True)
class IndexLeft(Lazy):
    """A uniformly drawn index of such a list."""

    candidates: Ref


@dataclass(frozen=True, eq=False)
class RandomOrder(Lazy):
    """What a pass over candidates goes through: `item` at every place, in order or in a random
    one."""

    item: Any
    order: int

    @property
    def source(self) -> str:
        return f"{TURN} {self.order}" if self.order else IN_ORDER

    @property
    def key(self) -> Any:
        return ("order", _key(self.item), self.order)


class _Unlisted:
    """The items of a list that has as many as there are data: nobody has them one by one."""

    def _refuse(self, *_: Any) -> Any:
        raise Refused("this use of a list with an item for each of the data")


for _name in (
    *("len", "iter", "getitem", "setitem", "delitem", "contains", "bool", "add", "radd", "mul"),
    *("rmul", "eq", "ne", "lt", "le", "gt", "ge", "reversed", "iadd", "imul", "str", "repr"),
):
    setattr(_Unlisted, f"__{_name}__", _Unlisted._refuse)
for _name in (
    *("append", "extend", "pop", "insert", "remove", "index", "sort", "reverse", "clear"),
    *("count", "copy"),
):
    setattr(_Unlisted, _name, _Unlisted._refuse)
_Unlisted.__hash__ = None  # type: ignore[assignment]


@dataclass
class Candidates(ListObject):
    """A list or an array with an item for each element: its place, or a row with it.

    `item` is that of the element at hand. A list from which some were taken is `partial`.
    """

    items: Any = field(default_factory=_Unlisted)
    item: Any = field(default_factory=ElementPlace)
    order: int = 0
    """Which random order it is in; 0 for the order of the data."""
    partial: bool = False
    iterated: bool = False
    taken: int = 0
    """How many were taken out on this edge."""

    def copied(self) -> Candidates:
        return replace(self)

    @property
    def shuffled(self) -> bool:
        return self.order > 0

    @property
    def plain(self) -> bool:
        """Whether its items are the places themselves."""
        return isinstance(self.item, ElementPlace) and self.item.offset == 0

    @property
    def key(self) -> Any:
        return (self.kind, _key(self.item), self.order, self.partial, self.iterated)


def _key(item: Any) -> Any:
    if isinstance(item, tuple):
        return tuple(map(_key, item))
    if isinstance(item, Real):
        return (item.form, item.kinds)
    return item.key if isinstance(item, Weighted) else item


def candidates_of(m: LengthMachine, value: Any) -> Candidates | None:
    thing = m.state.heap.read(value) if isinstance(value, Ref) else None
    return thing if isinstance(thing, Candidates) else None


# Making them


def all_places(m: LengthMachine, kind: type, first: int = 0) -> Ref:
    return m.state.heap.new(Candidates(kind=kind, item=ElementPlace(first)))


def rows_of(m: LengthMachine, value: Any) -> Ref | None:
    """list(enumerate(x)), list(zip(range(len(x)), x)): nothing is read yet. None: another list."""
    thing = m.state.heap.read(value) if isinstance(value, Ref) else None
    if not isinstance(thing, RowIterator) or thing.done or m.log.begun:
        return None
    found: list[Any] = [] if thing.count is None else [ElementPlace(thing.count)]
    for part in thing.parts:
        it = m.state.heap.read(part) if isinstance(part, Ref) else None
        item = _first_item(it) if isinstance(it, DataIterator) and it.at == 0 else None
        if item is None:
            return None
        found.append(item)
    m.state.heap.write(value).done = True
    return m.state.heap.new(Candidates(item=tuple(found)))


def _first_item(it: DataIterator) -> Any:
    source = it.source
    if isinstance(source, Places):
        return ElementPlace(source.first)
    if isinstance(source, Vector) and not source.own:
        element = source.element
        private = all(s.kind == "input" for s in symbols_of(element))
        return element if isinstance(element, Real) and private else None
    return None


def in_random_order(m: LengthMachine, value: Any) -> Ref:
    """rng.permutation of all places, or of a list of them."""
    if value == Count():
        return _order(m, ElementPlace(), np.ndarray)
    if isinstance(value, Places):
        return _order(m, ElementPlace(value.first), np.ndarray)
    found = candidates_of(m, value)
    if found is None or not isinstance(found.item, ElementPlace) or found.partial or found.shuffled:
        raise Refused("this random order")
    return _order(m, found.item, np.ndarray)


def _order(m: LengthMachine, item: Any, kind: type) -> Ref:
    if m.log.begun:
        raise m.after_a_pass(
            Refused("a random order that is drawn after some of the data were read")
        )
    return m.state.heap.new(Candidates(kind=kind, item=item, order=_next_order(m)))


def _next_order(m: LengthMachine) -> int:
    log = m.change_log()
    log.orders += 1
    return log.orders


def shuffle(m: LengthMachine, value: Any) -> None:
    found = candidates_of(m, value)
    if found is None or found.partial or found.shuffled or found.iterated or m.log.begun:
        raise Refused("this random order")
    m.state.heap.write(value).order = _next_order(m)


# Going through them


def iterator_over(m: LengthMachine, value: Ref, found: Candidates) -> Ref:
    if found.partial or m.log.begun:
        raise Refused("a loop over candidates of which some were taken, or a second one")
    m.state.heap.write(value).iterated = True
    return m.state.heap.new(DataIterator(RandomOrder(found.item, found.order)))


def item_of(m: LengthMachine, order: RandomOrder) -> Any:
    """The item of the turn."""
    if _holds_data(order.item):
        m.look(order.source)
    return _with_place(order.item, order.source) if order.order else order.item


def _holds_data(item: Any) -> bool:
    return any(map(_holds_data, item)) if isinstance(item, tuple) else not is_place(item)


def is_place(item: Any) -> bool:
    return isinstance(item, ElementPlace)


def _with_place(item: Any, source: str) -> Any:
    if isinstance(item, tuple):
        return tuple(_with_place(part, source) for part in item)
    return RandomPlace(source, item.offset) if isinstance(item, ElementPlace) else item


# Drawing from them


def drawn_place(m: LengthMachine) -> RandomPlace:
    """One of all places, with replacement."""
    m.begin_turn(UNIFORM)
    return RandomPlace(UNIFORM)


def _source(value: Ref) -> str:
    return f"{POOL} {value.address} 0"


def drawn_from(m: LengthMachine, value: Ref) -> RandomPlace:
    """rng.choice of a list: a uniformly drawn one of those that it has."""
    found = candidates_of(m, value)
    if found is None or not found.plain or found.shuffled or found.iterated:
        raise Refused("this random entry")
    m.begin_turn(_source(value))
    return RandomPlace(_source(value))


def drawn_index(m: LengthMachine, left: CandidatesLeft) -> IndexLeft:
    _need_current(m, left)
    m.begin_turn(f"{POOL} index 0")
    return IndexLeft(left.candidates)


def _need_current(m: LengthMachine, left: CandidatesLeft) -> None:
    found = candidates_of(m, left.candidates)
    if found is None or found.taken != left.taken:
        raise Refused("how many candidates were left earlier")


def pop(m: LengthMachine, value: Ref, key: Any = -1) -> RandomPlace:
    """A drawn candidate is taken out of the list: one of those that are left."""
    found = candidates_of(m, value)
    assert found is not None
    if not found.plain or found.iterated:
        raise Refused("pop() of this list")
    if found.shuffled:
        if type(key) is not int or key not in (0, -1):
            raise Refused("pop() of a random order, but at its end")
        m.begin_turn(_source(value))
    elif key in (IndexLeft(value), *(() if found.partial else (RandomPlace(UNIFORM),))):
        m.redrawn(_source(value))
    else:
        raise Refused("pop() but at a random place")
    _take(m, value)
    return RandomPlace(_source(value))


def remove(m: LengthMachine, value: Ref, place: Any) -> None:
    found = candidates_of(m, value)
    assert found is not None
    if place != RandomPlace(_source(value)) or not found.plain or found.shuffled or found.iterated:
        raise Refused("remove() but of a place that was drawn")
    _take(m, value)


def _take(m: LengthMachine, value: Ref) -> None:
    log = m.change_log()
    if log.removed:
        raise Refused("two candidates that are taken out in one turn")
    log.removed = value.address
    changed = m.state.heap.write(value)
    changed.partial, changed.taken = True, changed.taken + 1


def some_left(m: LengthMachine, left: CandidatesLeft) -> Any:
    """Whether candidates are left, which is not known at any length: both ways are followed.

    Only before a turn draws: then none are left only if all were tried.
    """
    _need_current(m, left)
    if not m.log.fresh:
        m.cut()
    return Truth(Condition(m.named_values.left(_source(left.candidates).rpartition(" ")[0]), ">"))


def copied(m: LengthMachine, value: Ref, kind: type) -> Ref:
    """Another list with the same items. Two with the same random order would hang together."""
    found = candidates_of(m, value)
    assert found is not None
    shares = found.shuffled and found.kind is not np.ndarray
    if found.partial or shares:
        raise Refused("a copy of a list in a random order, or from which places were taken")
    return m.state.heap.new(replace(found, kind=kind, iterated=False))


def entry_of(m: LengthMachine, value: Ref, index: Any) -> Any:
    """The entry at the place of this turn."""
    found = candidates_of(m, value)
    assert found is not None
    if isinstance(index, slice) and index == slice(None) and found.kind is list:
        return copied(m, value, list)
    if found.partial or not isinstance(index, ElementPlace):
        raise Refused("an entry of a list with an item for each of the data")
    m.reach(index)
    if not found.iterated:
        m.state.heap.write(value).iterated = True
    return item_of(m, RandomOrder(found.item, found.order))


def length_of(found: Candidates, value: Ref) -> Any:
    return CandidatesLeft(value, found.taken) if found.partial else Count()


_METHODS = ("pop", "remove", "copy", "tolist", "flatten", "ravel", "astype", "item")


def attribute(found: Candidates, value: Ref, name: str) -> Any:
    if found.kind is np.ndarray and name in ("size", "shape", "ndim"):
        length = length_of(found, value)
        return {"size": length, "shape": (length,), "ndim": 1}[name]
    if name in _METHODS:
        return BoundMethod(Method("candidates", name), value)
    raise Refused(f"the attribute `{name}` of a list with an item for each of the data")


# Labels


def label_at(m: LengthMachine, values: Any, place: Any) -> PlaceLabel | None:
    """What a public list has at a place that was chosen; None where it is no such list."""
    if isinstance(values, Array):
        if not m.arrays.is_known(m, values) or values.places.ndim != 1:
            return None
        items: Any = m.arrays.known_content(m, values).tolist()
    elif isinstance(values, str):
        items = values
    elif isinstance(values, (tuple, Ref)):
        items = m.sequence(values)
    else:
        return None
    if items is None or not all(map(is_plain, items)):
        return None
    if len(set(items)) != len(items):
        raise Refused("a list whose entries are not all different, at a chosen place")
    return PlaceLabel(tuple(items), place)


CHOSEN = (RandomPlace, ChosenPlace, DrawnByLaw, Argmax, Kept)
"""Places that may be released, and looked up in a public list."""


def moved(place: Any, step: int) -> Any:
    return replace(place, offset=place.offset + step)


def number_operation(m: LengthMachine, op: str, a: Any, b: Any) -> Any:
    """An operator with a random place, or with how many candidates are left."""
    if op in ("==", "!=") and any(v is None or isinstance(v, str) for v in (a, b)):
        return op == "!="
    if isinstance(a, CandidatesLeft) and type(b) is int and b == 0 and op in (">", "!=", "=="):
        left = some_left(m, a)
        return left.negated() if op == "==" else left
    if isinstance(a, (RandomPlace, ChosenPlace)) and type(b) is int and op in ("+", "-"):
        return moved(a, b if op == "+" else -b)
    if isinstance(b, (RandomPlace, ChosenPlace)) and type(a) is int and op == "+":
        return moved(b, a)
    raise Refused("anything but an entry at, or the release of, a random place")
