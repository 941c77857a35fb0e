"""Methods of dicts, defaultdicts and Counters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpest.reading.contributions.arithmetic import is_number, is_plain, unshared
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.functions.containers import count_more
from dpest.reading.contributions.persons import PERSON, by_person, of_people
from dpest.reading.contributions.values import Map, Seq

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


VIEWS = ("keys", "items", "values")


def mapping_method(
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
    if owner.open or (owner.noisy is not None and name not in VIEWS):
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
        return count_more(m, owner, arguments[0])
    if owner.partial and not owner.growing and name in VIEWS and not arguments and not named:
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
    return _changing_method(m, owner, name, arguments, named)


def _changing_method(
    m: ContributionMachine, owner: Map, name: str, arguments: list[Any], named: dict[str, Any]
) -> Any:
    if owner.open or owner.frozen:
        raise Unread(f"the method `{name}` of a dict")
    if name == "update" and len(arguments) <= 1:
        unshared(owner)
        for value in arguments:
            if not isinstance(value, Map) or not value.known:
                raise Unread("an update by values that are not known")
            owner.items.update(value.items)
        owner.items.update(named)
        return None
    if name == "copy" and not arguments:
        return Map(dict(owner.items))
    arguments = list(map(m.pinned_public, arguments)) if name == "pop" else arguments
    if name in ("setdefault", "pop") and arguments and is_plain(arguments[0]):
        unshared(owner)
        if arguments[0] in owner.items:
            return owner.items.pop(arguments[0]) if name == "pop" else owner.items[arguments[0]]
        if len(arguments) < 2:
            raise Unread(f"no key {arguments[0]!r}")
        if name == "setdefault":
            owner.items[arguments[0]] = arguments[1]
        return arguments[1]
    raise Unread(f"the method `{name}` of a dict")
