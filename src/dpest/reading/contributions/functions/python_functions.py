"""Functions of Python and NumPy that take functions, go on through values, or shape arrays."""

from __future__ import annotations

import bisect
import builtins
import contextlib
import functools
import heapq
import itertools
import operator
import types
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp, softmax

from dpest.reading.contributions.arithmetic import is_number, is_plain
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.control.objects import Own, PartialCall, set_by_object
from dpest.reading.contributions.control.snapshots import apart
from dpest.reading.contributions.control.stack import Suspended
from dpest.reading.contributions.forms import NOISE, RECORD, SymbolicForm, Unread
from dpest.reading.contributions.functions.registry import FUNCTIONS, as_array, entry
from dpest.reading.contributions.functions.selections import largest, of_record
from dpest.reading.contributions.functions.units import has_unit
from dpest.reading.contributions.persons import ends_of
from dpest.reading.contributions.shapes import Record
from dpest.reading.contributions.values import (
    Case,
    Combined,
    Map,
    Object,
    PlainIterator,
    ProgramObject,
    PublicValue,
    RecordTruth,
    Rows,
    RowsIterator,
    Seq,
    Silence,
    SmallArray,
)
from dpest.reading.machine import prelude

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine

_Arguments = list[Any]
_Named = dict[str, Any]


def _rows(m: ContributionMachine, value: Any) -> Rows | None:
    """The rows that something goes over, if it goes over the data."""
    if isinstance(value, Rows):
        return value
    if isinstance(value, Seq) and value.rows is not None:
        return value.rows
    if isinstance(value, RowsIterator):
        return value.rows
    return None


# Going through values ----------------------------------------------------------------------------


