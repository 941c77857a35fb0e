"""A function held against itself: it must not look at which generator it is handed."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.errors import ReplayError
from dpest.reading.calls import caller, fresh, place_of
from dpest.reading.replay import leaf_agrees
from dpest.running.skeleton import flatten


class _Another(np.random.Generator):
    """Draws the same numbers as NumPy's own, and is of another type."""


def check_generator(target: Mechanism, x: Any) -> None:
    """The function must not tell NumPy's own generator from one that stands in for it.

    What takes no generator has none to look at; what it draws elsewhere is its own.
    """
    if target.black_box:
        return

    def output(kind: type[np.random.Generator], seed: int) -> Any:
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
