"""The structure of an output, apart from the values in it.

One run may return a float, another a list of booleans, a third None. A skeleton is the nesting of
containers with the kind of each leaf; outputs with equal skeletons have the same columns.

All that a receiver sees is part of it: classes, attributes, labels of tables, keys. (The order of a
dictionary or of a set is not: they are a mapping and a set.) What can't be looked into is refused:
an object that is compared by its address is never equal, and never different, for a reason.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import math
import pathlib
import re
import types
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from dpest.errors import OpaqueError

LeafKind = Literal["bool", "int", "float", "str", "none", "real", "object"]


class Leaf(NamedTuple):
    """A place for one value. `real` is a symbolic real of a trace; samples have `float` there.

    `type` names the type of a number where types are told apart (see `flatten`).
    """

    kind: LeafKind
    type: str = ""


class Nest(NamedTuple):
    """A container: "list", "tuple", "dict", "array", with its keys (dict), shape (array), parts.

    `label` is the class, where it is not Python's own, and what else is fixed about it.
    """

    container: str
    keys: tuple[Any, ...]
    parts: tuple[Any, ...]
    label: str = ""


Skeleton = Leaf | Nest
# Most leaves are plain numbers: they are told at a glance, and equal ones are one object.
PLAIN_LEAVES: dict[type, Leaf] = {
    bool: Leaf("bool"),
    int: Leaf("int"),
    float: Leaf("float"),
    type(None): Leaf("none"),
}
# Compared by their value, and by nothing else.
VALUES = (
    complex, decimal.Decimal, fractions.Fraction, datetime.date, datetime.time, datetime.timedelta,
    datetime.tzinfo, uuid.UUID, range, pathlib.PurePath, re.Pattern, np.generic, type(...),
    type(NotImplemented),
)  # fmt: skip


class Generated(list[Any]):
    """What a generator gave."""


def consumed(output: Any) -> Any:
    """An output that a receiver would go through, gone through."""
    if isinstance(output, (list, tuple, dict, np.ndarray, str, bytes)):
        return output
    return Generated(output) if isinstance(output, Iterator) else output


def raised_output(error: BaseException) -> str:
    """What whoever called the function sees of an error: its type and its text.

    >>> raised_output(ValueError("empty"))
    'raises ValueError: empty'
    """
    try:
        text = str(error)
    except Exception:
        text = "?"
    return f"raises {type(error).__name__}" + (f": {_without_addresses(text)}" if text else "")


def _without_addresses(text: str) -> str:
    """Where an object lies in memory says nothing about data."""
    return re.sub(r"\bat 0x[0-9a-fA-F]+", "at 0x…", text) if " at 0x" in text else text


def numbers_alike(skeleton: Skeleton) -> Any:
    """The skeleton with all numbers alike: 1 and 1.0 are one number."""
    if isinstance(skeleton, Leaf):
        return "number" if skeleton.kind in ("int", "float", "real") else skeleton.kind
    parts = tuple(numbers_alike(p) for p in skeleton.parts)
    return (skeleton.container, skeleton.keys, skeleton.label, parts)


def seen_constant(value: Any) -> Any:
    """What a receiver sees of a constant: 1, 1.0 and True are three, and -0.0 is not 0.0."""
    return (type(value), repr(value) if isinstance(value, (float, np.floating)) else value)


def is_other_zero(expected: Any, actual: Any) -> bool:
    """Whether both are zeros, of different signs: equal, and a receiver tells them apart."""
    numbers = (int, float, np.number)
    if not (isinstance(expected, numbers) and isinstance(actual, numbers)):
        return False
    if isinstance(expected, np.complexfloating) or isinstance(actual, np.complexfloating):
        return False
    return bool(expected == actual == 0) and (
        is_negative_zero(expected) != is_negative_zero(actual)
    )


def is_negative_zero(value: Any) -> bool:
    return bool(value == 0 and math.copysign(1.0, float(value)) < 0)


def leaf_kind(value: Any) -> LeafKind:
    if value is None:
        return "none"
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, (int, np.integer)):
        return "int"
    if isinstance(value, (float, np.floating)):
        return "float"
    if isinstance(value, (str, bytes)):
        return "str"
    return getattr(value, "leaf_kind", "object")


def flatten(value: Any, typed: bool = False) -> tuple[Skeleton, list[Any]]:
    """The skeleton of an output and its leaves, in order.

    `typed` tells the types of numbers apart, too: 1.0 and np.float64(1.0), arrays of float32 and
    of float64. Raises OpaqueError for what can't be looked into.

    >>> flatten([True, 2.5])[0].parts
    (Leaf(kind='bool', type=''), Leaf(kind='float', type=''))
    """
    return _Flattening(typed).of(value)


class _Flattening:
    def __init__(self, typed: bool) -> None:
        self.typed = typed
        self.leaves: list[Any] = []
        self.inside: set[int] = set()

    def of(self, value: Any) -> tuple[Skeleton, list[Any]]:
        return self.skeleton(value), self.leaves

    def skeleton(self, value: Any) -> Skeleton:
        kind = type(value)
        plain = PLAIN_LEAVES.get(kind)
        if plain is not None:
            self.leaves.append(value)
            return plain
        if kind is list or kind is tuple:
            return Nest(kind.__name__, (), tuple(self.skeleton(v) for v in value))
        if isinstance(value, (list, tuple)) and _own(kind):  # lazy lists, what a generator gave
            name = "list" if isinstance(value, list) else "tuple"
            return self._nest(name, (), value, "Generated" if kind is Generated else "")
        if kind is str:
            self.leaves.append(_without_addresses(value))
            return Leaf("str")
        if kind is dict:
            keys = _ordered(value)
            return Nest(
                "dict", keys, tuple(self.skeleton(value[k]) for k in keys), _key_types(keys)
            )
        if isinstance(value, np.ndarray):
            return self._array(value)
        if hasattr(value, "symbolic_elements"):
            return self._array(value.symbolic_elements)
        if isinstance(value, np.generic) and not isinstance(value, np.void):
            self.leaves.append(value)
            return Leaf(leaf_kind(value), kind.__name__ if self.typed else "")
        if kind in (set, frozenset):
            return self._set(value)
        if kind is bytes or isinstance(value, VALUES) or _own(kind):
            self.leaves.append(value)
            return Leaf(leaf_kind(value))
        if id(value) in self.inside:
            return Nest("again", (), ())
        self.inside.add(id(value))
        try:
            return self._object(value)
        finally:
            self.inside.discard(id(value))

    def _nest(self, container: str, keys: Iterable[Any], parts: Iterable[Any], label: str) -> Nest:
        return Nest(container, tuple(keys), tuple(self.skeleton(v) for v in parts), label)

    def _array(self, value: Any) -> Skeleton:
        if type(value) is np.ma.MaskedArray:
            parts = [np.asarray(value.data), np.ma.getmaskarray(value), value.fill_value]
            return self._nest("object", ("data", "mask", "fill_value"), parts, "MaskedArray")
        if type(value) is not np.ndarray and not _own(type(value)):
            parts = [np.asarray(value), getattr(value, "__dict__", {})]
            return self._nest("object", ("array", "__dict__"), parts, _name(type(value)))
        if value.dtype.names:
            fields = value.dtype.names
            return self._nest("record", fields, [value[f] for f in fields], str(value.dtype))
        if value.ndim == 0:
            return self.skeleton(value.item())
        label = str(value.dtype) if self.typed and value.dtype != object else ""
        parts = value.ravel() if value.dtype == object or not self.typed else value.ravel().tolist()
        return self._nest("array", value.shape, parts, label)

    def _set(self, value: Any) -> Skeleton:
        for member in value:
            flatten(member)
        self.leaves.append(frozenset(value))
        return Leaf("object", type(value).__name__ if self.typed else "")

    def _object(self, value: Any) -> Skeleton:
        kind = type(value)
        table = _table(value)
        if table is not None:
            return self._nest(*table)
        if isinstance(value, enum.Enum):
            return self._nest("enum", (), (value.name,), _name(kind))
        if isinstance(value, type):
            return self._nest("class", (), (_name(value),), "type")
        if isinstance(
            value,
            types.GenericAlias
            | types.FunctionType
            | types.BuiltinFunctionType
            | types.MethodType
            | types.ModuleType
            | functools.partial,
        ):
            raise opaque(value)
        held = _attributes(value)
        for base, name, taken in _BASES:
            if isinstance(value, base):
                inside = self.skeleton(taken(value))
                if not held and kind in _KNOWN:
                    return _labelled(inside, _name(kind))
                own = self._nest("dict", sorted(held), [held[k] for k in sorted(held)], "")
                if not held:
                    return _labelled(inside, _name(kind))
                return Nest(name, ("value", "attributes"), (inside, own), _name(kind))
        if not _readable(kind):
            raise opaque(value)
        names = sorted(held)
        return self._nest("object", names, [held[name] for name in names], _name(kind))


def opaque(value: Any) -> OpaqueError:
    kind = _name(type(value))
    return OpaqueError(
        f"the function returns an object of type {kind}, which can't be looked into",
        "Return what is in it: numbers, lists, dictionaries, or vars(result)",
        "",
    )


def _labelled(skeleton: Skeleton, label: str) -> Skeleton:
    if isinstance(skeleton, Leaf):
        return Nest("value", (), (skeleton,), label)
    return skeleton._replace(label=f"{label} {skeleton.label}".strip())


def _name(kind: type) -> str:
    return kind.__qualname__.replace("<locals>.", "")


def _own(kind: type) -> bool:
    """Values of dpest's readers: they are leaves."""
    return kind.__module__.startswith("dpest.") and not kind.__module__.startswith("dpest.zoo")


