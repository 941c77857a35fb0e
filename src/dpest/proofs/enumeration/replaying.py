"""The ways of a finite mechanism, held against runs of the untouched function.

Where eps has no value, the function is run with some: what is public is then a number, and all of
the ways must fit as those of any model do.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from dpest.ask.declaration import Mechanism
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.family import Noise
from dpest.noise.parameters import is_number
from dpest.proofs.enumeration.machine import EPS, EnumeratingMachine
from dpest.proofs.enumeration.ratios import Ratio
from dpest.reading.model import Edge, Model, Node
from dpest.reading.replay import AtPoint, Replay

_UNITS = (0.3, 1.7)  # values of eps, beside the one that is declared


def check(
    machine: EnumeratingMachine,
    edges: Sequence[Edge],
    target: Mechanism,
    unit: str | None,
    x: Any,
    *,
    complete: bool = True,
) -> None:
    """Raises ReplayError where a run and the ways differ; they may be some of all ways."""
    if unit is None:
        model = _model(list(edges))
        FiniteReplay(machine, model, target, x, (), complete).check()
        return
    for eps in dict.fromkeys((float(target.all_params[unit]), *_UNITS)):
        model = _model([_at(machine, edge, eps) for edge in edges])
        replay = FiniteReplay(machine, model, target.with_params({unit: eps}), x, (), complete)
        replay.check()


def _model(edges: list[Edge]) -> Model:
    noises = {d.symbol: d.noise for e in edges for d in e.draws}
    return Model([Node(0, (), "")], edges, noises, {})


def _at(machine: EnumeratingMachine, edge: Edge, eps: float) -> Edge:
    """A way at one value of eps."""
    values = {s: Form.number(v.at(eps, machine.denominator)) for s, v in machine.public.items()}
    values[EPS] = Form.number(eps)
    conditions = tuple(Condition(c.form.substitute(values), c.relation) for c in edge.conditions)
    picks = tuple(p._replace(noise=_noise_at(machine, p.noise, eps)) for p in edge.picks)
    return dataclasses.replace(edge, conditions=conditions, picks=picks)


def _noise_at(machine: EnumeratingMachine, noise: Noise, eps: float) -> Noise:
    def number(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(number, value))
        return value.at(eps, machine.denominator) if isinstance(value, Ratio) else value

    values = {f.name: number(getattr(noise, f.name)) for f in dataclasses.fields(noise)}
    return dataclasses.replace(noise, **values)


class FiniteReplay(Replay):
    """Runs follow the outcomes of a way; chances that are made of eps are compared as floats."""

    machine: EnumeratingMachine

    def __init__(
        self,
        machine: EnumeratingMachine,
        model: Model,
        target: Mechanism,
        x: Any,
        assumed: Sequence[Condition],
        complete: bool,
    ) -> None:
        super().__init__(machine, model, target, x, assumed)
        self.complete = complete

    def script(self, values: dict[Symbol, Any], wanted: Edge | None, turn: int) -> AtPoint:
        return _Following(self.machine, values, wanted, turn)

    def _fitting(
        self, script: AtPoint, values: dict[Symbol, Any], wanted: Edge | None
    ) -> list[Edge]:
        return super()._fitting(script, values, wanted if self.complete else None)

    def compare(
        self,
        script: AtPoint,
        values: dict[Symbol, Any],
        wanted: Edge | None,
        outcome: tuple[bool, Any],
    ) -> None:
        if not self.complete and not self._fitting(script, values, None):
            return
        super().compare(script, values, wanted, outcome)

    def _same_draws(self, edge: Edge, script: AtPoint) -> bool:
        picked = {p.site: p for p in edge.picks}
        draws = iter(edge.draws)
        for index, (noise, value) in enumerate(script.log):
            pick = picked.get(f"{noise.family}{index}")
            if pick is not None:
                if pick.outcome != value or not _close(pick.noise, noise):
                    return False
                continue
            draw = next(draws, None)
            if draw is None or draw.noise != noise:
                return False
        return True


class _Following(AtPoint):
    """Finite draws are those of the way, where it says so."""

    def value(self, index: int, noise: Noise) -> Any:
        site = f"{noise.family}{index}"
        if self.picks is not None and site in self.picks:
            return int(self.picks[site])
        return super().value(index, noise)


def _close(one: Any, other: Any) -> bool:
    """Whether noises are the same, but for the rounding of their parameters."""
    if isinstance(one, Noise):
        return type(one) is type(other) and all(
            _close(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one)
        )
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_close, one, other))
    if is_number(one) and is_number(other):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return bool(one == other)
