"""Binomial and Poisson masses to full precision (Loader, 2000: the saddle-point expansion)."""

from __future__ import annotations

import math

import numpy as np

from dpest.noise.family import Floats


def stirling_error(n: Floats) -> Floats:
    """log n! minus Stirling's formula log(√(2πn)·(n/e)^n), for n > 0."""
    from scipy.special import gammaln

    n = np.asarray(n, dtype=float)
    large = np.maximum(n, 16.0)
    square = large**2
    series = (
        1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square
    ) / large
    small = np.clip(n, 0.5, 16.0)
    direct = gammaln(small + 1) - (small + 0.5) * np.log(small) + small - math.log(2 * math.pi) / 2
    return np.where(n > 16, series, direct)


def deviance(x: Floats, mean: Floats | float) -> Floats:
    """x·log(x/mean) + mean - x, without cancellation near x = mean."""
    x = np.asarray(x, dtype=float)
    v = (x - mean) / mean
    with np.errstate(divide="ignore", invalid="ignore"):
        near = mean * ((1 + v) * np.log1p(v) - v)
    return np.where(x == 0, mean, near)


def log_poisson(k: Floats, rate: float) -> Floats:
    k = np.asarray(k, dtype=float)
    inside = np.maximum(k, 1.0)
    body = -stirling_error(inside) - deviance(inside, rate) - 0.5 * np.log(2 * math.pi * inside)
    return np.where(k == 0, -rate, body)


def log_binomial(k: Floats, n: int, p: float) -> Floats:
    """For 0 < p < 1 and 0 ≤ k ≤ n."""
    k = np.asarray(k, dtype=float)
    inside = np.clip(k, 1, max(n - 1, 1))
    rest = np.maximum(n - inside, 1)
    body = (
        stirling_error(np.array(float(n)))
        - stirling_error(inside)
        - stirling_error(rest)
        - deviance(inside, n * p)
        - deviance(rest, n * (1 - p))
        - 0.5 * np.log(2 * math.pi * inside * rest / n)
    )
    return np.where(k == 0, n * math.log1p(-p), np.where(k == n, n * math.log(p), body))
