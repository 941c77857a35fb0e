"""Seconds mean seconds: how far attacks and audits overrun their budget, and a request to stop.

Each command runs by itself. Its overrun is its wall time, less what a command needs to start (a
command that only loads what all of them load), less the budget. A request is a SIGTERM or SIGINT
some seconds after the start; its overrun is the time from there to the end. Both have to be below
two seconds. On a machine that others use as well a command waits for its turn, and is late: with
`--clock processor` it takes the processor's time for the time, and so does this script. That is
what an idle machine would show, for commands of one process.

    python benchmarks/seconds.py [--budget 3] [--method sniper] [--signals] [--clock C] [NAME ...]
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from dpest.attacks import protocol

ALLOWED = 2.0
NAMES = (
    "SVT1", "SVT3", "SVT6", "SVT34Parallel", "PrefixSum", "OneTimeRappor", "Rappor",
    "ReportNoisyMax1", "ReportNoisyMax3", "NoisyHist1", "TruncatedGeometric", "SmartSum",
    "SnappingLaplace", "SalaryMean",
)  # fmt: skip
#: Functions that have no native loop: a call of a library that is not in the table, and a slow one.
PLAIN = """
import json
import dpest


@dpest.mechanism(claim=dpest.PureDP(0.5), adjacency=dpest.linf(1), domain=dpest.reals(4))
def through_text(x, rng):
    noisy = [v + rng.laplace(0, 2) for v in x]
    return [json.loads(json.dumps(v > 1)) for v in noisy]


@dpest.mechanism(claim=dpest.PureDP(0.5), adjacency=dpest.linf(1), domain=dpest.reals(4))
def slow(x, rng):
    noisy = x[0] + rng.laplace(0, 2)
    for _ in range(2_000):
        noisy = float(json.loads(json.dumps(noisy)))
    return noisy
"""
#: When a request to stop comes, in seconds after the start.
REQUESTS = (0.7, 1.5, 3.0, 6.0)


@dataclass(frozen=True)
class Overrun:
    command: str
    budget: float
    seconds: float
    status: int


_BY_PROCESSOR = """
import sys, time
time.monotonic = time.perf_counter = time.process_time
sys.argv[0] = "dpest"
from dpest.cli import main
sys.exit(main())
"""


def run(
    command: list[str], request: tuple[float, int] | None = None, by_processor: bool = False
) -> tuple[float, int]:
    """Seconds that it took (from the request, where there is one), and the status."""
    before = os.times()
    start = time.monotonic()
    begin = ["-c", _BY_PROCESSOR] if by_processor else ["-m", "dpest"]
    process = subprocess.Popen(
        [sys.executable, *begin, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    if request is not None:
        after, number = request
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            start = time.monotonic()
            process.send_signal(number)
    try:
        status = process.wait(300)
    except subprocess.TimeoutExpired:
        process.kill()
        status = process.wait()
    if not by_processor:
        return time.monotonic() - start, status
    now = os.times()
    user, system = (now.children_user - before.children_user,
                    now.children_system - before.children_system)  # fmt: skip
    return user + system, status


def start_up(by_processor: bool) -> float:
    """What a command takes that does nothing but begin: the least of three."""
    nothing = ["attack", "LaplaceMechanism", "--method", "recorded", "--pair", "[0]", "[1]"]
    return min(run(nothing, None, by_processor)[0] for _ in range(3))


def commands(targets: list[str], methods: list[str]) -> list[tuple[str, list[str]]]:
    """A label, and the command without its budget."""
    found = []
    for target in targets:
        label = target.rpartition(":")[2]
        for method in methods:
            words = ["audit", target] if method == "audit" else None
            words = words or ["attack", target, "--method", method]
            found.append((f"{method:<11} {label}", words))
    return found


def show(rows: list[Overrun], what: str) -> bool:
    worst = max(rows, key=lambda row: row.seconds)
    over = [row for row in rows if row.seconds > ALLOWED]
    told = f"{worst.seconds:+.2f} s: {worst.command} ({worst.budget:g} s)"
    print(
        f"{what}: {len(rows)} commands, {len(over)} beyond {ALLOWED:g} s; worst {told}\n",
        flush=True,
    )
    return not over


def overruns(
    given: list[tuple[str, list[str]]], budgets: list[float], by_processor: bool
) -> list[Overrun]:
    first = start_up(by_processor)
    print(f"start-up {first:.2f} s\n{'command':<32} {'budget':>6} {'overrun':>8} status")
    rows = []
    for label, words in given:
        for budget in budgets:
            command = [*words, "--budget", f"{budget:g}s", "--quiet"]
            took, status = run(command, None, by_processor)
            rows.append(Overrun(label, budget, took - first - budget, status))
            print(f"{label:<32} {budget:>6g} {rows[-1].seconds:>+8.2f} {status:>3}", flush=True)
    return rows


def requests(given: list[tuple[str, list[str]]]) -> list[Overrun]:
    print(f"{'command':<32} {'after':>6} {'ended':>8} status")
    rows = []
    for number, (label, words) in enumerate(given):
        for place, after in enumerate(REQUESTS):
            kind = (signal.SIGTERM, signal.SIGINT)[(number + place) % 2]
            took, status = run([*words, "--budget", "60s", "--quiet"], (after, kind))
            rows.append(Overrun(label, after, took, status))
            print(f"{label:<32} {after:>6g} {took:>+8.2f} {status:>3} {kind.name}", flush=True)
    return rows


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--budget", type=float, action="append")
    parser.add_argument("--method", action="append")
    parser.add_argument("--signals", action="store_true")
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    given = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.py"
        plain.write_text(PLAIN)
        own = [f"{plain}:through_text", f"{plain}:slow"]
        targets = [own[("through_text", "slow").index(n)] if n in ("through_text", "slow") else n
                   for n in given.names] or [*NAMES, *own]  # fmt: skip
        todo = commands(targets, given.method or [*protocol.names(), "audit"])
        if given.signals:
            fine = show(requests(todo), "from a request to the end")
        else:
            fine = show(
                overruns(todo, given.budget or [3.0, 10.0], given.clock == "processor"),
                "beyond the budget",
            )
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
