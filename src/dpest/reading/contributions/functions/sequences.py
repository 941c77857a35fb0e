"""Functions that go over values: lengths, sums, extremes, ranges, pairs, orders."""

from __future__ import annotations

import builtins
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpest.reading.contributions.arithmetic import is_nan, is_number, to_native
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.control.objects import special
from dpest.reading.contributions.control.public import ordered
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.functions.registry import (
    FUNCTIONS,
    Handler,
    all_plain,
    entry,
    rows_of,
)
from dpest.reading.contributions.functions.selections import largest
from dpest.reading.contributions.persons import by_person
from dpest.reading.contributions.values import (
    Case,
    KeyCounts,
    Map,
    Object,
    PlainIterator,
    ProgramObject,
    PublicValue,
    RecordPosition,
    Rows,
    RowsIterator,
    Seq,
    SetOfData,
    SmallArray,
    Stepped,
    has_private_order,
)

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


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


@entry(builtins.sum, math.fsum)
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


def unzipped(value: Any, m: ContributionMachine) -> PlainIterator | None:
    """zip(*pairs), of a tuple for each record: a list for each place in the tuples."""
    rows = value.rows if isinstance(value, Seq) else None
    if rows is None or not rows.whole:
        return None
    sizes = {len(c.element) if type(c.element) is tuple else -1 for c in rows.cases}
    if len(sizes) != 1 or sizes == {-1}:
        return None
    if m.public_length is None and m.least_records < 1:
        raise Unread("zip(*…) of data that may be empty: then there is nothing to unpack")
    (size,) = sizes
    parts = [m.carried(lambda e, k=k: e[k], rows) for k in range(size)]
    return PlainIterator.over(Seq(rows=Rows(part.cases, False)) for part in parts)


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


@entry(builtins.range)
def _range(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if len(arguments) == 1 and m.is_length(arguments[0]):
        return Rows((Case((), RecordPosition()),), False)
    if all_plain(arguments, named):
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
    counts_alone = all(isinstance(i, KeyCounts) for i in iterators)
    if counts_alone and [i.gives for i in iterators] == ["keys", "values"]:
        keys, counts = iterators
        if keys.source is not None and keys.source is counts.source and keys.order == counts.order:
            return replace(counts, gives="items")
    if all(isinstance(i, PlainIterator) for i in iterators):
        return PlainIterator.over(zip(*(i.items for i in iterators), strict=False))
    if not all(isinstance(i, RowsIterator) and i.rows.whole for i in iterators):
        raise Unread("zip of the data and of other values")
    return RowsIterator(m.per_record(lambda *e: e, *(i.rows for i in iterators)))


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
    if has_private_order(value):
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
