"""Upper bounds on the probability of a path, for deciding what may stay unexplored."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from dpest.geometry.linear import Condition, Symbol
from dpest.noise.family import Noise
from dpest.noise.parameters import is_number

_CELLS = 256
_ROUNDING = 1 + 1e-9  # pays for the floating-point error of the sums below


class TakenOutcome(Protocol):
    """A draw of which one outcome was taken."""

    @property
    def probability(self) -> Any: ...


def mass_bound(
    conditions: Sequence[Condition],
    choices: Sequence[TakenOutcome],
    noises: Mapping[Symbol, Noise],
) -> float:
    """At least the probability of all conditions and choices together; at most 1.

    Conditions without common noises are independent: their bounds multiply. Of conditions that
    share a noise, single-noise ones are met as one interval, and of the others those are used
    that can be without sharing a noise twice. Conditions on inputs, or on more than two noises,
    count as 1.
    """
    bound = 1.0
    for choice in choices:
        if is_number(choice.probability):
            bound *= float(choice.probability)
    bounds: dict[Symbol, tuple[float, float]] = {}
    pairs: list[Condition] = []
    for condition in conditions:
        terms = condition.form.terms
        if not terms or any(s not in noises for s in terms):
            continue
        if len(terms) == 1:
            ((symbol, slope),) = terms.items()
            low, high = bounds.get(symbol, (-math.inf, math.inf))
            border = float(-condition.form.constant / slope)
            if condition.relation == "==":
                low, high = max(low, border), min(high, border)
            elif condition.relation != "!=":
                low, high = (max(low, border), high) if slope > 0 else (low, min(high, border))
            bounds[symbol] = (low, high)
        elif len(terms) == 2:
            pairs.append(condition)
    used: set[Symbol] = set()
    for condition in pairs:
        first, second = condition.form.terms
        if condition.relation in (">", ">=") and not used & {first, second}:
            chance = _pair(condition, noises)
            if chance < 0.999:
                used |= {first, second}
                bound *= chance
    for symbol, (low, high) in bounds.items():
        if symbol not in used:
            bound *= _interval(noises[symbol], low, high)
    return min(1.0, bound * _ROUNDING)


def interval_mass(noise: Noise, conditions: Sequence[Condition]) -> float | None:
    """P(all conditions) for bounds (> or >=) on one noise; None for symbolic parameters."""
    low, high = -math.inf, math.inf
    for condition in conditions:
        ((_, slope),) = condition.form.terms.items()
        border = -condition.form.constant / slope
        if noise.discrete:
            # As a closed bound on the integers.
            if slope > 0:
                low = max(low, _above(border, condition.strict))
            else:
                high = min(high, -_above(-border, condition.strict))
        elif slope > 0:
            low = max(low, float(border))
        else:
            high = min(high, float(border))
    if low > high:
        return 0.0
    try:
        above = float(noise.sf(low - 1 if noise.discrete else low)) if low > -math.inf else 1.0
        below = float(noise.cdf(high)) if high < math.inf else 1.0
        if high == math.inf or low == -math.inf:
            return min(above, below)
        # The smaller tail, so that nothing cancels.
        if above < below:
            return max(0.0, above - float(noise.sf(high)))
        return max(0.0, below - float(noise.cdf(low - 1 if noise.discrete else low)))
    except (TypeError, ValueError):
        return None


def _above(border: Fraction, strict: bool) -> float:
    """The least integer that is at least (more than) the border."""
    return float(math.floor(border) + 1 if strict else math.ceil(border))


@functools.lru_cache(maxsize=65536)
def _interval(noise: Noise, low: float, high: float) -> float:
    """P(low ≤ noise ≤ high), both ends counted."""
    try:
        step = 1 if noise.discrete else 0
        above = 1.0 if math.isinf(low) else float(noise.sf(math.ceil(low) - 1 if step else low))
        below = 1.0 if math.isinf(high) else float(noise.cdf(high))
    except (TypeError, ValueError):  # symbolic parameters
        return 1.0
    return min(above, below, max(0.0, above + below - 1) + 1e-15)


def _pair(condition: Condition, noises: Mapping[Symbol, Noise]) -> float:
    """P(a·X + b·Y + c ≥ 0) from above: X by cells of equal probability, at their worse ends."""
    (first, a), (second, b) = condition.form.terms.items()
    x, y = noises[first], noises[second]
    try:
        ends = np.asarray(x.quantile(np.linspace(0, 1, _CELLS + 1)), dtype=float)
        border = -(float(condition.form.constant) + float(a) * ends) / float(b)
        if b > 0:  # Y ≥ border
            chances = np.asarray(y.sf(np.ceil(border) - 1 if y.discrete else border), dtype=float)
        else:
            chances = np.asarray(y.cdf(border), dtype=float)
    except (TypeError, ValueError):
        return 1.0
    chances = np.nan_to_num(chances, nan=1.0)
    return float(np.mean(np.maximum(chances[:-1], chances[1:])))
