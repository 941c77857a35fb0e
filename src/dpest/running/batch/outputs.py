"""From the outputs of paths to columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpest.running.batch.labelled import BatchedSeries
from dpest.running.batch.patches import FillableArray
from dpest.running.batch.reading import BatchReading
from dpest.running.batch.rows import RunRows
from dpest.running.batch.values import Batched, NeedsScalar
from dpest.running.samples import RaisedRuns, Samples, SkeletonGroup
from dpest.running.skeleton import (
    PLAIN_LEAVES,
    VALUES,
    Generated,
    Leaf,
    LeafKind,
    Nest,
    Skeleton,
    flatten,
    leaf_kinds,
)

_STANDARD: dict[str, Any] = {
    "bool": np.bool_,
    "int": np.int64,
    "float": np.float64,
    "none": np.int8,
}
_KINDS: dict[str, LeafKind] = {"b": "bool", "i": "int", "u": "int", "f": "float"}


def flatten_batched(reading: BatchReading, output: Any) -> tuple[Skeleton, list[Any]]:
    """Skeleton and leaves of a path's output; a leaf is a constant or an array over the runs."""
    leaves: list[Any] = []
    return _flatten(reading, output, leaves), leaves


def _flatten(reading: BatchReading, value: Any, leaves: list[Any]) -> Skeleton:
    plain = PLAIN_LEAVES.get(type(value))
    if plain is not None:
        leaves.append(value)
        return plain
    if isinstance(value, Batched):
        data = value.data()
        kind = _KINDS[reading.arrays.dtype(data).kind]
        if not value.shape:
            leaves.append(LeafColumn(data))
            return Leaf(kind)
        leaves.extend(LeafColumn(row) for row in data.reshape(-1, data.shape[-1]))
        return Nest("array", value.shape, (Leaf(kind),) * value.size)
    if type(value) is BatchedSeries:
        return _column_of(reading, value, leaves)
    if type(value) in (list, tuple, Generated):
        name = type(value).__name__ if type(value) is not Generated else "list"
        parts = tuple(_flatten(reading, part, leaves) for part in value)
        return Nest(name, (), parts, "Generated" if type(value) is Generated else "")
    if type(value) is dict:
        hashed = {_hashed(reading, key): part for key, part in value.items()}
        shape, _ = flatten(dict.fromkeys(hashed))
        assert isinstance(shape, Nest)
        parts = tuple(_flatten(reading, hashed[key], leaves) for key in shape.keys)
        return shape._replace(parts=parts)
    if type(value) in (set, frozenset):
        value = type(value)(_hashed(reading, element) for element in value)
    if type(value) in (np.ndarray, FillableArray):  # a plain run has NumPy's own for both
        if value.dtype == object:
            if value.ndim == 0:
                return _flatten(reading, value.item(), leaves)
            parts = tuple(_flatten(reading, part, leaves) for part in value.ravel())
            return Nest("array", value.shape, parts)
        skeleton, values = flatten(value)
        leaves.extend(values)
        return skeleton
    if not isinstance(value, np.generic) and _holds_runs(value):
        # Objects of classes: what is in them is told run by run.
        raise NeedsScalar("an output of a class of its own", None)
    skeleton, values = flatten(value)
    leaves.extend(values)
    return skeleton


def _column_of(reading: BatchReading, value: BatchedSeries, leaves: list[Any]) -> Skeleton:
    """As `flatten` takes a Series apart."""
    index, labels = flatten(value.index)
    leaves.extend(labels)
    numbers = _flatten(reading, [str(value.dtype), None, value.tolist()], leaves)
    name, text = flatten(value.name)
    leaves.extend(text)
    return Nest("column", (), (index, numbers, name, flatten({})[0]), "Series")


def _holds_runs(value: Any) -> bool:
    return not isinstance(value, (str, bytes, set, frozenset, *VALUES))


