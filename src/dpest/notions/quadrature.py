"""Integrals of piecewise smooth functions: Gauss-Legendre panels, halved until two rules agree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpest.notions.domain import Array

NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_TOLERANCE = 1e-13
_MAX_HALVINGS = 24
# An integrand that is mostly rounding never settles; more panels would not help it.
_MAX_PANELS = 20_000


def integrate(f: Callable[[Array], Array], ends: Array, tolerance: float = _TOLERANCE) -> float:
    """∫ f from ends[0] to ends[-1], for an f that is smooth between neighbouring `ends`."""
    low, high = ends[:-1], ends[1:]
    total = 0.0
    coarse = _gauss(f, low, high)
    for _ in range(_MAX_HALVINGS):
        middle = (low + high) / 2
        left, right = _gauss(f, low, middle), _gauss(f, middle, high)
        fine = left + right
        scale = abs(total) + float(np.abs(fine).sum())
        rough = np.abs(fine - coarse) > tolerance * np.maximum(scale / 64, np.abs(fine))
        total += float(fine[~rough].sum())
        if not rough.any():
            return total
        if rough.sum() > _MAX_PANELS:
            return total + float(fine[rough].sum())
        coarse = np.concatenate([left[rough], right[rough]])
        low, high = (
            np.concatenate([low[rough], middle[rough]]),
            np.concatenate([middle[rough], high[rough]]),
        )
    return total + float(coarse.sum())


def _gauss(f: Callable[[Array], Array], low: Array, high: Array) -> Array:
    half = (high - low) / 2
    x = (low + half)[:, None] + half[:, None] * NODES
    return np.asarray((np.asarray(f(x)) * _WEIGHTS).sum(axis=1) * half)
