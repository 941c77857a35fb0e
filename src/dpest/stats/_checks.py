"""Argument checks that the statistics share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def check_alpha(alpha: float) -> None:
    """Refuse an error probability outside (0, 1)."""
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha is an error probability in (0, 1), got {alpha=}")


def check_counts(
    successes: ArrayLike, trials: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Counts as floats, refused unless they are whole and 0 <= successes <= trials."""
    k = np.asarray(successes, dtype=np.float64)
    n = np.asarray(trials, dtype=np.float64)
    if np.any(k < 0) or np.any(k > n):
        raise ValueError(f"counts need 0 <= successes <= trials, got {successes=}, {trials=}")
    if np.any(k != np.floor(k)) or np.any(n != np.floor(n)):
        raise ValueError(f"counts are whole numbers, got {successes=}, {trials=}")
    return k, n
