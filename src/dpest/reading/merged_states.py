"""Equal states of a function on an input of known length are one node, not many paths.

A running maximum over n noisy values has 2^n paths but only n states. The conditions that reach
a node are those that all of its ways share; the regions of two releases must then be shown to be
disjoint, which makes each region exactly the set of noises that release it. Where they are not,
the plain paths are taken instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dpest.geometry.linear import Condition, Symbol, distinct
from dpest.geometry.polyhedra import Premises, feasible
from dpest.geometry.regions import Point, Supports
from dpest.noise.family import Noise
from dpest.reading.decision_path import Block
from dpest.reading.rewrites.draws.made_values import MadeNoises
from dpest.reading.world import World
from dpest.running.skeleton import Skeleton


class KnowsSupports(Protocol):
    """Whoever knows the ranges of all noises."""

    supports: Supports


@dataclass(frozen=True)
class MergedEdge:
    """A way from one node to another: decisions in order, and the noises drawn on it."""

    source: int
    blocks: tuple[Block, ...]
    draws: tuple[Symbol, ...]
    order: tuple[Symbol, ...] | None = None
    """What the function draws on it, in order, where that is something else than `draws`."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return tuple(c for block in self.blocks for c in block)


@dataclass
class MergedNode:
    """A state. `known` holds on every way to it; `plain` means that there is just one way."""

    index: int
    variables: Mapping[str, Any]
    given: tuple[Any, ...]
    incoming: list[MergedEdge] = field(default_factory=list)
    known: tuple[Condition, ...] = ()
    point: Point = field(default_factory=dict)
    plain: bool = True
    drawn: frozenset[Symbol] = frozenset()
    release: tuple[Skeleton, tuple[Any, ...]] | None = None


@dataclass
class MergedModel:
    """The graph. Nodes stand in topological order; `leaves` are those that release something."""

    nodes: list[MergedNode]
    leaves: list[MergedNode]
    dead: list[tuple[int, tuple[Block, ...]]]
    world: World
    merged: bool
    made: MadeNoises = field(default_factory=MadeNoises)

    @property
    def noises(self) -> dict[Symbol, Noise]:
        return self.world.noises


def settle(node: MergedNode, nodes: Mapping[int, MergedNode], world: KnowsSupports) -> None:
    """What holds at a node, where all ways to it are known; `nodes` by their number."""
    ways = []
    for edge in node.incoming:
        source = nodes[edge.source]
        support = world.supports.conditions(edge.draws)
        ways.append(distinct((*source.known, *support, *edge.conditions)))
        node.drawn |= source.drawn | frozenset(edge.draws)
        node.plain = node.plain and source.plain
    if len(ways) == 1:
        node.known = ways[0]
    else:
        node.plain = False
        node.known = _shared(ways)
    node.point = feasible([world.supports.tightened(c) for c in node.known]) or {}


def all_disjoint(leaves: Sequence[MergedNode]) -> bool:
    """Whether no noise releases two of them: of leaves with one way each that is known."""
    return all(
        (first.plain and second.plain) or disjoint(first.known, second.known)
        for i, first in enumerate(leaves)
        for second in leaves[i + 1 :]
    )


def _shared(ways: Sequence[tuple[Condition, ...]]) -> tuple[Condition, ...]:
    """The conditions of the ways that all of them imply."""
    premises = [p for p in map(_QuickPremises, ways) if p.consistent]
    found = distinct(c for p in premises for c in p.conditions)
    return tuple(c for c in found if all(p.implies(c) for p in premises))


class _QuickPremises(Premises):
    """Premises that first look whether a goal is one of them, or the sum of two."""

    def __init__(self, conditions: Sequence[Condition]) -> None:
        super().__init__(conditions)
        self._held = {c.form: c.strict for c in conditions if c.relation in (">", ">=")}

    def implies(self, goal: Condition) -> bool:
        held = self._held.get(goal.form)
        if held is not None and (held or not goal.strict):
            return True
        for form, strict in self._held.items():
            if form.terms.keys() & goal.form.terms.keys():
                rest = self._held.get(goal.form.plus(form, -1))
                if rest is not None and (strict or rest or not goal.strict):
                    return True
        return self.entails(goal)


def disjoint(first: Sequence[Condition], second: Sequence[Condition]) -> bool:
    """Whether no point satisfies both; opposite conditions are looked for first."""
    held = set(second)
    if any(c.negated() in held for c in first):
        return True
    return feasible([*first, *second]) is None
