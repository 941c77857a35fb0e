"""All ways through a function at one input, as the machine finds them."""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from dpest.ask.declaration import Mechanism
from dpest.errors import RefusedError
from dpest.geometry.linear import Form
from dpest.proofs.enumeration.machine import EnumeratingMachine
from dpest.reading.machine.exploring.explorer import Limits, Walk
from dpest.reading.machine.exploring.releasing import released
from dpest.reading.machine.signals import Dead, Fork, Refused
from dpest.reading.machine.state import State
from dpest.reading.model import END, Edge, Release
from dpest.reading.paths_of_code import first_state
from dpest.reading.table.registry import load
from dpest.running.skeleton import Leaf, Skeleton, is_negative_zero, leaf_kinds, unflatten

_KINDS: dict[str, Callable[[Any], Any]] = {"bool": bool, "int": int}


class Ended(NamedTuple):
    """A way to its end: what was drawn and decided, and what is released."""

    edge: Edge
    release: Release

    @property
    def text(self) -> str:
        return shown(unflatten(self.release.skeleton, self.release.leaves))


class Ways(Walk):
    """The ways of one function at one input: the likeliest first, where a likelihood is given.

    `dropped` says whether ways were left that are less likely than `faint`.
    """

    machine: EnumeratingMachine

    def __init__(
        self,
        machine: EnumeratingMachine,
        target: Mechanism,
        x: Any,
        limits: Limits,
        likelihood: Callable[[State], float] = lambda _: 1.0,
        faint: float = 0.0,
    ) -> None:
        load()
        self.likelihood = likelihood
        self.faint = faint
        self.dropped = False
        self._count = itertools.count()
        self._waiting: list[tuple[float, int, State, bool]] = []
        machine.deadline = time.monotonic() + limits.seconds
        super().__init__(machine, first_state(machine, target, x), limits)

    def put(self, states: Sequence[State], *, stopped: bool = False) -> None:
        for state in states:
            likelihood = self.likelihood(state)
            if likelihood < self.faint:
                self.dropped = True
            else:
                place = (-likelihood, -next(self._count))
                heapq.heappush(self._waiting, (*place, state, stopped))

    def take(self) -> tuple[State, bool] | None:
        if not self._waiting:
            return None
        _, _, state, stopped = heapq.heappop(self._waiting)
        return state, stopped

    @property
    def left(self) -> bool:
        """Whether there are ways that were not followed."""
        return self.dropped or bool(self._waiting)

    def ends(self) -> Iterator[Ended]:
        """The release of each; truths in it that are open are decided, by forks."""
        for state in self:
            state.pending = ()  # what was decided before is among the conditions
            self.asked(state)
            try:
                release = self._release(state)
            except Fork as fork:
                self.decided(state, fork)
            except Dead:
                continue
            else:
                conditions = tuple(dict.fromkeys(state.conditions))
                edge = Edge(0, END, conditions, state.draws, state.picks, release=release)
                yield Ended(edge, release)

    def _release(self, state: State) -> Release:
        release = released(self.machine, state)
        if release.raised:
            raise Refused(f"on some input the function {release.leaves[0]}")
        kinds = leaf_kinds(release.skeleton)
        leaves = tuple(
            self._leaf(leaf, kind) for leaf, kind in zip(release.leaves, kinds, strict=True)
        )
        return release._replace(leaves=leaves)

    def _leaf(self, leaf: Any, kind: str) -> Any:
        if not isinstance(leaf, Form):
            return leaf
        return _KINDS.get(kind, float)(self.machine.settled(leaf).constant)


def shown(value: Any) -> str:
    """An output as an observer sees it: a text that is equal for equal outputs."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(shown(v) for v in value) + "]"
    if isinstance(value, float) and value.is_integer():
        value = value if is_negative_zero(value) else int(value)
    if isinstance(value, bool):
        value = int(value)
    return repr(value)


class OutputTexts:
    """The texts of outputs, and what they are the texts of."""

    def __init__(self) -> None:
        self._skeletons: dict[str, Any] = {}

    def text(self, way: Ended) -> str:
        """The text of an output; refuses where outputs differ in their types alone."""
        text, skeleton = way.text, _settled(way.release.skeleton)
        if self._skeletons.setdefault(text, skeleton) != skeleton:
            raise RefusedError("outputs differ in their types alone, which a receiver sees")
        return text


def _settled(skeleton: Skeleton) -> Skeleton:
    """The skeleton of an output whose symbolic numbers are settled."""
    if isinstance(skeleton, Leaf):
        return skeleton._replace(kind="float") if skeleton.kind == "real" else skeleton
    return skeleton._replace(parts=tuple(map(_settled, skeleton.parts)))
