"""Lists, sets and mappings made of values, and counts of what the records are."""

from __future__ import annotations

import builtins
import collections
from typing import TYPE_CHECKING, Any

from dpest.reading.contributions.arithmetic import is_plain, unshared
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.functions.registry import entry, rows_of
from dpest.reading.contributions.ledger import ONCE
from dpest.reading.contributions.persons import PERSON, derived, is_user, once
from dpest.reading.contributions.values import (
    KeyCounts,
    Map,
    Option,
    PublicValue,
    Rows,
    RowsIterator,
    Seq,
    SetOfData,
    has_private_order,
)

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


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


@entry(builtins.set, builtins.frozenset)
def _set(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not arguments and not named:
        return SetOfData()
    (value,) = given(arguments, named, "x")
    if has_private_order(value):
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


def count_more(m: ContributionMachine, counts: Map, values: Any) -> None:
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
