"""Objects of the program's classes: attributes, methods, dataclasses, named tuples."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import logging
import random
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.contributions.arithmetic import from_native, is_plain, share
from dpest.reading.contributions.calling import by_name
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.frames.merging import public_table
from dpest.reading.contributions.values import (
    DrawMethod,
    Held,
    Log,
    Map,
    ProgramObject,
    PublicValue,
    Seq,
    UnseededGenerator,
)
from dpest.reading.machine.adopting import readable_class

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


@dataclass(frozen=True, eq=False)
class ObjectMethod(Held):
    """A function of a class, with the object that it is looked up on."""

    owner: Any
    function: Any

    def held(self) -> tuple[Any, ...]:
        return (self.owner, self.function)


@dataclass(frozen=True, eq=False)
class SuperLookup(Held):
    """super(): what stands behind a class in the order of the object's type."""

    after: type
    owner: Any

    def held(self) -> tuple[Any, ...]:
        return (self.owner,)


@dataclass(frozen=True, eq=False)
class PartialCall(Held):
    """functools.partial of something."""

    function: Any
    arguments: tuple[Any, ...]
    named: dict[str, Any]

    def held(self) -> tuple[Any, ...]:
        return (self.function, *self.arguments, *self.named.values())


@dataclass(frozen=True, eq=False)
class Own(Held):
    """A method that this reading has itself: it is given the machine first."""

    function: Any
    arguments: tuple[Any, ...] = ()

    def held(self) -> tuple[Any, ...]:
        return self.arguments


def is_class(value: Any) -> bool:
    """A class whose objects are read: written in Python, with nothing hidden."""
    if not isinstance(value, type):
        return False
    return is_named_tuple(value) or readable_class(value)


