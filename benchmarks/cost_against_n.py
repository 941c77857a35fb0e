"""An audit at n = 10,000 against one at n = 10, where a proof for every length exists.

The verdict must be the same, in at most three times the processor time (measured in one run, after
a warm-up). PrefixSum, which has no bound for every length, must answer at n = 1,000.

    python benchmarks/cost_against_n.py
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import dpest
from dpest import zoo


def clipped_sum(x: Any, rng: Any, *, eps: float = 1.0) -> Any:
    return np.clip(x, 0, 5).sum() + rng.laplace(scale=5 / eps)


def histogram(x: Any, rng: Any, *, eps: float = 1.0, k: int = 4) -> Any:
    return np.bincount(x, minlength=k) + rng.laplace(scale=2 / eps, size=k)


RECORDS = {"epsilon": 1.0, "adjacency": "replace_one"}
TARGETS: dict[str, tuple[Any, dict[str, Any]]] = {
    "SVT1": (zoo.get("SVT1"), {}),
    "NumericalSVT": (zoo.get("NumericalSVT"), {}),
    "Noisy Max": (zoo.get("ReportNoisyMax1"), {}),
    "clipped sum": (clipped_sum, RECORDS),
    "histogram": (histogram, {**RECORDS, "domain": "integers(any, 0, 3)"}),
}


def audited(name: str, length: int) -> tuple[Any, float]:
    target, question = TARGETS[name]
    started = time.process_time()
    verdict = dpest.audit(target, length=length, **question)
    return verdict, time.process_time() - started


def main() -> int:
    failed = False
    for name in TARGETS:
        audited(name, 5)
        short, long = audited(name, 10), audited(name, 10_000)
        ratio = long[1] / short[1]
        same = short[0].status == long[0].status
        failed |= not same or ratio > 3
        print(
            f"{name:14} n = 10: {short[0].status} in {short[1]:.2f} s; n = 10,000: "
            f"{long[0].status} in {long[1]:.2f} s; ratio {ratio:.2f}",
            flush=True,
        )
    verdict = dpest.audit(zoo.get("PrefixSum"), length=1000)
    print(f"PrefixSum      n = 1,000: {verdict.status}, at least {verdict.lower.value:g}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
