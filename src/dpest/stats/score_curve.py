"""An upper bound on a whole trade-off function, from scores of runs on two inputs.

"The score is at least t" is a test of the two inputs, for every t: its false positives are the
outside scores at or above t, its false negatives the inside scores below t. Both error rates are
bounded for all t at once (`order_band`), and tests may be mixed at random, so the convex hull of
the bounds lies above the trade-off function T of the pair, everywhere at once. Whatever follows
from "T lies below this curve" therefore follows at one alpha: epsilon at every delta, mu, Rényi
divergences of every order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dpest.stats._checks import check_alpha
from dpest.stats.order_band import TailBand, tail_band
from dpest.stats.ranks import ordered

Floats = NDArray[np.float64]

# Orders at which the zCDP of a curve is looked for: any one is sound.
_ORDERS = 1.0 + np.geomspace(1e-3, 200.0, 40)


@dataclass(frozen=True)
class ScoreCurve:
    """Points (x, y) with T(x) <= y for the true trade-off function T, all at once.

    `x` are bounds on the false positive rates (outside scores taken for inside ones), `y` on the
    false negative rates, `thresholds` the scores from which on "inside" is said; from (0, 1) to
    (1, 0), convex. With probability 1 - `alpha` every statement that is read off it is true.
    """

    x: Floats
    y: Floats
    thresholds: Floats
    alpha: float
    inside: int
    outside: int

    def epsilon(self, delta: float = 0.0) -> float:
        """A lower bound on the epsilon at which (epsilon, delta)-DP can hold; at least 0."""
        return self._best_epsilon(delta)[0]

    def witness(self, delta: float = 0.0) -> tuple[float, float, float]:
        """The threshold of the best event for `delta`, and its bounds on both error rates."""
        _, place = self._best_epsilon(delta)
        return float(self.thresholds[place]), float(self.x[place]), float(self.y[place])

    def _best_epsilon(self, delta: float) -> tuple[float, int]:
        inner = slice(1, -1)
        with np.errstate(divide="ignore"):
            ahead = np.log(np.maximum(1.0 - self.y[inner] - delta, 0.0)) - np.log(self.x[inner])
            back = np.log(np.maximum(1.0 - self.x[inner] - delta, 0.0)) - np.log(self.y[inner])
        if ahead.size == 0:
            return 0.0, 0
        both = np.maximum(ahead, back)
        place = int(np.argmax(both))
        return max(0.0, float(both[place])), place + 1

    def mu(self) -> float:
        """A lower bound on the mu of Gaussian DP; at least 0."""
        inner = slice(1, -1)
        found = -ndtri(self.x[inner]) - ndtri(self.y[inner])
        return max(0.0, float(np.max(found, initial=0.0)))

    def renyi(self, order: float) -> float:
        """A lower bound on the Rényi divergence of this order, in the worse direction.

        The curve is itself the trade-off function of two finite distributions, which can be made
        from the true pair by a random map (Blackwell): their divergence is no larger.
        """
        p, q = -np.diff(self.y), np.diff(self.x)
        kept = (p > 0.0) & (q > 0.0)
        return max(_renyi(p[kept], q[kept], order), _renyi(q[kept], p[kept], order))

    def zcdp(self) -> float:
        """A lower bound on the rho of zCDP: the largest of D_alpha / alpha over some orders."""
        return max(self.renyi(1.0), *(self.renyi(float(a)) / float(a) for a in _ORDERS))

    def at(self, x: Floats | float) -> Floats:
        """The bound on the false negative rate at a false positive rate."""
        return np.asarray(np.interp(x, self.x, self.y))


def _renyi(p: Floats, q: Floats, order: float) -> float:
    """D_order(p‖q) of two finite positive vectors; of part of the outcomes it is no larger."""
    if len(p) == 0:
        return 0.0
    loss = np.log(p) - np.log(q)
    if order == math.inf:
        return max(0.0, float(loss.max()))
    if order == 1.0:
        return max(0.0, float(np.dot(p, loss)))
    logs = np.log(p) + (order - 1.0) * loss
    peak = float(logs.max())
    return max(0.0, (peak + math.log(float(np.exp(logs - peak).sum()))) / (order - 1.0))


def score_curve(inside: Floats, outside: Floats, alpha: float) -> ScoreCurve:
    """The bound from independent scores of runs on either input; high scores speak for `inside`.

    Assumes that all scores are independent, the inside ones with one distribution and the outside
    ones with another; any distributions, equal scores too. The numbers of scores must not depend on
    the scores. Guarantees that with probability at least 1 - `alpha` the curve lies above the
    trade-off function everywhere.
    """
    check_alpha(alpha)
    inside, outside = ordered(inside), ordered(outside)
    m, n = len(inside), len(outside)
    if m == 0 or n == 0:
        raise ValueError("a curve needs scores of both inputs")
    # The two samples are independent: both bands hold with probability (1 - side)².
    side = -math.expm1(0.5 * math.log1p(-alpha))
    misses, alarms = tail_band(m, side), tail_band(n, side)
    thresholds = _thresholds(inside, outside, misses, alarms)
    below = np.searchsorted(inside, thresholds, side="left")
    above = n - np.searchsorted(outside, thresholds, side="left")
    x, y = alarms.at(above), misses.at(below)
    return _hull(x, y, thresholds, alpha, m, n)


def _thresholds(inside: Floats, outside: Floats, misses: TailBand, alarms: TailBand) -> Floats:
    """Where the bounds change: inside scores at the band's counts, and just above outside ones."""
    own = inside[misses.counts]
    other = np.nextafter(outside[len(outside) - 1 - alarms.counts], np.inf)
    return np.unique(np.concatenate([own, other]))


