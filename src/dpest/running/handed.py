"""NumPy's generator behind another type, to see whether a function looks at the type."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpest.noise.family import Noise


class Handed:
    """Hands on what a generator draws: the same numbers from an object of another type."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)

    def draw_noise(self, noise: Noise, size: Any = None) -> Any:
        return noise.sample(self._generator, size)
