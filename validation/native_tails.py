"""The draws of native runs far out: how many lie beyond each of some thresholds, against the truth.

An audit looks at rare events. Each standard family is binned by thresholds that reach to chances of
1e-8; the counts are compared with the exact chances by χ². On one core, and with `cuda` on a GPU,
where a hundred times as many runs are made. The exit status is 1 where a p-value is below 0.001
over the number of tests.

    python validation/native_tails.py [RUNS] [cuda]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy import stats

from dpest.running.native.compiled import Compiled
from dpest.running.native.device import GpuCounter
from dpest.running.native.ir import DOUBLE, SINGLE
from dpest.running.native.ptx import ptx
from dpest.running.native.runs import blocks_of, compiled_for
from dpest.running.native.streams import block_keys
from dpest.running.seeds import block_seed

LEVEL = 1e-3


def laplace(x, rng):
    v, k = rng.laplace(), 0
    for t in (-16.0, -12.0, -8.0, -4.0, -1.0, 0.0, 1.0, 4.0, 8.0, 12.0, 16.0):
        if v >= t:
            k += 1
    return k


def exponential(x, rng):
    v, k = rng.exponential(), 0
    for t in (1e-8, 1e-6, 1e-4, 0.01, 0.1, 1.0, 4.0, 8.0, 12.0, 16.0):
        if v >= t:
            k += 1
    return k


def normal(x, rng):
    v, k = rng.normal(), 0
    for t in (-5.5, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 5.5):
        if v >= t:
            k += 1
    return k


def uniform(x, rng):
    v, k = rng.random(), 0
    for t in (1e-7, 1e-5, 1e-3, 0.1, 0.5, 0.9, 0.999, 0.99999, 1 - 1e-7):
        if v >= t:
            k += 1
    return k


CASES: dict[Any, Any] = {
    laplace: (stats.laplace, (-16, -12, -8, -4, -1, 0, 1, 4, 8, 12, 16)),
    exponential: (stats.expon, (1e-8, 1e-6, 1e-4, 0.01, 0.1, 1, 4, 8, 12, 16)),
    normal: (stats.norm, (-5.5, -4, -2, -1, 0, 1, 2, 4, 5.5)),
    uniform: (stats.uniform, (1e-7, 1e-5, 1e-3, 0.1, 0.5, 0.9, 0.999, 0.99999, 1 - 1e-7)),
}


def exact(law: Any, cuts: tuple[float, ...]) -> Any:
    upper = np.array([1.0, *law.sf(cuts), 0.0])
    lower = np.array([0.0, *law.cdf(cuts), 1.0])
    return np.where(lower[1:] < 0.5, np.diff(lower), -np.diff(upper))


def p_value(counts: Any, chances: Any) -> float:
    due = chances * counts.sum()
    often = due >= 5
    seen, due = counts[often], due[often]
    return float(stats.chi2.sf(np.sum((seen - due) ** 2 / due), len(seen) - 1))


def on_core(compiled: Compiled, runs: int, seed: int) -> Any:
    table = np.zeros(compiled.layout.codes, dtype=np.int64)
    for count, stream in blocks_of(runs, seed):
        compiled.counts(count, stream, table)
    return table


def main(arguments: list[str]) -> int:
    runs = int(float(arguments[0])) if arguments else 100_000_000
    found = []
    for function, (law, cuts) in CASES.items():
        compiled = compiled_for(function, 0.0)
        chances = exact(law, cuts)
        p = p_value(on_core(compiled, runs, 1), chances)
        found.append(p)
        print(f"{function.__name__:<12} core, {runs:.0e} runs: p = {p:.3g}", flush=True)
        for real in (DOUBLE, SINGLE) if "cuda" in arguments else ():
            counter = GpuCounter(ptx(compiled.program, real), compiled.layout.codes, compiled.data)
            counts, done = counter.counts(block_keys(block_seed(2, 0)), 0, 100 * runs)
            p = p_value(counts, chances)
            # Single precision is an approximation: it is shown, and not judged.
            found += [p] if real is DOUBLE else []
            print(f"{function.__name__:<12} GPU, {real.name}, {done:.0e} runs: p = {p:.3g}",
                  flush=True)  # fmt: skip
    fine = min(found) >= LEVEL / len(found)
    print(f"smallest of {len(found)} p-values: {min(found):.3g}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
