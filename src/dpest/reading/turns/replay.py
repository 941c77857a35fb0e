"""A graph of turns held against runs of the untouched function.

A run is walked through the graph as in `merged_replay`; it may come to a node again and again, and
draws its noises anew each time. A run that comes to what was left of the graph is not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpest.ask.declaration import Mechanism
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.family import Noise
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.merging import Way
from dpest.reading.machine.exploring.turns import LEFT, TurnNode
from dpest.reading.machine.state import Picked
from dpest.reading.merged_replay import MergedReplay
from dpest.reading.model import END, Edge, Model
from dpest.reading.replay import AtPoint


class TurnReplay(MergedReplay):
    """The checks of one graph at one input."""

    most_ways = 60

    def __init__(
        self,
        machine: Machine,
        nodes: Sequence[TurnNode],
        model: Model,
        target: Mechanism,
        x: Any,
        assumed: Sequence[Condition],
    ) -> None:
        graph = [node.ways for node in nodes]
        super().__init__(machine, graph, model, target, x, assumed, is_folded=False)
        self.left = {n for n, node in enumerate(nodes) if node.is_left} | {LEFT}
        self._again: dict[tuple[Symbol, int], Symbol] = {}

    def is_left(self, node: int) -> bool:
        return node in self.left

    def script(self, values: dict[Symbol, Any], wanted: Edge | None, turn: int) -> AtPoint:
        return _Anywhere(self.machine, values, wanted, turn)

    def joined(self, ways: Sequence[Way]) -> Edge:
        """The ways as one path: what is drawn again has another name."""
        times: dict[Symbol, int] = {}
        names: dict[Symbol, Form] = {}
        conditions: list[Condition] = []
        draws, picks = [], []
        place = 0
        for way in ways:
            for draw in way.draws:
                times[draw.symbol] = times.get(draw.symbol, 0) + 1
                name = self._named(draw.symbol, times[draw.symbol], draw.noise)
                names[draw.symbol] = Form.of(name)
                draws.append(draw._replace(symbol=name))
            for c in way.conditions:
                conditions.append(Condition(c.form.substitute(names), c.relation))
            picks += [_moved(pick, place - (way.base or 0)) for pick in way.picks]
            place += len(way.draws) + len(way.picks)
        last = ways[-1].release
        return Edge(0, END, tuple(conditions), tuple(draws), tuple(picks), release=last)

    def _named(self, symbol: Symbol, time: int, noise: Noise) -> Symbol:
        if time == 1:
            return symbol
        name = self._again.get((symbol, time))
        if name is None:
            name = Symbol("noise", f"{symbol.name}~{time}")
            self._again[symbol, time] = name
            self.machine.known_noise(name, noise)
        return name


def _moved(pick: Picked, by: int) -> Picked:
    """The pick at the place that it has in a run."""
    family = pick.noise.family
    number = int(pick.site.removeprefix(family))
    return pick._replace(site=f"{family}{number + by}")


class _Anywhere(AtPoint):
    """Draws the values of a point along a path, whatever the symbols are called."""

    def __init__(
        self, machine: Machine, values: dict[Symbol, Any], wanted: Edge | None, turn: int
    ) -> None:
        super().__init__(machine, values, wanted, turn)
        self.order: list[Symbol | None] = []
        if wanted is not None:
            taken = {int(p.site.removeprefix(p.noise.family)) for p in wanted.picks}
            draws = iter(wanted.draws)
            size = len(wanted.draws) + len(taken)
            self.order = [None if n in taken else next(draws).symbol for n in range(size)]

    def symbol(self, index: int, noise: Noise) -> Symbol:
        known = self.order[index] if index < len(self.order) else None
        return super().symbol(index, noise) if known is None else known

    def candidates(self, index: int) -> list[Noise]:
        return self.machine.all_noises()
