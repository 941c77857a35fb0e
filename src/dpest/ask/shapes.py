"""The shapes in which a function may be handed its records.

Inside of dpest a dataset is a list of dictionaries, one for each record. People hold it as tuples,
objects, arrays, columns or a DataFrame: each shape is made from the dictionaries here.
"""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from dpest.errors import InputError

Row = Mapping[str, Any]
Kinds = Mapping[str, type]  # float for numbers, object for everything else; in order
Shape = Callable[[Sequence[Row], Kinds], Any]


def _dicts(rows: Sequence[Row], kinds: Kinds) -> Any:
    return [dict(row) for row in rows]


def _tuples(rows: Sequence[Row], kinds: Kinds) -> Any:
    return [tuple(row[name] for name in kinds) for row in rows]


@functools.cache
def _row_class(names: tuple[str, ...]) -> Any:
    """One class for one set of names: rows of two datasets can be equal then."""
    return namedtuple("Row", names)


def _named_tuples(rows: Sequence[Row], kinds: Kinds) -> Any:
    kind = _row_class(tuple(kinds))
    return [kind(*values) for values in _tuples(rows, kinds)]


def _objects(rows: Sequence[Row], kinds: Kinds) -> Any:
    return [SimpleNamespace(**{name: row[name] for name in kinds}) for row in rows]


def _column(rows: Sequence[Row], name: str, kind: type) -> np.ndarray:
    return np.array([row[name] for row in rows], dtype=kind)


def _columns(rows: Sequence[Row], kinds: Kinds) -> Any:
    return {name: _column(rows, name, kind) for name, kind in kinds.items()}


def _structured(rows: Sequence[Row], kinds: Kinds) -> Any:
    return np.array(_tuples(rows, kinds), dtype=list(kinds.items()))


def _matrix(rows: Sequence[Row], kinds: Kinds) -> Any:
    return np.array(_tuples(rows, kinds), dtype=float).reshape(len(rows), len(kinds))


def _pandas(rows: Sequence[Row], kinds: Kinds) -> Any:
    import pandas

    return pandas.DataFrame(_columns(rows, kinds), columns=list(kinds))


def _polars(rows: Sequence[Row], kinds: Kinds) -> Any:
    import polars

    return polars.DataFrame({name: [row[name] for row in rows] for name in kinds})


SHAPES: dict[str, Shape] = {
    "dicts": _dicts,
    "objects": _objects,
    "pandas": _pandas,
    "structured": _structured,
    "tuples": _tuples,
    "namedtuples": _named_tuples,
    "matrix": _matrix,
    "columns": _columns,
    "polars": _polars,
}
# Those that are tried where nobody said which one a function takes, the most usual first.
TRIED = ("dicts", "objects", "pandas", "structured", "tuples", "matrix", "columns")


def check_shape(name: str) -> str:
    if name not in SHAPES:
        raise InputError(f"no shape of records is called {name!r}; there are {', '.join(SHAPES)}")
    return name


def in_shape(name: str, rows: Sequence[Row], kinds: Kinds) -> Any:
    """A list of dictionaries in another shape; the fields in the order of `kinds`."""
    try:
        return SHAPES[check_shape(name)](rows, kinds)
    except ImportError as error:
        raise InputError(f"the shape {name} needs {error.name}: pip install {error.name}") from None


def as_rows(x: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """The dictionaries that a dataset in any of the shapes was made of."""
    if hasattr(x, "to_dicts"):
        return [dict(row) for row in x.to_dicts()]
    if hasattr(x, "to_dict") and hasattr(x, "columns"):
        return [dict(row) for row in x.to_dict("records")]
    if isinstance(x, Mapping):
        return [dict(zip(names, row, strict=True)) for row in zip(*x.values(), strict=True)]
    return [_as_row(entry, names) for entry in x]


def _as_row(entry: Any, names: Sequence[str]) -> dict[str, Any]:
    if isinstance(entry, Mapping):
        return dict(entry)
    if isinstance(entry, SimpleNamespace):
        return dict(vars(entry))
    values = entry.tolist() if isinstance(entry, (np.ndarray, np.void)) else entry
    if isinstance(values, (list, tuple)) and len(values) == len(names):
        return dict(zip(names, values, strict=True))
    raise InputError(f"{entry!r} is not a record with the fields {', '.join(names)}")
