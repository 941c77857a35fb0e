"""Batch against run, for every mechanism of the zoo: one distribution?

Each mechanism runs RUNS times as a plain function with NumPy's own generator, and in one batch of
ten times as many. χ² compares the discrete parts, Kolmogorov-Smirnov the real ones (each leaf,
their sum, neighbouring differences). All comparisons of all mechanisms together give a false alarm
with probability below 1e-3. Prints a table; the exit status is 1 if any differs.

    python validation/zoo_batch_against_run.py [RUNS] [NAME ...]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from dpest import zoo
from dpest.ask.patterns import patterns
from dpest.running.batch.batch import batch
from zoo.two_samples import p_values, smallest

FALSE_ALARM = 1e-3


def main(arguments: list[str]) -> int:
    runs = int(arguments[0]) if arguments else 10_000
    names = arguments[1:] or zoo.names()
    level = FALSE_ALARM / len(names)
    print(f"{'mechanism':<26} {'compared':>8} {'p, all':>9} {'runs/s':>10} {'batch/s':>12}")
    wrong = []
    for name in names:
        entry = zoo.get(name)
        x = patterns(entry.adjacency, entry.domain)[0][2]
        rng = np.random.default_rng(1)
        start = time.process_time()
        one_by_one = [entry(x, rng) for _ in range(runs)]
        middle = time.process_time()
        samples = batch(entry, x, 10 * runs, seed=2)
        end = time.process_time()
        found = p_values(one_by_one, samples.to_list())
        together = smallest(found)
        if together <= level:
            wrong.append(name)
        print(
            f"{name:<26} {len(found):>8} {together:>9.2g} {runs / max(middle - start, 1e-9):>10.0f}"
            f" {10 * runs / max(end - middle, 1e-9):>12.0f}"
            f"{'  DIFFERS' if together <= level else ''}"
            f"{'  (' + samples.notes[0] + ')' if samples.notes else ''}"
        )
    print(f"{len(names)} mechanisms, {len(wrong)} differ: {', '.join(wrong) or 'none'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
