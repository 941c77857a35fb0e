"""Values that depend on how long the data are, and what a state knows of the pass over them.

The data are "next or end": an instruction that wants the next element is where a state becomes a
node of the graph (`Cut`). On an edge at most one element is read; `q` is its datum.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.domains.unit import Complement, Root, Unit, UnitExponential
from dpest.reading.machine.heap import HeapObject, ListObject
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.values import Lazy


@dataclass(frozen=True, eq=False)
class Vector(Lazy):
    """As many values as there are data, each the same expression of its datum and its own draws.

    `own` are the noises that each element has its own copy of. A `list` can be gone through and
    has a length; an array also has operators.
    """

    element: Any
    own: frozenset[Symbol] = frozenset()
    kind: type = np.ndarray

    @property
    def python_type(self) -> type:  # type: ignore[override]
        return self.kind


@dataclass(frozen=True, eq=False)
class Places(Lazy):
    """`range(len(data))`, from a first number on."""

    first: int = 0


@dataclass(frozen=True, eq=False)
class Sums(Lazy):
    """np.cumsum of a vector: it can be gone through, and released."""

    vector: Vector
    python_type = np.ndarray


@dataclass(frozen=True)
class Count(Lazy):
    """The number of data plus an offset. It is public: neighbours have the same length here."""

    offset: int = 0
    python_type = int


@dataclass(frozen=True)
class ElementPlace(Lazy):
    """The number of the first element that was not read when the edge began, plus an offset."""

    offset: int = 0
    python_type = int

    def __add__(self, other: int) -> ElementPlace:
        return ElementPlace(self.offset + other)


@dataclass(frozen=True)
class Kept(Lazy):
    """The number of an element that was read on an earlier edge, or a count without a bound.

    It is a function of the way that was taken, and may be handed on, counted on and released.
    `path` is where it was kept first; "" for a count.
    """

    path: str = ""
    python_type = int


@dataclass(frozen=True)
class Scale(Lazy):
    """A multiple of a power of eps, or a root of one, for every eps > 0 (see `domains.unit`)."""

    unit: Unit | Root | UnitExponential | Complement


@dataclass(frozen=True, eq=False)
class Argmax(Lazy):
    """The place of the greatest (or least) element of a vector; it can only be released."""

    element: Real
    least: bool

    def is_greatest_of(self, vector: Vector) -> bool:
        """Whether it is the place of the greatest element of this very vector."""
        return self.element is vector.element and not self.least


@dataclass(frozen=True, eq=False)
class Ordered(Lazy):
    """A vector in order: its two greatest elements can be taken."""

    vector: Vector
    python_type = np.ndarray


@dataclass(frozen=True, eq=False)
class OrderedPlaces(Lazy):
    """np.argsort of a vector: its first and its last place can be taken."""

    element: Real
    backwards: bool = False
    python_type = np.ndarray


@dataclass(frozen=True, eq=False)
class Others(Lazy):
    """np.delete of the greatest element of a vector: the greatest of the rest can be taken."""

    vector: Vector
    python_type = np.ndarray


@dataclass(frozen=True, eq=False)
class Ranked(Lazy):
    """The greatest (1), second greatest (2) or least (-1) element.

    The gap between the first two can be released, and the place of the greatest or the least.
    """

    vector: Vector
    rank: int


@dataclass(frozen=True, eq=False)
class Gap(Lazy):
    """The greatest element minus the second greatest; it can only be released."""

    vector: Vector


@dataclass
class DataIterator(HeapObject):
    """Over a vector or over places; `at` is its place, from the first element of the edge on."""

    source: Any
    at: int = 0


@dataclass
class Plan:
    """What a reading has learned from those before it."""

    lists: set[str] = field(default_factory=set)  # lists that are read, too
    counters: set[str] = field(default_factory=set)  # whole numbers that grow with the data
    vectors: set[str] = field(default_factory=set)  # lists with one value for each element
    indices: set[str] = field(default_factory=set)  # variables that count the elements
    limit: int = 0
    modulus: int = 1
    length: int | None = None  # of the data, where the graph is unrolled
    totals: tuple[Symbol, ...] | None = None  # data that are summed up first, if sums are
    widens: bool = True  # whether whole numbers with many values are taken to grow


@dataclass
class PassLog(HeapObject):
    """What a state knows of its pass over the data."""

    at: int = 0
    """How many elements were read on this edge: none or one."""
    fresh: bool = False
    """Whether the state is a node, so that the next instruction reads."""
    begun: bool = False
    ended: bool = False
    number: int = 0
    """The number of the first element of this edge, or its residue."""
    exact: bool = False
    used: frozenset[Symbol] = frozenset()
    """The own noises of the element of this edge that are looked at."""
    blocks: tuple[tuple[Condition, ...], ...] = ()
    turn: str = ""
    """By which draw this edge came to a place (see `places.RandomPlace`), if by one."""
    looked: str = ""
    """Of which element the data are looked at on this edge: in order, or at a random place."""
    removed: int = 0
    """The list from which the place of this edge was taken, by its address."""
    orders: int = 0
    """How many random orders were drawn."""


class Filled:
    """What is put into a list that nobody reads: known until the next node, then released."""

    def __init__(self, name: str, new: list[Any] | None = None) -> None:
        self.name = name
        self.new = [] if new is None else new

    def append(self, value: Any) -> None:
        self.new.append(value)

    def extend(self, values: Any) -> None:
        self.new.extend(values)

    def _read(self, *_: Any) -> Any:
        raise NeedsList(self.name)


for _name in (
    *("len", "iter", "getitem", "setitem", "delitem", "contains", "bool", "add", "radd", "mul"),
    *("rmul", "eq", "ne", "lt", "le", "gt", "ge", "reversed", "iadd", "imul", "str", "repr"),
):
    setattr(Filled, f"__{_name}__", Filled._read)
for _name in ("pop", "insert", "remove", "index", "sort", "reverse", "clear", "count", "copy"):
    setattr(Filled, _name, Filled._read)


Filled.__hash__ = None  # type: ignore[assignment]


@dataclass
class FilledList(ListObject):
    """A list that a loop fills and nobody reads: what was in it at a node has been released."""

    items: Any = field(default=None)

    def copied(self) -> FilledList:
        return replace(self, items=Filled(self.items.name, list(self.items.new)))


@dataclass
class PlacedList(FilledList):
    """An array (or list) with a place for each element, which is set when the element is read.

    `fill` is what a place holds that is not set, as a tuple; none where that is not known.
    `current` is what the place of this edge's element was set to.
    """

    fill: tuple[Any, ...] = ()
    current: tuple[Any, ...] = ()

    def copied(self) -> PlacedList:
        return replace(self, items=Filled(self.items.name, list(self.items.new)))


# Signals: not errors of the program, so that nothing that it catches may hide them.


class Cut(BaseException):
    """An instruction wants the next element, and the state is no node yet."""


class SecondPass(Refused):
    """The data are gone through again."""

    def __init__(self) -> None:
        super().__init__("a second pass over data of any length")


class Restart(BaseException):
    """The reading has to begin again and know more."""


class NeedsList(Restart):
    """A list that was taken for one that is only filled is read."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class NeedsPosition(Restart):
    """The number of an element is looked at: exact below a limit, or by its remainder."""

    def __init__(self, exact: int = 0, modulus: int = 1) -> None:
        super().__init__()
        self.exact = exact
        self.modulus = modulus


class NeedsIndex(Restart):
    """A variable counts the elements that were read: it is their place."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class NeedsTotals(Restart):
    """Data whose sums are taken, one after the other."""

    def __init__(self, symbols: frozenset[Symbol]) -> None:
        super().__init__()
        self.symbols = symbols


class NeedsCounters(Restart):
    """Whole numbers that grow with the data."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__()
        self.names = names


def symbols_of(value: Any) -> set[Symbol]:
    """All symbols of a number or of a formula."""
    if isinstance(value, Real):
        return set(value.form.terms)
    if isinstance(value, Truth):
        found = set() if value.condition is None else set(value.condition.form.terms)
        return found.union(*map(symbols_of, value.parts))
    return set(value.terms) if isinstance(value, Form) else set()
