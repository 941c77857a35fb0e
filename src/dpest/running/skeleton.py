"""The structure of an output, apart from the values in it.

One run may return a float, another a list of booleans, a third None. A skeleton is the nesting of
containers with the kind of each leaf; outputs with equal skeletons have the same columns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

LeafKind = Literal["bool", "int", "float", "str", "none", "real", "object"]


class Leaf(NamedTuple):
    """A place for one value. `real` is a symbolic real of a trace; samples have `float` there."""

    kind: LeafKind


class Nest(NamedTuple):
    """A container: "list", "tuple", "dict", "array", with its keys (dict), shape (array), parts."""

    container: str
    keys: tuple[Any, ...]
    parts: tuple[Any, ...]


Skeleton = Leaf | Nest
# Most leaves are plain numbers: they are told at a glance, and equal ones are one object.
PLAIN_LEAVES: dict[type, Leaf] = {
    bool: Leaf("bool"),
    int: Leaf("int"),
    float: Leaf("float"),
    type(None): Leaf("none"),
}


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


def flatten(value: Any) -> tuple[Skeleton, list[Any]]:
    """The skeleton of an output and its leaves, in order.

    >>> flatten([True, 2.5])[0]
    Nest(container='list', keys=(), parts=(Leaf(kind='bool'), Leaf(kind='float')))
    """
    leaves: list[Any] = []
    return _flatten(value, leaves), leaves


def _flatten(value: Any, leaves: list[Any]) -> Skeleton:
    plain = PLAIN_LEAVES.get(type(value))
    if plain is not None:
        leaves.append(value)
        return plain
    if isinstance(value, (list, tuple)):
        name = "list" if isinstance(value, list) else "tuple"
        return Nest(name, (), tuple(_flatten(v, leaves) for v in value))
    if isinstance(value, dict):
        return Nest("dict", tuple(value), tuple(_flatten(v, leaves) for v in value.values()))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = tuple(field.name for field in dataclasses.fields(value))
        return Nest("dict", names, tuple(_flatten(getattr(value, n), leaves) for n in names))
    array = _array_of(value)
    if array is not None:
        if array.ndim == 0:
            return _flatten(array.item(), leaves)
        parts = tuple(_flatten(v, leaves) for v in array.ravel())
        return Nest("array", array.shape, parts)
    leaves.append(value)
    return Leaf(leaf_kind(value))


def _array_of(value: Any) -> Any:
    """The array in a value that is one, lazily or as a column or table of pandas."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "symbolic_elements"):
        return value.symbolic_elements
    if hasattr(value, "to_numpy") and hasattr(value, "index"):
        return value.to_numpy()
    return None


def unflatten(skeleton: Skeleton, leaves: Sequence[Any]) -> Any:
    """The output that `flatten` took apart."""
    return _build(skeleton, iter(leaves))


def _build(skeleton: Skeleton, leaves: Iterator[Any]) -> Any:
    if isinstance(skeleton, Leaf):
        return next(leaves)
    parts = [_build(part, leaves) for part in skeleton.parts]
    if skeleton.container == "tuple":
        return tuple(parts)
    if skeleton.container == "dict":
        return dict(zip(skeleton.keys, parts, strict=True))
    if skeleton.container == "array":
        return np.array(parts).reshape(skeleton.keys)
    return parts


def leaf_kinds(skeleton: Skeleton) -> list[LeafKind]:
    if isinstance(skeleton, Leaf):
        return [skeleton.kind]
    return [kind for part in skeleton.parts for kind in leaf_kinds(part)]