_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def _readable(kind: type) -> bool:
    """Whether an object of a class is what its attributes say: no part of it is hidden in C."""
    return all(base is object or base.__flags__ & _HEAP for base in kind.__mro__) and (
        "__dict__" in dir(kind) or any("__slots__" in vars(base) for base in kind.__mro__)
    )


def _attributes(value: Any) -> dict[str, Any]:
    held = dict(getattr(value, "__dict__", None) or {})
    for base in type(value).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                held[name] = getattr(value, name)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            if hasattr(value, field.name):
                held[field.name] = getattr(value, field.name)
    return {str(name): part for name, part in held.items()}


# What a subclass of these has inside, beside its attributes.
_BASES: tuple[tuple[Any, str, Callable[[Any], Any]], ...] = (
    (collections.OrderedDict, "ordered", lambda v: [(k, v[k]) for k in v]),
    (collections.deque, "deque", lambda v: [list(v), v.maxlen]),
    (dict, "mapping", lambda v: dict(v)),
    (list, "list", lambda v: list(v)),
    (tuple, "tuple", lambda v: tuple(v)),
    (str, "text", lambda v: str.__str__(v)),
    (bytes, "bytes", lambda v: bytes(v)),
    (bytearray, "bytes", lambda v: bytes(v)),
    (bool, "number", lambda v: bool(v)),
    (int, "number", lambda v: int(v)),
    (float, "number", lambda v: float(v)),
    (frozenset, "set", lambda v: frozenset(v)),
    (set, "set", lambda v: set(v)),
    (BaseException, "error", lambda v: list(v.args)),
    (types.MappingProxyType, "mapping", lambda v: dict(v)),
    (types.SimpleNamespace, "namespace", lambda v: dict(vars(v))),
    (
        np.void,
        "record",
        lambda v: {n: v[n] for n in v.dtype.names} if v.dtype.names else v.tobytes(),
    ),
)
_KNOWN = (collections.Counter, collections.OrderedDict, collections.deque, bytearray)


