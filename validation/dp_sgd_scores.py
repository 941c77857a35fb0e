"""A small DP-SGD whose privacy is known, audited by the scores of its trainings.

Twenty full-batch steps of logistic regression with clipped gradients: a canary that is there or not
moves each step by at most the clip, so that the whole is GDP with μ = √20/σ, and the canary here
reaches that. Trainings with and without it give scores; from them come a bound without assumptions
and one under the assumption that the curve is Gaussian (test of the fit beside it). The ideal is
what the best threshold of a perfect Gaussian score would show, chosen beforehand, if counts came
out as expected: no attack knows it. jax_privacy's bounds at the same α, where it is installed, are
those of its `CanaryScoreAuditor`: Clopper and Pearson's with its correction for many thresholds
(the better of one- and two-sided), and its GDP fit.

The exit status is 1 if a bound exceeds the truth, if ours is below jax_privacy's, or if the row of
8,400 trainings at σ = 4 and α = 0.05 shows less than 2.3 without and 4.2 with the assumption.

    python validation/dp_sgd_scores.py
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import numpy as np
from scipy.special import betainc, ndtr, ndtri

import dpest
from dpest.notions.claims import GaussianDP

try:
    from jax_privacy.auditing import CanaryScoreAuditor
except ImportError:
    CanaryScoreAuditor = None

DELTA = 1e-5
STEPS, RATE, CLIP = 20, 0.5, 1.0
_data = np.random.default_rng(0)
X = _data.normal(size=(50, 5))
X /= np.linalg.norm(X, axis=1, keepdims=True)
Y = (X[:, 0] > 0).astype(float)
CANARY = np.array([0.0, 0.0, 0.0, 0.0, 10.0])


def train(trainings: int, present: bool, sigma: float, rng: np.random.Generator) -> np.ndarray:
    """The final weights of many trainings at once, one row each."""
    w = np.zeros((trainings, 5))
    for _ in range(STEPS):
        error = 1 / (1 + np.exp(-w @ X.T)) - Y  # |error| and |X| are at most 1: nothing to clip
        total = error @ X
        if present:
            gradient = (1 / (1 + np.exp(-w @ CANARY)))[:, None] * CANARY
            size = np.linalg.norm(gradient, axis=1, keepdims=True) / CLIP
            total = total + gradient / np.maximum(1, size)
        noise = sigma * CLIP * rng.normal(size=w.shape)
        w = w - RATE / len(X) * (total + noise)
    return w


def score(weights: np.ndarray) -> np.ndarray:
    """What an attacker computes: the canary pushes the last weight down."""
    return -weights[:, -1]


def ideal(mu: float, each: int, alpha: float, delta: float) -> float:
    """The largest bound of one pair of thresholds, at the expected counts of `each` runs a side."""
    best = 0.0
    for x in np.geomspace(0.3 / each, 0.3, 400):
        right = 2 * each * (float(ndtr(ndtri(x) + mu)) - delta)
        wrong = 2 * each * x
        low, high = 0.0, 20.0
        for _ in range(50):
            middle = (low + high) / 2
            # P(at most `wrong` wrong ones of all), with real numbers for counts.
            tail = float(betainc(right, wrong + 1, 1 / (1 + math.exp(-middle))))
            low, high = (middle, high) if tail <= alpha else (low, middle)
        best = max(best, low)
    return best


def theirs(inside: np.ndarray, outside: np.ndarray, alpha: float) -> tuple[float, float]:
    if CanaryScoreAuditor is None:
        return math.nan, math.nan
    auditor: Any = CanaryScoreAuditor(inside, outside)
    counted = max(
        float(auditor.epsilon_clopper_pearson(alpha, DELTA, one_sided=one)) for one in (True, False)
    )
    return counted, float(auditor.epsilon_from_gdp(alpha, DELTA))


def main() -> int:
    print(
        f"{'σ':>4} {'trainings':>9} {'α':>5} {'truth':>6} {'ideal':>6} {'dpest':>6} {'jax':>6}  | "
        f"{'if Gaussian':>11} {'jax':>6} {'fit p':>6} {'estimate':>14} {'s':>5}"
    )
    failed = []
    for number, (sigma, trainings, alpha) in enumerate(
        (s, t, a) for s in (2.5, 4.0, 8.0) for t in (2_000, 8_400) for a in (0.05, 0.01)
    ):
        rng = np.random.default_rng([number, 2026])
        mu = math.sqrt(STEPS) / sigma
        truth = GaussianDP(mu).epsilon_at(DELTA)
        inside, outside = (
            score(train(trainings // 2, present, sigma, rng)) for present in (True, False)
        )
        started = time.process_time()
        verdict = dpest.audit_scores(inside, outside, delta=DELTA, alpha=alpha, seed=number)
        seconds = time.process_time() - started
        lower, estimate, assumed = verdict.evidence
        counted, fitted = theirs(inside, outside, alpha)
        print(
            f"{sigma:4g} {trainings:9,} {alpha:5g} {truth:6.2f} "
            f"{ideal(mu, trainings // 2, alpha, DELTA):6.2f} {lower.value:6.2f} {counted:6.2f}  | "
            f"{assumed.value:11.2f} {fitted:6.2f} {assumed.details['fit_p_value']:6.2f} "
            f"{estimate.value:7.2f} ± {estimate.error:4.2f} {seconds:5.1f}",
            flush=True,
        )
        if max(lower.value, assumed.value) > truth:
            failed.append(f"row {number}: above the truth")
        if lower.value < counted or assumed.value < fitted:
            failed.append(f"row {number}: below jax_privacy")
        if (sigma, trainings, alpha) == (4.0, 8_400, 0.05) and not (
            lower.value >= 2.3 and assumed.value >= 4.2
        ):
            failed.append("the row of 8,400 trainings shows too little")
    if CanaryScoreAuditor is None:
        print("jax_privacy is not installed here: its columns are empty")
    print("; ".join(failed) or "every row holds")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
