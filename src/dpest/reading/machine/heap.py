"""The heap: objects that can change, by address; a fork shares them until one side writes.

`Heap.fork` is as cheap as a copy of the table of addresses. Whoever writes calls `write`, which
gives the object to this heap alone, copying it first if another state may hold it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpest.reading.machine.signals import KeepsState
from dpest.reading.machine.values import Ref

if TYPE_CHECKING:
    from dpest.reading.machine.state import Frame


@dataclass
class HeapObject:
    """`outside`: it was there before the call (a global, a default), so that it is not changed."""

    outside: bool = field(default=False, kw_only=True)
    undecided: ClassVar[bool] = False  # whether some of its content is an order that is left open

    def copied(self) -> HeapObject:
        return replace(self)


@dataclass
class ListObject(HeapObject):
    items: list[Any]
    kind: type = list

    def copied(self) -> ListObject:
        return replace(self, items=list(self.items))

    def append(self, value: Any) -> None:
        self.items.append(value)

    def extend(self, values: Iterable[Any]) -> None:
        self.items.extend(values)


class OpenListRead(BaseException):
    """Something looks into an open list. No handler may take it for an error of the program."""

    def __init__(self, origin: Any) -> None:
        super().__init__()
        self.origin = origin


class Undecided(BaseException):
    """Something looks at places of an order that are left open (`machine/orders.py`).

    The machine decides them and executes the instruction again. `ranks`: None for all of them.
    """

    def __init__(self, address: int, ranks: Iterable[int] | None = None) -> None:
        super().__init__()
        self.address = address
        self.ranks = None if ranks is None else tuple(ranks)


class OpenList(ListObject):
    """A list whose first part differs between the ways that came here: it may only grow.

    `slot` says which of the open lists of the node it was; `added` is what came behind. Whoever
    reads its elements, or their number, ends the attempt to merge (`exploring/merging.py`).
    """

    def __init__(self, slot: int, origin: Any, added: list[Any] | None = None) -> None:
        self.outside = False
        self.kind = list
        self.slot = slot
        self.origin = origin
        self.added = [] if added is None else added

    @property
    def items(self) -> list[Any]:  # type: ignore[override]
        raise OpenListRead(self.origin)

    def copied(self) -> OpenList:
        return OpenList(self.slot, self.origin, list(self.added))

    def append(self, value: Any) -> None:
        self.added.append(value)

    def extend(self, values: Iterable[Any]) -> None:
        self.added.extend(values)


@dataclass
class DictObject(HeapObject):
    items: dict[Any, Any]
    kind: type = dict
    factory: Any = None  # of a defaultdict

    def copied(self) -> DictObject:
        return replace(self, items=dict(self.items))


@dataclass
class SetObject(HeapObject):
    items: dict[Any, None]

    def copied(self) -> SetObject:
        return replace(self, items=dict(self.items))


@dataclass
class DequeObject(HeapObject):
    items: list[Any]
    maximum: int | None = None

    def copied(self) -> DequeObject:
        return replace(self, items=list(self.items))

    def append(self, value: Any) -> None:
        self.items.append(value)


@dataclass
class Instance(HeapObject):
    """An object of a class: one of Python's (a type) or one that the program made (a Ref)."""

    cls: Any
    attributes: dict[str, Any]

    def copied(self) -> Instance:
        return replace(self, attributes=dict(self.attributes))


@dataclass
class LocalClass(HeapObject):
    """A class that was defined while the machine ran."""

    name: str
    order: tuple[Any, ...]  # where attributes are looked up, after the class itself
    attributes: dict[str, Any]

    def copied(self) -> LocalClass:
        return replace(self, attributes=dict(self.attributes))


@dataclass
class Cell(HeapObject):
    value: Any = None
    empty: bool = True


