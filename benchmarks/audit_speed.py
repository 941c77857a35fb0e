"""Claim: an audit of each mechanism of the zoo takes less than 5 s, half of them less than 1 s.

    python benchmarks/audit_speed.py [--command] [NAME...]

prints, for each audit with default settings, its seconds of computing and by the clock, the
verdict, the bounds and the truth, and what is wrong with it, if anything. With --command each audit
is a fresh `dpest audit NAME`, as a user runs it: start-up and imports are then part of the time.
Ends with the median, the slowest, and how many are too slow; the exit status is 1 if a verdict is
wrong (never for a slow machine).
"""

from __future__ import annotations

import atexit
import functools
import json
import math
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import dpest
from dpest import zoo

SLOW = 5.0
MEDIAN = 1.0
APART = 0.01


def main(arguments: list[str]) -> int:
    fresh = "--command" in arguments
    names = [a for a in arguments if not a.startswith("-")] or zoo.names()
    if fresh:
        as_command(names[0])  # compiles the modules, once
    print(f"{os.cpu_count()} cores; seed 0; {'dpest audit NAME' if fresh else 'dpest.audit(NAME)'}")
    print(f"{'mechanism':26} {'cpu s':>6} {'wall s':>7}  {'verdict':9} bounds, and the truth")
    spent: list[tuple[float, float, str]] = []
    wrong = []
    for name in names:
        report, computing, waiting = (as_command if fresh else in_process)(name)
        spent.append((computing, waiting, name))
        faults = judged(name, report)
        if faults:
            wrong.append(name)
        low, high = (bound(report[side]) for side in ("lower", "upper"))
        shown = f"[{low:.6g}, {high:.6g}], {truth_of(name, report)}"
        print(
            f"{name:26} {computing:6.2f} {waiting:7.2f}  {report['status']:9} {shown}"
            f"{'  ' + '; '.join(faults) if faults else ''}",
            flush=True,
        )
    for what, seconds in (
        ("computing", {name: computing for computing, _, name in spent}),
        ("by the clock", {name: waiting for _, waiting, name in spent}),
    ):
        slowest = max(seconds, key=seconds.__getitem__)
        print(
            f"{what:12}: median {statistics.median(seconds.values()):.2f} s (claim: below "
            f"{MEDIAN:g}), slowest {seconds[slowest]:.2f} s ({slowest}), "
            f"{sum(s > SLOW for s in seconds.values())} of {len(seconds)} above {SLOW:g} s"
        )
    print(f"verdicts that don't agree with the truth: {', '.join(wrong) or 'none'}")
    return 1 if wrong else 0


def in_process(name: str) -> tuple[dict[str, Any], float, float]:
    mechanism = zoo.get(name)
    computing, waiting = time.process_time(), time.monotonic()
    verdict = dpest.audit(mechanism)
    computing, waiting = time.process_time() - computing, time.monotonic() - waiting
    return json.loads(verdict.to_json()), computing, waiting


def as_command(name: str) -> tuple[dict[str, Any], float, float]:
    command = [sys.executable, "-m", "dpest", "audit", name, "--json", "-"]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=installed())
    waiting = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    computing = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(ended.stdout), computing, waiting


@functools.cache
def installed() -> dict[str, str]:
    """Surroundings in which modules are compiled once, as they are for who installed dpest."""
    kept = tempfile.mkdtemp(prefix="audit-speed-")
    atexit.register(shutil.rmtree, kept, True)
    cleared = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**cleared, "PYTHONPYCACHEPREFIX": kept}


def bound(evidence: dict[str, Any] | None) -> float:
    return math.nan if evidence is None else float(evidence["value"])


def truth_of(name: str, report: dict[str, Any]) -> float | None:
    mechanism = zoo.get(name)
    truth = mechanism.about["truth"]
    return None if truth is None else truth(report["length"], mechanism.all_params)


def judged(name: str, report: dict[str, Any]) -> list[str]:
    """What a verdict gets wrong, in words; a mechanism made for doubles is judged by them."""
    mechanism, status, faults = zoo.get(name), report["status"], []
    true, low, high = truth_of(name, report), bound(report["lower"]), bound(report["upper"])
    if true is not None:
        error = float((report["lower"] or {}).get("error") or 0.0)
        if low > true * (1 + 1e-9) + error:
            faults.append("LOWER BOUND ABOVE THE TRUTH")
        if high < true * (1 - 1e-9):
            faults.append("UPPER BOUND BELOW THE TRUTH")
    about = mechanism.about
    if not about["right"] and report["length"] >= about["wrong_from"]:
        if status != "violated":
            faults.append("not refuted")
        return faults
    if about.get("floating_point"):
        machine = report["floating_point"]
        if machine is None or machine["status"] == "violated":
            faults.append("no verdict on its doubles")
    elif status not in ("exact", "proved"):
        faults.append("not proved")
    elif true is not None and not high * (1 - APART) <= low:
        faults.append(f"bounds {(high - low) / high:.1%} apart")
    return faults


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
