"""Finished runs as bytes that hold data and nothing that could be executed.

A tree of JSON with the arrays beside it, compressed. Runs whose outputs are discrete are a code
each, of one or two bytes before they are compressed, and a table of the outputs.
"""

from __future__ import annotations

import builtins
import contextlib
import decimal
import fractions
import json
import math
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.errors import StateError
from dpest.running.batch.counts import OutputCounts
from dpest.running.samples import RaisedRuns, Samples, SkeletonGroup, discrete_codes
from dpest.running.skeleton import Leaf, Nest

_HEAD = 8  # bytes that say how long the tree is


def encoded(result: Any) -> bytes:
    """The bytes of samples or counts; StateError where an output is something else than data."""
    arrays: list[np.ndarray] = []
    tree = json.dumps(_Writer(arrays).tree(result)).encode("ascii")
    parts = [len(tree).to_bytes(_HEAD, "big"), tree]
    for array in arrays:
        head = json.dumps([array.dtype.str, list(array.shape)]).encode("ascii")
        parts += [len(head).to_bytes(_HEAD, "big"), head, np.ascontiguousarray(array).tobytes()]
    return zlib.compress(b"".join(parts), 1)


def decoded(data: bytes) -> Any:
    """What was encoded; StateError where the bytes are none of ours."""
    try:
        text = zlib.decompress(data)
        tree, at = _piece(text, 0)
        arrays = []
        while at < len(text):
            head, at = _piece(text, at)
            kind, shape = json.loads(head)
            dtype = np.dtype(kind)
            if dtype.hasobject:
                raise ValueError("objects")
            count = math.prod(shape)
            arrays.append(np.frombuffer(text, dtype, count, at).reshape(shape).copy())
            at += count * dtype.itemsize
        return _BytesReader(arrays).value(json.loads(tree))
    except (ValueError, KeyError, TypeError, IndexError, zlib.error, AttributeError) as error:
        raise StateError(f"a block can't be read ({error})") from None


def _piece(text: bytes, at: int) -> tuple[bytes, int]:
    length = int.from_bytes(text[at : at + _HEAD], "big")
    start = at + _HEAD
    if start + length > len(text):
        raise ValueError("it ends early")
    return text[start : start + length], start + length


class _Writer:
    def __init__(self, arrays: list[np.ndarray]) -> None:
        self._arrays = arrays

    def tree(self, value: Any) -> Any:
        if value is None or (isinstance(value, (bool, str)) and type(value) in (bool, str)):
            return value
        kind = type(value)
        if kind is int:
            return value if abs(value) < 1 << 53 else ["int", str(value)]
        if kind is float:
            return ["float", value.hex()]
        if kind is bytes:
            return ["bytes", value.hex()]
        if kind is complex:
            return ["complex", value.real.hex(), value.imag.hex()]
        if kind in (fractions.Fraction, decimal.Decimal):
            return [kind.__name__, str(value)]
        if kind is dict:
            return ["dict", [[self.tree(k), self.tree(v)] for k, v in value.items()]]
        if kind in _SEQUENCES:
            return [kind.__name__, [self.tree(part) for part in value]]
        if isinstance(value, np.generic) and not value.dtype.hasobject:
            return ["scalar", self._array(np.asarray(value))]
        if isinstance(value, np.ndarray):
            if value.dtype.hasobject:
                return ["objects", list(value.shape), [self.tree(v) for v in value.ravel()]]
            return ["array", self._array(value)]
        if isinstance(value, RaisedRuns):
            error = value.error
            return ["raised", type(error).__name__, str(error), value.count]
        if isinstance(value, SkeletonGroup):
            return self._group(value)
        if isinstance(value, Samples):
            return self._samples(value)
        if isinstance(value, OutputCounts):
            fields = (value.size, value.outputs, value.keys, value.counts, value.notes)
            return ["counts", [self.tree(field) for field in fields]]
        raise StateError(
            f"an output holds a {kind.__name__}, which a state file can't keep; "
            "leave --state away, or return plain data"
        )

    def _array(self, array: np.ndarray) -> int:
        self._arrays.append(array)
        return len(self._arrays) - 1

    def _samples(self, samples: Samples) -> Any:
        """Which group each run belongs to; the rows of a group follow from it."""
        which = np.zeros(samples.size, dtype=_unsigned(max(len(samples.groups) - 1, 0)))
        plain = True
        for number, group in enumerate(samples.groups):
            which[group.rows] = number
            plain = plain and bool(np.all(group.rows[1:] > group.rows[:-1]))
        rows = (
            ["which", self._array(which) if len(samples.groups) > 1 else None]
            if plain
            else ["rows", [self._array(group.rows) for group in samples.groups]]
        )
        groups = [self._group(group) for group in samples.groups]
        raised = self.tree(samples.raised)
        made = ["samples", samples.size, rows, groups, self.tree(samples.notes), raised]
        return [*made, samples.runner] if samples.runner else made

    def _group(self, group: SkeletonGroup) -> Any:
        skeleton = self.tree(group.skeleton)
        if "float" in group.kinds or len(group.rows) == 0:
            return ["columns", skeleton, [self._column(column) for column in group.columns]]
        codes, first = discrete_codes(group)
        table = [self._column(column[first]) for column in group.columns]
        small = codes.astype(_unsigned(len(first) - 1))
        return ["codes", skeleton, table, self._array(small)]

    def _column(self, column: np.ndarray) -> Any:
        return self.tree(column)


