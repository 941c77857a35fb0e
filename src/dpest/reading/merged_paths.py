"""From a graph of merged states to paths.

Where the graph has few paths they are all followed. Where it has many, ways that lead from one
node to the same next one, with the same draws, are made one: what they release differently is then
a number that indicators make of the conditions (`1 if u < 1/4 else 0` is the indicator of u < 1/4),
so that eight bits of randomised response are one path with eight indicators and not 6⁸ paths.

Where many ways lead to few releases, a path for each release is best: a running maximum over n
noisy values has 2ⁿ paths, n²/2 states and n releases. What all ways to a release have in common is
a region that holds all noises that release it; where the regions of any two releases are disjoint,
each is exactly that set (`merged_states`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from dpest.geometry.linear import Form, Symbol
from dpest.reading.domains.numbers import Truth
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.merging import Grown, Way
from dpest.reading.machine.exploring.releasing import Before
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.state import Draw
from dpest.reading.merged_states import MergedEdge, MergedNode, all_disjoint, settle
from dpest.reading.model import END, Edge, Model, Node, Release
from dpest.running.skeleton import Leaf, Nest, Skeleton

Contents = tuple[tuple[tuple[Skeleton, ...], tuple[Any, ...]], ...]
_NUMBERS = ("int", "float", "real")
_MOST_NODES = 400  # of a graph whose releases get regions
_NOTE = "equal states were merged"


def merged_model(
    machine: Machine, graph: Sequence[Sequence[Way]], many: int, most_paths: int
) -> Model:
    """The paths of a graph; ways are made one if there are `many` of them.

    Raises Refused where there are more than `most_paths` even so.
    """
    ways, order = graph, topological(graph)
    if _number_of_paths(ways, order) > many:
        ways = _Folding(machine, ways, order).folded()
        if _number_of_paths(ways, order) > most_paths:
            raise Refused(f"more than {most_paths} paths")
    noises = {d.symbol: d.noise for found in ways for way in found for d in way.draws}
    return Model(
        [Node(0, (), "start")],
        list(_paths(ways)),
        noises,
        machine.definitions,
        tuple(machine.notes),
        machine.instructions_done,
    )


def draws_differ(graph: Sequence[Sequence[Way]]) -> bool:
    """Whether some node has ways to others that draw unequally often."""
    return any(
        len({len(way.draws) + len(way.picks) for way in ways if way.target != END}) > 1
        for ways in graph
    )


def topological(ways: Sequence[Sequence[Way]]) -> list[int]:
    """The nodes that can be reached, each before those that it leads to."""
    behind: list[int] = []
    done: set[int] = set()
    active: set[int] = set()
    pending: list[tuple[int, bool]] = [(0, False)]
    while pending:
        node, left = pending.pop()
        if left:
            active.discard(node)
            done.add(node)
            behind.append(node)
        elif node not in done:
            active.add(node)
            pending.append((node, True))
            for way in ways[node]:
                if way.target in active:
                    raise Refused("a loop that comes back to the same state")
                if way.target != END:
                    pending.append((way.target, False))
    return behind[::-1]


def _number_of_paths(ways: Sequence[Sequence[Way]], order: Sequence[int]) -> int:
    count = {END: 1}
    for node in reversed(order):
        count[node] = sum(count[way.target] for way in ways[node])
    return count[0]


# Following all ways


def _paths(ways: Sequence[Sequence[Way]]) -> Iterator[Edge]:
    pending: list[tuple[Way, Any, Any, Any, Contents]] = [
        (way, (), (), (), ()) for way in reversed(ways[0])
    ]
    while pending:
        way, conditions, draws, picks, contents = pending.pop()
        conditions, draws = conditions + way.conditions, draws + way.draws
        picks += way.picks
        if way.release is not None:
            release = spliced(way.release, contents)
            yield Edge(0, END, conditions, draws, picks, release=release)
            continue
        after = tuple([content(grown, contents) for grown in way.grown])
        for one in reversed(ways[way.target]):
            pending.append((one, conditions, draws, picks, after))


def content(grown: Grown, contents: Contents) -> tuple[tuple[Skeleton, ...], tuple[Any, ...]]:
    """What an open list holds behind a way."""
    if grown.before is None:
        return grown.parts, grown.leaves
    parts, leaves = contents[grown.before]
    return parts + grown.parts, leaves + grown.leaves


def spliced(release: Release, contents: Contents) -> Release:
    """The release with what its open lists held before."""
    if not contents or not any(type(leaf) is Before for leaf in release.leaves):
        return release
    out: list[Any] = []
    skeleton = _spliced_skeleton(release.skeleton, iter(release.leaves), contents, out)
    return Release(skeleton, tuple(out), release.raised)


def _spliced_skeleton(
    skeleton: Skeleton, leaves: Iterator[Any], contents: Contents, out: list[Any]
) -> Skeleton:
    if isinstance(skeleton, Leaf):
        out.append(next(leaves))
        return skeleton
    parts: list[Skeleton] = []
    for part in skeleton.parts:
        if not isinstance(part, Leaf):
            parts.append(_spliced_skeleton(part, leaves, contents, out))
            continue
        leaf = next(leaves)
        if type(leaf) is Before:
            before, values = contents[leaf.slot]
            parts.extend(before)
            out.extend(values)
        else:
            parts.append(part)
            out.append(leaf)
    return Nest(skeleton.container, skeleton.keys, tuple(parts), skeleton.label)


# Making parallel ways one


class _Folding:
    """From the last nodes to the first, parallel ways become one where what they add allows it."""

    def __init__(
        self, machine: Machine, ways: Sequence[Sequence[Way]], order: Sequence[int]
    ) -> None:
        self.machine = machine
        self.ways = [list(found) for found in ways]
        self.rank = {node: n for n, node in enumerate(order)} | {END: len(order)}

    def folded(self) -> list[list[Way]]:
        for node in sorted(self.rank, key=lambda n: -self.rank[n]):
            if node == END:
                continue
            found = list(self.ways[node])
            while len({way.target for way in found}) > 1:
                # Ways that part and meet again: follow the one that is behind.
                n = min(range(len(found)), key=lambda k: self.rank[found[k].target])
                then = self.ways[found[n].target]
                if len(then) > 1 or then[0].release is not None:
                    break
                found[n] = _composed(found[n], then[0])
            one = self._one(found)
            if one is not None:
                self.ways[node] = [one]
        return self.ways

    def _one(self, ways: Sequence[Way]) -> Way | None:
        """The ways as one way without conditions, if they differ in numbers alone."""
        first = ways[0]
        if len(ways) < 2 or first.picks or first.release is not None:
            return None
        if any(way.target != first.target or way.picks for way in ways):
            return None
        # A noise that only some of them draw is no matter to the others.
        draws = tuple(dict.fromkeys(d for way in ways for d in way.draws))
        grown = []
        for lists in zip(*(way.grown for way in ways), strict=True):
            one = self._one_list(ways, lists)
            if one is None:
                return None
            grown.append(one)
        return Way(first.target, (), draws, (), tuple(grown))

    def _one_list(self, ways: Sequence[Way], lists: Sequence[Grown]) -> Grown | None:
        first = lists[0]
        if any(g.before != first.before or len(g.parts) != len(first.parts) for g in lists):
            return None
        parts, leaves = [], []
        for n in range(len(first.parts)):
            kinds = [g.parts[n] for g in lists]
            if len(first.leaves) != len(first.parts):
                return None
            if not all(isinstance(kind, Leaf) for kind in kinds):
                return None
            found = self._one_leaf(ways, kinds, [g.leaves[n] for g in lists])
            if found is None:
                return None
            parts.append(found[0])
            leaves.append(found[1])
        return Grown(first.before, tuple(parts), tuple(leaves))

    def _one_leaf(
        self, ways: Sequence[Way], kinds: Sequence[Any], values: Sequence[Any]
    ) -> tuple[Leaf, Any] | None:
        names = {leaf.kind for leaf in kinds}
        if len(names) == 1 and all(type(v) is type(values[0]) and v == values[0] for v in values):
            return kinds[0], values[0]
        if names == {"bool"} or names == {"int"}:
            kind = kinds[0]
        elif names <= {"float", "real"}:
            kind = Leaf("real")
        else:
            return None
        forms = [v if isinstance(v, Form) else Form.number(v) for v in values]
        if any(s.kind != "indicator" for form in forms for s in form.terms):
            return None
        form = self._weighted(ways, forms)
        return kind, form if form.terms else _constant(kind, form)

    def _weighted(self, ways: Sequence[Way], forms: Sequence[Form]) -> Form:
        """Σ (the form of a way)·(whether it is taken)."""
        base = min(form.constant for form in forms)
        events: dict[Fraction, list[list[Truth]]] = {}
        for way, form in zip(ways, forms, strict=True):
            taken = _all_of([Truth(c) for c in way.conditions])
            mine = [(form.constant - base, taken)]
            for bit, weight in form.terms.items():
                mine.append((weight, _all_of([taken, self.machine.definitions[bit]])))
            used: dict[Fraction, int] = {}
            for weight, truth in mine:
                if weight:
                    # Those of different ways exclude each other: their sum is their union.
                    rows = events.setdefault(weight, [])
                    row = used.get(weight, 0)
                    used[weight] = row + 1
                    if row == len(rows):
                        rows.append([])
                    rows[row].append(truth)
        total = Form(None, base)
        for weight, rows in events.items():
            for truths in rows:
                either = truths[0] if len(truths) == 1 else Truth(None, tuple(truths), False)
                total = total.plus(self.machine.indicator(either), weight)
        return total


def _constant(kind: Leaf, form: Form) -> Any:
    if kind.kind == "bool":
        return bool(form.constant)
    return int(form.constant) if kind.kind == "int" else float(form.constant)


def _all_of(truths: Sequence[Truth]) -> Truth:
    return truths[0] if len(truths) == 1 else Truth(None, tuple(truths), True)


def _composed(first: Way, then: Way) -> Way:
    grown = []
    for one in then.grown:
        if one.before is None:
            grown.append(one)
        else:
            before = first.grown[one.before]
            parts, leaves = before.parts + one.parts, before.leaves + one.leaves
            grown.append(Grown(before.before, parts, leaves))
    return Way(
        then.target,
        first.conditions + then.conditions,
        first.draws + then.draws,
        first.picks + then.picks,
        tuple(grown),
    )


# One path for each release


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
    return _model_of_regions(machine, found, releases, ways) if all_disjoint(found) else None


def _drawn(way: Way) -> tuple[Symbol, ...]:
    return tuple(draw.symbol for draw in way.draws)


def _model_of_regions(
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
