"""Privacy losses by plain quadrature, written apart from the package: objectives for the search."""

from __future__ import annotations

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
    logs = []
    for queries in (x, x2):
        rho, w = grid([0.0, *(q - threshold for q in queries)], min(rho_scale, nu_scale))
        so_far = [-np.abs(rho) / rho_scale - np.log(2 * rho_scale)]
        finished = []
        for q in queries:
            above = laplace_tail(threshold + rho - q, nu_scale)
            below = laplace_tail(q - threshold - rho, nu_scale)
            if cutoff:
                finished.append(so_far[0] + above)
                so_far = [so_far[0] + below]
            else:
                so_far = [part + side for part in so_far for side in (above, below)]
        logs.append(np.array([log_integral([part], w) for part in (*finished, *so_far)]))
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
