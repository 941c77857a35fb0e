"""What a loop over data of any length runs over: its elements, in order or in a random one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.reading.loops.lengths import LengthCount, Position, unsupported
from dpest.reading.rewrites.named_values import named_values
from dpest.reading.tracing.running import running


@dataclass(frozen=True)
class LoopPass:
    """What a loop runs over: for each position and element, the loop's item."""

    item: Callable[[Any], Any]
    own: frozenset[Symbol] = frozenset()
    numbered: bool = False
    plain: bool = False
    """Whether the items are the positions themselves."""
    shuffled: bool = False
    """Whether the elements come in an order that is drawn uniformly at random."""

    def in_random_order(self) -> LoopPass:
        run: Any = running()
        if self.shuffled or self.own or not hasattr(run, "shuffled"):
            unsupported("this random order")
        run.shuffled = True
        return LoopPass(lambda _: self.item(RandomPlace(TURN)), frozenset(), True, self.plain, True)


EACH = "each"
"""The source of a place that stands for every place, in an expression that is the same at all."""
POOL = "pool"
"""Sources of places that are drawn from those that a list still has begin with it."""
TURN = "turn"
"""The source of the places that a loop in random order comes to, each once."""


class _Unknown:
    """A place whose number nobody knows: it moves by whole numbers, and is handed on."""

    offset: int
    only: ClassVar[str]
    """What can be done with it."""

    def item(self) -> Self:
        return self

    def __add__(self, other: Any) -> Any:
        if isinstance(other, (int, np.integer)) and not isinstance(other, bool):
            return replace(self, offset=self.offset + int(other))  # type: ignore[type-var]
        return self._refused()

    __radd__ = __add__

    def _refused(self, *_: Any) -> Any:
        unsupported(f"anything but {self.only}")

    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __rsub__ = _refused
    __lt__ = __le__ = __gt__ = __ge__ = __index__ = __int__ = __float__ = __bool__ = _refused

    def __eq__(self, other: object) -> Any:
        if other is None or isinstance(other, str):
            return False
        self._refused()

    def __hash__(self) -> int:
        return hash(self.dpest_signature())

    def dpest_signature(self) -> Any:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class RandomPlace(_Unknown):
    """The place of an element that was come to at random. It indexes the data, or is released.

    `source` says by which draw: two places with one source are the same place.
    """

    source: str
    offset: int = 0
    only: ClassVar[str] = "an entry at, or the release of, a random place"

    def datum(self) -> None:
        """Note that an entry there is looked at: no other entry may be, in the same turn."""
        if self.offset:
            unsupported("the entry beside a random place")
        if self.source == EACH and not getattr(running(), "at_each", False):
            unsupported("an entry at a place that was kept from an expression")
        look_at(self.source)

    def __sub__(self, other: Any) -> Any:
        return self + (-other) if isinstance(other, (int, np.integer)) else self._refused()

    def dpest_signature(self) -> Any:
        return ("place", self.source, self.offset)


@dataclass(frozen=True, eq=False)
class Chosen(_Unknown):
    """A place that was kept in the variable `path`, and is only handed on since."""

    path: str
    offset: int = 0
    only: ClassVar[str] = "the release of a place that was kept"

    def dpest_signature(self) -> Any:
        return ("chosen", self.path, self.offset)


IN_ORDER = "order"


def look_at(source: str) -> None:
    """An entry of the data is looked at: in the order of the loop, or at a random place.

    The reading has one symbol for the datum of a turn, so that there can only be one such datum.
    """
    run: Any = running()
    looked: set[str] | None = getattr(run, "looked", None)
    if looked is None:
        return
    looked.add(source)
    if len(looked) > 1:
        unsupported("a second entry, beside the one of this turn,")


def at_each(function: Callable[[Any], Any], over: LoopPass) -> Any:
    """What a function gives for the item at every place, one by one."""
    run: Any = running()
    before = set(getattr(run, "looked", ()))
    if before:
        unsupported("a second entry, beside the one of this turn,")
    if not hasattr(run, "at_each"):
        unsupported("an expression for each element")
    run.at_each = True
    try:
        return function(over.item(RandomPlace(EACH)))
    finally:
        run.at_each, run.looked = False, before


def every_place() -> LoopPass:
    """`range` over all places."""
    return LoopPass(lambda p: p, frozenset(), True, True)


