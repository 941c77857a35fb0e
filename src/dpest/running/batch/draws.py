"""Draws of the batch reading: made when they are needed, kept when the batch splits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dpest.running.batch.reading import SINGLE, BatchReading, Pending
from dpest.running.batch.values import Batched, BatchedArray, TooMuchKept

_TABLE = 1 << 28  # bytes
_SHORT = 64  # vectors up to this length may be drawn element by element


class BatchDraw:
    """One call of `rng` on a path. `data` is None until a value of it is needed.

    A draw that nobody has looked at is independent of every decision, so both sides of a split
    make their own. A short vector of which single elements are looked at is drawn in `parts`:
    a loop that stops early then draws no more than it uses. `make(shape, *args)` makes the
    draws; `element(i)` gives the `make` of one element.
    """

    __slots__ = ("data", "element", "key", "make", "parts", "rows", "shape")

    def __init__(self, key: Any, shape: tuple[int, ...], make: Any, element: Any = None) -> None:
        self.key = key
        self.shape = shape
        self.make = make
        self.element = element
        self.data: Any = None
        self.rows: Any = None
        self.parts: list[BatchDraw] | None = None

    def kept(self) -> BatchDraw:
        """For the other side of a split: what was drawn is shared, the rest is drawn anew."""
        if self.data is not None:
            return self
        other = BatchDraw(self.key, self.shape, self.make, self.element)
        if self.parts is not None:
            other.parts = [part.kept() for part in self.parts]
        return other

    @property
    def looked_at(self) -> bool:
        return self.data is not None or (
            self.parts is not None and any(part.data is not None for part in self.parts)
        )

    def part(self, index: int) -> BatchDraw:
        if self.parts is None:
            self.parts = [BatchDraw(self.key, (), self.element(i)) for i in range(self.shape[0])]
        return self.parts[index]

    def values(self, reading: BatchReading, args: tuple[Any, ...] = ()) -> Any:
        """The draws of the runs that are on the path."""
        rows = reading.rows
        if self.data is None:
            if self.parts is not None:
                self.data = reading.arrays.stack(
                    [part.values(reading) for part in self.parts], rows.count
                )
            else:
                full = (*self.shape, rows.count)
                reading.kept_bytes += 8 * math.prod(full)
                if reading.kept_bytes > reading.arrays.kept_limit:
                    reading.failure = TooMuchKept()
                    raise reading.failure
                self.data = self.make(full, *args)
            self.rows = rows
        if self.rows is rows:
            return self.data
        return reading.arrays.take(self.data, rows.positions_in(self.rows))


class DrawnValue(Batched):
    """The value of a draw."""

    __slots__ = ("record",)

    def __init__(
        self, reading: BatchReading, record: BatchDraw, args: tuple[Any, ...] = ()
    ) -> None:
        self._reading = reading
        self.shape = record.shape
        self.record = record
        self._args = args
        self._data = self._rows = self._function = None
        self._depth = 1
        self.elementwise = False
        self.python = None

    def _compute(self) -> None:
        args = tuple(arg.data() if isinstance(arg, Batched) else arg for arg in self._args)
        self._data = self.record.values(self._reading, args)

    def element(self, index: int) -> Batched | None:
        """One element alone, if the whole has not been drawn and need not be."""
        record = self.record
        if record.data is not None or record.element is None or self._rows is not None:
            return None
        return DrawnValue(self._reading, record.part(index))


SINGLE.add(DrawnValue)


def draw(
    reading: BatchReading,
    key: Any,
    shape: tuple[int, ...],
    make: Any,
    args: tuple[Any, ...] = (),
    element: Any = None,
    python: type | None = None,
) -> Batched:
    """The next draw of the path. `make(full_shape, *args)` makes it for the runs that are left.

    `python` is the type of a single draw, where that is one of Python's own.
    """
    position = reading.draw_cursor
    reading.draw_cursor = position + 1
    if position < len(reading.draws):
        record = reading.draws[position]
        if record.key != key or record.shape != shape:
            reading.need_scalar("a function that drew differently when it was entered again")
    else:
        record = BatchDraw(
            key, shape, make, element if len(shape) > 0 and shape[0] <= _SHORT else None
        )
        reading.draws.append(record)
    value = DrawnValue(reading, record, args)
    if shape:
        return BatchedArray(value)
    value.python = python
    return value


def kept_values(path: Pending, arrays: Any) -> Iterator[tuple[Any, ...]]:
    """For each run of a path, what it drew: a number or an array; None if nobody looked."""
    columns: list[Iterable[Any]] = [range(path.rows.count)]
    for record in path.draws:
        if not record.looked_at:
            columns.append(itertools.repeat(None))
            continue
        if record.data is None:  # the elements that nobody looked at are drawn now
            data = arrays.stack(
                [
                    part.make((path.rows.count,))
                    if part.data is None
                    else _data_at(part, path, arrays)
                    for part in record.parts
                ],
                path.rows.count,
            )
        else:
            data = _data_at(record, path, arrays)
        columns.append(_per_run(arrays.to_numpy(data), record.shape))
    return (values[1:] for values in zip(*columns, strict=False))


def _data_at(record: BatchDraw, path: Pending, arrays: Any) -> Any:
    if record.rows is path.rows:
        return record.data
    return arrays.take(record.data, path.rows.positions_in(record.rows))


def _per_run(data: np.ndarray, shape: tuple[int, ...]) -> list[Any]:
    return data.tolist() if not shape else list(np.moveaxis(data, -1, 0))


class KeptDraws:
    """`kept_values` for many small paths: the draws of a block by the position of the run.

    At one place of the program a run drew once, so that draws made at that place on different
    paths fill one column without meeting.
    """

    def __init__(self, paths: list[Pending], count: int) -> None:
        self._lists: dict[Any, list[Any]] = {}
        self._none = [None] * count
        columns: dict[Any, np.ndarray] = {}
        # Single floats lie in one table, run by run: a run's draws are then read in one go.
        width = max((len(path.draws) for path in paths), default=0)
        self._table = np.empty((count, width)) if 8 * count * width <= _TABLE else None
        seen: set[int] = set()
        for path in paths:
            for place, record in enumerate(path.draws):
                if record.data is None or id(record) in seen:
                    continue
                seen.add(id(record))
                where = record.rows.absolute()
                rows = slice(None) if where is None else where
                if self._in_table(record):
                    self._table[rows, place] = record.data  # type: ignore[index]
                    continue
                key = _column_key(place, record)
                if key not in columns:
                    columns[key] = np.empty((*record.shape, count), dtype=record.data.dtype)
                columns[key][..., rows] = record.data
        for key, column in columns.items():
            self._lists[key] = _per_run(column, key[2])

    def _in_table(self, record: BatchDraw) -> bool:
        return self._table is not None and not record.shape and record.data.dtype.kind == "f"

    def of(self, path: Pending) -> Iterator[list[Any]]:
        rows = path.rows.absolute()
        positions = np.arange(path.rows.count) if rows is None else rows
        others = [
            (place, self._none if record.data is None else self._lists[_column_key(place, record)])
            for place, record in enumerate(path.draws)
            if record.data is None or not self._in_table(record)
        ]
        if self._table is None:
            found = [[None] * len(path.draws) for _ in range(path.rows.count)]
        else:
            found = self._table[positions, : len(path.draws)].tolist()
        if others:
            for values, row in zip(found, positions.tolist(), strict=True):
                for place, column in others:
                    values[place] = column[row]
        return iter(found)


def _column_key(place: int, record: BatchDraw) -> tuple[int, str, tuple[int, ...]]:
    return place, record.data.dtype.char, record.shape
