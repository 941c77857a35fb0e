"""Runs of the untouched function with given values for its noise, or with another generator."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.errors import ReplayError
from dpest.noise.family import Noise
from dpest.reading.answering import AnsweringGenerator
from dpest.reading.calls import caller, fresh, place_of
from dpest.reading.replay import leaf_agrees
from dpest.reading.scripted import ScriptStage, StandIns
from dpest.running.skeleton import flatten


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


class _Another(np.random.Generator):
    """Draws the same numbers as NumPy's own, and is of another type."""


def check_generator(target: Mechanism, x: Any) -> None:
    """The function must not tell NumPy's own generator from one that stands in for it."""
    elsewhere = StandIns(ScriptStage(), target.function)  # it may draw from others, too

    def output(kind: type[np.random.Generator], seed: int) -> Any:
        with elsewhere.drawing(np.random.Generator(np.random.PCG64(seed + 2))):
            try:
                return flatten(caller(target)(fresh(x), kind(np.random.PCG64(seed))))
            except Exception as error:
                return type(error)

    for seed in range(2):
        first, second = output(np.random.Generator, seed), output(_Another, seed)
        alike = type(first) is type(second) and (
            first is second
            if isinstance(first, type)
            else first[0] == second[0]
            and all(leaf_agrees(a, b) for a, b in zip(first[1], second[1], strict=True))
        )
        if not alike:
            raise ReplayError(
                "the function behaves differently with NumPy's own generator than with another "
                "that draws the same numbers",
                "it must draw from `rng` whatever its type, and depend on nothing but its input, "
                "its parameters and `rng`",
                place_of(target.function),
            )
