"""A process of its own costs next to nothing: commands with it and without, in turns.

    python benchmarks/start_up.py [rounds]

`dpest --help` starts no process; it is held against the bare interpreter with click. The medians
of one run are compared, as a ratio.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

PAIRS = {
    "dpest audit SVT1": (
        [sys.executable, "-m", "dpest", "audit", "SVT1"],
        [sys.executable, "-m", "dpest", "audit", "SVT1", "--no-isolate"],
    ),
    "dpest audit LaplaceMechanism": (
        [sys.executable, "-m", "dpest", "audit", "LaplaceMechanism"],
        [sys.executable, "-m", "dpest", "audit", "LaplaceMechanism", "--no-isolate"],
    ),
    "dpest --help against an import of click": (
        [sys.executable, "-m", "dpest", "--help"],
        [sys.executable, "-c", "import click"],
    ),
}


def seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    for name, (ours, reference) in PAIRS.items():
        taken: tuple[list[float], list[float]] = ([], [])
        for _ in range(rounds):
            for times, command in zip(taken, (ours, reference), strict=True):
                times.append(seconds(command))
        mine, other = (statistics.median(times) for times in taken)
        print(f"{name}: {mine:.2f} s, {other:.2f} s without; ratio {mine / other:.2f}", flush=True)


if __name__ == "__main__":
    main()
