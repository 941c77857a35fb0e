"""A program that passes over its data once: a graph of states with slots, and budgets on it.

In a node the program has some real slots. An edge reads the next entry of the data or not, draws
noise, is taken if its conditions hold, releases something, and sets the slots of its target. Where
edges that read and edges that don't leave the same node, the latter are for the end of the data.
Node 0 is the start, -1 the end. A potential gives each state (a node, a phase, a difference for
each slot) a budget, and says for each edge which state comes next and how the noise is shifted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from ..farkas import Weights, read_weights
from ..fields import Fields, listed, mapping, rational, text
from ..forms import LinearInequality, Terms, read_terms, symbols_of, terms_of
from ..invalid import need
from .decisions import Branch, held, read_branch

END = -1


@dataclass(frozen=True)
class GraphEdge:
    source: int
    target: int
    reads: bool
    branch: Branch
    noise: tuple[str, ...]
    release: tuple[str | None, ...]
    real: tuple[Terms, ...]
    slots: Mapping[str, Terms]
    """The slots of the target, as forms of what was there before."""

    @property
    def keep(self) -> list[LinearInequality]:
        return held(self.branch)

    @property
    def symbols(self) -> set[str]:
        return symbols_of((*map(terms_of, self.keep), *self.real, *self.slots.values()))


@dataclass(frozen=True)
class DeadEdge:
    """A branch that is never taken, with weights that show it."""

    source: int
    reads: bool
    branch: Branch
    empty: Weights


@dataclass(frozen=True)
class GraphState:
    """`phase`: 0 before the one entry that differs, k + 1 after it moved by move k."""

    number: int
    node: int
    phase: int
    budget: Fraction
    difference: Mapping[str, Fraction]


@dataclass(frozen=True)
class GraphStep:
    following: int
    shift: Mapping[str, Fraction]


@dataclass(frozen=True)
class GraphBudgets:
    """`steps`: (state, edge, move) -> what happens; move -1: the entry is the same in both runs."""

    start: GraphState
    states: Mapping[int, GraphState]
    steps: Mapping[tuple[int, int, int], GraphStep]


@dataclass(frozen=True)
class StateGraph:
    slots: Mapping[int, frozenset[str]]
    edges: tuple[GraphEdge, ...]
    dead: tuple[DeadEdge, ...]
    potentials: tuple[GraphBudgets, ...]

    @property
    def used(self) -> set[str]:
        """All symbols that an edge mentions."""
        return set().union(*(edge.symbols for edge in self.edges))


def read_graph(fields: Fields) -> StateGraph:
    slots: dict[int, frozenset[str]] = {}
    for node in fields.each("nodes"):
        number, names = node.whole("id"), node.texts("slots")
        node.done()
        need(number >= 0 and number not in slots, f"{node.where}: its number")
        need(all(name.startswith("v.") for name in names), f"{node.where}: a slot is called v.…")
        slots[number] = frozenset(names)
    edges = tuple(_edge(f, slots) for f in fields.each("edges"))
    dead = tuple(_dead(f) for f in fields.each("dead"))
    potentials = tuple(_potential(f, slots) for f in fields.each("components"))
    return StateGraph(slots, edges, dead, potentials)


def _edge(fields: Fields, slots: Mapping[int, frozenset[str]]) -> GraphEdge:
    where = fields.where
    updates = {k: read_terms(t, where) for k, t in mapping(fields.take("set"), where).items()}
    release = tuple(
        None if v is None else text(v, where) for v in listed(fields.take("release"), where)
    )
    found = GraphEdge(
        fields.whole("from"),
        fields.whole("to"),
        fields.truth("reads"),
        read_branch(fields.take("if"), where),
        fields.texts("noise"),
        release,
        tuple(read_terms(t, where) for t in listed(fields.take("real"), where)),
        updates,
    )
    fields.done()
    need(found.source in slots, f"{where}: from nowhere")
    released = sum(value is None for value in found.release)
    need(released == len(found.real), f"{where}: a real for each number that is released")
    need(found.target in slots or found.target == END, f"{where}: to nowhere")
    need(updates.keys() == slots.get(found.target, frozenset()), f"{where}: slots of its target")
    return found


def _dead(fields: Fields) -> DeadEdge:
    found = DeadEdge(
        fields.whole("from"),
        fields.truth("reads"),
        read_branch(fields.take("if"), fields.where),
        read_weights(fields.take("empty"), fields.where),
    )
    fields.done()
    return found


def _potential(fields: Fields, slots: Mapping[int, frozenset[str]]) -> GraphBudgets:
    states: dict[int, GraphState] = {}
    for entry in fields.each("states"):
        state = _state(entry)
        need(state.number not in states, f"{entry.where}: a number twice")
        need(state.node in slots or state.node == END, f"{entry.where}: an unknown node")
        own = slots.get(state.node, frozenset())
        need(state.difference.keys() == own, f"{entry.where}: not the slots of its node")
        states[state.number] = state
    steps: dict[tuple[int, int, int], GraphStep] = {}
    for entry in fields.each("steps"):
        key = entry.whole("state"), entry.whole("edge"), entry.whole("move")
        shift = mapping(entry.take("shift"), entry.where)
        following = entry.whole("next")
        need(key not in steps and following in states, f"{entry.where}: twice, or to nowhere")
        steps[key] = GraphStep(following, {h: rational(x, entry.where) for h, x in shift.items()})
        entry.done()
    start = fields.whole("start")
    fields.done()
    need(start in states, f"{fields.where}.start: an unknown state")
    return GraphBudgets(states[start], states, steps)


def _state(fields: Fields) -> GraphState:
    values = mapping(fields.take("difference"), fields.where)
    found = GraphState(
        fields.whole("id"),
        fields.whole("node"),
        fields.whole("phase"),
        fields.number("budget"),
        {k: rational(v, fields.where) for k, v in values.items()},
    )
    fields.done()
    need(found.budget >= 0, f"{fields.where}: a negative budget")
    return found
