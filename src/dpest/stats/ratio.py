"""Lower bounds on the ratio of two probabilities.

Everything is about one event S with probability p1 on the first input and p2 on the second.
A lower bound r on log((p1 - delta)/p2) refutes (epsilon, delta)-DP for every epsilon below r.

Three bounds, from the widest to the tightest:

- `split`: two Clopper-Pearson bounds with alpha/2 each, as DP-Sniper does;
- `coin_label`: a fair coin picks the input of each run; given that the output falls in S the
  label is Bernoulli with odds p1/p2, so one exact binomial bound does. Only for delta = 0;
- `unconditional`: fixed numbers of runs on both sides, Buehler's exact bound. It also uses what
  is known about how often S happens, which pays when S is likely.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from dpest.stats import binomial, clopper_pearson
from dpest.stats._checks import check_alpha, check_counts

# Share of alpha that pays for the interval in which the second probability is searched.
_NUISANCE_SHARE = 0.01
# Width of the blocks of the sum over k2, in standard deviations, and how far out they reach.
_BLOCK_WIDTH = 0.03
_BLOCK_REACH = 6.0
# Slack that the grid over p2 may cost, as a share of alpha, and the most points it may have.
_SLACK_SHARE = 0.016
_GRID_POINTS = 400


def _log_excess(p1: float, p2: float, delta: float) -> float:
    if p1 <= delta:
        return -math.inf
    return math.inf if p2 <= 0.0 else math.log((p1 - delta) / p2)


def split(k1: int, n1: int, k2: int, n2: int, alpha: float, delta: float = 0.0) -> float:
    """log((p1 - delta)/p2) from two Clopper-Pearson bounds at alpha/2.

    Assumes independent runs within each side, any dependence between the sides. Guarantees a
    value at most log((p1 - delta)/p2) with probability >= 1 - alpha; -inf where nothing follows.
    """
    p1 = float(clopper_pearson.lower(k1, n1, alpha / 2))
    p2 = float(clopper_pearson.upper(k2, n2, alpha / 2))
    return _log_excess(p1, p2, delta)


def coin_label(k1: int, k2: int, alpha: float) -> float:
    """log(p1/p2) from the labels of the outputs in S, when a fair coin picked each run's input.

    Assumes that every run's input was chosen by an independent fair coin; `k1` and `k2` count the
    runs in S by label. Guarantees a value at most log(p1/p2) with probability >= 1 - alpha, also
    given k1 + k2. (With fixed numbers of runs on each side use `unconditional`.)
    """
    share = float(clopper_pearson.lower(k1, k1 + k2, alpha)) if k1 + k2 else 0.0
    if share <= 0.0:
        return -math.inf
    # k1 = k2 + k1 still gives a share below 1: a zero count never shows infinity.
    return math.log(share / (1.0 - share))


def unconditional(k1: int, n1: int, k2: int, n2: int, alpha: float, delta: float = 0.0) -> float:
    """Exact lower bound on log((p1 - delta)/p2) for fixed numbers of runs n1, n2.

    Buehler's bound: order all outcomes (k1, k2) by a heuristic statistic that rises in k1 and
    falls in k2; the bound is the largest r such that an outcome as extreme as this one has
    probability at most alpha whenever p1 = e^r p2 + delta. The unknown p2 runs over a
    Clopper-Pearson interval that costs alpha/100 (Berger and Boos). The supremum over p2 is taken
    on a grid plus a bound on the curvature between its points, and sums over k2 in blocks are
    rounded up, so that the result errs only downwards.

    Assumes independent runs. Guarantees P(bound <= log((p1 - delta)/p2)) >= 1 - alpha for all
    p1, p2. It never exceeds 300; -inf where nothing follows.
    """
    check_counts([k1, k2], [n1, n2])
    check_alpha(alpha)
    if not 0.0 <= delta < 1.0:
        raise ValueError(f"delta is a probability below 1, got {delta=}")
    if n1 < 1 or n2 < 1 or k1 == 0:
        return -math.inf
    region = _Region(k1, n1, k2, n2, alpha, delta)
    if region.empty:
        return -math.inf
    return region.bound()


lower_bound = unconditional


class _Region:
    """All outcomes at least as extreme as the observed one, and their largest probability."""

    def __init__(self, k1: int, n1: int, k2: int, n2: int, alpha: float, delta: float) -> None:
        self.n1, self.n2, self.delta = n1, n2, delta
        gamma = alpha * _NUISANCE_SHARE
        self.level = alpha - gamma
        self.low = float(clopper_pearson.lower(k2, n2, gamma / 2))
        self.high = float(clopper_pearson.upper(k2, n2, gamma / 2))
        # The statistic is a ratio of one-sided bounds whose level makes it, for two sides of
        # equal spread, the usual lower bound: z/sqrt(2) on each side.
        self.side = min(0.45, float(ndtr(ndtri(alpha) / math.sqrt(2.0))))
        p1 = float(clopper_pearson.lower(k1, n1, self.side))
        p2 = float(clopper_pearson.upper(k2, n2, self.side))
        self.statistic = _log_excess(p1, p2, delta)
        self.empty = not self.statistic > -math.inf
        if self.empty:
            return
        # The tolerance only enlarges the region.
        self.slope = math.exp(self.statistic) * (1.0 - 1e-11)
        self.k1, self.k2 = k1, k2
        starts, self.blocks = self._blocks()
        self.needed = self._needed(starts)

    def _blocks(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Blocks of k2: their first values, and the edges between them (ending at n2 + 1).

        The first block starts at 0 and the last ends at n2, so that no outcome is left out.
        """
        sd_low = math.sqrt(self.n2 * self.low * (1.0 - self.low))
        sd_high = math.sqrt(self.n2 * self.high * (1.0 - self.high))
        first = max(0, math.floor(self.n2 * self.low - _BLOCK_REACH * sd_low - 20.0))
        last = min(self.n2, math.ceil(self.n2 * self.high + _BLOCK_REACH * sd_high + 20.0))
        sd = max(sd_low, sd_high)
        width = max(1, math.floor(_BLOCK_WIDTH * sd))
        inner = np.arange(first, last + 1, width, dtype=np.float64)
        edges = np.unique(np.concatenate([[0.0], inner, [float(self.n2 + 1)]]))
        return edges[:-1], edges

    def _needed(self, k2: NDArray[np.float64]) -> NDArray[np.float64]:
        """The least k1 that puts (k1, k2) into the region; n1 + 1 where none does."""
        target = self.delta + self.slope * clopper_pearson.upper(k2, self.n2, self.side)
        possible = target < 1.0
        # Clopper-Pearson's lower bound of k1 reaches the target iff P(X >= k1; target) <= side.
        k1 = binomial.upper_quantile(self.side, self.n1, np.where(possible, target, 0.5)) + 1.0
        needed = np.where(possible, np.minimum(k1, self.n1 + 1.0), self.n1 + 1.0)
        # Rounding must not exclude the observed outcome.
        return np.where((k2 == self.k2) & possible, np.minimum(needed, self.k1), needed)

    def probability(
        self, r: float, p2: NDArray[np.float64], partner: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """P(region) at p1 = min(1, e^r p2 + delta), never too small, for each p2.

        With `partner`, p1 is computed from it instead of from p2.
        """
        source = p2 if partner is None else partner
        p1 = np.minimum(1.0, math.exp(r) * source + self.delta)
        cdf = binomial.lower_tail(self.blocks[1:-1, None] - 1.0, float(self.n2), p2[None, :])
        ones, zeros = np.ones((1, len(p2))), np.zeros((1, len(p2)))
        mass = np.diff(np.vstack([zeros, cdf, ones]), axis=0)
        # Within a block the least k2 needs the least k1: rounded up.
        reach = binomial.upper_tail(self.needed[:, None], float(self.n1), p1[None, :])
        return np.einsum("ij,ij->j", np.maximum(mass, 0.0), reach)

    def supremum(self, r: float) -> float:
        """An upper bound on P(region) over all p2 of the interval."""
        top = min(self.high, (1.0 - self.delta) / math.exp(r))
        if top <= self.low:
            # e^r p2 + delta exceeds 1 on the whole interval: p1 = 1 is the only candidate.
            return float(self.probability(r, np.array([self.low]))[0])
        # The second derivative of P(region) in p2 is E[1{region} (S^2 + S')] for the score S;
        # S' <= 0 and the whole has mean zero without the indicator, so it is at most the Fisher
        # information. Between two grid points P exceeds the larger end by at most
        # step^2/8 times that.
        ratio = math.exp(r)
        ends = np.array([self.low, top])
        p1 = ratio * ends + self.delta
        with np.errstate(divide="ignore"):
            # 1/(p(1-p)) is convex: its largest value is at an end.
            information = self.n2 / (ends * (1.0 - ends)) + self.n1 * ratio * ratio / (
                p1 * (1.0 - p1)
            )
        if np.isfinite(information).all():
            step = math.sqrt(8.0 * _SLACK_SHARE * self.level / information.max())
            points = math.ceil((top - self.low) / step) + 1
            if points <= _GRID_POINTS:
                grid = np.linspace(self.low, top, max(points, 2))
                slack = information.max() * (grid[1] - grid[0]) ** 2 / 8.0
                return float(self.probability(r, grid).max()) + float(slack)
        return self._monotone_supremum(r, self.low, top)

    def _monotone_supremum(self, r: float, low: float, top: float) -> float:
        """Supremum near the ends 0 and 1, where the curvature has no bound.

        On [u, v] the probability is at most that with k1 drawn at v and k2 drawn at u, since the
        region rises in k1 and falls in k2.
        """
        angle = np.linspace(
            math.asin(math.sqrt(low)), math.asin(math.sqrt(min(top, 1.0))), _GRID_POINTS + 1
        )
        grid = np.clip(np.sin(angle) ** 2, low, top)
        return float(self.probability(r, grid[:-1], grid[1:]).max())

    def bound(self) -> float:
        """An r whose supremum stays at or below the level, close to the largest one."""
        middle = np.array([0.5 * (self.low + self.high), max(self.k2, 1) / self.n2, self.high])

        def quick(r: float) -> float:
            # Beyond the p2 at which p1 reaches 1 nothing new comes.
            top = max(self.low, min(self.high, (1.0 - self.delta) / math.exp(r)))
            candidates = np.append(np.minimum(middle, top), [0.9 * top, 0.75 * top])
            return float(self.probability(r, np.maximum(candidates, self.low)).max())

        high = self.statistic
        step = 0.05
        while quick(high) <= self.level and high < 300.0:
            high, step = min(300.0, high + step), 2.0 * step
        low, step = high, 1e-4
        while quick(low) > self.level:
            low, step = low - step, 2.0 * step
            if low < -300.0:
                return -math.inf
        for _ in range(40):
            if high - low < 1e-9:
                break
            centre = 0.5 * (low + high)
            low, high = (centre, high) if quick(centre) <= self.level else (low, centre)
        # The full supremum is a little larger; step down by a small part of the bound's spread.
        share1, share2 = self.k1 / self.n1, max(self.k2, 1) / self.n2
        spread = math.sqrt(
            max(1.0 - share1, 0.01) / self.k1 + max(1.0 - share2, 0.01) / max(self.k2, 1)
        )
        step = spread / 150.0
        low -= step
        while self.supremum(low) > self.level:
            low, step = low - step, 1.5 * step
            if low < -300.0:
                return -math.inf
        return low
