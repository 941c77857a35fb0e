"""Tables of pandas and polars at one input: they are known, so that their library computes.

A `Known` holds such an object, without noise in it. Attributes, elements, operators and functions
of its library are executed natively where all arguments are known; a table that would be given
noise is refused, and so is one that is changed in place, or a function of the library that is
handed code of the program.
"""

from __future__ import annotations

import pickle
import random
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.machine.adopting import TABLES, NotConcrete, adopt, to_python
from dpest.reading.machine.heap import SequenceIterator
from dpest.reading.machine.signals import Refused, Thrown
from dpest.reading.machine.values import Known, root_of_module

if TYPE_CHECKING:
    from dpest.reading.machine.executor import Machine

_MOST_ROWS = 100_000


@dataclass(frozen=True)
class KnownMethod:
    """A method of a table."""

    owner: Known
    name: str


def is_of_library(value: Any) -> bool:
    """A function or class of a library of tables."""
    is_callable = isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType))
    return is_callable and root_of_module(value) in TABLES


def attribute(m: Machine, known: Known, name: str) -> Any:
    def look(thing: Any) -> Any:
        found = getattr(thing, name)
        return KnownMethod(known, name) if isinstance(found, types.MethodType) else found

    found = _executed(m, look, (known.thing,), {})
    return found if isinstance(found, KnownMethod) else _adopted(m, found)


def call(m: Machine, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method of a table, or a function or class of its library."""
    if isinstance(function, KnownMethod):
        name = function.name
        args = (function.owner, *args)

        def called(owner: Any, *rest: Any, **named: Any) -> Any:
            return getattr(owner, name)(*rest, **named)

        return native(m, called, args, kwargs, f"`{name}` of a {m.type_name(function.owner)}")
    return native(m, function, args, kwargs, f"`{function.__name__}`")


def native(
    m: Machine,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    what: str,
) -> Any:
    """What a function of the library gives; refused where something in it is not known."""
    try:
        known = tuple(to_python(m.state, v) for v in args)
        named = {k: to_python(m.state, v) for k, v in kwargs.items()}
    except NotConcrete:
        raise Refused(f"{what} with noisy or private values, or with code of its own") from None
    for value in (*known, *named.values()):
        if isinstance(value, types.FunctionType) and root_of_module(value) not in TABLES:
            raise Refused(f"{what} with a function that it calls")
    return _adopted(m, _executed(m, function, known, named))


def _executed(
    m: Machine, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    before, drawn = _content(args), _global_randomness()
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(*args, **kwargs)
            if isinstance(found, Iterator):
                found = _gone_through(found)
    except Exception as error:
        raise Thrown(error) from None
    if _global_randomness() != drawn:
        raise Refused("a function of a library that draws from a global generator", final=True)
    if _content(args) != before:
        raise Refused("a table that is changed in place", "make a new one", final=True)
    return found


def _gone_through(found: Iterator[Any]) -> tuple[Any, ...]:
    rows = []
    for row in found:
        rows.append(row)
        if len(rows) > _MOST_ROWS:
            raise Refused(f"a table with more than {_MOST_ROWS} rows that are gone through")
    return tuple(rows)


def iterator(m: Machine, known: Known) -> Any:
    rows = _executed(m, iter, (known.thing,), {})
    return m.state.heap.new(SequenceIterator(_adopted(m, rows)))


def _adopted(m: Machine, value: Any) -> Any:
    # An array may show the memory of the table: nobody may write to it.
    return adopt(m.state, value, outside=True)


def _content(things: tuple[Any, ...]) -> Any:
    """A key of what tables hold; groups and rows of a table (its `obj`) hold what it does."""
    found = []
    for thing in things:
        table = thing if hasattr(thing, "equals") else getattr(thing, "obj", None)
        if root_of_module(type(table)) in TABLES:
            found.append(pickle.dumps(table))
    return found


def _global_randomness() -> Any:
    legacy = np.random.get_state(legacy=False)  # noqa: NPY002
    assert isinstance(legacy, dict)
    state = legacy["state"]
    return legacy["has_gauss"], state["pos"], state["key"][:4].tobytes(), random.getstate()
