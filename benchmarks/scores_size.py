"""Ten million scores: under 5 s of computing and 2 GB.

Prints one line for each measure: the claim, the seconds of computing and of the clock, the memory.

    python benchmarks/scores_size.py
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

import dpest

EACH = 5_000_000
SECONDS, BYTES = 5.0, 2e9


def main() -> int:
    rng = np.random.default_rng(0)
    inside, outside = rng.normal(size=EACH) + 1, rng.normal(size=EACH)
    dpest.audit_scores(inside[:1000], outside[:1000], delta=1e-5)  # libraries are loaded
    slow = False
    for question in ({"delta": 1e-5}, {"claim": "gdp:1"}, {"claim": "zcdp:0.5"}):
        started, clock = time.process_time(), time.monotonic()
        verdict = dpest.audit_scores(inside, outside, **question)
        seconds, wall = time.process_time() - started, time.monotonic() - clock
        memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        slow |= seconds > SECONDS or memory > BYTES
        assert verdict.lower is not None
        print(
            f"{2 * EACH:,} scores, {question}, {verdict.lower.method}: {seconds:.1f} s of "
            f"computing ({wall:.1f} s), {memory / 1e9:.2f} GB; at most {SECONDS:g} s, "
            f"{BYTES / 1e9:g} GB",
            flush=True,
        )
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
