"""The explorer that merges: at the head of a loop, states that are the same from here on are one.

A loop over n data that forks at each turn has n²/2 or 2ⁿ paths, but few states at its head. The
graph that comes out has a node for each of them; its ways are the paths. Two states are merged
where all that the program can still reach is equal (`canonical`), and so is all that is
known of it:

- Of the conditions those are kept that say something of what can still be reached. A condition
  with a dead noise of its own, which can always be chosen so that it holds, says nothing; neither
  do conditions that are not connected with anything alive.
- Lists that only grow (`answers.append(…)`) are *open*: the ways may differ in what they hold.
  Whatever looks into one ends the attempt; the next one treats this list as any other object.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dpest.geometry.linear import Condition, Symbol
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.canonical import (
    Canonical,
    CanonicalWalk,
    Contents,
    Unmergeable,
)
from dpest.reading.machine.exploring.explorer import Limits, Walk
from dpest.reading.machine.exploring.releasing import released, released_items
from dpest.reading.machine.heap import GeneratorObject, OpenList, OpenListRead
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.state import Draw, Frame, Picked, State
from dpest.reading.machine.values import Array, Ref
from dpest.reading.model import END, Release
from dpest.running.skeleton import Skeleton

_ATTEMPTS = 12
_MOST_NODES = 20_000
_ENOUGH = 200  # arrivals after which it is seen whether states merge at all
APART = 1 << 20  # between the numbers of draws of two nodes, where ways draw unequally often


@dataclass(frozen=True)
class Grown:
    """An open list behind a way: what it held before (a slot of the source, or nothing), and more.

    What was added is kept as it is released: its skeletons and its leaves.
    """

    before: int | None
    parts: tuple[Skeleton, ...]
    leaves: tuple[Any, ...]


@dataclass(frozen=True)
class Way:
    """From a node to another one or to the end. `grown` are the open lists of the target.

    `base` is the number of its first draw where that is not how many came before.
    """

    target: int
    conditions: tuple[Condition, ...]
    draws: tuple[Draw, ...]
    picks: tuple[Picked, ...]
    grown: tuple[Grown, ...] = ()
    release: Release | None = None
    base: int | None = None


def explore_merged(
    machine: Machine, first: State, limits: Limits, *, by_order: bool = False
) -> list[list[Way]]:
    """The ways from each node, the start first; raises Refused where few states are equal.

    States after unequally many draws are the same with `by_order` only: the noises that a node's
    ways draw have names of their own then, which don't tell how many draws came before.
    """
    closed: set[Any] = set()
    for _ in range(_ATTEMPTS):
        try:
            return _Attempt(machine, first, limits, closed, by_order).explored()
        except OpenListRead as read:
            closed.add(read.origin)
        finally:
            machine.is_cut = None
    raise Refused("too many lists that are looked into")


def _at_head(frame: Frame) -> bool:
    return frame.pc in frame.code.heads


class _Attempt:
    def __init__(
        self,
        machine: Machine,
        first: State,
        limits: Limits,
        closed: set[Any],
        by_order: bool,
    ) -> None:
        self.machine = machine
        self.limits = limits
        self.closed = closed
        self.by_order = by_order
        self.contents = Contents()
        self.own = first.heap.last_address
        self.nodes: dict[Any, int] = {}
        self.states: list[State] = [first.fork()]
        self.known: list[int] = [0]  # conditions that a node begins with
        self.ways: list[list[Way]] = []
        self.arrivals = 0
        machine.is_cut = _at_head
        machine.deadline = time.monotonic() + limits.seconds

    def explored(self) -> list[list[Way]]:
        while len(self.ways) < len(self.states):
            node = len(self.ways)
            self.ways.append([])
            self._follow(node, self.states[node])
            self.states[node] = None  # type: ignore[call-overload]  # nobody needs it any more
        return self.ways

    def _follow(self, node: int, state: State) -> None:
        """All ways from a node to the next ones."""
        machine = self.machine
        for one in Walk(machine, state, self.limits, self._advanced):
            if one.reads:
                raise Unmergeable("reads of data of any length")
            if one.outcome is None:
                way = self._arrived(node, one)
            else:
                release = released(machine, one)
                conditions = one.conditions[self.known[node] :]
                way = Way(END, conditions, one.draws, one.picks, release=release)
            self.ways[node].append(way)

    def _advanced(self, state: State) -> list[State] | None:
        after = self.machine.advance(state)
        if any(one.endless for one in after or ()):
            raise Unmergeable("a decision without a bound")
        return after

    def _arrived(self, node: int, state: State) -> Way:
        machine = self.machine
        machine.state = state
        state.heap.freeze()
        walk = CanonicalWalk(machine.definitions, self.contents, state, self.own, self.closed)
        found = walk.canonical()
        no_generator_behind(machine, state, found)
        known = conditions_that_matter(machine, state.conditions, found.symbols)
        draws = 0 if self.by_order else state.drawn_before + len(state.draws) + len(state.picks)
        key = (found.key, frozenset(known), draws)
        grown = tuple(self._grown(state, address, origin) for address, origin in found.open_lists)
        target = self.nodes.get(key)
        conditions = state.conditions[self.known[node] :]
        if self.by_order and state.picks:
            raise Refused("ways that draw unequally often from finitely many outcomes")
        if target is None:
            target = self.nodes[key] = len(self.states)
        way = Way(target, conditions, state.draws, state.picks, grown)
        if target == len(self.states):
            self._begin(state, found, known)
        self.arrivals += 1
        self._check_that_it_pays()
        return way

    def _check_that_it_pays(self) -> None:
        nodes = len(self.states)
        growing = self.arrivals > _ENOUGH and 4 * (nodes - len(self.ways)) > nodes
        if nodes > _MOST_NODES or (growing and 10 * nodes > 9 * self.arrivals):
            raise Refused("states that are hardly ever equal")

    def _begin(self, state: State, found: Canonical, known: list[Condition]) -> None:
        """The state becomes the node: its ways go on from it."""
        for slot, (address, origin) in enumerate(found.open_lists):
            state.heap.place(address, OpenList(slot, origin))
        state.drawn_before += len(state.draws) + len(state.picks)
        if self.by_order:
            state.drawn_before = APART * len(self.states)
        state.draws, state.picks = (), ()
        state.conditions = tuple(known)
        state.constrained = frozenset(s for c in known for s in c.form.terms)
        state.moved = False
        self.known.append(len(known))
        self.states.append(state)

    def _grown(self, state: State, address: int, origin: Any) -> Grown:
        thing = state.heap.read(Ref(address))
        is_open = isinstance(thing, OpenList)
        items = thing.added if is_open else thing.items
        if not all(map(_unchangeable, items)):
            raise OpenListRead(origin)  # an element may still be changed, from elsewhere
        parts, leaves = released_items(self.machine, state, items)
        return Grown(thing.slot if is_open else None, parts, leaves)


def _unchangeable(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_unchangeable, value))
    return not isinstance(value, (Ref, Array))


def no_generator_behind(machine: Machine, state: State, found: Canonical) -> None:
    """A generator that nobody can reach any more may have a `finally` to execute."""
    if not any(code.is_generator for code in machine.seen_codes.values()):
        return
    for address, thing in state.heap.items():
        if not isinstance(thing, GeneratorObject) or address in found.addresses:
            continue
        if thing.started and thing.frame is not None:
            raise Unmergeable("a generator that is left before its end")


def conditions_that_matter(
    machine: Machine, conditions: Sequence[Condition], alive: Iterable[Symbol]
) -> list[Condition]:
    """The conditions that say something of the symbols that are alive.

    What is left out can be satisfied whatever the others are: by a symbol that is dead and stands
    in no other condition, or since nothing alive is connected with it.
    """
    near = {*alive, *(s for c in machine.assumed for s in c.form.terms)}
    left = list(conditions)
    while left:
        counts = Counter(s for c in left for s in c.form.terms)
        kept = [
            c
            for c in left
            if not any(
                counts[s] == 1 and s not in near and machine.satisfies_alone(c, s)
                for s in c.form.terms
            )
        ]
        if len(kept) == len(left):
            break
        left = kept
    found: list[Condition] = []
    while True:
        touching = [c for c in left if not near.isdisjoint(c.form.terms)]
        if not touching:
            break
        left = [c for c in left if near.isdisjoint(c.form.terms)]
        found += touching
        near.update(s for c in touching for s in c.form.terms)
    order = {id(c): n for n, c in enumerate(conditions)}
    return sorted(found, key=lambda c: order[id(c)])
