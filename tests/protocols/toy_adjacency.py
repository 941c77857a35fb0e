"""An adjacency of somebody else's, in one file: entries rise by r, or fall by half of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dpest.ask.adjacency import Adjacency, Interval, MoveBuilder, S, T, register
from dpest.errors import InputError
from dpest.kernel import adjacency as table
from dpest.kernel.forms import Box


@register
@dataclass(frozen=True)
class Tilted(Adjacency):
    """All differences in [-r/2, r], or (the relation is symmetric) all in [-r, r/2]."""

    name: ClassVar[str] = "tilted"

    def _check(self, x: Any, x2: Any) -> None:
        moved, slack = self._differences(x, x2)
        for sign in (1, -1):
            if all(-self.radius / 2 - slack <= sign * d <= self.radius + slack for d in moved):
                return
        raise InputError(f"not neighbours under tilted: the entries move by {moved}")

    def faces(
        self, entries: Sequence[Sequence[S]], radius: Any, reach: Sequence[Interval]
    ) -> list[list[dict[S, Interval]]]:
        ways = ((-radius / 2, radius), (-radius, radius / 2))
        return [[{s: way for entry in entries for s in entry}] for way in ways]

    def differences(self, moves: MoveBuilder[T]) -> list[T] | None:
        r = float(self.radius)
        return [moves.moved((-r / 2, r)), moves.moved((-r, r / 2))]

    def corners(self, length: int, limit: int = 64, domain: Any = None) -> list[tuple[float, ...]]:
        r = float(self.radius)
        up = [tuple(r if i == j else -r / 2 for i in range(length)) for j in range(length)]
        return [*up, *(tuple(-v for v in corner) for corner in up)][:limit]

    def describe(self) -> str:
        return f"all entries move by at most {self.radius:g} one way and half of it the other"


def _boxes(request: table.Request) -> list[list[Box]]:
    half = request.radius * Fraction(1, 2)
    ways = ((-half, request.radius), (-request.radius, half))
    return [[request.all_within(way)] for way in ways]


table.trust("tilted", table.Shape(_boxes, moves_one=False))
