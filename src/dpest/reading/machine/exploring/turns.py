"""The explorer of loops without a bound: states before the first draw of a turn are its nodes.

`while True: z = rng.laplace(); if abs(z) < 2: return x + z` begins anew whenever it goes on: what
was drawn is forgotten. The state before its draw is the same in every turn, so that the graph has
two nodes and a way from the second one back to itself. Other loops come to new states for ever;
they are followed in the order of probability, until what is left is improbable enough.

Two states are one node where all that the program can still reach is equal, and so is all that is
known of it, as in `merging`. The noises that the ways from a node draw are named after the node:
each time that a run comes there, it draws them anew, and what it drew before is forgotten.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dpest.geometry.linear import Condition, Symbol
from dpest.geometry.masses import mass_bound
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.canonical import Canonical, CanonicalWalk, Contents
from dpest.reading.machine.exploring.explorer import LeavingWalk, Limits
from dpest.reading.machine.exploring.merging import (
    APART,
    Way,
    conditions_that_matter,
    no_generator_behind,
)
from dpest.reading.machine.exploring.releasing import released
from dpest.reading.machine.signals import OutOfLimits, Refused
from dpest.reading.machine.state import Frame, State
from dpest.reading.model import END

LEFT = -2  # the target of a way that is not followed
MOST_TURNS = 1500  # nodes, or paths, of a loop without a bound
_FIRST = 3  # turns that are followed in any case, beside those for the data
_MOST_STEPS = 100_000  # of mass that is moved along ways
_NOTHING = 1e-4  # of what may be left: mass that isn't moved on


class ManyTurns(OutOfLimits):
    """So many states are probable that no bound on what is left of them was reached."""


@dataclass
class TurnNode:
    """A state before a draw, after `depth` others; `live` are the symbols that it speaks of."""

    where: str | None
    depth: int
    live: frozenset[Symbol]
    mass: float = 0.0  # how probable it is that a run comes here, about
    state: State | None = None  # until it is followed
    known: int = 0  # conditions that its ways begin with
    ways: list[Way] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)  # of the ways, about

    @property
    def is_left(self) -> bool:
        return self.state is not None


def explore_turns(
    machine: Machine, first: State, limits: Limits, *, by_depth: bool = False
) -> list[TurnNode]:
    """The nodes with their ways, the start first.

    With `by_depth` only states after equally many turns are the same, and no loop comes back. The
    noises are named after the number of turns then, so that more states are the same.
    """
    machine.is_cut = _begins_turn(machine)
    machine.stops_before_draws = True
    machine.deadline = time.monotonic() + limits.seconds
    try:
        return _Turns(machine, first, limits, by_depth).explored()
    finally:
        machine.is_cut = None
        machine.stops_before_draws = False


def _begins_turn(machine: Machine) -> Callable[[Frame], bool]:
    """Notes in the state that a loop begins a turn; comprehensions are of one turn."""

    def is_cut(frame: Frame) -> bool:
        if frame.code.heads.get(frame.pc) is False:
            machine.state.new_turn = True
        return False

    return is_cut


class _NoOpenLists(set[Any]):
    """Lists are compared by what they hold: one that grows is another one in each turn."""

    def __contains__(self, origin: object) -> bool:
        return True


class _Turns:
    def __init__(self, machine: Machine, first: State, limits: Limits, by_depth: bool) -> None:
        self.machine = machine
        self.limits = limits
        self.by_depth = by_depth
        self.contents = Contents()
        self.own = first.heap.last_address
        self.numbers: dict[Any, int] = {}
        start = first.fork()
        frame = start.frames[-1] if start.frames else None
        start.new_turn = frame is not None and frame.code.heads.get(frame.pc) is False
        self.nodes = [TurnNode(None, 0, frozenset(), 1.0, start)]

    def explored(self) -> list[TurnNode]:
        while (node := self._next()) is not None:
            self._follow(node)
            self._move_mass(node)
            if len(self.nodes) > MOST_TURNS + self.limits.data_size:
                raise ManyTurns(f"more than {MOST_TURNS} turns of loops without a bound")
        return self.nodes

    def _next(self) -> TurnNode | None:
        """The most probable node that was not followed; None if the rest may be left."""
        waiting = [node for node in self.nodes if node.is_left]
        if not waiting:
            return None
        early = [node for node in waiting if node.depth <= self.limits.data_size + _FIRST]
        if early:
            return early[0]
        if sum(node.mass for node in waiting) <= self.limits.leftover / 2:
            return None
        return max(waiting, key=lambda node: node.mass)

    def _follow(self, node: TurnNode) -> None:
        """All ways from a node to the next ones."""
        assert node.state is not None
        first, node.state = node.state, None
        walk = LeavingWalk(self.machine, first, self.limits, self.limits.leftover / 4)
        for one in walk:
            if one.reads:
                raise Refused("reads of data of any length")
            node.ways.append(self._way(node, one))
        node.ways += [self._left(node, state) for state in walk.leaving.states]

    def _way(self, node: TurnNode, state: State) -> Way:
        conditions = state.conditions[node.known :]
        before = state.drawn_before
        if state.outcome is None:
            draws, picks = state.draws, state.picks
            target = self._arrived(node, state)
            return Way(target, conditions, draws, picks, base=before)
        release = released(self.machine, state)
        return Way(END, conditions, state.draws, state.picks, release=release, base=before)

    def _left(self, node: TurnNode, state: State) -> Way:
        conditions = state.conditions[node.known :]
        return Way(LEFT, conditions, state.draws, state.picks, base=state.drawn_before)

    def _arrived(self, node: TurnNode, state: State) -> int:
        machine = self.machine
        machine.state = state
        state.heap.freeze()
        closed = _NoOpenLists()
        walk = CanonicalWalk(machine.definitions, self.contents, state, self.own, closed)
        found = walk.canonical()
        no_generator_behind(machine, state, found)
        known = conditions_that_matter(machine, state.conditions, found.symbols)
        depth = node.depth + 1
        key = (found.key, frozenset(known), depth if self.by_depth else 0)
        target = self.numbers.setdefault(key, len(self.nodes))
        if target == len(self.nodes):
            self._begin(depth, state, found, known)
        return target

    def _begin(self, depth: int, state: State, found: Canonical, known: list[Condition]) -> None:
        state.drawn_before = APART * (depth if self.by_depth else len(self.nodes))
        state.draws, state.picks = (), ()
        state.conditions = tuple(known)
        state.constrained = frozenset(s for c in known for s in c.form.terms)
        state.moved = state.new_turn = False
        live = state.constrained | found.symbols
        where = self.machine.placed(Refused("")).where
        self.nodes.append(TurnNode(where, depth, live, state=state, known=len(known)))

    # How probable nodes are, about

    def _move_mass(self, node: TurnNode) -> None:
        """Hands on the mass of nodes that were followed; loops do so in turns."""
        noises = self.machine.supports.noises
        chances = [mass_bound(way.conditions, way.picks, noises) for way in node.ways]
        total = max(1.0, sum(chances))
        node.chances = [chance / total for chance in chances]
        least = self.limits.leftover * _NOTHING
        pending = [node]
        for _ in range(_MOST_STEPS):
            if not pending:
                break
            one = pending.pop()
            mass, one.mass = one.mass, 0.0
            for way, chance in zip(one.ways, one.chances, strict=True):
                if way.target < 0:
                    continue
                target = self.nodes[way.target]
                target.mass += mass * chance
                if not target.is_left and target.mass > least and target not in pending:
                    pending.append(target)
