"""Methods of arrays: of numbers, and of those with a row for each record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.contributions.arithmetic import is_plain, natively
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.control.public import method_of
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.functions.arrays import (
    WHOLE_TYPES,
    mean_over,
    require_float_type,
    sum_over,
    whole_array,
)
from dpest.reading.contributions.functions.mathematics import clipped
from dpest.reading.contributions.values import Rows, Seq, SmallArray

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


def array_method(
    m: ContributionMachine,
    owner: Any,
    name: str,
    arguments: list[Any],
    named: dict[str, Any],
) -> Any:
    if isinstance(owner, Rows) and not owner.array:
        raise Unread(f"the method `{name}` of a list of the data")
    if name == "sum":
        axis, keep = given(arguments, named, "axis", "keepdims", axis=None, keepdims=False)
        return sum_over(m, owner, axis, keep)
    if name == "mean":
        (axis,) = given(arguments, named, "axis", axis=None)
        return mean_over(m, owner, axis)
    if name == "clip":
        names = {"min": "a_min", "max": "a_max"}
        ends = {names.get(k, k): v for k, v in named.items()}
        low, high = given(arguments, ends, "a_min", "a_max", a_min=None, a_max=None)
        return clipped(m, owner, low, high)
    if name == "dot":
        return m.binary("@", owner, *arguments)
    if name == "astype":
        if len(arguments) == 1 and not named and arguments[0] in WHOLE_TYPES:
            return whole_array(m, owner)
        require_float_type(*arguments)
        return m.array(owner)
    if name == "copy" and not arguments:
        return m.array(owner)
    if name in ("tolist", "item") and isinstance(owner, SmallArray) and not arguments:
        if name == "item":
            return owner.cells[0] if len(owner.cells) == 1 else NotImplemented
        return Seq([r if not isinstance(r, SmallArray) else Seq(r.cells) for r in owner.rows()])
    if name == "tolist" and isinstance(owner, Rows):
        return Seq(rows=Rows(owner.cases, False))
    if isinstance(owner, Rows):
        return _method_of_rows(m, owner, name, arguments, named)
    return _method_of_cells(m, owner, name, arguments, named)


def _method_of_cells(
    m: ContributionMachine,
    owner: SmallArray,
    name: str,
    arguments: list[Any],
    named: dict[str, Any],
) -> Any:
    functions = {
        "argmax": np.argmax, "argmin": np.argmin, "max": np.max, "min": np.min, "ravel": np.ravel,
        "flatten": np.ravel, "cumsum": np.cumsum, "transpose": np.transpose,
    }  # fmt: skip
    if name == "reshape":
        shape = arguments[0] if len(arguments) == 1 else tuple(arguments)
        return m.call(np.reshape, [owner, shape], named)
    if name == "round":
        return m.call(np.round, [owner, *arguments], named)
    if name in functions:
        return m.call(functions[name], [owner, *arguments], named)
    if is_plain(owner) and all(map(is_plain, arguments)):
        return natively(method_of(name), owner, *arguments, **named)
    if name in ("std", "var", "argsort", "sort", "nonzero", "any", "all", "prod"):
        return m.publicly(method_of(name), owner, *arguments, **named)
    raise Unread(f"the method `{name}` of an array")


def _method_of_rows(
    m: ContributionMachine, owner: Rows, name: str, arguments: list[Any], named: dict[str, Any]
) -> Any:
    """Methods of an array with a row for each record."""
    if name in ("max", "min"):
        return m.call({"max": np.max, "min": np.min}[name], [owner, *arguments], named)
    if name == "var":
        return m.call(np.var, [owner, *arguments], named)
    shapes = {c.element.shape if isinstance(c.element, SmallArray) else () for c in owner.cases}
    if len(shapes) != 1 or not owner.whole:
        raise Unread(f"the method `{name}` of an array of the data")
    (shape,) = shapes
    if name == "reshape" and not named:
        wanted = arguments[0] if len(arguments) == 1 else tuple(arguments)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        rows = bool(wanted) and (wanted[0] == -1 or m.is_length(wanted[0]))
        if rows and wanted[1:] == shape:
            return owner
        if rows and wanted[1:] == (1,) and not shape:
            return m.per_record(lambda e: SmallArray((1,), [e]), owner)
    if name in ("ravel", "flatten") and not (arguments or named or shape):
        return owner
    raise Unread(f"the method `{name}` of an array of the data")
