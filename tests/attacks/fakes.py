"""Vectorised samplers for tests: fast, and independent of the batch reading."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.running.samples import Samples, SkeletonGroup
from dpest.running.skeleton import Leaf, Nest


class ArraySampler:
    """Outputs from a function (x, size, rng) -> array of numbers or rows of numbers."""

    def __init__(self, function: Callable[[Any, int, np.random.Generator], np.ndarray]) -> None:
        self._function = function

    def draw(self, x: Any, size: int, seed: int) -> Samples:
        values = self._function(x, size, np.random.default_rng(seed))
        kind = {"f": "float", "i": "int", "b": "bool"}[values.dtype.kind]
        rows = np.arange(size)
        if values.ndim == 1:
            return Samples(size, [SkeletonGroup(Leaf(kind), rows, (values,))])
        leaves = (Leaf(kind),) * values.shape[1]
        columns = tuple(np.ascontiguousarray(c) for c in values.T)
        return Samples(
            size, [SkeletonGroup(Nest("array", (values.shape[1],), leaves), rows, columns)]
        )

    def notes(self) -> tuple[str, ...]:
        return ()


def laplace(epsilon: float) -> ArraySampler:
    return ArraySampler(lambda x, n, rng: x + rng.laplace(scale=1 / epsilon, size=n))


def randomised_response(epsilon: float) -> ArraySampler:
    keep = np.exp(epsilon) / (1 + np.exp(epsilon))
    return ArraySampler(lambda x, n, rng: (rng.random(n) < keep) == bool(x))


def gaussian(sigma: float) -> ArraySampler:
    return ArraySampler(lambda x, n, rng: x + rng.normal(scale=sigma, size=n))
