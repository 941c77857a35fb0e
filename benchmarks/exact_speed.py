"""How fast exact answers are: one line a claim, our figure, the reference, the ratio.

Processor time of this process; reference figures are the claims' limits.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from dpest import zoo
from dpest.ask.patterns import patterns
from dpest.exact.engine import PairObjective
from dpest.exact.outputs.output import output_distribution
from dpest.exact.outputs.templates import Template
from dpest.reading.trace import trace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "validation"))
from exact_table import TRUTHS, literature_pairs


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    best = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def line(claim: str, ours: float, reference: float) -> bool:
    print(f"{claim:64} {ours:9.3f} s  limit {reference:7.3f} s  ratio {ours / reference:6.2f}")
    return ours <= reference


def all_rows() -> None:
    for name in TRUTHS:
        objective = PairObjective(zoo.get(name))
        for x, x2 in literature_pairs(name):
            objective(x, x2)


def distributions_of_svt1() -> None:
    """The distributions of both inputs of all eight patterns."""
    entry = zoo.get("SVT1")
    pairs = patterns(entry.adjacency, entry.domain, 10, both_orders=False)
    template = Template.of(entry, pairs[0][1])
    assert template is not None
    for _, x, x2 in pairs:
        for given in (x, x2):
            (traced,) = template.at(given)
            assert len(output_distribution(traced).outcomes) == 11


def one(name: str, n: int) -> Callable[[], object]:
    entry = zoo.get(name)
    x = [1.0 + 0.01 * i for i in range(n)]
    return lambda: output_distribution(trace(entry, x)).outcomes


def main() -> int:
    one("SVT1", 3)()  # imports and caches of NumPy are not the question
    good = line("SVT1: 16 distributions", seconds(distributions_of_svt1), 0.2)
    good &= line("SVT6, n = 10: 1,024 outputs", seconds(one("SVT6", 10)), 1.0)
    times = {n: seconds(one("SVT1", n), 1) for n in (10, 20, 50, 100)}
    for n, took in times.items():
        good &= line(
            f"SVT1, n = {n}: no worse than n² from n = 10",
            took,
            max(times[10] * (n / 10) ** 2, 1e-9) * 1.2,
        )
    for n in (5, 20, 50, 100):
        took = seconds(one("ReportNoisyMax1", n), 1)
        print(f"{f'Noisy Max, n = {n}':64} {took:9.3f} s")
    good &= line("all 21 rows on the patterns", seconds(all_rows, 1), 10.0)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
