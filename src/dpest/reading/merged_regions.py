"""A graph of merged states as one path for each release.

A running maximum over n noisy values has 2ⁿ paths, n²/2 states and n releases. What all ways to a
release have in common is a region that holds all noises that release it; where the regions of any
two releases are disjoint, each is exactly that set (`merged_states`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from dpest.geometry.linear import Symbol
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.merging import Way
from dpest.reading.machine.state import Draw
from dpest.reading.merged_paths import topological
from dpest.reading.merged_states import MergedEdge, MergedNode, all_disjoint, settle
from dpest.reading.model import END, Edge, Model, Node, Release

_MOST_NODES = 400
_NOTE = "equal states were merged"


def regions_of_releases(machine: Machine, graph: Sequence[Sequence[Way]]) -> Model | None:
    """The releases with their regions; None where these are not disjoint, or not to be had."""
    ways = [way for found in graph for way in found]
    if len(graph) > _MOST_NODES or any(way.picks or way.grown for way in ways):
        return None
    nodes = {0: MergedNode(0, {}, ())}
    leaves: dict[Any, MergedNode] = {}
    releases: dict[int, Release] = {}
    for number in topological(graph):
        if number:
            settle(nodes[number], nodes, machine)
        if time.monotonic() > (machine.deadline or 0.0):
            return None
        for way in graph[number]:
            edge = MergedEdge(number, tuple((c,) for c in way.conditions), _drawn(way))
            target = nodes.get(way.target)
            if way.release is not None:
                release = way.release
                key = (release.skeleton, release.leaves, tuple(map(type, release.leaves)))
                target = leaves.setdefault(key, MergedNode(-len(leaves) - 2, {}, ()))
                releases[target.index] = release
            elif target is None:
                target = nodes[way.target] = MergedNode(way.target, {}, ())
            target.incoming.append(edge)
    for leaf in leaves.values():
        settle(leaf, nodes, machine)
    found = list(leaves.values())
    return _model(machine, found, releases, ways) if all_disjoint(found) else None


def _drawn(way: Way) -> tuple[Symbol, ...]:
    return tuple(draw.symbol for draw in way.draws)


def _model(
    machine: Machine,
    leaves: Sequence[MergedNode],
    releases: dict[int, Release],
    ways: Sequence[Way],
) -> Model:
    draws: dict[Symbol, Draw] = {draw.symbol: draw for way in ways for draw in way.draws}
    bounds = set(machine.supports.conditions(draws))
    edges = []
    for leaf in leaves:
        conditions = tuple(c for c in leaf.known if c not in bounds)
        drawn = tuple(draws[s] for s in sorted(leaf.drawn))
        edges.append(Edge(0, END, conditions, drawn, (), (), release=releases[leaf.index]))
    noises = {s: draw.noise for s, draw in draws.items()}
    notes = (*machine.notes, _NOTE)
    done = machine.instructions_done
    return Model([Node(0, (), "start")], edges, noises, machine.definitions, notes, done)
