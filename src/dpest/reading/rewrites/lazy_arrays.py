"""Arrays whose elements are decided only when they are looked at.

A random order, or the order of n noisy values, has n! outcomes; a mechanism that looks at the
first k of them has n·(n−1)·…·(n−k+1) paths, if the rest stays undecided.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from dpest.reading.tracing.selections import extreme
from dpest.reading.tracing.symbolic import typed
from dpest.reading.tracing.symbolic_arrays import apply_ufunc, wrapped


class LazyPlaces(Protocol):
    """What decides the elements, one place at a time."""

    def __len__(self) -> int: ...

    def at(self, place: int) -> Any: ...


class LazyArray(NDArrayOperatorsMixin):
    """A one-dimensional array; slices of it are as lazy as it is, everything else decides it."""

    __array_priority__ = 500

    def __init__(self, places: LazyPlaces, view: range | None = None) -> None:
        self._places = places
        self._view = range(len(places)) if view is None else view

    def __len__(self) -> int:
        return len(self._view)

    def __iter__(self) -> Iterator[Any]:
        for place in self._view:
            yield self._places.at(place)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return LazyArray(self._places, self._view[key])
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            if not -len(self) <= key < len(self):
                raise IndexError(f"index {key} is out of bounds for axis 0 with size {len(self)}")
            return self._places.at(self._view[operator.index(key)])
        return self.decided()[key]

    def decided(self) -> Any:
        """The array, with every element decided."""
        found = np.empty(len(self), dtype=object)
        for i, value in enumerate(self):
            found[i] = value
        return wrapped(found)

    @property
    def symbolic_elements(self) -> Any:
        return self.decided()

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    @property
    def size(self) -> int:
        return len(self)

    ndim = 1

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.decided(), dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = tuple(decided(v) for v in inputs)
        if any(isinstance(v, np.ndarray) and v.dtype == object for v in plain):
            return apply_ufunc(ufunc, method, plain, options)
        return getattr(ufunc, method)(*plain, **options)

    def __array_function__(self, func: Any, types: Any, args: Any, options: Any) -> Any:
        if func is np.flip and len(args) == 1 and not options:
            return self[::-1]
        plain = tuple(
            [decided(v) for v in a] if isinstance(a, (list, tuple)) else decided(a) for a in args
        )
        return func(*plain, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.decided(), name)


def decided(value: Any) -> Any:
    return value.decided() if isinstance(value, LazyArray) else value


class Shuffled:
    """A random order of a pool, drawn place by place, each equally likely."""

    def __init__(
        self, pool: Sequence[Any], pick: Callable[[Sequence[int], Sequence[Fraction]], int]
    ) -> None:
        self._pool = pool
        self._pick = pick
        self._rest = list(range(len(pool)))
        self._order: list[int] = []

    def __len__(self) -> int:
        return len(self._pool)

    def at(self, place: int) -> Any:
        while len(self._order) <= place:
            equal = [Fraction(1, len(self._rest))] * len(self._rest)
            found = self._pick(self._rest, equal)
            self._rest.remove(found)
            self._order.append(found)
        return self._pool[self._order[place]]


class Ranks:
    """The ascending order of values, decided from the two ends: n cells for the first place.

    `indices`: give the places of the values (np.argsort) instead of the values (np.sort). Equal
    values keep their order.
    """

    def __init__(self, values: Sequence[Any], *, indices: bool) -> None:
        self._values = list(values)
        self._indices = indices
        self._low: list[int] = []
        self._high: list[int] = []
        self._rest = list(range(len(self._values)))

    def __len__(self) -> int:
        return len(self._values)

    def at(self, place: int) -> Any:
        from_top = len(self._values) - 1 - place
        if place < len(self._low):
            found = self._low[place]
        elif from_top < len(self._high):
            found = self._high[from_top]
        elif place <= from_top:
            while len(self._low) <= place:
                self._low.append(self._taken(least=True))
            found = self._low[place]
        else:
            while len(self._high) <= from_top:
                self._high.append(self._taken(least=False))
            found = self._high[from_top]
        return np.intp(found) if self._indices else typed(self._values[found], True)

    def _taken(self, *, least: bool) -> int:
        # From above, the last of equal values comes first.
        order = self._rest if least else self._rest[::-1]
        found = order[extreme([self._values[i] for i in order], least=least)]
        self._rest.remove(found)
        return found
