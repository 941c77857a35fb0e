"""Draws of the batch reading: made when they are needed, kept when the batch splits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dpest.program.batch_reading import Pending, Reading
from dpest.program.batch_values import Batched, TooMuchKept

_TABLE = 1 << 28  # bytes


class Draw:
    """One call of `rng` on a path. `data` is None until a value of it is needed.

    A draw that nobody has looked at is independent of every decision, so both sides of a split
    make their own.
    """

    __slots__ = ("data", "key", "rows", "shape", "standard")

    def __init__(self, key: Any, shape: tuple[int, ...], standard: bool) -> None:
        self.key = key
        self.shape = shape
        self.standard = standard
        self.data: Any = None
        self.rows: Any = None

    def kept(self) -> Draw:
        return self if self.data is not None else Draw(self.key, self.shape, self.standard)


def draw(
    reading: Reading,
    key: Any,
    shape: tuple[int, ...],
    make: Any,
    args: tuple[Any, ...] = (),
    standard: bool = False,
) -> Batched:
    """The next draw of the path. `make(full_shape, *args)` makes it for the runs that are left."""
    record = next_record(reading, key, shape, standard)

    def values(*data: Any) -> Any:
        if record.data is None:
            full = (*shape, reading.rows.count)
            reading.kept_bytes += 8 * math.prod(full)
            if reading.kept_bytes > reading.arrays.kept_limit:
                raise TooMuchKept
            record.data = make(full, *data)
            record.rows = reading.rows
        if record.rows is reading.rows:
            return record.data
        return reading.arrays.take(record.data, reading.rows.positions_in(record.rows))

    return reading.wrap(Batched(reading, shape, values, args))


def next_record(reading: Reading, key: Any, shape: tuple[int, ...], standard: bool) -> Draw:
    position = reading.draw_cursor
    reading.draw_cursor += 1
    if position < len(reading.draws):
        record = reading.draws[position]
        if record.key != key or record.shape != shape:
            reading.need_scalar("a function that drew differently when it was entered again")
        return record
    record = Draw(key, shape, standard)
    reading.draws.append(record)
    return record


def kept_values(path: Pending, arrays: Any) -> Iterator[tuple[Any, ...]]:
    """For each run of a path, what it drew: a number or an array; None if nobody looked."""
    columns: list[Iterable[Any]] = [range(path.rows.count)]
    for record in path.draws:
        if record.data is None:
            columns.append(itertools.repeat(None))
            continue
        data = record.data
        if record.rows is not path.rows:
            data = arrays.take(data, path.rows.positions_in(record.rows))
        columns.append(_per_run(arrays.to_numpy(data), record.shape))
    return (values[1:] for values in zip(*columns, strict=False))


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

    def _in_table(self, record: Draw) -> bool:
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


def _column_key(place: int, record: Draw) -> tuple[int, str, tuple[int, ...]]:
    return place, record.data.dtype.char, record.shape
