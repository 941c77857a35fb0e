"""From scores of runs on two inputs to a lower bound on any measure of privacy, and an estimate.

Each measure has the test that needs the fewest runs for it:

- epsilon, and epsilon at a small delta: the labels of the most extreme scores (`stats.extremes`);
- epsilon at a large delta: a threshold chosen on some scores, counted on the others;
- mu of Gaussian DP: the share of pairs in the right order (`stats.gaussian_curve`);
- Rényi divergences and zCDP: bets on a learnt likelihood ratio (`stats.divergence_bound`).

The last two leave a part of alpha to the whole curve (`stats.score_curve`), which sees leaks in the
tails that an average doesn't.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.evidence import Measure
from dpest.stats import extremes, gaussian_curve, ratio
from dpest.stats.divergence_bound import divergence_bound
from dpest.stats.extremes import ExtremeLabels
from dpest.stats.ranks import ordered
from dpest.stats.score_curve import ScoreCurve, score_curve

Floats = NDArray[np.float64]

# Expected runs that (epsilon, delta)-DP may give away, beyond which the ends say too little.
_GIVEN_AWAY = 4.0
# The part of alpha that a mean gets where it is shared with the curve.
_MEAN_SHARE = 0.8
# The part of the scores on which a threshold is chosen, and the caution with which it is.
_CHOOSING, _CAUTION = 0.25, 2.0
# The level of a curve that only compares scores.
_CURVE_CAUTION = 0.5


@dataclass(frozen=True)
class ScoredRuns:
    """Scores of runs on both inputs; high ones speak for the first input, "inside".

    All scores are independent of each other. `coin`: a fair coin picked the input of each run (then
    their numbers are random); otherwise the numbers were fixed.
    """

    inside: Floats
    outside: Floats
    coin: bool = False

    @property
    def runs(self) -> int:
        return len(self.inside) + len(self.outside)


@dataclass(frozen=True)
class ScoreBound:
    """A lower bound, the event that shows it with its frequencies, and an estimate beside it."""

    value: float
    method: str
    event: str = ""
    p: float | None = None
    q: float | None = None
    swapped: bool = False
    estimate: float = 0.0
    error: float = math.inf
    details: dict[str, Any] = field(default_factory=dict)


def lower_bound(runs: ScoredRuns, measure: Measure, alpha: float, seed: int = 0) -> ScoreBound:
    """A lower bound on the measure for this pair of inputs, at confidence 1 - alpha; at least 0."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, 22]))
    if measure.kind == "gdp":
        return _gdp(runs, alpha, rng)
    if measure.kind == "zcdp":
        return _divergence(runs, alpha, rng, None)
    if measure.kind == "renyi" and measure.alpha is not None and measure.alpha < math.inf:
        return _divergence(runs, alpha, rng, measure.alpha)
    if measure.delta * runs.runs > _GIVEN_AWAY:
        return _threshold(runs, measure.delta, alpha, rng)
    return _extremes(runs, measure.delta, alpha, rng)


def _extremes(runs: ScoredRuns, delta: float, alpha: float, rng: np.random.Generator) -> ScoreBound:
    inside, outside, share, paid = runs.inside, runs.outside, 0.5, 0.0
    if not runs.coin:
        inside, outside, share, paid = extremes.coin_sample(inside, outside, alpha, rng)
    if min(len(inside), len(outside)) == 0:
        return ScoreBound(0.0, "scores: labels of the extremes")
    found = extremes.extreme_labels(inside, outside, share, rng)
    value = found.bound(alpha - paid, delta)
    return _described(found, runs, value, delta, np.sort(np.concatenate([inside, outside])))


