"""Kills, damaged states, a full disk, several processes on one state: no answer changes.

Every disturbed run is held against a quiet one with the same seed. A run that was killed is
started again with the same state and must end with the same answer; a damaged state is refused in
one line, or repaired and leads to the same answer. Tracebacks are counted, and there is to be none.

    python validation/faults.py [kills [damaged states]]
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

METHODS = ("sequential", "sniper", "statdp", "finder")
SOURCE = """
def noisy(x, rng, *, eps=0.5):
    total = 0.0
    for value in x:
        total = total + value
    return total + rng.laplace(scale=1 / eps) > 1.5
"""
IGNORED = {"seconds", "wealth", "shares"}
CLOCK = "time: "  # a note that begins so tells how long the stages took


def command(method: str, json_file: str, *more: str) -> list[str]:
    budget = [] if method == "finder" else ["--budget", "400000runs"]
    return [
        *[sys.executable, "-m", "dpest", "attack", "code.py:noisy", "--method", method],
        *["--adjacency", "l1", "--length", "2", "--epsilon", "0.2", "--seed", "3", *budget],
        *["--json", json_file, *more],
    ]


def answer(path: Path) -> Any:
    """The answer without what a clock decides."""

    def without(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {k: without(v) for k, v in tree.items() if k not in IGNORED}
        if isinstance(tree, list):
            return [without(part) for part in tree if not str(part).startswith(CLOCK)]
        return tree

    return without(json.loads(path.read_text()))


def descendants(process: int) -> list[int]:
    """All processes below one, without Python's own tracker of shared resources.

    Whoever kills that gets a traceback of Python's, in which nothing of ours takes part.
    """
    try:
        words = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    children = [int(word) for word in words if not tracks_resources(int(word))]
    return children + [d for child in children for d in descendants(child)]


def tracks_resources(process: int) -> bool:
    try:
        return b"multiprocessing.resource_tracker" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


class Faults:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.dice = random.Random(11)
        self.kills = 0
        self.problems: list[str] = []
        self.tracebacks = 0
        self.unheard = 0
        (folder / "code.py").write_text(SOURCE)
        self.quiet: dict[str, tuple[int, Any]] = {}

    def note(self, where: str, what: str) -> None:
        self.problems.append(f"{where}: {what}")
        print(f"  {where}: {what}", flush=True)

    def heard(self, where: str, error: str) -> None:
        if "Traceback" in error or "bug in dpest" in error:
            self.tracebacks += 1
            self.note(where, error[-400:])

    def reference(self) -> None:
        for method in METHODS:
            done = self.run(command(method, f"{method}.json"))
            self.quiet[method] = (done.returncode, answer(self.folder / f"{method}.json"))

    def run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=self.folder, capture_output=True, text=True, timeout=600, check=False
        )

    def same(self, where: str, method: str, done: Any, json_file: Path) -> None:
        status, expected = self.quiet[method]
        if done.returncode != status:
            self.note(where, f"status {done.returncode}, not {status}: {done.stderr[-200:]}")
        elif answer(json_file) != expected:
            self.note(where, "another answer")

    # One after the other

    def killed(self, count: int) -> None:
        """Kill the supervisor, its worker or a process of the pool or of Dask, then start again."""
        while self.kills < count:
            method = METHODS[self.kills % len(METHODS)]
            where = ("pool", "dask", "alone")[(self.kills // len(METHODS)) % 3]
            more = {"pool": ["--workers", "2"], "dask": ["--cluster", "local"], "alone": []}[where]
            state = self.folder / f"state-{self.kills}"
            json_file = self.folder / "killed.json"
            words = command(method, str(json_file), "--state", str(state), *more)
            json_file.unlink(missing_ok=True)
            if where == "pool" or self.dice.random() < 0.3:
                self._disturb(words, f"{method}, {where}", only_workers=where == "pool")
            else:
                self._disturb(words, f"{method}, {where}")
            done = self.run(words)
            self.heard(f"{method}, {where}, again", done.stderr)
            self.same(f"{method}, {where}, after {self.kills} kills", method, done, json_file)
            state.unlink(missing_ok=True)

    def _disturb(self, words: list[str], where: str, only_workers: bool = False) -> None:
        running = subprocess.Popen(
            words, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        time.sleep(self.dice.uniform(0.3, 5.0))
        below = descendants(running.pid)
        victims = below[1:] if only_workers and len(below) > 1 else [running.pid, *below]
        victim = self.dice.choice(victims)
        with contextlib.suppress(ProcessLookupError):  # it had ended by itself: no kill
            os.kill(victim, signal.SIGKILL)
            self.kills += 1
        _, error = running.communicate(timeout=600)
        self.heard(where, error)

    def interrupted(self, count: int) -> float:
        """SIGINT and SIGTERM at any time: 130, valid JSON. The longest time that it took."""
        longest = 0.0
        for i in range(count):
            method = METHODS[i % len(METHODS)]
            json_file = self.folder / "interrupted.json"
            json_file.unlink(missing_ok=True)
            running = subprocess.Popen(
                [*command(method, str(json_file)), "--state", str(self.folder / f"int-{i}")],
                cwd=self.folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
            time.sleep(self.dice.uniform(0.6, 4.0))
            begun = time.monotonic()
            running.send_signal((signal.SIGINT, signal.SIGTERM)[i % 2])
            _, error = running.communicate(timeout=60)
            spent = time.monotonic() - begun
            self.heard(f"{method}, interrupted", error)
            if running.returncode == self.quiet[method][0]:
                continue  # it had ended by itself
            longest = max(longest, spent)
            if running.returncode != 130:
                self.note(f"{method}, interrupted", f"status {running.returncode}")
            elif not json_file.exists():
                self.unheard += 1  # it had not yet read what is asked
            elif json.loads(json_file.read_text())["interrupted"] is not True:
                self.note(f"{method}, interrupted", "the JSON does not say so")
        return longest

    def damaged(self, count: int) -> None:
        state, json_file = self.folder / "state", self.folder / "damaged.json"
        words = command("sequential", str(json_file), "--state", str(state))
        self.run(words)
        good = state.read_bytes()
        for i in range(count):
            bad = bytearray(good)
            kind = i % 4
            if kind == 0:
                bad[self.dice.randrange(len(bad))] ^= 1 << self.dice.randrange(8)
            elif kind == 1:
                del bad[self.dice.randrange(len(bad)) :]
            elif kind == 2:
                start = self.dice.randrange(len(bad))
                bad[start : start + 64] = bytes(64)
            else:
                bad += self.dice.randbytes(100)
            state.write_bytes(bad)
            repair = i % 8 >= 4
            done = self.run([*words, *(["--state-repair"] if repair else [])])
            self.heard("damaged", done.stderr)
            if (
                done.returncode == 2
                and len(done.stderr.splitlines()) == 1
                and (not repair or "header" in done.stderr or "something else" in done.stderr)
            ):
                continue  # refused in one line
            self.same(f"damaged state {i}", "sequential", done, json_file)

    def full_disk(self) -> None:
        """A file system of 64 kB, where one can be mounted; /dev/full for the answers."""
        done = self.run(command("sequential", "/dev/full"))
        self.heard("full disk", done.stderr)
        if done.returncode != 2 or "No space left" not in done.stderr:
            self.note("/dev/full", f"status {done.returncode}: {done.stderr}")
        small = self.folder / "small"
        small.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)],
            capture_output=True,
            check=False,
        )
        if mounted.returncode:
            print("  no small file system could be mounted; only /dev/full was tried")
            return
        try:
            state = str(small / "state")
            done = self.run(command("sequential", "full.json", "--state", state))
            self.heard("full disk", done.stderr)
            if done.returncode != 2 or "disk is full" not in done.stderr:
                self.note("full disk", f"status {done.returncode}: {done.stderr}")
        finally:
            subprocess.run(["umount", str(small)], check=False)

    def together(self) -> None:
        state = str(self.folder / "shared")
        files = [self.folder / f"together-{i}.json" for i in range(4)]
        runs = [
            subprocess.Popen(
                command("sequential", str(file), "--state", state),
                cwd=self.folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for file in files
        ]
        for i, (running, file) in enumerate(zip(runs, files, strict=True)):
            _, error = running.communicate(timeout=600)
            self.heard("together", error)
            self.same(f"together {i}", "sequential", running, file)


def main() -> int:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    damaged = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    folder = Path(tempfile.mkdtemp(prefix="dpest-faults-"))
    try:
        faults = Faults(folder)
        faults.reference()
        faults.killed(kills)
        longest = faults.interrupted(max(4, kills // 3))
        faults.damaged(damaged)
        faults.full_disk()
        faults.together()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(
        f"{faults.kills} kills over {', '.join(METHODS)}; {damaged} damaged states; a full disk; "
        f"4 processes on one state: {len(faults.problems)} wrong, {faults.tracebacks} tracebacks; "
        f"the longest interrupt took {longest:.1f} s, {faults.unheard} came before the start"
    )
    return 1 if faults.problems else 0


if __name__ == "__main__":
    sys.exit(main())