def _table(value: Any) -> tuple[str, Iterable[Any], Iterable[Any], str] | None:
    """Tables and their columns, with everything that is printed of them; tensors."""
    module = type(value).__module__.split(".")[0]
    name = type(value).__name__
    if module == "pandas":
        return _of_pandas(value, name)
    if module == "polars" and hasattr(value, "to_dict"):
        return "table", (), [value.to_dict(as_series=False)], f"{name} {value.schema}"
    if module == "polars" and hasattr(value, "to_list"):
        return "column", (), [value.to_list(), value.name], f"{name} {value.dtype}"
    if module == "torch" and hasattr(value, "detach"):
        return "tensor", (), [value.detach().cpu().numpy()], f"{name} {value.dtype}"
    return None


def _of_pandas(value: Any, name: str) -> tuple[str, Iterable[Any], Iterable[Any], str] | None:
    if hasattr(value, "columns") and hasattr(value, "index"):
        columns = [_column(value.iloc[:, i]) for i in range(value.shape[1])]
        return "table", (), [value.columns, value.index, columns, value.attrs], name
    if hasattr(value, "index") and hasattr(value, "dtype") and hasattr(value, "tolist"):
        return "column", (), [value.index, _column(value), value.name, value.attrs], name
    if hasattr(value, "names") and hasattr(value, "tolist"):
        return "index", (), [_column(value), list(value.names)], name
    if hasattr(value, "dtype") and hasattr(value, "tolist"):  # its arrays: Categorical, …
        return "array", (), [_column(value)], name
    if hasattr(value, "isoformat"):
        return "value", (), [value.isoformat()], name
    return ("value", (), [str(value)], name) if str(value) in ("NaT", "<NA>") else None


