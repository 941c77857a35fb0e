"""What the search climbs: the log ratio of an event's two smooth probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.attacks.finder.event import PatternEvent
from dpest.attacks.finder.frozen import FrozenNoise, draw
from dpest.attacks.finder.neighbourhood import Neighbourhood
from dpest.attacks.finder.program import ProgramCheck, ProgramReading
from dpest.attacks.finder.smooth import EventShape, LinearInput, SmoothCheck
from dpest.attacks.finder.tape import DEFAULT_STEEPNESS, SmoothTape
from dpest.attacks.statdp.events import Range
from dpest.geometry.linear import Symbol
from dpest.noise.family import Noise
from dpest.reading.instances import expand_indicators, instantiate
from dpest.reading.paths import Path, Trace
from dpest.running.skeleton import Leaf

Floats = NDArray[np.float64]

# Probabilities below this are beyond the frozen noise: adding it to both keeps the search away.
_FLOOR = 5.0
# Chances that are integrated are known far below one over the number of samples.
_SHARP = 1e-9


class Side:
    """One side of the pair: its trace with symbolic inputs, and the inputs' linear maps."""

    def __init__(self, trace: Trace, symbols: Sequence[Symbol]) -> None:
        self.trace = trace
        self.symbols = tuple(symbols)
        self._forms: Trace | None = None

    def inputs(self, maps: Sequence[LinearInput], size: int) -> dict[Symbol, LinearInput]:
        return {
            symbol: LinearInput(_padded(linear.coefficients, size), linear.constant)
            for symbol, linear in zip(self.symbols, maps, strict=True)
        }

    def check(
        self,
        shape: EventShape,
        inputs: Mapping[Symbol, LinearInput],
        symbols: Sequence[Symbol],
        noises: Mapping[Symbol, Noise],
        steepness: float,
    ) -> SmoothTape:
        """The smooth probability of an event on this side."""
        return SmoothCheck(self.trace, shape, inputs, symbols, noises, steepness)

    @property
    def paths(self) -> int:
        return len(self.trace.paths)

    @property
    def forms(self) -> Trace:
        """The trace without indicators, made once."""
        if self._forms is None:
            self._forms = expand_indicators(self.trace)
        return self._forms

    def event_trace(self, x: Sequence[float], event: PatternEvent) -> Trace:
        """The paths at an input that end in an event, as a trace that holds nothing else."""
        several = isinstance(self.forms.inputs, (list, tuple, np.ndarray))
        found = instantiate(self.forms, x if several else x[0], check=False)
        paths = []
        for path in found.paths:
            more = event.conditions_on(path)
            if more is not None:
                paths.append(Path((*path.conditions, *more), Leaf("bool"), (True,), path.choices))
        return replace(found, paths=tuple(paths))


class ProgramSide(Side):
    """One side whose function was read as a program: its paths are not listed."""

    def __init__(self, reading: ProgramReading, symbols: Sequence[Symbol]) -> None:
        self.reading = reading
        self.symbols = tuple(symbols)

    def check(
        self,
        shape: EventShape,
        inputs: Mapping[Symbol, LinearInput],
        symbols: Sequence[Symbol],
        noises: Mapping[Symbol, Noise],
        steepness: float,
    ) -> SmoothTape:
        return ProgramCheck(self.reading, shape, inputs, symbols, steepness)

    @property
    def paths(self) -> int:
        """An exact value costs as much as for a trace of one path."""
        return 1

    def event_trace(self, x: Sequence[float], event: PatternEvent) -> Trace:
        return self.reading.event_trace(x, event)


def _padded(coefficients: Floats, size: int) -> Floats:
    return np.concatenate([coefficients, np.zeros(size - len(coefficients))])


