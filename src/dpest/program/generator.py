"""The symbolic generator: what a traced function gets for `numpy.random.Generator`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpest.noise import Exponential, Gaussian, Gumbel, Laplace, Uniform
from dpest.noise.family import Noise


class SymbolicGenerator:
    def __init__(self, run: Any) -> None:
        self.run = run

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return loc + self.run.draw(Laplace(scale))
