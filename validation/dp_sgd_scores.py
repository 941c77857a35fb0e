"""A small DP-SGD whose privacy is known, audited by the scores of its trainings.

Twenty full-batch steps of logistic regression with clipped gradients: a canary that is there or not
moves each step by at most the clip, so that the whole is GDP with μ = √20/σ. The canary here comes
close to that from one side only: once the model has learnt it, its gradient is smaller than the
clip. Trainings with and without it give scores; from them come a bound without assumptions and one
under the assumption that the curve is Gaussian (test of the fit beside it).

Three yardsticks stand beside dpest's bounds. "ideal": what the best pair of thresholds, one on each
side, would show of a Gaussian score with that μ, chosen beforehand, if counts came out as expected.
"own": the same of this canary's true curve, which 100,000 trainings a side tell, with the best of
one or two sides. jax_privacy's bounds at the same α, where it is installed: `CanaryScoreAuditor`
with Clopper and Pearson's bound and its correction for many thresholds (the better of one- and
two-sided), and its GDP fit, which is marked where it exceeds the truth.

The exit status is 1 if a bound exceeds the truth, if ours is below one of jax_privacy's that
doesn't, or if the means over seeds at the end are too small.

    python validation/dp_sgd_scores.py
"""

from __future__ import annotations

import functools
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


def shown(right: float, wrong: float, alpha: float) -> float:
    """The bound on ε that so many right and wrong labels give; counts may be real numbers."""
    low, high = 0.0, 20.0
    for _ in range(45):
        middle = (low + high) / 2
        tail = float(betainc(right, wrong + 1, 1 / (1 + math.exp(-middle))))
        low, high = (middle, high) if tail <= alpha else (low, middle)
    return low


def ideal(mu: float, each: int, alpha: float) -> float:
    """The best pair of thresholds of a Gaussian score, at the expected counts of `each` a side."""
    levels = np.geomspace(0.3 / each, 0.3, 100)
    hits = ndtr(ndtri(levels) + mu) - DELTA
    pairs = zip(2 * each * hits, 2 * each * levels, strict=True)
    return max(shown(float(right), float(wrong), alpha) for right, wrong in pairs)


def own_ideal(inside: np.ndarray, outside: np.ndarray, each: int, alpha: float) -> float:
    """The same of a score whose curve many scores tell: the best of one side or both."""
    best = 0.0
    n = len(inside)
    inside, outside = np.sort(inside), np.sort(outside)
    for x in np.geomspace(max(0.3 / each, 40 / n), 0.3, 60):
        top = outside[n - int(x * n)]
        bottom = inside[int(x * n)]
        hits = 1 - np.searchsorted(inside, top) / n, np.searchsorted(outside, bottom) / n
        ways = [(hits[0], x), (hits[1], x), (hits[0] + hits[1], 2 * x)]
        for right, wrong in ways:
            best = max(best, shown(each * (right - DELTA), each * wrong, alpha))
    return best


def theirs(inside: np.ndarray, outside: np.ndarray, alpha: float) -> tuple[float, float]:
    if CanaryScoreAuditor is None:
        return math.nan, math.nan
    auditor: Any = CanaryScoreAuditor(inside, outside)
    counted = max(
        float(auditor.epsilon_clopper_pearson(alpha, DELTA, one_sided=one)) for one in (True, False)
    )
    return counted, float(auditor.epsilon_from_gdp(alpha, DELTA))


@functools.cache
def many_scores(sigma: float) -> list[np.ndarray]:
    """Scores of 100,000 trainings a side, which tell the curve."""
    rng = np.random.default_rng(1)
    parts = [[score(train(20_000, there, sigma, rng)) for _ in range(5)] for there in (True, False)]
    return [np.concatenate(part) for part in parts]


def row(number: int, sigma: float, trainings: int, alpha: float) -> list[str]:
    """One line of the table, and what is wrong with it."""
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
    many = many_scores(sigma)
    print(
        f"{sigma:4g} {trainings:9,} {alpha:5g} {truth:6.2f} "
        f"{ideal(mu, trainings // 2, alpha):6.2f} {own_ideal(*many, trainings // 2, alpha):5.2f} "
        f"{lower.value:6.2f} {counted:5.2f}  | {assumed.value:11.2f} {fitted:5.2f}"
        f"{'!' if fitted > truth else ' '} {assumed.details['fit_p_value']:5.2f} "
        f"{estimate.value:6.2f} ± {estimate.error:4.2f} {seconds:5.1f}",
        flush=True,
    )
    failed = []
    if max(lower.value, assumed.value) > truth:
        failed.append(f"row {number}: above the truth")
    if lower.value < counted or assumed.value < fitted <= truth:
        failed.append(f"row {number}: below jax_privacy")
    return failed


def means(seeds: int, each: int = 4_200, alpha: float = 0.05) -> list[str]:
    """Means over seeds of 8,400 runs: of a Gaussian score, and of this DP-SGD."""
    mu = math.sqrt(STEPS) / 4.0
    failed = []
    for name, least in (("Gaussian score", 2.3), ("DP-SGD", 2.0)):
        rows = []
        for seed in range(seeds):
            rng = np.random.default_rng([seed, 7])
            if name == "DP-SGD":
                inside, outside = (score(train(each, there, 4.0, rng)) for there in (True, False))
            else:
                inside, outside = rng.normal(size=each) + mu, rng.normal(size=each)
            verdict = dpest.audit_scores(inside, outside, delta=DELTA, alpha=alpha, seed=seed)
            lower, _, assumed = verdict.evidence
            rows.append((lower.value, theirs(inside, outside, alpha)[0], assumed.value))
        plain, counted, gaussian = np.mean(rows, axis=0)
        spread = float(np.std(rows, axis=0)[0])
        print(
            f"{name:14} {2 * each:,} runs, {seeds} seeds: {plain:.2f} (spread {spread:.2f}), "
            f"jax_privacy {counted:.2f}, ideal {ideal(mu, each, alpha):.2f}; if Gaussian "
            f"{gaussian:.2f} of {GaussianDP(mu).epsilon_at(DELTA):.2f}"
        )
        if plain < least or gaussian < 4.2:
            failed.append(f"{name}: the mean is too small")
    return failed


def main() -> int:
    print(
        f"{'σ':>4} {'trainings':>9} {'α':>5} {'truth':>6} {'ideal':>6} {'own':>5} {'dpest':>6} "
        f"{'jax':>5}  | {'if Gaussian':>11} {'jax':>5}  {'fit p':>5} {'estimate':>13} {'s':>5}"
    )
    failed = []
    settings = [(s, t, a) for s in (2.5, 4.0, 8.0) for t in (2_000, 8_400) for a in (0.05, 0.01)]
    for number, (sigma, trainings, alpha) in enumerate(settings):
        failed += row(number, sigma, trainings, alpha)
    failed += means(12)
    if CanaryScoreAuditor is None:
        print("jax_privacy is not installed here: its columns are empty")
    print("; ".join(failed) or "every row holds")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
