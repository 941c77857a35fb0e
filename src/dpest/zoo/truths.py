"""The true worst-case ε of the zoo's mechanisms, over all real inputs of length n.

The sparse vector formulas: an answer with H times True and F times False is reached again on the
neighbour by moving the threshold by s and each query's noise by what is then missing. The cost is
piecewise linear in s, so that s = 1, 0 and -1 decide. Each answer is one cell, so that this
cheapest cost is the exact supremum, approached far out along a ray.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Truth = Callable[[int, Mapping[str, Any]], float | None]


def multiple(factor: float = 1.0, *, from_length: int = 1) -> Truth:
    """factor·eps, and 0 below the length from which there is anything to tell apart."""
    return lambda n, params: factor * params["eps"] if n >= from_length else 0.0


def per_entry(factor: float) -> Truth:
    """n·factor·eps: grows with the length."""
    return lambda n, params: n * factor * params["eps"]


def infinite(from_length: int = 1, below: Truth | None = None) -> Truth:
    """∞ from a length on: an output that is impossible on one side."""

    def truth(n: int, params: Mapping[str, Any]) -> float | None:
        if n >= from_length:
            return math.inf
        return below(n, params) if below is not None else 0.0

    return truth


def sparse_vector(
    threshold_rate: float,
    query_rate: Callable[[int], float],
    *,
    cutoff: str | None = "cutoff",
    hit_cost: Callable[[int], float] = lambda c: 0.0,
    widest: float = 2.0,
) -> Truth:
    """SVT with one threshold noise, rates in units of eps (1/scale = rate·eps).

    `query_rate` and `hit_cost` (what a True costs besides) depend on the cutoff. `widest` is how
    far a query that says False and one that says True can move apart: 2 under linf, 1 if monotone.
    """

    def truth(n: int, params: Mapping[str, Any]) -> float:
        c = params[cutoff] if cutoff is not None else n
        rate, extra = query_rate(c), hit_cost(c)
        if widest == 2.0:
            costs = [_cheapest(n - h, h, threshold_rate, rate) + h * extra for h in _hits(n, c)]
        else:
            # Monotone: False moves by 1 and True stays, or the other way round.
            costs = [
                min(threshold_rate + moved * rate, still * rate)
                for h in _hits(n, c)
                for moved, still in ((h, n - h), (n - h, h))
            ]
        return max(costs) * params["eps"]

    return truth


def _hits(n: int, cutoff: int) -> range:
    return range(min(n, cutoff) + 1)


def _cheapest(falses: int, hits: int, threshold_rate: float, rate: float) -> float:
    with_false = threshold_rate + 2 * hits * rate
    with_true = threshold_rate + 2 * falses * rate
    return min(with_false, with_true, (falses + hits) * rate)


def resampling_sparse_vector(n: int, params: Mapping[str, Any]) -> float:
    """SVT2: the threshold's noise is drawn anew after each True, at rate eps/(2c)."""
    c = params["cutoff"]
    rate = 1 / (4 * c)
    # dearest[m]: m queries in segments that end in True, each with its own threshold noise.
    dearest = [0.0] + [-math.inf] * n
    worst = _cheapest(n, 0, 2 * rate, rate)
    for segments in range(1, c + 1):
        dearest = [
            max(
                (dearest[m - f - 1] + _cheapest(f, 1, 2 * rate, rate) for f in range(m)),
                default=-math.inf,
            )
            for m in range(n + 1)
        ]
        for m, cost in enumerate(dearest):
            left = _cheapest(n - m, 0, 2 * rate, rate) if segments < c else 0.0
            worst = max(worst, cost + left)
    return worst * params["eps"]


def value_releasing_sparse_vector(query_rate: Callable[[int], float]) -> Truth:
    """SVT that gives the tested noisy value away: every query costs its own noise."""
    return lambda n, params: n * query_rate(params["cutoff"]) * params["eps"]


def adaptive_sparse_vector(*, top_releases_value: bool) -> Truth:
    """AdaptiveSVT; None where the cells that share a release leave a gap between the bounds."""

    def truth(n: int, params: Mapping[str, Any]) -> float | None:
        c = params["cutoff"]
        top, middle = 1 / (8 * c), 1 / (4 * c)
        alone = middle if top_releases_value else 0.0

        def cost(tops: int, middles: int) -> float:
            falses = n - tops - middles
            return min(
                0.5 + tops * (2 * top + alone) + middles * 2 * middle,
                falses * (top + middle) + tops * (top + alone) + middles * middle,
                0.5 + falses * 2 * (top + middle) + tops * alone,
            )

        reached = [
            (t, m)
            for t in range(min(n, 2 * c) + 1)
            for m in range(min(n - t, c) + 1)
            if t + 2 * m <= 2 * c and (m > 0 or t <= 2 * c - 1)
        ]
        # Releases below the top branch's range (where it is wrong: negative ones) have one cell.
        sure = [(t, m) for t, m in reached if (m == 0 if top_releases_value else t == 0)]
        upper, lower = max(cost(*r) for r in reached), max(cost(*r) for r in sure)
        return upper * params["eps"] if math.isclose(upper, lower) else None

    return truth


def gaussian_epsilon(sigma: float, delta: float) -> float:
    """The least ε of a Gaussian with sensitivity 1 at δ (Balle and Wang, 2018)."""

    def delta_at(eps: float) -> float:
        a = (1 / (2 * sigma) - eps * sigma) / math.sqrt(2)
        b = (-1 / (2 * sigma) - eps * sigma) / math.sqrt(2)
        return (math.erfc(-a) - math.exp(eps) * math.erfc(-b)) / 2

    low, high = 0.0, 1.0
    while delta_at(high) > delta:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
    return high
