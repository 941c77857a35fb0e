"""Copies of values: deepcopy, asdict, astuple, replace."""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING, Any

from dpest.reading.contributions.arithmetic import is_plain
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.control.objects import construct
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.functions.registry import entry
from dpest.reading.contributions.values import Map, ProgramObject, Seq, SmallArray

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine

_Arguments = list[Any]
_Named = dict[str, Any]


@entry(dataclasses.asdict)
def _asdict(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    (value,) = given(arguments, named, "obj")
    if not isinstance(value, ProgramObject) or not dataclasses.is_dataclass(value.kind):
        return NotImplemented
    return Map({name: _copied(v) for name, v in _fields(value).items()})


def _fields(value: ProgramObject) -> dict[str, Any]:
    names = [f.name for f in dataclasses.fields(value.kind)]
    if any(name not in value.attributes for name in names):
        raise Unread("a dict of an object without some of its fields")
    return {name: value.attributes[name] for name in names}


def _copied(value: Any) -> Any:
    """What asdict makes of a field: a copy, in which objects of dataclasses are dicts, too."""
    if isinstance(value, ProgramObject) and dataclasses.is_dataclass(value.kind):
        return Map({name: _copied(v) for name, v in _fields(value).items()})
    if isinstance(value, Seq) and value.rows is None and not value.bag and value.noisy is None:
        return Seq([_copied(v) for v in value.items])
    if type(value) is tuple:
        return tuple(map(_copied, value))
    if isinstance(value, Map) and value.known and value.default is None and not value.counter:
        return Map({k: _copied(v) for k, v in value.items.items()})
    if isinstance(value, SmallArray):
        return SmallArray(value.shape, list(value.cells))
    if isinstance(value, SymbolicForm) or is_plain(value):
        return value
    raise Unread("a dict of an object that holds others")


@entry(copy.deepcopy)
def _deep_copy(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    (value,) = given(arguments, named, "x")
    return _duplicate(value)


def _duplicate(value: Any) -> Any:
    """A deep copy of lists, dicts, arrays and objects that hold no data."""
    if isinstance(value, ProgramObject):
        if any(hasattr(value.kind, name) for name in ("__deepcopy__", "__setstate__")):
            raise Unread("an object that says itself how it is copied")
        return ProgramObject(value.kind, {k: _duplicate(v) for k, v in value.attributes.items()})
    if isinstance(value, Seq) and value.rows is None and not value.bag and value.noisy is None:
        return Seq([_duplicate(v) for v in value.items])
    if type(value) is tuple:
        return tuple(map(_duplicate, value))
    if isinstance(value, Map) and value.known and not value.frozen and value.noisy is None:
        copied = {k: _duplicate(v) for k, v in value.items.items()}
        return Map(copied, default=value.default, counter=value.counter)
    if isinstance(value, SmallArray):
        return SmallArray(value.shape, list(value.cells))
    if isinstance(value, SymbolicForm) or is_plain(value):
        return value
    raise Unread("a copy of a value that is not known")


@entry(dataclasses.astuple)
def _astuple(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    (value,) = given(arguments, named, "obj")
    if not isinstance(value, ProgramObject) or not dataclasses.is_dataclass(value.kind):
        return NotImplemented
    held = _fields(value).values()
    if any(isinstance(v, (Seq, Map, ProgramObject, tuple)) for v in held):
        raise Unread("a tuple of an object that holds others")
    return tuple(held)


@entry(dataclasses.replace)
def _replaced(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    """A new object with other values in some fields."""
    value, *rest = arguments
    if rest or not isinstance(value, ProgramObject) or not dataclasses.is_dataclass(value.kind):
        return NotImplemented
    names = [f.name for f in dataclasses.fields(value.kind) if f.init]
    return construct(m, value.kind, [], {**{n: value.attributes[n] for n in names}, **named})