def _described(
    found: ExtremeLabels, runs: ScoredRuns, value: float, delta: float, ordered: Floats
) -> ScoreBound:
    way, top, bottom, wrong = found.observed(delta)
    method = "scores: labels of the extremes"
    if top + bottom == 0:
        return ScoreBound(value, method)
    n1, n0 = max(len(runs.inside), 1), max(len(runs.outside), 1)
    words = []
    if top:
        high = float(ordered[len(ordered) - top])
        words.append(f"scores of at least {high:.6g}")
        p = np.count_nonzero(runs.inside >= high) / n1
        q = np.count_nonzero(runs.outside >= high) / n0
    if bottom:
        low = float(ordered[bottom - 1])
        other = f"scores of at most {low:.6g}"
        words.append(f"for the other input, {other}" if top else other)
        if not top:
            p = np.count_nonzero(runs.outside <= low) / n0
            q = np.count_nonzero(runs.inside <= low) / n1
    # The coin's own odds speak for neither input.
    odds = math.log(found.share) - math.log1p(-found.share)
    prior = odds * (top - bottom) / (top + bottom)
    right = max(top + bottom - wrong - delta * found.runs, 0.5)
    return ScoreBound(
        value,
        method,
        event="; ".join(words),
        p=float(p),
        q=float(q),
        swapped=way == "bottom",
        estimate=max(0.0, math.log(right / (wrong + 0.5)) - prior),
        error=math.sqrt(1.0 / right + 1.0 / (wrong + 0.5)),
        details={"right": top + bottom - wrong, "wrong": wrong, "coin_runs": found.runs},
    )


def _threshold(
    runs: ScoredRuns, delta: float, alpha: float, rng: np.random.Generator
) -> ScoreBound:
    """A threshold and a direction chosen on a quarter of the scores, counted on the rest."""
    choosing = [rng.random(len(v)) < _CHOOSING for v in (runs.inside, runs.outside)]
    method = "scores: a threshold"
    if not all(some.any() and not some.all() for some in choosing):
        return ScoreBound(0.0, method)
    inside, outside = runs.inside[choosing[0]], runs.outside[choosing[1]]
    first, second = runs.inside[~choosing[0]], runs.outside[~choosing[1]]
    t, swapped = _choose_threshold(inside, outside, delta, min(len(first), len(second)))
    if swapped:
        first, second = second, first
    k1, k2 = (int(np.count_nonzero(v < t if swapped else v >= t)) for v in (first, second))
    n1, n2 = len(first), len(second)
    value = ratio.unconditional(k1, n1, k2, n2, alpha, delta)
    p, q = k1 / n1, max(k2, 0.5) / n2
    gap = max(p - delta, 0.5 / n1)
    return ScoreBound(
        max(0.0, value),
        method,
        event=f"scores {'below' if swapped else 'of at least'} {t:.6g}",
        p=p,
        q=k2 / n2,
        swapped=swapped,
        estimate=max(0.0, math.log(gap / q)),
        error=math.sqrt(p * (1.0 - p) / n1 / gap**2 + (1.0 - q) / (q * n2)),
        details={"counts": (k1, n1, k2, n2)},
    )


def _choose_threshold(
    inside: Floats, outside: Floats, delta: float, final: int
) -> tuple[float, bool]:
    """The threshold that promises the largest epsilon at delta from `final` scores a side."""
    _, t, swapped = _best_threshold(inside, outside, delta, final)
    return t, swapped


def _best_threshold(
    inside: Floats, outside: Floats, delta: float, final: int
) -> tuple[float, float, bool]:
    """The promise, the threshold, and whether scores below it speak for `outside`."""
    pooled = np.sort(np.concatenate([inside, outside]))
    levels = np.unique(pooled[np.linspace(0, len(pooled) - 1, 200).astype(np.intp)])
    above1 = 1.0 - np.searchsorted(ordered(inside), levels) / len(inside)
    above2 = 1.0 - np.searchsorted(ordered(outside), levels) / len(outside)
    # The final counts will vary, and so do these.
    both = math.sqrt(1.0 / max(final, 1) + 1.0 / min(len(inside), len(outside)))
    best = (-math.inf, 0.0, False)
    for swapped in (False, True):
        p, q = (1.0 - above2, 1.0 - above1) if swapped else (above1, above2)
        q = np.maximum(q, 1.0 / len(inside))
        gap = p - delta
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.sqrt(p * (1.0 - p) / gap**2 + (1.0 - q) / q) * both
            promise = np.where(gap > 0.0, np.log(gap / q) - _CAUTION * spread, -np.inf)
        place = int(np.argmax(promise))
        best = max(best, (float(promise[place]), float(levels[place]), swapped))
    return best


