"""Between Python's objects and values of the machine, in both directions.

`adopt` brings an object into a state: what can change gets an address, and the same object always
the same one. `to_python` is the way back, for a native call on values that are wholly known.
"""

from __future__ import annotations

import collections
import copy
import enum
import functools
import logging
import random
import sys
import types
from dataclasses import replace
from typing import Any

import numpy as np

from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.machine.heap import (
    Buffer,
    DequeObject,
    DictObject,
    HeapObject,
    Instance,
    ListObject,
    SetObject,
)
from dpest.reading.machine.signals import KeepsState, Refused
from dpest.reading.machine.state import State
from dpest.reading.machine.values import (
    FUNCTIONS,
    Array,
    BoundMethod,
    Closure,
    Journal,
    Known,
    Lazy,
    Method,
    Partial,
    RandomSource,
    Ref,
    SciPyDistribution,
    is_plain,
    root_of_module,
)

ATOMS = (type, types.ModuleType, *FUNCTIONS, np.dtype, property, enum.Enum)
MACHINE_VALUES = (
    *(
        Real,
        Truth,
        Ref,
        Array,
        Closure,
        BoundMethod,
        Partial,
        RandomSource,
        SciPyDistribution,
        Lazy,
        Journal,
    ),
    Known,
)
TABLES = ("pandas", "polars")
_DICTS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
_CACHE = type(functools.lru_cache(maxsize=1)(lambda: None))


class NotConcrete(Exception):
    """A value that native code can't have: something in it is symbolic, or is an object."""


def adopt(state: State, value: Any, *, outside: bool) -> Any:
    """A Python object as a value; `outside`: the call must not change it."""
    if is_plain(value):
        return value
    known = state.adopted.get(id(value))
    if known is not None:
        return known[1]
    made = _adopted(state, value, outside)
    if not isinstance(value, (*ATOMS, tuple)):
        state.adopted[id(value)] = (value, made)
    return made


def _adopted(state: State, value: Any, outside: bool) -> Any:
    kind = type(value)

    def inner(part: Any) -> Any:
        return adopt(state, part, outside=outside)

    if isinstance(value, MACHINE_VALUES):
        return value
    source = random_source(value)
    if source is not None:
        return source
    if kind in (logging.Logger, logging.RootLogger):
        return Journal()
    if kind.__module__.startswith("scipy.stats"):
        found = _distribution(value)
        if found is not None:
            given = tuple((k, inner(v)) for k, v in found.kwargs)
            return replace(found, args=tuple(map(inner, found.args)), kwargs=given)
    if isinstance(value, _CACHE):
        raise KeepsState(
            f"`{value.__name__}` keeps its results from one call to the next",
            "take the cache away",
        )
    if isinstance(value, types.BuiltinMethodType):
        return _builtin_method(state, value, outside)
    if isinstance(value, ATOMS):
        return value
    if isinstance(value, tuple):
        return _rebuilt_tuple(value, [inner(v) for v in value])
    if kind is frozenset:
        return frozenset(inner(v) for v in value)
    if kind is slice:
        return slice(inner(value.start), inner(value.stop), inner(value.step))
    if isinstance(value, types.MethodType):
        owner = random_source(value.__self__)
        if owner is not None:
            return BoundMethod(Method(owner.library, value.__name__), owner)
        if type(value.__self__).__module__.startswith("scipy.stats"):
            distribution = inner(value.__self__)
            if isinstance(distribution, SciPyDistribution):
                return BoundMethod(Method("distribution", value.__name__), distribution)
        return BoundMethod(value.__func__, inner(value.__self__))
    if kind is functools.partial:
        kwargs = tuple((k, inner(v)) for k, v in value.keywords.items())
        return Partial(inner(value.func), tuple(inner(v) for v in value.args), kwargs)
    if kind is np.ndarray:
        return _adopted_array(state, value, outside)
    if root_of_module(kind) in TABLES:
        return Known(value if outside else copy.deepcopy(value))
    return _adopted_container(state, value, outside)