def _hashed(reading: BatchReading, key: Any) -> Any:
    """A key as a plain run has it: to be hashed it was made one number for all runs of the path."""
    if type(key) is tuple:
        return tuple(_hashed(reading, part) for part in key)
    if not isinstance(key, Batched):
        return key
    number = reading.concrete(key, "a noisy key")
    return number if key.python is not None else reading.arrays.dtype(key.data()).type(number)


class LeafColumn:
    """A leaf that differs between runs."""

    __slots__ = ("data",)

    def __init__(self, data: Any) -> None:
        self.data = data


class SampleCollector:
    """Builds the Samples of one block."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.typed = False
        self._pieces: dict[Skeleton, list[tuple[Any, int, list[Any]]]] = {}
        self._notes: dict[str, None] = {}
        self._raised: RaisedRuns | None = None
        self._single: list[Any] = []
        self._single_rows: list[np.ndarray] = []

    def note(self, text: str) -> None:
        self._notes[text] = None

    def path(
        self, reading: BatchReading, skeleton: Skeleton, leaves: list[Any], output: Any
    ) -> None:
        """The output of the path that has just ended, and what `flatten_batched` made of it."""
        arrays = reading.arrays
        rows = reading.rows.absolute()
        leaves = [
            arrays.to_numpy(leaf.data) if isinstance(leaf, LeafColumn) else leaf for leaf in leaves
        ]
        where = None if rows is None else arrays.to_numpy(rows)
        self._pieces.setdefault(skeleton, []).append((where, reading.rows.count, leaves))

    def constant(self, rows: RunRows, output: Any) -> None:
        """One output for all of these runs."""
        skeleton, leaves = flatten(output)
        positions = rows.absolute()
        where = None if positions is None else _numpy(rows, positions)
        self._pieces.setdefault(skeleton, []).append((where, rows.count, leaves))

    def raised(self, error: Exception, count: int) -> None:
        self._raised = RaisedRuns.joined(self._raised, RaisedRuns(error, count))

    def outputs(self, rows: RunRows, outputs: list[Any]) -> None:
        """Outputs of single runs, in the order of `rows`."""
        positions = rows.absolute()
        where = np.arange(rows.count) if positions is None else _numpy(rows, positions)
        self._single_rows.append(where)
        self._single.extend(outputs)

    def samples(self) -> Samples:
        if self._single:
            positions = np.concatenate(self._single_rows)
            for group in Samples.from_outputs(self._single, self.typed).groups:
                self._pieces.setdefault(group.skeleton, []).append(
                    (positions[group.rows], len(group.rows), list(group.columns))
                )
            self._single, self._single_rows = [], []
        groups = []
        for skeleton, pieces in self._pieces.items():
            total = sum(count for _, count, _ in pieces)
            rows = np.empty(total, dtype=np.int64)
            position = 0
            for where, count, _ in pieces:
                rows[position : position + count] = np.arange(count) if where is None else where
                position += count
            columns = tuple(
                _column(kind, [(count, leaves[i]) for _, count, leaves in pieces], total)
                for i, kind in enumerate(leaf_kinds(skeleton))
            )
            groups.append(SkeletonGroup(skeleton, rows, columns))
        return Samples(self.count, groups, tuple(self._notes), self._raised)


def _numpy(rows: RunRows, data: Any) -> np.ndarray:
    return rows._arrays.to_numpy(data)


def _column(kind: str, pieces: list[tuple[int, Any]], total: int) -> np.ndarray:
    if len(pieces) == 1 and isinstance(pieces[0][1], np.ndarray):
        return pieces[0][1]
    standard = _STANDARD.get(kind)
    if kind == "int" and any(not isinstance(p, np.ndarray) and abs(p) >> 62 for _, p in pieces):
        standard = None
    column = np.empty(total, dtype=object if standard is None else standard)
    position = 0
    for count, piece in pieces:
        column[position : position + count] = 0 if kind == "none" else piece
        position += count
    return column
