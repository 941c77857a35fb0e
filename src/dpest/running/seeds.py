"""Streams of randomness: one independent stream per block of runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Seed = int | Sequence[int] | np.random.SeedSequence


def block_seed(seed: Seed, *block: int) -> np.random.SeedSequence:
    """The seed of one block: the same whatever the other blocks are and wherever they run."""
    if isinstance(seed, np.random.SeedSequence):
        return np.random.SeedSequence(
            seed.entropy, spawn_key=(*seed.spawn_key, *block), pool_size=seed.pool_size
        )
    return np.random.SeedSequence(seed, spawn_key=block)


def generator_of(seed: np.random.SeedSequence) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(seed))
