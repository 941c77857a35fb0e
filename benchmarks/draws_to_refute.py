"""Draws that refute a false claim: the sequential audit, median over 20 seeds, alpha = 0.05.

Totals of both inputs, all runs made counted. The reference is what this benchmark must not exceed;
StatDP uses 500,000 runs and more for one event.

    python benchmarks/draws_to_refute.py [--seeds 20] [TRUE/CLAIM ...]
"""

from __future__ import annotations

import argparse
import statistics
import sys
from typing import Any

import numpy as np

from dpest.attacks.sampler import MechanismSampler
from dpest.attacks.sequential import sequential_attack

# True epsilon, claim, most draws allowed.
CASES = ((1.5, 1.0, 680), (2.0, 1.0, 220), (0.5, 0.1, 560), (0.2, 0.1, 15_000), (1.1, 1.0, 21_000))


def laplace(x: float, rng: np.random.Generator, *, eps: float = 1.0) -> Any:
    return x + rng.laplace(scale=1 / eps)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", help="such as 1.5/1; all by default")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args()
    failed = 0
    for true, claim, most in CASES:
        if options.cases and f"{true:g}/{claim:g}" not in options.cases:
            continue
        runs = []
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            sampler = MechanismSampler(laplace, {"eps": true})
            found = sequential_attack(sampler, 1.0, 0.0, claim=claim, budget=10**6, seed=seed)
            runs.append(found.runs if found.details["refuted_claim"] else 10**9)
        median = statistics.median(runs)
        failed += median > most
        print(
            f"Laplace of epsilon {true:g} refutes {claim:g}: median {median:8.0f} draws, "
            f"reference {most:6d}, ratio {median / most:.2f}, StatDP's 500000 are "
            f"{500_000 / median:.0f} times as many",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
