"""One path of decisions: which way each of them went, and which ways nobody can take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpest.errors import RefusedError
from dpest.geometry.linear import Condition
from dpest.geometry.regions import Region

Block = tuple[Condition, ...]
"""One decision: a single condition, or all the conditions that make one of several the first."""


class DecisionPath:
    """Decides conditions along one path; the first decisions that are open go as `prefix` says.

    Every decision is kept in `blocks`, and every way that was found impossible in `dead`, so that
    all paths together can be checked to be complete.
    """

    def __init__(self, region: Region, prefix: Sequence[int]) -> None:
        self.region = region
        self.prefix = list(prefix)
        self.taken: list[int] = []
        self.options: list[list[int]] = []
        self.blocks: list[Block] = []
        self.dead: list[tuple[Block, ...]] = []

    def decide(self, condition: Condition) -> bool:
        """Whether the condition holds on this path; an open one is taken as `prefix` says."""
        known = condition.decided()
        if known is not None:
            return known
        if condition.relation == "==":
            return self.decide(Condition(condition.form, ">=")) and self.decide(
                Condition(condition.form.times(-1), ">=")
            )
        if condition.relation == "!=":
            return not self.decide(condition.negated())
        if condition in self.region.conditions:
            return True
        opposite = condition.negated()
        if opposite in self.region.conditions:
            return False
        self.check_decidable([condition])
        return self.fork([(condition,), (opposite,)]) == 0

    def check_decidable(self, conditions: Sequence[Condition]) -> None:
        """Raises where a path may not depend on these conditions."""

    def fork(self, cells: Sequence[Block]) -> int:
        """Which of the cells the path is in: they are disjoint and cover its region."""
        points = [self.region.meet(cell) for cell in cells]
        possible = [i for i, point in enumerate(points) if point is not None]
        if not possible:
            raise RefusedError("a path that was possible has no possible continuation")
        self.dead += [(*self.blocks, cells[i]) for i, p in enumerate(points) if p is None]
        choice = possible[0] if len(possible) == 1 else self._taken_of(possible)
        self.blocks.append(cells[choice])
        self.region.add(cells[choice], points[choice] or {})
        return choice

    def _taken_of(self, possible: list[int]) -> int:
        at = len(self.taken)
        choice = self.prefix[at] if at < len(self.prefix) else possible[0]
        self.taken.append(choice)
        self.options.append(possible)
        return choice

    def other_prefixes(self) -> Iterator[list[int]]:
        """The ways that were left at the decisions after `prefix`: with them, all paths."""
        for at in range(len(self.prefix), len(self.taken)):
            for other in self.options[at]:
                if other != self.taken[at]:
                    yield [*self.taken[:at], other]
