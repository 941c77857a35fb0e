"""Arrays and sequences with numbers of the run in them: element by element, sums, extremes, orders.

An array of the run is a NumPy array of objects whose numbers are all of one kind.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpest.running.native.signals import NotCompiled, RunThrown, error_of
from dpest.running.native.specialising.arithmetic import RunArithmetic
from dpest.running.native.values import RunChoice, RunNumber, RunValue, is_numpy, kind_of

_MOST_SORTED = 40
_FLOAT_INDEX: Any = [0].__getitem__
_DTYPES = {"f": np.float64, "i": np.int64, "b": np.bool_}
_KINDS = {np.dtype(v): k for k, v in _DTYPES.items()}


def objects(value: Any) -> np.ndarray:
    """An array of objects from an array, or from nested sequences, with their shape."""
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return value
        if value.dtype not in _KINDS:
            raise NotCompiled(f"an array of {value.dtype} beside values of the run")
        made = np.empty(value.shape, dtype=object)
        for place, part in enumerate(value.ravel().tolist()):
            made.flat[place] = part
        return made
    if isinstance(value, (list, tuple, range)):
        parts: list[Any] = [
            objects(v) if isinstance(v, (list, tuple, np.ndarray)) else v for v in value
        ]
        if parts and all(isinstance(p, np.ndarray) for p in parts):
            if len({p.shape for p in parts}) > 1:
                raise NotCompiled("an array of rows of several lengths")
            return np.stack(parts)
        if any(isinstance(p, np.ndarray) for p in parts):
            raise NotCompiled("an array of numbers and rows")
        made = np.empty(len(parts), dtype=object)
        for place, part in enumerate(parts):
            made[place] = part
        return made
    if not isinstance(value, RunValue) and kind_of(value) == "c":
        raise NotCompiled(f"an array of a {type(value).__name__}")
    made = np.empty((), dtype=object)
    made[()] = value
    return made


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def dtype_of(value: Any) -> np.dtype[Any]:
    """The type that an array with these numbers has."""
    kinds = {kind_of(v) for v in objects(value).flat}
    kind = "f" if "f" in kinds else "i" if "i" in kinds else "b"
    return np.dtype(_DTYPES[kind])


def python_number(value: Any) -> Any:
    """The same number as Python's own."""
    if isinstance(value, RunNumber):
        return value.as_numpy(False)
    if isinstance(value, RunChoice):
        return RunChoice(value.tag, value.payload, value.options)
    return value.item() if isinstance(value, np.generic) else value


