"""Data on which a model is replayed: random ones, and those at the places that the code names."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dpest.ask.shapes import in_shape
from dpest.reading.contributions.reading import Data, PublicWay
from dpest.running.landmarks import places

_MOST_RECORDS = 64
_MOST_MARKS = 48


def sample_lengths(constants: Sequence[float]) -> list[int]:
    """Some lengths, and those that the source names: there a program may do something else."""
    named = [int(c) for c in constants if 0 < c <= _MOST_RECORDS and c == int(c)]
    return list(dict.fromkeys((1, 2, 3, 5, 8, *named)))


def random_records(
    data: Data, length: int, source: random.Random, constants: Sequence[float], trial: int
) -> list[dict[Any, Any]]:
    found = []
    for person in range(length):
        for _ in range(source.randint(1, data.rows_each)):
            row = {c.name: _value(c, source, constants, trial) for c in data.columns}
            found.append(row if data.user is None else {data.user: person, **row})
    return found


def special_records(
    data: Data, ways: Sequence[PublicWay], source: random.Random, constants: Sequence[float]
) -> Iterator[list[dict[Any, Any]]]:
    """Data whose records all lie in one case of the code, and those with one such record alone.

    Random records hardly ever fall between 0.61 and 0.611; a filter that leaves nothing, or one
    record that changes what an array is, shows at such places only.
    """
    numbers = [*constants, *_thresholds(ways)]
    lengths = (1, 3, 7) if data.length is None else (data.length,)
    for column in data.columns:
        for value in _marks(column, numbers)[:_MOST_MARKS]:
            for length in lengths:
                alike = random_records(data, length, source, constants, 0)
                for row in alike:
                    row[column.name] = value
                yield alike
                alone = random_records(data, length, source, constants, 0)
                alone[-1][column.name] = value
                yield alone


def _marks(column: Any, numbers: Sequence[float]) -> list[Any]:
    """One value of a column for each case that the numbers tell apart."""
    if column.values is not None:
        return list(column.values)
    low = -math.inf if column.low is None else float(column.low)
    high = math.inf if column.high is None else float(column.high)
    found = places(numbers, low, high)
    if column.whole:
        near = {round(v) + d for v in found for d in (-1, 0, 1)}
        return sorted(v for v in near if low <= v <= high)
    return found


def _thresholds(ways: Sequence[PublicWay]) -> list[float]:
    """The numbers at which what one field is decides about a record."""
    found = set()
    for way in ways:
        for one in way.ledger.passes:
            for conditions, _ in one.cases:
                for truth in conditions:
                    form = getattr(truth, "form", None)
                    if form is not None and len(form.terms) == 1:
                        found.add(float(-form.constant / form.terms[0][1]))
    return sorted(found)


def _value(column: Any, source: random.Random, constants: Sequence[float], trial: int) -> Any:
    low = float(column.low) if column.low is not None else -math.inf
    high = float(column.high) if column.high is not None else math.inf
    kind = source.random()
    inside = [c for c in constants if low <= c <= high and math.isfinite(c)]
    if kind < 0.2 and inside:
        found = source.choice(inside)
    elif kind < 0.4 and (math.isfinite(low) or math.isfinite(high)):
        found = source.choice([e for e in (low, high) if math.isfinite(e)])
    elif math.isfinite(low) and math.isfinite(high):
        found = source.uniform(low, high)
    else:
        reach = 1e6 if trial % 5 == 4 else 10.0
        found = min(max(source.uniform(-reach, reach), low), high)
    if column.values is not None:
        return source.choice(column.values)
    if column.missing and source.random() < 0.3:
        return math.nan
    return _whole(found, low, high) if column.whole else found


def _whole(number: float, low: float, high: float) -> int:
    """A whole number within bounds that may be infinite."""
    found = round(number)
    if found < low:
        return math.ceil(low)
    return math.floor(high) if found > high else found


def as_argument(data: Data, records: Sequence[Mapping[Any, Any]]) -> Any:
    if None in (c.name for c in data.columns):
        values = [r[None] for r in records]
        return np.array(values) if data.form == "array" else values
    form = "dicts" if data.form == "list" else data.form
    return in_shape(form, records, data.kinds)


def symbol_numbers(data: Data, record: Mapping[Any, Any]) -> dict[Any, float]:
    """The numbers that the symbols of a record stand for."""
    return {k: v for c in data.columns for k, v in c.codes(record[c.name]).items()}
