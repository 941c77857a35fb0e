"""The smooth objective: an event's indicator on frozen noise, made differentiable.

Figure 8 of the paper: a comparison becomes a sigmoid, an equality a Gaussian bump, `and`, `or`,
`not` become products, and a branch the sum of its ways. All conditions are linear in the noise and
in the variables (see `tape.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpest.attacks.finder.tape import DEFAULT_STEEPNESS, Floats, SmoothTape
from dpest.attacks.statdp.discrete import NUMBER
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.family import Noise
from dpest.reading.paths import Path, Trace


@dataclass(frozen=True)
class LinearInput:
    """constant + coefficients·variables: what an input symbol or an interval's end stands for."""

    coefficients: Floats
    constant: float = 0.0


@dataclass(frozen=True)
class EventShape:
    """A pattern whose intervals have ends that may be variables. `ends[leaf]` = (low, high)."""

    pattern: tuple[Any, ...]
    ends: Mapping[int, tuple[LinearInput | None, LinearInput | None]]


class NotSmoothError(Exception):
    """The trace holds something that has no smooth counterpart; the message says what."""


class SmoothCheck(SmoothTape):
    """P(output in the event) on one input, from the paths of a trace."""

    def __init__(
        self,
        trace: Trace,
        shape: EventShape,
        inputs: Mapping[Symbol, LinearInput],
        symbols: Sequence[Symbol],
        noises: Mapping[Symbol, Noise],
        steepness: float = DEFAULT_STEEPNESS,
    ) -> None:
        size = len(next(iter(inputs.values())).coefficients) if inputs else 0
        super().__init__(len(symbols), size, steepness)
        self._inputs = inputs
        self._columns = {symbol: i for i, symbol in enumerate(symbols)}
        self._noises = noises
        self._indicators = trace.indicators
        ways = [way for path in trace.paths if (way := self._path(path, shape)) is not None]
        self.possible = bool(ways)
        root = self._node("linear", (0.0, tuple((way, 1.0) for way in ways)))
        self._finish(root, range(len(self._tape)))

    def _row(self, form: Form, minus: LinearInput | None) -> tuple[Floats, Floats, float]:
        """A form in noise and variables; its indicators are left to the node's parts."""
        noise = np.zeros(len(self._columns))
        variables = np.zeros(self._variable_count)
        constant = float(form.constant)
        for symbol, coefficient in form.terms.items():
            if symbol.kind == "noise":
                noise[self._columns[symbol]] += float(coefficient)
            elif symbol.kind == "input":
                at = self._inputs[symbol]
                variables += float(coefficient) * at.coefficients
                constant += float(coefficient) * at.constant
            elif symbol.kind != "indicator":
                raise NotSmoothError(f"a {symbol.kind} symbol {symbol} in a condition")
        if minus is not None:
            variables -= minus.coefficients
            constant -= minus.constant
        return noise, variables, constant

    def _scale(self, form: Form) -> float:
        """The spread of the noise in a form: steepness is relative to it."""
        total = 0.0
        for symbol, coefficient in form.part("noise").items():
            total += (float(coefficient) * self._noises[symbol].width) ** 2
        return math.sqrt(total) if 0 < total < math.inf else 1.0

    def _value(self, form: Form, minus: LinearInput | None = None) -> int:
        """A node for a number: a row of noise and inputs, and the indicators in it."""
        bits = tuple(
            (self._truth(self._indicators[s]), float(c)) for s, c in form.part("indicator").items()
        )
        if minus is not None:
            return self._value_node(*self._row(form, minus), bits)
        key = ("value", form)
        if key not in self._known:
            self._known[key] = self._value_node(*self._row(form, None), bits)
        return self._known[key]

    def _condition(self, condition: Condition) -> int:
        known = condition.decided()
        if known is not None:
            return self._node("constant", float(known))
        if condition.relation in ("==", "!="):
            bump = self._node("bump", (self._value(condition.form), self._scale(condition.form)))
            return bump if condition.relation == "==" else self._not(bump)
        return self._above(
            self._value(condition.form), self._scale(condition.form), condition.strict
        )

    def _above(self, value: int, scale: float, strict: bool) -> int:
        return self._node("above", (value, scale, strict))

    def _truth(self, truth: Any) -> int:
        """A formula: a condition, or a conjunction or disjunction of formulas."""
        if truth.condition is not None:
            return self._condition(truth.condition)
        parts = tuple(self._truth(part) for part in truth.parts)
        if truth.conjunction:
            return self._node("product", parts)
        return self._not(self._node("product", tuple(self._not(part) for part in parts)))

    def _path(self, path: Path, shape: EventShape) -> int | None:
        """The node of one way into the event; None if the path never gives it."""
        if len(path.leaves) != len(shape.pattern):
            return None
        factors: list[int] = []
        for place, (leaf, wanted) in enumerate(zip(path.leaves, shape.pattern, strict=True)):
            found = self._leaf(place, leaf, wanted, shape)
            if found is None:
                return None
            factors += found
        for choice in path.choices:
            try:
                factors.append(self._node("constant", float(choice.probability)))
            except TypeError:
                raise NotSmoothError("a draw whose probabilities depend on the input") from None
        factors += [self._condition(c) for c in path.conditions]
        return self._node("product", tuple(dict.fromkeys(factors)))

    def _leaf(self, place: int, leaf: Any, wanted: Any, shape: EventShape) -> list[int] | None:
        if not isinstance(leaf, Form):
            if wanted is not NUMBER:
                same = type(leaf) is type(wanted) and leaf == wanted
                return [] if same else None
            if isinstance(leaf, bool) or not isinstance(leaf, (int, float)):
                return None
            leaf = Form.number(leaf)
        if wanted is NUMBER:
            low, high = shape.ends.get(place, (None, None))
            scale = self._scale(leaf)
            factors = []
            if low is not None:
                factors.append(self._above(self._value(leaf, low), scale, False))
            if high is not None:
                minus = LinearInput(-high.coefficients, -high.constant)
                factors.append(self._above(self._value(leaf.times(-1), minus), scale, True))
            return factors
        bits = list(leaf.symbols("indicator"))
        if any(s.kind != "indicator" for s in leaf.terms) or not isinstance(wanted, (int, float)):
            return None
        target = Form.number(wanted)
        if len(bits) == 1:
            ((symbol, coefficient),) = leaf.terms.items()
            one = (target.constant - leaf.constant) / coefficient
            if one not in (0, 1):
                return None
            truth = self._truth(self._indicators[symbol])
            return [truth if one == 1 else self._not(truth)]
        return [self._node("bump", (self._value(leaf.plus(target, -1)), 1.0))]
