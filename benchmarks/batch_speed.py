"""The batch reading of plain scalar functions, against the forms that people write by hand.

Each line: the claim, our figure, the reference figure, the ratio. One core; figures of one line
are taken in turns in one process, the best of each, for machines are shared.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.running.batch.batch import batch

EPS, THRESHOLD, CUTOFF = 0.1, 0.5, 1


def svt1(queries, rng, *, eps=EPS, threshold=THRESHOLD, cutoff=CUTOFF):  # type: ignore[no-untyped-def]
    rho = rng.laplace(scale=2 / eps)
    answers, hits = [], 0
    for q in queries:
        if q + rng.laplace(scale=4 * cutoff / eps) >= threshold + rho:
            answers.append(True)
            hits += 1
            if hits == cutoff:
                break
        else:
            answers.append(False)
    return answers


def svt1_mask_loop(queries: Any, size: int, rng: np.random.Generator) -> np.ndarray:
    """The vectorised form: all noise at once, then a loop over columns with a mask."""
    x = np.atleast_2d(np.array(queries, dtype=float))
    rho = rng.laplace(scale=2 / EPS, size=(size, 1))
    above = x + rng.laplace(scale=4 * CUTOFF / EPS, size=(size, x.shape[1])) >= THRESHOLD + rho
    answers = above.astype(int)
    hits = np.zeros(size)
    stopped = np.zeros(size, dtype=bool)
    for i, column in enumerate(above.T):
        answers[stopped, i] = -1
        hits = hits + column
        stopped = np.logical_or(stopped, hits == CUTOFF)
    return answers


def svt6(queries, rng, *, eps=EPS):  # type: ignore[no-untyped-def]
    rho = rng.laplace(scale=2 / eps)
    answers = []
    for q in queries:
        if q + rng.laplace(scale=2 / eps) >= 1 + rho:
            answers.append(True)
        else:
            answers.append(False)
    return answers


def running_maximum(queries, rng, *, eps=EPS):  # type: ignore[no-untyped-def]
    best, winner = -np.inf, 0
    for i, q in enumerate(queries):
        noisy = q + rng.laplace(scale=2 / eps)
        if noisy > best:
            best, winner = noisy, i
    return winner


def rates(size: int, *measures: Callable[[], Any], repeats: int = 5) -> list[float]:
    """Runs per second of CPU time of each, measured in turns, the best of `repeats`."""
    best = [0.0] * len(measures)
    for _ in range(repeats):
        for i, measure in enumerate(measures):
            start = time.process_time()
            measure()
            best[i] = max(best[i], size / (time.process_time() - start))
    return best


def _loop(mechanism: Any, queries: list[float], runs: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(runs):
        mechanism(queries, rng)


def line(claim: str, ours: float, reference: float, least: float) -> bool:
    ratio = ours / reference
    verdict = "holds" if ratio >= least else "FAILS"
    print(f"{claim}: {ours:.3g} runs/s, reference {reference:.3g}, ratio {ratio:.2f} ({verdict})")
    return ratio >= least


def main() -> int:
    size, queries = 10**6, [1.0] * 10
    ok = True
    ours, theirs = rates(
        size,
        lambda: batch(svt1, queries, size, 0),
        lambda: svt1_mask_loop(queries, size, np.random.default_rng(0)),
    )
    ok &= line("scalar SVT1 in batches is at least 4 times the mask loop", ours, theirs, 4)
    ours, theirs = rates(
        size,
        lambda: batch(svt6, queries, size, 0),
        lambda: _loop(svt6, queries, size // 20),
        repeats=2,
    )
    name = "svt6 n=10, 2^10 paths, is at least 4 times a loop"
    ok &= line(name, ours, theirs / 20, 4)
    for mechanism, length in ((svt6, 20), (running_maximum, 50)):
        long = [1.0] * length
        runs = 20_000

        ours, theirs = rates(
            runs,
            lambda m=mechanism, x=long: batch(m, x, runs, 0),
            lambda m=mechanism, x=long: _loop(m, x, runs),
            repeats=3,
        )
        name = f"{mechanism.__name__} n={length}, too many paths, is not slower than a loop"
        ok &= line(name, ours, theirs, 0.9)  # within what the machine's noise allows
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    batch(svt1, queries, 10**7, 0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    fits = peak < 400 << 20
    print(
        f"10^7 runs of SVT1 take less than 400 MiB: peak of the process {peak / 2**20:.0f} MiB, "
        f"{before / 1024:.0f} MiB before ({'holds' if fits else 'FAILS'})"
    )
    return 0 if ok and fits else 1


if __name__ == "__main__":
    sys.exit(main())
