"""The smooth objective: an event's indicator on frozen noise, made differentiable.

Figure 8 of the paper: a comparison becomes a sigmoid, an equality a Gaussian bump, `and`, `or`,
`not` become products, and a branch the sum of its ways. All conditions are linear in the noise and
in the variables, so the noise part of each is one fixed column; a value and its gradient cost a
few vector operations. Gradients are exact, by the chain rule backwards through the nodes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dpest.attacks.statdp.discrete import NUMBER
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.family import Noise
from dpest.reading.paths import Path, Trace

Floats = NDArray[np.float64]

DEFAULT_STEEPNESS = 50.0


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


class SmoothCheck:
    """P(output in the event) on one input, as a smooth function of the variables.

    `noise` holds one row per frozen sample, columns as in `symbols`; `weights` sum to one.
    """

    def __init__(
        self,
        trace: Trace,
        shape: EventShape,
        inputs: Mapping[Symbol, LinearInput],
        symbols: Sequence[Symbol],
        noises: Mapping[Symbol, Noise],
        steepness: float = DEFAULT_STEEPNESS,
    ) -> None:
        self._inputs = inputs
        self._columns = {symbol: i for i, symbol in enumerate(symbols)}
        self._noises = noises
        self._indicators = trace.indicators
        self._size = len(next(iter(inputs.values())).coefficients) if inputs else 0
        self.steepness = steepness
        self._rows: list[tuple[Floats, Floats, float]] = []
        self._nodes: list[tuple[str, Any]] = []
        self._known: dict[Any, int] = {}
        ways = [way for path in trace.paths if (way := self._path(path, shape)) is not None]
        self._root = self._node("sum", (None, tuple(ways)))
        self.possible = bool(ways)
        count = len(self._rows)
        self._from_noise = np.array([row[0] for row in self._rows]).reshape(count, len(symbols))
        self._from_variables = np.array([row[1] for row in self._rows]).reshape(count, self._size)
        self._constants = np.array([row[2] for row in self._rows])
        self._frozen: Floats = np.zeros((count, 0))  # a row a condition, a column a sample
        self._weights: Floats = np.zeros(0)

    @property
    def size(self) -> int:
        return len(self._nodes)

    @property
    def sharp(self) -> bool:
        """Comparisons are sigmoids here."""
        return False

    # --- building -----------------------------------------------------------------------------

    def _node(self, kind: str, content: Any) -> int:
        key = (kind, content)
        if key not in self._known:
            self._known[key] = len(self._nodes)
            self._nodes.append((kind, content))
        return self._known[key]

    def _row(self, form: Form, minus: LinearInput | None = None) -> int:
        noise = np.zeros(len(self._columns))
        variables = np.zeros(self._size)
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
        self._rows.append((noise, variables, constant))
        return len(self._rows) - 1

    def _scale(self, form: Form) -> float:
        """The spread of the noise in a form: steepness is relative to it."""
        total = 0.0
        for symbol, coefficient in form.part("noise").items():
            variance = float(self._noises[symbol].variance)
            total += float(coefficient) ** 2 * variance
        return math.sqrt(total) if 0 < total < math.inf else 1.0

    def _value(self, form: Form, minus: LinearInput | None = None) -> int:
        """A node for a number: a row of noise and inputs, and the indicators in it."""
        bits = tuple(
            (self._truth(self._indicators[s]), float(c)) for s, c in form.part("indicator").items()
        )
        if minus is not None:
            self._nodes.append(("value", (self._row(form, minus), bits)))
            return len(self._nodes) - 1
        key = ("value", form)
        if key not in self._known:
            self._known[key] = len(self._nodes)
            self._nodes.append(("value", (self._row(form), bits)))
        return self._known[key]

    def _condition(self, condition: Condition) -> int:
        known = condition.decided()
        if known is not None:
            return self._node("constant", float(known))
        if condition.relation in ("==", "!="):
            bump = self._node("bump", (self._value(condition.form), self._scale(condition.form)))
            return bump if condition.relation == "==" else self._node("not", bump)
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
        return self._node(
            "not", self._node("product", tuple(self._node("not", part) for part in parts))
        )

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
            return [truth if one == 1 else self._node("not", truth)]
        return [self._node("bump", (self._value(leaf.plus(target, -1)), 1.0))]

    # --- evaluating ---------------------------------------------------------------------------

    def freeze(self, noise: Floats, weights: Floats | None = None) -> None:
        """Fix the noise: the same rows for every later call."""
        self._frozen = self._from_noise @ noise.T
        self._weights = np.full(len(noise), 1 / len(noise)) if weights is None else weights

    def _rows_at(self, variables: Floats) -> Floats:
        return self._frozen + (self._from_variables @ variables + self._constants)[:, None]

    def _forward(self, rows: Floats, hard: bool) -> list[Any]:
        values: list[Any] = []
        for kind, content in self._nodes:
            if kind == "constant":
                value: Any = content
            elif kind == "value":
                row, bits = content
                value = rows[row]
                for bit, coefficient in bits:
                    value = value + coefficient * values[bit]
            elif kind == "above":
                node, scale, strict = content
                inner = values[node]
                if hard:
                    value = (inner > 0 if strict else inner >= 0).astype(np.float64)
                else:
                    value = expit(self.steepness / scale * inner)
            elif kind == "bump":
                node, scale = content
                inner = values[node]
                if hard:
                    value = (np.abs(inner) < 1e-9 * scale).astype(np.float64)
                else:
                    value = np.exp(-self.steepness * (inner / scale) ** 2)
            elif kind == "not":
                value = 1.0 - values[content]
            elif kind == "product":
                value = 1.0
                for part in content:
                    value = value * values[part]
            else:
                value = 0.0
                for part in content[1]:
                    value = value + values[part]
            values.append(value)
        return values

    def hard(self, variables: Floats) -> NDArray[np.bool_]:
        """The true indicator on every frozen sample."""
        found = self._forward(self._rows_at(variables), hard=True)[self._root]
        return np.broadcast_to(np.asarray(found) > 0.5, len(self._weights))

    def value(self, variables: Floats) -> float:
        found = self._forward(self._rows_at(variables), hard=False)[self._root]
        return float(np.dot(self._weights, np.broadcast_to(found, len(self._weights))))

    def hard_value(self, variables: Floats) -> float:
        return float(np.dot(self._weights, self.hard(variables)))

    def value_and_gradient(self, variables: Floats) -> tuple[float, Floats]:
        """The smooth probability and its derivative in every variable."""
        values = self._forward(self._rows_at(variables), hard=False)
        size = len(self._weights)
        total = float(np.dot(self._weights, np.broadcast_to(values[self._root], size)))
        slopes: list[Any] = [None] * len(values)
        slopes[self._root] = self._weights
        row_slopes = np.zeros(len(self._rows))
        for i in range(len(self._nodes) - 1, -1, -1):
            slope = slopes[i]
            if slope is None:
                continue
            kind, content = self._nodes[i]
            if kind == "value":
                row, bits = content
                row_slopes[row] += float(np.sum(slope))
                for bit, coefficient in bits:
                    _add(slopes, bit, coefficient * slope)
            elif kind == "above":
                node, scale, _ = content
                _add(slopes, node, slope * values[i] * (1 - values[i]) * (self.steepness / scale))
            elif kind == "bump":
                node, scale = content
                inner = values[node] / scale
                _add(slopes, node, slope * values[i] * (-2 * self.steepness / scale) * inner)
            elif kind == "not":
                _add(slopes, content, -slope)
            elif kind == "product":
                spread(slopes, slope, content, values)
            elif kind == "sum":
                for part in content[1]:
                    _add(slopes, part, slope)
        return total, row_slopes @ self._from_variables


def _add(slopes: list[Any], node: int, slope: Any) -> None:
    slopes[node] = slope if slopes[node] is None else slopes[node] + slope


def spread(slopes: list[Any], slope: Any, parts: Sequence[int], values: Sequence[Any]) -> None:
    """The slopes of a product's factors, by the products before and after each: zeros are fine."""
    if not parts:
        return
    after: list[Any] = [1.0]
    for part in reversed(parts[1:]):
        after.append(after[-1] * values[part])
    before: Any = slope
    for part, rest in zip(parts, reversed(after), strict=True):
        _add(slopes, part, before * rest)
        before = before * values[part]
