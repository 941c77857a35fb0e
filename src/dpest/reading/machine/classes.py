"""Classes and their attributes, of Python and of the program itself."""

from __future__ import annotations

import logging
import types
from typing import Any

import numpy as np

from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.machine.heap import (
    DequeObject,
    DictObject,
    GeneratorObject,
    HeapObject,
    Instance,
    KeysIterator,
    ListObject,
    LocalClass,
    RowIterator,
    SequenceIterator,
    SetObject,
)
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.state import State
from dpest.reading.machine.values import (
    Array,
    BoundMethod,
    Closure,
    Journal,
    Known,
    Lazy,
    Partial,
    RandomSource,
    Ref,
)


def is_object(state: State, value: Any) -> bool:
    """Whether it is an object of a class that was written in Python."""
    return type(value) is Ref and type(state.heap.read(value)) is Instance


def is_class(state: State, value: Any) -> bool:
    return isinstance(value, type) or (
        isinstance(value, Ref) and isinstance(state.heap.read(value), LocalClass)
    )


def class_of(state: State, value: Ref) -> Any:
    found = state.heap.read(value)
    assert isinstance(found, Instance)
    return found.cls


def order_of(state: State, cls: Any) -> tuple[Any, ...]:
    """Where attributes of a class are looked up, in order."""
    if isinstance(cls, Ref):
        return (cls, *state.heap.read(cls).order)
    return tuple(cls.__mro__)


def find_in_class(state: State, cls: Any, name: str, after: Any = None) -> Any:
    """The attribute of a class as it stands there, or None; what every object has is left out."""
    order = order_of(state, cls)
    if after is not None:
        order = order[order.index(after) + 1 :]
    for base in order:
        if base is object:
            continue
        if isinstance(base, Ref):
            attributes = state.heap.read(base).attributes
        else:
            attributes = base.__dict__
        if name in attributes:
            found = attributes[name]
            is_error = isinstance(base, type) and issubclass(base, BaseException)
            if is_error and isinstance(found, types.WrapperDescriptorType):
                continue
            return found
    return None


def local_order(state: State, bases: tuple[Any, ...]) -> tuple[Any, ...]:
    """The order of a new class with these bases (after itself)."""
    if not bases:
        return (object,)
    if len(bases) > 1:
        raise Refused("an inner class with several bases")
    return order_of(state, bases[0])


_NATIVE_KINDS: dict[type[HeapObject], type] = {
    SetObject: set,
    GeneratorObject: types.GeneratorType,
}


def type_of(state: State, value: Any) -> Any:
    """What `type(value)` gives; refused where it is not known."""
    if isinstance(value, Real):
        if len(value.kinds) > 1:
            raise Refused("the type of a number that may be an int or a float", final=True)
        return value.kinds[0]
    if isinstance(value, Truth):
        return value.kind
    if isinstance(value, Array):
        return np.ndarray
    if isinstance(value, Known):
        return type(value.thing)
    if isinstance(value, (Closure,)):
        return types.FunctionType
    if isinstance(value, RandomSource):
        return value.kind
    if isinstance(value, Journal):
        return logging.Logger
    if isinstance(value, BoundMethod):
        raise Refused("the type of a method")
    if isinstance(value, Partial):
        import functools

        return functools.partial
    if isinstance(value, Ref):
        thing = state.heap.read(value)
        if isinstance(thing, Instance):
            return thing.cls
        if isinstance(thing, (ListObject, DictObject)):
            return thing.kind
        if isinstance(thing, DequeObject):
            import collections

            return collections.deque
        if isinstance(thing, LocalClass):
            return type
        if type(thing) in _NATIVE_KINDS:
            return _NATIVE_KINDS[type(thing)]
        if isinstance(thing, (SequenceIterator, KeysIterator, RowIterator)):
            raise Refused("the type of an iterator")
        raise Refused(f"the type of a {type(thing).__name__}")
    if isinstance(value, Lazy):
        if value.python_type is None:
            raise Refused("the type of a number that depends on the length of the data")
        return value.python_type
    return type(value)


def is_instance_of(state: State, value: Any, kind: Any) -> bool:
    """`isinstance(value, kind)` for one class; refused where the types that it may have differ."""
    if isinstance(value, Real):
        answers = {_is_subclass(state, k, kind) for k in value.kinds}
        if len(answers) > 1:
            raise Refused(
                f"the function asks whether a number is a {getattr(kind, '__name__', kind)}, and "
                "the data may be either",
                "convert the data first: float(value)",
                final=True,
            )
        return answers.pop()
    return _is_subclass(state, type_of(state, value), kind)


def _is_subclass(state: State, cls: Any, kind: Any) -> bool:
    if isinstance(cls, Ref):
        if kind in order_of(state, cls):
            return True
        cls = next(base for base in order_of(state, cls) if isinstance(base, type))
    if isinstance(kind, Ref):
        return False
    if isinstance(kind, types.UnionType):
        return any(_is_subclass(state, cls, k) for k in kind.__args__)
    if not isinstance(kind, type):
        raise Refused("isinstance of something that is no class")
    return issubclass(cls, kind)


def is_subclass(state: State, cls: Any, kind: Any) -> bool:
    return _is_subclass(state, cls, kind)
