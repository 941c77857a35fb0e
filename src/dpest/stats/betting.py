"""E-processes by betting, and the confidence sequences they invert to.

An e-process is a wealth that starts at 1, never falls below 0, and does not grow in expectation
while the hypothesis holds. By Ville's inequality it reaches 1/alpha with probability at most alpha,
however often one looks and whenever one stops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from dpest.stats._checks import check_alpha, check_counts

Floats = NDArray[np.float64]

#: Shares of the wealth that the mixture bets, and the part of the wealth that each starts with.
#: Most goes to the full bet, which is best if the predictor is calibrated; the rest insures.
FRACTIONS = ((1.0, 0.8), (0.5, 0.15), (0.1, 0.05))


def odds_limit(epsilon: float | Floats) -> Floats:
    """a = e^eps/(1 + e^eps): under eps-DP and a fair coin, no output makes a label likelier."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * np.asarray(epsilon))))


def label_bets(prediction: Floats, epsilon: Floats) -> tuple[Floats, Floats]:
    """E-values (if the label is 1, if it is 0) against pure eps-DP.

    `prediction` is the predicted probability of label 1 given the output, made before the label
    is seen; shapes broadcast. Where it lies in [1 - a, a] nothing is bet. Each pair has mean at
    most 1 for every output and every label probability in [1 - a, a].
    """
    a = odds_limit(epsilon)
    high, low = prediction > a, prediction < 1.0 - a
    if_one = np.where(high, prediction / a, np.where(low, prediction / (1.0 - a), 1.0))
    if_zero = np.where(
        high, (1.0 - prediction) / (1.0 - a), np.where(low, (1.0 - prediction) / a, 1.0)
    )
    return if_one, if_zero


def event_payoffs(
    inside: NDArray[np.bool_], epsilon: Floats, delta: float
) -> tuple[Floats, Floats]:
    """Payoffs (if the label is 1, if it is 0) against (eps, delta)-DP for the event `inside`.

    The bet is e^-eps (1{b=1, S} - e^eps 1{b=0, S} - delta 1{b=1}), which has mean at most 0 under
    a fair coin when P1(S) <= e^eps P0(S) + delta, and is at least -1. Whether the output is in S
    must be decided without the label; shapes broadcast.
    """
    scale = np.exp(-np.asarray(epsilon))
    if_one = scale * (np.where(inside, 1.0, 0.0) - delta)
    if_zero = np.where(inside, -1.0, 0.0) * np.ones_like(scale)
    return if_one, if_zero


#: Log-odds beyond the hypothesis that a region's label may have, and their prior weights. Then the
#: prior weights of no bet at all, of opposite labels in two tails, and of tails that are alike.
EXCESS = np.array([0.04, 0.12, 0.35, 1.0, 3.0])
EXCESS_PRIOR = np.full(5, 0.2)
NO_BET = 0.4
MONOTONE = 0.8
ALIKE = 0.6


# Epsilons at a time: what is computed for them stays in the cache.
_EPSILONS = 8


def _log_add(a: Floats, b: Floats) -> Floats:
    """`np.logaddexp` of finite numbers, several times as fast."""
    return np.asarray(np.maximum(a, b) + np.log1p(np.exp(-np.abs(a - b))))


def _log_sum(logs: Floats, axis: int) -> Floats:
    """`np.logaddexp.reduce` of finite numbers, several times as fast."""
    peak = logs.max(axis=axis, keepdims=True)
    shifted = logs - peak
    return np.asarray(peak.squeeze(axis) + np.log(np.exp(shifted, out=shifted).sum(axis=axis)))


def region_log_wealth(ones: Floats, zeros: Floats, epsilon: Floats) -> tuple[Floats, Floats]:
    """Log wealths of betting on label 1, and on label 0, in regions with these label counts.

    A mixture of likelihood ratios of log-odds epsilon + excess against epsilon: an e-process
    while the label's odds in the region are at most e^epsilon either way. It learns within a batch
    too: its value depends on the counts alone, not on their order. Shape: epsilons, then counts'.
    """
    return _region_log_wealths([(ones, zeros)], epsilon)[0]


