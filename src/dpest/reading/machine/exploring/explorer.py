"""The explorer: all that a function can do, state by state.

Without cuts it follows every way from the start to an end: the paths. With cuts a state that
arrives at one is made abstract (`machine.abstraction`): equal states are one node.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.releasing import released
from dpest.reading.machine.signals import OutOfLimits
from dpest.reading.machine.state import State
from dpest.reading.model import END, Edge, Model, Node


@dataclass(frozen=True)
class Limits:
    """Where a reading gives up. `forks`: how often one instruction may fork on one path."""

    paths: int = 20_000
    seconds: float = 20.0
    forks: int = 400
    instructions: int = 20_000_000
    merge_at: int = 0  # at so many paths it is asked whether they have half as many releases
    fold_at: int = 4096  # paths of a graph of merged states whose parallel ways are made one
    merged_paths: int = 20_000  # of such a graph, after that


class ManyPaths(OutOfLimits):
    """More paths than were asked for, or many paths to few releases: equal states may be many."""


class FewReleases(ManyPaths):
    """Many paths to few releases."""


class Exploration:
    """All paths of a function from its first state, in order; it can be gone on with."""

    def __init__(self, machine: Machine, first: State) -> None:
        self.machine = machine
        self.edges: list[Edge] = []
        self.ends: list[State] = []  # the states in which the paths ended
        self._pending = [first]

    def model(self, limits: Limits) -> Model:
        """The paths; raises ManyPaths, after which it may be asked again with other limits."""
        machine, edges, pending = self.machine, self.edges, self._pending
        machine.deadline = time.monotonic() + limits.seconds
        while pending:
            state = pending.pop()
            after = None if state.outcome is not None else machine.advance(state)
            if after is not None:
                for one in after:
                    count_fork(machine, one, limits)
                pending += reversed(after)
                continue
            if len(edges) >= limits.paths:
                pending.append(state)
                raise self._at_the_fork(ManyPaths(f"more than {limits.paths} paths"), state)
            if time.monotonic() > machine.deadline:
                raise self._at_the_fork(
                    OutOfLimits(f"more than {limits.seconds:g} s of reading"), state
                )
            release = released(machine, state)
            if limits.merge_at and len(edges) + 1 == limits.merge_at and few_releases(edges):
                pending.append(state)
                raise FewReleases("many paths to few releases")
            parts = (state.conditions, state.draws, state.picks, state.reads)
            edges.append(Edge(0, END, *parts, release=release))
            self.ends.append(state)
        node = Node(0, (), "start")
        noises = {d.symbol: d.noise for e in edges for d in e.draws}
        notes, done = tuple(machine.notes), machine.instructions_done
        return Model([node], edges, noises, machine.definitions, notes, done)

    def _at_the_fork(self, refusal: OutOfLimits, state: State) -> OutOfLimits:
        """With the line where most of the decisions on the way were made."""
        places = [
            (count, code.file, code.instructions[pc].place.line)
            for (number, pc), count in state.forks.items()
            if (code := self.machine.seen_codes.get(number)) is not None
        ]
        if places:
            _, file, line = max(places)
            refusal.where = f"{file}:{line}"
        return refusal


def few_releases(edges: Sequence[Edge]) -> bool:
    """Whether paths have less than half as many releases."""
    return len(edges) > 3 and 2 * len({_release_key(e) for e in edges}) <= len(edges) + 1


def _release_key(edge: Edge) -> object:
    assert edge.release is not None
    try:
        return hash((edge.release.skeleton, edge.release.leaves))
    except TypeError:
        return repr(edge.release)


def count_fork(machine: Machine, state: State, limits: Limits) -> None:
    """Refuses a path on which one instruction has forked too often."""
    frame = state.frames[-1]
    place = (id(frame.code), frame.pc)
    count = state.forks.get(place, 0) + 1
    if count > limits.forks:
        raise machine.placed(OutOfLimits("a loop that may go on without a bound"))
    state.forks[place] = count
