"""Runs of the untouched function with given values for its noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from dpest.noise.family import Noise
from dpest.reading.answering import AnsweringGenerator


class FixedRun:
    """Answers every draw with a number of the caller's; decides nothing, as nothing is open."""

    def __init__(
        self,
        value: Callable[[int, Noise], Any],
        outcome: Callable[[int, Noise, Sequence[tuple[Any, Any]]], Any],
    ) -> None:
        self._value = value
        self._outcome = outcome
        self.draws = 0
        self.chosen = 0

    def draw(self, noise: Noise) -> Any:
        constant = getattr(noise, "constant", None)
        if constant is not None:
            return constant
        self.draws += 1
        return self._value(self.draws - 1, noise)

    def outcome(self, noise: Noise, outcomes: Sequence[tuple[Any, Any]]) -> Any:
        self.draws += 1
        self.chosen += 1
        return self._outcome(self.chosen - 1, noise, outcomes)


def at_centre() -> AnsweringGenerator:
    """A generator without noise: each draw is the centre of its distribution.

    0 for noise that is added (Laplace, Gaussian, Gumbel, exponential and their integer kin), the
    middle for uniform draws, the likeliest outcome for finite ones.
    """
    return AnsweringGenerator(FixedRun(lambda _, noise: centre(noise), _likeliest))


def centre(noise: Noise) -> Any:
    low, high = noise.support
    if noise.family == "bernoulli":
        return 1 if noise.mean > 0.5 else 0
    if math.isfinite(low) and math.isfinite(high):
        middle = noise.mean
        return round(middle) if noise.discrete else middle
    if low <= 0 <= high:
        return 0 if noise.discrete else 0.0
    nearest = low if low > 0 else high
    return int(nearest) if noise.discrete else nearest


def _likeliest(_: int, noise: Noise, outcomes: Sequence[tuple[Any, Any]]) -> Any:
    return max(outcomes, key=lambda pair: float(pair[1]))[0]
