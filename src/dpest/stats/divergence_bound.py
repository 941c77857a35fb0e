"""Lower bounds on Rényi divergences, and on the rho of zCDP, from scores of runs on two inputs.

For order 1 and any function g, E_P[g] - log E_Q[e^g] <= D_1(P‖Q) (Donsker and Varadhan). For order
a > 1 and any h > 0, Hölder's inequality gives E_P[h^(a-1)] <= E_Q[h^a]^t e^(t D_a(P‖Q)) with
t = (a-1)/a. Both are equalities for the likelihood ratio. Logarithm and power are replaced by
tangents, which makes them statements about the mean of one bounded variable of a pair of scores,
"E[Z] <= limit"; and such a mean is tested by betting, on scores that neither g nor the tangent has
seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dpest.stats import gaussian_curve
from dpest.stats._checks import check_alpha

Floats = NDArray[np.float64]
Counts = NDArray[np.intp]

#: The part of the scores from which the witness is learnt, and the orders that zCDP looks at.
TRAINING = 0.2
ORDERS = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 9.0)
_CLASSES, _LEAST = 24, 24
_FIRST_BATCH, _GROWTH = 32, 1.25
_LARGEST = 200.0
# Nats of wealth that a promise reckons with.
_NATS = 5.0
# Likelihood ratios are also tried with this many classes at either end counted as the next one.
_CAPS = (0, 1, 2, 4, 6, 9)
# Scores look like two Gaussians while the test of the fit does not reject that at this level.
_FITS = 0.02


@dataclass(frozen=True)
class DivergenceBound:
    """A lower bound on a divergence (divided by its order for zCDP), and where it comes from."""

    value: float
    order: float
    swapped: bool
    pairs: int
    estimate: float
    error: float


@dataclass(frozen=True)
class BetWitness:
    """Classes of scores and the log-likelihood ratio g that is bet on in each.

    `swapped`: the divergence is D(outside‖inside), and g has changed its sign.
    """

    edges: Floats
    ratio: Floats
    order: float
    swapped: bool
    tangent: float

    def payoff(self, divergence: float) -> tuple[Floats, float]:
        """Z for each pair of classes (of the first and of the second distribution), and its limit
        if the divergence of this order is at most `divergence`.
        """
        g = -self.ratio if self.swapped else self.ratio
        if self.order == 1.0:
            # log E <= E e^-t + t - 1, for any t.
            z = g[:, None] - np.exp(g[None, :] - self.tangent)
            return z, divergence + self.tangent - 1.0
        power = (self.order - 1.0) / self.order
        scale = math.exp(power * divergence)
        # x^t <= t s^(t-1) x + (1-t) s^t, for any s > 0.
        s = math.exp(self.tangent)
        slope = scale * power * s ** (power - 1.0)
        z = np.exp((self.order - 1.0) * g)[:, None] - slope * np.exp(self.order * g)[None, :]
        return z, scale * (1.0 - power) * s**power


def divergence_bound(
    inside: Floats,
    outside: Floats,
    alpha: float,
    rng: np.random.Generator,
    order: float | None = None,
) -> DivergenceBound:
    """A lower bound on D_order in the worse direction; without an order, on rho of zCDP.

    Assumes independent scores, the inside ones of one distribution, the outside ones of another.
    Guarantees that it exceeds the truth with probability at most `alpha`, for any distributions.
    """
    check_alpha(alpha)
    first, second = rng.permutation(inside), rng.permutation(outside)
    m, n = (math.ceil(TRAINING * len(v)) for v in (first, second))
    pairs = min(len(first) - m, len(second) - n)
    witness = _learn(first[:m], second[:n], order, pairs) if pairs >= 2 * _FIRST_BATCH else None
    if witness is None:
        return DivergenceBound(0.0, order or 1.0, False, pairs, 0.0, math.inf)
    return measured(witness, first[m : m + pairs], second[n : n + pairs], alpha, order is None)


def measured(
    witness: BetWitness, inside: Floats, outside: Floats, alpha: float, zcdp: bool
) -> DivergenceBound:
    """The bound by betting, on pairs of scores that the witness was not learnt from."""
    ones = np.searchsorted(witness.edges, inside, side="right")
    others = np.searchsorted(witness.edges, outside, side="right")
    if witness.swapped:
        ones, others = others, ones
    batches = _batches(ones, others, len(witness.ratio))
    needed = math.log(1.0 / alpha)

    def refuted(divergence: float) -> bool:
        return _largest_log_wealth(batches, *witness.payoff(divergence)) >= needed

    low, high = 0.0, 1.0 / 64.0
    if refuted(0.0):
        while refuted(high) and high < _LARGEST:
            low, high = high, 2.0 * high
        while high - low > 1e-4 * max(high, 0.1):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if refuted(middle) else (low, middle)
    factor = witness.order if zcdp else 1.0
    estimate, error = _plug_in(batches.sum(axis=0), witness.order)
    return DivergenceBound(
        low / factor, witness.order, witness.swapped, len(ones), estimate / factor, error / factor
    )


def _batches(ones: Counts, others: Counts, classes: int) -> Floats:
    """Tables of pairs of classes, one for each batch; batches grow by a quarter."""
    tables, begin, size = [], 0, float(_FIRST_BATCH)
    pairs = ones * classes + others
    while begin < len(pairs):
        part = pairs[begin : begin + math.ceil(size)]
        tables.append(np.bincount(part, minlength=classes * classes))
        begin += len(part)
        size = max(size, begin * (_GROWTH - 1.0))
    return np.array(tables, dtype=np.float64).reshape(-1, classes, classes)


def _largest_log_wealth(batches: Floats, z: Floats, limit: float) -> float:
    """The largest wealth (its log) of bets on E[Z] > limit; a supermartingale while that is false.

    Each batch's stake is chosen from the batches before it, to make the wealth grow fastest if the
    rest is like them.
    """
    lowest = float(z.min())
    if limit <= lowest:
        # The mean can't be so small: no such pair of distributions.
        return math.inf if limit < lowest else 0.0
    gain = z - limit
    most = 0.5 / (limit - lowest)
    total, square = 0.0, 0.0  # before anything is seen, nothing is staked
    log_wealth, largest = 0.0, 0.0
    for table in batches:
        stake = min(max(total / square, 0.0), most) if square > 0.0 else 0.0
        if stake > 0.0:
            log_wealth += float(np.sum(table * np.log1p(stake * gain)))
            largest = max(largest, log_wealth)
        total += float(np.sum(table * gain))
        square += float(np.sum(table * gain**2))
    return largest


def _learn(first: Floats, second: Floats, order: float | None, pairs: int) -> BetWitness | None:
    """The witness that promises the largest bound, judged on the scores it is learnt from.

    Where the scores look like two Gaussians, the likelihood ratio and the promise are those of
    Gaussians: one number is learnt, and the tails are not taken from a few scores. Elsewhere they
    are what was seen in each class.
    """
    pooled = np.sort(np.concatenate([first, second]))
    if len(pooled) < 2 * _LEAST:
        return None
    rng = np.random.default_rng(0)
    chance, _ = gaussian_curve.fit_p_value(first, second, rng)
    area = gaussian_curve.right_pairs(first, second, rng)
    mu, _ = gaussian_curve.mu_estimate(area, len(first), len(second))
    like_gaussians = chance > _FITS
    found: list[tuple[float, BetWitness]] = []
    for most in (_CLASSES, 3 * _CLASSES):
        edges = _edges(pooled, min(most, len(pooled) // _LEAST))
        p, q = _frequencies(edges, first), _frequencies(edges, second)
        if like_gaussians:
            p, q = _as_gaussians(p, q, mu)
        fitted = 0.5 * (1 if like_gaussians else len(p)) * (1 / len(first) + 1 / len(second))
        ratio = np.log(p) - np.log(q)
        for cap in _CAPS:
            if 2 * cap + 2 < len(p) or (cap == 0 and len(p) == 2):
                ordered = np.sort(ratio)
                capped = np.clip(ratio, ordered[cap], ordered[-1 - cap])
                found.extend(_promises(edges, capped, p, q, order, pairs, fitted))
    if not found:  # all scores are the same one
        return None
    worth, witness = max(found, key=lambda pair: pair[0])
    return witness if worth > 0.0 else None


def _edges(pooled: Floats, classes: int) -> Floats:
    """Cuts between classes of scores, the smaller ones towards both ends."""
    share = 0.5 * (1.0 - np.cos(np.linspace(0.0, math.pi, max(classes, 2) + 1)[1:-1]))
    return np.unique(pooled[np.round(share * len(pooled)).astype(np.intp)])


def _frequencies(edges: Floats, scores: Floats) -> Floats:
    """The classes' frequencies, smoothed."""
    counts = np.bincount(np.searchsorted(edges, scores, side="right"), minlength=len(edges) + 1)
    return (counts + 1.0) / (counts.sum() + len(counts))