def _adopted_container(state: State, value: Any, outside: bool) -> Any:
    kind = type(value)

    def inner(part: Any) -> Any:
        return adopt(state, part, outside=outside)

    def placed(thing: HeapObject) -> Ref:
        ref = state.heap.new(thing)
        state.adopted[id(value)] = (value, ref)
        return ref

    if kind is list:
        ref = placed(ListObject([], outside=outside))
        state.heap.read(ref).items.extend(inner(v) for v in value)
        return ref
    if kind in _DICTS:
        factory = value.default_factory if isinstance(value, collections.defaultdict) else None
        ref = placed(DictObject({}, kind, inner(factory), outside=outside))
        state.heap.read(ref).items.update((inner(k), inner(v)) for k, v in value.items())
        return ref
    if kind is set:
        return placed(SetObject({inner(v): None for v in value}, outside=outside))
    if kind is collections.deque:
        items = [inner(v) for v in value]
        return placed(DequeObject(items, value.maxlen, outside=outside))
    if isinstance(value, BaseException):
        parts = tuple(inner(v) for v in value.args)
        return placed(Instance(kind, {"args": parts}, outside=outside))
    if kind is not types.SimpleNamespace and not readable_class(kind):
        raise Refused(f"an object of the type {kind.__name__}, which is not read")
    ref = placed(Instance(kind, {}, outside=outside))
    found = dict(getattr(value, "__dict__", {}))
    for slot in _slots(kind):
        if hasattr(value, slot):
            found[slot] = getattr(value, slot)
    state.heap.read(ref).attributes.update((k, inner(v)) for k, v in found.items())
    return ref


def _slots(kind: type) -> list[str]:
    found: list[str] = []
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        found += [slots] if isinstance(slots, str) else list(slots)
    return [s for s in found if s not in ("__dict__", "__weakref__")]


_PRELUDE = "dpest.reading.machine.prelude"
_UNREAD = (
    *("__getattribute__", "__getattr__", "__del__", "__new__", "__setattr__", "__delattr__"),
    *("__class_getitem__", "__init_subclass__", "__set_name__", "__instancecheck__"),
)


def readable_class(kind: type) -> bool:
    """A class written in Python, whose objects have attributes and nothing hidden."""
    if type(kind) is not type and type(kind).__module__ != "abc":
        return False
    if kind.__module__.startswith("dpest.reading") and kind.__module__ != _PRELUDE:
        return False  # symbolic values of other readings
    for base in kind.__mro__:
        if base is object or base.__module__ in ("typing", "abc", "collections.abc"):
            continue
        if base.__module__ == "builtins" or not base.__flags__ & (1 << 9):
            return False
        if any(name in base.__dict__ for name in _UNREAD) and not frozen_dataclass(base):
            return False
    return True


def frozen_dataclass(kind: type) -> bool:
    params = kind.__dict__.get("__dataclass_params__")
    return params is not None and params.frozen and "__getattr__" not in kind.__dict__


def _adopted_array(state: State, value: np.ndarray, outside: bool) -> Array:
    if value.dtype.kind not in "biufcOUS" or value.dtype.names:
        raise Refused(f"an array of {value.dtype}")
    data = value.ravel(order="C").copy()
    if value.dtype == object:
        for i, part in enumerate(data):
            data[i] = adopt(state, part, outside=outside)
    return new_array(state, data.reshape(value.shape), value.dtype, outside=outside)


def new_array(
    state: State, data: np.ndarray, dtype: np.dtype[Any] | None = None, *, outside: bool = False
) -> Array:
    """A new array with this content, in a buffer of its own."""
    flat = np.ascontiguousarray(data).reshape(-1)
    if flat.base is not None:
        flat = flat.copy()
    ref = state.heap.new(Buffer(flat, outside=outside))
    places = np.arange(flat.size).reshape(np.shape(data))
    return Array(ref, places, data.dtype if dtype is None else dtype)


