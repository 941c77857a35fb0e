"""StatDP's randomised conditional test of p1 <= e^epsilon * p2 (Ding et al., CCS 2018).

Thin the first count: c1' ~ binomial(c1, e^-epsilon) is binomial(n1, p1 e^-epsilon). Under the
hypothesis its probability is at most p2, and given c1' + c2 the tail of c1' is at most a
hypergeometric one. One thinning gives an exactly valid p-value whatever p1 and p2 are.

A mean over several thinnings is steadier but no longer a p-value by itself: if every p-value is
valid, twice their mean is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpest.stats import binomial
from dpest.stats._checks import check_counts


def fisher_p_value(c1: int, n1: int, c2: int, n2: int) -> float:
    """One-sided exact p-value of p1 <= p2: P(X >= c1) given c1 + c2 (Fisher's exact test)."""
    check_counts([c1, c2], [n1, n2])
    return binomial.hypergeometric_upper_tail(c1, n1 + n2, n1, c1 + c2)


def randomised_p_value(
    c1: int,
    n1: int,
    c2: int,
    n2: int,
    epsilon: float,
    rng: np.random.Generator,
    thinnings: int = 1,
) -> float:
    """Mean of the conditional test's p-value of p1 <= e^epsilon * p2 over `thinnings` draws.

    Assumes independent runs. With one thinning: P(p-value <= a) <= a for every a under the
    hypothesis. With more: P(mean <= a) <= 2a.
    """
    check_counts([c1, c2], [n1, n2])
    if thinnings < 1:
        raise ValueError(f"the test needs at least one thinning, got {thinnings=}")
    if epsilon < 0.0:
        raise ValueError(f"epsilon is not negative, got {epsilon=}")
    kept, times = np.unique(
        rng.binomial(c1, math.exp(-epsilon), size=thinnings), return_counts=True
    )
    if len(kept) == 1:
        return fisher_p_value(int(kept[0]), n1, c2, n2)
    if c2 == n2:
        return 1.0
    start = int(kept[0])
    losses = np.concatenate([w for _, w in _tail_losses(start, n1, c2, n2)])
    tails = np.cumsum(losses[::-1])[::-1]
    return float(np.dot(np.minimum(tails[kept - start], 1.0), times) / thinnings)


def _tail_losses(
    start: int, n1: int, c2: int, n2: int
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Blocks of (j, w(j)) from j = `start`, until the rest no longer counts.

    The tail T(c) = P(X >= c | c + c2) loses w(c) = P(X = c | c + c2) (n2 - c2)/(n1 + n2 - c - c2)
    when c grows by one: the probability that exactly c good items come before the (c2+1)-th bad
    one. So T(c) is the sum of w(j) over j >= c, positive terms only.
    """
    total, block, seen = n1 + n2, 8192, 0.0
    mode = (c2 + 1) * n1 / n2
    while start <= n1:
        j = np.arange(start, min(start + block, n1 + 1), dtype=np.float64)
        w = np.exp(binomial.hypergeometric_log_pmf(j, total, n1, j + c2)) * (
            (n2 - c2) / (total - j - c2)
        )
        yield j, w
        seen += float(w.sum())
        # Past the mode the terms fall faster and faster.
        if j[-1] > mode and w[-1] <= 1e-18 * seen:
            return
        start, block = start + block, 2 * block


def expected_p_value(c1: int, n1: int, c2: int, n2: int, epsilon: float) -> float:
    """The exact mean of the randomised p-value over all thinnings; no randomness left.

    P(expected <= a) <= 2a under the hypothesis. It is what StatDP's repeated draws estimate.
    """
    check_counts([c1, c2], [n1, n2])
    if epsilon < 0.0:
        raise ValueError(f"epsilon is not negative, got {epsilon=}")
    if epsilon == 0.0:
        return fisher_p_value(c1, n1, c2, n2)
    keep = math.exp(-epsilon)
    if c2 == n2:
        return 1.0
    # Mean over c1' of sum over j >= c1' of w(j) = sum over j of w(j) P(c1' <= j). Forty standard
    # deviations below the mean of c1' that probability is below 1e-300.
    spread = math.sqrt(c1 * keep * (1.0 - keep)) + 1.0
    start = max(0, math.floor(c1 * keep - 40.0 * spread))
    value = 0.0
    for j, w in _tail_losses(start, n1, c2, n2):
        value += float(np.dot(w, binomial.lower_tail(np.minimum(j, c1), c1, keep)))
    return min(1.0, value)


def both_sides(
    c1: int,
    n1: int,
    c2: int,
    n2: int,
    epsilon: float,
    rng: np.random.Generator | None = None,
    thinnings: int = 1,
) -> tuple[float, float]:
    """The two one-sided p-values: of p1 <= e^epsilon p2, and of p2 <= e^epsilon p1.

    Without `rng` these are the exact means of `expected_p_value`.
    """
    if rng is None:
        return (
            expected_p_value(c1, n1, c2, n2, epsilon),
            expected_p_value(c2, n2, c1, n1, epsilon),
        )
    return (
        randomised_p_value(c1, n1, c2, n2, epsilon, rng, thinnings),
        randomised_p_value(c2, n2, c1, n1, epsilon, rng, thinnings),
    )