def _gdp(runs: ScoredRuns, alpha: float, rng: np.random.Generator) -> ScoreBound:
    m, n = len(runs.inside), len(runs.outside)
    area = gaussian_curve.right_pairs(runs.inside, runs.outside, rng)
    mean = gaussian_curve.mu_bound(area, m, n, _MEAN_SHARE * alpha)
    curve = score_curve(runs.inside, runs.outside, (1.0 - _MEAN_SHARE) * alpha)
    estimate, error = gaussian_curve.mu_estimate(area, m, n)
    details = {"area": area}
    if curve.mu() > mean:
        return _of_curve(curve, curve.mu(), "μ", max(0.0, estimate), error, details)
    return ScoreBound(
        mean,
        "scores: pairs in the right order",
        event="the first input has the higher score, in a pair of runs, one on each input",
        p=area,
        q=1.0 - area,
        estimate=max(0.0, estimate),
        error=error,
        details=details,
    )


def _divergence(
    runs: ScoredRuns, alpha: float, rng: np.random.Generator, order: float | None
) -> ScoreBound:
    bets = divergence_bound(runs.inside, runs.outside, _MEAN_SHARE * alpha, rng, order)
    curve = score_curve(runs.inside, runs.outside, (1.0 - _MEAN_SHARE) * alpha)
    whole = curve.zcdp() if order is None else curve.renyi(order)
    details = {"order": bets.order, "pairs": bets.pairs}
    if whole > bets.value:
        return _of_curve(curve, whole, "the divergence", bets.estimate, bets.error, details)
    return ScoreBound(
        bets.value,
        "scores: bets on the likelihood ratio",
        event=f"mean of the likelihood ratio's power that D_{bets.order:g} bounds",
        swapped=bets.swapped,
        estimate=bets.estimate,
        error=bets.error,
        details=details,
    )


def _of_curve(
    curve: ScoreCurve,
    value: float,
    what: str,
    estimate: float,
    error: float,
    details: dict[str, Any],
) -> ScoreBound:
    threshold, x, y = curve.witness()
    return ScoreBound(
        value,
        "scores: the whole curve",
        event=f"the trade-off curve; {what} of it, as at scores of at least {threshold:.6g}",
        p=1.0 - y,
        q=x,
        estimate=estimate,
        error=error,
        details=details,
    )


def worth(measure: Measure, inside: Floats, outside: Floats) -> float:
    """How much scores seem to show, to choose among them: cautious, and no bound."""
    rng = np.random.default_rng(0)
    ways: dict[str, Callable[[], float]] = {
        "gdp": lambda: max(
            _mu_worth(inside, outside, rng), score_curve(inside, outside, _CURVE_CAUTION).mu()
        ),
        "zcdp": lambda: _mu_worth(inside, outside, rng),
        "renyi": lambda: _mu_worth(inside, outside, rng),
        "epsilon": lambda: _odds_worth(inside, outside, measure.delta, rng),
    }
    return ways[measure.kind]()


def _mu_worth(inside: Floats, outside: Floats, rng: np.random.Generator) -> float:
    area = gaussian_curve.right_pairs(inside, outside, rng)
    mu, error = gaussian_curve.mu_estimate(area, len(inside), len(outside))
    return mu - error


def _odds_worth(inside: Floats, outside: Floats, delta: float, rng: np.random.Generator) -> float:
    share = len(inside) / max(len(inside) + len(outside), 1)
    if delta * (len(inside) + len(outside)) > 1.0:
        return _best_threshold(inside, outside, delta, min(len(inside), len(outside)))[0]
    return extremes.extreme_labels(inside, outside, share, rng).promise(delta)
