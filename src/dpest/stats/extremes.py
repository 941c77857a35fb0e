"""A lower bound on epsilon at a delta from the labels of the most extreme scores.

A coin picks the input of each run: the first one ("inside") with probability `share`. Given all
outputs, the labels are independent of each other, and under epsilon-DP the odds of a label are at
most e^epsilon times the coin's. So among the k highest scores, a set that does not depend on the
labels, the number of wrong labels ("outside") is at least binomial; and so, in the other direction,
among the lowest ones. Under (epsilon, delta)-DP each run is, with probability delta, one that gives
its label away, and otherwise one of epsilon-DP (Kairouz, Oh and Viswanath 2015): those are taken to
be right and at the very ends.

Three ways to look (both ends at once, the top, the bottom) share alpha. Each looks at many k. Its
statistic is the least of the weighted p-values at each k, whose distribution is known exactly: as k
grows, the number of wrong labels is a random walk with independent steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, expit

from dpest.stats import binomial
from dpest.stats._checks import check_alpha
from dpest.stats.binomial import log_pmf
from dpest.stats.ranks import insiders_below

Floats = NDArray[np.float64]
Counts = NDArray[np.intp]

#: Parts of alpha for both ends together, for the top and for the bottom.
WAYS = (("both", 0.4), ("top", 0.3), ("bottom", 0.3))
# Part of alpha that pays for more runs that give themselves away than are reckoned with.
_REVEALED_SHARE = 0.01
_FIRST, _RATIO = 6, 1.4
# Looks at which so many wrong labels are expected get most of the weight: at fewer, nothing can be
# refuted; at more, the scores are seldom the most telling ones.
_TELLING, _REST = (2.5, 40.0), 0.15
# Beyond so many wrong labels the walks take long: there, the p-values are added up instead.
_WALKED = 1500
_TOLERANCE = 2e-4
_LARGEST = 40.0


@dataclass(frozen=True)
class Looks:
    """What one way sees: how many scores are looked at from either end, and how many labels are
    wrong among them, for growing numbers.
    """

    name: str
    part: float
    top: Counts
    bottom: Counts
    wrong: Counts


@dataclass(frozen=True)
class ExtremeLabels:
    """Labels of the scores from both ends; see the module. `runs` were picked by the coin."""

    looks: tuple[Looks, ...]
    runs: int
    share: float

    def refutes(self, epsilon: float, delta: float, alpha: float) -> bool:
        """Whether (epsilon, delta)-DP is refuted; if it holds, with probability at most alpha."""
        return any(self._way_refutes(way, epsilon, delta, alpha * way.part) for way in self.looks)

    def bound(self, alpha: float, delta: float = 0.0) -> float:
        """A lower bound on epsilon at `delta`, at confidence 1 - alpha; 0 where none follows."""
        check_alpha(alpha)
        low, high = 0.0, 1.0 / 32.0
        while self.refutes(high, delta, alpha):
            low, high = high, 1.5 * high
            if high > _LARGEST:
                return low
        while high - low > _TOLERANCE:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.refutes(middle, delta, alpha) else (low, middle)
        return low

    def _way_refutes(self, way: Looks, epsilon: float, delta: float, alpha: float) -> bool:
        # Chances that a label is wrong, at the top and at the bottom.
        odds = math.log(self.share) - math.log1p(-self.share)
        wrong = (float(expit(-epsilon - odds)), float(expit(-epsilon + odds)))
        looks = len(way.top)
        least = _least(way, 0, *wrong)[0]
        if looks == 0 or least > alpha:
            return False
        most, left = 0, 0.0
        if delta > 0.0:
            most = int(binomial.upper_quantile(_REVEALED_SHARE * alpha, self.runs, delta))
            left = float(binomial.upper_tail(most + 1, self.runs, delta))
        if left + looks * _least(way, most, *wrong)[0] <= alpha:
            return True  # even if the looks were added up, as weights are at most 1
        if most == 0 or most > 4:
            return left + _chance_of_least(way, most, *wrong) <= alpha
        chances = np.exp(binomial.log_pmf(np.arange(most + 1), self.runs, delta))
        for d, chance in enumerate(chances.tolist()):
            left += chance * _chance_of_least(way, d, *wrong)
        return left <= alpha

    def observed(self, delta: float = 0.0) -> tuple[str, int, int, int]:
        """The look whose odds are best after two standard errors: its name, sizes, wrong labels."""
        return self._best(delta)[1]

    def promise(self, delta: float = 0.0) -> float:
        """The log-odds of that look, two standard errors down; to compare scores with, no bound."""
        return self._best(delta)[0]

    def _best(self, delta: float) -> tuple[float, tuple[str, int, int, int]]:
        best, found = -math.inf, ("top", 0, 0, 0)
        for way in self.looks:
            for top, bottom, wrong in zip(
                way.top.tolist(), way.bottom.tolist(), way.wrong.tolist(), strict=True
            ):
                right = top + bottom - wrong - delta * self.runs
                if right <= 0:
                    continue
                spread = math.sqrt(1.0 / right + 1.0 / (wrong + 0.5))
                value = math.log(right / (wrong + 0.5)) - 2.0 * spread
                if value > best:
                    best, found = value, (way.name, top, bottom, wrong)
        return best, found


def _least(way: Looks, revealed: int, top: float, bottom: float) -> tuple[float, Counts, float]:
    """The least weighted p-value of all looks if so many labels were given away; their binomials.

    Of labels that are given away none is wrong; they are taken from the side where more would be.
    """
    k_top, k_bottom = way.top, way.bottom
    if revealed:
        if top >= bottom:
            rest = np.maximum(revealed - k_top, 0)
            k_top, k_bottom = np.maximum(k_top - revealed, 0), np.maximum(k_bottom - rest, 0)
        else:
            rest = np.maximum(revealed - k_bottom, 0)
            k_bottom, k_top = np.maximum(k_bottom - revealed, 0), np.maximum(k_top - rest, 0)
    n, chance = _mixed(k_top, k_bottom, top, bottom)
    weighted = _lower_tail(way.wrong, n, chance) / _weights(n, chance)
    return float(weighted.min(initial=math.inf)), n, chance


def _weights(n: Counts, chance: float) -> Floats:
    """The looks' weights, from what the hypothesis expects alone."""
    expected = n * chance
    telling = (expected >= _TELLING[0]) & (expected <= _TELLING[1])
    return np.where(telling | (not telling.any()), 1.0, _REST)


