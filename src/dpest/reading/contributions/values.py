"""What registers hold besides plain values and forms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpest.reading.contributions.forms import SymbolicForm, Unread

_OPPOSITE = {
    "heads": "tails", "tails": "heads", "in": "out", "out": "in", "wins": "loses", "loses": "wins"
}  # fmt: skip


@dataclass(frozen=True)
class RecordTruth:
    """A condition about a record or about public values: `form` against 0.

    `relation` is ">", ">=", "==" or "!="; of a coin, which has a name and a chance, "heads" or
    "tails"; of a subset of the records, "in" or "out"; of the first greatest of several numbers,
    which are its name, "wins" or "loses", with its place.
    """

    relation: str
    form: SymbolicForm | None
    coin: tuple[Any, Fraction] | None = None

    def negated(self) -> RecordTruth:
        if self.coin is not None:
            return RecordTruth(_OPPOSITE[self.relation], None, self.coin)
        assert self.form is not None
        if self.relation in ("==", "!="):
            return RecordTruth("!=" if self.relation == "==" else "==", self.form)
        return RecordTruth(">=" if self.relation == ">" else ">", -self.form)


@dataclass(frozen=True)
class Combined:
    """`and` or `or` of truths of one record, elementwise."""

    conjunction: bool
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """What holds of a record, and what it then is; `present`: whether it is there at all."""

    conditions: tuple[RecordTruth, ...]
    element: Any
    present: bool = True


@dataclass(frozen=True, eq=False)
class Rows:
    """One value per record, by cases; `array`: as an array, `whole`: in every case there is one."""

    cases: tuple[Case, ...]
    array: bool

    @property
    def whole(self) -> bool:
        return all(c.present for c in self.cases)


GONE = "an iterator that was gone through before: it has nothing more"


@dataclass(eq=False)
class RowsIterator:
    """An iterator over the data; `gone`: something went through it, and nothing is left of it."""

    held: Rows
    reader: str = "iter"
    gone: bool = False

    @property
    def rows(self) -> Rows:
        if self.gone:
            raise Unread(GONE)
        return self.held


@dataclass(frozen=True, eq=False)
class Option:
    """Of a record: one of finitely many values, settled by cases when somebody looks at it.

    `place` is the place among `values`: plain values, or a form (a number that may be missing).
    """

    place: SymbolicForm
    values: tuple[Any, ...]


class Object:
    """A value of a library, or a record: it says itself what can be done with it.

    Everything is refused that a class does not say otherwise.
    """

    words = "an object"

    def refused(self, what: str) -> Unread:
        return Unread(f"{what} of {self.words}")

    def attribute(self, m: Any, name: str) -> Any:
        return Bound(self, name)

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        raise self.refused(f"the method `{name}`")

    def item(self, m: Any, index: Any) -> Any:
        raise self.refused("an item")

    def set_item(self, m: Any, index: Any, value: Any) -> None:
        raise self.refused("a change in place")

    def iterate(self, m: Any) -> Any:
        raise self.refused("a loop over the values")

    def length(self, m: Any) -> Any:
        raise self.refused("the length")

    def contains(self, m: Any, value: Any) -> bool:
        raise self.refused("`in`")

    def operate(self, m: Any, op: str, a: Any, b: Any) -> Any:
        """a op b, one of which is this object."""
        raise self.refused(f"`{op}`")

    def compare(self, m: Any, op: str, a: Any, b: Any) -> Any:
        raise self.refused(f"`{op}`")

    def unary(self, m: Any, op: str) -> Any:
        raise self.refused(f"`{op}`")

    def rank_of(self, m: Any, number: Any, side: str) -> Any:
        """Where a number would be put into it, if it is sorted."""
        raise self.refused("a place by the order")

    def rows(self) -> Rows | None:
        """One value per record, where it holds that: as NumPy's functions would see it."""
        return None

    def cells(self) -> SmallArray | None:
        """Its values as an array, where they are public in number and in order."""
        return None

    def state(self) -> dict[str, Any] | None:
        """What may be changed in place; None where nothing may."""
        return None

    def restore(self, state: dict[str, Any]) -> None:
        raise NotImplementedError

    def release(self, m: Any) -> Any:
        raise self.refused("a release")


