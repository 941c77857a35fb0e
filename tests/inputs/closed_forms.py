"""Privacy losses by plain quadrature, written apart from the package: objectives for the search."""

from __future__ import annotations

import itertools

import numpy as np


def laplace_tail(z: np.ndarray, scale: float) -> np.ndarray:
    """log P(Lap(scale) > z)."""
    t = -np.abs(z) / scale - np.log(2)
    return np.where(z > 0, t, np.log1p(-np.exp(t)))


def grid(centres: list[float], scale: float, reach: float = 40.0) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on panels between kinks, far into the tails."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    edges = set(centres)
    low, high = min(centres), max(centres)
    edges |= set(np.arange(low - reach * scale, high + reach * scale, 2 * scale))
    ordered = np.array(sorted(edges))
    half = np.diff(ordered) / 2
    points = ordered[:-1, None] + half[:, None] * (1 + nodes)
    return points.ravel(), (half[:, None] * weights).ravel()


def log_integral(parts: list[np.ndarray], weights: np.ndarray) -> float:
    total = sum(parts)
    top = total.max()
    return float(top + np.log(np.sum(weights * np.exp(total - top))))


def svt_epsilon(x, x2, *, threshold, rho_scale, nu_scale, cutoff=True):
    """The exact ε of SVT with one True (or no cutoff), both directions."""
    n = len(x)
    answers = []
    if cutoff:
        answers = [[False] * k + [True] for k in range(n)] + [[False] * n]
    else:
        answers = list(itertools.product((False, True), repeat=n))
    logs = []
    for queries in (x, x2):
        rho, w = grid([0.0, *(q - threshold for q in queries)], min(rho_scale, nu_scale))
        base = -np.abs(rho) / rho_scale - np.log(2 * rho_scale)
        above = [laplace_tail(threshold + rho - q, nu_scale) for q in queries]
        below = [laplace_tail(q - threshold - rho, nu_scale) for q in queries]
        logs.append(
            np.array(
                [
                    log_integral(
                        [base, *(above[i] if a else below[i] for i, a in enumerate(ans))], w
                    )
                    for ans in answers
                ]
            )
        )
    return float(np.max(np.abs(logs[0] - logs[1])))


def noisy_max_epsilon(x, x2, *, scale):
    """argmax(x + Lap(scale)): the exact ε, both directions."""
    logs = []
    for queries in (x, x2):
        row = []
        for i, q in enumerate(queries):
            v, w = grid(list(queries), scale)
            base = -np.abs(v - q) / scale - np.log(2 * scale)
            others = [laplace_tail(p - v, scale) for j, p in enumerate(queries) if j != i]
            row.append(log_integral([base, *others], w))
        logs.append(np.array(row))
    return float(np.max(np.abs(logs[0] - logs[1])))
