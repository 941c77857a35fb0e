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

from dpest.stats._checks import check_alpha
from dpest.stats.gaussian_curve import ordinal_probit

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
_CAPS = (0, 1, 2, 4, 6)


@dataclass(frozen=True)
class Bound:
    """A lower bound on a divergence (divided by its order for zCDP), and where it comes from."""

    value: float
    order: float
    swapped: bool
    pairs: int
    estimate: float


@dataclass(frozen=True)
class Witness:
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
) -> Bound:
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
        return Bound(0.0, order or 1.0, False, pairs, 0.0)
    return measured(witness, first[m : m + pairs], second[n : n + pairs], alpha, order is None)


def measured(
    witness: Witness, inside: Floats, outside: Floats, alpha: float, zcdp: bool
) -> Bound:
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
    estimate = _plug_in(batches.sum(axis=0), witness.order) / factor
    return Bound(low / factor, witness.order, witness.swapped, len(ones), estimate)


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
    most = 0.7 / (limit - lowest)
    # Before anything is seen, a small stake; it weighs as much as 10 pairs.
    weight, total, square = 10.0, 0.0, 10.0 * float(np.mean(gain**2))
    log_wealth, largest = 0.0, 0.0
    for table in batches:
        stake = min(max(total / square, 0.0), most) if square > 0.0 else 0.0
        if stake > 0.0:
            log_wealth += float(np.sum(table * np.log1p(stake * gain)))
            largest = max(largest, log_wealth)
        weight += float(table.sum())
        total += float(np.sum(table * gain))
        square += float(np.sum(table * gain**2))
    return largest


def _learn(first: Floats, second: Floats, order: float | None, pairs: int) -> Witness | None:
    """The witness that promises the largest bound, judged on the scores it is learnt from."""
    pooled = np.sort(np.concatenate([first, second]))
    classes = min(_CLASSES, len(pooled) // _LEAST)
    if classes < 2:
        return None
    share = 0.5 * (1.0 - np.cos(np.linspace(0.0, math.pi, classes + 1)[1:-1]))
    edges = np.unique(pooled[np.round(share * len(pooled)).astype(np.intp)])
    p = np.bincount(np.searchsorted(edges, first, side="right"), minlength=len(edges) + 1)
    q = np.bincount(np.searchsorted(edges, second, side="right"), minlength=len(edges) + 1)
    found = [
        _promise(edges, ratio, p / p.sum(), q / q.sum(), a, swapped, pairs, fitted)
        for ratio, fitted in _ratios(p.astype(np.float64), q.astype(np.float64))
        for a in ((order,) if order is not None else ORDERS)
        for swapped in (False, True)
    ]
    per_order = [(w, worth / (w.order if order is None else 1.0)) for w, worth in found]
    witness, worth = max(per_order, key=lambda pair: pair[1])
    return witness if worth > 0.0 else None


def _ratios(p: Floats, q: Floats) -> list[tuple[Floats, float]]:
    """Log-likelihood ratios of the classes, as two Gaussians have them and as they were seen, each
    with what it seems better than it is, on the scores it was made from.
    """
    chances = ordinal_probit(p, q)
    parameters = 1.0 / p.sum() + 1.0 / q.sum()
    smooth = 2.0
    seen = np.log((p + smooth) / (p.sum() + smooth * len(p)))
    seen -= np.log((q + smooth) / (q.sum() + smooth * len(q)))
    gaussian = np.log(chances.first) - np.log(chances.second)
    found = []
    for cap in _CAPS:
        if 2 * cap + 2 < len(p):
            for ratio, free in ((gaussian, 1), (seen, len(p))):
                ordered = np.sort(ratio)
                capped = np.clip(ratio, ordered[cap], ordered[-1 - cap])
                found.append((capped, 0.5 * free * parameters))
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
) -> tuple[Witness, float]:
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
    return Witness(edges, ratio, order, swapped, tangent), value - 2.0 * order * fitted - cost


def _variance(p: Floats, values: Floats) -> float:
    mean = float(np.dot(p, values))
    return float(np.dot(p, (values - mean) ** 2))


def _plug_in(table: Floats, order: float) -> float:
    """The divergence of the classes' frequencies, smoothed: an estimate."""
    p, q = (table.sum(axis=axis) + 0.5 for axis in (1, 0))
    p, q = p / p.sum(), q / q.sum()
    loss = np.log(p) - np.log(q)
    if order == 1.0:
        return float(np.dot(p, loss))
    return math.log(float(np.dot(p, np.exp((order - 1.0) * loss)))) / (order - 1.0)
