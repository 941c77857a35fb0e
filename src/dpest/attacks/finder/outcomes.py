"""Which outputs a traced function has: where a search starts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.attacks.finder.event import pattern_of
from dpest.attacks.finder.objective import ProgramSide, Side
from dpest.attacks.statdp.discrete import NUMBER
from dpest.geometry.linear import Form, Symbol
from dpest.reading.paths import Path

Floats = NDArray[np.float64]

_MOST_PATTERNS = 64


class Outcomes:
    """What the traced function can return, and returns at given inputs and noise."""

    def __init__(self, side: Side, symbols: Sequence[Symbol]) -> None:
        self.side = side
        self.index = {s: i for i, s in enumerate(symbols)}
        self.inputs = {s: i for i, s in enumerate(side.symbols)}
        # Where outputs hold no indicators their patterns can be listed: each gets its turn.
        listed: dict[Any, Path] = {}
        for path in side.trace.paths:
            if any(True for form in path.forms for _ in form.symbols("indicator")):
                listed = {}
                break
            listed.setdefault(repr(pattern_of(path, {})), path)
            if len(listed) > _MOST_PATTERNS:
                listed = {}
                break
        self._listed = list(listed.values())
        self._turn: list[int] = []

    @property
    def patterns(self) -> int:
        return len(self._listed) or _MOST_PATTERNS // 4

    def next(
        self, x: Sequence[Any], noise: Floats, rng: np.random.Generator
    ) -> tuple[tuple[Any, ...], dict[int, float]] | None:
        """The next pattern in a random order, with values for its real leaves."""
        at = np.array(x, dtype=np.float64)
        if not self._listed:
            return self.at(at, noise, rng)
        if not self._turn:
            self._turn = rng.permutation(len(self._listed)).tolist()
        path = self._listed[self._turn.pop()]
        return self._read(path, at, noise)

    def _read(
        self, path: Path, x: Floats, noise: Floats
    ) -> tuple[tuple[Any, ...], dict[int, float]]:
        used = {s for form in path.forms for s in form.symbols("indicator")}
        bits = {s: self._holds(self.side.trace.indicators[s], x, noise) for s in used}
        pattern = pattern_of(path, bits)
        numbers = {
            i: self._number(leaf, x, noise, bits)
            for i, leaf in enumerate(path.leaves)
            if isinstance(leaf, Form) and pattern[i] is NUMBER
        }
        return pattern, numbers

    def _number(self, form: Form, x: Floats, noise: Floats, bits: Mapping[Symbol, bool]) -> float:
        total = float(form.constant)
        for symbol, c in form.terms.items():
            if symbol.kind == "noise":
                total += float(c) * noise[self.index[symbol]]
            elif symbol.kind == "input":
                total += float(c) * x[self.inputs[symbol]]
            else:
                total += float(c) * bits[symbol]
        return total

    def _holds(self, truth: Any, x: Floats, noise: Floats) -> bool:
        if truth.condition is not None:
            value = self._number(truth.condition.form, x, noise, {})
            return {
                ">": value > 0,
                ">=": value >= 0,
                "==": value == 0,
                "!=": value != 0,
            }[truth.condition.relation]
        parts = (self._holds(part, x, noise) for part in truth.parts)
        return all(parts) if truth.conjunction else any(parts)

    def at(
        self, x: Floats, noise: Floats, rng: np.random.Generator
    ) -> tuple[tuple[Any, ...], dict[int, float]] | None:
        """The pattern and the real leaves of the output there."""
        ways: list[Path] = []
        chances: list[float] = []
        for path in self.side.trace.paths:
            if all(self._condition(c, x, noise) for c in path.conditions):
                ways.append(path)
                chances.append(math.prod(float(c.probability) for c in path.choices))
        if not ways or not sum(chances) > 0:
            return None
        path = ways[int(rng.choice(len(ways), p=np.array(chances) / sum(chances)))]
        return self._read(path, x, noise)

    def _condition(self, condition: Any, x: Floats, noise: Floats) -> bool:
        value = self._number(condition.form, x, noise, {})
        relation = condition.relation
        if relation == ">":
            return value > 0
        if relation == ">=":
            return value >= 0
        return (value == 0) == (relation == "==")


class ProgramOutcomes:
    """What a program returns: its patterns turn up as it is run."""

    def __init__(self, side: ProgramSide, symbols: Sequence[Symbol]) -> None:
        self.reading = side.reading
        self.index = {s: i for i, s in enumerate(symbols)}

    @property
    def patterns(self) -> int:
        return _MOST_PATTERNS // 4

    def next(
        self, x: Sequence[Any], noise: Floats, rng: np.random.Generator
    ) -> tuple[tuple[Any, ...], dict[int, float]] | None:
        """The output at these inputs and this noise."""
        drawn = {symbol: float(noise[self.index[symbol]]) for symbol in self.reading.noises}
        memory = self.reading.run(np.array(x, dtype=np.float64), drawn)
        return self.reading.pattern(memory)
