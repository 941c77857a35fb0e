"""Workers are killed at random, the main process once; the answer is that of a quiet run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpest.execution.state import _MARK as MARK
from dpest.running.batch.arrays import block_rows

# Enough blocks to be killed among.
BLOCKS = 14
RUNS = BLOCKS * block_rows("numpy", 1 << 40)

SCRIPT = """
import json, multiprocessing, os, random, signal, sys, threading, time
from dpest.execution.runner import open_runner

def slow(x, rng):
    time.sleep(0.15)
    return [bool(rng.laplace() > 0), bool(rng.laplace() > 1)]

def kill_workers(times):
    dice = random.Random(5)
    for _ in range(times):
        time.sleep(dice.uniform(0.5, 1.5))
        victims = multiprocessing.active_children()
        if victims:
            os.kill(dice.choice(victims).pid, signal.SIGKILL)

state, kills, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
threading.Thread(target=kill_workers, args=(kills,), daemon=True).start()
with open_runner(workers, state=state or None) as runner:
    print(os.getpid(), *[p.pid for p in multiprocessing.active_children()], flush=True)
    counts = runner.count_outputs(slow, 0, RUNS, seed=3)
print(json.dumps([counts.outputs, counts.counts]))
"""


def start(script: Path, state: Path | str, kills: int, workers: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(script), str(state), str(kills), str(workers)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().split()[2] != "Z"


def finished_blocks(state: Path) -> int:
    """The records but the header; the last may be one that is being written."""
    return max(0, state.read_bytes().count(MARK) - 1) if state.exists() else 0


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_killed_work_resumes_to_the_same_answer(tmp_path: Path) -> None:
    script, state = tmp_path / "script.py", tmp_path / "state.db"
    script.write_text(SCRIPT.replace("RUNS", str(RUNS)))
    quiet = start(script, "", 0, 1)

    disturbed = start(script, state, 1, 2)
    deadline = time.monotonic() + 100
    while finished_blocks(state) < 3:
        assert time.monotonic() < deadline
        assert disturbed.poll() is None, disturbed.communicate()
        time.sleep(0.1)
    disturbed.kill()
    assert disturbed.stdout is not None
    processes = [int(word) for word in disturbed.stdout.readline().split()]
    disturbed.communicate()
    before = finished_blocks(state)
    assert 3 <= before < BLOCKS

    resumed = start(script, state, 2, 2)
    out, error = resumed.communicate(timeout=150)
    assert resumed.returncode == 0, error
    expected, _ = quiet.communicate(timeout=150)
    assert json.loads(out.splitlines()[-1]) == json.loads(expected.splitlines()[-1])
    assert finished_blocks(state) == BLOCKS
    deadline = time.monotonic() + 20
    while any(alive(process) for process in processes):  # workers end with the main process
        assert time.monotonic() < deadline, processes
        time.sleep(0.2)