def _as_gaussians(p: Floats, q: Floats, mu: float) -> tuple[Floats, Floats]:
    """The classes' chances for two Gaussians mu apart, cut where as much lies below as was seen."""
    below = np.cumsum(p + q)[:-1] / 2.0
    low, high = np.full(len(below), -20.0), np.full(len(below), 20.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        less = 0.5 * (ndtr(middle - 0.5 * mu) + ndtr(middle + 0.5 * mu)) < below
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    rows = [
        np.maximum(np.diff(np.concatenate([[0.0], ndtr(low + move), [1.0]])), 1e-300)
        for move in (-0.5 * mu, 0.5 * mu)
    ]
    return rows[0], rows[1]


def _promises(
    edges: Floats,
    ratio: Floats,
    p: Floats,
    q: Floats,
    order: float | None,
    pairs: int,
    fitted: float,
) -> list[tuple[float, BetWitness]]:
    """Witnesses with this ratio, of the order asked (of all, per order) and both directions."""
    found = []
    for a in (order,) if order is not None else ORDERS:
        for swapped in (False, True):
            witness, worth = _promise(edges, ratio, p, q, a, swapped, pairs, fitted)
            found.append((worth / (a if order is None else 1.0), witness))
    return found


def _promise(
    edges: Floats,
    ratio: Floats,
    first: Floats,
    second: Floats,
    order: float,
    swapped: bool,
    pairs: int,
    fitted: float,
) -> tuple[BetWitness, float]:
    """The witness with this ratio, and the bound that it promises, by Bernstein's inequality."""
    g, p, q = (-ratio, second, first) if swapped else (ratio, first, second)
    if order == 1.0:
        u, v = g, np.exp(g)
        tangent = math.log(float(np.dot(q, v)))
        value = float(np.dot(p, u)) - tangent
        scale = 1.0
    else:
        u, v, power = np.exp((order - 1.0) * g), np.exp(order * g), (order - 1.0) / order
        a, tangent = float(np.dot(p, u)), math.log(float(np.dot(q, v)))
        value = math.log(a) / power - tangent
        scale = 1.0 / (a * power)
    variance = _variance(p, scale * u) + _variance(q, v) * math.exp(-2.0 * tangent)
    largest = float(v.max()) * math.exp(-tangent)
    cost = math.sqrt(2.0 * _NATS * variance / pairs) + _NATS * largest / pairs
    return BetWitness(edges, ratio, order, swapped, tangent), value - 2.0 * order * fitted - cost


def _variance(p: Floats, values: Floats) -> float:
    mean = float(np.dot(p, values))
    return float(np.dot(p, (values - mean) ** 2))


def _plug_in(table: Floats, order: float) -> tuple[float, float]:
    """The divergence of the classes' frequencies, smoothed, and its standard error: an estimate."""
    p, q = (table.sum(axis=axis) + 0.5 for axis in (1, 0))
    p, q = p / p.sum(), q / q.sum()
    loss = np.log(p) - np.log(q)
    if order == 1.0:
        value, slope_p, slope_q = float(np.dot(p, loss)), loss, np.exp(loss)
    else:
        moment = float(np.dot(p, np.exp((order - 1.0) * loss)))
        value = math.log(moment) / (order - 1.0)
        slope_p = order / (order - 1.0) * np.exp((order - 1.0) * loss) / moment
        slope_q = np.exp(order * loss) / moment
    variance = (_variance(p, slope_p) + _variance(q, slope_q)) / max(float(table.sum()), 1.0)
    return max(0.0, value), math.sqrt(variance)
