"""What a receiver sees of one output, as a row of plain values; and what events ask of it.

Nothing but Python and NumPy: the script of a demonstration takes this text along, so that whoever
runs it needs no dpest. Written apart from `running.skeleton` and from the columns of `features`, so
that each checks the other.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import enum
import math
import re
import types
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

# What is defined there is one value, but for what has something inside.
STANDARD = ("builtins", "datetime", "decimal", "fractions", "pathlib", "re", "uuid", "zoneinfo")
DATES = (datetime.date, datetime.timedelta)  # pandas has its own
INSIDE = (BaseException, bytearray, types.MappingProxyType)


def leaves(output: Any) -> tuple[Any, ...]:
    """The elements of one output, in order; the keys of a dictionary come last, as one string."""
    if isinstance(output, (set, frozenset)):
        output = in_order(output)
    flat: list[Any] = []
    look(output, flat)
    if isinstance(output, dict) and not isinstance(output, collections.OrderedDict):
        flat.append("keys " + (", ".join(map(str, keys_of(output))) or "none"))
    return tuple(flat)


def part(output: Any, index: int) -> tuple[Any, ...]:
    """The elements of one part of an output; nothing where it has no such part."""
    if type(output) is dict:
        output = [output[key] for key in keys_of(output)]
    return leaves(output[index]) if type(output) in (list, tuple) and index < len(output) else ()


def look(value: Any, flat: list[Any]) -> None:
    """Add all that is seen of a value."""
    kind = type(value)
    library = kind.__module__.split(".")[0]
    if kind in (list, tuple):
        look_at_all(value, flat)
    elif kind is str:
        flat.append(re.sub(r"\bat 0x[0-9a-fA-F]+", "at 0x…", value))
    elif kind is dict:
        look_at_all([value[key] for key in keys_of(value)], flat)
    elif isinstance(value, np.ndarray):
        look_at_array(value, flat)
    elif isinstance(value, np.generic) and not isinstance(value, np.void):
        flat.append(value.item())
    elif kind in (set, frozenset):
        flat.append(frozenset(value))
    elif (library in STANDARD and not isinstance(value, INSIDE)) or isinstance(value, DATES):
        flat.append(value)
    elif library == "pandas":
        look_at_all(table(value), flat)
    elif library == "torch" and hasattr(value, "detach"):
        look(value.detach().cpu().numpy(), flat)
    elif isinstance(value, enum.Enum):
        flat.append(value.name)
    else:
        look_at_object(value, flat)


def look_at_all(values: Iterable[Any], flat: list[Any]) -> None:
    for value in values:
        look(value, flat)


def look_at_array(value: Any, flat: list[Any]) -> None:
    if type(value) is np.ma.MaskedArray:
        parts = [np.asarray(value.data), np.ma.getmaskarray(value), value.fill_value]
        look_at_all(parts, flat)
    elif type(value) is not np.ndarray:
        look_at_all([np.asarray(value), getattr(value, "__dict__", {})], flat)
    elif value.dtype.names:
        look_at_all([value[field] for field in value.dtype.names], flat)
    else:
        look(value.ravel().tolist() if value.ndim else value.item(), flat)


def look_at_object(value: Any, flat: list[Any]) -> None:
    """What a subclass of a container has inside, and the attributes of any object."""
    inside: list[Any] = []
    if isinstance(value, collections.OrderedDict):
        inside = [[(key, value[key]) for key in value]]
    elif isinstance(value, collections.deque):
        inside = [[list(value), value.maxlen]]
    elif isinstance(value, (dict, types.MappingProxyType)):
        inside = [dict(value)]
    elif isinstance(value, types.SimpleNamespace):
        inside = [dict(vars(value))]
    elif isinstance(value, np.void):
        inside = [{name: value[name] for name in value.dtype.names or ()}]
    elif isinstance(value, BaseException):
        inside = [list(value.args)]
    elif isinstance(value, bytearray):
        inside = [bytes(value)]
    else:
        plain: tuple[Any, ...] = (list, tuple, str, bytes, bool, int, float, frozenset, set)
        for base in plain:
            if isinstance(value, base) and type(value) is not base:
                inside = [str.__str__(value) if base is str else base(value)]
                break
    held = attributes(value)
    if inside or held:
        look_at_all([*inside, *(held[name] for name in sorted(held))], flat)
    else:
        flat.append(value)


def attributes(value: Any) -> dict[str, Any]:
    held = dict(getattr(value, "__dict__", {}))
    for base in type(value).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name) and not name.startswith("__"):
                held[name] = getattr(value, name)
    if dataclasses.is_dataclass(value):
        held.update({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    return held


def table(value: Any) -> list[Any]:
    """What one sees of a table, a column or an index of pandas: labels, types, values."""
    if hasattr(value, "columns"):
        columns = [column(value.iloc[:, i]) for i in range(value.shape[1])]
        return [value.columns, value.index, columns, value.attrs]
    if hasattr(value, "index") and hasattr(value, "dtype"):
        return [value.index, column(value), value.name, value.attrs]
    if hasattr(value, "names"):
        return [column(value), list(value.names)]
    if hasattr(value, "dtype"):
        return [column(value)]
    return [value.isoformat() if hasattr(value, "isoformat") else str(value)]


def column(values: Any) -> list[Any]:
    categories = getattr(values.dtype, "categories", None)
    known = None if categories is None else [categories.tolist(), bool(values.dtype.ordered)]
    return [str(values.dtype), known, values.tolist()]


def in_order(members: Iterable[Any]) -> list[Any]:
    try:
        return sorted(members)
    except TypeError:
        return sorted(members, key=repr)


def keys_of(mapping: Any) -> list[Any]:
    """In an order that doesn't depend on when they came in."""
    return sorted(mapping, key=lambda key: (type(key).__name__, repr(key)))


def raised(error: BaseException) -> str:
    """What is seen of an error: its type and its text."""
    text = re.sub(r"\bat 0x[0-9a-fA-F]+", "at 0x…", str(error))
    return f"raises {type(error).__name__}" + (f": {text}" if text else "")


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def same(a: Any, b: Any) -> bool:
    if is_number(a) and is_number(b):
        return bool(a == b)
    return type(a) is type(b) and bool(a == b)


def number(row: Sequence[Any], index: int) -> float:
    """The number at a place, NaN if there is none."""
    inside = -len(row) <= index < len(row) and is_number(row[index])
    return float(row[index]) if inside else math.nan


def numbers(row: Sequence[Any], without: Sequence[Any] = ()) -> list[float]:
    """All numbers, in order, but for those listed."""
    return [float(v) for v in row if is_number(v) and v not in without]


def hamming(row: Sequence[Any], reference: Sequence[Any]) -> int:
    """How many places differ; places that only one of the two has count."""
    different = sum(not same(a, b) for a, b in zip(row, reference, strict=False))
    return different + abs(len(row) - len(reference))


def one_of(
    row: Sequence[Any],
    outputs: Sequence[Sequence[Any]],
    reals: Sequence[Sequence[int]],
    atoms: Sequence[float] = (),
) -> bool:
    """Is the output one of a list? At the places in `reals` any real but an atom will do."""
    return any(
        len(output) == len(row)
        and all(
            (isinstance(v, float) and v not in atoms) if i in free else same(v, w)
            for i, (v, w) in enumerate(zip(row, output, strict=True))
        )
        for output, free in zip(outputs, reals, strict=True)
    )
