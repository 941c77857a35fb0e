"""How a mechanism is called: its arguments, copied, concrete or symbolic."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism, in_order, parameters_of
from dpest.errors import InputError
from dpest.geometry.linear import Form, Symbol
from dpest.reading.domains.numbers import NUMBER, NUMPY_FLOAT, Real
from dpest.running.places import code_of

_PLAIN = (int, float, bool, str)


def caller(target: Mechanism) -> Callable[[Any, Any], Any]:
    """`mechanism(x, rng, **params)` as a function of x and rng."""
    found = parameters_of(target.function).get("rng")
    by_name = found is not None and found.kind is not inspect.Parameter.POSITIONAL_ONLY
    function, params = in_order(target.function), target.params

    def call(x: Any, rng: Any) -> Any:
        if found is None:
            result = function(x, **params)
        elif by_name:
            result = function(x, rng=rng, **params)
        else:
            result = function(x, rng, **params)
        if inspect.isgenerator(result) or isinstance(result, (map, filter, zip)):
            return list(result)
        return result

    return call


def symbols_for(x: Any, stem: str = "x") -> Any:
    """The same structure with an input symbol for each number."""
    if isinstance(x, (bool, np.bool_, str)) or x is None:
        return x
    if isinstance(x, (int, float, np.number)):
        kinds = NUMPY_FLOAT if isinstance(x, np.number) else NUMBER
        return Real(Form.of(Symbol("input", stem)), kinds)
    if isinstance(x, Symbol):
        return Real(Form.of(x), NUMBER)
    if isinstance(x, Form):
        return Real(x, NUMBER)
    if isinstance(x, np.ndarray):
        found = np.empty(x.shape, dtype=object)
        for place in np.ndindex(x.shape):
            found[place] = symbols_for(x[place], stem + "_".join(str(i) for i in place))
        return found
    if isinstance(x, (list, tuple)):
        joint = "" if stem == "x" else "_"
        return type(x)(symbols_for(v, f"{stem}{joint}{i}") for i, v in enumerate(x))
    if isinstance(x, dict):
        return {k: symbols_for(v, f"{stem}_{k}") for k, v in x.items()}
    if isinstance(x, Real):
        return x
    raise InputError(
        f"a {type(x).__name__} can't become symbolic; use lists, tuples, dicts or arrays"
    )


def fresh(x: Any) -> Any:
    """A copy that the function may change, of the type that was given."""
    if type(x) is list and all(type(v) in _PLAIN for v in x):
        return x.copy()
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return type(x)(fresh(v) for v in x)
    if isinstance(x, dict):
        return {k: fresh(v) for k, v in x.items()}
    if isinstance(x, np.ndarray):
        return x.copy()
    if isinstance(x, (int, float, str, bytes, np.generic, Real, Symbol, Form)) or x is None:
        return x
    return copy.deepcopy(x)


def concrete(x: Any, number: Callable[[Form], Any]) -> Any:
    """An input or parameter with numbers for its symbols; the rest as it is."""
    if isinstance(x, Real):
        return number(x.form)
    if isinstance(x, Symbol):
        return number(Form.of(x))
    if isinstance(x, Form):
        return number(x)
    if isinstance(x, np.ndarray) and x.dtype == object and symbolic_in(x):
        return np.array([concrete(v, number) for v in x.flat], dtype=float).reshape(x.shape)
    if type(x) in (list, tuple):
        return type(x)(concrete(v, number) for v in x)
    if type(x) is dict:
        return {k: concrete(v, number) for k, v in x.items()}
    return x


def symbolic_in(x: Any) -> bool:
    """Whether a symbol stands anywhere in an input or a parameter."""
    if isinstance(x, (Real, Symbol, Form)):
        return True
    if isinstance(x, (list, tuple)):
        return any(symbolic_in(v) for v in x)
    if isinstance(x, dict):
        return any(symbolic_in(v) for v in x.values())
    return isinstance(x, np.ndarray) and x.dtype == object and any(symbolic_in(v) for v in x.flat)


def data_size(x: Any) -> int:
    """How many data there are: loops over them are not without a bound."""
    if isinstance(x, np.ndarray):
        return int(x.size)
    if isinstance(x, (list, tuple)):
        return sum(data_size(v) for v in x)
    if isinstance(x, dict):
        return sum(data_size(v) for v in x.values())
    return len(x) if hasattr(x, "__len__") and not isinstance(x, str) else 1


def place_of(function: Callable[..., Any]) -> str | None:
    code = code_of(function)
    return None if code is None else f"{code.co_filename}:{code.co_firstlineno}"
