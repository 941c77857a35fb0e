"""Null calibration: how often an audit reports more than the truth, where the truth is known.

Mechanisms whose epsilon is exactly the claim: Laplace, randomised response, SVT1 at one pair's
exact epsilon, and the Gaussian for (epsilon, delta). Methods: the sequential audit stopped as soon
as it refutes (optional stopping), DP-Sniper with its own choices and with the paper's, and the
audit of doubles on rounded noise. Every audit has its own seed and its own runs; those of many
audits are drawn together, which saves most of the time. A row passes if its share of wrong reports
is compatible with at most alpha: the one-sided 99.9 % lower bound on the share is below alpha. The
95 % upper bound is printed beside it. Rows of one method are added up at its end.

    python validation/null_calibration.py [--audits 2500] [--workers 1] [--method sequential]
        [--mechanism SVT1]
"""

from __future__ import annotations

import argparse
import math
import sys
import time
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
from dpest.attacks.sniper import SniperPlan, sniper_attack
from dpest.running.samples import Samples
from dpest.stats import clopper_pearson

ALPHA = 0.1
EPSILON = 1.0
RUNS = 600


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


class Dealer:
    """Deals out runs of a mechanism that were drawn in one go: each run is used once."""

    def __init__(self, target: str, seed: int, inputs: list[Any], size: int) -> None:
        sampler = MechanismSampler(TARGETS[target][0])
        self._drawn = {
            repr(x): sampler.draw(x, size, 2 * seed + place) for place, x in enumerate(inputs)
        }
        self._dealt = dict.fromkeys(self._drawn, 0)

    def draw(self, x: Any, size: int, seed: int) -> Samples:
        begin = self._dealt[repr(x)]
        outputs = self._drawn[repr(x)]
        assert begin + size <= outputs.size, "every run is used once"
        self._dealt[repr(x)] = begin + size
        return outputs.take(np.arange(begin, begin + size))

    def notes(self) -> tuple[str, ...]:
        return ()


def sequential(target: str, first: int, count: int) -> int:
    """How many of `count` audits, with seeds from `first` on, refute the true epsilon."""
    _, x, x2, truth, delta = TARGETS[target]
    wrong = 0
    for seed in range(first, first + count):
        dealer = Dealer(target, seed, [x, x2], RUNS)
        found = sequential_attack(
            dealer, x, x2, claim=truth, epsilons=[truth], alpha=ALPHA, budget=RUNS, seed=seed,
            delta=delta,
        )  # fmt: skip
        # The sequential audit names the refuted epsilon itself, which the truth must exceed.
        wrong += found.value >= truth
    return wrong


def sniper(target: str, first: int, count: int, paper: bool = False) -> int:
    _, x, x2, truth, delta = TARGETS[target]
    plan = SniperPlan(0, RUNS, RUNS, 2 * RUNS)
    wrong = 0
    for seed in range(first, first + count):
        dealer = Dealer(target, seed, [x, x2], 5 * RUNS)
        found = sniper_attack(
            dealer, [(x, x2)], alpha=ALPHA, plan=plan, seed=seed, delta=delta, paper=paper,
            c=0.2 if paper else 0.01,
        )  # fmt: skip
        wrong += found.value > truth
    return wrong


def doubles(target: str, first: int, count: int) -> int:
    return sum(
        audit_doubles(rounded, 1.0, 0.0, alpha=ALPHA, budget=4 * RUNS, seed=seed).value > EPSILON
        for seed in range(first, first + count)
    )


ROWS: list[tuple[str, Callable[[str, int, int], int], str]] = [
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
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--method", default="", help="only rows whose method starts with this")
    parser.add_argument("--mechanism", default="", help="only rows whose mechanism starts so")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    failed = 0
    totals: dict[str, tuple[int, int]] = {}
    print(f"alpha = {ALPHA}")
    print(f"{'method':30s} {'mechanism':20s} audits  wrong  share   95 % upper  seconds")
    with ProcessPoolExecutor(options.workers) as pool:
        for method, audits, target in ROWS:
            if not (method.startswith(options.method) and target.startswith(options.mechanism)):
                continue
            begin = time.monotonic()
            portion = 25
            firsts = range(options.first, options.first + options.audits, portion)
            counts = [min(portion, options.first + options.audits - f) for f in firsts]
            wrong = sum(pool.map(partial(audits, target), firsts, counts))
            before = totals.get(method, (0, 0))
            totals[method] = before[0] + wrong, before[1] + options.audits
            failed += _line(method, target, wrong, options.audits, time.monotonic() - begin)
    for method, (wrong, audits) in totals.items():
        failed += _line(method, "all", wrong, audits, math.nan)
    return 1 if failed else 0


def _line(method: str, target: str, wrong: int, audits: int, seconds: float) -> bool:
    low = float(clopper_pearson.lower(wrong, audits, 0.001))
    high = float(clopper_pearson.upper(wrong, audits, 0.05))
    print(
        f"{method:30s} {target:20s} {audits:6d} {wrong:6d}  {wrong / audits:.4f}  {high:.4f}"
        f"  {'' if math.isnan(seconds) else f'{seconds:9.0f} s'}{'  ABOVE' if low > ALPHA else ''}",
        flush=True,
    )
    return low > ALPHA


if __name__ == "__main__":
    sys.exit(main())
