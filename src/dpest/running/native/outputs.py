"""Outputs of a kernel as numbers: a code for what is discrete, columns for the rest.

Each way that a function can end is an `Ending`: a skeleton, plain leaves, and leaves of the run.
Booleans, choices and integers of a small range are digits of a code; codes of all endings follow
each other. Reals, and integers of any size, are columns. Where a code would not fit into 62 bits,
digits are packed into columns too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.running.native.signals import NotCompiled
from dpest.running.native.specialising.state import RunOutput
from dpest.running.native.values import RunChoice, RunNumber
from dpest.running.samples import RaisedRuns, Samples, SkeletonGroup, column_of
from dpest.running.skeleton import Leaf, LeafKind, Nest, Skeleton, leaf_kind

#: Distinct codes that are counted in a table.
MOST_COUNTED = 1 << 22
_WIDEST_DIGIT = 1 << 20
_KINDS: dict[str, LeafKind] = {"f": "float", "i": "int", "b": "bool"}


@dataclass(frozen=True)
class Digit:
    leaf: int
    low: int
    width: int


@dataclass(frozen=True)
class RealColumn:
    """A column with the number at a leaf."""

    leaf: int


@dataclass(frozen=True)
class Pack:
    """A column with digits, the last one fastest."""

    digits: tuple[Digit, ...]


@dataclass
class Ending:
    """One way to end, with its place among the codes."""

    skeleton: Skeleton
    leaves: list[Any]
    raised: BaseException | None
    digits: list[Digit]
    columns: list[RealColumn | Pack]
    base: int = 0

    @property
    def size(self) -> int:
        return math.prod(d.width for d in self.digits)


def _ranges(outputs: Sequence[RunOutput], leaf: int) -> tuple[int, int] | None:
    """Where an integer lies on all ways that end alike; None where that isn't known, or wide."""
    ends = [(o.leaves[leaf].low, o.leaves[leaf].high) for o in outputs]
    lows, highs = [low for low, _ in ends], [high for _, high in ends]
    if None in lows or None in highs:
        return None
    low, high = min(lows), max(highs)
    return (low, high) if high - low < _WIDEST_DIGIT else None


def _ending(outputs: Sequence[RunOutput]) -> Ending:
    first = outputs[0]
    digits: list[Digit] = []
    columns: list[RealColumn | Pack] = []
    for leaf, value in enumerate(first.leaves):
        if isinstance(value, RunChoice):
            digits.append(Digit(leaf, 0, len(value.options)))
            if any(isinstance(option, str) for option in value.options):
                columns.append(RealColumn(leaf))
        elif isinstance(value, RunNumber):
            known = _ranges(outputs, leaf) if value.kind == "i" else None
            if value.kind == "b":
                digits.append(Digit(leaf, 0, 2))
            elif known is not None:
                digits.append(Digit(leaf, known[0], known[1] - known[0] + 1))
            else:
                columns.append(RealColumn(leaf))
    return Ending(first.skeleton, first.leaves, first.raised, digits, columns)


class Layout:
    """Where everything that a kernel gives stands."""

    def __init__(self, outputs: Sequence[RunOutput]) -> None:
        by_key: dict[str, list[RunOutput]] = {}
        for output in outputs:
            by_key.setdefault(output.key, []).append(output)
        self.endings = {key: _ending(found) for key, found in by_key.items()}
        if sum(e.size for e in self.endings.values()) >= 1 << 62:
            for ending in self.endings.values():
                _pack(ending)
        base = 0
        for ending in self.endings.values():
            ending.base = base
            base += ending.size
        self.codes = base
        self.width = max((len(e.columns) for e in self.endings.values()), default=0)
        self.countable = self.width == 0 and self.codes <= MOST_COUNTED
        self._bases = np.array([e.base for e in self.endings.values()])

    @property
    def code_type(self) -> Any:
        if self.codes <= 256:
            return np.uint8
        return np.int32 if self.codes < 1 << 31 else np.int64

    def whole_columns(self) -> Iterator[RealColumn]:
        """Columns that hold integers, since nobody knows how large they may be."""
        for ending in self.endings.values():
            for column in ending.columns:
                if isinstance(column, RealColumn):
                    value = ending.leaves[column.leaf]
                    if isinstance(value, RunNumber) and value.kind == "i":
                        yield column

    # Decoding

    def samples(self, codes: NDArray[Any], columns: NDArray[np.float64]) -> Samples:
        """What `size` runs gave, from their codes and columns."""
        size = len(codes)
        wide = codes.astype(np.int64)
        owner = np.searchsorted(self._bases, wide, side="right") - 1
        order = np.argsort(owner, kind="stable")
        bounds = np.searchsorted(owner[order], np.arange(len(self.endings) + 1))
        pieces: dict[Skeleton, list[tuple[NDArray[np.int64], list[np.ndarray]]]] = {}
        raised: RaisedRuns | None = None
        for number, ending in enumerate(self.endings.values()):
            alone = len(self.endings) == 1
            rows = np.arange(size) if alone else order[bounds[number] : bounds[number + 1]]
            if not len(rows):
                continue
            if isinstance(ending.raised, Exception):
                raised = RaisedRuns.joined(raised, RaisedRuns(ending.raised, len(rows)))
            for skeleton, some, found in _decoded(ending, rows, wide[rows], columns):
                pieces.setdefault(skeleton, []).append((some, found))
        groups = [
            SkeletonGroup(
                skeleton,
                np.concatenate([rows for rows, _ in found]),
                tuple(np.concatenate(c) for c in zip(*[c for _, c in found], strict=True)),
            )
            for skeleton, found in pieces.items()
        ]
        return Samples(size, groups, (), raised)

    def possible(self, codes: NDArray[Any]) -> Samples:
        """The outputs of these codes, where all outputs are discrete."""
        if self.width:
            raise NotCompiled("the outputs are not discrete")
        return self.samples(codes, np.empty((0, len(codes))))


