"""Values from outside of a run: globals, defaults and parameters that hold plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpest.reading.contributions.arithmetic import from_native, is_plain, share
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.values import Map, Seq

_MOST = 10_000


def constant(value: Any, what: str) -> Any:
    """A plain value, or a list, dict or array of such, which nobody may change."""
    found = _held(value, what)
    share(found)
    return found


def _held(value: Any, what: str) -> Any:
    if is_plain(value):
        return value
    if type(value) is list and len(value) <= _MOST:
        return Seq([_held(v, what) for v in value])
    if type(value) is tuple and len(value) <= _MOST:
        return tuple(_held(v, what) for v in value)
    if type(value) is dict and len(value) <= _MOST and all(map(is_plain, value)):
        return Map({k: _held(v, what) for k, v in value.items()})
    if type(value) is np.ndarray and value.size <= _MOST:
        return from_native(value)
    raise Unread(f"{what} is a {type(value).__name__}")