def _region_log_wealths(
    counts: Sequence[tuple[Floats, Floats]], epsilon: Floats
) -> list[tuple[Floats, Floats]]:
    """`region_log_wealth` of several sets of regions at once."""
    beyond = epsilon[:, None] + EXCESS
    right = np.logaddexp(0.0, -epsilon)[:, None] - np.logaddexp(0.0, -beyond)
    wrong = np.logaddexp(0.0, epsilon)[:, None] - np.logaddexp(0.0, beyond)
    ones = np.concatenate([n.ravel() for n, _ in counts])
    zeros = np.concatenate([n.ravel() for _, n in counts])
    # First the bets on label 1, then those on label 0.
    won, lost = np.concatenate([ones, zeros]), np.concatenate([zeros, ones])
    total = np.empty((len(epsilon), len(won)))
    for begin in range(0, len(epsilon), _EPSILONS):
        some = slice(begin, begin + _EPSILONS)
        logs = right[some, :, None] * won
        logs += wrong[some, :, None] * lost
        logs += np.log(EXCESS_PRIOR)[:, None]
        total[some] = _log_sum(logs, axis=1)
    found, begin = [], 0
    for n, _ in counts:
        shape = (len(epsilon), *n.shape)
        one = total[:, begin : begin + n.size].reshape(shape)
        zero = total[:, len(ones) + begin : len(ones) + begin + n.size].reshape(shape)
        found.append((one, zero))
        begin += n.size
    return found


def tree_log_wealth(ones: Floats, zeros: Floats, epsilon: Floats) -> Floats:
    """Log wealth of bets on the nodes of binary trees over the last axis (a power of two).

    A node bets on label 1, on label 0, on nothing, or leaves it to its two halves: a mixture of
    products over disjoint regions, so an e-process. Other axes are disjoint trees.
    """
    levels = [(ones, zeros)]
    while levels[-1][0].shape[-1] > 1:
        ones, zeros = levels[-1]
        levels.append((ones[..., ::2] + ones[..., 1::2], zeros[..., ::2] + zeros[..., 1::2]))
    total: Floats | None = None
    for one, zero in _region_log_wealths(levels, epsilon):
        bet = np.log(0.5 * (1.0 - NO_BET)) + _log_add(one, zero)
        stop = _log_add(np.full_like(bet, np.log(NO_BET)), bet)
        if total is None:
            total = stop
        else:
            total = _log_add(stop, total[..., ::2] + total[..., 1::2]) - np.log(2.0)
    assert total is not None
    return np.asarray(total.reshape(len(epsilon), -1).sum(axis=1))


def tails_log_wealth(ones: Floats, zeros: Floats, epsilon: Floats) -> Floats:
    """Log wealth of bets on the two tails of ordered cells, the last axis (a power of two).

    The tails are disjoint; where each begins is mixed over. Most weight is on opposite labels in
    them (a likelihood ratio that is monotone), and of that a part on tails that are alike: equally
    many cells, equal odds, so that one prior is paid for instead of two. The rest is on equal
    labels and on one tail alone.
    """
    half = ones.shape[-1] // 2
    if half == 0:
        return tree_log_wealth(ones, zeros, epsilon)

    def tail(up: bool) -> tuple[Floats, Floats]:
        kept = slice(None, None, -1) if up else slice(None)
        n1, n0 = (np.cumsum(n[..., kept], axis=-1)[..., :half] for n in (ones, zeros))
        return n1, n0

    (high1, high0), (deep1, deep0) = tail(True), tail(False)
    regions = [(high1, high0), (deep1, deep0), (high1 + deep0, high0 + deep1)]
    (up1, up0), (low1, low0), alike = (
        tuple(_log_sum(logs, axis=-1) - np.log(half) for logs in both)
        for both in _region_log_wealths(regions, epsilon)
    )
    alone = np.log(0.125 * (1.0 - MONOTONE))
    opposite = 0.5 * MONOTONE
    ways = np.array(
        [
            np.log(opposite * ALIKE) + _log_add(*alike),
            np.log(opposite * (1.0 - ALIKE)) + _log_add(up1 + low0, up0 + low1),
            np.log(2.0) + alone + _log_add(up1 + low1, up0 + low0),
            alone + _log_add(up1, up0),
            alone + _log_add(low1, low0),
        ]
    )
    total = _log_sum(ways, axis=0)
    return np.asarray(total.reshape(len(epsilon), -1).sum(axis=1))


