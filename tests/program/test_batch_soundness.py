"""A batch never differs from plain runs, whatever the function does.

Statistical comparisons fail by chance with probability below 1e-6; seeds are fixed.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from dpest.program.batch import batch

# Randomness that does not come from rng


def test_randomness_of_the_standard_library_is_found() -> None:
    def coin(x: Any, rng: Any) -> Any:
        return random.random() < 0.3

    before = random.getstate()
    samples = batch(coin, 0, 20_000, 3)
    assert abs(Counter(samples.to_list())[True] - 6_000) < 330
    assert "randomness or memory of its own" in samples.notes[0]
    assert random.getstate() == before


@pytest.mark.parametrize("size", [60, 20_000])
def test_global_randomness_on_a_rare_path_is_found(size: int) -> None:
    def rare(x: Any, rng: Any) -> Any:
        if rng.random() < 0.2:
            return np.random.random() < 0.5  # noqa: NPY002
        return None

    samples = batch(rare, 0, size, 3)
    counts = Counter(samples.to_list())
    assert "randomness or memory of its own" in samples.notes[0]
    assert counts[True] > 0
    assert counts[False] > 0
    assert samples.to_list() == batch(rare, 0, size, 3).to_list()
