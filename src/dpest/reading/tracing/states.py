"""The variables of a function between two of its pieces: copied, and compared.

Two names of one list must stay two names of one list, in the copy and in the comparison.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable
from fractions import Fraction
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from dpest.errors import UntraceableError
from dpest.reading.domains.roots import Complement, Root
from dpest.reading.domains.unit import Unit
from dpest.reading.tracing.symbolic import TracedReal, TracedTruth

_ATOMS = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    Fraction,
    TracedReal,
    TracedTruth,
    Unit,
    Root,
    Complement,
    np.generic,
)
_SHARED = (ModuleType, type, type(len))


def copied(value: Any, memo: dict[int, Any] | None = None) -> Any:
    """A deep copy that shares what can't change."""
    memo = {} if memo is None else memo
    if isinstance(value, (*_ATOMS, *_SHARED)) or callable(value):
        return value
    known = memo.get(id(value))
    if known is not None:
        return known
    if type(value) is list:
        result: Any = []
        memo[id(value)] = result
        result.extend(copied(v, memo) for v in value)
        return result
    if type(value) is dict:
        result = {}
        memo[id(value)] = result
        result.update((k, copied(v, memo)) for k, v in value.items())
        return result
    if type(value) is tuple:
        result = tuple(copied(v, memo) for v in value)
        memo[id(value)] = result
        return result
    return copy.deepcopy(value, memo)


def signature(value: Any, memo: dict[int, int] | None = None) -> Hashable:
    """Equal for values that the rest of the function can't tell apart."""
    memo = {} if memo is None else memo
    if type(value) is TracedReal:
        return ("real", value.form, value.integer)
    if isinstance(value, TracedReal):
        return ("own", value.dpest_signature())
    if isinstance(value, TracedTruth):
        return ("truth", value.key)
    if isinstance(value, (bool, np.bool_)):
        return ("bool", bool(value))
    if isinstance(value, np.generic):
        return (type(value).__name__, value.item())
    if isinstance(value, float):
        return ("float", repr(value))
    if isinstance(value, _ATOMS):
        return (type(value).__name__, value)
    own = getattr(value, "dpest_signature", None)
    if own is not None:
        return ("own", own())
    if isinstance(value, FunctionType) and "__dpest_return__" in value.__globals__:
        raise UntraceableError(
            "a function that is defined inside of the mechanism and used after a loop",
            "Define it outside of the mechanism.",
            f"{value.__code__.co_filename}:{value.__code__.co_firstlineno}",
        )
    if id(value) in memo:
        return ("again", memo[id(value)])
    memo[id(value)] = len(memo)
    if type(value) in (list, tuple):
        return (type(value).__name__, *(signature(v, memo) for v in value))
    if type(value) is dict:
        items = ((signature(k, memo), signature(v, memo)) for k, v in value.items())
        return ("dict", *items)
    if isinstance(value, np.ndarray):
        inner = tuple(signature(v, memo) for v in value.ravel().tolist())
        return ("array", type(value).__name__, str(value.dtype), value.shape, inner)
    elements = getattr(value, "symbolic_elements", None)
    if isinstance(elements, np.ndarray):
        return ("symbolic", elements.shape, tuple(signature(v, memo) for v in elements.ravel()))
    return ("object", id(value))
