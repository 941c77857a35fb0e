"""Orders: sorted, sort, argsort, medians, and places in a grid."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.geometry.linear import Form, rational
from dpest.reading.domains import arithmetic
from dpest.reading.domains.arithmetic import is_number, is_symbolic
from dpest.reading.domains.numbers import as_number
from dpest.reading.machine import operators, prelude
from dpest.reading.machine.adopting import to_python
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.heap import ListObject
from dpest.reading.machine.orders import Order, SortedBuffer, SortedList
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.values import Array, Ref, is_plain
from dpest.reading.table.iterating import extreme_place
from dpest.reading.table.numpy_arrays import _as_array
from dpest.reading.table.numpy_functions import reduced
from dpest.reading.table.registry import entry

if TYPE_CHECKING:
    from dpest.reading.machine.executor import Machine

_MOST_ORDERED = 3  # values whose orders are all told apart, where nothing can be left open
_MOST_GRID = 64


# Keys


def _numbers(m: Machine, keys: Sequence[Any]) -> list[Any] | None:
    """Numbers that are ordered as the keys are; None where there are no such numbers.

    Rows are ordered by their first numbers alone where these are equal with probability 0.
    """
    if all(is_number(k) or is_symbolic(k) for k in keys):
        return list(keys)
    if not all(type(k) is tuple and k for k in keys):
        return None
    first = [k[0] for k in keys]
    if not all(is_number(v) or is_symbolic(v) for v in first):
        return None
    forms = [arithmetic.form_of(m, v) for v in first]
    differences = (a.minus(b) for n, a in enumerate(forms) for b in forms[:n])
    return first if all(d.terms and m.is_null(d) for d in differences) else None


@entry(prelude.place_of_best_)
def place_of_best(m: Machine, keys: Ref, largest: bool) -> Any:
    items = list(m.sequence(keys) or ())
    if not all(is_plain(k) for k in items):
        numbers = _numbers(m, items)
        if numbers is not None:
            return extreme_place(m, numbers, largest)
    return Enter(prelude.place_by_comparing_, (keys, largest))


@entry(prelude.in_order_of_)
def in_order_of(m: Machine, items: Ref, keys: Ref, reverse: Any) -> Any:
    found = list(m.sequence(keys) or ())
    values = list(m.sequence(items) or ())
    if all(is_plain(k) for k in found):
        order = operators.native(
            lambda: sorted(range(len(found)), key=found.__getitem__, reverse=bool(reverse))
        )
        return m.state.heap.new(ListObject([values[k] for k in order]))
    numbers = _numbers(m, found)
    if numbers is None or not m.is_whole:
        return Enter(prelude.ordered_by_comparing_, (items, keys, reverse))
    view = range(len(values))
    if reverse:
        # Equal keys keep their order in a reversed list as well.
        numbers, values, view = numbers[::-1], values[::-1], view[::-1]
    forms = tuple(arithmetic.form_of(m, v) for v in numbers)
    return m.state.heap.new(SortedList(tuple(values), Order(forms), view))


@entry(prelude.replace_content_)
def replace_content(m: Machine, ref: Ref, values: Ref) -> Any:
    """An order that is left open stays open: the list itself is what is in order now."""
    thing = m.state.heap.read(values)
    if isinstance(thing, SortedList):
        m.state.heap.write(ref)
        thing = thing.copied()
        thing.address = ref.address
        m.state.heap.place(ref.address, thing)
    else:
        m.state.heap.write(ref).items[:] = thing.items
    return None


# Arrays


def _order(m: Machine, items: Sequence[Any]) -> Order:
    return Order(tuple(arithmetic.form_of(m, v) for v in items))


def _row(m: Machine, value: Any, axis: Any, name: str) -> Array:
    shown = _as_array(m, value)
    if shown.places.ndim != 1 or axis not in (-1, 0):
        raise Refused(f"{name} of a matrix")
    return shown


def _in_order(m: Machine, order: Order, values: np.ndarray, dtype: np.dtype[Any]) -> Array:
    """A new array of the values in an order, which is left open where it can be."""
    if not m.is_whole:
        if len(order) > _MOST_ORDERED:
            raise Refused("an order of many noisy or private values")
        order = order.decided(m, range(len(order)))
    buffer: Any = SortedBuffer(values, order)
    if not buffer.open_ranks:
        buffer = buffer.settled(order)
    return Array(m.state.heap.new(buffer), np.arange(len(order)), dtype)


@entry(np.sort)
def sort(m: Machine, value: Any, axis: Any = -1) -> Any:
    shown = _row(m, value, axis, "np.sort")
    items = m.arrays.elements(m, shown)
    values = np.empty(len(items), dtype=object)
    for k, item in enumerate(items):
        values[k] = item
    return _in_order(m, _order(m, items), values, shown.dtype)


@entry(np.argsort)
def argsort(m: Machine, value: Any, axis: Any = -1, kind: Any = None, stable: Any = None) -> Any:
    shown = _row(m, value, axis, "np.argsort")
    items = m.arrays.elements(m, shown)
    if kind not in ("stable", "mergesort") and not stable:
        _no_ties(m, items)
    return _in_order(m, _order(m, items), np.arange(len(items)), np.dtype(np.int64))


def _no_ties(m: Machine, items: Sequence[Any]) -> None:
    """NumPy's other algorithms may put equal numbers in any order."""
    forms = [arithmetic.form_of(m, v) for v in items]
    for n, a in enumerate(forms):
        for b in forms[:n]:
            gap = a.minus(b)
            if not (m.is_null(gap) if gap.terms else gap.constant):
                raise Refused(
                    "np.argsort of values that may be equal: their order is up to NumPy",
                    'use kind="stable"',
                )


