"""Normal approximations: the CLT for one mean, and DP-Finder's two-dimensional CLT (M-CLT).

These are *estimates* of an interval. They hold as the number of trials grows and guarantee
nothing at a fixed one; a bound that is reported with a confidence must not come from here.
"""

from __future__ import annotations

import math

from scipy.special import ndtr, ndtri, owens_t

from dpest.stats._checks import check_alpha
from dpest.stats.hoeffding import log_ratio_of_intervals


def interval(mean: float, trials: int, alpha: float) -> tuple[float, float]:
    """Two-sided normal interval of a probability with the plug-in variance mean * (1 - mean)."""
    check_alpha(alpha)
    h = float(-ndtri(alpha / 2.0)) * math.sqrt(mean * (1.0 - mean) / trials)
    return max(0.0, mean - h), min(1.0, mean + h)


def log_ratio_interval(
    p_mean: float, q_mean: float, trials: int, alpha_each: float
) -> tuple[float, float]:
    """Interval for log(p/q) from two normal intervals at `alpha_each` (DP-Finder's "CLT")."""
    return log_ratio_of_intervals(
        interval(p_mean, trials, alpha_each), interval(q_mean, trials, alpha_each)
    )


def bivariate_normal_cdf(h: float, k: float, rho: float) -> float:
    """P(Z1 <= h, Z2 <= k) for standard normals with correlation `rho`, by Owen's T function."""
    if not -1.0 <= rho <= 1.0:
        raise ValueError(f"a correlation lies in [-1, 1], got {rho=}")
    if rho == 1.0:
        return float(ndtr(min(h, k)))
    if rho == -1.0:
        return max(0.0, float(ndtr(h) - ndtr(-k)))
    if math.isinf(h) or math.isinf(k):
        if h == -math.inf or k == -math.inf:
            return 0.0
        return float(ndtr(min(h, k)))
    if h == 0.0 and k == 0.0:
        return 0.25 + math.asin(rho) / (2.0 * math.pi)
    root = math.sqrt((1.0 - rho) * (1.0 + rho))
    # T(h, a) with a = (k - rho h)/(h root); the limit at h = 0 is a quarter with k's sign.
    t_h = float(owens_t(h, (k / h - rho) / root)) if h else math.copysign(0.25, k)
    t_k = float(owens_t(k, (h / k - rho) / root)) if k else math.copysign(0.25, h)
    opposite = h * k < 0 or (h * k == 0 and h + k < 0)
    return float(0.5 * (ndtr(h) + ndtr(k))) - t_h - t_k - (0.5 if opposite else 0.0)


def ratio_cdf(
    w: float, mean_x: float, mean_y: float, sd_x: float, sd_y: float, rho: float
) -> float:
    """Hinkley's distribution: P(X/Y <= w) for a bivariate normal (X, Y) with correlation `rho`.

    It is P(X - wY <= 0, Y > 0) + P(X - wY >= 0, Y < 0), exactly.
    """
    spread = math.sqrt(max(0.0, sd_x**2 - 2.0 * rho * w * sd_x * sd_y + (w * sd_y) ** 2))
    shift = mean_x - w * mean_y
    positive = float(ndtr(mean_y / sd_y))
    if spread == 0.0:
        return positive if shift <= 0.0 else 1.0 - positive
    # Correlation of D = X - wY with Y; rounding can push it a hair outside [-1, 1].
    link = min(1.0, max(-1.0, (rho * sd_x - w * sd_y) / spread))
    below, negative = -shift / spread, -mean_y / sd_y
    both = bivariate_normal_cdf(below, negative, link)
    d_low, y_low = float(ndtr(below)), float(ndtr(negative))
    # P(D<=0, Y>0) = P(D<=0) - both;  P(D>=0, Y<0) = P(Y<0) - both.
    return min(1.0, max(0.0, d_low + y_low - 2.0 * both))


def correlated_log_ratio_interval(
    p_mean: float, q_mean: float, correlation: float, trials: int, alpha: float
) -> tuple[float, float]:
    """Equal-tailed interval for log(p/q) from Hinkley's ratio distribution (M-CLT).

    `correlation` is that of the two indicator variables of one run, which shared noise makes
    large. Approximate coverage 1 - alpha. Infinite ends where a mean is 0.
    """
    check_alpha(alpha)
    if trials < 1:
        raise ValueError(f"a mean needs at least one trial, got {trials=}")
    if p_mean <= 0.0 or q_mean <= 0.0:
        return -math.inf, math.inf
    sd_p = math.sqrt(p_mean * (1.0 - p_mean) / trials)
    sd_q = math.sqrt(q_mean * (1.0 - q_mean) / trials)
    centre = math.log(p_mean / q_mean)
    if sd_p == 0.0 and sd_q == 0.0:
        return centre, centre
    if sd_p == 0.0 or sd_q == 0.0:
        # One side is certain: the ratio is a function of one normal mean.
        low_p, high_p = interval(p_mean, trials, alpha)
        low_q, high_q = interval(q_mean, trials, alpha)
        return log_ratio_of_intervals((low_p, high_p), (low_q, high_q))

    def tail(offset: float, upper: bool) -> float:
        below = ratio_cdf(math.exp(centre + offset), p_mean, q_mean, sd_p, sd_q, correlation)
        return 1.0 - below if upper else below

    ends = []
    for sign in (-1.0, 1.0):
        inner, outer = 0.0, 1e-6
        while tail(sign * outer, sign > 0) > alpha / 2.0:
            inner, outer = outer, 2.0 * outer
            if outer > 700.0:
                outer = math.inf
                break
        if math.isfinite(outer):
            for _ in range(60):
                middle = 0.5 * (inner + outer)
                if tail(sign * middle, sign > 0) > alpha / 2.0:
                    inner = middle
                else:
                    outer = middle
        ends.append(centre + sign * outer)
    return ends[0], ends[1]