def _pack(ending: Ending) -> None:
    """Move the digits into columns of at most 62 bits each."""
    held: list[Digit] = []
    span = 1
    for digit in ending.digits:
        if span * digit.width >= 1 << 62:
            ending.columns.append(Pack(tuple(held)))
            held, span = [], 1
        held.append(digit)
        span *= digit.width
    if held:
        ending.columns.append(Pack(tuple(held)))
    ending.digits = []


def _digit_values(
    ending: Ending, rows: NDArray[np.int64], codes: NDArray[np.int64], columns: NDArray[np.float64]
) -> dict[int, NDArray[np.int64]]:
    found: dict[int, NDArray[np.int64]] = {}

    def take(rest: NDArray[np.int64], digits: Sequence[Digit]) -> None:
        for digit in reversed(digits):
            rest, value = np.divmod(rest, digit.width)
            found[digit.leaf] = value + digit.low

    take(codes - ending.base, ending.digits)
    for place, column in enumerate(ending.columns):
        if isinstance(column, Pack):
            take(columns[place][rows].view(np.int64), column.digits)
    return found


def _alike(
    kinds: dict[int, list[str]], digits: dict[int, NDArray[np.int64]], size: int
) -> Iterator[NDArray[np.int64]]:
    """The places of rows whose choices have the same kinds, one array for each combination."""
    which = np.zeros(size, dtype=np.int64)
    for j, names in kinds.items():
        different = sorted(set(names))
        if len(different) > 1:
            numbers = np.array([different.index(name) for name in names])
            which = which * len(different) + numbers[digits[j]]
            _, which = np.unique(which, return_inverse=True)
    if not which.any():
        yield np.arange(size)
        return
    order = np.argsort(which, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(which[order])) + 1)


def _decoded(
    ending: Ending, rows: NDArray[np.int64], codes: NDArray[np.int64], columns: NDArray[np.float64]
) -> Iterator[tuple[Skeleton, NDArray[np.int64], list[np.ndarray]]]:
    """Rows with one skeleton, and their columns: a choice has the kind of the option chosen."""
    digits = _digit_values(ending, rows, codes, columns)
    raw = {
        column.leaf: columns[place][rows]
        for place, column in enumerate(ending.columns)
        if isinstance(column, RealColumn)
    }
    kinds = {
        j: [_option_kind(option) for option in value.options]
        for j, value in enumerate(ending.leaves)
        if isinstance(value, RunChoice)
    }
    for picked in _alike(kinds, digits, len(rows)):
        found = []
        for j, value in enumerate(ending.leaves):
            digit = digits[j][picked] if j in digits else None
            held = raw[j][picked] if j in raw else None
            if isinstance(value, RunChoice):
                assert digit is not None
                found.append(_chosen(value, digit, held))
            elif isinstance(value, RunNumber):
                found.append(_column(value.kind, digit, held))
            else:
                found.append(_constant(value, len(picked)))
        names = [
            kinds[j][int(digits[j][picked[0]])] if j in kinds else None
            for j in range(len(ending.leaves))
        ]
        yield _with_kinds(ending.skeleton, iter(names)), rows[picked], found


def _option_kind(option: Any) -> str:
    return _KINDS[option] if isinstance(option, str) else leaf_kind(option[0])


def _column(kind: str, digit: Any, number: Any) -> np.ndarray:
    if kind == "f":
        return np.asarray(number)
    whole = digit if digit is not None else number.view(np.int64)
    return whole != 0 if kind == "b" else np.asarray(whole)


def _constant(value: Any, size: int) -> np.ndarray:
    kind = leaf_kind(value)
    plain = value.item() if isinstance(value, np.generic) else value
    if kind in ("bool", "int", "float"):
        try:
            return np.full(size, plain, {"bool": bool, "int": np.int64, "float": float}[kind])
        except OverflowError:
            pass
    if kind == "none":
        return np.zeros(size, dtype=np.int8)
    column = np.empty(size, dtype=object)
    column[:] = [plain] * size
    return column


def _chosen(value: RunChoice, tags: NDArray[np.int64], number: Any) -> np.ndarray:
    """The column of a choice, whose options are all of one kind in these rows."""
    first = value.options[int(tags[0])]
    if isinstance(first, str) and all(value.options[int(t)] == first for t in np.unique(tags)):
        return _column(first, None, number)
    kind = _option_kind(first)
    values = [o[0] if isinstance(o, tuple) else None for o in value.options]
    if all(isinstance(value.options[int(t)], tuple) for t in np.unique(tags)):
        lookup = column_of(kind, [v if _option_kind((v,)) == kind else _zero(kind) for v in values])
        return lookup[tags]
    made = _column({str(v): k for k, v in _KINDS.items()}[kind], None, number)
    for tag in np.unique(tags):
        option = value.options[int(tag)]
        if isinstance(option, tuple):
            made[tags == tag] = option[0]
    return made


def _zero(kind: str) -> Any:
    return {"bool": False, "int": 0, "float": 0.0}.get(kind)


def _with_kinds(skeleton: Skeleton, kinds: Iterator[Any]) -> Skeleton:
    """A skeleton whose choices have become leaves of a kind."""
    if isinstance(skeleton, Leaf):
        kind = next(kinds)
        return skeleton if kind is None else Leaf(str(kind))  # type: ignore[arg-type]
    parts = tuple(_with_kinds(part, kinds) for part in skeleton.parts)
    assert isinstance(skeleton, Nest)
    return skeleton._replace(parts=parts)
