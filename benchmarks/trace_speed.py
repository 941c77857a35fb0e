"""How long traces take, and how they grow.

Each line: the claim, our figure, the limit, the ratio. Process time, the best of three, for
machines are shared. With the sources of another version its figures are measured in the same run,
in a process of its own, once each and for at most a minute:

    python benchmarks/trace_speed.py [--against FOLDER/src]
"""

from __future__ import annotations

import importlib
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dpest import zoo

_TRACES = ("dpest.reading.trace", "dpest.program.trace")  # here, and in 0.1.0
_MOST_SECONDS = 60


def trace(*args: Any, **kwargs: Any) -> Any:
    for name in _TRACES:
        try:
            return importlib.import_module(name).trace(*args, **kwargs)
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(_TRACES)


def running_maximum(x, rng):  # type: ignore[no-untyped-def]
    best, place = -math.inf, None
    for i, q in enumerate(x):
        noisy = q + rng.laplace(scale=20.0)
        if noisy > best:
            best, place = noisy, i
    return place


def noisy_max(x, rng):  # type: ignore[no-untyped-def]
    return np.argmax(np.asarray(x) + rng.laplace(scale=20.0, size=len(x)))


def rappor(x, rng, f=0.5, p=0.25, q=0.75):  # type: ignore[no-untyped-def]
    report = []
    for bit in x:
        u = rng.random()
        if u < f / 2:
            kept = 1
        elif u < f:
            kept = 0
        else:
            kept = bit
        report.append(1 if rng.random() < (q if kept else p) else 0)
    return report


LONG: dict[str, tuple[float, int, Callable[[], Any]]] = {
    "SVT1, n=1000": (1.0, 1001, lambda: trace(zoo.get("SVT1"), [1.0] * 1000)),
    "NumericalSVT, n=100": (0.3, 5051, lambda: trace(zoo.get("NumericalSVT"), [1.0] * 100)),
    "RAPPOR by a loop, 8 bits": (0.05, 1, lambda: trace(rappor, [1, 0, 0, 1, 1, 0, 1, 0])),
}


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


def measured_once(name: str) -> None:
    """For another version: the seconds that one of the long ones takes, on a line of its own."""
    trace(zoo.get("SVT1"), [1.0] * 3)
    start = time.process_time()
    LONG[name][2]()
    print(time.process_time() - start)


def elsewhere(name: str, sources: str) -> str:
    """How long another version takes for the same."""
    environment = {**os.environ, "PYTHONPATH": sources, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, __file__, "--once", name]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=4 * _MOST_SECONDS
        )
    except subprocess.TimeoutExpired:
        return "no answer"
    return f"{float(done.stdout):.1f} s" if done.returncode == 0 else "no answer"


def main() -> int:
    if sys.argv[1:2] == ["--once"]:
        measured_once(sys.argv[2])
        return 0
    svt1, svt6 = zoo.get("SVT1"), zoo.get("SVT6")
    trace(svt1, [1.0] * 3)
    good = True

    def claim(text: str, limit: float, paths: int, work: Callable[[], Any]) -> None:
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
    for name, (limit, paths, work) in LONG.items():
        claim(name, limit, paths, work)
        if sys.argv[1:2] == ["--against"]:
            print(f"  the other version: {elsewhere(name, sys.argv[2])}", flush=True)
    from dpest.reading.trace import instantiate

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