@entry(builtins.iter)
def _iter(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    (value,) = given(arguments, named, "x")
    return m.iterate(value)


@entry(builtins.next)
def _next(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    iterator, *default = arguments
    if isinstance(iterator, PlainIterator):
        if iterator.place < len(iterator.values):
            iterator.place += 1
            return iterator.values[iterator.place - 1]
        elif default:
            return default[0]
    elif isinstance(iterator, Suspended):
        more, value = m.advance(iterator)
        if more:
            return value
        if default:
            return default[0]
    raise Unread("the next value of an iterator that may have none")


@entry(builtins.reversed)
def _reversed(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    (value,) = given(arguments, named, "x")
    if _rows(m, value) is not None:
        raise Unread("the data in another order than that of their other lists")
    return PlainIterator.over(reversed(m.listed(value)))


@entry(builtins.map)
def _map(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    function, *values = arguments
    rows = [_rows(m, v) for v in map(m.iterate, values)]
    if len(rows) == 1 and rows[0] is not None:
        return RowsIterator(m.per_record(lambda e: m.call(function, [e], {}), rows[0]))
    if any(r is not None for r in rows):
        raise Unread("map over the data and over other values")
    parts = zip(*(m.listed(v) for v in values), strict=False)
    return PlainIterator.over([m.call(function, list(p), {}) for p in parts])


@entry(builtins.filter)
def _filter(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    function, value = given(arguments, named, "function", "iterable")

    def holds(element: Any) -> bool:
        return m.decide(element if function is None else m.call(function, [element], {}))

    rows = _rows(m, m.iterate(value))
    if rows is None:
        return PlainIterator.over([v for v in m.listed(value) if holds(v)])
    found = []
    for case in rows.cases:
        if not case.present:
            found.append(case)
            continue
        with apart(m):
            ways = m.in_record(case.conditions, lambda c=case: holds(c.element))
        for conditions, keep in ways:
            found.append(Case(conditions, case.element if keep else None, keep))
    return RowsIterator(Rows(tuple(found), False))


def _quantified(conjunction: bool, native: Any) -> Any:
    def handler(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
        """any and all: in turn, and no further than needed."""
        (value,) = given(arguments, named, "x")
        if isinstance(value, PublicValue):
            return m.publicly(native, value)
        iterator = m.iterate(value)
        if isinstance(iterator, RowsIterator):
            return m.quantified(iterator.rows, conjunction)
        if isinstance(iterator, PlainIterator):
            values = iterator.items
            if not any(_noisy(m, v) for v in values):
                plain = [v for v in values if is_plain(v)]
                if any(bool(v) != conjunction for v in plain):
                    return not conjunction
                rest = tuple(v for v in values if not is_plain(v))
                if all(isinstance(v, (RecordTruth, Combined)) for v in rest) and rest:
                    return Combined(conjunction, rest)
            for v in values:
                if m.decide(v) != conjunction:
                    return not conjunction
            return conjunction
        while True:
            more, v = m.advance(iterator)
            if not more:
                return conjunction
            if m.decide(v) != conjunction:
                return not conjunction

    return handler


def _noisy(m: ContributionMachine, value: Any) -> bool:
    form = getattr(value, "form", None)
    return isinstance(form, SymbolicForm) and bool(m.terms.kind(form) & NOISE)


FUNCTIONS[builtins.any] = _quantified(False, builtins.any)
FUNCTIONS[builtins.all] = _quantified(True, builtins.all)


@entry(functools.reduce)
def _reduce(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    function, value, *start = arguments
    if start and isinstance(m.iterate(value), RowsIterator):
        return m.call(prelude.reduce_, [function, value, start[0], True], {})
    values = [*start, *m.listed(value)]
    if not values:
        raise Unread("reduce of nothing")
    total = values[0]
    for v in values[1:]:
        total = m.call(function, [total, v], {})
    return total


def _outermost(largest: bool) -> Any:
    """heapq.nlargest and nsmallest: the first of an order."""

    def handler(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
        count, value, key = given(arguments, named, "n", "iterable", "key", key=None)
        if not isinstance(count, int) or count < 0:
            raise Unread("a number of values that is not known")
        ordered = m.call(builtins.sorted, [value], {"key": key, "reverse": largest})
        return m.item(ordered, slice(None, count))

    return handler


FUNCTIONS[heapq.nlargest] = _outermost(True)
FUNCTIONS[heapq.nsmallest] = _outermost(False)


@entry(operator.itemgetter)
def _itemgetter(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    def picked(m: Any, owner: Any) -> Any:
        found = tuple(m.item(owner, key) for key in arguments)
        return found if len(found) > 1 else found[0]

    return Own(picked)


@entry(operator.attrgetter)
def _attrgetter(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    if len(arguments) != 1 or "." in arguments[0]:
        raise Unread("attrgetter of several names")
    return Own(lambda m, owner: m.attribute(owner, arguments[0]))


@entry(functools.partial)
def _partial(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    return PartialCall(arguments[0], tuple(arguments[1:]), dict(named))


@entry(itertools.chain)
def _chain(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    return PlainIterator.over([v for a in arguments for v in m.listed(a)])


@entry(itertools.accumulate)
def _accumulate(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    (value,) = given(arguments, named, "iterable")
    found: list[Any] = []
    for v in m.listed(value):
        found.append(v if not found else m.binary("+", found[-1], v))
    return PlainIterator.over(found)


def _operator(op: str) -> Any:
    return lambda m, arguments, named: m.binary(op, *arguments)


for _function, _op in (
    (operator.add, "+"), (operator.sub, "-"), (operator.mul, "*"), (operator.truediv, "/"),
):  # fmt: skip
    FUNCTIONS[_function] = _operator(_op)


_NUMBERS = (int, float)

# Types -------------------------------------------------------------------------------------------


@entry(builtins.isinstance)
def _isinstance(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    value, kinds = given(arguments, named, "x", "kinds")
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    if has_unit(value):
        raise Unread("the type of a parameter that has no value here")
    if is_plain(value) and not isinstance(value, SmallArray):
        return isinstance(value, wanted)
    if isinstance(value, ProgramObject):
        return any(issubclass(value.kind, k) for k in wanted)
    if isinstance(value, PublicValue):
        return m.publicly(isinstance, value, wanted)
    known = {Seq: list, Map: dict, SmallArray: np.ndarray}
    if type(value) in known:
        return any(issubclass(known[type(value)], k) for k in wanted)
    if isinstance(value, Rows):
        return any(issubclass(np.ndarray if value.array else list, k) for k in wanted)
    if isinstance(value, SymbolicForm) and all(
        any(issubclass(k, w) for w in wanted) for k in _NUMBERS
    ):
        return True  # a replay hands in numbers of each type that the domain admits
    raise Unread("the type of a private value")


@entry(builtins.print)
def _print(m: ContributionMachine, arguments: _Arguments, named: _Named) -> None:
    raise Unread("something that is printed: it is released beside the result")


# Weights ------------------------------------------------------------------------------------------


def _exponentials(m: ContributionMachine, value: Any) -> tuple[SmallArray, Any]:
    array = m.array(value) if isinstance(value, (Seq, tuple)) else value
    if not isinstance(array, SmallArray) or len(array.shape) != 1:
        raise Unread("weights of an array that is not known")
    weights = m.call(np.exp, [array], {})
    return weights, m.call(np.sum, [weights], {})


@entry(softmax)
def _softmax(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    (value,) = given(arguments, named, "x")
    if is_plain(value) or m.is_public(value):
        return m.publicly(softmax, value)
    weights, total = _exponentials(m, value)
    return m.binary("/", weights, total)


@entry(logsumexp)
def _logsumexp(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    (value,) = given(arguments, named, "x")
    if is_plain(value) or m.is_public(value):
        return m.publicly(logsumexp, value)
    return m.call(np.log, [_exponentials(m, value)[1]], {})


def _searched(side: str) -> Any:
    def handler(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
        """The place of a uniform number among sums of weights: which of them is chosen."""
        values, number = arguments[:2]
        if isinstance(values, Object) and values.cells() is None:
            (asked,) = given(arguments[2:], named, "side", side=side)
            return _placed(m, values, number, asked)
        if _rows(m, number) is not None and not named and len(arguments) == 2:
            each = as_array(m, number)
            return m.per_record(lambda e: handler(m, [values, e], {}), each)
        if named or len(arguments) != 2 or m.is_public(tuple(arguments)):
            return NotImplemented if is_plain(tuple(arguments)) else m.publicly(
                np.searchsorted, *arguments, **{"side": side, **named}
            )  # fmt: skip
        cells = values.cells if isinstance(values, SmallArray) else m.listed(values)
        low = high = None
        if isinstance(number, SymbolicForm) and m.terms.kind(number) == RECORD:
            low, high = ends_of(m, number)
        for place, cell in enumerate(cells):
            if is_number(cell) and low is not None and low > cell:
                continue
            if is_number(cell) and high is not None and high < cell:
                return place
            if low == cell and side == "right":
                continue
            if m.decide(m.compare("<=" if side == "left" else "<", number, cell)):
                return place
        return len(cells)

    return handler


def _placed(m: ContributionMachine, values: Object, number: Any, side: Any) -> Any:
    """Where public numbers would be put into the sorted data: how many are below them."""
    if side not in ("left", "right"):
        raise Unread("a place among the sorted data on a side that is not known")
    if isinstance(number, (Seq, tuple)):
        number = m.array(number)
    if isinstance(number, SmallArray):
        return number.map(lambda one: values.rank_of(m, one, side))
    return values.rank_of(m, number, side)


@entry(np.digitize)
def _digitize(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    """The bin of each number: bins are public, and go up."""
    value, bins, right = given(arguments, named, "x", "bins", "right", right=False)
    edges = m.array(bins) if isinstance(bins, (Seq, tuple)) else bins
    if is_plain(value) or not is_plain(edges) or not isinstance(edges, SmallArray):
        return NotImplemented
    if any(b <= a for a, b in itertools.pairwise(edges.cells)) or not isinstance(right, bool):
        raise Unread("np.digitize by bins that don't go up")
    place = FUNCTIONS[np.searchsorted if right else bisect.bisect_right]
    return place(m, [edges, value], {})


FUNCTIONS[np.searchsorted] = FUNCTIONS[bisect.bisect_left] = _searched("left")
FUNCTIONS[bisect.bisect] = FUNCTIONS[bisect.bisect_right] = _searched("right")


@entry(np.errstate, contextlib.nullcontext, warnings.catch_warnings)
def _silence(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    return Silence()


# Where the largest is ----------------------------------------------------------------------------


def _arg(op: str, native: Any) -> Any:
    def handler(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
        value, axis = given(arguments, named, "a", "axis", axis=None)
        rows = value if isinstance(value, Rows) else _rows(m, value)
        if rows is not None and axis in (1, -1):
            return m.per_record(lambda e: _place_in(m, e, op), rows)
        if rows is not None:
            raise Unread("the place of a record")
        if isinstance(value, PublicValue) or (is_plain(value) and not isinstance(value, tuple)):
            return NotImplemented if is_plain(value) else m.publicly(native, value, axis=axis)
        values = value.cells if isinstance(value, SmallArray) else m.listed(value)
        flat = not isinstance(value, SmallArray) or len(value.shape) == 1
        if not flat or axis not in (None, 0, -1):
            raise Unread("the place of the largest along an axis")
        return largest(m, values, tuple(range(len(values))), op)

    return handler


def _place_in(m: ContributionMachine, element: Any, op: str) -> int:
    if not isinstance(element, SmallArray) or len(element.shape) != 1:
        raise Unread("the place of the largest of a record that is no row of numbers")
    return of_record(m, element.cells, op)


FUNCTIONS[np.argmax] = _arg("max", np.argmax)
FUNCTIONS[np.argmin] = _arg("min", np.argmin)


def _extreme_of_array(op: str, native: Any) -> Any:
    def handler(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
        value, axis = given(arguments, named, "a", "axis", axis=None)
        if is_plain(value):
            return NotImplemented
        if isinstance(value, PublicValue):
            return m.publicly(native, value, axis=axis)
        if _rows(m, value) is not None:
            raise Unread(f"the {op} of the data")
        cells = value.cells if isinstance(value, SmallArray) else m.listed(value)
        if axis not in (None, 0, -1) or (isinstance(value, SmallArray) and len(value.shape) != 1):
            raise Unread(f"{op} along an axis")
        return m.extreme(op, cells)

    return handler


for _native in (np.max, np.amax):
    FUNCTIONS[_native] = _extreme_of_array("max", np.max)
for _native in (np.min, np.amin):
    FUNCTIONS[_native] = _extreme_of_array("min", np.min)


# Arrays that are made of others ------------------------------------------------------------------


def _made(native: Any) -> Any:
    """A function that moves entries around, and computes nothing: done on their places."""

    def handler(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
        if all(map(is_plain, (*arguments, *named.values()))):
            return NotImplemented
        cells: list[Any] = [0.0]  # what is put where no entry goes to

        def placed(value: Any) -> Any:
            if isinstance(value, (Seq, tuple, range)):
                parts = m.listed(value)
                if any(isinstance(v, (SmallArray, Seq, tuple)) for v in parts):
                    return [placed(v) for v in parts]
                value = m.array(Seq(parts))
            if isinstance(value, SmallArray):
                value.shared = True  # the result may be a view of it
                first = len(cells)
                cells.extend(value.cells)
                return np.arange(first, len(cells)).reshape(value.shape)
            if isinstance(value, (SymbolicForm, PublicValue)) or is_number(value):
                cells.append(value)
                return np.int64(len(cells) - 1)
            raise Unread(f"`{native.__name__}` of {type(value).__name__}")

        first, *rest = arguments
        if not all(map(is_plain, (*rest, *named.values()))):
            raise Unread(f"`{native.__name__}` with unknown arguments")
        try:
            places = np.asarray(native(placed(first), *rest, **named))
        except Unread:
            raise
        except Exception as error:
            raise Unread(f"`{native.__name__}` raises {type(error).__name__}") from None
        return SmallArray(places.shape, [cells[i] for i in places.ravel().tolist()], shared=True)

    return handler


for _moves in (
    np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack, np.ravel, np.reshape,
    np.triu, np.tril, np.diag, np.flipud, np.fliplr, np.transpose, np.flip, np.roll, np.repeat,
    np.tile, np.squeeze, np.expand_dims,
):  # fmt: skip
    FUNCTIONS[_moves] = _made(_moves)


@entry(np.diff)
def _diff(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    if all(map(is_plain, arguments)):
        return NotImplemented
    (value,) = given(arguments, named, "a")
    cells = value.cells if isinstance(value, SmallArray) else m.listed(value)
    if isinstance(value, SmallArray) and len(value.shape) != 1:
        raise Unread("differences along an axis")
    parts = [m.binary("-", b, a) for a, b in itertools.pairwise(cells)]
    return SmallArray((len(parts),), parts)


@entry(np.zeros_like, np.ones_like)
def _like(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    raise AssertionError


def _filled(number: float) -> Any:
    def handler(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
        value, dtype = given(arguments, named, "a", "dtype", dtype=float)
        if is_plain(value):
            return NotImplemented
        if not isinstance(value, SmallArray) or dtype not in (float, None, np.float64):
            raise Unread("an array like another that is not known")
        return SmallArray(value.shape, [number] * len(value.cells))

    return handler


FUNCTIONS[np.zeros_like], FUNCTIONS[np.ones_like] = _filled(0.0), _filled(1.0)


@entry(types.SimpleNamespace)
def _namespace(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    """Of a record: an object with these attributes."""
    if arguments or m.record is None:
        return NotImplemented
    return Record(dict(named))


FUNCTIONS[object.__setattr__] = set_by_object


@entry(builtins.vars)
def _vars(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    (value,) = given(arguments, named, "obj")
    if not isinstance(value, ProgramObject) or "__slots__" in vars(value.kind):
        return NotImplemented
    value.shared = True  # the dict is the object's own: neither is to be changed from here on
    return Map(dict(value.attributes), shared=True)
