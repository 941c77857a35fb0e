"""Gaussian trade-off curves: mu from the ranks of scores, and whether the curve is Gaussian at all.

If a mechanism is mu-GDP, the score of a run, whatever it is, separates the two inputs no better
than N(0, 1) and N(mu, 1) are separated, at any threshold. So the number of pairs (an inside score,
an outside one) that are in the right order is at most what it would be for two Gaussians: a bound
on mu that follows from it is a bound on the mu of Gaussian DP, without any assumption. To say more
than mu, such as epsilon at a delta, the curve has to be Gaussian: that is an assumption, and
`fit_p_value` tests it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import chdtrc, ndtr, ndtri, owens_t

from dpest.stats._checks import check_alpha
from dpest.stats.ranks import insiders_below, ordered, shuffled_order, ties

Floats = NDArray[np.float64]

# Classes of scores for the test of the fit: no class has fewer scores than this.
_CLASSES, _LEAST = 24, 20
_LARGEST = 12.0
_TOLERANCE = 1e-5


def right_pairs(inside: Floats, outside: Floats, rng: np.random.Generator) -> float:
    """The share of pairs (inside, outside) in which the inside score is the higher one.

    The area under the ROC curve. Equal scores are put in an order by `rng`.
    """
    m, n = len(inside), len(outside)
    if not ties(inside, outside):
        lower = np.searchsorted(ordered(outside), ordered(inside))
        return float(lower.sum(dtype=np.float64) / (m * n))
    order = shuffled_order(np.concatenate([inside, outside]), rng)
    ranks = np.flatnonzero(order < m).astype(np.float64)
    return float((ranks.sum() - m * (m - 1) / 2.0) / (m * n))


@lru_cache(maxsize=4096)
def _moments(mu: float) -> tuple[float, float]:
    """P(X > Y) and P(X > Y, X > Y') for X of N(mu, 1) and Y, Y' of N(0, 1)."""
    area = float(ndtr(mu / math.sqrt(2.0)))
    edge = mu / math.sqrt(2.0)
    # Of two standard Gaussians with correlation 1/2, by Owen's T function.
    both = float(ndtr(edge) - 2.0 * owens_t(edge, math.sqrt(1.0 / 3.0)))
    return area, both


def spread_of_right_pairs(mu: float, m: int, n: int) -> float:
    """The standard deviation of `right_pairs` of m and n Gaussian scores mu apart.

    Hanley and McNeil's formula; by symmetry both of its conditional terms are equal.
    """
    area, both = _moments(mu)
    variance = (area * (1.0 - area) + (m + n - 2) * (both - area * area)) / (m * n)
    return math.sqrt(max(variance, 1e-300))


def mu_estimate(area: float, m: int, n: int) -> tuple[float, float]:
    """mu of the Gaussian curve with this area below it, and its standard error."""
    smallest = 0.5 / (m * n)
    mu = math.sqrt(2.0) * float(ndtri(min(max(area, smallest), 1.0 - smallest)))
    slope = math.exp(-mu * mu / 4.0) / math.sqrt(4.0 * math.pi)
    return mu, spread_of_right_pairs(abs(mu), m, n) / max(slope, 1e-12)


def mu_bound(area: float, m: int, n: int, alpha: float) -> float:
    """A lower bound on mu at confidence 1 - alpha, from the share of right pairs; at least 0.

    The share of right pairs is a U-statistic; its distribution at mu is taken as normal, with its
    exact variance at mu. A tenth of alpha pays for that (simulation finds fewer false alarms than
    alpha for 20 scores a side and more, and alphas down to 0.001).
    """
    check_alpha(alpha)
    if min(m, n) < 20:
        return 0.0
    quantile = -float(ndtri(0.9 * alpha))

    def refuted(mu: float) -> bool:
        return _deviation(area, mu, m, n) >= quantile

    if not refuted(0.0):
        return 0.0
    low, high = 0.0, 0.125
    while refuted(high):
        low, high = high, 2.0 * high
        if high > _LARGEST:
            return low
    while high - low > _TOLERANCE:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def _deviation(area: float, mu: float, m: int, n: int) -> float:
    """Standard deviations by which the area exceeds what mu gives.

    The area is bounded by 1 and skewed to the left, so that large deviations upwards are rarer than
    normal ones.
    """
    return (area - _moments(mu)[0]) / spread_of_right_pairs(mu, m, n)


def fit_p_value(inside: Floats, outside: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """The p-value of "the curve is Gaussian", and the mu that fits it best.

    Scores are sorted into classes at quantiles of all of them together. For a Gaussian curve there
    are thresholds and a mu with which both inputs' classes have the chances of two Gaussians cut
    there (ordinal probit); the deviance from the best such fit has a chi-squared distribution,
    about, with two degrees of freedom fewer than there are classes.
    """
    m, n = len(inside), len(outside)
    classes = int(min(_CLASSES, (m + n) // (2 * _LEAST)))
    if classes < 3:
        return 1.0, mu_estimate(right_pairs(inside, outside, rng), m, n)[0]
    edges = _class_edges(m + n, classes)
    first = np.diff(insiders_below(inside, outside, edges, rng)).astype(np.float64)
    second = np.diff(edges) - first
    fit = ordinal_probit(first, second)
    return float(chdtrc(len(first) - 2, fit.deviance)), fit.mu


def _class_edges(total: int, classes: int) -> NDArray[np.intp]:
    """Where classes begin and end: equal ones in the middle, smaller ones towards both ends."""
    angle = np.linspace(0.0, math.pi, classes + 1)
    share = 0.5 * (1.0 - np.cos(angle))
    edges = np.unique(np.round(share * total).astype(np.intp))
    wide = [0]
    for edge in edges[1:-1].tolist():
        if edge - wide[-1] >= _LEAST and total - edge >= _LEAST:
            wide.append(edge)
    return np.array([*wide, total])


@dataclass(frozen=True)
class Fit:
    """Two Gaussians with one set of cuts: how far apart, the chances of each one's classes, and
    the deviance of the counts from them.
    """

    mu: float
    first: Floats
    second: Floats
    deviance: float


def ordinal_probit(first: Floats, second: Floats) -> Fit:
    """The Gaussians, and the cuts between the classes, that make two rows of counts likeliest."""
    total = first + second
    cuts = ndtri(np.clip(np.cumsum(total)[:-1] / total.sum(), 1e-9, 1.0 - 1e-9))
    start = np.concatenate([[0.5], [cuts[0]], np.log(np.maximum(np.diff(cuts), 1e-6))])
    scale = float(total.sum())

    def loss(parameters: Floats) -> float:
        p, q = _cut_gaussians(parameters)
        return -float(np.dot(first, np.log(p)) + np.dot(second, np.log(q))) / scale

    found = minimize(loss, start, method="BFGS", options={"gtol": 1e-6})
    best = 0.0
    for row in (first, second):
        seen = row[row > 0]
        best += float(np.dot(seen, np.log(seen / row.sum())))
    p, q = _cut_gaussians(found.x)
    return Fit(float(found.x[0]), p, q, max(0.0, 2.0 * (scale * float(found.fun) + best)))


def _cut_gaussians(parameters: Floats) -> tuple[Floats, Floats]:
    """The classes' chances: the distance, the first cut, and the logs of the steps to the next."""
    where = parameters[1] + np.concatenate([[0.0], np.cumsum(np.exp(parameters[2:]))])
    rows = []
    for move in (-0.5 * parameters[0], 0.5 * parameters[0]):
        below = np.concatenate([[0.0], ndtr(where + move), [1.0]])
        rows.append(np.maximum(np.diff(below), 1e-300))
    return rows[0], rows[1]
