"""How long traces take, and how they grow.

Each line: the claim, our figure, the limit, the ratio. Process time, the best of three, for
machines are shared.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dpest import zoo
from dpest.reading.paths import Trace
from dpest.reading.trace import instantiate, trace


def running_maximum(x, rng):  # type: ignore[no-untyped-def]
    best, place = -math.inf, None
    for i, q in enumerate(x):
        noisy = q + rng.laplace(scale=20.0)
        if noisy > best:
            best, place = noisy, i
    return place


def noisy_max(x, rng):  # type: ignore[no-untyped-def]
    return np.argmax(np.asarray(x) + rng.laplace(scale=20.0, size=len(x)))


def best_of(work: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    found = math.inf
    result = None
    for _ in range(times):
        start = time.process_time()
        result = work()
        found = min(found, time.process_time() - start)
    return found, result


def line(claim: str, seconds: float, limit: float) -> bool:
    print(
        f"{claim:62} {seconds * 1e3:9.1f} ms   limit {limit * 1e3:7.0f} ms   {seconds / limit:5.2f}"
    )
    return seconds <= limit


def main() -> int:
    svt1, svt6 = zoo.get("SVT1"), zoo.get("SVT6")
    trace(svt1, [1.0] * 3)
    good = True

    def claim(text: str, limit: float, paths: int, work: Callable[[], Trace]) -> None:
        nonlocal good
        seconds, found = best_of(work)
        assert len(found.paths) == paths, (text, len(found.paths))
        good &= line(f"{text} ({paths} paths)", seconds, limit)

    claim("SVT1, n=10", 0.05, 11, lambda: trace(svt1, [1.0] * 10))
    claim("SVT1, n=50", 1.0, 51, lambda: trace(svt1, [1.0] * 50))
    claim("SVT6, n=10", 2.0, 1024, lambda: trace(svt6, [1.0] * 10))
    claim(
        "Noisy Max by a running maximum, n=20", 1.0, 20, lambda: trace(running_maximum, [1.0] * 20)
    )
    claim("Noisy Max by argmax, n=100", 1.0, 100, lambda: trace(noisy_max, [1.0] * 100))
    claim("RAPPOR, 20 bits", 0.1, 1, lambda: trace(zoo.get("Rappor"), 3))
    general = trace(svt6, [0.0] * 10, symbolic=True)
    claim(
        "SVT6 at one input of a symbolic trace",
        0.5,
        1024,
        lambda: instantiate(general, [1.0] * 10, check=False),
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
