"""From a graph of turns to paths: loops that come back to a state are summed up.

A run is a walk through the graph. Cut out of it whatever lies between two visits of a node, from
the first node on: a walk without a loop is left. All walks with this rest together are as probable
as it is, times, for each node on it, 1/(1 - p): p is the probability of coming back to the node
without a visit of the nodes before it. That holds where what is drawn on the way back matters to
nothing else: the conditions on it speak of its own noises alone, and the state is the same again.

Walks to the same node that differ in forgotten noise only are one walk, with the sum of their
probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpest.geometry.chances import Chance, probability
from dpest.geometry.linear import Condition, Symbol, distinct
from dpest.geometry.masses import mass_bound
from dpest.noise.bernoulli import Bernoulli
from dpest.noise.family import Noise
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.merging import Way
from dpest.reading.machine.exploring.turns import ManyTurns, TurnNode
from dpest.reading.machine.signals import OutOfLimits
from dpest.reading.machine.state import Draw, Picked
from dpest.reading.model import END, Edge, Model, Node, Release

_LEAST_ENDING = 1e-4  # of a loop's probability that isn't rational: 1 - p keeps 12 digits
_MOST_RETURNS = 5000  # ways back to one node
_ONE = Fraction(1)


class NotSummable(Exception):
    """The probability of coming back to a state is not known, or not the same in every turn."""


@dataclass(frozen=True)
class TurnWalk:
    """Ways one after the other to a node, with the weight of the loops that were cut out.

    `visited` are the nodes of the loop that it is in.
    """

    node: int
    conditions: tuple[Condition, ...] = ()
    draws: tuple[Draw, ...] = ()
    picks: tuple[Picked, ...] = ()
    weight: Chance = _ONE
    visited: frozenset[int] = frozenset()

    def then(self, way: Way) -> TurnWalk:
        return TurnWalk(
            way.target,
            self.conditions + way.conditions,
            self.draws + way.draws,
            self.picks + way.picks,
            self.weight,
            self.visited,
        )


def turn_model(machine: Machine, nodes: Sequence[TurnNode], most_paths: int) -> Model:
    """The paths of a graph, and at least the probability of what was left of it.

    Raises NotSummable, OutOfLimits where a loop hardly ever ends, and ManyTurns.
    """
    paths = _Paths(machine, nodes, most_paths)
    edges = list(paths.edges())
    return Model(
        [Node(0, (), "start")],
        edges,
        {d.symbol: d.noise for edge in edges for d in edge.draws},
        machine.definitions,
        tuple(machine.notes),
        machine.instructions_done,
        leftover=paths.leftover,
    )


def comes_back(nodes: Sequence[TurnNode]) -> bool:
    """Whether some loop comes back to a state."""
    return any(_is_loop(nodes, part) for part in _components(nodes))


class _Paths:
    def __init__(self, machine: Machine, nodes: Sequence[TurnNode], most_paths: int) -> None:
        self.noises: Mapping[Symbol, Noise] = machine.supports.noises
        self.nodes = nodes
        self.most_paths = most_paths
        self.parts = _components(nodes)
        self.loops = {n: part[0] for part in self.parts if _is_loop(nodes, part) for n in part}
        self.leftover = 0.0
        self._arrived: dict[int, list[TurnWalk]] = {0: [TurnWalk(0)]}
        self._merged = 0
        self._paths = 0
        self._factors: dict[tuple[int, frozenset[int]], Chance] = {}

    def edges(self) -> Iterator[Edge]:
        """All paths, in the order of the states that they end in."""
        for part in self.parts:
            for node in part:
                for walk in self._together(node, self._arrived.pop(node, [])):
                    yield from self._followed(replace(walk, visited=frozenset()))

    def _followed(self, first: TurnWalk) -> Iterator[Edge]:
        """The walk to its ends, and to where it leaves the loop that it is in."""
        pending = [self._entered(first)]
        home = self.loops.get(first.node)
        while pending:
            walk = pending.pop()
            if self.nodes[walk.node].is_left:
                self._leave(walk)
                continue
            for way in reversed(self.nodes[walk.node].ways):
                after = walk.then(way)
                if way.release is not None:
                    yield self._ended(after, way.release)
                elif way.target < 0:
                    self._leave(after)
                elif home is None or self.loops.get(way.target) != home:
                    self._arrived.setdefault(way.target, []).append(after)
                elif way.target not in walk.visited:
                    pending.append(self._entered(after))

    def _entered(self, walk: TurnWalk) -> TurnWalk:
        """The walk with the weight of the loops from its node back to it."""
        if walk.node not in self.loops:
            return walk
        weight = walk.weight * self._factor(walk.node, walk.visited)
        return replace(walk, weight=weight, visited=walk.visited | {walk.node})

    def _leave(self, walk: TurnWalk) -> None:
        bound = mass_bound(walk.conditions, walk.picks, self.noises)
        self.leftover += float(walk.weight) * bound

    def _ended(self, walk: TurnWalk, release: Release) -> Edge:
        self._paths += 1
        if self._paths > self.most_paths:
            raise ManyTurns(f"more than {self.most_paths} paths")
        picks = walk.picks
        if walk.weight != 1:
            picks = (*picks, _picked("again", walk.weight))
        return Edge(0, END, distinct(walk.conditions), walk.draws, picks, release=release)

    # Walks that differ in forgotten noise

    def _together(self, node: int, walks: Sequence[TurnWalk]) -> list[TurnWalk]:
        if len(walks) < 2:
            return list(walks)
        live = self.nodes[node].live
        groups: dict[object, list[tuple[TurnWalk, Chance]]] = {}
        found: list[TurnWalk] = []
        for walk in walks:
            kept, forgotten = _parted(walk, live)
            chance = probability(distinct(forgotten.conditions), walk.picks, self.noises)
            if chance is None:
                found.append(walk)
                continue
            key = (frozenset(kept.conditions), kept.draws)
            groups.setdefault(key, []).append((walk, walk.weight * chance))
        for group in groups.values():
            walk, _ = group[0]
            found.append(walk if len(group) == 1 else self._one(group, live))
        return found

    def _one(self, group: Sequence[tuple[TurnWalk, Chance]], live: frozenset[Symbol]) -> TurnWalk:
        kept, _ = _parted(group[0][0], live)
        picked = _picked(f"turn{self._merged}", _sum([chance for _, chance in group]))
        self._merged += 1
        return TurnWalk(kept.node, kept.conditions, kept.draws, (picked,))

    # Loops

    def _factor(self, node: int, before: frozenset[int]) -> Chance:
        """How often a run is at a node, on average, without coming to the nodes before it."""
        known = self._factors.get((node, before))
        if known is not None:
            return known
        again = list(self._returns(node, before))
        ending = 1 - _sum(again)
        if ending <= (0 if isinstance(ending, Fraction) else _LEAST_ENDING):
            raise self._endless(node, ending)
        factor = self._factors[node, before] = 1 / ending
        return factor

    def _endless(self, node: int, ending: Chance) -> OutOfLimits:
        refusal = OutOfLimits(
            f"a loop ends with a probability of {max(float(ending), 0.0):.2g} in each turn",
            "look for a condition that hardly ever holds",
            final=True,
        )
        refusal.where = self.nodes[node].where
        return refusal

    def _returns(self, node: int, before: frozenset[int]) -> Iterator[Chance]:
        """The probabilities of the ways from a node back to it."""
        home = self.loops[node]
        pending = [TurnWalk(node, visited=before | {node})]
        count = 0
        while pending:
            walk = pending.pop()
            for way in self.nodes[walk.node].ways:
                if self.loops.get(way.target) != home:
                    continue
                after = walk.then(way)
                if way.target == node:
                    count += 1
                    if count > _MOST_RETURNS:
                        raise NotSummable
                    yield walk.weight * self._chance(after)
                elif way.target not in walk.visited:
                    pending.append(self._entered(after))

    def _chance(self, walk: TurnWalk) -> Chance:
        drawn = {d.symbol for d in walk.draws}
        if any(not drawn.issuperset(c.form.terms) for c in walk.conditions):
            raise NotSummable
        found = probability(distinct(walk.conditions), walk.picks, self.noises)
        if found is None:
            raise NotSummable
        return found


def _picked(site: str, chance: Chance) -> Picked:
    """A probability of walks, as a draw; it may be more than 1 where loops were cut out."""
    rounded = not isinstance(chance, Fraction)
    return Picked(site, Bernoulli(min(chance, 1)), True, chance, rounded)


def _sum(chances: Sequence[Chance]) -> Chance:
    exact = [one for one in chances if isinstance(one, Fraction)]
    if len(exact) == len(chances):
        return sum(exact, start=Fraction(0))
    return math.fsum(chances)


def _parted(walk: TurnWalk, live: Iterable[Symbol]) -> tuple[TurnWalk, TurnWalk]:
    """What a walk says of live noise, and of what hangs together with it; and the rest."""
    near = set(live)
    left, found = list(walk.conditions), set[int]()
    while True:
        touching = [c for c in left if not near.isdisjoint(c.form.terms)]
        if not touching:
            break
        left = [c for c in left if near.isdisjoint(c.form.terms)]
        found.update(map(id, touching))
        near.update(s for c in touching for s in c.form.terms)
    kept = tuple(c for c in walk.conditions if id(c) in found)
    draws = tuple(d for d in walk.draws if d.symbol in near)
    forgotten = tuple(d for d in walk.draws if d.symbol not in near)
    return (
        TurnWalk(walk.node, kept, draws),
        TurnWalk(walk.node, tuple(left), forgotten, walk.picks, walk.weight),
    )


def _components(nodes: Sequence[TurnNode]) -> list[list[int]]:
    """The strong components of the nodes that can be reached, each before those behind it."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    standing: set[int] = set()
    found: list[list[int]] = []
    after = [[w.target for w in node.ways if w.target >= 0] for node in nodes]
    pending: list[tuple[int, int]] = [(0, 0)]
    while pending:
        node, place = pending.pop()
        if place == 0:
            index[node] = low[node] = len(index)
            stack.append(node)
            standing.add(node)
        elif after[node][place - 1] in standing:
            low[node] = min(low[node], low[after[node][place - 1]])
        if place < len(after[node]):
            pending.append((node, place + 1))
            if after[node][place] not in index:
                pending.append((after[node][place], 0))
        elif low[node] == index[node]:
            at = stack.index(node)
            found.append(stack[at:])
            del stack[at:]
            standing.difference_update(found[-1])
    return found[::-1]


def _is_loop(nodes: Sequence[TurnNode], part: Sequence[int]) -> bool:
    return len(part) > 1 or any(way.target == part[0] for way in nodes[part[0]].ways)
