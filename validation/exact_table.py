"""The literature's benchmark, exactly: ε on the input patterns beside the known truth.

Prints one row a mechanism and exits non-zero if a digit is wrong. `--only NAME ...` picks rows.
"""

from __future__ import annotations

import math
import sys
import time

from dpest import zoo
from dpest.distributions.engine import Objective
from dpest.inputs.patterns import patterns

# Known values on the patterns, with the digits that are known; None: computed here first.
TRUTHS: dict[str, tuple[float | None, float]] = {
    "LaplaceMechanism": (0.1, 1e-9),
    "TruncatedGeometric": (math.log(9 / 8), 1e-12),
    "NoisyHist1": (0.1, 1e-9),
    "NoisyHist2": (10.0, 1e-9),
    "ReportNoisyMax1": (0.0946149, 6e-8),
    "ReportNoisyMax2": (0.1, 1e-9),
    "ReportNoisyMax3": (0.25, 1e-9),
    "ReportNoisyMax4": (math.inf, 0.0),
    "SVT1": (0.0885258, 6e-8),
    "SVT2": (0.0882304, 6e-8),
    "SVT3": (0.5, 1e-9),
    "SVT4": (0.1724707, 6e-8),
    "SVT5": (math.inf, 0.0),
    "SVT6": (0.4200315, 6e-8),
    "NumericalSVT": (0.0805192, 6e-8),
    "SVT34Parallel": (None, 0.0),
    "PrefixSum": (1.0, 1e-9),
    "LaplaceParallel": (0.1, 1e-9),
    "OneTimeRappor": (0.600501, 6e-7),
    "Rappor": (0.300063, 6e-7),
    "NoisyMaxSum": (None, 0.0),
}


def literature_pairs(name: str) -> list[tuple[object, object]]:
    """The pairs that the published tools looked at."""
    entry = zoo.get(name)
    if "Rappor" in name:  # one value against its neighbours of the pattern: 1 against 0 and 2
        return [(1, 0), (1, 2)]
    length = entry.about.get("length")
    found = patterns(entry.adjacency, entry.domain, length, both_orders=False)
    return [(x, x2) for _, x, x2 in found]


def main(only: list[str]) -> int:
    wrong = 0
    total = 0.0
    print(f"{'mechanism':20} {'exact':>18} {'known':>18} {'seconds':>8}  pair")
    for name, (known, digits) in TRUTHS.items():
        if only and name not in only:
            continue
        started = time.process_time()
        objective = Objective(zoo.get(name))
        best, pair = -math.inf, None
        for x, x2 in literature_pairs(name):
            value = objective(x, x2)
            if value > best:
                best, pair = value, (x, x2)
        seconds = time.process_time() - started
        total += seconds
        right = known is None or best == known or abs(best - known) <= digits
        wrong += not right
        shown = "new" if known is None else f"{known:.12g}"
        mark = "" if right else "  WRONG"
        print(f"{name:20} {best:18.12g} {shown:>18} {seconds:8.3f}  {pair}{mark}", flush=True)
    print(f"{total:.2f} s of processor time; {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
