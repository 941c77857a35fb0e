"""Attributes: of objects, classes, modules, containers, arrays and numbers."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.machine import known
from dpest.reading.machine.adopting import adopt, frozen_dataclass
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.classes import class_of, find_in_class, is_object, type_of
from dpest.reading.machine.heap import (
    DequeObject,
    DictObject,
    GeneratorObject,
    Instance,
    ListObject,
    LocalClass,
    Seeded,
    SetObject,
)
from dpest.reading.machine.signals import KeepsState, Refused, Thrown
from dpest.reading.machine.values import (
    Array,
    BoundMethod,
    Closure,
    Journal,
    Known,
    Method,
    Partial,
    RandomSource,
    Ref,
    SciPyDistribution,
    Super,
    is_plain,
)

if TYPE_CHECKING:
    from dpest.reading.machine.executor import Machine


def get(m: Machine, thing: Any, name: str) -> Any:
    """`thing.name`, or code to be executed (a property)."""
    if isinstance(thing, Ref):
        return _of_heap_object(m, thing, name)
    if isinstance(thing, types.ModuleType):
        return _of_python(m, thing, name)
    if isinstance(thing, RandomSource):
        return BoundMethod(Method(thing.library, name), thing)
    if isinstance(thing, Journal):
        return BoundMethod(Method("journal", name), thing)
    if isinstance(thing, SciPyDistribution):
        return BoundMethod(Method("distribution", name), thing)
    if isinstance(thing, Array):
        return m.array_attribute(thing, name)
    if isinstance(thing, (Real, Truth)):
        return _of_number(m, thing, name)
    if isinstance(thing, Known):
        return known.attribute(m, thing, name)
    if isinstance(thing, Super):
        return _of_super(m, thing, name)
    if isinstance(thing, Closure):
        return _of_closure(m, thing, name)
    if isinstance(thing, BoundMethod):
        if name == "__self__":
            return thing.owner
        if name in ("__name__", "__qualname__", "__doc__"):
            return get(m, thing.function, name)
        raise Refused(f"the attribute `{name}` of a method")
    if isinstance(thing, Partial):
        return {"func": thing.function, "args": thing.args}[name]
    if isinstance(thing, tuple) and hasattr(thing, "_fields") and name in thing._fields:
        return getattr(thing, name)
    if isinstance(thing, type):
        return _of_class(m, thing, name)
    lazy = m.lazy_attribute(thing, name)
    if lazy is not None:
        return lazy
    return _of_plain(m, thing, name)


def _missing(m: Machine, thing: Any, name: str) -> Thrown:
    return Thrown(AttributeError(f"'{m.type_name(thing)}' object has no attribute '{name}'"))


def _of_python(m: Machine, thing: Any, name: str) -> Any:
    try:
        found = getattr(thing, name)
    except AttributeError as error:
        raise Thrown(error) from None
    return adopt(m.state, found, outside=True)


def _of_plain(m: Machine, thing: Any, name: str) -> Any:
    """Methods of numbers and text, attributes of functions."""
    if is_plain(thing) or isinstance(thing, (tuple, frozenset, slice)):
        method = getattr(type(thing), name, None)
        if method is None:
            raise _missing(m, thing, name)
        if isinstance(method, types.MethodDescriptorType):
            return BoundMethod(method, thing)
        if isinstance(method, types.FunctionType):  # a method of a namedtuple's subclass
            return BoundMethod(method, thing)
        if isinstance(method, property) and isinstance(method.fget, types.FunctionType):
            return Enter(method.fget, (thing,))
        if not is_plain(thing) and not isinstance(method, types.MethodType):
            raise Refused(f"the attribute `{name}` of a {type(thing).__name__}")
    return _of_python(m, thing, name)


def _of_class(m: Machine, cls: type, name: str) -> Any:
    if name in ("__subclasses__", "__dict__", "mro", "__mro__"):
        raise Refused(f"the attribute `{name}` of a class")
    return _of_python(m, cls, name)


def _of_number(m: Machine, value: Real | Truth, name: str) -> Any:
    kinds = value.kinds if isinstance(value, Real) else (value.kind,)
    there = {hasattr(kind, name) for kind in kinds}
    if there == {False}:
        raise _missing(m, value, name)
    if len(there) > 1:
        raise Refused(
            f"the attribute `{name}` of a number that may be an int or a float", final=True
        )
    if name == "real":
        return value
    if name == "dtype":
        return np.dtype(kinds[0])
    if name in ("shape", "ndim", "size") and issubclass(kinds[0], np.generic):
        return {"shape": (), "ndim": 0, "size": 1}[name]
    return BoundMethod(getattr(kinds[0], name), value)


def _of_closure(m: Machine, thing: Closure, name: str) -> Any:
    for key, value in thing.attributes:
        if key == name:
            return value
    if name == "__name__":
        return thing.code.name
    if name == "__qualname__":
        return thing.code.qualname
    raise Refused(f"the attribute `{name}` of a function")


def _of_super(m: Machine, thing: Super, name: str) -> Any:
    cls = class_of(m.state, thing.owner) if is_object(m.state, thing.owner) else thing.owner
    found = find_in_class(m.state, cls, name, thing.after)
    if found is None:
        if name == "__init__":
            return BoundMethod(_object_init, thing.owner)
        raise Refused(f"super().{name}")
    return _bound(m, found, thing.owner, cls)


def _object_init(*_: Any) -> None:
    """Stands for object.__init__ and BaseException.__init__ (see the table)."""


OBJECT_INIT = _object_init


def _of_heap_object(m: Machine, ref: Ref, name: str) -> Any:
    thing = m.state.heap.read(ref)
    if isinstance(thing, Instance):
        return _of_instance(m, ref, thing, name)
    if isinstance(thing, LocalClass):
        found = find_in_class(m.state, ref, name)
        if name == "__name__":
            return thing.name
        if found is None:
            raise Thrown(AttributeError(f"type object '{thing.name}' has no attribute '{name}'"))
        return _bound(m, found, None, ref)
    kind: Any = None
    if isinstance(thing, (ListObject, DictObject)):
        kind = thing.kind
    elif isinstance(thing, SetObject):
        kind = set
    elif isinstance(thing, DequeObject):
        if name == "maxlen":
            return thing.maximum
        kind = type_of(m.state, ref)
    elif isinstance(thing, GeneratorObject):
        return BoundMethod(Method("iterator", name), ref)
    elif isinstance(thing, Seeded):
        return BoundMethod(Method("seeded", name), ref)
    if kind is None:
        raise Refused(f"the attribute `{name}` of a {m.type_name(ref)}")
    method = getattr(kind, name, None)
    if method is None:
        raise _missing(m, ref, name)
    return BoundMethod(method, ref)


def _of_instance(m: Machine, ref: Ref, thing: Instance, name: str) -> Any:
    found = find_in_class(m.state, thing.cls, name)
    if isinstance(found, property):
        if found.fget is None:
            raise Thrown(AttributeError(f"unreadable attribute {name}"))
        return Enter(found.fget, (ref,))
    if isinstance(found, functools.cached_property):
        raise Refused(f"the cached property `{name}`")
    if name in thing.attributes:
        return thing.attributes[name]
    if name == "__class__":
        return thing.cls
    if name == "value" and m.is_subclass(thing.cls, StopIteration):
        args = thing.attributes["args"]
        return args[0] if args else None
    if name == "__dict__":
        raise Refused("`__dict__` of an object")
    if found is None:
        if name in ("with_traceback", "add_note", "__traceback__", "__cause__", "__context__"):
            raise Refused(f"the attribute `{name}` of an exception")
        raise _missing(m, ref, name)
    if isinstance(found, types.MemberDescriptorType):
        raise _missing(m, ref, name)
    return _bound(m, found, ref, thing.cls)


def _bound(m: Machine, found: Any, owner: Any, cls: Any) -> Any:
    """An attribute of a class as it is seen through an object (or through the class)."""
    if isinstance(found, staticmethod):
        return adopt(m.state, found.__func__, outside=True)
    if isinstance(found, classmethod):
        return BoundMethod(found.__func__, cls)
    if isinstance(found, property):
        if owner is None:
            return found
        return Enter(found.fget, (owner,))
    if isinstance(found, (types.FunctionType, Closure)):
        return found if owner is None else BoundMethod(found, owner)
    if isinstance(found, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        raise Refused(f"the method `{found.__name__}` of a built-in class")
    if isinstance(found, types.GetSetDescriptorType):
        raise Refused(f"the attribute `{found.__name__}` of a built-in class")
    if hasattr(type(found), "__get__") and not isinstance(found, (Ref, type)):
        raise Refused("a descriptor of the program's own")
    return adopt(m.state, found, outside=True)


def special(m: Machine, thing: Any, name: str) -> Any:
    """A method that the language looks up on the type."""
    if is_object(m.state, thing):
        cls = class_of(m.state, thing)
        found = find_in_class(m.state, cls, name)
        if found is None:
            raise Thrown(TypeError(f"'{m.type_name(thing)}' object does not support `{name}`"))
        return _bound(m, found, thing, cls)
    raise Refused(f"`with` on a {m.type_name(thing)}")


def put(m: Machine, thing: Any, name: str, value: Any) -> Any:
    """`thing.name = value`."""
    if isinstance(thing, Closure):
        raise Refused("setting an attribute of a function", final=True)
    if not is_object(m.state, thing):
        if isinstance(thing, (types.ModuleType, type, types.FunctionType)):
            raise KeepsState(
                f"the function changes `{getattr(thing, '__name__', thing)}.{name}`, which stays "
                "from one call to the next",
            )
        raise Refused(f"setting an attribute of a {m.type_name(thing)}")
    cls = class_of(m.state, thing)
    found = find_in_class(m.state, cls, name)
    if isinstance(found, property):
        if found.fset is None:
            raise Thrown(AttributeError(f"property '{name}' has no setter"))
        return Enter(found.fset, (thing, value))
    if isinstance(cls, type) and any(frozen_dataclass(base) for base in cls.__mro__):
        import dataclasses

        raise Thrown(dataclasses.FrozenInstanceError(f"cannot assign to field '{name}'"))
    if isinstance(cls, type) and not hasattr(cls, "__dict__"):
        raise Refused("an object without attributes")
    m.state.heap.write(thing).attributes[name] = value
    return None
