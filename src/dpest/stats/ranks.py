"""Ranks of two samples together, where equal values are put in a random order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def ordered(values: Floats) -> Floats:
    """The values from the lowest on; those that are so already are not sorted again."""
    if len(values) < 2 or bool(np.all(values[1:] >= values[:-1])):
        return values
    return np.sort(values)


def shuffled_order(scores: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
    """The order of the scores, from the lowest on; equal ones in random order."""
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    same = ordered[1:] == ordered[:-1]
    if not same.any():
        return order
    # Only runs of equal scores are shuffled: each gets a random key within its run.
    run = np.concatenate([[0], np.cumsum(~same)])
    return order[np.lexsort((rng.random(len(order)), run))]


def ties(first: Floats, second: Floats) -> bool:
    """Whether some value is in both samples."""
    short, long = sorted((ordered(first), ordered(second)), key=len)
    place = np.searchsorted(long, short)
    return bool(np.any(long[np.minimum(place, len(long) - 1)] == short))


def insiders_below(
    inside: Floats, outside: Floats, ranks: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.intp]:
    """How many of the lowest `ranks` scores of both samples together are inside ones.

    Sorting values is many times as fast as ordering them, which only equal values need.
    """
    if ties(inside, outside):
        members = shuffled_order(np.concatenate([inside, outside]), rng) < len(inside)
        return np.concatenate([[0], np.cumsum(members)])[ranks]
    own_order = ordered(inside)
    pooled = merged(own_order, ordered(outside))
    found = np.empty(len(ranks), dtype=np.intp)
    whole = ranks >= len(pooled)
    found[whole] = len(inside)
    # Equal values of one sample may be split anywhere: count up to the value, then fill up.
    value = pooled[ranks[~whole]]
    below = np.searchsorted(pooled, value)
    own = np.searchsorted(own_order, value)
    is_inside = np.searchsorted(own_order, value, side="right") > own
    found[~whole] = own + np.where(is_inside, ranks[~whole] - below, 0)
    return found


def merged(first: Floats, second: Floats) -> Floats:
    """Two samples together, in order."""
    pooled = np.concatenate([first, second])
    pooled.sort()
    return pooled