def _column(values: Any) -> list[Any]:
    categories = getattr(values.dtype, "categories", None)
    known = None if categories is None else [categories.tolist(), bool(values.dtype.ordered)]
    return [str(values.dtype), known, values.tolist()]


@functools.lru_cache(maxsize=1024)
def _sorted_keys(keys: tuple[Any, ...], types_of: tuple[type, ...]) -> tuple[Any, ...]:
    for key in keys:
        flatten(key)
    return tuple(sorted(keys, key=lambda k: (type(k).__name__, repr(k))))


def _ordered(mapping: dict[Any, Any]) -> tuple[Any, ...]:
    """The keys, in an order that does not depend on when they came in."""
    keys = tuple(mapping)
    if len(keys) < 2 and all(type(k) is str for k in keys):
        return keys
    return _sorted_keys(keys, tuple(map(type, keys)))


def _key_types(keys: tuple[Any, ...]) -> str:
    """1, 1.0 and True are one key to Python, and three to whoever reads it."""
    if all(type(k) is str for k in keys):
        return ""
    return " ".join(type(k).__name__ for k in keys)


def unflatten(skeleton: Skeleton, leaves: Sequence[Any]) -> Any:
    """The output that `flatten` took apart; objects as dictionaries of what is in them."""
    return _build(skeleton, iter(leaves))


def _build(skeleton: Skeleton, leaves: Iterator[Any]) -> Any:
    if isinstance(skeleton, Leaf):
        return next(leaves)
    parts = [_build(part, leaves) for part in skeleton.parts]
    if skeleton.container == "tuple":
        return tuple(parts)
    if skeleton.container in ("dict", "object", "record"):
        return dict(zip(skeleton.keys, parts, strict=True))
    if skeleton.container == "array" and skeleton.keys:
        return np.array(parts).reshape(skeleton.keys)
    if skeleton.container == "value":
        return parts[0]
    return parts


def leaf_kinds(skeleton: Skeleton) -> list[LeafKind]:
    if isinstance(skeleton, Leaf):
        return [skeleton.kind]
    return [kind for part in skeleton.parts for kind in leaf_kinds(part)]
