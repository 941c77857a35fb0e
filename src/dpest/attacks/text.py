"""Text and complex numbers in outputs, taken apart into a pattern and the numbers in it.

"7.42 of 5 rows" is another text in every run. Its pattern "# of # rows" is not, and its numbers are
7.42 and 5: each then is a feature of its own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpest.running.samples import Samples, SkeletonGroup
from dpest.running.skeleton import Leaf, Nest, Skeleton, leaf_kinds

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_LONGEST = 10_000
FEW = 64  # so many different texts are told apart as they are


def hides_numbers(column: np.ndarray) -> bool:
    """Whether a column holds complex numbers, or very many texts with numbers in them."""
    if column.dtype != object or not len(column):
        return False
    if all(isinstance(v, complex) for v in column):
        return True
    if not all(isinstance(v, (str, bytes)) for v in column):
        return False
    return len(set(column)) > FEW and any(_NUMBER.search(_text(v)) for v in column)


def apart(samples: Samples, hiding: set[tuple[Skeleton, int]]) -> Samples:
    """The outputs with the numbers of some of their leaves as leaves of their own."""
    if not hiding:
        return samples
    groups: list[SkeletonGroup] = []
    for group in samples.groups:
        chosen = [i for i in range(len(group.columns)) if (group.skeleton, i) in hiding]
        groups += _of_group(group, chosen) if chosen else [group]
    return Samples(samples.size, groups, samples.notes, samples.raised, samples.runner)


def _of_group(group: SkeletonGroup, chosen: Sequence[int]) -> list[SkeletonGroup]:
    by_pattern: dict[tuple[str, ...], list[int]] = defaultdict(list)
    numbers: list[list[float]] = []
    for row in range(len(group.rows)):
        texts = [taken(group.columns[i][row]) for i in chosen]
        by_pattern[tuple(pattern for pattern, _ in texts)].append(row)
        numbers.append([v for _, values in texts for v in values])
    others = [i for i in range(len(group.columns)) if i not in chosen]
    found = []
    for pattern, rows in by_pattern.items():
        made = np.array([numbers[r] for r in rows], dtype=np.float64).reshape(len(rows), -1)
        kinds = leaf_kinds(group.skeleton)
        leaves = [Leaf(kinds[i]) for i in others] + [Leaf("float")] * made.shape[1]
        label = (repr(group.skeleton), *pattern)
        columns = [group.columns[i][rows] for i in others] + list(made.T)
        found.append(
            SkeletonGroup(Nest("apart", label, tuple(leaves)), group.rows[rows], tuple(columns))
        )
    return found


def taken(value: Any) -> tuple[str, list[float]]:
    """A text's pattern, and the numbers in it; of a complex number, its two parts."""
    if isinstance(value, complex):
        return "complex", [value.real, value.imag]
    text = _text(value)[:_LONGEST]
    return _NUMBER.sub("#", text), [float(n) for n in _NUMBER.findall(text)]


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