class SmoothObjective:
    """ε̂_d: log of the ratio of the two smooth probabilities, for one event shape.

    The variables are those of the neighbourhood, then the ends of the event's intervals.
    """

    def __init__(
        self,
        sides: tuple[Side, Side],
        neighbourhood: Neighbourhood,
        pattern: tuple[Any, ...],
        ends: Mapping[int, tuple[bool, bool]],
        noises: Mapping[Symbol, Noise],
        symbols: tuple[Symbol, ...],
        steepness: float = DEFAULT_STEEPNESS,
    ) -> None:
        self.sides, self.neighbourhood, self.pattern = sides, neighbourhood, pattern
        self.ends, self.steepness = dict(ends), steepness
        self.noises, self.symbols = noises, symbols
        self.places = [(leaf, i) for leaf, open_ in ends.items() for i in (0, 1) if open_[i]]
        self.size = neighbourhood.size + len(self.places)
        units = [
            LinearInput(np.eye(self.size)[neighbourhood.size + k]) for k in range(len(self.places))
        ]
        at = dict(zip(self.places, units, strict=True))
        shape = EventShape(pattern, {leaf: (at.get((leaf, 0)), at.get((leaf, 1))) for leaf in ends})
        maps = (neighbourhood.first, neighbourhood.second)
        self.checks = tuple(
            side.check(shape, side.inputs(m, self.size), symbols, noises, steepness)
            for side, m in zip(sides, maps, strict=True)
        )
        self.floor = 0.0

    def freeze(self, noise: FrozenNoise) -> None:
        for check in self.checks:
            check.freeze(noise.values, noise.weights)
        self.floor = _FLOOR * float(np.sum(noise.weights**2))
        if self.sharp:
            self.floor *= _SHARP

    @property
    def sharp(self) -> bool:
        """Whether both probabilities are integrals over the shared noise alone."""
        return all(check.sharp for check in self.checks)

    @property
    def work(self) -> float:
        """What one evaluation takes: operations on arrays, times their lengths."""
        return float(sum(check.size * check.samples for check in self.checks))

    def with_steepness(self, steepness: float) -> None:
        for check in self.checks:
            check.steepness = steepness

    def value(self, variables: Floats) -> float:
        p, q = (check.value(variables) for check in self.checks)
        return math.log((p + self.floor) / (q + self.floor))

    def value_and_gradient(self, variables: Floats) -> tuple[float, Floats]:
        (p, dp), (q, dq) = (check.value_and_gradient(variables) for check in self.checks)
        p, q = p + self.floor, q + self.floor
        return math.log(p / q), dp / p - dq / q

    def hard_value(self, variables: Floats) -> float:
        """The true ratio on the frozen noise."""
        p, q = (check.hard_value(variables) for check in self.checks)
        if p == 0.0 or q == 0.0:
            return math.nan if p == q else (math.inf if q == 0.0 else -math.inf)
        return math.log(p / q)

    def event(self, variables: Floats) -> PatternEvent:
        ends: dict[int, list[float]] = {}
        for k, (leaf, i) in enumerate(self.places):
            ends.setdefault(leaf, [-math.inf, math.inf])[i] = float(
                variables[self.neighbourhood.size + k]
            )
        return PatternEvent(
            self.pattern,
            {leaf: Range(low, high, True, False) for leaf, (low, high) in ends.items()},
        )

    def constraints(self) -> tuple[Floats, Floats]:
        """rows·v ≤ limits: the neighbourhood's, and low ends below high ends."""
        rows = [_padded(row, self.size) for row in self.neighbourhood.rows]
        limits = list(self.neighbourhood.limits)
        start = self.neighbourhood.size
        index = {place: start + k for k, place in enumerate(self.places)}
        for leaf, i in self.places:
            if i == 0 and (leaf, 1) in index:
                row = np.zeros(self.size)
                row[index[leaf, 0]], row[index[leaf, 1]] = 1.0, -1.0
                rows.append(row)
                limits.append(0.0)
        return np.array(rows).reshape(len(limits), self.size), np.array(limits)

    def paired(self, variables: Floats, rng: np.random.Generator) -> Any:
        """A function that gives both true indicators on n fresh shared noises."""
        first, second = self.checks

        def check(n: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
            noise = draw(self.noises, self.symbols, n, rng)
            with first.frozen_at(noise), second.frozen_at(noise):
                return first.hard(variables).copy(), second.hard(variables).copy()

        return check
