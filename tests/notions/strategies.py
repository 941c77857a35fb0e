"""What Hypothesis draws for the tests of notions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st


@st.composite
def distributions(draw: Any, size: int = 4, positive: bool = False) -> list[Fraction]:
    """A distribution on `size` outcomes with small rational probabilities."""
    low = 1 if positive else 0
    counts = draw(st.lists(st.integers(low, 50), min_size=size, max_size=size).filter(sum))
    return [Fraction(c, sum(counts)) for c in counts]


@st.composite
def channels(draw: Any, size: int = 4, out: int = 3) -> Any:
    """A stochastic matrix."""
    return np.array([[float(x) for x in draw(distributions(out))] for _ in range(size)])