def _hull(
    x: Floats, y: Floats, thresholds: Floats, alpha: float, inside: int, outside: int
) -> ScoreCurve:
    """The lower convex hull of the points together with (0, 1) and (1, 0)."""
    x = np.concatenate([[0.0], x, [1.0]])
    y = np.concatenate([[1.0], y, [0.0]])
    where = np.concatenate([[math.inf], thresholds, [-math.inf]])
    order = np.lexsort((y, x))
    kept: list[int] = []
    for i in order.tolist():
        if kept and y[i] >= y[kept[-1]]:
            continue
        while len(kept) > 1:
            j, k = kept[-2], kept[-1]
            if (y[k] - y[j]) * (x[i] - x[j]) >= (y[i] - y[j]) * (x[k] - x[j]):
                kept.pop()
            else:
                break
        kept.append(i)
    return ScoreCurve(x[kept], y[kept], where[kept], alpha, inside, outside)


@dataclass
class AnytimeCurve:
    """Curves that hold at every moment, while scores come in: one after each growth by a quarter.

    The j-th curve has alpha / (j (j + 1)), which adds up to alpha; so all of them hold together,
    and the best of them may be reported whenever one stops, for whatever reason.
    """

    alpha: float
    first: int = 32
    growth: float = 1.25
    curves: list[ScoreCurve] = field(default_factory=list)
    _inside: list[Floats] = field(default_factory=list)
    _outside: list[Floats] = field(default_factory=list)
    _next: float = 0.0

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        self._next = float(self.first)

    def feed(self, inside: Floats, outside: Floats) -> None:
        """More scores. Only the first ones up to a size fixed beforehand make each curve."""
        self._inside.append(np.asarray(inside, dtype=np.float64))
        self._outside.append(np.asarray(outside, dtype=np.float64))
        ins, outs = np.concatenate(self._inside), np.concatenate(self._outside)
        self._inside, self._outside = [ins], [outs]
        while min(len(ins), len(outs)) >= self._next:
            size, j = math.ceil(self._next), len(self.curves) + 1
            share = self.alpha / (j * (j + 1))
            self.curves.append(score_curve(ins[:size], outs[:size], share))
            self._next *= self.growth

    def epsilon(self, delta: float = 0.0) -> float:
        return max((curve.epsilon(delta) for curve in self.curves), default=0.0)

    def mu(self) -> float:
        return max((curve.mu() for curve in self.curves), default=0.0)

    def renyi(self, order: float) -> float:
        return max((curve.renyi(order) for curve in self.curves), default=0.0)

    def zcdp(self) -> float:
        return max((curve.zcdp() for curve in self.curves), default=0.0)
