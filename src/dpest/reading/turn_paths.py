"""From a graph of turns to paths: loops that come back to a state are summed up.

A run is a walk through the graph. Cut out of it whatever lies between two visits of a node, from the
first node on: a walk without a loop is left. All walks with this rest together are as probable as it
is, times, for each node on it, 1/(1 - p): p is the probability of coming back to the node without
a visit of the nodes before it. That holds where what is drawn on the way back matters to nothing else:
the conditions on it speak of its own noises alone, and the state to which it comes back is the same.

Ways from one node to the same next one that differ in forgotten noise only are one way, with the sum
of their probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpest.geometry.chances import Chance, probability
from dpest.geometry.linear import Condition, Symbol, distinct
from dpest.geometry.masses import mass_bound
from dpest.noise.bernoulli import Bernoulli
from dpest.noise.family import Noise
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.turns import MOST_TURNS, ManyTurns, Place, TurnNode
from dpest.reading.machine.signals import LimitReached
from dpest.reading.machine.state import Draw, Picked
from dpest.reading.model import END, Edge, Model, Node, Release

_LEAST_ENDING = 1e-4  # of a loop's probability that isn't rational: 1 - p keeps 12 digits
_MOST_RETURNS = 5000  # ways back to one node
_ONE = Fraction(1)


class NotSummable(Exception):
    """The probability of coming back to a place is not known, or not the same in every turn."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place


@dataclass(frozen=True)
class Step:
    """What is drawn and decided between two nodes."""

    target: int
    conditions: tuple[Condition, ...]
    draws: tuple[Draw, ...]
    picks: tuple[Picked, ...]
    release: Release | None = None


@dataclass(frozen=True)
class Walk:
    """Steps one after the other; `visited` are nodes of loops, `weight` is that of the loops."""

    node: int
    visited: frozenset[int] = frozenset()
    conditions: tuple[Condition, ...] = ()
    draws: tuple[Draw, ...] = ()
    picks: tuple[Picked, ...] = ()
    weight: Chance = _ONE

    def then(self, step: Step, visited: frozenset[int], weight: Chance) -> Walk:
        return Walk(
            step.target,
            visited,
            self.conditions + step.conditions,
            self.draws + step.draws,
            self.picks + step.picks,
            weight,
        )


def turn_model(machine: Machine, nodes: Sequence[TurnNode], most_paths: int) -> Model:
    """The paths of a graph, and at least the probability of what was left of it.

    Raises NotSummable, LimitReached where a loop hardly ever ends, and ManyTurns.
    """
    paths = _Paths(machine, nodes, most_paths)
    edges = list(paths.edges())
    noises = {d.symbol: d.noise for edge in edges for d in edge.draws}
    notes, done = tuple(machine.notes), machine.instructions_done
    start = Node(0, (), "start")
    return Model(
        [start], edges, noises, machine.definitions, notes, done, leftover=paths.leftover
    )


