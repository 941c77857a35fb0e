"""What functions do on forms, arrays and rows. What is not here is refused."""

from __future__ import annotations

import builtins
import collections
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.contributions.arithmetic import (
    is_nan,
    is_number,
    is_plain,
    natively,
    to_native,
    unshared,
)
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.control.objects import special
from dpest.reading.contributions.control.public import method_of, ordered
from dpest.reading.contributions.forms import RECORD, SymbolicForm, Unread, number
from dpest.reading.contributions.functions.selections import largest
from dpest.reading.contributions.functions.units import (
    PRIVATE_SCALE,
    Divided,
    has_unit,
    is_positive,
)
from dpest.reading.contributions.ledger import ONCE
from dpest.reading.contributions.persons import (
    PERSON,
    by_person,
    derived,
    ends_of,
    is_user,
    of_people,
    once,
)
from dpest.reading.contributions.shapes import structured
from dpest.reading.contributions.values import (
    Bound,
    Case,
    Combined,
    Key,
    KeyCounts,
    Map,
    Object,
    Option,
    PlainIterator,
    ProgramObject,
    PublicValue,
    RecordPosition,
    RecordTruth,
    Rows,
    RowsIterator,
    RowsLength,
    Seq,
    SetOfData,
    SmallArray,
    Stepped,
    Transposed,
    Uniforms,
)

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine

WHOLE_TYPES = (int, np.int64, "int", "int64", "i8")
PURE_MODULES = ("math", "numpy", "scipy", "fractions", "operator", "collections", "itertools")
Handler = Callable[["ContributionMachine", list[Any], dict[str, Any]], Any]
FUNCTIONS: dict[Any, Handler] = {}


def entry(*functions: Any) -> Callable[[Handler], Handler]:
    def declare(handler: Handler) -> Handler:
        for function in functions:
            FUNCTIONS[function] = handler
        return handler

    return declare


def _plain(arguments: list[Any], named: dict[str, Any]) -> bool:
    return all(map(is_plain, (*arguments, *named.values())))


def rows_of(m: ContributionMachine, value: Any) -> Any:
    """The rows behind a list of the data."""
    if isinstance(value, Object):
        found = value.rows()
        return value if found is None else found
    return value.rows if isinstance(value, Seq) and value.rows is not None else value


def _array(m: ContributionMachine, value: Any) -> Any:
    """A list as NumPy's functions take it."""
    value = rows_of(m, value)
    if isinstance(value, Object) and (cells := value.cells()) is not None:
        return cells
    return m.array(value) if isinstance(value, (Rows, Seq, tuple)) else value


# Python ------------------------------------------------------------------------------------------


