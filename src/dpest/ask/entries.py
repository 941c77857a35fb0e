"""How an input is taken apart: numbers of a vector, or entries of a dataset."""

from __future__ import annotations

import math
import numbers
import operator
from types import SimpleNamespace
from typing import Any

import numpy as np

from dpest.errors import InputError

_PLAIN = {int, bool, str, float}


def is_real(value: Any) -> bool:
    return isinstance(value, (numbers.Real, np.number, np.bool_)) and not isinstance(value, complex)


def vector(x: Any, *, nan: bool = False) -> list[float]:
    """A scalar or a sequence of numbers as a list of floats; a scalar has length 1."""
    if is_real(x):
        values = [float(x)]
    else:
        try:
            array = np.asarray(x).ravel()
            if array.dtype.kind in "biuf" and not np.isnan(array).any():
                found: list[float] = array.astype(float).tolist()
                return found
            values = [float(v) for v in array.tolist()]
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
    kinds = set(map(type, found))
    if kinds <= _PLAIN and (nan or float not in kinds or not any(map(operator.ne, found, found))):
        return found  # NaN is not equal to itself: thousands of numbers are looked at quickly
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
    if a is b:
        return True
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
        return f"np.array({as_code(x.tolist())}{kind})"
    if hasattr(x, "to_dict") and hasattr(x, "dtypes"):
        kinds = {str(c): str(k) for c, k in x.dtypes.items() if getattr(k, "kind", "") in "if"}
        typed = f".astype({kinds!r})" if not len(x) else ""  # with no row nobody knows the types
        return f"__import__('pandas').DataFrame({as_code(x.to_dict('list'))}){typed}"
    if isinstance(x, SimpleNamespace):
        return f"__import__('types').SimpleNamespace(**{as_code(vars(x))})"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{k!r}: {as_code(v)}" for k, v in x.items()) + "}"
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        made = f"__import__('collections').namedtuple({type(x).__name__!r}, {list(x._fields)!r})"
        return f"{made}({', '.join(map(as_code, x))})"
    if isinstance(x, (list, tuple)):
        inner = ", ".join(map(as_code, x))
        if isinstance(x, list):
            return f"[{inner}]"
        return f"({inner},)" if len(x) == 1 else f"({inner})"
    if isinstance(x, (float, np.floating)) and not math.isfinite(x):
        return f"float('{float(x)}')"
    return repr(x)
