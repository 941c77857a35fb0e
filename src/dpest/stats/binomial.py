"""Binomial and hypergeometric probabilities that stay accurate at counts of 10^7 and more.

The usual differences of log-gamma functions lose eight digits there. Loader's saddle-point
form (C. Loader, "Fast and accurate computation of binomial probabilities", 2000) does not:
every term is small where the probability is not.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, gammaln, xlog1py

Floats = NDArray[np.float64]


def _stirling_error(n: Floats) -> Floats:
    """log(n!) - log(sqrt(2 pi n) (n/e)^n) for n >= 1; 0 where n is 0."""
    safe = np.where(n > 0, n, 1.0)
    square = 1.0 / (safe * safe)
    series = (
        1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - square / 1188.0) * square) * square)
        * square
    ) / safe
    direct = gammaln(safe + 1.0) - (0.5 * np.log(2.0 * math.pi * safe) + safe * np.log(safe) - safe)
    return np.where(n <= 0, 0.0, np.where(n < 16, direct, series))


def _deviance(x: Floats, mean: Floats) -> Floats:
    """x log(x/mean) + mean - x, without cancellation where x is close to mean."""
    near = np.abs(x - mean) < 0.1 * (x + mean)
    v = np.where(near, (x - mean) / np.where(x + mean > 0, x + mean, 1.0), 0.0)
    # 2 x (v + v^3/3 + v^5/5 + ...) - (x - mean) = (x - mean) v + 2 x (v^3/3 + v^5/5 + ...)
    total = (x - mean) * v
    power = 2.0 * x * v
    for k in range(3, 30, 2):
        power = power * v * v
        total = total + power / k
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0) / mean), 0.0) + mean - x
    return np.where(near, total, far)


def log_pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats:
    """log P(X = k) for X binomial(n, p); -inf outside the support. Broadcasts."""
    k, n, p = np.broadcast_arrays(
        np.asarray(k, dtype=np.float64),
        np.asarray(n, dtype=np.float64),
        np.asarray(p, dtype=np.float64),
    )
    inside = (k > 0) & (k < n) & (p > 0) & (p < 1)
    ks = np.where(inside, k, 1.0)
    ns = np.where(inside, n, 2.0)
    ps = np.where(inside, p, 0.5)
    core = (
        _stirling_error(ns)
        - _stirling_error(ks)
        - _stirling_error(ns - ks)
        - _deviance(ks, ns * ps)
        - _deviance(ns - ks, ns * (1.0 - ps))
        + 0.5 * np.log(ns / (2.0 * math.pi * ks * (ns - ks)))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        none = np.where(n == 0, 0.0, xlog1py(n, -p))
        every = np.where(n == 0, 0.0, n * np.log(p))
    result = np.where(inside, core, -np.inf)
    result = np.where(k == 0, none, result)
    return np.where((k == n) & (n > 0), every, result)


def upper_tail(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats:
    """P(X >= k) for X binomial(n, p). Broadcasts."""
    k, n, p = np.broadcast_arrays(
        np.asarray(k, dtype=np.float64),
        np.asarray(n, dtype=np.float64),
        np.asarray(p, dtype=np.float64),
    )
    inside = (k > 0) & (k <= n)
    ks = np.where(inside, k, 1.0)
    tail = betainc(ks, np.where(inside, n - ks + 1.0, 1.0), p)
    return np.where(k <= 0, 1.0, np.where(k > n, 0.0, tail))


def lower_tail(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats:
    """P(X <= k) for X binomial(n, p). Broadcasts."""
    k, n, p = (np.asarray(a, dtype=np.float64) for a in (k, n, p))
    return upper_tail(n - k, n, 1.0 - p)


def upper_quantile(alpha: float, n: ArrayLike, p: ArrayLike) -> Floats:
    """The least k with P(X > k) <= alpha for X binomial(n, p). Broadcasts."""
    n, p = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(p, dtype=np.float64))
    low, high = np.full(n.shape, -1.0), n.copy()
    while np.any(high - low > 1.0):
        middle = np.floor((low + high) / 2.0)
        rare = upper_tail(middle + 1.0, n, p) <= alpha
        low, high = np.where(rare, low, middle), np.where(rare, middle, high)
    return high


def hypergeometric_log_pmf(
    x: ArrayLike, total: ArrayLike, successes: ArrayLike, draws: ArrayLike
) -> Floats:
    """log P(X = x): `draws` out of `total` items without replacement, `successes` good ones."""
    x, total, successes, draws = np.broadcast_arrays(
        *(np.asarray(a, dtype=np.float64) for a in (x, total, successes, draws))
    )
    p = draws / np.where(total > 0, total, 1.0)
    good = log_pmf(x, successes, p)
    bad = log_pmf(draws - x, total - successes, p)
    possible = np.isfinite(good) & np.isfinite(bad)
    all_ = log_pmf(draws, total, p)
    return np.where(possible, np.where(possible, good, 0.0) + bad - all_, -np.inf)


def hypergeometric_upper_tail(x: int, total: int, successes: int, draws: int) -> float:
    """P(X >= x) for the hypergeometric distribution, to full relative accuracy."""
    low, high = max(0, draws - (total - successes)), min(successes, draws)
    if x <= low:
        return 1.0
    if x > high:
        return 0.0
    mean = draws * successes / total
    if x <= mean:
        # Sum the shorter, smaller side: X' = draws - X is hypergeometric too.
        return 1.0 - hypergeometric_upper_tail(draws - x + 1, total, total - successes, draws)
    tail, start, block = 0.0, x, 4096
    while start <= high:
        terms = np.exp(
            hypergeometric_log_pmf(
                np.arange(start, min(start + block, high + 1)), total, successes, draws
            )
        )
        tail += float(terms.sum())
        # Above the mean the terms fall at a rate that itself falls, so what follows the last
        # term is at most a geometric series.
        if terms[-1] <= 1e-18 * tail:
            break
        start, block = start + block, 2 * block
    return min(1.0, tail)
