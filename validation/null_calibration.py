"""Null calibration: how often an audit reports more than the truth, where the truth is known.

Mechanisms whose epsilon is exactly the claim: Laplace, randomised response, SVT1 at one pair's
exact epsilon, and the Gaussian for (epsilon, delta). Methods: the sequential audit stopped as soon
as it refutes (optional stopping), DP-Sniper with its own choices and with the paper's, and the
audit of doubles on rounded noise. Every audit has its own seed. A row passes if its share of wrong
reports is compatible with at most alpha: the one-sided 99.9 % lower bound on the share is below
alpha. The 95 % upper bound is printed beside it.

    python validation/null_calibration.py [--audits 2500] [--workers 2]
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import norm

from dpest import zoo
from dpest.attacks.floating import audit_doubles
from dpest.attacks.sampler import MechanismSampler
from dpest.attacks.sequential import sequential_attack
from dpest.attacks.sniper import Plan, sniper_attack
from dpest.evidence import Evidence
from dpest.stats import clopper_pearson

ALPHA = 0.05
EPSILON = 1.0


def laplace(x: float, rng: np.random.Generator) -> Any:
    return x + rng.laplace(scale=1 / EPSILON)


def response(x: bool, rng: np.random.Generator) -> Any:
    return (rng.random() < math.exp(EPSILON) / (1 + math.exp(EPSILON))) == x


def gaussian(x: float, rng: np.random.Generator) -> Any:
    return x + rng.normal(scale=1.0)


def rounded(x: float, rng: np.random.Generator) -> Any:
    return float(np.round(x + rng.laplace(scale=1 / EPSILON)))


DELTA = float(norm.cdf(0.5 - EPSILON) - math.exp(EPSILON) * norm.cdf(-0.5 - EPSILON))
# Name: mechanism, pair, true epsilon, delta.
TARGETS: dict[str, tuple[Any, Any, Any, float, float]] = {
    "Laplace": (laplace, 1.0, 0.0, EPSILON, 0.0),
    "randomised response": (response, True, False, EPSILON, 0.0),
    "SVT1": (zoo.get("SVT1"), [1.0] * 10, [2.0] * 5 + [0.0] * 5, 0.0885258, 0.0),
    "Gaussian": (gaussian, 1.0, 0.0, EPSILON, DELTA),
}
RUNS = 1000


def sequential(target: str, seed: int) -> Evidence:
    mechanism, x, x2, truth, delta = TARGETS[target]
    sampler = MechanismSampler(mechanism)
    return sequential_attack(
        sampler, x, x2, claim=truth, epsilons=[truth], alpha=ALPHA, budget=RUNS, seed=seed,
        delta=delta,
    )  # fmt: skip


def sniper(target: str, seed: int, paper: bool = False) -> Evidence:
    mechanism, x, x2, _, delta = TARGETS[target]
    plan = Plan(0, RUNS, RUNS, 2 * RUNS)
    return sniper_attack(
        MechanismSampler(mechanism), [(x, x2)], alpha=ALPHA, plan=plan, seed=seed, delta=delta,
        paper=paper, c=0.2 if paper else 0.01,
    )  # fmt: skip


def doubles(target: str, seed: int) -> Evidence:
    return audit_doubles(rounded, 1.0, 0.0, alpha=ALPHA, budget=8 * RUNS, seed=seed)


def is_wrong(audit: Callable[[str, int], Evidence], target: str, seed: int) -> bool:
    """Does this audit claim more than the truth?"""
    truth = EPSILON if target == "rounded Laplace" else TARGETS[target][3]
    value = audit(target, seed).value
    # The sequential audit names the refuted epsilon itself, which the truth must exceed.
    return value >= truth if audit is sequential else value > truth


ROWS: list[tuple[str, Callable[[str, int], Evidence], str]] = [
    *(("sequential, optional stopping", sequential, t) for t in TARGETS),
    *(("sniper, own choices", sniper, t) for t in TARGETS),
    *(("sniper, the paper's", partial(sniper, paper=True), t) for t in TARGETS),
    ("floating point", doubles, "rounded Laplace"),
]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--audits", type=int, default=2500, help="audits per row: four rows a method"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--method", default="", help="only rows whose method starts with this")
    options = parser.parse_args()
    failed = 0
    print(f"{'method':32s} {'mechanism':20s} audits  wrong  share   95 % upper   allowed")
    with ProcessPoolExecutor(options.workers) as pool:
        for method, audit, target in ROWS:
            if not method.startswith(options.method):
                continue
            work = pool.map(partial(is_wrong, audit, target), range(options.audits), chunksize=10)
            wrong = sum(work)
            low = float(clopper_pearson.lower(wrong, options.audits, 0.001))
            high = float(clopper_pearson.upper(wrong, options.audits, 0.05))
            failed += low > ALPHA
            print(
                f"{method:32s} {target:20s} {options.audits:6d} {wrong:6d}  "
                f"{wrong / options.audits:.4f}  {high:.4f}       {ALPHA}"
                f"{'  ABOVE' if low > ALPHA else ''}",
                flush=True,
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
