"""Working with a privacy profile δ(ε) that is known only as a function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dpest.errors import DpestError

# Beyond this ε, e^ε is no double and δ(ε) is taken as what is left at infinity.
LARGEST_EPSILON = 700.0
_SEARCH_END = 2.0**40


def invert(delta_of_epsilon: Callable[[Any], Any], delta: float) -> float:
    """The least ε ≥ 0 with δ(ε) ≤ delta, rounded upwards to the next point of a bisection.

    The profile must not increase, and must accept ε = ∞, which alone decides an infinite answer.
    The answer satisfies δ(ε) ≤ delta as computed, and is within a relative 1e-14 of the least such
    ε.
    """

    def within(epsilon: float) -> bool:
        return float(delta_of_epsilon(epsilon)) <= delta

    if within(0.0):
        return 0.0
    if not within(math.inf):
        return math.inf
    high = 1.0
    while not within(high):
        high *= 2
        if high > _SEARCH_END:
            raise DpestError(
                f"no ε up to {_SEARCH_END:g} has δ(ε) ≤ {delta:g}, though δ(∞) does: "
                "the profile can't be resolved that far out"
            )
    low = 0.0
    while high - low > 1e-14 * high and high > 1e-300:
        middle = (low + high) / 2
        low, high = (low, middle) if within(middle) else (middle, high)
    return high
