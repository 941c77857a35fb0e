"""Items of containers: how they are looked up, and set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.contributions.arithmetic import (
    is_number,
    is_plain,
    natively,
    to_native,
    unshared,
)
from dpest.reading.contributions.control.objects import field_names, special
from dpest.reading.contributions.control.public import item_of
from dpest.reading.contributions.forms import NOISE, Raised, SymbolicForm, Unread
from dpest.reading.contributions.functions.containers import count_of
from dpest.reading.contributions.loops import NeedsKey
from dpest.reading.contributions.persons import PERSON, by_person
from dpest.reading.contributions.values import (
    Key,
    KeyCounts,
    Map,
    Object,
    ProgramObject,
    PublicValue,
    RecordPosition,
    Rows,
    Seq,
    SmallArray,
    has_private_order,
)

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


def keys_of(keys: list[Any] | None) -> Any:
    return None if keys is None else tuple(keys)


def place_in(keys: Any, key: Any) -> int:
    """Where in a list an item stands that is looked up by its key."""
    return int(key) if keys is None else list(keys).index(key)


def item_of_owner(m: ContributionMachine, owner: Any, index: Any) -> Any:
    if isinstance(owner, Object):
        return owner.item(m, index)
    if isinstance(index, RecordPosition):
        return _at_place(m, owner)
    if index is PERSON:
        return entry_of_person(m, owner)
    if not isinstance(owner, Rows):
        index = _pinned_index(m, index)
    if isinstance(owner, Rows):
        return m.rows_item(owner, index)
    if isinstance(owner, ProgramObject):
        if field_names(owner.kind):
            return _entry_of_list(m, tuple(owner.attributes.values()), index)
        return special(m, owner, "__getitem__", index)
    if isinstance(index, Key):
        return m.count_at(owner, index)
    if isinstance(owner, PublicValue) or not is_plain(index):
        return _item_at(m, owner, index)
    if isinstance(owner, Map):
        if owner.open or not is_plain(index):
            raise Unread("a look-up in a mapping that is not known")
        m.touch(owner, index)
        if index not in owner.items and owner.default is not None:
            unshared(owner)
            if owner.default is list and m.record is not None:
                raise NeedsKey(owner, index)
            owner.items[index] = Seq() if owner.default is list else owner.default
            owner.partial.add(index)
        if index not in owner.items and m.record is not None and m.trying:
            m.looked_for.add(id(owner))
            m.touch(owner, index)
            raise Raised(KeyError(index))
        if index not in owner.items or (index in owner.partial and owner.default is None):
            raise Unread(f"no key {index!r}, or only if a record has it")
        return owner.items[index]
    if isinstance(owner, SmallArray):
        return _array_item(m, owner, index)
    if isinstance(owner, KeyCounts):
        return count_of(m, owner, index)
    if isinstance(owner, Seq):
        if owner.rows is not None:
            return m.rows_item(owner.rows, index)
        if owner.bag:
            raise Unread("the place of a value in a list whose order is private")
        return _entry_of_list(m, owner.items, index)
    if isinstance(owner, tuple):
        return _entry_of_list(m, owner, index)
    if is_plain(owner) and is_plain(index):
        return natively(lambda a, b: a[b], owner, index)
    raise Unread(f"an item of {type(owner).__name__}")


def _pinned_index(m: ContributionMachine, index: Any) -> Any:
    """A place of one or several axes, as a plain one, by cases of the record."""
    if isinstance(index, tuple) and m.record is not None:
        return tuple(m.pinned(m.settled(i)) for i in index)
    return m.pinned(index)


def entry_of_person(m: ContributionMachine, owner: Any, otherwise: Any = None) -> Any:
    """The entry of the person whose row is looked at."""
    if not isinstance(owner, Map) or m.record is None or by_person(owner) is not None:
        raise Unread("a look-up by person")
    if PERSON not in owner.items:
        if owner.default is list or (otherwise is None and owner.default is None):
            raise Unread("an entry for each person that may be absent: use a defaultdict")
        return owner.default if otherwise is None else otherwise
    return owner.items[PERSON]


def _item_at(m: ContributionMachine, owner: Any, index: Any) -> Any:
    """An item at a public place that is not known here."""
    known = is_plain(index) or isinstance(index, (SymbolicForm, PublicValue, tuple, slice))
    if known and m.is_public(owner):
        return m.publicly(item_of, owner, index)
    place = index if isinstance(index, PublicValue) else None
    if place is None and isinstance(index, SymbolicForm) and m.is_public(index):
        place = m.publicly(int, index)
    items = owner.items if isinstance(owner, (Seq, Map)) else getattr(owner, "cells", owner)
    one_axis = not isinstance(owner, SmallArray) or len(owner.shape) == 1
    if place is None or not one_axis or not isinstance(items, (list, tuple, dict)):
        raise Unread("an item at a place that is not plain")
    values = list(items.values()) if isinstance(items, dict) else list(items)
    if has_private_order(owner) or not values:
        raise Unread("an item of a list that is not known")
    forms = [m.form(v) for v in values]
    if any(m.terms.kind(f) & NOISE for f in forms):
        return m.publicly(item_of, owner, index)
    if m.in_pass:
        raise Unread("a private number at a place that is not plain")
    keys = list(items) if isinstance(items, dict) else None
    number = m.number_of(m.publicly(place_in, keys_of(keys), place))
    return m.terms.of("pick", number, *forms)


def _entry_of_list(m: ContributionMachine, items: Any, index: Any) -> Any:
    if not isinstance(index, (int, slice)) and not hasattr(index, "__index__"):
        raise Unread("an index that is not plain")
    try:
        found = items[index]
    except IndexError:
        raise Unread("an index out of range") from None
    return Seq(list(found)) if isinstance(index, slice) and isinstance(items, list) else found


def _array_item(m: ContributionMachine, owner: SmallArray, index: Any) -> Any:
    if not is_plain(index):
        raise Unread("an index that is not plain")
    places = np.arange(len(owner.cells)).reshape(owner.shape)
    try:
        chosen = places[to_native(index)]
    except IndexError:
        raise Unread("an index out of range") from None
    if np.ndim(chosen) == 0:
        return owner.cells[int(chosen)]
    found = [owner.cells[i] for i in chosen.ravel()]
    if np.shares_memory(chosen, places):
        return owner.view(chosen.shape, found)
    return SmallArray(chosen.shape, found)


def _at_place(m: ContributionMachine, owner: Any) -> Any:
    """x[i], where i goes through the places of the records."""
    rows = owner.rows if isinstance(owner, Seq) else owner
    if not isinstance(rows, Rows) or m.record is None:
        raise Unread("the place of a record is used")
    for case in rows.cases:
        if all(m.decide(c) for c in case.conditions):
            if not case.present:
                raise Unread("the place of a record in a part of the data")
            return case.element
    raise Unread("a record in none of its cases")


def set_item(m: ContributionMachine, owner: Any, index: Any, value: Any) -> None:
    if isinstance(owner, Object):
        owner.set_item(m, index, value)
        return
    unshared(owner)
    if index is PERSON:
        known = isinstance(owner, Map) and not (owner.frozen or owner.open)
        if not known or m.record is None or by_person(owner) is not None:
            raise Unread("a change by person")
        owner.items[PERSON] = value
        return
    index = m.pinned_public(_pinned_index(m, index))
    if isinstance(owner, Map) and not owner.frozen and not owner.open:
        if not is_plain(index):
            m.put(owner, index, value)
            return
        m.touch(owner, index)
        owner.items[index] = value
    elif isinstance(owner, Seq) and owner.rows is None and not owner.bag and is_plain(index):
        try:
            owner.items[index] = value
        except (IndexError, TypeError):
            raise Unread("an index out of range") from None
    elif isinstance(owner, SmallArray) and is_plain(index):
        places = np.arange(len(owner.cells)).reshape(owner.shape)
        try:
            chosen = places[to_native(index)]
        except IndexError:
            raise Unread("an index out of range") from None
        if np.ndim(chosen) == 0:
            _need_whole(m, owner, int(chosen), value)
            owner.cells[int(chosen)] = value
        else:
            given = m.broadcast(lambda _, v: v, SmallArray(chosen.shape, [0] * chosen.size), value)
            for place, cell in zip(chosen.ravel(), given.cells, strict=True):
                _need_whole(m, owner, int(place), cell)
                owner.cells[int(place)] = cell
    else:
        raise Unread(f"a change of {type(owner).__name__} in place")


def _need_whole(m: ContributionMachine, owner: SmallArray, place: int, value: Any) -> None:
    """An array of whole numbers cuts off what is put into it: only such may be put there."""
    if not owner.whole and not all(isinstance(c, int) or m.is_whole_sum(c) for c in owner.cells):
        return
    if m.is_whole_sum(value) or (is_number(value) and float(value).is_integer()):
        return
    before = owner.cells[place]
    if isinstance(value, SymbolicForm) and isinstance(before, (int, SymbolicForm)):
        added = value - m.form(before)
        if m.is_whole_sum(added) or m.adds_whole(added):
            return
    raise Unread("an array of whole numbers into which other numbers are put")
