"""Draws of the batch reading: made when they are needed, kept when the batch splits."""

from __future__ import annotations

import math
from typing import Any

from dpest.program.batch_reading import Reading
from dpest.program.batch_values import Batched, TooMuchKept


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