def _chance_of_least(way: Looks, revealed: int, top: float, bottom: float) -> float:
    """P(some look's weighted p-value is as small as the least one seen)."""
    least, n, chance = _least(way, revealed, top, bottom)
    if least >= 0.5:
        return 1.0
    levels = least * _weights(n, chance)
    limits = _most_with(levels, n, chance)
    if limits.max() > _WALKED:
        return min(1.0, float(levels.sum()))
    return _crossing(limits, n, chance)


def _mixed(
    top: Counts, bottom: Counts, wrong_top: float, wrong_bottom: float
) -> tuple[Counts, float]:
    """One binomial for two: exact where the chances agree, with fewer wrong labels elsewhere."""
    if not top.any() or not bottom.any():
        return top + bottom, wrong_top if top.any() else wrong_bottom
    return top + bottom, min(wrong_top, wrong_bottom)


def _lower_tail(wrong: Counts, n: Counts, chance: float) -> Floats:
    """P(at most `wrong` of n labels are wrong)."""
    inner = wrong < n
    tail = betainc(np.where(inner, n - wrong, 1), wrong + 1.0, 1.0 - chance)
    return np.where(inner, tail, 1.0)


def _most_with(levels: Floats, n: Counts, chance: float) -> Counts:
    """The largest numbers of wrong labels with p-values of at most `levels`; -1 if none has."""
    levels = levels * (1.0 + 1e-9)  # rounding must not leave out the look that was the least
    low, high = np.full(len(n), -1), n.copy()
    while (high - low > 1).any():
        middle = (low + high) // 2
        small = (_lower_tail(np.maximum(middle, 0), n, chance) <= levels) & (middle >= 0)
        low, high = np.where(small, middle, low), np.where(small, high, middle)
    return low