def _unsigned(most: int) -> Any:
    return np.min_scalar_type(most)


_SEQUENCES = (list, tuple, set, frozenset, Leaf, Nest)


class _BytesReader:
    def __init__(self, arrays: list[np.ndarray]) -> None:
        self._arrays = arrays

    def value(self, tree: Any) -> Any:
        if not isinstance(tree, list):
            return tree
        return _READERS[tree[0]](self, *tree[1:])

    def values(self, trees: list[Any]) -> list[Any]:
        return [self.value(tree) for tree in trees]

    def objects(self, shape: list[int], trees: list[Any]) -> np.ndarray:
        found = np.empty(math.prod(shape), dtype=object)
        found[:] = self.values(trees)
        return found.reshape(shape)

    def scalar(self, number: int) -> Any:
        return self._arrays[number][()]

    def array(self, number: int) -> np.ndarray:
        return self._arrays[number]

    def raised(self, kind: str, text: str, count: int) -> RaisedRuns:
        """The error by its name and text: an own class where Python has none of that name."""
        known = getattr(builtins, kind, None)
        error: Exception | None = None
        if isinstance(known, type) and issubclass(known, Exception):
            with contextlib.suppress(TypeError):
                error = known(text)
        if error is None or str(error) != text:
            error = type(kind, (Exception,), {})(text)
        return RaisedRuns(error, count)

    def samples(
        self, size: int, rows: Any, groups: list[Any], notes: Any, raised: Any, runner: str = ""
    ) -> Samples:
        kind, where = rows
        found = []
        for number, (how, skeleton, columns, *codes) in enumerate(groups):
            if kind == "rows":
                places = self._arrays[where[number]]
            elif where is None:
                places = np.arange(size, dtype=np.int64)
            else:
                places = np.flatnonzero(self._arrays[where] == number).astype(np.int64)
            values = tuple(self.value(column) for column in columns)
            if how == "codes":
                values = tuple(value[self._arrays[codes[0]]] for value in values)
            found.append(SkeletonGroup(self.value(skeleton), places, values))
        return Samples(size, found, self.value(notes), self.value(raised), runner)


_READERS: dict[str, Callable[..., Any]] = {
    "int": lambda reader, text: int(text),
    "float": lambda reader, text: float.fromhex(text),
    "bytes": lambda reader, text: bytes.fromhex(text),
    "complex": lambda reader, real, imag: complex(float.fromhex(real), float.fromhex(imag)),
    "Fraction": lambda reader, text: fractions.Fraction(text),
    "Decimal": lambda reader, text: decimal.Decimal(text),
    "dict": lambda reader, items: {reader.value(k): reader.value(v) for k, v in items},
    "list": lambda reader, parts: reader.values(parts),
    "tuple": lambda reader, parts: tuple(reader.values(parts)),
    "set": lambda reader, parts: set(reader.values(parts)),
    "frozenset": lambda reader, parts: frozenset(reader.values(parts)),
    "Leaf": lambda reader, parts: Leaf(*reader.values(parts)),
    "Nest": lambda reader, parts: Nest(*reader.values(parts)),
    "scalar": _BytesReader.scalar,
    "array": _BytesReader.array,
    "objects": _BytesReader.objects,
    "raised": _BytesReader.raised,
    "samples": _BytesReader.samples,
    "counts": lambda reader, fields: OutputCounts(*reader.values(fields)),
}

__all__ = ["decoded", "encoded"]