@dataclass(frozen=True, eq=False)
class Uniforms:
    """Of a record: a uniform draw of its own, which may only be compared with a chance."""

    name: Any


@dataclass(frozen=True, eq=False)
class RecordPosition:
    """The place of a record among the data: good for looking it up, and for nothing else."""


@dataclass(frozen=True, eq=False)
class Stepped:
    """The place behind that of a record, or its number counted from elsewhere."""


@dataclass(frozen=True, eq=False)
class Transposed:
    """X.T, for X with a row per record."""

    rows: Rows


class RowsLength(int):
    """The number of records, where it is public and known."""


@dataclass(frozen=True, eq=False)
class KeyCounts:
    """Counter(data): how often each key occurs; which keys there are is private.

    `gives`: what a loop over it is handed, "keys", "items" or "values". `source`: the counts that
    it goes over. `order`: that of the records in which a key comes "first", "sorted" by keys, that
    of a "set", by "count", or that of pandas' "value_counts". `counted`: whether it has the
    counts, or just the keys.
    """

    rows: Rows | None = None
    gives: str = "keys"
    source: Any = None
    order: str = "first"
    counted: bool = True


@dataclass(frozen=True, eq=False)
class Key:
    """A key of such a counter, `source`."""

    source: Any = None


class Drained:
    """An entry of a list that candidates were drawn from: which are left, nobody may know."""


@dataclass(eq=False)
class Seq:
    """A list. `rows`: one value per record; `bag`: public values in a private order.

    `sorted`: such a list, in the order of the keys of the data.
    """

    items: list[Any] = field(default_factory=list)
    rows: Rows | None = None
    bag: bool = False
    sorted: bool = False
    noisy: Any = None  # a key and a count with noise for each key of the data, see `keys`
    ordered: Any = None  # the data, sorted in place: then they are nowhere else
    shared: bool = False  # held by every record's turn of a loop: not to be changed

    @property
    def drained(self) -> bool:
        return any(isinstance(v, Drained) for v in self.items)


class SetOfData(Object):
    """A set that a loop fills: with values of the records, or with public ones."""

    words = "a set"

    def __init__(self) -> None:
        self.values = Seq()

    def state(self) -> dict[str, Any]:
        return {"values": self.values}

    def restore(self, state: dict[str, Any]) -> None:
        self.values = state["values"]

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        if name != "add" or len(arguments) != 1 or named:
            raise self.refused(f"the method `{name}`")
        m.append(self.values, arguments[0])

    def iterate(self, m: Any) -> Any:
        if self.values.rows is None:
            return m.iterate(self._public(m))
        return KeyCounts(self.values.rows, counted=False, order="set")

    def length(self, m: Any) -> Any:
        if self.values.rows is None:
            return m.publicly(len, self._public(m))
        return m.distinct(self.iterate(m))

    def release(self, m: Any) -> Any:
        return self._public(m)

    def _public(self, m: Any) -> Any:
        """The set, where no record's own values are in it: its order is not looked at."""
        if self.values.rows is not None or self.values.drained:
            raise self.refused("a release")
        if self.values.bag:
            return PublicValue()
        return m.publicly(set, tuple(self.values.items))


@dataclass(eq=False)
class Map:
    """A dict of the program. `open`: which keys it has is public, and not known here.

    `partial`: keys that it has only if a record brought them; without one their value is 0.
    `default`: what a look-up of a key that is absent puts there (a defaultdict).
    """

    items: dict[Any, Any] = field(default_factory=dict)
    open: bool = False
    frozen: bool = False  # a record of the data
    shared: bool = False  # as of a list
    partial: set[Any] = field(default_factory=set)
    default: Any = None
    growing: bool = False  # in a loop over the records that brings it keys
    counter: bool = False  # a Counter: `update` counts
    noisy: Any = None  # a count with noise for each key of the data, see `keys`

    @property
    def known(self) -> bool:
        """Whether its keys are known here, and public."""
        return not (self.open or self.partial or self.growing)


