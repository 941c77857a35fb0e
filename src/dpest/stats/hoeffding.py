"""Hoeffding's bound: wide, but valid for any independent variables in [0, 1]."""

from __future__ import annotations

import math

from dpest.stats._checks import check_alpha


def half_width(trials: int, alpha: float) -> float:
    """h with P(|mean - expectation| <= h) >= 1 - alpha for independent variables in [0, 1]."""
    check_alpha(alpha)
    if trials < 1:
        raise ValueError(f"a mean needs at least one trial, got {trials=}")
    return math.sqrt(math.log(2.0 / alpha) / (2.0 * trials))


def interval(mean: float, trials: int, alpha: float) -> tuple[float, float]:
    """Two-sided interval for a probability, clipped to [0, 1]; coverage >= 1 - alpha."""
    h = half_width(trials, alpha)
    return max(0.0, mean - h), min(1.0, mean + h)


def log_ratio_interval(
    p_mean: float, q_mean: float, trials: int, alpha_each: float
) -> tuple[float, float]:
    """Interval for log(p/q) from two two-sided intervals at `alpha_each`.

    Guarantees coverage >= 1 - 2 * alpha_each whatever the dependence between the two means.
    """
    return log_ratio_of_intervals(
        interval(p_mean, trials, alpha_each), interval(q_mean, trials, alpha_each)
    )


def log_ratio_of_intervals(p: tuple[float, float], q: tuple[float, float]) -> tuple[float, float]:
    """The interval of log(p/q) over two intervals of probabilities; infinite where one is 0."""
    low = -math.inf if p[0] <= 0.0 else math.log(p[0] / q[1])
    high = math.inf if q[0] <= 0.0 else math.log(p[1] / q[0])
    return low, high