class MixtureWealth:
    """The wealths of several hypotheses, each spread over a fixed set of betting fractions.

    `log_wealth()` is the log of their sum, an e-process per hypothesis. `refuted`
    is sticky: once a wealth has reached 1/alpha, its hypothesis stays refuted.
    """

    def __init__(
        self,
        hypotheses: int,
        alpha: float,
        fractions: tuple[tuple[float, float], ...] = FRACTIONS,
    ) -> None:
        check_alpha(alpha)
        self.fractions, shares = np.array(fractions, dtype=np.float64).T
        if np.any((self.fractions < 0) | (self.fractions > 1)) or abs(shares.sum() - 1.0) > 1e-9:
            raise ValueError(f"fractions lie in [0, 1] and their parts sum to 1: {fractions=}")
        self.logs = np.log(np.tile(shares, (hypotheses, 1)))
        self.threshold = math.log(1.0 / alpha)
        self.refuted = np.zeros(hypotheses, dtype=bool)
        self.peak = np.zeros(hypotheses)

    def settle(self, which: NDArray[np.intp], payoffs: Floats, times: Floats) -> None:
        """Add bets with payoffs e - 1, shape (hypotheses, kinds), each made `times` times."""
        with np.errstate(divide="ignore"):
            for j, fraction in enumerate(self.fractions):
                gain = np.log1p(np.maximum(fraction * payoffs, -1.0))
                # 0 * -inf: a ruinous outcome that did not happen costs nothing.
                used = np.where(times > 0, gain, 0.0)
                self.logs[which, j] += np.einsum(
                    "hk,hk->h", used, np.broadcast_to(times, used.shape)
                )
        now = self.log_wealth()
        self.peak = np.maximum(self.peak, now)
        self.refuted |= now >= self.threshold

    def log_wealth(self) -> Floats:
        return np.asarray(np.logaddexp.reduce(self.logs, axis=1))


def prefix_bound(grid: Floats, refuted: NDArray[np.bool_]) -> float:
    """The largest grid value such that it and all smaller ones are refuted; 0 if there is none.

    The bound exceeds the true value only if the least grid value at or above the truth is
    refuted: one fixed, true hypothesis. So the whole grid costs one alpha.
    """
    standing = np.flatnonzero(~refuted)
    last = (int(standing[0]) if len(standing) else len(grid)) - 1
    return float(grid[last]) if last >= 0 else 0.0


def bernoulli_log_wealth(
    successes: float | Floats, trials: float | Floats, p: float | Floats
) -> Floats:
    """Log wealth against "the probability is p", betting by a Beta(1/2, 1/2) mixture.

    A martingale under p, for independent (or just conditionally fair) trials.
    """
    k, n = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    from scipy.special import xlog1py, xlogy

    evidence = betaln(k + 0.5, n - k + 0.5) - betaln(0.5, 0.5)
    return np.asarray(evidence - xlogy(k, p) - xlog1py(n - k, -np.asarray(p, dtype=np.float64)))


def bernoulli_sequence(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """Confidence sequence for a probability: all p whose wealth is still below 1/alpha.

    Guarantees that with probability >= 1 - alpha the interval holds the truth at *every* number of
    trials at once.
    """
    check_alpha(alpha)
    check_counts(successes, trials)
    limit = math.log(1.0 / alpha)
    mean = successes / trials if trials else 0.5

    def edge(outside: float) -> float:
        if trials == 0 or float(bernoulli_log_wealth(successes, trials, outside)) < limit:
            return outside
        inside = mean
        for _ in range(80):
            middle = 0.5 * (inside + outside)
            if float(bernoulli_log_wealth(successes, trials, middle)) < limit:
                inside = middle
            else:
                outside = middle
        return outside

    return edge(0.0), edge(1.0)
