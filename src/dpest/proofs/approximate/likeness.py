"""Whether a run gave what the model says, up to rounding; and of what types it is."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np


def type_text(value: Any) -> str:
    """The types of a value, and of what it holds."""
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}[{','.join(dict.fromkeys(map(type_text, value)))}]"
    if isinstance(value, dict):
        return (
            f"{type(value).__name__}{{{','.join(dict.fromkeys(map(type_text, value.values())))}}}"
        )
    return f"{type(value).__name__} {getattr(value, 'dtype', '')}".strip()


_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def alike(expected: Any, actual: Any) -> bool:
    """Whether a run gave what the model says, up to rounding."""
    if isinstance(expected, (bool, np.bool_)) or expected is None:
        return bool(np.all(expected == actual)) and np.ndim(actual) == 0
    if isinstance(expected, (int, float, np.number)):
        return is_close(float(expected), actual)
    if isinstance(expected, str):
        if not isinstance(actual, str) or _NUMBER.sub("#", expected) != _NUMBER.sub("#", actual):
            return False
        pairs = zip(_NUMBER.findall(expected), _NUMBER.findall(actual), strict=True)
        return all(is_close(float(a), float(b)) for a, b in pairs)
    if isinstance(expected, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(expected)
        if not isinstance(actual, np.ma.MaskedArray) or hidden.shape != actual.shape:
            return False
        same = bool(np.all(hidden == np.ma.getmaskarray(actual)))
        return same and alike(np.asarray(expected.data), np.asarray(actual.data))
    if isinstance(expected, np.ndarray) and not expected.ndim:
        return np.ndim(actual) == 0 and alike(expected.item(), actual)
    if isinstance(expected, (list, tuple, np.ndarray)):
        if isinstance(actual, (str, dict)) or not hasattr(actual, "__len__"):
            return False
        many = len(expected) == len(actual)
        return many and all(alike(a, b) for a, b in zip(expected, actual, strict=True))
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or list(expected) != list(actual):
            return False
        return all(alike(v, actual[k]) for k, v in expected.items())
    if isinstance(expected, (set, frozenset)):
        return isinstance(actual, (set, frozenset)) and (
            expected == actual or alike(sorted(expected), sorted(actual))
        )
    if type(expected) is not type(actual):
        return False
    if hasattr(expected, "to_dict"):  # a table, or one of its columns
        return alike(expected.to_dict(), actual.to_dict())
    if hasattr(expected, "__dict__"):
        return alike(vars(expected), vars(actual))
    return bool(expected == actual)


def is_close(expected: float, actual: Any) -> bool:
    try:
        value = float(actual)
    except (TypeError, ValueError):
        return False
    if math.isnan(expected) or math.isnan(value):
        return math.isnan(expected) and math.isnan(value)
    return math.isclose(expected, value, rel_tol=1e-6, abs_tol=1e-6)
