"""Many outputs of one mechanism, held as columns.

Outputs are grouped by skeleton; a group has one NumPy array per leaf. Ten million outputs of SVT
are a few arrays of booleans, not ten million lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpest.program.skeleton import Skeleton, flatten, leaf_kinds, unflatten

_DTYPES: dict[str, Any] = {"bool": np.bool_, "int": np.int64, "float": np.float64}


@dataclass(frozen=True)
class Group:
    """The outputs with one skeleton: `rows` are their positions, `columns` one array a leaf.

    A leaf of kind "none" has a column too (of zeros), so that columns and leaves correspond.
    Strings and other objects are columns of dtype object.
    """

    skeleton: Skeleton
    rows: np.ndarray
    columns: tuple[np.ndarray, ...]

    @property
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


class Samples:
    """`size` outputs in order. No two groups have the same skeleton; every row is in one group."""

    def __init__(self, size: int, groups: Sequence[Group], notes: Sequence[str] = ()) -> None:
        self.size = size
        self.groups = tuple(groups)
        self.notes = tuple(notes)

    @staticmethod
    def from_outputs(outputs: Sequence[Any]) -> Samples:
        """Columns from Python outputs, as a black box returns them."""
        rows: dict[Skeleton, list[int]] = {}
        leaves: dict[Skeleton, list[list[Any]]] = {}
        for i, output in enumerate(outputs):
            skeleton, values = flatten(output)
            rows.setdefault(skeleton, []).append(i)
            leaves.setdefault(skeleton, []).append(values)
        groups = []
        for skeleton, positions in rows.items():
            kinds = leaf_kinds(skeleton)
            columns = tuple(
                column_of(kind, values)
                for kind, values in zip(kinds, zip(*leaves[skeleton], strict=True), strict=True)
            )
            groups.append(Group(skeleton, np.array(positions, dtype=np.int64), columns))
        return Samples(len(outputs), groups)

    @staticmethod
    def concatenate(parts: Sequence[Samples]) -> Samples:
        pieces: dict[Skeleton, list[tuple[np.ndarray, tuple[np.ndarray, ...]]]] = {}
        offset = 0
        notes: dict[str, None] = {}
        for part in parts:
            for group in part.groups:
                pieces.setdefault(group.skeleton, []).append((group.rows + offset, group.columns))
            offset += part.size
            notes.update(dict.fromkeys(part.notes))
        groups = [
            Group(
                skeleton,
                np.concatenate([rows for rows, _ in found]),
                tuple(
                    np.concatenate(columns)
                    for columns in zip(*[columns for _, columns in found], strict=True)
                ),
            )
            for skeleton, found in pieces.items()
        ]
        return Samples(offset, groups, tuple(notes))

    def where(self, mask: Callable[[Group], np.ndarray]) -> np.ndarray:
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
