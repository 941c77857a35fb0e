"""Attributes and methods of values that are not plain."""

from __future__ import annotations

import builtins
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpest.reading.contributions.arithmetic import is_number, natively
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.control.public import method_of
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.functions.containers import count_of
from dpest.reading.contributions.functions.methods.arrays import array_method
from dpest.reading.contributions.functions.methods.lists import list_method, sort_in_place
from dpest.reading.contributions.functions.methods.mappings import VIEWS, mapping_method
from dpest.reading.contributions.functions.registry import FUNCTIONS, all_plain, rows_of
from dpest.reading.contributions.values import (
    Bound,
    Key,
    KeyCounts,
    Map,
    Rows,
    Seq,
    SmallArray,
    Transposed,
)

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


def attribute_of(m: ContributionMachine, owner: Any, name: str) -> Any:
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


def call_method(
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
    if isinstance(owner, Seq) and owner.rows is not None and name == "sort":
        return sort_in_place(m, owner, arguments, named)
    if isinstance(rows_of(m, owner), Rows) and name == "count" and len(arguments) == 1:
        if isinstance(owner, Rows) and owner.array:
            raise Unread("the method `count` of an array")
        if isinstance(arguments[0], Key):
            return m.count_at(rows_of(m, owner), arguments[0])
        return count_of(m, KeyCounts(rows_of(m, owner)), arguments[0])
    if isinstance(owner, (Rows, SmallArray)):
        return array_method(m, owner, name, arguments, named)
    if isinstance(owner, Seq):
        return list_method(m, owner, name, arguments, named)
    if isinstance(owner, Map):
        return mapping_method(m, owner, name, arguments, named)
    if isinstance(owner, KeyCounts) and name in VIEWS and not arguments and not named:
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
    if (is_number(owner) or isinstance(owner, str)) and all_plain(arguments, named):
        return natively(lambda o, *a, **k: getattr(o, name)(*a, **k), owner, *arguments, **named)
    if isinstance(owner, str) and name == "join" and len(arguments) == 1:
        arguments = [Seq(m.listed(arguments[0]))]
    if isinstance(owner, (str, SymbolicForm)) or is_number(owner):
        return m.publicly(method_of(name), owner, *arguments, **named)
    raise Unread(f"the method `{name}` of {type(owner).__name__}")
