"""Scores of runs as evidence: the bound, the estimate beside it, and what a Gaussian curve adds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpest.attacks.scores.bounds import ScoreBound, ScoredRuns, lower_bound
from dpest.evidence import ESTIMATE, Evidence, Measure, Witness, confidence
from dpest.notions.claims import GaussianDP
from dpest.stats import gaussian_curve
from dpest.stats.score_curve import ScoreCurve, score_curve

GAUSSIAN = "the trade-off curve of the scores is Gaussian"
# A curve is called Gaussian, to assume it, while its test does not reject that at this level.
FITS = 0.01


@dataclass(frozen=True)
class GaussianFit:
    """mu of the best Gaussian curve with its standard error, a lower bound, and the test's p."""

    mu: float
    error: float
    lower: float
    p_value: float

    def of(self, mu: float, measure: Measure) -> float:
        """The measure's value for a Gaussian curve."""
        if measure.kind == "gdp":
            return mu
        if measure.kind == "zcdp":
            return mu * mu / 2.0
        if measure.kind == "renyi" and measure.alpha is not None:
            return measure.alpha * mu * mu / 2.0
        return GaussianDP(mu).epsilon_at(measure.delta) if mu > 0.0 else 0.0

    def as_dict(self) -> dict[str, Any]:
        return {
            "mu": self.mu,
            "error": self.error,
            "lower": self.lower,
            "fit_p_value": self.p_value,
        }


def gaussian_fit(runs: ScoredRuns, alpha: float, seed: int = 0) -> GaussianFit:
    """A Gaussian curve for these scores; whether to believe in it is what the p-value is for."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, 23]))
    m, n = len(runs.inside), len(runs.outside)
    area = gaussian_curve.right_pairs(runs.inside, runs.outside, rng)
    mu, error = gaussian_curve.mu_estimate(area, m, n)
    lower = gaussian_curve.mu_bound(area, m, n, alpha)
    p_value, _ = gaussian_curve.fit_p_value(runs.inside, runs.outside, rng)
    return GaussianFit(max(0.0, mu), error, lower, p_value)


def evidence_of(
    runs: ScoredRuns,
    measure: Measure,
    alpha: float,
    *,
    seed: int = 0,
    pair: tuple[Any, Any] = (None, None),
    spent: int | None = None,
    notes: tuple[str, ...] = (),
    details: dict[str, Any] | None = None,
) -> tuple[Evidence, Evidence]:
    """A lower bound at confidence 1 - alpha, and the estimate that belongs to it."""
    found = lower_bound(runs, measure, alpha, seed)
    first, second = pair[::-1] if found.swapped else pair
    about = {**(details or {}), **found.details}
    if math.isfinite(found.error):
        about["estimate"] = {"value": found.estimate, "error": found.error}
    lower = Evidence(
        side="lower",
        value=found.value,
        standing=confidence(alpha),
        method=found.method,
        witness=Witness(x=first, x2=second, event=found.event, p=found.p, q=found.q),
        runs=runs.runs if spent is None else spent,
        seed=seed,
        measure=measure,
        notes=notes,
        details=about,
    )
    return lower, _estimate(found, lower)


def _estimate(found: ScoreBound, lower: Evidence) -> Evidence:
    """What the event that was counted, or the average, points to; no bound."""
    return lower.with_(
        value=found.estimate,
        standing=ESTIMATE,
        error=found.error if math.isfinite(found.error) else found.estimate,
        notes=(),
        details={"of": "what these scores show, not the most that the mechanism leaks"},
    )


def assuming_gaussian(
    fit: GaussianFit, measure: Measure, alpha: float, runs: int, seed: int
) -> Evidence | None:
    """The lower bound if the curve is Gaussian: labelled, and never a bound of the verdict."""
    if measure == Measure() or measure.kind == "gdp":
        return None  # a Gaussian curve has no pure ε; its μ needs no assumption
    assumption = f"{GAUSSIAN} (test of the fit: p = {fit.p_value:.2g})"
    if fit.p_value < FITS:
        assumption = f"{assumption}, which these scores contradict"
    return Evidence(
        side="lower",
        value=fit.of(fit.lower, measure),
        standing=confidence(alpha),
        method="scores: pairs in the right order",
        runs=runs,
        seed=seed,
        measure=measure,
        assumption=assumption,
        details=fit.as_dict(),
    )


def curve_of(runs: ScoredRuns, alpha: float) -> ScoreCurve:
    """The simultaneous bound on the trade-off function, with an alpha of its own."""
    return score_curve(runs.inside, runs.outside, alpha)
