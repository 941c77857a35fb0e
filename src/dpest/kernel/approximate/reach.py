"""How far a weighted sum of private symbols moves, where each of them, and groups, move so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from .accountant import ZERO
from .enclosures import sqrt_range
from .terms import Range
from .ways import Private, Shift


@dataclass(frozen=True)
class Move:
    """How far private symbols can differ: each by itself, and groups of them in length.

    `ranges`: where the difference lies. Under add and remove it is that of adding: removing moves
    everything by the opposite, at the same cost.
    """

    sizes: Mapping[Private, Fraction | None]
    groups: tuple[tuple[frozenset[Private], Fraction], ...]
    ranges: Mapping[Private, Range]


def row_bound(shift: Shift, move: Move) -> Fraction | None:
    """How large |Σ slope·Δ| can be: at most Σ |slope|·|Δ|."""
    return weighted_sizes({k: abs(c) for k, c in shift.items()}, move)


def weighted_sizes(weights: Shift, move: Move) -> Fraction | None:
    """Σ w·|Δ| at most, w ≥ 0: in a group of radius R no more than √(Σ w²)·R. None: no bound."""
    total = ZERO
    left = dict(weights)
    for group, radius in move.groups:
        mine = {k: left.pop(k) for k in weights if k in group and k in left}
        length = sqrt_range(sum((w * w for w in mine.values()), ZERO))[1] * radius
        single = _singly(mine, move, 1)
        total += length if single is None else min(length, single)
    rest = _singly(left, move, 1)
    return None if rest is None else total + rest


def weighted_squares(weights: Shift, move: Move) -> Fraction | None:
    """Σ w·Δ² at most, w ≥ 0: in a group of radius R no more than max(w)·R². None: no bound."""
    total = ZERO
    left = dict(weights)
    for group, radius in move.groups:
        mine = {k: left.pop(k) for k in weights if k in group and k in left}
        length = max(mine.values(), default=ZERO) * radius**2
        single = _singly(mine, move, 2)
        total += length if single is None else min(length, single)
    rest = _singly(left, move, 2)
    return None if rest is None else total + rest


def _singly(weights: Shift, move: Move, power: int) -> Fraction | None:
    """Σ w·|Δ|^power, each symbol by itself."""
    total = ZERO
    for k, w in weights.items():
        one = move.sizes[k]
        if one is None:
            return None
        total += w * one**power
    return total
