"""Many outputs of one mechanism, held as columns.

Outputs are grouped by skeleton; a group has one NumPy array per leaf. Ten million outputs of SVT
are a few arrays of booleans, not ten million lists.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpest.running.skeleton import Leaf, Skeleton, flatten, leaf_kinds, unflatten

_SCALARS = frozenset({bool, int, float, str, bytes, type(None)})
_DTYPES: dict[str, Any] = {"bool": np.bool_, "int": np.int64, "float": np.float64}


@dataclass(frozen=True)
class SkeletonGroup:
    """The outputs with one skeleton: `rows` are their positions, `columns` one array a leaf.

    A leaf of kind "none" has a column too (of zeros), so that columns and leaves correspond.
    Strings and other objects are columns of dtype object.
    """

    skeleton: Skeleton
    rows: np.ndarray
    columns: tuple[np.ndarray, ...]

    @functools.cached_property
    def kinds(self) -> list[str]:
        return list(leaf_kinds(self.skeleton))

    def output(self, position: int) -> Any:
        leaves = [
            None
            if kind == "none"
            else column[position].item()
            if isinstance(column[position], np.generic)
            else column[position]
            for kind, column in zip(self.kinds, self.columns, strict=True)
        ]
        return unflatten(self.skeleton, leaves)


@dataclass(frozen=True)
class RaisedRuns:
    """How many runs raised, and the first error. Their outputs are "raises ValueError" and such."""

    error: Exception
    count: int

    @staticmethod
    def joined(first: RaisedRuns | None, second: RaisedRuns | None) -> RaisedRuns | None:
        if first is None or second is None:
            return first or second
        return RaisedRuns(first.error, first.count + second.count)


@dataclass(frozen=True)
class Codes:
    """Outputs by what is discrete in them.

    `values[i]` is the code of output i. Code k has the hashable `keys[k]` (the skeleton, and the
    leaves without the floats), equal for equal outputs of any Samples; `table[k]` is an output
    with that code. Codes are numbered in an order that depends on the keys alone. A float leaf is
    not part of the code: outputs that differ only there have one code.
    """

    values: np.ndarray
    keys: tuple[Hashable, ...]
    table: tuple[Any, ...]

    @property
    def counts(self) -> np.ndarray:
        return np.bincount(self.values, minlength=len(self.keys))


class Samples:
    """`size` outputs in order. No two groups have the same skeleton; every row is in one group.

    `notes` say what a reader of a result should know; `raised` counts the runs that raised.
    `runner` names who made the runs, where that was a choice.
    """

    def __init__(
        self,
        size: int,
        groups: Sequence[SkeletonGroup],
        notes: Sequence[str] = (),
        raised: RaisedRuns | None = None,
        runner: str = "",
    ) -> None:
        self.size = size
        self.groups = tuple(groups)
        self.notes = tuple(notes)
        self.raised = raised
        self.runner = runner

    @staticmethod
    def from_outputs(outputs: Sequence[Any], typed: bool = False) -> Samples:
        """Columns from Python outputs, as a black box returns them (`typed`: see `flatten`)."""
        # Most outputs are a scalar or a flat list: the types of its parts then give the skeleton,
        # and taking every output apart would cost more than many a mechanism.
        by_types: dict[Any, list[int]] = {}
        for i, output in enumerate(outputs):
            kind = type(output)
            types = (kind, *map(type, output)) if kind is list or kind is tuple else kind
            found = by_types.get(types)
            if found is None:
                by_types[types] = [i]
            else:
                found.append(i)
        pieces: dict[Skeleton, list[tuple[list[int], list[Any]]]] = {}
        for types, positions in by_types.items():
            if _flat(types):
                skeleton, _ = flatten(outputs[positions[0]], typed)
                if isinstance(skeleton, Leaf):
                    leaves: list[Any] = [[outputs[i] for i in positions]]
                else:
                    leaves = list(zip(*[outputs[i] for i in positions], strict=True))
                pieces.setdefault(skeleton, []).append((positions, leaves))
                continue
            for i in positions:
                skeleton, values = flatten(outputs[i], typed)
                pieces.setdefault(skeleton, []).append(([i], [[value] for value in values]))
        groups = []
        for skeleton, some in pieces.items():
            columns = tuple(
                column_of(
                    kind,
                    some[0][1][j]
                    if len(some) == 1
                    else [value for _, leaves in some for value in leaves[j]],
                )
                for j, kind in enumerate(leaf_kinds(skeleton))
            )
            rows = np.array([i for positions, _ in some for i in positions], dtype=np.int64)
            groups.append(SkeletonGroup(skeleton, rows, columns))
        return Samples(len(outputs), groups)

    @staticmethod
    def concatenate(parts: Sequence[Samples]) -> Samples:
        if len(parts) == 1:
            return parts[0]
        raised: RaisedRuns | None = None
        pieces: dict[Skeleton, list[tuple[np.ndarray, tuple[np.ndarray, ...]]]] = {}
        offset = 0
        notes: dict[str, None] = {}
        for part in parts:
            for group in part.groups:
                pieces.setdefault(group.skeleton, []).append((group.rows + offset, group.columns))
            offset += part.size
            notes.update(dict.fromkeys(part.notes))
            raised = RaisedRuns.joined(raised, part.raised)
        runners = sorted({part.runner for part in parts if part.runner})
        groups = [
            SkeletonGroup(
                skeleton,
                np.concatenate([rows for rows, _ in found]),
                tuple(
                    np.concatenate(columns)
                    for columns in zip(*[columns for _, columns in found], strict=True)
                ),
            )
            for skeleton, found in pieces.items()
        ]
        return Samples(offset, groups, tuple(notes), raised, " and ".join(runners))

    def take(self, rows: Any) -> Samples:
        """The outputs at these positions (integers, or a mask), in this order."""
        wanted = np.asarray(rows)
        if wanted.dtype == np.bool_:
            wanted = np.flatnonzero(wanted)
        wanted = np.where(wanted < 0, wanted + self.size, wanted).astype(np.int64)
        if wanted.size and not (wanted.min() >= 0 and wanted.max() < self.size):
            raise IndexError(f"rows are positions among {self.size} outputs")
        group_of = np.empty(self.size, dtype=np.int32)
        position_of = np.empty(self.size, dtype=np.int64)
        for i, group in enumerate(self.groups):
            group_of[group.rows] = i
            position_of[group.rows] = np.arange(len(group.rows))
        groups = []
        for i, group in enumerate(self.groups):
            new_rows = np.flatnonzero(group_of[wanted] == i)
            if len(new_rows):
                old = position_of[wanted[new_rows]]
                columns = tuple(column[old] for column in group.columns)
                groups.append(SkeletonGroup(group.skeleton, new_rows, columns))
        return Samples(len(wanted), groups, self.notes)

    def codes(self) -> Codes:
        """A code for every output, by what is discrete in it."""
        found: list[tuple[Hashable, Any, np.ndarray]] = []
        local: list[tuple[SkeletonGroup, np.ndarray, int]] = []
        for group in self.groups:
            codes, first = discrete_codes(group)
            local.append((group, codes, len(found)))
            for position in first.tolist():
                found.append((_key(group, position), group.output(position), codes))
        order = sorted(range(len(found)), key=lambda k: repr(found[k][0]))
        rank = np.empty(len(found), dtype=np.int64)
        rank[order] = np.arange(len(found))
        values = np.empty(self.size, dtype=np.int64)
        for group, codes, start in local:
            values[group.rows] = rank[codes + start]
        return Codes(values, tuple(found[k][0] for k in order), tuple(found[k][1] for k in order))

    @property
    def nan_count(self) -> int:
        """How many numbers of the outputs are NaN."""
        return sum(
            int(np.count_nonzero(np.isnan(column)))
            for group in self.groups
            for column in group.columns
            if column.dtype.kind == "f" and np.isnan(np.sum(column))
        )

    def where(self, mask: Callable[[SkeletonGroup], np.ndarray]) -> np.ndarray:
        """One boolean per output, in order, from a function that marks the rows of a group."""
        result = np.zeros(self.size, dtype=bool)
        for group in self.groups:
            result[group.rows] = mask(group)
        return result

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Any:
        if not -self.size <= index < self.size:
            raise IndexError(index)
        wanted = index % self.size
        for group in self.groups:
            found = np.flatnonzero(group.rows == wanted)
            if len(found):
                return group.output(int(found[0]))
        raise AssertionError("every row is in one group")

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to_list())

    def to_list(self) -> list[Any]:
        outputs: list[Any] = [None] * self.size
        for group in self.groups:
            for position, row in enumerate(group.rows.tolist()):
                outputs[row] = group.output(position)
        return outputs


def discrete_codes(group: SkeletonGroup) -> tuple[np.ndarray, np.ndarray]:
    """Codes 0, 1, ... of a group's rows by their discrete columns, and a position of each."""
    codes = np.zeros(len(group.rows), dtype=np.int64)
    span = 1
    for kind, column in zip(group.kinds, group.columns, strict=True):
        if kind in ("float", "none"):
            continue
        if column.dtype == object:
            # equal strings, whatever type of text, have one code
            numbers: dict[Any, int] = {}
            column = np.fromiter(
                (numbers.setdefault(value, len(numbers)) for value in column),
                dtype=np.int64,
                count=len(column),
            )
        low = int(column.min()) if len(column) else 0
        width = int(column.max()) - low + 1 if len(column) else 1
        if width > 2**31:
            column = np.unique(column, return_inverse=True)[1]
            low, width = 0, int(column.max()) + 1
        if span * width > 2**62:
            codes = np.unique(codes, return_inverse=True)[1]
            span = int(codes.max()) + 1
        codes = codes * width + (column.astype(np.int64) - low)
        span *= width
    if span > max(1 << 16, 4 * len(codes)):
        _, first, dense = np.unique(codes, return_index=True, return_inverse=True)
        return dense, first
    present = np.bincount(codes, minlength=1)
    used = np.flatnonzero(present)
    dense_of = np.zeros(len(present), dtype=np.int64)
    dense_of[used] = np.arange(len(used))
    dense = dense_of[codes]
    first = np.empty(len(used), dtype=np.int64)
    first[dense[::-1]] = np.arange(len(codes))[::-1]
    return dense, first


def _key(group: SkeletonGroup, position: int) -> Hashable:
    leaves = tuple(
        None
        if kind in ("none", "float")
        else getattr(column[position], "item", column.item)()
        if kind != "str" and kind != "object"
        else column[position]
        for kind, column in zip(group.kinds, group.columns, strict=True)
    )
    return group.skeleton, leaves


def _flat(types: Any) -> bool:
    """Whether outputs with these types are scalars, or lists or tuples of scalars."""
    parts = types[1:] if isinstance(types, tuple) else (types,)
    return all(part in _SCALARS or issubclass(part, np.generic) for part in parts)


def column_of(kind: str, values: Sequence[Any]) -> np.ndarray:
    if kind == "none":
        return np.zeros(len(values), dtype=np.int8)
    if kind == "int":
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            return np.array(values, dtype=object)
    if kind in _DTYPES:
        return np.array(values, dtype=_DTYPES[kind])
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
