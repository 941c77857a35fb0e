"""The explorer: all that a function can do, state by state.

`Walk` follows every way from a state to where it stops. Without cuts that is the end: the paths
(`Exploration`). With cuts a state that arrives at one is made abstract by whoever asked, and equal
states are one node (`merging`, `turns`, `lengths.reading`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.leaving import Leaving
from dpest.reading.machine.exploring.releasing import released
from dpest.reading.machine.signals import Fork, OutOfLimits, OutOfTime
from dpest.reading.machine.state import State
from dpest.reading.model import END, Edge, Model, Node


@dataclass(frozen=True)
class Limits:
    """Where a reading gives up. `forks`: how often one instruction may fork on one path.

    `leftover` is the probability of what may be left of loops without a bound; a loop that has made
    no more turns than there are data (`data_size`) is followed in any case.
    """

    paths: int = 20_000
    seconds: float = 20.0
    forks: int = 400
    instructions: int = 20_000_000
    merge_at: int = 0  # at so many paths it is asked whether they have half as many releases
    fold_at: int = 4096  # paths of a graph of merged states whose parallel ways are made one
    merged_paths: int = 20_000  # of such a graph, after that
    leftover: float = 0.0
    data_size: int = 0


class ManyPaths(OutOfLimits):
    """More paths than were asked for, or many paths to few releases: equal states may be many."""


class FewReleases(ManyPaths):
    """Many paths to few releases."""


class EndlessLoop(OutOfLimits):
    """A path on which one instruction has forked too often."""


class Walk:
    """The states at which ways from a state stop, at a cut or at the end, in the order of forks.

    What is asked of such a state may fork it: `decided` takes the states behind that fork, which
    are handed out again as they are.
    """

    def __init__(
        self,
        machine: Machine,
        first: State,
        limits: Limits,
        advance: Callable[[State], list[State] | None] | None = None,
    ) -> None:
        self.machine = machine
        self.limits = limits
        self._advance = machine.advance if advance is None else advance
        self._pending: list[tuple[State, bool]] = []
        self.put([first])

    def __iter__(self) -> Iterator[State]:
        while (found := self.take()) is not None:
            state, stopped = found
            after = None if stopped or state.outcome is not None else self._advance(state)
            check_deadline(self.machine, self.limits)
            if after is None:
                yield state
                continue
            for one in after:
                count_fork(self.machine, one, self.limits)
            self.put(after)

    def __len__(self) -> int:
        """How many states wait."""
        return len(self._pending)

    def put(self, states: Sequence[State], *, stopped: bool = False) -> None:
        """States that are to be followed, the first one first."""
        self._pending += [(state, stopped) for state in reversed(states)]

    def take(self) -> tuple[State, bool] | None:
        """The state that comes next, and whether it has stopped already."""
        return self._pending.pop() if self._pending else None

    def asked(self, state: State) -> None:
        """The machine is to look at a state that has stopped, and may fork it."""
        self.machine.state, self.machine.taken = state, 0
        self.machine.changes_before = state.heap.changes

    def decided(self, state: State, fork: Fork) -> None:
        self.put(self.machine.forked(state, fork), stopped=True)


class LeavingWalk(Walk):
    """A walk on which states behind forks without a bound may be left, if all are improbable."""

    def __init__(self, machine: Machine, first: State, limits: Limits, leftover: float) -> None:
        self.leaving = Leaving(machine, leftover)
        super().__init__(machine, first, limits)

    def put(self, states: Sequence[State], *, stopped: bool = False) -> None:
        super().put(self.leaving.likely(states), stopped=stopped)

    def take(self) -> tuple[State, bool] | None:
        if not self._pending and (state := self.leaving.next()) is not None:
            self._pending.append((state, False))
        return super().take()


class Exploration:
    """All paths of a function from its first state, in order; it can be gone on with."""

    def __init__(self, machine: Machine, first: State) -> None:
        self.machine = machine
        self.edges: list[Edge] = []
        self.ends: list[State] = []  # the states in which the paths ended
        self._first = first
        self._walk: LeavingWalk | None = None
        self._ended: OutOfLimits | None = None

    def model(self, limits: Limits) -> Model:
        """The paths; raises ManyPaths, after which it may be asked again with other limits.

        Another limit that is reached ends it for good.
        """
        if self._ended is not None:
            raise self._ended
        try:
            return self._model(limits)
        except ManyPaths:
            raise
        except OutOfLimits as limit:
            self._ended = limit
            raise

    def _model(self, limits: Limits) -> Model:
        machine, edges = self.machine, self.edges
        machine.deadline = time.monotonic() + limits.seconds
        if self._walk is None:
            self._walk = LeavingWalk(machine, self._first, limits, limits.leftover)
        walk = self._walk
        walk.limits = limits
        for state in walk:
            if len(edges) >= limits.paths:
                walk.put([state])
                raise ManyPaths(f"more than {limits.paths} paths")
            release = released(machine, state)
            if limits.merge_at and len(edges) + 1 == limits.merge_at and few_releases(edges):
                walk.put([state])
                raise FewReleases("many paths to few releases")
            parts = (state.conditions, state.draws, state.picks, state.reads)
            edges.append(Edge(0, END, *parts, release=release))
            self.ends.append(state)
        node = Node(0, (), "start")
        noises = {d.symbol: d.noise for e in edges for d in e.draws}
        notes, done = tuple(machine.notes), machine.instructions_done
        left = walk.leaving.left
        return Model([node], edges, noises, machine.definitions, notes, done, leftover=left)

    @property
    def leaves(self) -> bool:
        """Whether some states wait, since hardly anything comes there."""
        return self._walk is not None and self._walk.leaving.left > 0


def check_deadline(machine: Machine, limits: Limits) -> None:
    """Raises where a reading has taken too long, at the line where it is."""
    if machine.deadline is not None and time.monotonic() > machine.deadline:
        raise machine.placed(OutOfTime(f"more than {limits.seconds:g} s of reading"))


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
    machine.forks[place] += 1
    count = state.forks.get(place, 0) + 1
    if count > limits.forks:
        raise machine.placed(EndlessLoop("a loop that may go on without a bound"))
    state.forks[place] = count
