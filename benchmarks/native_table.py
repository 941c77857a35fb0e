"""DP-Sniper's table end to end: choosing pairs and attacks on cores, the final stage where told.

Every row searches the literature's patterns, learns and chooses an attack with native runs on
cores (at most COUNTED a side for each of comparing pairs, choosing and comparing attacks; LEARNT
times the runs of validation/sniper_table.py where outputs must be learnt; the paper has 3.2e7 for
each pair and direction), and measures it with RUNS runs a side at confidence 0.95 in
the loops that make the runs: on cores, or on a GPU. A row is good if its bound is at or above the
published one and at most the truth (one bound in twenty may exceed that). Rows are spread over
processes; beside the clock's time stands that of the processors, which others don't lengthen.

    python benchmarks/native_table.py [--runs 2e8] [--device cuda] [--workers 14] [NAME ...]
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "validation"))

from sniper_table import OTHER_SIZES, PUBLISHED, SIZES, SLOWEST, pairs_for

from dpest import zoo
from dpest.attacks.sampler import MechanismSampler
from dpest.attacks.sniper import SniperPlan, sniper_attack

# Runs on each side that choose an attack where outputs are few: a second or two of a core.
COUNTED = 200_000_000
# The sizes of sniper_table are for the batch, whose runs cost several times those of native loops.
LEARNT = 4
SLOW_TO_CHOOSE = {"SVT34Parallel", "OneTimeRappor", "Rappor", "LaplaceParallel"}


Row = tuple[float, float, float, Any]


def row(name: str, runs: int, device: str, scale: float, seed: int) -> Row:
    """The bound of one mechanism, seconds, those of the processor, and who made the runs."""
    start, busy = time.perf_counter(), time.process_time()
    mechanism = zoo.get(name)
    pairs = pairs_for(mechanism, backwards=name != "SVT34Parallel")
    screen, train, choose, _ = (int(LEARNT * scale * n) for n in OTHER_SIZES.get(name, SIZES))
    if name not in SLOW_TO_CHOOSE:  # rare events are trusted only where many runs chose them
        choose = max(choose, min(runs // 10, 20_000_000))
    screen = screen // len(pairs) if len(pairs) > 1 else 0
    plan = SniperPlan(screen, train, choose, runs, counted=int(scale * COUNTED))
    sampler = MechanismSampler(mechanism, count_on=device)
    found = sniper_attack(sampler, pairs, plan=plan, seed=seed)
    details = found.details
    told = {"c": float(f"{details['c']:.3g}"), "counts": details["counts"], **details["runner"]}
    return found.value, time.perf_counter() - start, time.process_time() - busy, told


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--runs", type=float, default=2e8)
    parser.add_argument("--device", default="numpy")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--scale", type=float, default=1.0, help="of the runs that choose")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    names = sorted(options.names or PUBLISHED, key=lambda n: n not in SLOWEST)
    start, good, busy = time.perf_counter(), 0, 0.0
    with ProcessPoolExecutor(options.workers, get_context("spawn")) as pool:
        given = (int(options.runs), options.device, options.scale)
        tasks = {
            pool.submit(row, name, *given, seed): name
            for name in names
            for seed in range(options.seeds)
        }
        for task in as_completed(tasks):
            name = tasks[task]
            published, truth = PUBLISHED[name]
            value, seconds, cpu, runners = task.result()
            busy += cpu
            fine = published <= value <= truth
            good += fine
            print(
                f"{name:<18} {value:7.4f}  published {published:6.4f}  truth {truth:6.4f}  "
                f"{'good' if fine else 'NOT '}  {seconds:5.0f} s {cpu:5.0f} cpu-s  {runners}",
                flush=True,
            )
    took = time.perf_counter() - start
    print(f"{good} of {len(tasks)} rows good, {options.runs:.0e} runs a side, in {took:.0f} s, "
          f"{busy:.0f} cpu-s by {options.workers} processes")  # fmt: skip
    return 0 if good == len(tasks) else 1


if __name__ == "__main__":
    sys.exit(main())