@dataclass
class Buffer(HeapObject):
    """The memory of arrays: of its own dtype, or of objects where a value is symbolic."""

    data: np.ndarray

    @property
    def symbolic(self) -> bool:
        return self.data.dtype == object

    def at(self, places: Any) -> Any:
        """What is in these places: an array of their shape, or the element of one place."""
        return self.data[places]

    def copied(self) -> Buffer:
        return replace(self, data=self.data.copy())


@dataclass
class SequenceIterator(HeapObject):
    """Over a list, tuple, text, range or array (by its first axis); a list may still grow."""

    source: Any
    index: int = 0
    step: int = 1
    done: bool = False


@dataclass
class KeysIterator(HeapObject):
    """Over a dict or set: the keys as they were; a change of size in between is an error."""

    source: Any
    keys: tuple[Any, ...]
    view: str  # "keys", "values" or "items"
    index: int = 0
    done: bool = False


@dataclass
class RowIterator(HeapObject):
    """zip and enumerate: a row of what several iterators give."""

    parts: tuple[Any, ...]
    count: int | None = None  # of enumerate
    done: bool = False
    strict: bool = False


@dataclass
class GeneratorObject(HeapObject):
    """A generator: its frame while it waits, None while it runs or when it has ended."""

    frame: Frame | None
    started: bool = False
    running: bool = False

    def copied(self) -> GeneratorObject:
        return replace(self, frame=None if self.frame is None else self.frame.copied())


@dataclass
class Seeded(HeapObject):
    """A generator with a known seed: its draws are what NumPy or Python would give."""

    library: str
    state: Any  # what getstate or bit_generator.state gave
    kind: Any


class Heap:
    """Addresses and objects of one state."""

    __slots__ = ("_next", "_objects", "_owned", "changes")

    def __init__(self) -> None:
        self._objects: dict[int, HeapObject] = {}
        self._owned: set[int] = set()
        self._next = 0
        self.changes = 0  # how often something was written

    def fork(self) -> Heap:
        made = Heap()
        made._objects = dict(self._objects)
        made._next = self._next
        self._owned = set()
        return made

    def freeze(self) -> None:
        """Whoever writes from now on writes to a copy: the objects as they are stay as they are."""
        self._owned = set()

    def place(self, address: int, thing: HeapObject) -> None:
        """Another object at an address."""
        self._objects[address] = thing
        self._owned.discard(address)

    @property
    def last_address(self) -> int:
        return self._next

    def new(self, thing: HeapObject) -> Ref:
        self._next += 1
        if thing.undecided:
            thing.address = self._next  # type: ignore[attr-defined]
        self._objects[self._next] = thing
        self._owned.add(self._next)
        return Ref(self._next)

    def read(self, ref: Ref) -> Any:
        return self._objects[ref.address]

    def write(self, ref: Ref) -> Any:
        """The object, to be changed by the caller."""
        thing = self._objects[ref.address]
        if thing.outside:
            raise KeepsState(
                f"the function changes {_described(thing)} that was there before it was called",
            )
        if thing.undecided:
            raise Undecided(ref.address)
        if ref.address not in self._owned:
            thing = self._objects[ref.address] = thing.copied()
            self._owned.add(ref.address)
        self.changes += 1
        return thing

    def objects(self) -> Iterable[HeapObject]:
        return self._objects.values()

    def items(self) -> Iterable[tuple[int, HeapObject]]:
        return self._objects.items()

    def holds(self, address: int) -> bool:
        return address in self._objects

    def keep(self, addresses: set[int]) -> None:
        """Forgets all other objects: nobody can reach them."""
        self._objects = {a: o for a, o in self._objects.items() if a in addresses}
        self._owned &= addresses

    def __len__(self) -> int:
        return len(self._objects)


def _described(thing: HeapObject) -> str:
    words = {
        ListObject: "a list",
        DictObject: "a dict",
        SetObject: "a set",
        Buffer: "an array",
        Instance: "an object",
        Cell: "a variable of an outer function",
    }
    return words.get(type(thing), "something")
