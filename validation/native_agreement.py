"""Counts of native runs against exact probabilities, for twenty mechanisms and more.

Each mechanism makes RUNS runs on one core; its counts are compared with the probabilities that the
exact engine has for each output, by χ² (outputs that are expected fewer than ten times together).
Where every mechanism is right the smallest p-value of k is below 0.001/k once in a thousand such
tables. Then the order: the same blocks forwards, backwards, and by two workers, must give the same
counts. The exit status is 1 where anything disagrees.

    python validation/native_agreement.py [RUNS]
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

import dpest
from dpest import zoo
from dpest.ask.patterns import patterns
from dpest.execution.runner import open_runner
from dpest.running.native.compiled import Compiled
from dpest.running.native.runs import blocks_of, compiled_for, count_runs
from dpest.running.samples import Samples
from dpest.running.skeleton import flatten

NAMES = (
    "TruncatedGeometric",
    "ReportNoisyMax1", "ReportNoisyMax2", "SVT1", "SVT2", "SVT4", "SVT5", "SVT6",
    "AT", "AT1", "AT2", "AT4", "AT5", "ExpMech", "NoisyMax", "StatDP_NoisyMax1a",
    "StatDP_NoisyMax2a", "StatDP_SVT", "StatDP_iSVT1", "StatDP_iSVT2", "StatDP_iSVT3",
    "CheckDP_SVT", "MonotoneSVT", "GumbelMax", "ExponentialMechanism", "PermuteAndFlip",
     "TopK", "GaussianNoisyMax", "RandomizedResponse", "KaryRandomizedResponse",
)  # fmt: skip
LEVEL = 1e-3


def example(name: str) -> tuple[Any, Any]:
    """A mechanism of the zoo, and an input for it."""
    entry = zoo.get(name)
    return entry, patterns(entry.adjacency, entry.domain)[0][2]


def exact_by_code(compiled: Compiled, mechanism: Any, x: Any) -> NDArray[np.float64]:
    """The probability of each code, by the exact engine; 0 for outputs that can't come up.

    Several codes may stand for one output: the first of them has its probability.
    """
    probabilities: dict[Any, float] = {}
    for outcome in dpest.distribution(mechanism, x).outcomes:
        skeleton, leaves = flatten(outcome.output)
        key = repr((skeleton, [_plain(v) for v in leaves]))
        probabilities[key] = probabilities.get(key, 0.0) + outcome.probability
    found = np.zeros(compiled.layout.codes)
    possible = compiled.layout.possible(np.arange(compiled.layout.codes))
    for code, output in enumerate(_outputs(possible)):
        found[code] = probabilities.pop(output, 0.0)
    if sum(probabilities.values()) > 1e-9:
        raise AssertionError(f"{mechanism.name} has outputs without a code: {probabilities}")
    return found


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _outputs(samples: Samples) -> Iterator[str]:
    texts: list[str] = [""] * samples.size
    for group in samples.groups:
        columns = [c.tolist() for c in group.columns]
        for place, row in enumerate(group.rows.tolist()):
            leaves = [
                None if kind == "none" else column[place]
                for kind, column in zip(group.kinds, columns, strict=True)
            ]
            texts[row] = repr((group.skeleton, leaves))
    yield from texts


def p_value(counts: NDArray[Any], exact: NDArray[np.float64]) -> tuple[float, int]:
    """χ² of counts against probabilities, with its degrees of freedom."""
    expected = exact / exact.sum() * counts.sum()
    often = expected >= 10
    seen, due = counts[often].astype(float), expected[often]
    rare, rest = int(counts[~often].sum()), float(expected[~often].sum())
    if rest >= 5 or rare > 30:  # otherwise too few to tell, and χ² would not be its distribution
        seen, due = np.append(seen, rare), np.append(due, max(rest, 1e-300))
    statistic = float(np.sum((seen - due) ** 2 / due))
    return float(chi2.sf(statistic, max(len(seen) - 1, 1))), len(seen) - 1


def same_counts(name: str, runs: int = 3_000_000) -> bool:
    """Whether blocks in any order, and by two workers, give the same counts."""
    mechanism, x = example(name)
    compiled = compiled_for(mechanism, x)
    tables = []
    blocks = list(blocks_of(runs, 5))
    for order in (blocks, blocks[::-1]):
        table = np.zeros(compiled.layout.codes, dtype=np.int64)
        for count, stream in order:
            compiled.counts(count, stream, table)
        tables.append(table)
    here = count_runs(mechanism, x, runs, 5)
    with open_runner(workers=2) as pool:
        there = pool.batches(mechanism, [(x, runs, 5)])[0].codes()
    alone = sorted(here[1].tolist())
    return bool(np.array_equal(*tables)) and alone == sorted(there.counts.tolist())


def main(arguments: list[str]) -> int:
    warnings.simplefilter("ignore")
    runs = int(float(arguments[0])) if arguments else 100_000_000
    smallest, failed = 1.0, False
    print(f"{'mechanism':<28} {'outputs':>8} {'df':>5} {'p':>10} {'runs/s':>10}")
    for number, name in enumerate(NAMES):
        mechanism, x = example(name)
        compiled = compiled_for(mechanism, x)
        exact = exact_by_code(compiled, mechanism, x)
        start = time.process_time()
        table = np.zeros(compiled.layout.codes, dtype=np.int64)
        for count, stream in blocks_of(runs, (1, number)):
            compiled.counts(count, stream, table)
        took = time.process_time() - start
        p, freedom = p_value(table, exact)
        smallest = min(smallest, p)
        outputs, rate = int((exact > 0).sum()), runs / took
        print(f"{name:<28} {outputs:>8} {freedom:>5} {p:>10.3g} {rate:>10.3g}", flush=True)
    failed |= smallest < LEVEL / len(NAMES)
    print(f"{runs:.0e} runs each; the smallest of {len(NAMES)} p-values is {smallest:.3g}: "
          f"{'one of them is wrong' if failed else 'all agree'}")  # fmt: skip
    for name in ("SVT1", "ReportNoisyMax1", "PermuteAndFlip"):
        same = same_counts(name)
        failed |= not same
        print(f"{name}: the same counts in any order of blocks and by two workers: {same}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
