"""Working with a privacy profile δ(ε) that is known only as a function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

# Beyond this ε, e^ε is no double and δ(ε) is taken as what is left at infinity.
LARGEST_EPSILON = 700.0


def invert(delta_of_epsilon: Callable[[Any], Any], delta: float) -> float:
    """The least ε ≥ 0 with δ(ε) ≤ delta, rounded upwards to the next point of a bisection.

    The profile must not increase. The answer ε satisfies δ(ε) ≤ delta as computed, and is within
    a relative 1e-14 of the least such ε.
    """

    def within(epsilon: float) -> bool:
        return float(delta_of_epsilon(epsilon)) <= delta

    if within(0.0):
        return 0.0
    high = 1.0
    while not within(high):
        if high >= LARGEST_EPSILON:
            return math.inf
        high = min(2 * high, LARGEST_EPSILON)
    low = 0.0
    while high - low > 1e-14 * high and high > 1e-300:
        middle = (low + high) / 2
        low, high = (low, middle) if within(middle) else (middle, high)
    return high
