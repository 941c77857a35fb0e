"""The elements of an output, as StatDP reads them: of one output, and of a column of them.

An output may have parts that are outputs themselves: two lists side by side, say. The elements of
each can be read alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dpest.running.samples import Samples, SkeletonGroup, column_of
from dpest.running.skeleton import Leaf, Nest, flatten, leaf_kinds

# The kind of a column of values of several of these kinds, where there are too many groups.
MIXED: Any = "mixed"
PLAIN = ("none", "bool", "str")
_MANY_GROUPS = 32
_MOST_PARTS = 4
_NOTHING = Nest("list", (), ())


def leaves_of(output: Any) -> tuple[Any, ...]:
    """The elements of one output, as plain Python values.

    Of a set its members in order; after those of a dictionary its keys, as one string.
    """
    if isinstance(output, (set, frozenset)):
        output = _in_order(output)
    skeleton, found = flatten(output)
    leaves = [v.item() if isinstance(v, np.generic) else v for v in found]
    if isinstance(skeleton, Nest) and skeleton.container == "dict":
        leaves.append(_keys_leaf(skeleton.keys))
    return tuple(leaves)


def _in_order(members: Iterable[Any]) -> list[Any]:
    try:
        return sorted(members)
    except TypeError:
        return sorted(members, key=repr)


def _keys_leaf(keys: Iterable[Any]) -> str:
    return "keys " + (", ".join(map(str, keys)) or "none")


def as_leaves(group: SkeletonGroup) -> Iterator[SkeletonGroup]:
    """The same outputs with the leaves of `leaves_of`: more than their skeleton has."""
    skeleton = group.skeleton
    if isinstance(skeleton, Nest) and skeleton.container == "dict":
        keys = np.full(len(group.rows), _keys_leaf(skeleton.keys), dtype=object)
        parts = (*skeleton.parts, Leaf("str"))
        yield SkeletonGroup(Nest("list", (), parts), group.rows, (*group.columns, keys))
        return
    values = group.columns[0].tolist() if skeleton == Leaf("object") else [None]
    if not all(isinstance(value, (set, frozenset)) for value in values):
        yield group
        return
    places: dict[frozenset[Any], list[int]] = {}
    for i, value in enumerate(values):
        places.setdefault(frozenset(value), []).append(i)
    for members, rows in places.items():
        nest, leaves = flatten(_in_order(members))
        kinds = leaf_kinds(nest)
        columns = (
            column_of(kind, [leaf] * len(rows)) for kind, leaf in zip(kinds, leaves, strict=True)
        )
        yield SkeletonGroup(nest, group.rows[rows], tuple(columns))


def by_kinds(groups: Iterable[SkeletonGroup]) -> list[SkeletonGroup]:
    """One group for outputs whose leaves have the same kinds: containers don't matter here.

    Where None, booleans and strings alternate at every place, there are as many kinds as outputs:
    these three then share a column.
    """
    found = _joined([(tuple(group.kinds), group.rows, group.columns) for group in groups])
    if len(found) <= _MANY_GROUPS:
        return found
    mixed = []
    for group in found:
        kinds = tuple(MIXED if kind in PLAIN else kind for kind in group.kinds)
        columns = (
            _objects(kind, column) if kind in PLAIN else column
            for kind, column in zip(group.kinds, group.columns, strict=True)
        )
        mixed.append((kinds, group.rows, tuple(columns)))
    return _joined(mixed)


def part_names(samples: Samples) -> tuple[str, ...]:
    """What stands in `output[…]` for each part, where parts of any length come side by side.

    Places in the whole output are then not the same places of a part; else they say it all.
    """
    nests = [g.skeleton for g in samples.groups if isinstance(g.skeleton, Nest)]
    kinds = {(s.container, s.keys, s.label, len(s.parts)) for s in nests}
    if len(kinds) != 1:
        return ()
    ((container, keys, label, count),) = kinds
    if container not in ("list", "tuple", "dict") or label or not 2 <= count <= _MOST_PARTS:
        return ()
    widths = ({len(leaf_kinds(s.parts[i])) for s in nests} for i in range(count))
    if all(len(found) == 1 for found in widths):
        return ()
    return tuple(map(repr, keys if container == "dict" else range(count)))


def part_of(samples: Samples, index: int) -> Samples:
    """One part of each output; nothing where an output has no such part."""
    groups = []
    for group in samples.groups:
        parts = group.skeleton.parts if isinstance(group.skeleton, Nest) else ()
        if index >= len(parts):
            groups.append(SkeletonGroup(_NOTHING, group.rows, ()))
            continue
        start = sum(len(leaf_kinds(part)) for part in parts[:index])
        columns = group.columns[start : start + len(leaf_kinds(parts[index]))]
        groups.append(SkeletonGroup(parts[index], group.rows, columns))
    return Samples(samples.size, groups)


def _objects(kind: str, column: Any) -> Any:
    values = np.empty(len(column), dtype=object)
    if kind != "none":
        values[:] = column.tolist()
    return values


def _joined(parts: list[tuple[tuple[Any, ...], Any, tuple[Any, ...]]]) -> list[SkeletonGroup]:
    same: dict[tuple[Any, ...], list[tuple[Any, tuple[Any, ...]]]] = {}
    for kinds, rows, columns in parts:
        same.setdefault(kinds, []).append((rows, columns))
    groups = []
    for kinds, some in same.items():
        skeleton = Nest("list", (), tuple(Leaf(kind) for kind in kinds))
        if len(some) == 1:
            groups.append(SkeletonGroup(skeleton, *some[0]))
            continue
        columns = tuple(np.concatenate(of) for of in zip(*(c for _, c in some), strict=True))
        groups.append(SkeletonGroup(skeleton, np.concatenate([rows for rows, _ in some]), columns))
    return groups