@dataclass(eq=False)
class SmallArray:
    """A small array: a shape, and its entries in a row.

    NumPy's views are copies here, so an array that has one, or is one, must not be changed in
    place: it is `shared`.
    """

    shape: tuple[int, ...]
    cells: list[Any]
    shared: bool = False
    whole: bool = field(init=False, default=False)  # made of whole numbers: it cuts others off

    def __post_init__(self) -> None:
        self.whole = bool(self.cells) and all(isinstance(c, int) for c in self.cells)

    def view(self, shape: tuple[int, ...], cells: list[Any]) -> SmallArray:
        """Some of these entries, in the same memory."""
        self.shared = True
        return SmallArray(shape, cells, shared=True)

    def rows(self) -> list[Any]:
        if len(self.shape) == 1:
            return list(self.cells)
        size = len(self.cells) // self.shape[0] if self.shape[0] else 0
        rest = self.shape[1:]
        parts = (self.cells[i * size : (i + 1) * size] for i in range(self.shape[0]))
        return [self.view(rest, part) for part in parts]

    def map(self, function: Callable[[Any], Any]) -> SmallArray:
        return SmallArray(self.shape, [function(c) for c in self.cells])


@dataclass(frozen=True, eq=False)
class PublicValue:
    """A public value of which only is known how a run makes it, and when it came up.

    `recipe` is None where that is not known either. `after`: how many rows were visible.
    """

    recipe: Any = None
    after: int = 0
    options: tuple[Any, ...] = ()
    """Plain values that it is one of, where they are known."""


@dataclass(eq=False)
class ProgramObject:
    """An object of a class of the program. `shared`: it is not to be changed."""

    kind: type
    attributes: dict[str, Any] = field(default_factory=dict)
    shared: bool = False


@dataclass(frozen=True)
class UnseededGenerator:
    """A source of random numbers that nobody has seeded.

    `library` tells whose methods it has: "generator" (NumPy's), "state" (RandomState, np.random),
    "random" (the module random, SystemRandom and secrets).
    """

    library: str = "generator"


@dataclass(frozen=True)
class DrawMethod:
    """A method of a generator: rng.laplace."""

    family: str
    library: str = "generator"


JOURNAL_METHODS = ("debug", "info", "warning", "error", "critical", "log")


class Silence(Object):
    """A context that does nothing to values: np.errstate and its like."""

    words = "a context"


class Log(Object):
    """A logger: what is written to it is seen by whoever reads the log."""

    words = "a logger"

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        if name not in JOURNAL_METHODS:
            raise self.refused(f"the method `{name}`")
        return m.log(*arguments, *named.values())


class Held:
    """A value that holds others: a method its object, a partial function its arguments."""

    def held(self) -> tuple[Any, ...]:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Bound:
    """A method of a value: total.append."""

    owner: Any
    name: str


@dataclass(frozen=True, eq=False)
class LoweredFunction:
    """A function of the user, lowered."""

    code: Any
    cells: tuple[Any, ...]
    defaults: dict[str, Any]
    globals: dict[str, Any]


@dataclass(eq=False)
class SharedVariable:
    value: Any = None
    full: bool = False


@dataclass(eq=False)
class PlainIterator:
    """An iterator over values that are known one by one; `place` is how far it is.

    `gone`: something went through all that was left of it.
    """

    values: list[Any]
    place: int = 0
    gone: bool = False

    @classmethod
    def over(cls, values: Iterable[Any]) -> PlainIterator:
        return cls(list(values))

    @property
    def items(self) -> list[Any]:
        """What is left of it."""
        if self.gone:
            raise Unread(GONE)
        return self.values[self.place :]


def has_private_order(value: Any) -> bool:
    """Whether a list or dict holds public values in an order that is private."""
    return (isinstance(value, Seq) and value.bag) or (isinstance(value, Map) and value.open)
