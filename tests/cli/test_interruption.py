"""Killed while running: the bound so far is printed and written, and the exit status says so."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

SLOW = """
import pathlib, random, time

def slow(x):
    pathlib.Path("started").touch()
    time.sleep(0.002)
    return x[0] + random.expovariate(1.0) - random.expovariate(1.0)
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_the_bound_so_far_survives(tmp_path, how):
    (tmp_path / "slow.py").write_text(SLOW)
    running = subprocess.Popen(
        [
            *[sys.executable, "-m", "dpest", "attack", "slow.py:slow", "--pair", "[0.0]", "[9.0]"],
            *["--adjacency", "l1:9", "--budget", "100s", "--json", "out.json"],
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A test-suite that runs in the background hands down that Ctrl-C is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        patience = time.monotonic() + 120
        while not (tmp_path / "started").exists() and time.monotonic() < patience:
            time.sleep(0.1)
        time.sleep(4)
        running.send_signal(how)
        out, err = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130, (out, err)
    assert "interrupted" in out
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["value"] > 0
    assert report["standing"] == "confidence 0.95"