@entry(builtins.len)
def _len(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if len(arguments) == 1 and isinstance(arguments[0], Object):
        return arguments[0].length(m)
    value = rows_of(m, *arguments)
    if isinstance(value, Rows):
        return m.length_of(value)
    if isinstance(value, Map) and value.partial and not value.growing and value.noisy is None:
        value = m.counts_of(value)
    if isinstance(value, KeyCounts):
        return m.distinct(value)
    if isinstance(value, Seq):
        if value.drained and not m.flipping:
            raise Unread("how many candidates are left")
        return m.public() if value.bag else len(value.items)
    if (people := by_person(value)) is not None:
        return m.length_of(people)
    if isinstance(value, Map):
        if value.partial or value.growing:
            raise Unread("how many keys the data have")
        return m.public() if value.open else len(value.items)
    if isinstance(value, SmallArray) and value.shape:
        return value.shape[0]
    if isinstance(value, (tuple, str, range)):
        return len(value)
    if isinstance(value, PublicValue):
        return m.publicly(len, value)
    if isinstance(value, ProgramObject):
        return special(m, value, "__len__")
    raise Unread(f"the length of {type(value).__name__}")


@entry(builtins.sum)
def _sum(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    value, start = given(arguments, named, "iterable", "start", start=0)
    value = rows_of(m, value)
    if isinstance(value, RowsIterator):
        value = value.rows
    if isinstance(value, Rows):
        total = m.sum_rows(value)
        return total if is_number(start) and start == 0 else m.binary("+", start, total)
    total = start
    if isinstance(value, PublicValue):
        return m.publicly(builtins.sum, value, start)
    for part in m.listed(value):
        total = m.binary("+", total, part)
    return total


def _extreme(op: str) -> Handler:
    def handler(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
        key = named.pop("key", None) if "key" in named else None
        if named:
            raise Unread(f"{op} with a default")
        if len(arguments) == 1 and isinstance(arguments[0], PublicValue) and key is None:
            return m.publicly(getattr(builtins, op), arguments[0])
        values = arguments if len(arguments) > 1 else m.listed(arguments[0])
        if not values:
            raise Unread(f"{op} of nothing")
        if key is not None:
            return largest(m, [m.call(key, [v], {}) for v in values], tuple(values), op)
        if any(isinstance(v, (tuple, PublicValue)) for v in values):
            return m.publicly(getattr(builtins, op), Seq(list(values)))
        if any(isinstance(v, (Rows, SmallArray, Seq)) for v in values):
            raise Unread(f"{op} of arrays")
        if is_nan(values[0]):
            return values[0]  # nothing is smaller, and nothing is greater
        return m.extreme(op, [v for v in values if not is_nan(v)])

    return handler


FUNCTIONS[builtins.min] = _extreme("min")
FUNCTIONS[builtins.max] = _extreme("max")


@entry(builtins.abs, np.abs, np.absolute, np.fabs, math.fabs)
def _abs(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "x")
    return m.elementwise(m.absolute, rows_of(m, value))


@entry(builtins.float, np.float64)
def _float(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "x")
    if is_plain(value) and not isinstance(value, SmallArray):
        return natively(float, value)
    if isinstance(value, SmallArray) and len(value.cells) == 1:
        value = value.cells[0]
    if isinstance(value, PublicValue):
        return m.publicly(float, value)
    if isinstance(value, (SymbolicForm, RecordTruth, Combined)) or is_number(value):
        return m.tidy(m.form(value))
    raise Unread("float of a value that is no number")


@entry(builtins.bool)
def _bool(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "x")
    if isinstance(value, PublicValue):
        return m.publicly(bool, value)
    return value if isinstance(value, (RecordTruth, Combined)) else m.decide(value)


@entry(builtins.int)
def _int(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if _plain(arguments, named):
        return natively(int, *arguments, **named)
    (value,) = given(arguments, named, "x")
    if isinstance(value, PublicValue):
        return m.publicly(int, value)
    if isinstance(value, Key) and getattr(value.source, "order", "") == "sorted":
        return value  # in an order of their own, keys that become one tell nothing more
    if isinstance(value, (RecordTruth, Combined)):
        return int(m.form(value).constant)
    if m.is_whole_sum(value):
        return value
    found = m.local(m.form(value))
    if m.terms.kind(found):
        node = m.terms.nodes[found.terms[0][0]]
        if node[0] == "field" and m.fields[node[2]][2] and found == m.terms.of(*node):
            return found  # it is whole already
        return _cut_off(m, found)
    return m.publicly(int, found)


def _cut_off(m: ContributionMachine, form: SymbolicForm) -> int:
    """int() of a record's number that lies within narrow bounds, by cases."""
    low, high = ends_of(m, form)
    if m.record is None or m.terms.kind(form) != RECORD or low is None or high is None:
        raise Unread("int of a private value")
    if high - low > MOST_VALUES:
        raise Unread("int of a private value that may be one of very many")
    for k in range(int(low), int(high)):
        # int(v) <= k: below k + 1, or, as it goes towards 0, not above a negative k.
        below = (
            RecordTruth(">", number(k + 1) - form)
            if k >= 0
            else RecordTruth(">=", number(k) - form)
        )
        if m.decide(below):
            return k
    return int(high)


def _rounding(function: Any) -> Handler:
    def handler(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
        if _plain(arguments, named):
            return NotImplemented
        value = rows_of(m, arguments[0])
        if isinstance(value, Rows) or m.in_pass:
            return m.elementwise(lambda x: _rounded(m, function, x, arguments[1:]), value)
        return m.publicly(function, *arguments, **named)

    return handler


def _rounded(m: ContributionMachine, function: Any, value: Any, digits: list[Any]) -> Any:
    """A record's number, rounded: between its ends, rounded."""
    if is_number(value):
        return natively(function, value, *digits)
    form = m.local(m.form(value))
    if not m.terms.kind(form):
        return m.publicly(function, form, *digits)
    places = digits[0] if digits else 0
    if not isinstance(places, int) or (function in (np.floor, np.ceil) and places):
        raise Unread("rounding to a number of digits that is not known")
    kind = {math.floor: "floor", np.floor: "floor", math.ceil: "ceil", np.ceil: "ceil"}
    scale = number(Fraction(10) ** places)
    inner = m.terms.mul(form, scale)
    return m.terms.of(kind.get(function, "rint"), inner).times(1 / scale.constant)


for _rounds in (builtins.round, math.floor, math.ceil, np.round, np.rint, np.floor, np.ceil):
    FUNCTIONS[_rounds] = _rounding(_rounds)


@entry(builtins.range)
def _range(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if len(arguments) == 1 and m.is_length(arguments[0]):
        return Rows((Case((), RecordPosition()),), False)
    if _plain(arguments, named):
        found = range(*map(to_native, arguments))
        if len(found) > 20_000:
            raise Unread("a loop with very many turns")
        return found
    raise Unread("a range whose ends are not plain")


@entry(builtins.enumerate)
def _enumerate(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    value, start = given(arguments, named, "iterable", "start", start=0)
    iterator = m.iterate(value)
    if isinstance(iterator, RowsIterator):
        place = RecordPosition() if is_number(start) and start == 0 else Stepped()
        return RowsIterator(m.per_record(lambda e: (place, e), iterator.rows))
    if not isinstance(iterator, PlainIterator) or not is_number(start):
        raise Unread("enumerate of values that are not known")
    return PlainIterator.over(enumerate(iterator.items, start))


@entry(builtins.zip)
def _zip(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if set(named) - {"strict"}:
        raise Unread("zip with unknown arguments")
    iterators = [m.iterate(v) for v in arguments]
    if [getattr(i, "gives", None) for i in iterators] == ["keys", "values"]:
        keys, counts = iterators
        if keys.source is not None and keys.source is counts.source and keys.order == counts.order:
            return replace(counts, gives="items")
    if all(isinstance(i, PlainIterator) for i in iterators):
        return PlainIterator.over(zip(*(i.items for i in iterators), strict=False))
    if not all(isinstance(i, RowsIterator) and i.rows.whole for i in iterators):
        raise Unread("zip of the data and of other values")
    return RowsIterator(m.per_record(lambda *e: e, *(i.rows for i in iterators)))


@entry(builtins.list, builtins.tuple)
def _list(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not arguments:
        return Seq()
    (value,) = given(arguments, named, "x")
    value = rows_of(m, value)
    if isinstance(value, RowsIterator):
        value = value.rows
    if isinstance(value, Rows):
        return Seq(rows=Rows(value.cases, False))
    if isinstance(value, Map) and value.open:
        raise Unread("the keys of the data in the order in which they occur: sort them first")
    if isinstance(value, PublicValue):
        return value if value.recipe is None else m.publicly(builtins.list, value)
    return Seq(m.listed(value))


@entry(builtins.sorted)
def _sorted(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    value, key, reverse = given(arguments, named, "x", "key", "reverse", key=None, reverse=False)
    if isinstance(value, Map) and value.partial and by_person(value) is None:
        value = m.counts_of(value)
    if isinstance(value, SetOfData):
        value = value.iterate(m)
    if isinstance(value, KeyCounts):
        if key is not None or reverse or value.gives == "values":
            raise Unread("keys of the data in an order of their own")
        return replace(value, source=value.source or value, order="sorted")
    if isinstance(value, (Seq, Map)) and (
        getattr(value, "bag", False) or getattr(value, "open", False)
    ):
        if key is not None:
            raise Unread("keys of the data in an order of their own")
        return PublicValue()
    if isinstance(value, PublicValue):
        if key is not None:
            raise Unread("a list that is not known, in an order of its own")
        return m.publicly(builtins.sorted, value, reverse=reverse)
    values = m.listed(value)
    if key is None and not reverse and all(map(is_number, values)):
        return Seq(sorted(values))
    keys = values if key is None else [m.call(key, [v], {}) for v in values]
    order = m.publicly(ordered, tuple(values), tuple(keys), reverse)
    return m.items_of(order, len(values))


@entry(builtins.set, builtins.frozenset)
def _set(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not arguments and not named:
        return SetOfData()
    (value,) = given(arguments, named, "x")
    if isinstance(value, (Seq, Map)) and (
        getattr(value, "bag", False) or getattr(value, "open", False)
    ):
        return PublicValue()
    rows = value.rows if isinstance(value, RowsIterator) else rows_of(m, value)
    if isinstance(rows, Rows) and is_user(rows):
        return Seq(rows=once(rows))  # good for counting, and for one turn for each
    if isinstance(rows, Rows) and not any(ONCE in c.conditions for c in rows.cases):
        return KeyCounts(rows, counted=False, order="set")
    return m.publicly(builtins.set, value)


@entry(builtins.dict)
def _dict(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not arguments:
        return Map(dict(named))
    (value,) = arguments
    if isinstance(value, Map) and not (value.frozen or value.growing or value.noisy):
        return Map({**value.items, **named}, value.open, partial=set(value.partial))
    if isinstance(value, PublicValue):
        return m.publicly(builtins.dict, value, **named)
    found: dict[Any, Any] = {}
    for pair in m.listed(value):
        parts = m.listed(pair)
        if len(parts) != 2 or not is_plain(parts[0]):
            return m.publicly(builtins.dict, value, **named)
        found[parts[0]] = parts[1]
    return Map({**found, **named})


@entry(collections.defaultdict)
def _defaultdict(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    (factory,) = given(arguments, named, "default_factory")
    if factory is list:
        return Map(default=list)
    if factory not in (int, float):
        raise Unread("a defaultdict of other values than numbers")
    return Map(default=factory())


@entry(collections.Counter)
def _counter(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not arguments and not named:
        return Map(default=0, counter=True)
    (value,) = given(arguments, named, "x")
    if isinstance(value, Map) and not (value.open or value.frozen or value.partial):
        return Map(dict(value.items), default=0, counter=True)
    value = rows_of(m, value)
    if isinstance(value, RowsIterator):
        value = value.rows
    if not isinstance(value, Rows):
        raise Unread("a Counter of values other than the data")
    if is_user(value):
        return Map({PERSON: derived(m, "count", m.per_record(lambda _: 1, value))})
    for case in value.cases:
        known = isinstance(case.element, (SymbolicForm, Option)) or is_plain(case.element)
        if case.present and not known:
            raise Unread("a Counter of values that are neither numbers nor one of a few")
    return KeyCounts(rows=value)


def count_of(m: ContributionMachine, counts: KeyCounts, key: Any) -> Any:
    """counts[key], for a key that is public: how many records are that."""
    known = counts.rows is not None and counts.gives == "keys" and counts.counted
    if not known or not is_plain(key):
        raise Unread("a look-up in the counts of the data")
    return m.sum_rows(m.per_record(lambda e: int(m.decide(m.compare("==", e, key))), counts.rows))


# Mathematics -------------------------------------------------------------------------------------


def _of_one(op: str, *functions: Any) -> None:
    def handler(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
        if _plain(arguments, named) and not any(map(has_unit, arguments)):
            return NotImplemented
        (value,) = given(arguments, named, "x")
        native = functions[0]
        return m.elementwise(lambda x: m.function_of(op, native, x), rows_of(m, value))

    for function in functions:
        FUNCTIONS[function] = handler


_of_one("sqrt", np.sqrt, math.sqrt)
_of_one("exp", math.exp)
_of_one("npexp", np.exp)
_of_one("tanh", np.tanh, math.tanh)
_of_one("arctan", np.arctan, math.atan)
_of_one("sin", np.sin, math.sin)
_of_one("cos", np.cos, math.cos)
_of_one("log", math.log, np.log)
_of_one("log1p", math.log1p, np.log1p)


def _expit() -> None:
    from scipy.special import expit

    _of_one("expit", expit)


_expit()


@entry(np.sign)
def _sign(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if _plain(arguments, named):
        return NotImplemented
    (value,) = given(arguments, named, "x")
    value = _array(m, value)
    if not isinstance(value, Rows) and not m.in_pass:
        return m.publicly(np.sign, value)

    def one(x: Any) -> Any:
        if m.decide(m.compare(">", x, 0)):
            return 1.0
        return -1.0 if m.decide(m.compare("<", x, 0)) else 0.0

    return m.elementwise(one, value)


@entry(np.square)
def _square(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "x")
    return m.binary("**", _array(m, value), 2)


@entry(np.minimum, np.maximum, np.fmin, np.fmax)
def _pairwise(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    raise AssertionError


def _pair(op: str) -> Handler:
    def handler(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
        if _plain(arguments, named):
            return NotImplemented
        a, b = (_array(m, v) for v in given(arguments, named, "a", "b"))
        return m.elementwise(lambda x, y: m.extreme(op, [x, y]), a, b)

    return handler


FUNCTIONS[np.minimum] = _pair("min")
FUNCTIONS[np.maximum] = _pair("max")


def _pair_of_numbers(op: str) -> Handler:
    """np.fmin and np.fmax: NaN is left out."""

    def one(m: ContributionMachine, x: Any, y: Any) -> Any:
        numbers = [v for v in (x, y) if not is_nan(v)]
        return m.extreme(op, numbers) if numbers else math.nan

    def handler(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
        if _plain(arguments, named):
            return NotImplemented
        a, b = (_array(m, v) for v in given(arguments, named, "a", "b"))
        return m.elementwise(lambda x, y: one(m, x, y), a, b)

    return handler


FUNCTIONS[np.fmin] = _pair_of_numbers("min")
FUNCTIONS[np.fmax] = _pair_of_numbers("max")


def _test(on_nan: bool, *functions: Any) -> None:
    """A test for NaN: a form is a finite number."""

    def handler(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
        if _plain(arguments, named):
            return NotImplemented
        (value,) = given(arguments, named, "x")

        def one(x: Any) -> bool:
            if not isinstance(x, SymbolicForm) and not is_number(x):
                raise Unread("a test for NaN of a value that is no number")
            return is_nan(x) == on_nan

        return m.elementwise(one, _array(m, value))

    for function in functions:
        FUNCTIONS[function] = handler


_test(True, np.isnan, math.isnan)
_test(False, np.isfinite, math.isfinite)


@entry(np.nan_to_num)
def _nan_to_num(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if _plain(arguments, named):
        return NotImplemented
    value, _, nan = given(arguments, named, "x", "copy", "nan", copy=True, nan=0.0)
    if not is_number(nan):
        raise Unread("NaN that is replaced by something that is not plain")
    return m.elementwise(lambda x: nan if is_nan(x) else x, _array(m, value))


@entry(np.nansum)
def _nansum(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "a")
    return _summed(m, m.elementwise(lambda x: 0 if is_nan(x) else x, _array(m, value)), None)


def _operator(op: str) -> Handler:
    def handler(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
        a, b = (_array(m, v) for v in given(arguments, named, "a", "b"))
        return m.binary(op, a, b)

    return handler


for _function, _op in (
    (np.add, "+"), (np.subtract, "-"), (np.multiply, "*"), (np.divide, "/"), (np.matmul, "@"),
    (np.logical_and, "&"), (np.logical_or, "|"),
):  # fmt: skip
    FUNCTIONS[_function] = _operator(_op)


@entry(np.dot, np.inner, np.vdot)
def _dot(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    a, b = (_array(m, v) for v in given(arguments, named, "a", "b"))
    if is_number(a) or is_number(b) or isinstance(a, SymbolicForm) or isinstance(b, SymbolicForm):
        return m.binary("*", a, b)
    return m.binary("@", a, b)


@entry(np.clip)
def _clip(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if _plain(arguments, named):
        return NotImplemented
    names = {"min": "a_min", "max": "a_max"}
    named = {names.get(k, k): v for k, v in named.items()}
    value, low, high = given(arguments, named, "a", "a_min", "a_max", a_min=None, a_max=None)
    return _clipped(m, _array(m, value), low, high)


def _clipped(m: ContributionMachine, value: Any, low: Any, high: Any) -> Any:
    ends = [_array(m, e) for e in (low, high)]
    if ends[0] is None or ends[1] is None:
        return m.elementwise(lambda x: m.clip(x, *ends), value)
    return m.elementwise(m.clip, value, *ends)


@entry(np.array)
def _new_array(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    value, dtype, copied = given(arguments, named, "x", "dtype", "copy", dtype=None, copy=True)
    if isinstance(dtype, Seq) and isinstance(rows_of(m, value), Rows):
        return structured(m, rows_of(m, value), dtype)
    if dtype in WHOLE_TYPES:
        return _whole_array(m, value)
    _float_type(dtype)
    if isinstance(value, SmallArray):
        return m.array(value) if copied is True else value.view(value.shape, list(value.cells))
    return _array(m, value)


@entry(np.asarray, np.asanyarray, np.ascontiguousarray, np.atleast_1d)
def _as_array(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    value, dtype, _ = given(arguments, named, "x", "dtype", "copy", dtype=None, copy=None)
    if dtype in WHOLE_TYPES:
        return _whole_array(m, value)
    _float_type(dtype)
    if isinstance(value, SmallArray):
        return value.view(value.shape, list(value.cells))
    return _array(m, value)


def _whole_array(m: ContributionMachine, value: Any) -> Any:
    """An array of whole numbers, made of numbers that are cut off one by one."""
    return m.elementwise(lambda v: m.call(int, [v], {}), _array(m, value))


def _float_type(dtype: Any) -> None:
    if dtype not in (None, float, np.float64, "float", "float64", "f8"):
        raise Unread(f"an array of {dtype}")


@entry(np.sum)
def _np_sum(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    value, axis, keep = given(arguments, named, "a", "axis", "keepdims", axis=None, keepdims=False)
    return _summed(m, _array(m, value), axis, keep)


def _summed(m: ContributionMachine, value: Any, axis: Any, keep: Any = False) -> Any:
    if isinstance(value, Rows):
        deep = any(isinstance(c.element, SmallArray) for c in value.cases)
        if axis == 0 or (axis in (None, -1) and not deep):
            if keep:
                raise Unread("keepdims")
            return m.sum_rows(value)
        if axis is None:
            return _summed(m, m.sum_rows(value), None)
        if axis in (1, -1) and deep:
            return m.per_record(lambda e: _kept(_summed(m, e, -1), keep), value)
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
        return SmallArray(shape, [_summed(m, p, None) for p in parts])
    return value


def _kept(value: Any, keep: Any) -> Any:
    return SmallArray((1,), [value]) if keep else value


@entry(np.mean, np.average)
def _np_mean(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    value, axis = given(arguments, named, "a", "axis", axis=None)
    return _mean(m, _array(m, value), axis)


def _mean(m: ContributionMachine, value: Any, axis: Any) -> Any:
    if isinstance(value, Rows):
        if axis is None and any(isinstance(c.element, SmallArray) for c in value.cases):
            raise Unread("the mean of an array of the data")
        if axis in (None, 0):
            return m.binary("/", m.sum_rows(value), m.length_of(value))
        return m.per_record(lambda e: _mean(m, e, None), value)
    if isinstance(value, SmallArray) and (axis is None or len(value.shape) == 1):
        return m.binary("/", _summed(m, value, None), len(value.cells))
    raise Unread("a mean over this axis")


@entry(np.linalg.norm)
def _norm(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    value, order, axis, keep = given(
        arguments, named, "x", "ord", "axis", "keepdims", ord=None, axis=None, keepdims=False
    )
    value = _array(m, value)
    if order not in (None, 2) or not isinstance(keep, bool):
        if is_plain(value):
            return NotImplemented
        raise Unread("a norm other than the Euclidean one")
    if isinstance(value, Rows):
        if axis not in (1, -1):
            raise Unread("the norm of an array of the data")
        return m.per_record(lambda e: _kept(_length(m, e), keep), value)
    if is_plain(value):
        return NotImplemented
    if isinstance(value, SmallArray) and (
        axis is None or (len(value.shape) == 1 and axis in (0, -1))
    ):
        if len(value.shape) != 1:
            raise Unread("the norm of a matrix")
        return _kept(_length(m, value), keep)
    raise Unread("a norm over this axis")


def _length(m: ContributionMachine, value: Any) -> Any:
    if not isinstance(value, SmallArray):
        raise Unread("the norm of one number per record")
    return m.terms.norm([m.local(m.form(c)) for c in value.cells])


@entry(math.hypot, np.hypot)
def _hypot(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if _plain(arguments, named):
        return NotImplemented
    if any(isinstance(a, (Rows, SmallArray)) for a in arguments) or named:
        raise Unread("hypot of arrays")
    return m.terms.norm([m.local(m.form(c)) for c in arguments])


@entry(np.where)
def _where(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if _plain(arguments, named):
        return NotImplemented
    truth, a, b = (_array(m, v) for v in given(arguments, named, "condition", "x", "y"))
    if isinstance(truth, Rows):
        return m.elementwise(lambda t, x, y: x if m.decide(t) else y, truth, a, b)
    return m.elementwise(lambda t, x, y: x if m.decide(t) else y, truth, a, b)


@entry(np.bincount)
def _bincount(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if _plain(arguments, named):
        return NotImplemented
    value, least = given(arguments, named, "x", "minlength", minlength=0)
    value = rows_of(m, value)
    if not isinstance(value, Rows) or not isinstance(least, int):
        raise Unread("bincount of values that are not known")
    for case in value.cases:
        if case.present:
            _check_bins(m, case.element, least)

    def bins(element: Any) -> SmallArray:
        place = m.pinned(element)
        return SmallArray((least,), [int(k == place) for k in range(least)])

    return m.sum_rows(m.per_record(bins, value))


def _check_bins(m: ContributionMachine, element: Any, least: int) -> None:
    low, high = (element, element) if is_number(element) else m.whole_range(element)
    if low is None or high is None or low < 0 or high >= least:
        raise Unread(
            f"np.bincount of data that may lie outside of 0..{least - 1}: its result gets longer "
            "with them, and a negative number is an error. Say what the data are "
            f"(domain=dpest.integers(dpest.ANY, 0, {max(least - 1, 1)})) and minlength; or np.clip "
            "them first"
        )


@entry(np.count_nonzero)
def _count(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "a")
    value = _array(m, value)
    if not isinstance(value, Rows):
        return NotImplemented
    return m.sum_rows(m.per_record(lambda e: int(m.decide(e)), value))


@entry(np.histogram)
def _histogram(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if _plain(arguments, named):
        return NotImplemented
    value, bins, ends = given(arguments, named, "a", "bins", "range", bins=10, range=None)
    value = _array(m, value)
    if not isinstance(value, Rows):
        raise Unread("a histogram of values that are not known")
    edges = _edges(m, bins, ends)

    def counts(element: Any) -> SmallArray:
        place = _bin_of(m, element, edges)
        return SmallArray((len(edges) - 1,), [int(j == place) for j in range(len(edges) - 1)])

    total = m.sum_rows(m.per_record(counts, value))
    return total, SmallArray((len(edges),), list(edges))


def _bin_of(m: ContributionMachine, element: Any, edges: list[float]) -> int | None:
    """The bin that a number lies in; the last one has both of its ends."""
    if not m.decide(m.compare(">=", element, edges[0])):
        return None
    for j, edge in enumerate(edges[1:]):
        last = j == len(edges) - 2
        if m.decide(m.compare("<=" if last else "<", element, edge)):
            return j
    return None


@entry(np.histogram2d)
def _histogram2d(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if _plain(arguments, named):
        return NotImplemented
    x, y, bins, ends = given(arguments, named, "x", "y", "bins", "range", bins=10, range=None)
    values = [_array(m, v) for v in (x, y)]
    if not all(isinstance(v, Rows) for v in values):
        raise Unread("a histogram of values that are not known")
    each = [bins, bins] if is_number(bins) else m.listed(bins)
    ranges = [None, None] if ends is None else m.listed(ends)
    if len(each) != 2 or len(ranges) != 2:
        raise Unread("a histogram of two variables with other than two lists of edges")
    first, second = (_edges(m, one, between) for one, between in zip(each, ranges, strict=True))

    def counts(a: Any, b: Any) -> SmallArray:
        place = (_bin_of(m, a, first), _bin_of(m, b, second))
        shape = (len(first) - 1, len(second) - 1)
        return SmallArray(
            shape, [int((i, j) == place) for i in range(shape[0]) for j in range(shape[1])]
        )

    total = m.sum_rows(m.per_record(counts, *values))
    return total, SmallArray((len(first),), list(first)), SmallArray((len(second),), list(second))


def _edges(m: ContributionMachine, bins: Any, between: Any) -> list[float]:
    """The edges of bins, which must not depend on the data."""
    bins = _array(m, bins)
    if not is_number(bins):
        if not is_plain(bins):
            raise Unread("a histogram of values that are not known")
        return [float(e) for e in bins.cells]
    limits = None if between is None else m.listed(between)
    if limits is None or not all(map(is_plain, limits)):
        raise Unread("a histogram whose range depends on the data: give range")
    return [float(e) for e in np.linspace(limits[0], limits[1], int(bins) + 1)]


@entry(np.cumsum)
def _cumsum(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "a")
    value = _array(m, value)
    if not isinstance(value, SmallArray) or len(value.shape) != 1:
        raise Unread("cumsum over the data")
    total: Any = 0
    cells = []
    for cell in value.cells:
        total = m.mixed("+", total, cell)
        cells.append(total)
    return SmallArray(value.shape, cells)


# Draws -------------------------------------------------------------------------------------------


NOISE_FOR_EACH = (
    "noise is drawn for each record. A sensitivity is proved for sums over the records, to which "
    "noise is added afterwards"
)


def noise_like(m: ContributionMachine, family: str, loc: Any, scale: Any, size: Any) -> Any:
    if m.record is not None and m.key is None:
        raise Unread(NOISE_FOR_EACH)
    loc, scale = _array(m, loc), _array(m, m.pinned_public(scale))
    if not has_unit(scale) and not m.is_public(scale):
        raise Unread(PRIVATE_SCALE)
    if isinstance(loc, Rows) or m.is_length(size):
        raise Unread(NOISE_FOR_EACH)
    shape = _shape(size)
    for value in (loc, scale):
        if isinstance(value, SmallArray):
            if shape is None:
                shape = value.shape
            elif np.broadcast_shapes(shape, value.shape) != shape:
                raise Unread("noise of another shape than its location")
    if shape is None:
        return (
            m.binary("+", loc, _one(m, family, scale)) if not _zero(loc) else _one(m, family, scale)
        )
    scales = m.broadcast(lambda _, s: s, SmallArray(shape, [0] * int(np.prod(shape))), scale)
    drawn = scales.map(lambda s: _one(m, family, s))
    return drawn if _zero(loc) else m.binary("+", loc, drawn)


def _zero(value: Any) -> bool:
    return is_number(value) and value == 0


def _one(m: ContributionMachine, family: str, scale: Any) -> Any:
    if has_unit(scale):
        return _in_units(m, family, scale)
    if isinstance(scale, SymbolicForm) and scale.terms:
        return _divided(m, family, scale)
    if not is_number(scale) and not isinstance(scale, SymbolicForm):
        raise Unread("a scale of noise that is not known")
    if isinstance(scale, SymbolicForm):
        scale = scale.constant
    size = Fraction(scale.item() if hasattr(scale, "item") else scale)
    if family == "geometric":
        return m.noise(family, 1 - size) if size != 1 else 0
    if size < 0:
        raise Unread("a negative scale")
    return m.noise(family, size) if size else 0.0


def _in_units(m: ContributionMachine, family: str, scale: Any) -> Any:
    """Noise whose scale is a multiple of a power of eps, perhaps divided by a public number."""
    unit = scale.unit if isinstance(scale, Divided) else scale
    if family == "geometric" or not is_positive(unit):
        raise Unread("a scale of noise that is not known")
    if not isinstance(scale, Divided):
        return m.noise(family, unit)
    if scale.power != -1:
        raise Unread("a scale of noise that is not known")
    return m.terms.of("over", m.noise(family, unit, scale.number), scale.number)


def _divided(m: ContributionMachine, family: str, scale: SymbolicForm) -> Any:
    """Noise of the scale c/d, d public and not known here: noise of the scale c, divided by d."""
    ((symbol, c), *others) = scale.terms
    node = m.terms.nodes[symbol]
    if others or scale.constant or node[0] != "div" or node[1].terms or node[2].constant:
        raise Unread("a scale of noise that is not known")
    lead = node[2].terms[0][1]
    size = c * node[1].constant / lead
    if size <= 0 or family == "geometric":
        raise Unread("a scale of noise that is not known")
    divisor = node[2].times(1 / lead)
    return m.terms.of("over", m.noise(family, size, divisor), divisor)


def _shape(size: Any) -> tuple[int, ...] | None:
    if size is None:
        return None
    if isinstance(size, tuple) and all(isinstance(s, int) for s in size):
        return size
    if isinstance(size, (int, np.integer)):
        return (int(size),)
    raise Unread("a number of draws that is not known")


def uniform_draw(m: ContributionMachine, size: Any) -> Any:
    if m.key is not None:
        raise Unread("coins for the keys of the data")
    if m.record is not None:
        if size is not None:
            raise Unread("several coins for a record")
        m.coin_count += 1
        return Uniforms(("loop", m.loop_count, m.coin_count))
    if m.is_length(size):
        m.loop_count += 1
        return Rows((Case((), Uniforms(("draw", m.loop_count))),), True)
    shape = _shape(size)
    if shape is None:
        return m.uniform()
    raise Unread("several uniform draws at once")


# Methods -----------------------------------------------------------------------------------------


MOST_VALUES = 64  # of a record's number, looked at one by one


class _Methods:
    """Attributes and methods of values that are not plain."""

    further: dict[type, Any]
    """Methods that another file knows."""

    def attribute(self, m: ContributionMachine, owner: Any, name: str) -> Any:
        if isinstance(owner, Seq) and owner.rows is not None and name not in ("append",):
            return Bound(owner, name)
        if isinstance(owner, Rows) and owner.array:
            wide = next((c.element for c in owner.cases if c.present), None)
            if name == "shape":
                rest = wide.shape if isinstance(wide, SmallArray) else ()
                return (m.length_of(owner), *rest)
            if name == "size" and not isinstance(wide, SmallArray):
                return m.length_of(owner)
            if name == "ndim":
                return 1 + (len(wide.shape) if isinstance(wide, SmallArray) else 0)
            if name == "T":
                return Transposed(owner) if isinstance(wide, SmallArray) else owner
        if isinstance(owner, SmallArray):
            if name == "shape":
                return owner.shape
            if name == "size":
                return len(owner.cells)
            if name == "ndim":
                return len(owner.shape)
            if name == "T":
                if len(owner.shape) != 2:
                    return owner
                n, k = owner.shape
                moved = [owner.cells[i * k + j] for j in range(k) for i in range(n)]
                return owner.view((k, n), moved)
        return Bound(owner, name)

    def call(
        self,
        m: ContributionMachine,
        owner: Any,
        name: str,
        arguments: list[Any],
        named: dict[str, Any],
    ) -> Any:
        if name == "__getitem__" and len(arguments) == 1 and not named:
            return m.item(owner, arguments[0])
        if isinstance(owner, Seq) and owner.rows is not None and name == "copy":
            return owner
        if isinstance(rows_of(m, owner), Rows) and name == "count" and len(arguments) == 1:
            if isinstance(owner, Rows) and owner.array:
                raise Unread("the method `count` of an array")
            if isinstance(arguments[0], Key):
                return m.count_at(rows_of(m, owner), arguments[0])
            return count_of(m, KeyCounts(rows_of(m, owner)), arguments[0])
        if isinstance(owner, (Rows, SmallArray)):
            return self._of_array(m, owner, name, arguments, named)
        if isinstance(owner, Seq):
            return self._of_list(m, owner, name, arguments, named)
        if isinstance(owner, Map):
            return self._of_dict(m, owner, name, arguments, named)
        if isinstance(owner, KeyCounts) and name in _VIEWS and not arguments and not named:
            return replace(owner, gives=name, source=owner)
        if isinstance(owner, KeyCounts) and name == "most_common" and not arguments and not named:
            return replace(owner, gives="items", source=owner, order="count")
        if isinstance(owner, KeyCounts) and owner.counted and name == "get" and not named:
            key, otherwise = given(arguments, named, "key", "default", default=None)
            if otherwise != 0:
                raise Unread("a look-up in the counts of the data that is not 0 for an absent key")
            return count_of(m, owner, key)
        if isinstance(owner, SymbolicForm) and name == "item" and not arguments:
            return owner
        if isinstance(owner, SymbolicForm) and name == "round":
            return FUNCTIONS[builtins.round](m, [owner, *arguments], named)
        if (is_number(owner) or isinstance(owner, str)) and _plain(arguments, named):
            return natively(
                lambda o, *a, **k: getattr(o, name)(*a, **k), owner, *arguments, **named
            )
        if isinstance(owner, str) and name == "join" and len(arguments) == 1:
            arguments = [Seq(m.listed(arguments[0]))]
        if isinstance(owner, (str, SymbolicForm)) or is_number(owner):
            return m.publicly(method_of(name), owner, *arguments, **named)
        raise Unread(f"the method `{name}` of {type(owner).__name__}")

    def _of_array(
        self,
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
            return _summed(m, owner, axis, keep)
        if name == "mean":
            (axis,) = given(arguments, named, "axis", axis=None)
            return _mean(m, owner, axis)
        if name == "clip":
            names = {"min": "a_min", "max": "a_max"}
            ends = {names.get(k, k): v for k, v in named.items()}
            low, high = given(arguments, ends, "a_min", "a_max", a_min=None, a_max=None)
            return _clipped(m, owner, low, high)
        if name == "dot":
            return m.binary("@", owner, *arguments)
        if name == "astype":
            if len(arguments) == 1 and not named and arguments[0] in WHOLE_TYPES:
                return _whole_array(m, owner)
            _float_type(*arguments)
            return m.array(owner)
        if name == "copy" and not arguments:
            return m.array(owner)
        if name in ("tolist", "item") and isinstance(owner, SmallArray) and not arguments:
            if name == "item":
                return owner.cells[0] if len(owner.cells) == 1 else NotImplemented
            return Seq([r if not isinstance(r, SmallArray) else Seq(r.cells) for r in owner.rows()])
        if name == "tolist" and isinstance(owner, Rows):
            return Seq(rows=Rows(owner.cases, False))
        return self._further(m, owner, name, arguments, named)

    def _further(
        self,
        m: ContributionMachine,
        owner: Any,
        name: str,
        arguments: list[Any],
        named: dict[str, Any],
    ) -> Any:
        if type(owner) not in self.further:
            raise Unread(f"the method `{name}` of an array of the data")
        return self.further[type(owner)](m, owner, name, arguments, named)

    def _of_list(
        self,
        m: ContributionMachine,
        owner: Seq,
        name: str,
        arguments: list[Any],
        named: dict[str, Any],
    ) -> Any:
        if name == "append" and len(arguments) == 1:
            m.append(owner, arguments[0])
            return None
        if name == "copy" and not arguments and owner.rows is None and not owner.bag:
            return Seq(list(owner.items))
        if name == "extend" and len(arguments) == 1 and m.record is None and owner.rows is None:
            unshared(owner)
            owner.items.extend(m.listed(arguments[0]))
            return None
        return self._further(m, owner, name, arguments, named)

    def _of_dict(
        self,
        m: ContributionMachine,
        owner: Map,
        name: str,
        arguments: list[Any],
        named: dict[str, Any],
    ) -> Any:
        if m.record is not None and name in ("get", "setdefault") and arguments:
            arguments = [m.pinned(arguments[0]), *arguments[1:]]
            if is_plain(arguments[0]):
                m.touch(owner, arguments[0])
        if owner.open or (owner.noisy is not None and name not in _VIEWS):
            raise Unread(f"`{name}` of a mapping whose keys are those of the data")
        if name == "get" and arguments and arguments[0] is PERSON and not named:
            return m.of_person(owner, *arguments[1:])
        if (people := by_person(owner)) is not None:
            if name not in ("keys", "values", "items") or arguments or named:
                raise Unread(f"`{name}` of a mapping that has an entry for each person")
            return of_people(m, people, name)
        if name == "get" and len(arguments) == 2 and not named and arguments[0] in owner.partial:
            if not is_number(arguments[1]) or arguments[1] != 0:
                raise Unread("a key of the data that is absent and not 0")
            return owner.items[arguments[0]]
        if name == "setdefault" and not named and not owner.partial:
            key, value = given(arguments, named, "key", "default")
            if is_plain(key) and key not in owner.items:
                m.set_item(owner, key, value)
            return m.item(owner, key)
        if name == "update" and owner.counter and len(arguments) == 1 and m.record is None:
            return _count_more(m, owner, arguments[0])
        if owner.partial and not owner.growing and name in _VIEWS and not arguments and not named:
            return replace(m.counts_of(owner), gives=name)
        if (owner.partial or owner.growing) and name != "get":
            raise Unread(f"`{name}` of a mapping whose keys are those of the data")
        if name == "items" and not arguments:
            return Seq([(k, v) for k, v in owner.items.items()])
        if name == "values" and not arguments:
            return Seq(list(owner.items.values()))
        if name == "keys" and not arguments:
            return Seq(list(owner.items))
        if name == "get" and 1 <= len(arguments) <= 2 and not named and is_plain(arguments[0]):
            return owner.items.get(arguments[0], arguments[1] if len(arguments) > 1 else None)
        return self._further(m, owner, name, arguments, named)


def _count_more(m: ContributionMachine, counts: Map, values: Any) -> None:
    """Counter.update(data): each value that a record may be is counted."""
    values = values.rows if isinstance(values, RowsIterator) else rows_of(m, values)
    if not isinstance(values, Rows):
        raise Unread("a Counter that is told of values other than the data")
    elements = [c.element for c in values.cases if c.present]
    if not all(isinstance(e, Option) for e in elements):
        raise Unread("a Counter of values that are not one of a few")
    unshared(counts)
    for key in dict.fromkeys(v for e in elements for v in e.values):
        if key not in counts.items:
            counts.partial.add(key)
        found = count_of(m, KeyCounts(rows=values), key)
        counts.items[key] = m.binary("+", counts.items.get(key, 0), found)


_VIEWS = ("keys", "items", "values")
METHODS = _Methods()
METHODS.further = {}

__all__ = ["FUNCTIONS", "METHODS", "Key", "RowsLength", "entry", "given", "number"]
