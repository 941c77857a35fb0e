"""A graph of merged states held against runs of the untouched function.

A run is walked through the graph: at each node exactly one way fits what was drawn, and at the end
the function has given what the last way releases. So replay takes as long as the run, however many
paths there are. Where ways were made one, the paths that came of it must say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpest.ask.declaration import Mechanism
from dpest.geometry.linear import Condition, Symbol
from dpest.noise.family import Noise
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.merging import Way
from dpest.reading.merged_paths import Contents, content, spliced
from dpest.reading.model import END, Edge, Model, Release
from dpest.reading.replay import AtPoint, Replay, nearly_tight, spread

_WALKS = 4


class MergedReplay(Replay):
    """The checks of one graph, and of the paths that were made of it, at one input."""

    points = 2  # paths have most of their ways in common, so that each is looked at often

    def __init__(
        self,
        machine: Machine,
        graph: Sequence[Sequence[Way]],
        model: Model,
        target: Mechanism,
        x: Any,
        assumed: Sequence[Condition],
        *,
        is_folded: bool | None = None,
    ) -> None:
        super().__init__(machine, model, target, x, assumed)
        self.graph = graph
        if is_folded is None:
            is_folded = any(s.kind == "indicator" for s in model.definitions)
        self.is_folded = is_folded  # its paths are not the ways of the graph

    def chosen(self) -> list[Edge]:
        """Ways to some of the ends, to errors, and some at random."""
        parents: dict[int, tuple[int, Way]] = {}
        ends: list[tuple[int, Way]] = []
        for node, ways in enumerate(self.graph):
            for way in ways:
                if way.target == END:
                    ends.append((node, way))
                else:
                    parents.setdefault(way.target, (node, way))
        paths = [_path_to(parents, *end) for end in spread(ends, lambda end: end[1].release)]
        return [*paths, *(self._walk_at_random(seed) for seed in range(_WALKS))]

    def _walk_at_random(self, seed: int) -> Edge:
        choose = self.generator(seed)
        ways: list[Way] = []
        node = 0
        while node != END:
            ways.append(self.graph[node][int(choose.integers(len(self.graph[node])))])
            node = ways[-1].target
        return _joined(ways)

    def script(self, values: dict[Symbol, Any], wanted: Edge | None, turn: int) -> AtPoint:
        return _InOrder(self.machine, values, wanted, turn)

    def compare(
        self,
        script: AtPoint,
        values: dict[Symbol, Any],
        wanted: Edge | None,
        outcome: tuple[bool, Any],
    ) -> None:
        known = {s: v for s, v in values.items() if s.kind != "noise"}
        release = self._walked(script, known)
        if release is None:
            return
        self.check_release(release, outcome, known)
        if self.is_folded:
            self._compare_paths(script, known, outcome)

    def _walked(self, script: AtPoint, known: dict[Symbol, Any]) -> Release | None:
        """What the run releases, by the graph; None where floating point leaves it open.

        The noises that were drawn get their values in `known`.
        """
        node, place = 0, 0
        contents: Contents = ()
        while True:
            fitting = []
            for way in self.graph[node]:
                drawn = _drawn(way, script.log, place)
                if drawn is not None:
                    known.update(drawn)
                    if all(self.holds(c, known) for c in way.conditions):
                        fitting.append(way)
            if len(fitting) != 1:
                conditions = [c for way in self.graph[node] for c in way.conditions]
                if any(nearly_tight(c, known) for c in conditions):
                    return None
                raise self.mismatch(f"{len(fitting)} ways fit a run of the function")
            way = fitting[0]
            place += len(way.draws) + len(way.picks)
            if way.release is not None:
                if place != len(script.log):
                    raise self.mismatch("a run of the function drew more than was read")
                return spliced(way.release, contents)
            contents = tuple([content(grown, contents) for grown in way.grown])
            node = way.target

    def _compare_paths(
        self, script: AtPoint, known: dict[Symbol, Any], outcome: tuple[bool, Any]
    ) -> None:
        for symbol, noise in self.model.noises.items():
            if symbol not in known:  # it is drawn on other ways: its value is no matter
                known[symbol] = noise.sample(script.random)
        fitting = [
            edge
            for edge in self.model.edges
            if all(self.holds(c, known) for c in edge.conditions) and _same_picks(edge, script.log)
        ]
        if len(fitting) != 1:
            if any(nearly_tight(c, known) for e in self.model.edges for c in e.conditions):
                return
            raise self.mismatch(f"{len(fitting)} paths fit a run of the function")
        assert fitting[0].release is not None
        self.check_release(fitting[0].release, outcome, known)


class _InOrder(AtPoint):
    """Draws the values of a point along a path, whatever the symbols are called."""

    def __init__(
        self, machine: Machine, values: dict[Symbol, Any], wanted: Edge | None, turn: int
    ) -> None:
        super().__init__(machine, values, wanted, turn)
        along = () if wanted is None or wanted.picks else wanted.draws
        self.order = [draw.symbol for draw in along]

    def symbol(self, index: int, noise: Noise) -> Symbol:
        if index < len(self.order):
            return self.order[index]
        return super().symbol(index, noise)


def _path_to(parents: dict[int, tuple[int, Way]], node: int, last: Way) -> Edge:
    ways = [last]
    while node:
        node, way = parents[node]
        ways.append(way)
    return _joined(ways[::-1])


def _joined(ways: Sequence[Way]) -> Edge:
    return Edge(
        0,
        END,
        tuple([c for way in ways for c in way.conditions]),
        tuple([d for way in ways for d in way.draws]),
        tuple([p for way in ways for p in way.picks]),
        release=ways[-1].release,
    )


def _drawn(way: Way, log: Sequence[tuple[Noise, Any]], place: int) -> dict[Symbol, Any] | None:
    """The noises of a way with the values that a run gave them; None if it drew something else."""
    after = place + len(way.draws) + len(way.picks)
    if after > len(log):
        return None
    picked = {p.site: p for p in way.picks}
    draws = iter(way.draws)
    found = {}
    for index in range(place, after):
        noise, value = log[index]
        pick = picked.get(f"{noise.family}{index}") if picked else None
        if pick is not None and pick.noise == noise:
            if pick.outcome != value:
                return None
        else:
            draw = next(draws, None)
            if draw is None or draw.noise != noise:
                return None
            found[draw.symbol] = value
    return found


def _same_picks(edge: Edge, log: Sequence[tuple[Noise, Any]]) -> bool:
    outcomes = {f"{noise.family}{index}": value for index, (noise, value) in enumerate(log)}
    return all(outcomes.get(p.site) == p.outcome for p in edge.picks)
