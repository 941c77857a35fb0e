"""A process of its own costs next to nothing: commands with it and without, in turns.

    python benchmarks/start_up.py [ROUNDS] [--before SRC]

`dpest --help` starts no process; it is held against the bare interpreter with click. With --before
the same commands of another version are measured beside ours: SRC is the folder `src` of its
checkout. The medians of one run are compared, as a ratio.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

OURS = Path(__file__).resolve().parents[1] / "src"
DPEST = [sys.executable, "-m", "dpest"]


def seconds(command: list[str], source: Path) -> float:
    environment = {**os.environ, "PYTHONPATH": str(source)}
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=environment)
    return time.perf_counter() - started


def compared(
    name: str, ours: list[str], reference: list[str], source: Path, rounds: int, without: str
) -> None:
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        taken[0].append(seconds(ours, OURS))
        taken[1].append(seconds(reference, source))
    mine, other = (statistics.median(times) for times in taken)
    print(f"{name}: {mine:.2f} s, {other:.2f} s {without}; ratio {mine / other:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", nargs="?", type=int, default=9)
    parser.add_argument("--before", type=Path)
    options = parser.parse_args()
    rounds = options.rounds
    for name in ("SVT1", "LaplaceMechanism"):
        command = [*DPEST, "audit", name]
        inside = [*command, "--no-isolate"]
        compared(f"dpest audit {name}", command, inside, OURS, rounds, "without")
    bare = [sys.executable, "-c", "import click"]
    compared("dpest --help", [*DPEST, "--help"], bare, OURS, rounds, "to import click alone")
    if options.before is not None:
        for command in (["--help"], ["audit", "SVT1"]):
            name, both = f"dpest {' '.join(command)}", [*DPEST, *command]
            compared(name, both, both, options.before, rounds, "before")


if __name__ == "__main__":
    main()
