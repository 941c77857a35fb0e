"""The audit of doubles: refutes naive noise, passes snapping, in seconds.

DP-Sniper needed 2,100 s and 2e8 samples to show 0.2521 for naive Laplace noise of nominal 0.1.

    python benchmarks/float_audit.py
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from dpest import zoo
from dpest.attacks.floating import audit_doubles


def naive(x: float, rng: np.random.Generator, *, eps: float = 0.1) -> Any:
    return x + rng.laplace(scale=1 / eps)


def gaussian(x: float, rng: np.random.Generator, *, sigma: float = 10.0) -> Any:
    return x + rng.normal(scale=sigma)


def main() -> int:
    failed = 0
    for name, x, x2 in (("0 and 1", 0.0, 1.0), ("7.25 and 8", 7.25, 8.0), ("0.3, 1.3", 0.3, 1.3)):
        begin = time.process_time()
        found = audit_doubles(naive, x, x2)
        seconds = time.process_time() - begin
        failed += found.value <= 0.2521 or seconds > 60
        print(
            f"naive Laplace (nominal 0.1) on {name}: at least {found.value:.3f}, reference 0.2521, "
            f"ratio {found.value / 0.2521:.1f}; {seconds:.1f} cpu-s, reference 2100 s, "
            f"ratio {seconds / 2100:.4f}",
            flush=True,
        )
    found = audit_doubles(gaussian, 2.0, 3.0)
    failed += found.value <= 1.0
    print(f"naive Gaussian (sigma 10) on 2 and 3: at least {found.value:.3f}", flush=True)
    snapping = zoo.get("SnappingLaplace")
    for x, x2 in (([0.0], [1.0]), ([1.0], [2.0])):
        begin = time.process_time()
        found = audit_doubles(snapping, x, x2)
        failed += found.value > 0.1
        print(
            f"snapping (nominal 0.1) on {x[0]:g} and {x2[0]:g}: at least {found.value:.4f}, "
            f"reference 0.0979; {time.process_time() - begin:.1f} cpu-s",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
