"""How an input is taken apart: numbers of a vector, or entries of a dataset."""

from __future__ import annotations

import math
import numbers
from types import SimpleNamespace
from typing import Any

import numpy as np

from dpest.errors import InputError


def is_real(value: Any) -> bool:
    return isinstance(value, (numbers.Real, np.number, np.bool_)) and not isinstance(value, complex)


def vector(x: Any, *, nan: bool = False) -> list[float]:
    """A scalar or a sequence of numbers as a list of floats; a scalar has length 1."""
    if is_real(x):
        values = [float(x)]
    else:
        try:
            values = [float(v) for v in np.asarray(x).ravel().tolist()]
        except (TypeError, ValueError):
            raise InputError(f"not a vector of numbers: {short(x)}") from None
    if not nan and any(math.isnan(v) for v in values):
        raise InputError(
            f"NaN in the input {short(x)}; a query must be a number. reals(…, nan=True) admits it"
        )
    return [math.nan if math.isnan(v) else v for v in values]


def entries(x: Any, *, nan: bool = False) -> list[Any]:
    """The entries of a dataset: numbers, records, or the rows of a table or a DataFrame."""
    if hasattr(x, "itertuples"):
        found = [tuple(row) for row in x.itertuples(index=False, name=None)]
    elif isinstance(x, np.ndarray):
        found = np.atleast_1d(x).tolist()
    elif isinstance(x, (list, tuple)):
        found = list(x)
    elif isinstance(x, dict):
        found = list(zip(*x.values(), strict=True))
    elif hasattr(x, "to_dicts"):
        found = [tuple(row.values()) for row in x.to_dicts()]
    else:
        found = [x]
    for entry in found:
        parts = entry.values() if isinstance(entry, dict) else _parts(entry)
        if not nan and any(
            isinstance(part, (float, np.floating)) and math.isnan(part) for part in parts
        ):
            raise InputError(f"NaN in the input: {short(entry)}")
    return found


def _parts(entry: Any) -> list[Any]:
    return list(entry) if isinstance(entry, (list, tuple)) else [entry]


def same(a: Any, b: Any) -> bool:
    """Whether two entries are equal, arrays inside them included; NaN is what NaN is."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (float, np.floating)) and isinstance(b, (float, np.floating)):
        return bool(a == b) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a == b)


def short(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "..."


def as_code(x: Any) -> str:
    """An input as Python reads it again, for lines that a person runs; NumPy is called np."""
    if isinstance(x, np.ndarray):
        kind = f", dtype={x.dtype.descr!r}" if x.dtype.names else ""
        return f"np.array({x.tolist()!r}{kind})"
    if hasattr(x, "to_dict") and hasattr(x, "columns"):
        return f"__import__('pandas').DataFrame({x.to_dict('list')!r})"
    if isinstance(x, list) and any(isinstance(v, SimpleNamespace) for v in x):
        inner = ", ".join(
            f"SimpleNamespace(**{vars(v)!r})" if isinstance(v, SimpleNamespace) else as_code(v)
            for v in x
        )
        return f"[{inner}]".replace("SimpleNamespace", "__import__('types').SimpleNamespace")
    return repr(x)