class _Paths:
    def __init__(self, machine: Machine, nodes: Sequence[TurnNode], most_paths: int) -> None:
        self.noises: Mapping[Symbol, Noise] = machine.supports.noises
        self.nodes = nodes
        self.most_paths = most_paths
        self.loops = _loops(nodes)
        self.merged = 0
        self.steps = [self._steps(node) for node in nodes]
        self.leftover = 0.0
        self._factors: dict[tuple[int, frozenset[int]], Chance] = {}

    # Paths

    def edges(self) -> Iterator[Edge]:
        pending = [self._entered(Walk(0))]
        count = 0
        while pending:
            walk = pending.pop()
            if walk.node < 0 or self.nodes[walk.node].is_left:
                bound = mass_bound(walk.conditions, walk.picks, self.noises)
                self.leftover += float(walk.weight) * bound
                continue
            for step in reversed(self.steps[walk.node]):
                if step.target in walk.visited:
                    continue  # it is summed up
                after = walk.then(step, walk.visited, walk.weight)
                if step.release is None:
                    pending.append(self._entered(after))
                    continue
                count += 1
                if count > self.most_paths:
                    raise ManyTurns(f"more than {self.most_paths} paths")
                yield _edge(after, step.release)

    def _entered(self, walk: Walk) -> Walk:
        """The walk with the weight of the loops from its node back to it."""
        home = self.loops.get(walk.node)
        if home is None:
            return walk
        before = frozenset(n for n in walk.visited if self.loops[n] == home)
        weight = walk.weight * self._factor(walk.node, before)
        visited = before | {walk.node}
        return Walk(walk.node, visited, walk.conditions, walk.draws, walk.picks, weight)

    # Loops

    def _factor(self, node: int, before: frozenset[int]) -> Chance:
        """How often a run is at a node, on average, without coming to the nodes before it."""
        known = self._factors.get((node, before))
        if known is not None:
            return known
        again = list(self._returns(node, before))
        if all(isinstance(one, Fraction) for one in again):
            ending: Chance = 1 - sum(again, start=Fraction(0))
            least: Chance = Fraction(0)
        else:
            ending = 1 - math.fsum(again)
            least = _LEAST_ENDING
        if ending <= least:
            raise self._endless(node, ending)
        factor = self._factors[node, before] = 1 / ending
        return factor

    def _endless(self, node: int, ending: Chance) -> LimitReached:
        chance = f"{max(float(ending), 0.0):.2g}"
        refusal = LimitReached(
            f"a loop ends with a probability of {chance} in each turn",
            "look for a condition that hardly ever holds",
        )
        place = self.nodes[node].place
        if place is not None:
            code, at = place
            refusal.where = f"{code.file}:{code.instructions[at].place.line}"
        return refusal

    def _returns(self, node: int, before: frozenset[int]) -> Iterator[Chance]:
        """The probabilities of the ways from a node back to it."""
        home = self.loops[node]
        pending = [Walk(node, before | {node})]
        count = 0
        while pending:
            walk = pending.pop()
            for step in self.steps[walk.node]:
                if self.loops.get(step.target) != home:
                    continue
                if step.target == node:
                    count += 1
                    if count > _MOST_RETURNS:
                        raise NotSummable(self._place(node))
                    yield walk.weight * self._chance(walk.then(step, walk.visited, _ONE), node)
                elif step.target not in walk.visited:
                    weight = walk.weight * self._factor(step.target, walk.visited)
                    pending.append(walk.then(step, walk.visited | {step.target}, weight))

    def _chance(self, walk: Walk, node: int) -> Chance:
        drawn = {d.symbol for d in walk.draws}
        spoken = {s for c in walk.conditions for s in c.form.terms}
        found = None
        if spoken <= drawn:
            found = probability(distinct(walk.conditions), walk.picks, self.noises)
        if found is None:
            raise NotSummable(self._place(node))
        return found

    def _place(self, node: int) -> Place:
        place = self.nodes[node].place
        assert place is not None  # nothing comes back to the start
        return place

    # Ways that differ in forgotten noise

    def _steps(self, node: TurnNode) -> list[Step]:
        together: dict[object, list[Step]] = {}
        for way in node.ways:
            step = Step(way.target, way.conditions, way.draws, way.picks, way.release)
            key: object = len(together)
            if way.target >= 0 and self._is_forgotten(step):
                key = (way.target, self._remembered(step))
            together.setdefault(key, []).append(step)
        return [steps[0] if len(steps) == 1 else self._one(steps) for steps in together.values()]

    def _is_forgotten(self, step: Step) -> bool:
        """Whether its conditions speak of nothing that matters later, and are known to hold."""
        live = self.nodes[step.target].live
        fresh = {d.symbol for d in step.draws} - live
        if any(not fresh.issuperset(c.form.terms) for c in step.conditions):
            return False
        return probability(distinct(step.conditions), step.picks, self.noises) is not None

    def _remembered(self, step: Step) -> tuple[Draw, ...]:
        live = self.nodes[step.target].live
        return tuple(d for d in step.draws if d.symbol in live)

    def _one(self, steps: Sequence[Step]) -> Step:
        chances = []
        for step in steps:
            chance = probability(distinct(step.conditions), step.picks, self.noises)
            assert chance is not None
            chances.append(chance)
        total = _sum(chances)
        rounded = not isinstance(total, Fraction)
        site = f"turn{self.merged}"
        self.merged += 1
        picked = Picked(site, Bernoulli(total), True, total, rounded)
        return Step(steps[0].target, (), self._remembered(steps[0]), (picked,))


def _sum(chances: Sequence[Chance]) -> Chance:
    if all(isinstance(one, Fraction) for one in chances):
        return sum(chances, start=Fraction(0))
    return min(math.fsum(chances), 1.0)


def _edge(walk: Walk, release: Release) -> Edge:
    picks = walk.picks
    if walk.weight != 1:
        rounded = isinstance(walk.weight, float)
        picks = (*picks, Picked("again", Bernoulli(1), True, walk.weight, rounded))
    return Edge(0, END, distinct(walk.conditions), walk.draws, picks, release=release)


def _loops(nodes: Sequence[TurnNode]) -> dict[int, int]:
    """Of each node that something comes back to: the number of its strong component."""
    found: dict[int, int] = {}
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    standing: set[int] = set()
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
            continue
        if low[node] == index[node]:
            component = []
            while not component or component[-1] != node:
                component.append(stack.pop())
                standing.discard(component[-1])
            if len(component) > 1 or node in after[node]:
                found.update(dict.fromkeys(component, node))
    return found


def comes_back(nodes: Sequence[TurnNode]) -> bool:
    """Whether some loop comes back to a state."""
    return bool(_loops(nodes))


__all__ = ["MOST_TURNS", "NotSummable", "comes_back", "turn_model"]
