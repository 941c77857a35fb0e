"""Every wrong mechanism's demonstration, run again and again with fresh randomness.

    python validation/demonstrations.py [REPEATS] [--seconds S] [--cases FOLDER] [--workers N]
                                        [--only NAME...]

For each mechanism of the zoo that breaks its claim (and each function of a FOLDER with a cases.json
that expects "violated"): an audit, the script of its demonstration, and REPEATS runs of that script
(20 by default; fewer, but at least three, where they have taken S seconds) in a process without
dpest. A script must print a p-value below 0.001 every time.
Where the loss is above 1.25 times the claim it may state at most 2,000,000 runs a side. Prints a
row for each; the exit status is 1 if a script missed or states too many runs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from dpest import zoo

LEVEL, MOST, CLEAR = 1e-3, 2_000_000, 1.25
Target = tuple[str, list[str], Path]  # its name, the words of the command line, the folder


def targets(cases: Path | None) -> Iterator[Target]:
    for mechanism in zoo.entries():
        if mechanism.about.get("right") is False:
            yield mechanism.name, [mechanism.name], Path.cwd()
    if cases is not None:
        for name, case in json.loads((cases / "cases.json").read_text()).items():
            if case["expect"] == "violated":
                target = f"{case['file']}:{case['function']}"
                yield name, [target, *shlex.split(case["args"])], cases


def shown(target: Target, folder: Path, repeats: int, seconds: float) -> tuple[str, bool]:
    """A row of the table, and whether all is as it should be."""
    name, words, where = target
    verdict, script = folder / "verdict.json", folder / "witness.py"
    command = [sys.executable, "-m", "dpest", "audit", *words]
    command += ["--json", str(verdict), "--replay", str(script)]
    subprocess.run(command, cwd=where, capture_output=True, check=False, timeout=600)
    if not verdict.exists():
        return f"{name:28} no verdict", False
    found = json.loads(verdict.read_text())
    if found["status"] != "violated":
        return f"{name:28} {found['status']}", False
    demonstration = found.get("demonstration")
    if demonstration is None:
        return f"{name:28} violated, no demonstration", False
    ratio = float(found["lower"]["value"]) / demonstration["epsilon"]
    started = time.monotonic()
    p_values: list[float] = []
    while len(p_values) < repeats:
        p_values.append(replayed(script, where))
        if len(p_values) >= 3 and time.monotonic() - started > seconds:
            break
    hits = sum(p < LEVEL for p in p_values)
    few = demonstration["runs"] <= MOST or ratio <= CLEAR
    row = (
        f"{name:28} loss {ratio:7.3g} of the claim {demonstration['runs']:>10,} runs "
        f"{hits:3} of {len(p_values)}  largest p {max(p_values):.2g}  "
        f"{time.monotonic() - started:.0f} s"
    )
    return row, hits == len(p_values) and few


def replayed(script: Path, where: Path) -> float:
    """The p-value that the script prints, without dpest on its path unless the target is ours."""
    ended = subprocess.run(
        [sys.executable, str(script)], cwd=where, env=dict(os.environ), capture_output=True,
        text=True, check=True, timeout=1800,
    )  # fmt: skip
    printed = re.search(r"p-value of the claim .*: (\S+)", ended.stdout)
    return float(printed[1]) if printed else 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repeats", nargs="?", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    wanted = [t for t in targets(options.cases) if not options.only or t[0] in options.only]

    def row_of(target: Target) -> tuple[str, bool]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                return shown(target, Path(folder), options.repeats, options.seconds)
            except subprocess.SubprocessError as error:
                return f"{target[0]:28} {type(error).__name__}", False

    failed = 0
    with ThreadPoolExecutor(options.workers) as pool:  # each waits for processes of its own
        for work in as_completed([pool.submit(row_of, target) for target in wanted]):
            row, right = work.result()
            failed += not right
            print(row if right else f"{row}   NOT AS IT SHOULD BE", flush=True)
    print(f"{len(wanted)} mechanisms, {failed} not as it should be")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
