"""Arrays made of values, and their sums, means and norms over an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.contributions.arithmetic import is_nan, is_plain, natively
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.functions.registry import FUNCTIONS, as_array, entry, rows_of
from dpest.reading.contributions.shapes import structured
from dpest.reading.contributions.values import Rows, Seq, SmallArray

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine

WHOLE_TYPES = (int, np.int64, "int", "int64", "i8")


@entry(np.nansum)
def _nansum(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "a")
    return sum_over(m, m.elementwise(lambda x: 0 if is_nan(x) else x, as_array(m, value)), None)


@entry(np.array)
def _new_array(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    value, dtype, copied = given(arguments, named, "x", "dtype", "copy", dtype=None, copy=True)
    if isinstance(dtype, Seq) and isinstance(rows_of(m, value), Rows):
        return structured(m, rows_of(m, value), dtype)
    if dtype in WHOLE_TYPES:
        return whole_array(m, value)
    require_float_type(dtype)
    if isinstance(value, SmallArray):
        return m.array(value) if copied is True else value.view(value.shape, list(value.cells))
    return as_array(m, value)


def _filled_with_whole_numbers(function: Any) -> None:
    """An array for counts. What is no whole number would be cut off in it: a replay shows that."""

    def handler(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
        if len(arguments) == 2 and not named:
            arguments, named = arguments[:1], {"dtype": arguments[1]}
        whole = set(named) == {"dtype"} and named["dtype"] in WHOLE_TYPES
        if len(arguments) != 1 or not is_plain(arguments[0]) or not whole:
            return NotImplemented
        return natively(lambda shape: function(shape, dtype=int), arguments[0])

    FUNCTIONS[function] = handler


_filled_with_whole_numbers(np.zeros)
_filled_with_whole_numbers(np.ones)


@entry(np.asarray, np.asanyarray, np.ascontiguousarray, np.atleast_1d)
def _as_array(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    value, dtype, _ = given(arguments, named, "x", "dtype", "copy", dtype=None, copy=None)
    if dtype in WHOLE_TYPES:
        return whole_array(m, value)
    require_float_type(dtype)
    if isinstance(value, SmallArray):
        return value.view(value.shape, list(value.cells))
    return as_array(m, value)


def whole_array(m: ContributionMachine, value: Any) -> Any:
    """An array of whole numbers, made of numbers that are cut off one by one."""
    return m.elementwise(lambda v: m.call(int, [v], {}), as_array(m, value))


def require_float_type(dtype: Any) -> None:
    if dtype not in (None, float, np.float64, "float", "float64", "f8"):
        raise Unread(f"an array of {dtype}")


@entry(np.sum)
def _np_sum(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    value, axis, keep = given(arguments, named, "a", "axis", "keepdims", axis=None, keepdims=False)
    return sum_over(m, as_array(m, value), axis, keep)


def sum_over(m: ContributionMachine, value: Any, axis: Any, keep: Any = False) -> Any:
    if isinstance(value, Rows):
        deep = any(isinstance(c.element, SmallArray) for c in value.cases)
        if axis == 0 or (axis in (None, -1) and not deep):
            if keep:
                raise Unread("keepdims")
            return m.sum_rows(value)
        if axis is None:
            return sum_over(m, m.sum_rows(value), None)
        if axis in (1, -1) and deep:
            return m.per_record(lambda e: _with_axis(sum_over(m, e, -1), keep), value)
        raise Unread("a sum over this axis")
    if isinstance(value, SmallArray):
        if axis is None or len(value.shape) == 1:
            total: Any = 0
            for cell in value.cells:
                total = m.mixed("+", total, cell)
            return SmallArray((1,) * len(value.shape), [total]) if keep else total
        places = np.arange(len(value.cells)).reshape(value.shape)
        moved = np.moveaxis(places, axis, -1)
        flat = moved.reshape(-1, moved.shape[-1])
        parts = [SmallArray((len(r),), [value.cells[i] for i in r]) for r in flat.tolist()]
        shape = places.sum(axis=axis, keepdims=True).shape if keep else moved.shape[:-1]
        return SmallArray(shape, [sum_over(m, p, None) for p in parts])
    return value


def _with_axis(value: Any, keep: Any) -> Any:
    return SmallArray((1,), [value]) if keep else value


@entry(np.average)
def _average(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    """A mean, or Σ weight·value / Σ weight."""
    value, axis, weights = given(arguments, named, "a", "axis", "weights", axis=None, weights=None)
    if weights is None:
        return mean_over(m, as_array(m, value), axis)
    value, weights = as_array(m, value), as_array(m, weights)
    flat = all(isinstance(v, Rows) or len(v.shape) == 1 for v in (value, weights))
    if axis is not None or not flat:
        raise Unread("a weighted mean over an axis")
    return m.binary("/", m.call(np.dot, [value, weights], {}), sum_over(m, weights, None))


@entry(np.mean)
def _np_mean(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    value, axis = given(arguments, named, "a", "axis", axis=None)
    return mean_over(m, as_array(m, value), axis)


def mean_over(m: ContributionMachine, value: Any, axis: Any) -> Any:
    if isinstance(value, Rows):
        if axis is None and any(isinstance(c.element, SmallArray) for c in value.cases):
            raise Unread("the mean of an array of the data")
        if axis in (None, 0):
            return m.binary("/", m.sum_rows(value), m.length_of(value))
        return m.per_record(lambda e: mean_over(m, e, None), value)
    if isinstance(value, SmallArray) and (axis is None or len(value.shape) == 1):
        return m.binary("/", sum_over(m, value, None), len(value.cells))
    if isinstance(value, SmallArray) and axis in range(-len(value.shape), len(value.shape)):
        return m.binary("/", sum_over(m, value, axis), value.shape[axis])
    raise Unread("a mean over this axis")


def _split(native: Any) -> None:
    """np.split and np.array_split: parts of an array, whose places are public."""

    def handler(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
        value, parts = given(arguments, named, "ary", "indices_or_sections")
        value = as_array(m, value)
        if is_plain(value) or not isinstance(value, SmallArray) or not is_plain(parts):
            raise Unread("parts of an array that is not known")
        places = np.arange(len(value.cells)).reshape(value.shape)
        if isinstance(parts, SmallArray):
            parts = parts.cells
        try:
            found = native(places, parts)
        except ValueError:
            raise Unread("an array that can't be split like this") from None
        return Seq([value.view(p.shape, [value.cells[i] for i in p.ravel()]) for p in found])

    FUNCTIONS[native] = handler


_split(np.split)
_split(np.array_split)


@entry(np.linalg.norm)
def _norm(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    value, order, axis, keep = given(
        arguments, named, "x", "ord", "axis", "keepdims", ord=None, axis=None, keepdims=False
    )
    value = as_array(m, value)
    if order not in (None, 2) or not isinstance(keep, bool):
        if is_plain(value):
            return NotImplemented
        raise Unread("a norm other than the Euclidean one")
    if isinstance(value, Rows):
        if axis not in (1, -1):
            raise Unread("the norm of an array of the data")
        return m.per_record(lambda e: _with_axis(_euclidean(m, e), keep), value)
    if is_plain(value):
        return NotImplemented
    if isinstance(value, SmallArray) and (
        axis is None or (len(value.shape) == 1 and axis in (0, -1))
    ):
        if len(value.shape) != 1:
            raise Unread("the norm of a matrix")
        return _with_axis(_euclidean(m, value), keep)
    raise Unread("a norm over this axis")


def _euclidean(m: ContributionMachine, value: Any) -> Any:
    if not isinstance(value, SmallArray):
        raise Unread("the norm of one number per record")
    return m.terms.norm([m.local(m.form(c)) for c in value.cells])


@entry(np.cumsum)
def _cumsum(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "a")
    value = as_array(m, value)
    if not isinstance(value, SmallArray) or len(value.shape) != 1:
        raise Unread("cumsum over the data")
    total: Any = 0
    cells = []
    for cell in value.cells:
        total = m.mixed("+", total, cell)
        cells.append(total)
    return SmallArray(value.shape, cells)
