"""Forks of a piece that make no difference: both ways go on alike, and the answer is not kept.

`if u < 0.5: y = x + b*log(2*u)`, else `y = x - b*log(2 - 2*u)`: read as Laplace noise, both ways
add the same noise. A proof that shifts the noise must not have to stay on one side of such a fork.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from dpest.reading.decision_path import Block
from dpest.reading.loop_graph import LoopEdge
from dpest.reading.paths import Path

Dead = tuple[int, bool, tuple[Block, ...], tuple[Any, ...]]
_DEEPEST = 200  # conditions of a path that are looked at one inside of the other
_Way = tuple[tuple[Block, ...], Any, Any]  # what was decided, what follows, and whose it is


def without_needless_forks(
    edges: Sequence[LoopEdge], dead: Iterable[Dead]
) -> tuple[list[LoopEdge], dict[Dead, None]]:
    """The edges, each with the decisions that are left of it; and the impossible ways, likewise.

    Exact: a decision goes only if everything after either answer is the same, case by case.
    """
    ways: dict[tuple[int, bool], list[_Way]] = {}
    for edge in edges:
        ways.setdefault((edge.source, edge.reads), []).append((edge.blocks, _key(edge), edge))
    for source, reads, blocks, draws in dead:
        entry = (source, reads, draws)
        ways.setdefault((source, reads), []).append((blocks, ("dead", draws), entry))
    kept: list[LoopEdge] = []
    impossible: dict[Dead, None] = {}
    for found in ways.values():
        for blocks, _, owner in _reduced(found):
            if isinstance(owner, LoopEdge):
                kept.append(owner if blocks == owner.blocks else replace(owner, blocks=blocks))
            else:
                source, reads, draws = owner
                impossible[source, reads, blocks, draws] = None
    return kept, impossible


def joined_paths(paths: Sequence[Path]) -> list[Path]:
    """The paths of a trace without such forks; what they release, and how often, is the same."""
    if any(len(path.conditions) > _DEEPEST for path in paths):
        return list(paths)
    ways: list[_Way] = [
        (
            tuple((c,) for c in path.conditions),
            (path.skeleton, _with_types(path.leaves), path.choices),
            path,
        )
        for path in paths
    ]
    return [
        path
        if len(blocks) == len(path.conditions)
        else replace(path, conditions=tuple(c for (c,) in blocks))
        for blocks, _, path in _reduced(ways)
    ]


_DECIDED = ("source", "reads", "blocks")


def _key(edge: LoopEdge) -> Any:
    """All of an edge but its decisions."""
    values = (getattr(edge, f.name) for f in fields(edge) if f.name not in _DECIDED)
    return tuple(
        tuple(sorted(v.items())) if isinstance(v, Mapping) else _with_types(v) for v in values
    )


def _with_types(value: Any) -> Any:
    """True and 1 are not the same release."""
    if not isinstance(value, tuple):
        return value
    return tuple((type(v).__name__, v) for v in value)


def _reduced(ways: list[_Way]) -> list[_Way]:
    if any(not blocks for blocks, _, _ in ways):
        return ways
    after: dict[Block, list[_Way]] = {}
    for blocks, key, owner in ways:
        after.setdefault(blocks[0], []).append((blocks[1:], key, owner))
    later = {block: _reduced(found) for block, found in after.items()}
    if len(later) == 2:
        (first, second) = later
        opposite = len(first) == len(second) == 1 and first[0].negated() == second[0]
        if opposite and _alike(later[first], later[second]):
            return later[first]
    return [
        ((block, *blocks), key, owner)
        for block, found in later.items()
        for blocks, key, owner in found
    ]


def _alike(first: list[_Way], second: list[_Way]) -> bool:
    rest = [(blocks, key) for blocks, key, _ in second]
    for blocks, key, _ in first:
        if (blocks, key) not in rest:
            return False
        rest.remove((blocks, key))
    return not rest
