"""Methods of lists."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from dpest.reading.contributions.arithmetic import is_plain, natively, unshared
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.control.public import method_of
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.functions.flips import drawn_from
from dpest.reading.contributions.values import Drained, Object, Seq

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


def list_method(
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
    return _changing_method(m, owner, name, arguments, named)


def sort_in_place(
    m: ContributionMachine, owner: Seq, arguments: list[Any], named: dict[str, Any]
) -> None:
    """xs.sort(), of a list of the data: from here on it is sorted(xs), under all of its names."""
    if arguments or named or m.in_pass or m.by_cases or m.trying or owner.bag:
        raise Unread("a list of the data that is sorted in place")
    unshared(owner)
    m.settled_ways()
    found = m.call(sorted, [owner], {})
    if not isinstance(found, Object):
        raise Unread("a list of a part of the data that is sorted in place")
    owner.ordered = found
    owner.rows, owner.items = None, [Drained()]
    m.gaps.sorts += 1


def _changing_method(
    m: ContributionMachine, owner: Seq, name: str, arguments: list[Any], named: dict[str, Any]
) -> Any:
    listed = owner.rows is None and not owner.bag and all(map(is_plain, owner.items))
    if name in ("index", "count") and listed and len(arguments) == 1 and is_plain(arguments[0]):
        return natively(method_of(name), list(owner.items), arguments[0])
    if name == "pop" and len(arguments) == 1 and m.record is None and m.key is None:
        candidate = drawn_from(m, owner, arguments[0])
        if candidate is not None:
            return candidate
    if owner.rows is not None or owner.bag or m.record is not None or m.key is not None:
        raise Unread(f"the method `{name}` of a list")
    arguments = list(map(m.pinned_public, arguments)) if name in ("pop", "remove") else arguments
    if name == "remove" and is_plain(arguments[0]) and all(map(is_plain, owner.items)):
        unshared(owner)
        if arguments[0] not in owner.items:
            raise Unread("a value that is removed, and is not there")
        owner.items.remove(arguments[0])
        return None
    if name == "pop" and len(arguments) <= 1 and all(isinstance(a, int) for a in arguments):
        unshared(owner)
        if not owner.items:
            raise Unread("pop of an empty list")
        return owner.items.pop(*arguments)
    if name == "insert" and isinstance(arguments[0], int):
        unshared(owner)
        owner.items.insert(*arguments)
        return None
    if name == "reverse" and not arguments:
        unshared(owner)
        owner.items.reverse()
        return None
    if name == "clear" and not arguments:
        unshared(owner)
        owner.items.clear()
        return None
    if name == "sort":
        unshared(owner)
        key, reverse = given(arguments, named, "key", "reverse", key=None, reverse=False)
        found = m.call(builtins.sorted, [owner], {"key": key, "reverse": reverse})
        owner.items = m.listed(found)
        return None
    if name in ("index", "count"):
        return m.publicly(method_of(name), owner, *arguments)
    raise Unread(f"the method `{name}` of a list")
