"""Orders that are decided place by place: `sorted`, `np.sort` and `np.argsort` of noisy values.

The order of n noisy values has n! outcomes; a function that looks at the first k of them has
n·(n−1)·…·(n−k+1) paths, if the rest stays open. A list or a buffer of values in such an order lies
on the heap with the places that were decided so far. Whoever looks at another one raises
`Undecided`: the machine decides it and executes the instruction again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.geometry.linear import Form
from dpest.reading.machine.heap import (
    Buffer,
    DequeObject,
    DictObject,
    Heap,
    HeapObject,
    Instance,
    ListObject,
    Undecided,
)
from dpest.reading.machine.values import Array, Ref

if TYPE_CHECKING:
    from dpest.reading.machine.exploring.decisions import Decisions


@dataclass(frozen=True)
class Order:
    """The ascending order of some numbers; equal ones keep theirs.

    `places`: of the ranks that are decided, which of the numbers has it. They are decided from the
    two ends: n cells for the first one.
    """

    forms: tuple[Form, ...]
    places: Mapping[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.forms)

    def missing(self, ranks: Iterable[int]) -> list[int]:
        return [r for r in ranks if r not in self.places]

    def decided(self, machine: Decisions, ranks: Iterable[int]) -> Order:
        """The order with these ranks known, by as many decisions as it takes."""
        places = dict(self.places)
        last = len(self) - 1
        for rank in ranks:
            from_below = 2 * rank <= last
            way = range(rank + 1) if from_below else range(last, rank - 1, -1)
            for one in way:
                if one not in places:
                    places[one] = self._outermost(machine, places, least=from_below)
        return Order(self.forms, places)

    def _outermost(self, machine: Decisions, places: Mapping[int, int], *, least: bool) -> int:
        """The least or greatest of the numbers whose rank is not known."""
        taken = set(places.values())
        rest = [k for k in range(len(self)) if k not in taken]
        if len(rest) == 1:
            return rest[0]
        # Of equal numbers the first is the least one, and the last the greatest.
        if least:
            return rest[machine.greatest([self.forms[k].times(-1) for k in rest])]
        rest.reverse()
        return rest[machine.greatest([self.forms[k] for k in rest])]

    @property
    def key(self) -> Any:
        return self.forms, tuple(sorted(self.places.items()))


class RankedItems(Sequence[Any]):
    """The elements of a list in an order; a place that is open raises `Undecided`."""

    def __init__(self, owner: SortedList) -> None:
        self.owner = owner

    def __len__(self) -> int:
        return len(self.owner.view)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self.owner.element(rank) for rank in self.owner.view[index]]
        return self.owner.element(self.owner.view[index])

    def __iter__(self) -> Iterator[Any]:
        return iter(self[:])

    def __mul__(self, times: int) -> list[Any]:
        return self[:] * times


class SortedList(ListObject):
    """A list of values in an order: those of the ranks in `view`."""

    undecided = True

    def __init__(self, values: tuple[Any, ...], order: Order, view: range) -> None:
        self.outside = False
        self.kind = list
        self.values = values
        self.order = order
        self.view = view
        self.address = 0

    @property
    def items(self) -> Any:  # type: ignore[override]
        return RankedItems(self)

    def copied(self) -> SortedList:
        made = SortedList(self.values, self.order, self.view)
        made.address = self.address
        return made

    def sliced(self, index: slice) -> SortedList:
        return SortedList(self.values, self.order, self.view[index])

    def element(self, rank: int) -> Any:
        if rank not in self.order.places:
            raise Undecided(self.address, (rank,))
        return self.values[self.order.places[rank]]

    @property
    def open_ranks(self) -> list[int]:
        return self.order.missing(self.view)

    def settled(self, order: Order) -> HeapObject:
        """The same list after more ranks were decided."""
        if order.missing(self.view):
            made = SortedList(self.values, order, self.view)
            made.address = self.address
            return made
        return ListObject([self.values[order.places[rank]] for rank in self.view])


class SortedBuffer(Buffer):
    """The memory of an array in an order: place k has the value of rank k."""

    undecided = True

    def __init__(self, values: np.ndarray, order: Order) -> None:
        self.outside = False
        self.values = values
        self.order = order
        self.address = 0

    @property
    def data(self) -> np.ndarray:  # type: ignore[override]
        raise Undecided(self.address)

    @property
    def symbolic(self) -> bool:
        return True

    def at(self, places: Any) -> Any:
        ranks = np.asarray(places)
        missing = self.order.missing(ranks.reshape(-1).tolist())
        if missing:
            raise Undecided(self.address, missing)
        known = np.array([self.order.places[r] for r in ranks.reshape(-1).tolist()], dtype=int)
        found = self.values[known]
        return found[0] if np.ndim(places) == 0 else found.reshape(ranks.shape)

    def copied(self) -> SortedBuffer:
        made = SortedBuffer(self.values, self.order)
        made.address = self.address
        return made

    @property
    def open_ranks(self) -> list[int]:
        return self.order.missing(range(len(self.order)))

    def settled(self, order: Order) -> HeapObject:
        everywhere = range(len(order))
        if order.missing(everywhere):
            made = SortedBuffer(self.values, order)
            made.address = self.address
            return made
        return Buffer(self.values[[order.places[rank] for rank in everywhere]])


def settle(machine: Decisions, undecided: Undecided) -> None:
    """Decides the ranks that an instruction has asked for, and writes them down."""
    heap = machine.state.heap
    thing = heap.read(Ref(undecided.address))
    ranks = thing.open_ranks if undecided.ranks is None else undecided.ranks
    heap.place(undecided.address, thing.settled(thing.order.decided(machine, ranks)))


def check_decided(heap: Heap, value: Any) -> None:
    """Raises `Undecided` where an order is left open in something that is given away."""
    seen: set[int] = set()
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, tuple):
            pending.extend(one)
        elif isinstance(one, Array):
            thing = heap.read(one.buffer)
            found = thing.at(one.places) if thing.undecided or thing.symbolic else None
            if one.dtype == object and found is not None:
                pending.extend(np.asarray(found, dtype=object).reshape(-1))
        elif isinstance(one, Ref) and one.address not in seen:
            seen.add(one.address)
            pending.extend(_parts(heap.read(one)))


def _parts(thing: HeapObject) -> Iterable[Any]:
    if isinstance(thing, SortedList):
        return tuple(thing.items)
    if type(thing) is ListObject or isinstance(thing, DequeObject):
        return thing.items
    if isinstance(thing, DictObject):
        return tuple(thing.items.values())
    return tuple(thing.attributes.values()) if isinstance(thing, Instance) else ()
