"""Numbers of all records together that one record can't move far.

How many different values there are moves by 1 at most. An order statistic of numbers between two
bounds lies between them, and so moves by no more than their distance.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.reading.contributions.arithmetic import is_nan, is_number, is_plain
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.forms import SymbolicForm, Unread, form_of
from dpest.reading.contributions.functions import arrays, python_functions, sequences
from dpest.reading.contributions.functions.registry import FUNCTIONS, entry, rows_of
from dpest.reading.contributions.ledger import MovedStatistic, Pass
from dpest.reading.contributions.persons import ends_of, is_user
from dpest.reading.contributions.values import (
    KeyCounts,
    Object,
    Option,
    Rows,
    RowsIterator,
    Seq,
    SmallArray,
)

EXTENDED = (arrays, python_functions, sequences)
"""Their entries come first: those here look at the data alone, and leave the rest to them."""
ZERO, ONE = Fraction(0), Fraction(1)
Values = Callable[[list[Any]], float]


def distinct(m: Any, rows: Rows) -> SymbolicForm:
    """How many different values the records have."""
    for case in rows.cases:
        known = isinstance(case.element, (SymbolicForm, Option)) or is_plain(case.element)
        if case.present and not known:
            raise Unread("how many different values there are, of other than plain ones")
    return _total(
        m, MovedStatistic("distinct", rows, lambda v: len(set(v)), Fraction(0), Fraction(1), True)
    )


def quantified(m: Any, rows: Rows, conjunction: bool) -> SymbolicForm:
    """Whether all records (or any) are true, as 1 and 0: one more can make it false (or true)."""

    def true(element: Any) -> int:
        return int(m.decide(m.settled(element)))

    told = m.per_record(true, rows)
    if conjunction:
        found = _total(
            m,
            MovedStatistic(
                "all", told, lambda v: float(all(v)) - 1, Fraction(-1), Fraction(0), True
            ),
        )
        return found + form_of({}, ONE)
    return _total(
        m, MovedStatistic("any", told, lambda v: float(any(v)), Fraction(0), Fraction(1), True)
    )


def _total(m: Any, statistic: MovedStatistic) -> SymbolicForm:
    """A sum to which the record that differs adds what it moves the number by, and no other."""
    if m.in_pass or m.key is not None or m.rows_each != 1:
        raise Unread("a number of all records inside of a loop over them, or of people")
    if any(c.coin is not None for case in statistic.rows.cases for c in case.conditions):
        raise Unread("a number of all records of a sample")
    found = m.ledger.statistics
    name = f"{statistic.what} {len(found) + 1} of all records"
    found[name] = statistic
    m.fields[name] = (statistic.low, statistic.high, statistic.whole)
    m.settled_ways()
    adds = (m.terms.of("field", None, name),)
    m.ledger.passes.append(Pass((((), adds),), len(m.ledger.rows)))
    total: SymbolicForm = m.terms.of("sum", len(m.ledger.passes) - 1, 0)
    return total


def order_statistic(
    m: Any, what: str, rows: Rows, function: Values, count: int = 1
) -> SymbolicForm:
    """A number between the least and the largest of what the records have.

    Or the sum of `count` places of the sorted records, which moves no more (see `SortedRows`).
    """
    if not rows.whole or (m.public_length is None and m.least_records < 1):
        raise Unread(f"the {what} of data that may be empty")
    forms = [m.form(c.element) for c in rows.cases]
    ends = [e for f in forms for e in ends_of(m, f)]
    known = [e for e in ends if e is not None]
    if len(known) < len(ends) or not known:
        raise Unread(f"the {what} of numbers without bounds")
    low, width = min(known), max(known) - min(known)
    least = -width if m.public_length is None else ZERO
    from_low = float(count * low)
    if count > 1 and m.public_length is None:
        raise Unread(f"the {what} of data whose number is private")
    moved = _total(m, MovedStatistic(what, rows, lambda v: function(v) - from_low, least, width))
    return moved + form_of({}, count * low)


def _of_rows(m: Any, value: Any) -> Rows | None:
    if isinstance(value, RowsIterator):
        value = value.rows
    if isinstance(value, Object):
        value = value.rows() or value
    found = rows_of(m, value)
    return found if isinstance(found, Rows) and not is_user(found) else None


def _register(what: str, function: Any, *names: str) -> None:
    before = FUNCTIONS.get(function)

    def handler(m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
        rows = _of_rows(m, arguments[0]) if arguments else None
        if rows is None:
            if before is None or all(map(is_plain, (*arguments, *named.values()))):
                return NotImplemented
            return before(m, arguments, named)
        parts = given(arguments, named, "data", *names)
        if not all(is_number(p) for p in parts[1:]):
            raise Unread(f"the {what} at a place that is not plain")
        places = [float(p) for p in parts[1:]]
        return order_statistic(m, what, rows, lambda v: float(function(v, *places)))

    FUNCTIONS[function] = handler


_FEW = 7


def _median_of_few(m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    """The median of a few private numbers, by minima and maxima of two: it is one of them."""
    (value,) = given(arguments, named, "a")
    if isinstance(value, SmallArray) and len(value.shape) != 1:
        raise Unread("the median of an array with several axes")
    cells = list(value.cells if isinstance(value, SmallArray) else m.listed(value))
    forms = [c for c in cells if isinstance(c, SymbolicForm)]
    if len(forms) < len(cells) or not 0 < len(cells) <= _FEW or all(map(m.is_public, forms)):
        return m.publicly(np.median, value)
    for end in range(len(cells) - 1, 0, -1) if len(cells) > 2 else ():
        for i in range(end):
            pair = cells[i : i + 2]
            cells[i : i + 2] = [m.extreme("min", pair), m.extreme("max", pair)]
    low, high = cells[(len(cells) - 1) // 2], cells[len(cells) // 2]
    return m.binary("/", m.binary("+", low, high), 2)


FUNCTIONS[np.median] = FUNCTIONS[statistics.median] = _median_of_few
_function: Any
for _function in (np.median, statistics.median, statistics.median_low, statistics.median_high):
    _register("median", _function)
_register("quantile", np.quantile, "q")
_register("percentile", np.percentile, "q")
for _function in (max, np.max, np.amax):
    _register("largest value", _function)
for _function in (min, np.min, np.amin):
    _register("least value", _function)


def _mean(m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "data")
    rows = _of_rows(m, value)
    if rows is None:
        return NotImplemented
    return m.binary("/", m.sum_rows(rows), m.length_of(rows))


FUNCTIONS[statistics.mean] = FUNCTIONS[statistics.fmean] = _mean


def number_below(m: Any, rows: Rows, number: Any, side: str) -> Any:
    """bisect(sorted(x), v), np.searchsorted(np.sort(x), v): how many are below a public number."""
    if not m.is_public(number):
        raise Unread("how many are below a private number")
    below = "<" if side == "left" else "<="

    def is_below(x: Any) -> int:
        if is_nan(x):
            raise Unread("a place among sorted data that may be NaN, which has no place in them")
        return int(m.decide(m.compare(below, x, number)))

    return m.sum_rows(m.per_record(is_below, rows))


def squares_about_the_mean(m: Any, rows: Rows) -> SymbolicForm:
    """Σ (x − mean)². A record that comes makes it grow by n/(n + 1)·(x − mean)² at most."""
    if not rows.whole:
        raise Unread("the variance of a part of the data")
    forms = [m.form(c.element) for c in rows.cases]
    ends = [e for f in forms for e in ends_of(m, f)]
    known = [e for e in ends if e is not None]
    if len(known) < len(ends) or not known:
        raise Unread("the variance of numbers without bounds")
    width = max(known) - min(known)

    def total(values: list[float]) -> float:
        return float(np.var(values) * len(values)) if values else 0.0

    return _total(m, MovedStatistic("squares about the mean", rows, total, ZERO, width**2))


def variance(m: Any, rows: Rows, less: Any) -> Any:
    """The variance with n − less below the line."""
    if not is_number(less) or m.public_length is None:
        raise Unread("the variance of data whose number is private")
    if m.least_records <= less and less:
        raise Unread("the variance of data that may be too few")
    return m.binary("/", squares_about_the_mean(m, rows), m.binary("-", m.length_of(rows), less))


def _variance(function: Any, less: int) -> None:
    before = FUNCTIONS.get(function)

    def handler(m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
        rows = _of_rows(m, arguments[0]) if len(arguments) == 1 else None
        if rows is None:
            if before is None or all(map(is_plain, (*arguments, *named.values()))):
                return NotImplemented
            return before(m, arguments, named)
        if named.keys() - {"ddof"} or (named and function is not np.var):
            raise Unread("a variance with other arguments")
        return variance(m, rows, named.get("ddof", less))

    FUNCTIONS[function] = handler


_variance(np.var, 0)
_variance(statistics.pvariance, 0)
_variance(statistics.variance, 1)


class SortedRows(Object):
    """sorted(x): a place of it, and the sum of several next to each other.

    Where a record is replaced, |x₍₁₎ − y₍₁₎| + … + |x₍ₙ₎ − y₍ₙ₎| is no more than the two records
    differ by: so much does each place, and each sum of places, move at most.
    """

    words = "the sorted data"

    def __init__(self, rows: Rows, part: slice | None = None, array: bool = False) -> None:
        self.sorted, self.part, self.array = rows, part, array

    def operate(self, m: Any, op: str, a: Any, b: Any) -> Any:
        if op != "+" or self.array or not all(isinstance(v, (SortedRows, Seq)) for v in (a, b)):
            raise self.refused(f"`{op}`")
        return m.between_ends([a, b])

    def length(self, m: Any) -> Any:
        if self.part is not None:
            raise self.refused("the length of a part")
        return m.length_of(self.sorted)

    def item(self, m: Any, index: Any) -> Any:
        length = m.public_length
        if not is_number(length) or self.part is not None:
            raise self.refused("an item of a number of records that is not known")
        if isinstance(index, slice):
            return SortedRows(self.sorted, index, self.array)
        if type(index) is not int or not -length <= index < length:
            raise self.refused("an item")
        return order_statistic(m, "order statistic", self.sorted, lambda v: sorted(v)[index])

    def rank_of(self, m: Any, number: Any, side: str) -> Any:
        if self.part is not None:
            raise self.refused("a place by the order of a part")
        return number_below(m, self.sorted, number, side)

    def summed(self, m: Any) -> Any:
        part, length = self.part or slice(None), m.public_length
        if not is_number(length):
            raise self.refused("a sum of a number of records that is not known")
        count = len(range(int(length))[part])
        if part.step not in (None, 1) or not count:
            raise self.refused("a sum")
        return order_statistic(
            m, "sum of a part", self.sorted, lambda v: math.fsum(sorted(v)[part]), count
        )


def _sorted(before: Any, array: bool) -> Any:
    def handler(m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
        rows = _of_rows(m, arguments[0]) if len(arguments) == 1 and not named else None
        if rows is None or not rows.whole or m.in_pass:
            return before(m, arguments, named)
        return SortedRows(rows, array=array)

    return handler


def _sum(before: Any) -> Any:
    def handler(m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
        if len(arguments) == 1 and not named and isinstance(arguments[0], SortedRows):
            return arguments[0].summed(m)
        return before(m, arguments, named)

    return handler


for _function in (sorted, np.sort):
    FUNCTIONS[_function] = _sorted(
        FUNCTIONS.get(_function) or (lambda *_: NotImplemented), _function is np.sort
    )
for _function in (sum, np.sum):
    FUNCTIONS[_function] = _sum(FUNCTIONS[_function])


@entry(np.unique)
def _unique(m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    counts = named.pop("return_counts", False)
    rows = _of_rows(m, arguments[0]) if len(arguments) == 1 and not named else None
    if rows is None or not isinstance(counts, bool):
        raise Unread("numpy.unique of other values than the data")
    if not counts:
        return KeyCounts(rows, counted=False, order="sorted")
    both = KeyCounts(rows, order="sorted")
    return tuple(replace(both, gives=gives, source=both) for gives in ("keys", "values"))


@entry(dict.fromkeys)
def _fromkeys(m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    rows = _of_rows(m, arguments[0]) if len(arguments) == 1 and not named else None
    if rows is None:
        return NotImplemented
    return KeyCounts(rows, counted=False)
