"""Clopper and Pearson's exact bounds on a binomial probability."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from dpest.stats._checks import check_alpha, check_counts


def lower(successes: ArrayLike, trials: ArrayLike, alpha: float) -> NDArray[np.float64]:
    """Largest p that `successes` or more out of `trials` refute at level `alpha`.

    Assumes independent trials with one probability. Guarantees P(lower <= p) >= 1 - alpha for
    every p and every number of trials. Broadcasts; 0 successes give 0.
    """
    k, n = check_counts(successes, trials)
    check_alpha(alpha)
    safe = np.where(k > 0, k, 1.0)
    return np.where(k > 0, betaincinv(safe, n - safe + 1.0, alpha), 0.0)


def upper(successes: ArrayLike, trials: ArrayLike, alpha: float) -> NDArray[np.float64]:
    """Smallest p that `successes` or fewer out of `trials` refute at level `alpha`.

    Guarantees P(p <= upper) >= 1 - alpha; all successes (or no trials) give 1.
    """
    k, n = check_counts(successes, trials)
    return 1.0 - lower(n - k, n, alpha)


def interval(
    successes: ArrayLike, trials: ArrayLike, alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two-sided interval: both one-sided bounds at alpha/2, so coverage >= 1 - alpha."""
    return lower(successes, trials, alpha / 2), upper(successes, trials, alpha / 2)
