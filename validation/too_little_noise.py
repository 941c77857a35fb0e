"""Gaussian noise that is ten per cent too small, refuted as a claim of every kind.

A number that moves by 1 gets noise of σ = 0.9 under claims that hold for σ = 1: GDP with μ = 1,
zCDP with ρ = 0.5, Rényi DP of orders 1.5 and 2, and (ε, δ). For each the least number of samples,
of both inputs together, on a grid of doublings, with which at least half of the audits refute the
claim at α = 0.05; and beside it how many Neyman and Pearson leave to any test. For (ε, δ) those are
of the event of the true ratio, known beforehand. For the others they are what it takes to tell
σ = 0.9 from σ = 1, both known: no test of the claim can need fewer, as it must not refute σ = 1.
(Rényi DP of one order allows other mechanisms that are harder to tell; the true number is larger.)

    python validation/too_little_noise.py
"""

from __future__ import annotations

import math
import sys

import numpy as np
from scipy.special import ndtr, ndtri

from dpest.attacks.scores.bounds import ScoredRuns, lower_bound
from dpest.evidence import Measure
from dpest.notions.closed_forms import gaussian_delta

ALPHA, SEEDS, SIGMA = 0.05, 10, 0.9
MU = 1 / SIGMA
QUANTILE = float(ndtri(1 - ALPHA))


def of_two_gaussians() -> float:
    """Samples that tell N(0, 1), N(μ, 1) from the nearest pair that is 1 apart, in half of all."""
    return (QUANTILE / ((MU - 1) / 2)) ** 2


def of_event(epsilon: float, delta: float) -> float:
    p, q = (float(ndtr(sign * MU / 2 - epsilon / MU)) for sign in (1, -1))
    gap = p - math.exp(epsilon) * q - delta
    variance = p * (1 - p) + math.exp(2 * epsilon) * q * (1 - q)
    return 2 * variance * (QUANTILE / gap) ** 2


def refuted(measure: Measure, limit: float, each: int) -> int:
    count = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, each])
        runs = ScoredRuns(rng.normal(size=each) + MU, rng.normal(size=each))
        count += lower_bound(runs, measure, ALPHA, seed).value > limit
    return count


def main() -> int:
    points = [(e, gaussian_delta(1.0, e)) for e in (0.5, 1.0, 2.0)]
    rows = [
        ("1-GDP", Measure("gdp"), 1.0, of_two_gaussians()),
        ("0.5-zCDP", Measure("zcdp"), 0.5, of_two_gaussians()),
        ("(1.5, 0.75)-Rényi", Measure("renyi", alpha=1.5), 0.75, of_two_gaussians()),
        ("(2, 1)-Rényi", Measure("renyi", alpha=2.0), 1.0, of_two_gaussians()),
        *((f"({e:g}, {d:.4f})-DP", Measure(delta=d), e, of_event(e, d)) for e, d in points),
    ]
    print(f"{'claim':20} {'samples':>9} {'refuted':>9} {'best possible':>14} {'ratio':>6}")
    failed = False
    for name, measure, limit, best in rows:
        for each in 500 * 2 ** np.arange(9):
            count = refuted(measure, limit, int(each))
            if 2 * count >= SEEDS:
                break
        failed |= 2 * count < SEEDS
        print(
            f"{name:20} {2 * each:9,} {count:5} / {SEEDS} {best:14,.0f} {2 * each / best:6.1f}",
            flush=True,
        )
    print("some claim was not refuted" if failed else "every claim is refuted")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
