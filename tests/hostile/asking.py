"""Asks the command line about many functions, each in a process of its own.

Run as a script: from a process that has loaded dpest alone, as the command line's is. The tests'
own may hold more than the memory limit, and threads, from other tests. Reads a list of
[target, status, hangs, folder] from standard input and writes the answers, both as JSON.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

QUESTION = ["--epsilon", "0.5", "--adjacency", "l1", "--length", "1", "--memory-limit", "600MB"]
# Loaded once, before the process is copied: what an audit would load for each function anew.
WARM = (
    "dpest.auditing",
    "dpest.campaign.campaign",
    "dpest.ask.record_search",
    "dpest.ask.vector_search",
    "dpest.report.text",
    "scipy.linalg",
)

DOUBLES = ("functions.py:low_", "functions.py:prints", "functions.py:makes_cycles")


def ask(target: str, status: int, hangs: bool, folder: str) -> tuple[int, str, str, float, str]:
    """The answer of the command line, in a folder that must stay empty."""
    from dpest.cli import run

    Path(folder).mkdir()
    os.chdir(folder)
    limit = ["--time-limit", "1" if hangs else "30"]
    budget = ["--budget", "1000runs" if status == 0 else "3000runs"]
    # The machine's doubles take 60,000 runs more of whatever the function does: asked of some.
    doubles = [] if Path(target).name.startswith(DOUBLES) else ["--no-floating-point"]
    out, err = io.StringIO(), io.StringIO()
    started = time.monotonic()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        got = run(["audit", target, *QUESTION, *limit, *budget, *doubles, "--json", "-"])
    seconds = time.monotonic() - started
    return got, out.getvalue(), err.getvalue(), seconds, os.getcwd()


def main() -> None:
    asked = json.load(sys.stdin)
    for name in WARM:
        importlib.import_module(name)
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(8, mp_context=context) as pool:
        answers = list(pool.map(ask, *zip(*asked, strict=True)))
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
