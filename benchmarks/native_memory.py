"""Memory stays flat over 10^10 native runs of DP-Sniper's final stage: a line for each tenth.

Runs are counted as the final stage counts them, in portions of a few million on each input; what
the process holds at most is read after each tenth. It may grow by 5 % after the first.

    python benchmarks/native_memory.py [--runs 1e10] [--device cuda] [NAME]
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import numpy as np

from dpest import zoo
from dpest.attacks.budget import Budget, Meter
from dpest.attacks.sampler import MechanismSampler
from dpest.attacks.sniper import SniperPlan, _find, _Options, _SniperRun

PAIRS = {
    "RandomizedResponse": (True, False),
    "SVT5": ([1.0] * 10, [0.0] * 10),
    "SVT1": ([1.0] * 10, [0.0] * 10),
}


def held() -> float:
    """MiB that this process held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("name", nargs="?", default="SVT5", choices=sorted(PAIRS))
    parser.add_argument("--runs", type=float, default=1e10, help="on both inputs together")
    parser.add_argument("--device", default="numpy")
    options = parser.parse_args()
    plan = SniperPlan(0, 1_000_000, 1_000_000, int(options.runs) // 2)
    sampler = MechanismSampler(zoo.get(options.name), count_on=options.device)
    run = _SniperRun(sampler, 1, Meter(Budget()), None, plan.portion)
    given = _Options(plan, 0.05, 0.0, None, False, 0.01)
    attack = _find(run, PAIRS[options.name], plan.train, plan.choose, given)[0]
    pair = PAIRS[options.name][::-1] if attack.flipped else PAIRS[options.name]
    marks, counts, start = [], None, time.perf_counter()
    for counts, _ in run.measure(pair, plan.final, attack, np.random.default_rng(0)):
        if counts.n1 >= plan.final * (len(marks) + 1) / 10:
            marks.append(held())
            rate = 2 * counts.n1 / (time.perf_counter() - start)
            print(f"{counts.n1 + counts.n2:.3g} runs  {marks[-1]:.1f} MiB  {rate:.3g} runs/s",
                  flush=True)  # fmt: skip
    flat = marks[-1] <= 1.05 * marks[0]
    grown = f"{marks[0]:.1f} MiB after the first tenth, {marks[-1]:.1f} MiB after all"
    judged = "flat" if flat else "it grows"
    print(f"{options.name}: {grown}: {judged}; {dict(sampler.runners)}")
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