def is_named_tuple(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def field_names(kind: type) -> tuple[str, ...]:
    return tuple(getattr(kind, "_fields", ())) if is_named_tuple(kind) else ()


def adopted(m: ContributionMachine, value: Any, what: str) -> Any:
    """A value from outside of the run, which the run must not change."""
    if is_plain(value) and not isinstance(value, tuple):
        return value
    known = m.outside.get(id(value))
    if known is None:
        found = _adopted(m, value, what)
        if isinstance(found, (Seq, Map, ProgramObject)) or hasattr(found, "cells"):
            share(found)
        known = m.outside[id(value)] = (value, found)
    return known[1]


def _adopted(m: ContributionMachine, value: Any, what: str) -> Any:
    source = source_of(value)
    if source is not None:
        return source
    if isinstance(value, (types.ModuleType, type, types.FunctionType)):
        return value
    if type(value) in (logging.Logger, logging.RootLogger):
        return Log()
    if isinstance(value, enum.Enum):
        return adopted(m, value.value, what) if isinstance(value, (int, str)) else value
    if isinstance(value, functools.partial):
        parts = tuple(adopted(m, v, what) for v in value.args)
        named = {k: adopted(m, v, what) for k, v in value.keywords.items()}
        return PartialCall(adopted(m, value.func, what), parts, named)
    if isinstance(value, types.MethodType):
        return ObjectMethod(adopted(m, value.__self__, what), value.__func__)
    if type(value) is tuple:
        return tuple(adopted(m, v, what) for v in value)
    if type(value) is list:
        return Seq([adopted(m, v, what) for v in value])
    if type(value) in (dict, collections.OrderedDict) and all(map(is_plain, value)):
        return Map({k: adopted(m, v, what) for k, v in value.items()})
    if type(value) in (set, frozenset) and all(map(is_plain, value)):
        return PublicValue(None)
    if isinstance(value, np.ndarray):
        return from_native(value)
    table = public_table(value, what)
    if table is not None:
        return table
    if is_named_tuple(type(value)):
        return ProgramObject(type(value), dict(zip(value._fields, value, strict=True)))
    if type(value).__module__.startswith("scipy.") and callable(value):
        return value  # a distribution: its functions are looked at one by one
    if is_class(type(value)):
        held = getattr(value, "__dict__", None)
        if held is None:
            raise Unread(f"{what} is a {type(value).__name__} with slots")
        made = ProgramObject(type(value))
        m.outside[id(value)] = (value, made)
        made.attributes.update({k: adopted(m, v, f"{what}.{k}") for k, v in held.items()})
        return made
    if callable(value) and m.knows(value):
        return value
    raise Unread(f"{what} is a {type(value).__name__}")


def source_of(value: Any) -> UnseededGenerator | DrawMethod | None:
    """What an object of Python's, or a function, draws from."""
    if isinstance(value, np.random.Generator):
        return UnseededGenerator("generator")
    if isinstance(value, np.random.RandomState):
        return UnseededGenerator("state")
    if isinstance(value, random.SystemRandom) or type(value) is random.Random:
        return UnseededGenerator("random")
    if isinstance(value, (types.BuiltinMethodType, types.MethodType)):
        owner = source_of(value.__self__)
        return (
            DrawMethod(value.__name__, owner.library)
            if isinstance(owner, UnseededGenerator)
            else None
        )
    return None


# Attributes --------------------------------------------------------------------------------------


def attribute(m: ContributionMachine, owner: Any, name: str) -> Any:
    """owner.name, for an object, a class or super()."""
    if isinstance(owner, ProgramObject):
        if name in owner.attributes:
            return owner.attributes[name]
        if name == "__class__":
            return owner.kind
        if name == "__dict__":
            raise Unread("the attributes of an object, as a dict")
        if is_named_tuple(owner.kind) and name == "_asdict":
            return Own(_asdict, (owner,))
        found = looked_up(owner.kind.__mro__, name)
        return _bound(m, found, owner, owner.kind, name)
    if isinstance(owner, SuperLookup):
        order = type(owner.owner).__mro__ if not isinstance(owner.owner, ProgramObject) else (
            owner.owner.kind.__mro__
        )  # fmt: skip
        behind = order[order.index(owner.after) + 1 :]
        return _bound(m, looked_up(behind, name), owner.owner, owner.after, name)
    assert isinstance(owner, type)
    if issubclass(owner, enum.Enum) and name in owner.__members__:
        return adopted(m, owner.__members__[name], f"{owner.__name__}.{name}")
    found = looked_up(owner.__mro__, name)
    if isinstance(found, types.FunctionType):
        return found
    return _bound(m, found, None, owner, name)


def _asdict(m: ContributionMachine, owner: ProgramObject) -> Map:
    return Map(dict(owner.attributes))


def looked_up(order: Any, name: str) -> Any:
    for base in order:
        if name in vars(base):
            return vars(base)[name]
    return None


def _bound(m: ContributionMachine, found: Any, owner: Any, kind: type, name: str) -> Any:
    if found is None:
        raise Unread(f"no attribute `{name}`")
    if isinstance(found, types.FunctionType):
        return ObjectMethod(owner, found)
    if isinstance(found, staticmethod):
        return found.__func__
    if isinstance(found, classmethod):
        return ObjectMethod(
            owner.kind if isinstance(owner, ProgramObject) else kind, found.__func__
        )
    if isinstance(found, property) and found.fget is not None and owner is not None:
        return m.call(found.fget, [owner], {})
    if name == "__init__" and found is object.__init__:
        return Own(_nothing)
    return adopted(m, found, f"{kind.__name__}.{name}")


def _nothing(m: ContributionMachine, *arguments: Any) -> None:
    return None


def set_attribute(m: ContributionMachine, owner: Any, name: str, value: Any) -> None:
    if not isinstance(owner, ProgramObject) or is_named_tuple(owner.kind):
        raise Unread(f"an attribute of {type(owner).__name__} that is set")
    if owner.shared:
        raise Unread("a change of an object that others may see, or that outlives the call")
    found = looked_up(owner.kind.__mro__, name)
    if isinstance(found, property) or hasattr(type(found), "__set__"):
        raise Unread("an attribute that is set by a property")
    parameters = getattr(owner.kind, "__dataclass_params__", None)
    if parameters is not None and parameters.frozen:
        raise Unread("a frozen object that is changed")
    owner.attributes[name] = value


def set_by_object(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> None:
    """object.__setattr__(self, name, value): how a frozen object is filled while it is made."""
    if named or len(arguments) != 3 or not isinstance(arguments[1], str):
        raise Unread("an attribute that is set in a way that is not known here")
    owner, name, value = arguments
    if not isinstance(owner, ProgramObject) or is_named_tuple(owner.kind) or owner.shared:
        raise Unread("a change of an object that others may see, or that outlives the call")
    found = looked_up(owner.kind.__mro__, name)
    if isinstance(found, property) or hasattr(type(found), "__set__"):
        raise Unread("an attribute that is set by a property")
    owner.attributes[name] = value


# Making objects ----------------------------------------------------------------------------------


def construct(
    m: ContributionMachine, kind: type, arguments: list[Any], named: dict[str, Any]
) -> Any:
    if is_named_tuple(kind):
        defaults = dict(getattr(kind, "_field_defaults", {}))
        return ProgramObject(kind, by_name(list(field_names(kind)), defaults, arguments, named))
    made = ProgramObject(kind)
    start = looked_up(kind.__mro__, "__init__")
    if dataclasses.is_dataclass(kind) and _is_generated(kind, start):
        _fill(m, kind, made, arguments, named)
        return made
    if start is object.__init__:
        if arguments or named:
            raise Unread("an object that is made with arguments that it does not take")
        return made
    if not isinstance(start, types.FunctionType):
        raise Unread(f"how a {kind.__name__} is made is not read")
    m.call(start, [made, *arguments], named)
    return made


def _is_generated(kind: type, start: Any) -> bool:
    """Whether a dataclass wrote the __init__ itself."""
    for base in kind.__mro__:
        if "__init__" in vars(base):
            parameters = vars(base).get("__dataclass_params__")
            return parameters is not None and bool(parameters.init) and (
                getattr(start, "__code__", None) is not None
                and start.__code__.co_filename == "<string>"
            )  # fmt: skip
    return False


def _fill(
    m: ContributionMachine,
    kind: type,
    made: ProgramObject,
    arguments: list[Any],
    named: dict[str, Any],
) -> None:
    fields = [f for f in dataclasses.fields(kind) if f.init]
    if len(arguments) > sum(not f.kw_only for f in fields):
        raise Unread("a call with arguments that are not known here")
    fields.sort(key=lambda f: f.kw_only is True)  # keywords come last, and are never given by place
    defaults: dict[str, Any] = {}
    for f in dataclasses.fields(kind):
        if f.default is not dataclasses.MISSING:
            defaults[f.name] = adopted(m, f.default, f"{kind.__name__}.{f.name}")
        elif f.default_factory is not dataclasses.MISSING:
            defaults[f.name] = m.call(f.default_factory, [], {})
    made.attributes.update(by_name([f.name for f in fields], defaults, arguments, named))
    for f in dataclasses.fields(kind):
        if not f.init and f.name in defaults:
            made.attributes[f.name] = defaults[f.name]
    after = looked_up(kind.__mro__, "__post_init__")
    if after is not None:
        m.call(after, [made], {})


def special(m: ContributionMachine, owner: Any, name: str, *arguments: Any) -> Any:
    """owner.__name__(…), as the language calls it."""
    if isinstance(owner, ProgramObject):
        found = looked_up(owner.kind.__mro__, name)
        if isinstance(found, types.FunctionType):
            return m.call(found, [owner, *arguments], {})
    raise Unread(f"{name} of {type(owner).__name__}")


def has_special(owner: Any, name: str) -> bool:
    if not isinstance(owner, ProgramObject):
        return False
    return isinstance(looked_up(owner.kind.__mro__, name), types.FunctionType)
