"""Runs of a batch held against plain runs of the untouched function.

Code may look at types or identity (`b is True`, `type(rng)`), or have randomness of its own: then
the batch says something else than a plain run with the same draws.
"""

from __future__ import annotations

import dis
import functools
import math
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from dpest.running.batch.draws import BatchDraw
from dpest.running.batch.outputs import LeafColumn
from dpest.running.batch.reading import BatchReading
from dpest.running.batch.rows import RunRows
from dpest.running.batch.scalar import ScalarGenerator
from dpest.running.handed import Handed
from dpest.running.places import undeclared
from dpest.running.reach import names_in
from dpest.running.skeleton import Leaf, Skeleton, flatten

_FIRST = 16  # runs of a block that are replayed at least, if its first paths have as many
_AT_ONCE = 4  # of one path


class HandedLikeBatch(Handed):
    """Claims to be NumPy's generator as far as the batch's does: `isinstance` holds."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.random.Generator


class Replays:
    """Some runs of every path of a block: what they drew, and their outputs in the batch."""

    def __init__(self, arrays: Any) -> None:
        self._arrays = arrays
        self._kept: list[tuple[list[Any], list[tuple[Any, ...]], list[Any]]] = []
        self._count = 0

    def keep(self, reading: BatchReading, skeleton: Skeleton, leaves: list[Any]) -> None:
        """Remember runs of the path that has just ended with this output, flat."""
        arrays, total = self._arrays, reading.rows.count
        wanted = min(total, _AT_ONCE if self._count < _FIRST else 1)
        # spread over the path; where it is one run, not always the first
        chosen = (np.arange(wanted) * total + total // 2) // wanted
        self._count += wanted
        places = {reading.rows: arrays.index(chosen)}
        rows: RunRows = reading.rows
        while rows.parent is not None:
            above = arrays.take(rows.index, places[rows])
            rows = rows.parent
            places[rows] = above
        columns = [
            arrays.to_numpy(arrays.take(leaf.data, places[reading.rows])).tolist()
            if isinstance(leaf, LeafColumn)
            else [leaf] * wanted
            for leaf in leaves
        ]
        drawn = [self._values(record, places, wanted) for record in reading.draws]
        keys = [record.key if record.looked_at else None for record in reading.draws]
        self._kept.append(
            (
                keys,
                [tuple(values[i] for values in drawn) for i in range(wanted)],
                [(skeleton, [column[i] for column in columns]) for i in range(wanted)],
            )
        )

    def _values(self, record: BatchDraw, places: dict[RunRows, Any], wanted: int) -> list[Any]:
        """What these runs drew at one call; None if nobody looked."""
        arrays = self._arrays
        if record.data is not None:
            data = arrays.to_numpy(arrays.take(record.data, places[record.rows]))
            return data.tolist() if not record.shape else list(np.moveaxis(data, -1, 0))
        if not record.looked_at:
            return [None] * wanted
        parts = [
            part.make((wanted,)) if part.data is None else arrays.take(part.data, places[part.rows])
            for part in record.parts or ()
        ]
        return list(np.moveaxis(arrays.to_numpy(arrays.stack(parts, wanted)), -1, 0))

    def agree(self, run: Callable[[Any], Any], rng: ScalarGenerator) -> bool:
        """Whether plain runs with these draws have the same outputs; `run` may raise."""
        for keys, runs, outputs in self._kept:
            rng.follow(keys)
            for values, (skeleton, leaves) in zip(runs, outputs, strict=True):
                rng.restart(values)
                try:
                    output = run(rng)
                except Exception:
                    return False
                if not rng.finished or not same_output(skeleton, leaves, output):
                    return False
        return True


def same_output(skeleton: Skeleton, leaves: list[Any], output: Any) -> bool:
    """Equal up to the last bits, and whether a whole number is an int or a float."""
    return same_flat((skeleton, leaves), flatten(output))


def same_flat(first: tuple[Skeleton, list[Any]], second: tuple[Skeleton, list[Any]]) -> bool:
    """`same_output`, of outputs that were taken apart."""
    (skeleton, leaves), (other, values) = first, second
    return (
        len(leaves) == len(values)
        and (skeleton == other or _alike(skeleton, other))
        and all(map(_agree, leaves, values))
    )


def _alike(first: Skeleton, second: Skeleton) -> bool:
    if isinstance(first, Leaf) or isinstance(second, Leaf):
        numbers = ("int", "float")
        return first == second or (
            isinstance(first, Leaf)
            and isinstance(second, Leaf)
            and first.kind in numbers
            and second.kind in numbers
        )
    return (
        first.container == second.container
        and first.keys == second.keys
        and first.label == second.label
        and len(first.parts) == len(second.parts)
        and all(map(_alike, first.parts, second.parts))
    )


def _agree(first: Any, second: Any) -> bool:
    if first is second:
        return True
    if isinstance(first, (float, np.floating)) or isinstance(second, (float, np.floating)):
        if first != first or second != second:
            return first != first and second != second
        return math.isclose(first, second, rel_tol=1e-6, abs_tol=1e-9)
    return type(first == second) in (bool, np.bool_) and bool(first == second)


# Identity


def looks_at_identity(function: Any) -> bool:
    """Whether the code asks `is True` or `is False` of something that may be noisy.

    No object can answer that for all runs at once, and a few runs need not show it.
    """
    return any(_compares_identity(code) for code in _codes(function))


_SYSTEM = {"urandom", "getrandom", "SystemRandom", "secrets", "uuid1", "uuid4"}
_SYSTEM |= {"token_bytes", "token_hex", "randbelow", "randbits"}


def draws_from_the_system(function: Any) -> bool:
    """Whether the code names a source of randomness that no seed can repeat.

    A few runs that happen to agree would not show it.
    """
    return any(_SYSTEM.intersection(code.co_names) for code in _codes(function))


def _codes(function: Any) -> Iterator[CodeType]:
    """The code of a function and of those that it names, in its module or its closure."""
    seen: set[CodeType] = set()
    entered: set[int] = set()
    stack = [function]
    while stack:
        thing = stack.pop()
        while isinstance(thing, functools.partial):
            thing = thing.func
        if isinstance(thing, CodeType):
            if thing not in seen:
                seen.add(thing)
                yield thing
                stack += [c for c in thing.co_consts if isinstance(c, CodeType)]
            continue
        if getattr(thing, "__wrapped__", None) is not None:
            stack.append(thing.__wrapped__)
        thing = undeclared(getattr(thing, "__func__", thing))
        if not isinstance(thing, FunctionType):
            thing = getattr(type(thing), "__call__", None)  # noqa: B004
        if not isinstance(thing, FunctionType) or id(thing) in entered:
            continue
        entered.add(id(thing))
        stack.append(thing.__code__)
        if (thing.__module__ or "").partition(".")[0] in ("numpy", "scipy", "pandas", "dpest"):
            continue
        for cell in thing.__closure__ or ():
            try:
                stack.append(cell.cell_contents)
            except ValueError:  # not assigned yet
                continue
        for name in names_in(thing.__code__):
            found = thing.__globals__.get(name)
            if isinstance(found, (FunctionType, functools.partial)):
                stack.append(found)


@functools.lru_cache(maxsize=256)
def _compares_identity(code: CodeType) -> bool:
    before: list[dis.Instruction] = []
    given = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    steps = [step for step in dis.get_instructions(code) if step.opname != "CACHE"]
    given -= {step.argval for step in steps if step.opname.startswith("STORE_FAST")}
    for step in steps:
        if step.opname == "IS_OP":
            constant = [s.opname == "LOAD_CONST" and s.argval in (True, False) for s in before]
            constant = [c and type(s.argval) is bool for c, s in zip(constant, before, strict=True)]
            argument = [s.opname == "LOAD_FAST" and s.argval in given for s in before]
            if any(constant) and not any(argument):
                return True
        before = [*before[-1:], step]
    return False