def _crossing(limits: Counts, n: Counts, chance: float) -> float:
    """P(at some look at most `limits` wrong labels), of a walk with independent steps."""
    most = int(limits.max())
    if most < 0:
        return 0.0
    state = np.ones(1)
    crossed, before = 0.0, 0
    for limit, now in zip(limits.tolist(), n.tolist(), strict=True):
        if now > before:
            # Paths with more wrong labels than the largest limit never cross: they are left out,
            # as is a step ten standard deviations beyond its mean.
            mean = chance * (now - before)
            reach = math.ceil(mean + 10.0 * math.sqrt(mean) + 40.0)
            wrongs = np.arange(min(most, now - before, reach) + 1)
            steps = np.exp(log_pmf(wrongs, now - before, chance))
            state = np.convolve(state, steps)[: most + 1]
            before = now
        if limit >= 0:
            crossed += float(state[: limit + 1].sum())
            state[: limit + 1] = 0.0
    return min(1.0, crossed)


def extreme_labels(
    inside: Floats, outside: Floats, share: float, rng: np.random.Generator
) -> ExtremeLabels:
    """Labels from both ends of scores whose inputs a coin picked (inside with chance `share`).

    Equal scores are put in an order by `rng`, which knows nothing of the labels.
    """
    runs = len(inside) + len(outside)
    sizes = _sizes(runs)
    looks = []
    for name, part in WAYS:
        top = sizes if name != "bottom" else np.zeros_like(sizes)
        bottom = sizes if name != "top" else np.zeros_like(sizes)
        if name == "both":
            if share != 0.5:
                top = np.maximum(1, np.round(2.0 * share * sizes)).astype(np.intp)
                bottom = np.maximum(1, 2 * sizes - top)
            fits = top + bottom <= runs
            top, bottom = top[fits], bottom[fits]
        looks.append((name, part, top, bottom))
    ranks = np.concatenate([np.concatenate([runs - top, bottom]) for _, _, top, bottom in looks])
    below = insiders_below(inside, outside, ranks, rng)
    found, begin = [], 0
    for name, part, top, bottom in looks:
        under_top, lowest = np.split(below[begin : begin + 2 * len(top)], 2)
        begin += 2 * len(top)
        # Outsiders among the highest, insiders among the lowest.
        wrong = top - (len(inside) - under_top) + lowest
        found.append(Looks(name, part, top, bottom, wrong))
    return ExtremeLabels(tuple(found), runs, share)


def _sizes(runs: int) -> Counts:
    """How many scores are looked at, from an end: 6 and then 40 % more each time, up to half."""
    last = runs // 2
    if last < _FIRST:
        return np.arange(1, last + 1)
    steps = math.floor(math.log(last / _FIRST) / math.log(_RATIO)) + 1
    return np.unique(np.round(_FIRST * _RATIO ** np.arange(steps)).astype(np.intp))


def coin_sample(
    inside: Floats, outside: Floats, alpha: float, rng: np.random.Generator
) -> tuple[Floats, Floats, float, float]:
    """Some of two fixed samples, as if a coin had picked the input of each run.

    A coin of the samples' proportions is thrown so many times that both samples suffice but for a
    chance of at most alpha/1000, which is returned at last to be paid for (the samples are then
    empty). Which scores are left out is random. Returns both samples, the coin's chance of
    "inside", and that chance.
    """
    m, n = len(inside), len(outside)
    share = m / (m + n)
    unlikely = alpha / 1000.0
    throws = _throws(m, n, unlikely)
    picked = int(rng.binomial(throws, share))
    if picked > m or throws - picked > n:  # it was paid for
        return np.empty(0), np.empty(0), share, unlikely
    return _some(inside, picked, rng), _some(outside, throws - picked, rng), share, unlikely


@lru_cache(maxsize=256)
def _throws(m: int, n: int, unlikely: float) -> int:
    """The most throws for which m and n runs suffice, but for so small a chance."""
    share = m / (m + n)
    low, high = 0, m + n
    while low < high:
        middle = (low + high + 1) // 2
        short = binomial.upper_tail(m + 1, middle, share)
        short += binomial.upper_tail(n + 1, middle, 1.0 - share)
        low, high = (middle, high) if short <= unlikely else (low, middle - 1)
    return low


def _some(values: Floats, count: int, rng: np.random.Generator) -> Floats:
    """`count` of the values, at random."""
    left_out = rng.choice(len(values), len(values) - count, replace=False, shuffle=False)
    return np.delete(values, left_out)