def random_source(value: Any) -> RandomSource | None:
    """What a generator of random numbers stands for."""
    if isinstance(value, random.SystemRandom):
        return RandomSource("system", type(value))
    if isinstance(value, np.random.Generator):
        return RandomSource("generator", np.random.Generator)
    if isinstance(value, np.random.RandomState):
        return RandomSource("state", np.random.RandomState)
    if type(value) is random.Random:
        return RandomSource("random", random.Random)
    return None


def _distribution(value: Any) -> SciPyDistribution | None:
    """A distribution of SciPy's own, with the parameters that it was given; None: another object.

    SciPy is there if there is an object of it.
    """
    stats = sys.modules["scipy.stats"]
    inner = getattr(value, "dist", None)
    name = getattr(value if inner is None else inner, "name", None)
    own = getattr(stats, name, None) if isinstance(name, str) else None
    if own is None or type(own).__module__.split(".")[:2] != ["scipy", "stats"]:
        return None
    if value is own:
        return SciPyDistribution(own.name)
    if inner is None or type(inner) is not type(own):
        return None
    return SciPyDistribution(own.name, True, tuple(value.args), tuple(value.kwds.items()))


def _builtin_method(state: State, value: Any, outside: bool) -> Any:
    owner = value.__self__
    if owner is None or isinstance(owner, (types.ModuleType, type)):
        return value
    if random_source(owner) is not None:
        source = random_source(owner)
        assert source is not None
        return BoundMethod(Method(source.library, value.__name__), source)
    method = getattr(type(owner), value.__name__)
    return BoundMethod(method, adopt(state, owner, outside=outside))


def _rebuilt_tuple(old: Any, parts: list[Any]) -> Any:
    if type(old) is tuple:
        return tuple(parts)
    if hasattr(old, "_fields") and hasattr(type(old), "_make"):
        return type(old)._make(parts)
    raise Refused(f"an object of the type {type(old).__name__}, which is not read")


def to_python(state: State, value: Any) -> Any:
    """A wholly known value as Python's own; NotConcrete otherwise. Nothing is shared."""
    if is_plain(value) or isinstance(value, ATOMS):
        return value
    kind = type(value)
    if isinstance(value, tuple):
        return _rebuilt_tuple(value, [to_python(state, v) for v in value])
    if kind is slice:
        return slice(*(to_python(state, v) for v in (value.start, value.stop, value.step)))
    if kind is frozenset:
        return frozenset(to_python(state, v) for v in value)
    if kind is Array:
        return array_content(state, value)
    if kind is Ref:
        return _object_to_python(state, state.heap.read(value))
    if kind is Known:
        return value.thing
    raise NotConcrete


def array_content(state: State, value: Array) -> np.ndarray:
    """A copy of what an array shows, of its own dtype; NotConcrete where a value is symbolic."""
    buffer = state.heap.read(value.buffer)
    if value.dtype == object or (not buffer.undecided and buffer.data.dtype != value.dtype):
        raise NotConcrete
    found = np.asarray(buffer.at(value.places))
    if found.dtype != value.dtype:
        raise NotConcrete
    return np.array(found, order="K", copy=True)


def _object_to_python(state: State, thing: HeapObject) -> Any:
    if isinstance(thing, ListObject) and thing.kind is list:
        return [to_python(state, v) for v in thing.items]
    if isinstance(thing, DictObject):
        items = {to_python(state, k): to_python(state, v) for k, v in thing.items.items()}
        if thing.kind is dict:
            return items
        if thing.kind is collections.defaultdict:
            raise NotConcrete
        return thing.kind(items)
    if isinstance(thing, SetObject):
        return {to_python(state, k) for k in thing.items}
    if isinstance(thing, DequeObject):
        return collections.deque((to_python(state, v) for v in thing.items), thing.maximum)
    raise NotConcrete
