"""Decisions that make no difference: both ways go on alike, and the answer is not kept.

`if u < 0.5: y = x + b*log(2*u)`, else `y = x - b*log(2 - 2*u)`: read as Laplace noise, both ways
add the same noise.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

from dpest.geometry.linear import Condition

_DEEPEST = 200  # conditions that are looked at one inside of the other
_Owner = TypeVar("_Owner")
_Fork = tuple[tuple[Condition, ...], Hashable, _Owner]


def without_needless_forks(ways: Sequence[_Fork[_Owner]]) -> list[_Fork[_Owner]]:
    """Ways (what was decided, what follows, whose it is) with the decisions that are left.

    Exact: a decision goes only if everything after either answer is the same, case by case.
    """
    if any(len(conditions) > _DEEPEST for conditions, _, _ in ways):
        return list(ways)
    return _reduced(list(ways))


def _reduced(ways: list[_Fork[_Owner]]) -> list[_Fork[_Owner]]:
    if any(not conditions for conditions, _, _ in ways):
        return ways
    after: dict[Condition, list[_Fork[_Owner]]] = {}
    for conditions, key, owner in ways:
        after.setdefault(conditions[0], []).append((conditions[1:], key, owner))
    later = {condition: _reduced(found) for condition, found in after.items()}
    if len(later) == 2:
        first, second = later
        if first.negated() == second and _alike(later[first], later[second]):
            return later[first]
    return [
        ((condition, *conditions), key, owner)
        for condition, found in later.items()
        for conditions, key, owner in found
    ]


def _alike(first: list[_Fork[_Owner]], second: list[_Fork[_Owner]]) -> bool:
    rest = [(conditions, key) for conditions, key, _ in second]
    for conditions, key, _ in first:
        if (conditions, key) not in rest:
            return False
        rest.remove((conditions, key))
    return not rest
