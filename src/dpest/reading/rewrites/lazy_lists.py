"""Lists whose elements are decided only when they are looked at: `sorted` of noisy values.

The order of n noisy values has n! outcomes; a mechanism that looks at the first k of them has
n·(n−1)·…·(n−k+1) paths, if the rest stays undecided.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dpest.reading.rewrites.lazy_arrays import Ranks
from dpest.reading.tracing.selections import extreme


class SortedList(list[Any]):
    """What `sorted` gives: a list, of which elements and slices are decided one by one.

    Everything else decides all of it first. Compiled code that reads a list's memory would find it
    empty; Python's own asks a subclass for its iterator.
    """

    def __init__(self, items: Sequence[Any], ranks: Ranks, view: range) -> None:
        super().__init__()
        self._items = items
        self._ranks = ranks
        self._view: range | None = view

    def _at(self, place: int) -> Any:
        return self._items[self._ranks.at(place)]

    def decided(self) -> SortedList:
        """The list itself, with every element in its place."""
        if self._view is not None:
            found = [self._at(place) for place in self._view]
            self._view = None
            super().extend(found)
        return self

    def __len__(self) -> int:
        return super().__len__() if self._view is None else len(self._view)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __iter__(self) -> Iterator[Any]:
        if self._view is None:
            return super().__iter__()
        return (self._at(place) for place in self._view)

    def __reversed__(self) -> Iterator[Any]:
        if self._view is None:
            return super().__reversed__()
        return (self._at(place) for place in reversed(self._view))

    def __getitem__(self, key: Any) -> Any:
        if self._view is None:
            return super().__getitem__(key)
        if isinstance(key, slice):
            return SortedList(self._items, self._ranks, self._view[key])
        return self._at(self._view[operator.index(key)])

    def copy(self) -> list[Any]:
        return self[:]

    def pop(self, index: Any = -1) -> Any:
        if self._view is None or index not in (0, -1) or not self._view:
            return super(SortedList, self.decided()).pop(index)
        place = self._view[index]
        self._view = self._view[1:] if index == 0 else self._view[:-1]
        return self._at(place)

    def __reduce__(self) -> Any:
        return list, (list(self),)


def _deciding(name: str) -> Callable[..., Any]:
    plain = getattr(list, name)

    def apply(self: SortedList, *args: Any, **options: Any) -> Any:
        self.decided()
        others = (a.decided() if isinstance(a, SortedList) else a for a in args)
        return plain(self, *others, **options)

    apply.__name__ = name
    return apply


for _name in (
    "__add__", "__contains__", "__delitem__", "__eq__", "__ge__", "__gt__", "__iadd__", "__imul__",
    "__le__", "__lt__", "__mul__", "__ne__", "__repr__", "__rmul__", "__setitem__", "append",
    "clear", "count", "extend", "index", "insert", "remove", "reverse", "sort",
):  # fmt: skip
    setattr(SortedList, _name, _deciding(_name))


def _added_to(self: SortedList, other: Any) -> Any:
    return other + list(self.decided()) if type(other) is list else NotImplemented


SortedList.__radd__ = _added_to  # type: ignore[attr-defined]


def in_order(items: Sequence[Any], keys: Sequence[Any], *, reverse: bool) -> SortedList:
    """`sorted(items, key=…, reverse=…)`, given what to compare."""
    if not reverse:
        return SortedList(items, Ranks(keys, indices=True), range(len(items)))
    # Equal keys keep their order in a reversed list as well.
    ranks = Ranks(list(keys)[::-1], indices=True)
    return SortedList(list(items)[::-1], ranks, range(len(items))[::-1])


def outermost(count: int, items: Iterable[Any], keys: Sequence[Any], *, least: bool) -> list[Any]:
    """heapq.nsmallest or nlargest: the first `count` of the order."""
    pool = list(items)
    rest = list(range(len(pool)))
    found: list[Any] = []
    while rest and len(found) < count:
        place = rest[extreme([keys[i] for i in rest], least=least)]
        rest.remove(place)
        found.append(pool[place])
    return found
