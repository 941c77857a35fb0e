"""One run, many canaries: what the two papers' bounds show of a Gaussian mechanism's ε.

Each canary's score is N(0, 1), or N(μ, 1) if a fair coin included it: the best that an attacker can
see of a Gaussian mechanism with sensitivity 1 and noise 1/μ, without interference among canaries.
dpest's columns are `dpest.one_run` with its own numbers of guesses; the means of several seeds.
Beside them are the papers' methods as jax_privacy has them, with its choice of thresholds: Steinke,
Nasr and Jagielski (2023) and Mahloujifar, Melis and Chaudhuri (2025), both with guesses on one side
only. "f-DP" bounds μ of Gaussian DP and is shown as ε at δ = 1e-5 of that Gaussian curve.

The exit status is 1 if a mean exceeds the truth, if a mean is below jax_privacy's by more than
0.05, or if 1,000 canaries at ε = 4.38 show less than 2.0 by f-DP.

    python validation/one_run_table.py
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

import dpest
from dpest.notions.claims import GaussianDP

try:
    from jax_privacy.auditing import CanaryScoreAuditor
except ImportError:
    CanaryScoreAuditor = None

DELTA, ALPHA, SEEDS = 1e-5, 0.05, 6
MUS = (0.5, 1.0, 1.5, 2.0)
CANARIES = (200, 1_000, 5_000)


def theirs(scores: np.ndarray, included: np.ndarray) -> tuple[float, float]:
    if CanaryScoreAuditor is None:
        return math.nan, math.nan
    auditor: Any = CanaryScoreAuditor(scores[included], scores[~included])
    return (
        float(auditor.epsilon_one_run(ALPHA, DELTA)),
        float(auditor.epsilon_one_run_fdp(ALPHA, DELTA)),
    )


def ours(scores: np.ndarray, included: np.ndarray, seed: int) -> tuple[float, float]:
    verdict = dpest.one_run(scores, included, delta=DELTA, alpha=ALPHA, seed=seed)
    assumed = next(e for e in verdict.evidence if e.assumption)
    assert verdict.lower is not None
    return verdict.lower.value, assumed.value


def main() -> int:
    print(f"means of {SEEDS} seeds, δ = {DELTA:g}, α = {ALPHA:g}")
    print(f"{'truth':>6} {'canaries':>8} | {'2023':>6} {'jax':>6} | {'f-DP':>6} {'jax':>6}")
    failed = []
    for mu in MUS:
        truth = GaussianDP(mu).epsilon_at(DELTA)
        for canaries in CANARIES:
            rows = []
            for seed in range(SEEDS):
                rng = np.random.default_rng([seed, canaries, round(10 * mu)])
                included = rng.random(canaries) < 0.5
                scores = rng.normal(size=canaries) + mu * included
                rows.append((*ours(scores, included, seed), *theirs(scores, included)))
            plain, f_dp, jax_plain, jax_f_dp = np.mean(rows, axis=0)
            print(
                f"{truth:6.2f} {canaries:8,} | {plain:6.2f} {jax_plain:6.2f} | "
                f"{f_dp:6.2f} {jax_f_dp:6.2f}",
                flush=True,
            )
            if max(plain, f_dp) > truth:
                failed.append(f"{truth:.2f}, {canaries}: above the truth")
            if plain < jax_plain - 0.05 or f_dp < jax_f_dp - 0.05:
                failed.append(f"{truth:.2f}, {canaries}: below jax_privacy")
            if (mu, canaries) == (1.0, 1_000) and f_dp < 2.0:
                failed.append("1,000 canaries show too little")
    if CanaryScoreAuditor is None:
        print("jax_privacy is not installed here: its columns are empty")
    print("; ".join(failed) or "every row holds")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