@dataclass(frozen=True)
class PlacesLeft:
    """How many places a list still has from which some were taken: 0 or more."""

    def _unknown(self, *_: Any) -> Any:
        unsupported("how many candidates are left")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __index__ = __int__ = __float__ = _unknown
    __lt__ = __le__ = __ge__ = _unknown

    def __gt__(self, other: Any) -> Any:
        return bool(self) if type(other) is int and other == 0 else self._unknown()

    def __ne__(self, other: object) -> Any:
        return bool(self) if type(other) is int and other == 0 else self._unknown()

    def __eq__(self, other: object) -> Any:
        return not self if type(other) is int and other == 0 else self._unknown()

    def __hash__(self) -> int:
        return hash("left")

    def __bool__(self) -> bool:
        """Whether any are left is not known at any length: both ways are followed.

        Only before a turn draws: then none are left only if all were tried.
        """
        values = named_values()
        if values is None or getattr(running(), "places", True):
            unsupported("how many candidates are left after one was drawn")
        symbol = values.symbol("left", self)
        return running().decide(Condition(Form.of(symbol), ">"))

    def dpest_signature(self) -> Any:
        return "left"


@dataclass(frozen=True)
class Index:
    """A uniformly drawn index of a list from which places were taken."""

    source: str

    def dpest_signature(self) -> Any:
        return ("index", self.source)


def taken(kind: str) -> str:
    """The source of a place that is drawn now."""
    run: Any = running()
    if not hasattr(run, "places"):
        unsupported("a random place")
    run.places += 1
    return f"{kind} {run.places}"


_numbers = itertools.count()


class Items:
    """The items of a pass, as a list or an array that may be put into a random order.

    A list of all places may also be a pool: a place is drawn from it, and taken out (`partial`).
    `number` tells one list from another: places know the list that they were drawn from.
    """

    def __init__(self, over: LoopPass, partial: bool = False, number: int | None = None) -> None:
        self.over = over
        self.partial = partial
        self.number = next(_numbers) if number is None else number

    def shuffle(self) -> None:
        self._whole()
        self.over = self.over.in_random_order()

    def _whole(self) -> None:
        if self.partial:
            unsupported("a list from which places were taken")

    def count(self) -> Any:
        return PlacesLeft() if self.partial else LengthCount()

    def drawn(self) -> RandomPlace:
        """A uniformly drawn one of those that are left."""
        if not self.over.plain or self.over.shuffled:
            unsupported("this random entry")
        return RandomPlace(taken(f"{POOL} {self.number}"))

    def pop(self, key: Any = -1) -> RandomPlace:
        run: Any = running()
        if self.over.shuffled and type(key) is int and key in (0, -1):
            if not self.over.plain or run.shuffled:
                unsupported("this random entry")
            # Of a random order the next is any of those that are left.
            place = RandomPlace(taken(f"{POOL} {self.number}"))
            run.removed.add(place.source)
            self.partial = True
            return place
        if not isinstance(key, Index) and not (isinstance(key, RandomPlace) and not key.offset):
            unsupported("pop() but at a random place")
        if key.source in getattr(running(), "looked", ()):
            unsupported("pop() at a place that was looked at")
        place = self.drawn()
        self.remove(place)
        return place

    def remove(self, place: Any) -> None:
        run: Any = running()
        mine = f"{POOL} {self.number} "
        pool = isinstance(place, RandomPlace) and place.source.startswith(mine) and not place.offset
        if not pool or not self.over.plain or self.over.shuffled:
            unsupported("remove() but of a place that was drawn")
        run.removed.add(place.source)
        self.partial = True

    def __getitem__(self, key: Any) -> Any:
        self._whole()
        if isinstance(key, slice) and key == slice(None):
            return Items(self.over)
        if not isinstance(key, Position) or key.offset or key.turn:
            unsupported("this entry of a list of the places")
        if self.over.shuffled and getattr(running(), "shuffled", True):
            unsupported("an order that is drawn in the turn that looks at it")
        return self.over.item(key)

    def tolist(self) -> Items:
        return Items(self.over, self.partial)

    copy = flatten = ravel = tolist

    def astype(self, dtype: Any, **_: Any) -> Items:
        return self.tolist()

    @property
    def size(self) -> Any:
        return self.count()

    @property
    def shape(self) -> tuple[Any]:
        return (self.count(),)

    def __bool__(self) -> bool:
        return bool(PlacesLeft()) if self.partial else True

    def _unknown(self, *_: Any) -> Any:
        unsupported("this use of a list of the places")

    __iter__ = __len__ = __array__ = __setitem__ = __add__ = __contains__ = _unknown

    def __deepcopy__(self, memo: Any) -> Items:
        return Items(self.over, self.partial, self.number)

    def dpest_signature(self) -> Any:
        return ("items", self.number, self.over.shuffled, self.partial)