@entry(np.ndarray.sort)
def sort_in_place(m: Machine, value: Array, axis: Any = -1) -> Any:
    if m.arrays.is_known(m, value):
        made = m.adopted(np.sort(m.arrays.known_content(m, value), axis))
        m.arrays.write(m, value, m.arrays.content(m, made))
        return None
    made = sort(m, value, axis)
    thing = m.state.heap.read(made.buffer)
    whole = np.array_equal(value.places, np.arange(len(m.state.heap.read(value.buffer).data)))
    if thing.undecided and whole:
        m.state.heap.write(value.buffer)
        thing = thing.copied()
        thing.address = value.buffer.address
        m.state.heap.place(value.buffer.address, thing)
    elif thing.undecided:
        raise Refused("a part of an array that is put in order")
    else:
        m.arrays.write(m, value, m.arrays.content(m, made))
    return None


def _median(m: Machine, items: list[Any], dtype: np.dtype[Any]) -> Any:
    if not items:
        return np.float64(np.nan)
    if not any(is_symbolic(v) for v in items):
        return np.float64(np.median(np.array(items, dtype)))
    return _quantile(m, items, Fraction(1, 2))


def _quantile(m: Machine, items: Sequence[Any], share: Fraction) -> Any:
    """The value that has a share of the others before it, or between two of them."""
    forms = [arithmetic.form_of(m, v) for v in items]
    rank, rest = divmod(share * (len(items) - 1), 1)
    place, above = m.at_rank(forms, int(rank))
    found = forms[place]
    if rest:
        least = above[m.greatest([forms[k].times(-1) for k in above])] if above[1:] else above[0]
        found = found.plus(forms[least].minus(found), rest)
    return as_number(found, (np.float64,))


entry(np.median)(reduced(_median))


def _quantiles(whole: int) -> Any:
    def made(m: Machine, value: Any, share: Any, axis: Any = None, method: Any = "linear") -> Any:
        items = m.arrays.elements(m, _as_array(m, value))
        if axis is not None or method != "linear" or not is_number(share) or not items:
            raise Refused("a quantile of this kind of noisy or private values")
        if not 0 <= share <= whole:
            raise Refused("a quantile outside of the range")
        return _quantile(m, items, rational(share) / whole)

    return made


entry(np.percentile)(_quantiles(100))
entry(np.quantile)(_quantiles(1))


# Grids


def _steps(m: Machine, value: Any, grid: Sequence[Any], *, strict: bool) -> Any:
    """How many numbers of a grid are below a value, or (not `strict`) not above it."""
    total = Form()
    for step in grid:
        truth = arithmetic.compare(m, ">" if strict else ">=", value, step)
        total = total.plus(arithmetic.form_of(m, truth))
    return as_number(total, (np.int64,))


def _grid(m: Machine, grid: Any, name: str) -> list[Any]:
    known = np.asarray(to_python(m.state, grid))
    if known.ndim != 1 or known.dtype.kind not in "fiub" or not np.all(np.diff(known) >= 0):
        raise Refused(f"{name} of a grid that is not in order")
    if known.size > _MOST_GRID:
        raise Refused(f"{name} of a grid with more than {_MOST_GRID} steps")
    return list(known)


def _in_grid(m: Machine, value: Any, grid: list[Any], *, strict: bool) -> Any:
    if not isinstance(value, Array) and m.sequence(value) is None:
        return _steps(m, value, grid, strict=strict)
    shown = _as_array(m, value)
    found = [_steps(m, v, grid, strict=strict) for v in m.arrays.elements(m, shown)]
    return m.arrays.made_of(m, found, shown.shape, np.dtype(np.int64))


@entry(np.searchsorted)
def searchsorted(m: Machine, grid: Any, value: Any, side: Any = "left") -> Any:
    return _in_grid(m, value, _grid(m, grid, "np.searchsorted"), strict=side == "left")


@entry(np.digitize)
def digitize(m: Machine, value: Any, bins: Any, right: Any = False) -> Any:
    return _in_grid(m, value, _grid(m, bins, "np.digitize"), strict=bool(right))
