"""Inputs and parameters as the values of this reader: how a function is called with them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.geometry.linear import Form, Symbol
from dpest.reading import calls
from dpest.reading.domains.numbers import Real
from dpest.reading.tracing.symbolic import TracedReal
from dpest.reading.tracing.symbolic_arrays import SymbolicArray, symbolic_array


def caller(target: Mechanism) -> Callable[[Any, Any], Any]:
    """`mechanism(x, rng, **params)` as a function of x and rng, Symbols among params as values."""
    return calls.caller(target.with_params({k: as_value(v) for k, v in target.params.items()}))


def as_value(value: Any) -> Any:
    if isinstance(value, Real):
        return TracedReal(value.form, False, np.float64 in value.kinds)
    if isinstance(value, Symbol):
        return TracedReal(Form.of(value))
    return TracedReal(value) if isinstance(value, Form) else value


def fresh(x: Any, *, lenient: bool) -> Any:
    """A copy that the function may change, of the type that was given."""
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return type(x)(fresh(v, lenient=lenient) for v in x)
    if isinstance(x, dict):
        return {k: fresh(v, lenient=lenient) for k, v in x.items()}
    if isinstance(x, SymbolicArray):
        return x.copy()
    if isinstance(x, np.ndarray) and x.dtype == object:
        found = np.empty(x.shape, dtype=object)
        for place in np.ndindex(x.shape):
            found[place] = as_value(x[place])
        return found.view(SymbolicArray)
    if isinstance(x, np.ndarray):
        return symbolic_array(x).copy() if lenient and x.dtype.kind in "fiu" else x.copy()
    if isinstance(x, (int, float, str, bytes, TracedReal, np.generic)) or x is None:
        return x
    return as_value(x) if isinstance(x, (Real, Symbol, Form)) else copy.deepcopy(x)


def concrete(x: Any, number: Callable[[Any], Any]) -> Any:
    """The input with numbers for its symbols."""
    if isinstance(x, SymbolicArray):
        return np.array([number(v) for v in x.flat]).reshape(x.shape)
    if isinstance(x, (list, tuple)):
        return type(x)(concrete(v, number) for v in x)
    if isinstance(x, dict):
        return {k: concrete(v, number) for k, v in x.items()}
    return number(x)