class Arrays(RunArithmetic):
    def settled(self, array: np.ndarray, kind: str | None = None) -> Any:
        """One kind for all numbers, which are NumPy's; plain numbers are an array of numbers."""
        if any(isinstance(v, RunChoice) for v in array.flat):
            array = self._mapped(self.resolved, array)
        kinds = {kind_of(v) for v in array.flat}
        if "c" in kinds:
            raise NotCompiled("an array of things other than numbers")
        kind = kind or ("f" if "f" in kinds or not kinds else "i" if "i" in kinds else "b")
        if not any(isinstance(v, RunNumber) for v in array.flat):
            plain: np.ndarray = np.array(array.tolist(), dtype=_DTYPES[kind])
            return plain[()] if array.ndim == 0 else plain
        made = self._mapped(lambda v: self._entry(v, kind), array)
        return made[()] if array.ndim == 0 else made

    def _entry(self, value: Any, kind: str) -> Any:
        if kind_of(value) != kind:
            value = self.cast(value, kind)
        return value.as_numpy() if isinstance(value, RunNumber) else value

    def _mapped(self, f: Callable[[Any], Any], array: np.ndarray) -> np.ndarray:
        made = np.empty(array.shape, dtype=object)
        for place, value in enumerate(array.flat):
            made.flat[place] = f(value)
        return made

    def each(self, f: Callable[..., Any], *arrays: Any) -> Any:
        """f on each element, with NumPy's rules for shapes."""
        try:
            wide = np.broadcast_arrays(*(objects(a) for a in arrays))
        except ValueError as error:
            raise RunThrown(error) from None
        made = np.empty(wide[0].shape, dtype=object)
        for place, row in enumerate(zip(*(w.flat for w in wide), strict=True)):
            made.flat[place] = f(*row)
        return self.settled(made)

    def binary_arrays(self, op: str, a: Any, b: Any) -> Any:
        """Operators of arrays never raise for a number."""
        f = self.compare if op in ("<", "<=", ">", ">=", "==", "!=") else self.arithmetic
        kinds = {kind_of(v) for side in (a, b) for v in objects(side).flat}

        def quiet(x: Any, y: Any) -> Any:
            x, y = self.resolved(x), self.resolved(y)
            if isinstance(x, RunNumber):
                x = x.as_numpy()
            elif isinstance(y, RunNumber):
                y = y.as_numpy()
            else:
                with np.errstate(all="ignore"):
                    return f(op, np.asarray(x)[()], np.asarray(y)[()])
            if op in ("+", "*") and kind_of(x) == kind_of(y) == "b":
                return self.either(x, y) if op == "+" else self.both(x, y)
            return f(op, x, y)

        if op == "-" and kinds == {"b"}:
            raise NotCompiled("a difference of booleans")
        return self.each(quiet, a, b)

    # Sums and extremes

    def rows(self, value: Any) -> list[Any]:
        """The elements of something whose number of elements is known."""
        if isinstance(value, np.ndarray):
            return list(value)
        if isinstance(value, (list, tuple, range, dict, str)):
            return list(value)
        raise NotCompiled(f"going through a {type(value).__name__}")

    def total(self, values: Sequence[Any], start: Any = 0) -> Any:
        return functools.reduce(lambda a, b: self.arithmetic("+", a, b), values, start)

    def balanced_total(self, values: Sequence[Any]) -> Any:
        """As NumPy adds numbers of an array: booleans are counted."""
        numbers = [self.cast(v, "i") if kind_of(v) == "b" else v for v in values]
        made = self.total(numbers[1:], numbers[0]) if numbers else 0.0
        return made.as_numpy() if isinstance(made, RunNumber) else np.asarray(made)[()]

    def along(self, f: Callable[[list[Any]], Any], array: Any, axis: Any, keepdims: Any) -> Any:
        """f of the elements along an axis, or of all."""
        if keepdims not in (None, False, np._NoValue):
            raise NotCompiled("keepdims")
        array = objects(array)
        if axis is None or (array.ndim == 1 and axis in (0, -1)):
            return f(list(array.flat))
        if not isinstance(axis, int):
            raise NotCompiled("several axes")
        moved = np.moveaxis(array, axis, -1)
        made = np.empty(moved.shape[:-1], dtype=object)
        for place in np.ndindex(made.shape):
            made[place] = f(list(moved[place]))
        return self.settled(made)

    def best(self, values: Sequence[Any], op: str) -> Any:
        """The first of the greatest (">") or least ("<"), as `max` and `min` have it."""
        return functools.reduce(lambda m, v: self.select(self.compare(op, v, m), v, m), values)

    def best_of_array(self, values: Sequence[Any], op: str) -> Any:
        if not values:
            raise RunThrown(error_of(lambda: np.max([]) if op == ">" else np.min([])))
        return self.best(list(np.atleast_1d(self.settled(objects(list(values))))), op)

    def place_of_best(self, values: Sequence[Any], op: str) -> Any:
        if not values:
            raise RunThrown(error_of(lambda: np.argmax([]) if op == ">" else np.argmin([])))
        values = list(self.settled(objects(list(values))))
        best, place = values[0], 0
        for i, value in enumerate(values[1:], 1):
            better = self.compare(op, value, best)
            best, place = self.select(better, value, best), self.select(better, i, place)
        if isinstance(place, RunNumber):
            return RunNumber("i", place.register, 0, len(values) - 1, True)
        return np.int64(place)

    # Orders

    def exchanged(
        self, values: Sequence[Any], companions: Sequence[Any] | None = None
    ) -> tuple[list[Any], list[Any]]:
        """Sorted by comparing and exchanging neighbours; what belongs to each goes along."""
        v = list(values)
        c = list(v if companions is None else companions)
        if len(v) > _MOST_SORTED:
            raise NotCompiled("sorting many values")
        if len({kind_of(x) for x in v}) > 1 or not {kind_of(x) for x in v} <= set("fib"):
            raise NotCompiled("sorting values of several kinds")
        for turn in range(len(v)):
            for i in range(turn % 2, len(v) - 1, 2):
                swap = self.compare("<", v[i + 1], v[i])
                v[i], v[i + 1] = (
                    self.select(swap, v[i + 1], v[i]),
                    self.select(swap, v[i], v[i + 1]),
                )
                c[i], c[i + 1] = (
                    self.select(swap, c[i + 1], c[i]),
                    self.select(swap, c[i], c[i + 1]),
                )
        return v, c

    # Elements

    def plain_index(self, value: Any) -> Any:
        """One way for each value that a number may have."""
        value = self.resolved(value)
        if isinstance(value, tuple):
            return tuple(self.plain_index(v) for v in value)
        if not isinstance(value, RunNumber):
            return value
        if value.kind == "b":
            return bool(self.decide(value.register))
        if value.low is not None and value.high is not None and value.high - value.low < 64:
            return self.decide(value.register, "i64", range(value.low, value.high + 1))
        raise NotCompiled("a key or a place that the run computes, of any size")

    def in_range(self, index: RunNumber, size: int, error: BaseException) -> RunNumber:
        """An index from 0 to below `size`; others raise."""
        if index.kind == "f":
            raise RunThrown(error_of(lambda: _FLOAT_INDEX(1.0)))
        if index.kind == "b":
            index = self.cast(index, "i")
        if index.low is None or index.low < 0:
            negative = self.compare("<", index, 0)
            index = self.select(negative, self.arithmetic("+", index, size), index)
        if index.low is None or index.low < 0 or index.high is None or index.high >= size:
            bad = self.either(self.compare("<", index, 0), self.compare(">=", index, size))
            self.raise_if(self.truth(bad), error)
        high = size - 1 if index.high is None else min(index.high, size - 1)
        return RunNumber("i", index.register, max(index.low or 0, 0), high, index.numpy)

    def element(self, thing: Any, index: Any) -> Any:
        """thing[index] of a sequence, for an index of the run."""
        if not isinstance(index, RunNumber):
            return thing[index]
        size = len(thing)
        sample: Any = np.zeros(size) if is_array(thing) else thing
        error = error_of(lambda: sample[size])
        place = self.in_range(index, size, error)
        parts = list(thing)[: (place.high or 0) + 1]
        kinds = {kind_of(p) for p in parts}
        if len(kinds) == 1 and kinds <= set("fib"):
            made = parts[0]
            for i, part in enumerate(parts[1:], 1):
                made = self.select(self.compare("==", place, i), part, made)
            if is_array(thing) and isinstance(made, RunNumber):
                return made.as_numpy()
            return made
        if all(isinstance(p, (str, type(None))) for p in parts):
            return self.constant_choice(place, parts)
        return thing[self.plain_index(place)]

    def constant_choice(self, place: RunNumber, parts: Sequence[Any]) -> Any:
        """One of several constants: equal ones are one option."""
        options: list[Any] = []
        numbers = []
        for part in parts:
            if part not in options:
                options.append(part)
            numbers.append(options.index(part))
        if len(options) == 1:
            return options[0]
        tag: Any = numbers[0]
        for i, number in enumerate(numbers[1:], 1):
            tag = self.select(self.compare("==", place, i), number, tag)
        choices = tuple((option,) for option in options)
        return RunChoice(self.as_kind(tag, "i"), "0", choices)

    def with_element(self, values: Sequence[Any], place: RunNumber, value: Any) -> list[Any]:
        return [
            self.select(self.compare("==", place, i), value, old) for i, old in enumerate(values)
        ]

    # Products

    def dot(self, a: Any, b: Any) -> Any:
        a, b = objects(a), objects(b)

        def inner(x: Any, y: Any) -> Any:
            return self.balanced_total(
                [self.arithmetic("*", p, q) for p, q in zip(x, y, strict=True)]
            )

        if a.ndim == b.ndim == 1 and len(a) == len(b):
            return inner(a, b)
        if a.ndim == 2 and b.ndim == 1 and a.shape[1] == len(b):
            return self.settled(objects([inner(row, b) for row in a]))
        if a.ndim == 1 and b.ndim == 2 and len(a) == b.shape[0]:
            return self.settled(objects([inner(a, column) for column in b.T]))
        if a.ndim == b.ndim == 2 and a.shape[1] == b.shape[0]:
            rows = [[inner(row, column) for column in b.T] for row in a]
            return self.settled(objects(rows))
        raise NotCompiled("a product of arrays of these shapes")

    def converted(self, value: Any, dtype: Any = None) -> Any:
        """np.array(value, dtype)."""
        array = objects(value).copy()
        if dtype is None:
            return self.settled(array)
        kind = _KINDS.get(np.dtype(dtype))
        if kind is None:
            raise NotCompiled(f"numbers of the run as {np.dtype(dtype)}")
        return self.settled(self._mapped(lambda v: self.cast(v, kind), array), kind)

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        kinds = {kind_of(v) for side in (a, b) for v in objects(side).flat}
        kind = "f" if "f" in kinds else "i" if "i" in kinds else "b"

        def chosen(c: Any, x: Any, y: Any) -> Any:
            x, y = (v if kind_of(v) == kind else self.cast(v, kind) for v in (x, y))
            return self.select(c, x, y)

        return self.each(chosen, condition, a, b)

    def clipped(self, value: Any, low: Any, high: Any) -> Any:
        def one(v: Any, a: Any, b: Any) -> Any:
            for bound, op in ((a, "<"), (b, ">")):
                if bound is None:
                    continue
                kinds = kind_of(v) + kind_of(bound)
                if "f" in kinds and kinds != "ff":
                    v, bound = self.to_float(v), self.to_float(bound)
                v = self.select(self.compare(op, v, bound), bound, v)
            return v

        given = [x for x in (low, high) if x is not None]
        if len(given) == 2:
            return self.each(one, value, low, high)
        if low is not None:
            return self.each(lambda v, a: one(v, a, None), value, low)
        return self.each(lambda v, b: one(v, None, b), value, high)

    def numpy_scalar(self, value: Any) -> bool:
        return is_numpy(value)
