"""Unions of a few ranges, one for each category: "the length is 6 and the last element … or …".

For a level λ the best range of a category is the one with the largest P1 − e^λ·P2; together they
are the event of that kind with the largest hockey-stick divergence at λ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.attacks.statdp.events import ONE, Either, Event
from dpest.attacks.statdp.hypothesis_test import promise

Ints = NDArray[np.int64]
# A category, and the first and the last bin of a range in it.
Place = tuple[int, int, int]

_LEVELS = np.linspace(0.2, 1.3, 12)  # in parts of what the best single range promises
_CAUTION = 2.5  # sigmas, of that promise


@dataclass(frozen=True)
class Taste:
    """How many ranges a union has at most, and by how many sigmas each of them must help."""

    most: int
    sure: float


FEW = Taste(4, 2.0)
MANY = Taste(12, 1.0)


def unions(
    learn: Ints, count: Ints, event: Callable[[Place], Event], taste: Taste = FEW
) -> Iterator[tuple[Ints, Callable[[int], Event]]]:
    """Unions of ranges in several categories, for both directions: counts, and the k-th event.

    `learn` and `count` are tables of two halves of the samples: category, input, bin (the last for
    what has no value). The ranges come from the first half, their counts (union, input) from the
    second.
    """
    if len(learn) < 2:
        return
    sums = _from_zero(count)
    for side in (0, 1):
        found = _best_unions(learn[:, side, :-1], learn[:, 1 - side, :-1], taste)
        if not found:
            continue
        counts = [sum(sums[c, :, j + 1] - sums[c, :, i] for c, i, j in places) for places in found]

        def union(k: int, found: list[tuple[Place, ...]] = found) -> Event:
            return Event(((Either(tuple(event(place) for place in found[k])), ONE),))

        yield np.array(counts, dtype=np.int64), union


def _best_unions(large: Ints, small: Ints, taste: Taste) -> list[tuple[Place, ...]]:
    """One for each level at which two or more categories have a range that helps."""
    best = _best_promise(large, small)
    if not best > 0:
        return []
    weights = np.exp(best * _LEVELS)[:, None, None]
    # The range with the largest sum ends where the sum is highest above its lowest so far.
    sums = _from_zero(large - weights * small)
    last = np.argmax(sums[:, :, 1:] - np.minimum.accumulate(sums[:, :, :-1], axis=2), axis=2)
    before = np.arange(sums.shape[2] - 1) <= last[:, :, None]
    first = np.argmin(np.where(before, sums[:, :, :-1], np.inf), axis=2)
    category = np.arange(len(large))
    a, b = (
        sums[category, last + 1] - sums[category, first]
        for sums in (_from_zero(large), _from_zero(small))
    )
    weight = weights[:, :, 0]
    gain = a - weight * b
    helps = gain > taste.sure * np.sqrt(a + weight * weight * b)
    order = np.argsort(-gain, axis=1, kind="stable")
    found: dict[tuple[Place, ...], None] = {}
    for level in np.flatnonzero(helps.sum(axis=1) > 1).tolist():
        kept = [c for c in order[level].tolist() if helps[level, c]][: taste.most]
        found[tuple((c, int(first[level, c]), int(last[level, c])) for c in sorted(kept))] = None
    return list(found)


def _best_promise(large: Ints, small: Ints) -> float:
    """What the best single range promises, roughly; 0 if none is sure to be likelier at all."""
    a, b = _from_zero(large), _from_zero(small)
    i, j = np.triu_indices(a.shape[1], 1)
    a, b = a[:, j] - a[:, i], b[:, j] - b[:, i]
    positive = a - b > _CAUTION * np.sqrt(a + b)  # of the others the promise is not
    return float(promise(a[positive], b[positive], _CAUTION).max()) if positive.any() else 0.0


def _from_zero(values: Any) -> Any:
    """Cumulative sums along the last axis, with a 0 before the first."""
    sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1), dtype=values.dtype)
    np.cumsum(values, axis=-1, out=sums[..., 1:])
    return sums
