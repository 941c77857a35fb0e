"""A chance as a tape of array operations on frozen noise: its value, and its exact gradient.

Whoever builds it reduces an event to a few kinds of nodes, each named by its number on the tape:

- `value` (row, parts): a row that is linear in noise and variables, plus Σ factor·node;
- `constant`; `linear` (constant, parts): constant + Σ factor·node; `product` (nodes);
- `above` (node, scale, strict): whether a number is positive, a sigmoid where it is smooth;
- `bump` (node, scale): whether a number is zero, a Gaussian bump where it is smooth.

The noise part of every row is one fixed column, so a value and its gradient cost a few vector
operations. Gradients come by the chain rule, backwards on the tape.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dpest.noise.family import Noise

Floats = NDArray[np.float64]

DEFAULT_STEEPNESS = 50.0


class SmoothTape:
    """P(output in an event) on one input, smooth in the variables."""

    def __init__(self, noises: int, variables: int, steepness: float = DEFAULT_STEEPNESS) -> None:
        self.steepness = steepness
        self.possible = True
        self._noise_count, self._variable_count = noises, variables
        self._rows: list[tuple[Floats, Floats, float]] = []
        self._tape: list[tuple[str, Any]] = []
        self._known: dict[Any, int] = {}
        self._root = -1
        self._live: Sequence[int] = ()
        # Comparisons with a noise that occurs nowhere else: its column, the noise, its factor.
        self._chances: dict[int, tuple[int, Noise, float]] = {}
        self._own: dict[int, Floats] = {}
        self._from_noise = self._from_variables = self._frozen = np.zeros((0, 0))
        self._constants = self._weights = np.zeros(0)

    # --- building -----------------------------------------------------------------------------

    def _node(self, kind: str, content: Any) -> int:
        key = (kind, content)
        if key not in self._known:
            self._known[key] = len(self._tape)
            self._tape.append((kind, content))
        return self._known[key]

    def _value_node(
        self,
        noise: Floats,
        variables: Floats,
        constant: float,
        parts: tuple[tuple[int, float], ...] = (),
    ) -> int:
        """A node of its own for a row, also where an equal one exists."""
        self._rows.append((noise, variables, constant))
        self._tape.append(("value", (len(self._rows) - 1, parts)))
        return len(self._tape) - 1

    def _not(self, node: int) -> int:
        return self._node("linear", (1.0, ((node, -1.0),)))

    def _finish(self, root: int, live: Sequence[int]) -> None:
        """The chance is that of `root`; only the `live` nodes are computed, in their order."""
        self._root, self._live = root, live
        count = len(self._rows)
        self._from_noise = np.array([r[0] for r in self._rows]).reshape(count, self._noise_count)
        self._from_variables = np.array([r[1] for r in self._rows]).reshape(
            count, self._variable_count
        )
        self._constants = np.array([r[2] for r in self._rows])
        self._frozen = np.zeros((count, 0))  # a row a condition, a column a sample

    # --- evaluating ---------------------------------------------------------------------------

    @property
    def size(self) -> int:
        return len(self._live)

    @property
    def samples(self) -> int:
        return len(self._weights)

    @property
    def sharp(self) -> bool:
        """Whether every comparison is integrated over a noise of its own: nothing is blurred."""
        truths = [i for i in self._live if self._tape[i][0] in ("above", "bump")]
        return bool(truths) and all(i in self._chances for i in truths)

    def freeze(self, noise: Floats, weights: Floats | None = None) -> None:
        """Fix the noise, a row a sample: the same for every later call. Weights sum to one."""
        self._frozen = self._from_noise @ noise.T
        self._own = {i: factor * noise[:, k] for i, (k, _, factor) in self._chances.items()}
        self._weights = np.full(len(noise), 1 / len(noise)) if weights is None else weights

    @contextmanager
    def frozen_at(self, noise: Floats) -> Iterator[None]:
        """Other noise for a while."""
        kept = self._frozen, self._own, self._weights
        self.freeze(noise)
        try:
            yield
        finally:
            self._frozen, self._own, self._weights = kept

    def hard(self, variables: Floats) -> NDArray[np.bool_]:
        """The true indicator on every frozen sample."""
        found = self._forward(variables, hard=True)[self._root]
        return np.broadcast_to(np.asarray(found) > 0.5, len(self._weights))

    def value(self, variables: Floats) -> float:
        found = self._forward(variables, hard=False)[self._root]
        return float(np.dot(self._weights, np.broadcast_to(found, len(self._weights))))

    def hard_value(self, variables: Floats) -> float:
        """The chance of the event on the frozen noise, as exactly as that gives it."""
        if self.sharp:
            return self.value(variables)
        return float(np.dot(self._weights, self.hard(variables)))

    def value_and_gradient(self, variables: Floats) -> tuple[float, Floats]:
        """The smooth probability and its derivative in every variable, backwards on the tape."""
        values = self._forward(variables, hard=False)
        size = len(self._weights)
        total = float(np.dot(self._weights, np.broadcast_to(values[self._root], size)))
        slopes: list[Any] = [None] * len(values)
        slopes[self._root] = self._weights
        row_slopes = np.zeros(len(self._rows))
        for i in reversed(self._live):
            if slopes[i] is not None:
                self._backward(i, values, slopes, row_slopes)
        return total, row_slopes @ self._from_variables

    def _forward(self, variables: Floats, hard: bool) -> list[Any]:
        rows = self._frozen + (self._from_variables @ variables + self._constants)[:, None]
        values: list[Any] = [None] * len(self._tape)
        for i in self._live:
            kind, content = self._tape[i]
            if kind in ("value", "linear"):
                value: Any = rows[content[0]] if kind == "value" else content[0]
                for node, factor in content[1]:
                    value = value + factor * values[node]
            elif kind == "constant":
                value = content
            elif kind == "product":
                value = 1.0
                for node in content:
                    value = value * values[node]
            elif i in self._chances and not hard:
                _, noise, factor = self._chances[i]
                at = (self._own[i] - values[content[0]]) / factor
                value = noise.sf(at) if factor > 0 else noise.cdf(at)
            else:
                value = self._compared(kind, content, values, hard)
            values[i] = value
        return values

    def _compared(self, kind: str, content: Any, values: Sequence[Any], hard: bool) -> Any:
        inner, scale = values[content[0]], content[1]
        if kind == "above":
            if hard:
                return np.asarray(inner > 0 if content[2] else inner >= 0, dtype=np.float64)
            return expit(self.steepness / scale * inner)
        if hard:
            return np.asarray(np.abs(inner) < 1e-9 * scale, dtype=np.float64)
        return np.exp(-self.steepness * (inner / scale) ** 2)

    def _backward(
        self, i: int, values: Sequence[Any], slopes: list[Any], row_slopes: Floats
    ) -> None:
        """What the slope of one node means for those that it is made of."""
        kind, content = self._tape[i]
        slope = slopes[i]
        if kind in ("value", "linear"):
            if kind == "value":
                row_slopes[content[0]] += float(np.sum(slope))
            for node, factor in content[1]:
                _add(slopes, node, factor * slope)
        elif kind == "product":
            _spread(slopes, slope, content, values)
        elif i in self._chances:
            _, noise, factor = self._chances[i]
            at = (self._own[i] - values[content[0]]) / factor
            _add(slopes, content[0], slope * noise.density(at) / abs(factor))
        elif kind == "above":
            node, scale, _ = content
            _add(slopes, node, slope * values[i] * (1 - values[i]) * (self.steepness / scale))
        elif kind == "bump":
            node, scale = content
            inner = values[node] / scale
            _add(slopes, node, slope * values[i] * (-2 * self.steepness / scale) * inner)


def _add(slopes: list[Any], node: int, slope: Any) -> None:
    slopes[node] = slope if slopes[node] is None else slopes[node] + slope


def _spread(slopes: list[Any], slope: Any, parts: Sequence[int], values: Sequence[Any]) -> None:
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
