"""Blocks of native runs: killed and resumed, and on a cluster, they give the same answer."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from dpest import zoo
from dpest.attacks.fused import count_scores
from dpest.attacks.outcomes import OutcomeScorer, count_outcomes, keys_of
from dpest.attacks.thresholds import ThresholdAttack
from dpest.execution.runner import open_runner
from dpest.execution.state import _MARK as MARK
from dpest.running.native.runs import draw_runs

pytest.importorskip("llvmlite")
PAIR = ([1.0] * 5, [0.0] * 5)
SCRIPT = """
import json, sys
from dpest import zoo
from dpest.attacks.sampler import MechanismSampler
from dpest.attacks.sniper import SniperPlan, sniper_attack
from dpest.execution.runner import open_runner

if __name__ == "__main__":
    state, workers = sys.argv[1], int(sys.argv[2])
    plan = SniperPlan(0, 500_000, 500_000, 60_000_000, counted=8_000_000)
    with open_runner(workers, state=state or None) as runner:
        sampler = MechanismSampler(
            zoo.get("SVT6"), run_all=runner.batches, map_blocks=runner.map_kept
        )
        found = sniper_attack(sampler, [([1.0] * 5, [0.0] * 5)], plan=plan, seed=4)
    print(json.dumps([found.value, found.runs, found.witness.event, found.details["runner"]]))
"""


def start(script: Path, state: Path | str, workers: int) -> subprocess.Popen[str]:
    line = [sys.executable, str(script), str(state), str(workers)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished_blocks(state: Path) -> int:
    return max(0, state.read_bytes().count(MARK) - 1) if state.exists() else 0


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_attack_goes_on_where_it_was(tmp_path: Path) -> None:
    script, state = tmp_path / "script.py", tmp_path / "state.db"
    script.write_text(SCRIPT)
    quiet, _ = start(script, "", 2).communicate(timeout=200)
    expected = json.loads(quiet)
    assert set(expected[-1]) == {"native, counted", "native, fused"}

    killed, deadline = start(script, state, 1), time.monotonic() + 100
    while finished_blocks(state) < 20:
        assert time.monotonic() < deadline
        assert killed.poll() is None, killed.communicate()
        time.sleep(0.02)
    killed.kill()
    killed.communicate()
    before = finished_blocks(state)

    resumed, error = start(script, state, 1).communicate(timeout=200)
    assert json.loads(resumed) == expected, error
    whole = finished_blocks(state)
    assert 20 <= before < whole

    again, error = start(script, state, 1).communicate(timeout=200)
    assert json.loads(again) == expected, error
    assert finished_blocks(state) == whole  # all of them were kept


@pytest.mark.slow
def test_the_workers_of_a_cluster_run_the_native_loop() -> None:
    pytest.importorskip("distributed")
    svt, size = zoo.get("SVT6"), 5_000_000
    draws = [(x, size, 5 + i) for i, x in enumerate(PAIR)]
    counted = count_outcomes(svt, draws)
    odds = np.linspace(-1.0, 1.0, counted[0].outputs.size)
    attack = ThresholdAttack(OutcomeScorer(counted[0].outputs, odds), 0.25, 0.0, False)
    scores = count_scores(svt, attack, draws)
    outputs = draw_runs(svt, PAIR[0], 300_000, 9)
    with open_runner(cluster="local", workers=2) as cluster:
        there = count_outcomes(svt, draws, cluster.map_kept)
        assert count_scores(svt, attack, draws, cluster.map_kept) == scores
        drawn = cluster.batches(svt, [(PAIR[0], 300_000, 9)])[0]
    for one, two in zip(counted, there, strict=True):
        assert keys_of(one.outputs) == keys_of(two.outputs)
        assert np.array_equal(one.counts, two.counts)
    assert drawn.runner == "native"
    assert drawn.to_list() == outputs.to_list()
