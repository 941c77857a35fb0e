"""Finished work is kept, found again, and never mixed with other work."""

from __future__ import annotations

import errno
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpest.execution.state as state_module
from dpest import zoo
from dpest.errors import StateError
from dpest.execution.encoding import decoded, encoded
from dpest.execution.identity import mechanism_identity, work_identity
from dpest.execution.runner import Runner, open_runner
from dpest.execution.state import _MARK as MARK
from dpest.execution.state import FinishedBlocks
from dpest.running.batch.batch import batch

SIZE = 300_000


def noisy(x: Any, rng: Any, *, scale: float = 1.0) -> Any:
    noisy.calls += 1  # type: ignore[attr-defined]
    return x + rng.laplace(scale=scale) > 0


noisy.calls = 0  # type: ignore[attr-defined]


def other(x: Any, rng: Any, *, scale: float = 1.0) -> Any:
    return x + rng.laplace(scale=2 * scale) > 0


def test_finished_blocks_are_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with open_runner(1, state=path) as runner:
        first = runner.count_outputs(noisy, 0.5, SIZE, 1)
    last = path.read_bytes().rindex(MARK)
    os.truncate(path, last + 40)  # as if its process had been killed while it wrote the last block
    noisy.calls = 0  # type: ignore[attr-defined]
    with open_runner(1, state=path) as runner:
        assert runner.count_outputs(noisy, 0.5, SIZE, 1) == first
        once = noisy.calls  # type: ignore[attr-defined]
        assert runner.count_outputs(noisy, 0.5, SIZE, 1) == first
        assert noisy.calls == once > 0  # type: ignore[attr-defined]


def test_other_settings_are_other_work(tmp_path: Path) -> None:
    with open_runner(1, state=tmp_path / "state.db") as runner:
        first = runner.count_outputs(noisy, 0.5, 1_000, 1)
        assert runner.count_outputs(noisy, 0.5, 1_000, 2) != first
        assert runner.count_outputs(noisy, 0.6, 1_000, 1) != first
        assert runner.count_outputs(noisy, 0.5, 1_000, 1, params={"scale": 3.0}) != first
        assert runner.count_outputs(noisy, 0.5, 999, 1).size == 999


def test_other_mechanisms_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with open_runner(1, state=path) as runner:
        runner.count_outputs(noisy, 0.5, 1_000, 1)
        with pytest.raises(StateError, match="belongs to another mechanism"):
            runner.count_outputs(other, 0.5, 1_000, 1)
        runner.count_outputs(noisy, 0.5, 1_000, 1)


def test_other_versions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.db"
    FinishedBlocks(path, "abc", "noisy").close()
    monkeypatch.setattr(state_module, "__version__", "999.0")
    with pytest.raises(StateError, match="another version"):
        FinishedBlocks(path, "abc", "noisy")


def test_what_is_no_state_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(b"something else altogether, and long enough to be read" * 100)
    before = path.read_bytes()
    with pytest.raises(StateError, match="can't be used as a state file"):
        FinishedBlocks(path, "abc")
    assert path.read_bytes() == before


WRITER = """
import sys
from dpest.execution.state import FinishedBlocks
path, worker = sys.argv[1], int(sys.argv[2])
with FinishedBlocks(path, "abc", "noisy") as state:
    for block in range(50):
        state.keep("ff" * 32, [(block, b"x" * 1000)])
        state.keep(f"{worker:064x}", [(block, bytes([worker]))])
"""


def test_several_processes_on_one_file(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(i)]) for i in range(3)
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    with FinishedBlocks(path, "abc", "noisy") as state:
        assert len(state.finished("ff" * 32)) == 50
        for i in range(3):
            assert state.finished(f"{i:064x}") == dict.fromkeys(range(50), bytes([i]))


def outputs_of_every_kind(x: Any, rng: Any) -> Any:
    u = rng.random()
    if u < 0.2:
        return [True, None, "text", 3]
    if u < 0.4:
        return {"a": (1, 2.5), "b": np.array([1, 2])}
    if u < 0.5:
        raise ValueError("now and then")
    return u if u < 0.8 else -0.0


def test_encoding_keeps_every_output() -> None:
    samples = batch(outputs_of_every_kind, 0, 3_000, 1)
    again = decoded(encoded(samples))
    assert repr(again.to_list()) == repr(samples.to_list())
    assert again.notes == samples.notes
    assert [g.skeleton for g in again.groups] == [g.skeleton for g in samples.groups]
    assert repr(again.raised) == repr(samples.raised)
    for group, other in zip(samples.groups, again.groups, strict=True):
        assert [c.dtype for c in group.columns] == [c.dtype for c in other.columns]


def test_counted_outcomes_take_two_bytes_a_run(tmp_path: Path) -> None:
    from dpest import zoo

    for name in ("SVT4", "ReportNoisyMax1", "RandomizedResponse"):
        entry = zoo.get(name)
        x = [1.0] * entry.about["length"] if name != "RandomizedResponse" else [1]
        samples = batch(entry, x, 100_000, 1)
        assert len(encoded(samples)) <= 2 * 100_000


def test_a_state_file_holds_no_pickle() -> None:
    with pytest.raises(StateError):
        decoded(pickle.dumps([1, 2]))


def test_damage_is_refused_and_repaired(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with open_runner(1, state=path) as runner:
        first = runner.count_outputs(noisy, 0.5, SIZE, 1)
    good = path.read_bytes()
    dice = random.Random(4)
    for _ in range(60):
        bad = bytearray(good)
        bad[dice.randrange(len(bad))] ^= 1 << dice.randrange(8)
        path.write_bytes(bad)
        refused = {}
        for repair in (False, True):
            try:
                with open_runner(1, state=path, repair=repair) as runner:
                    assert runner.count_outputs(noisy, 0.5, SIZE, 1) == first
            except StateError as reason:
                refused[repair] = str(reason)
        assert all("\n" not in reason for reason in refused.values())
        assert any(word in refused.get(True, "header") for word in ("header", "something else"))


def test_a_full_disk_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "state"
    with open_runner(1, state=path) as runner:
        runner.count_outputs(noisy, 0.5, 1_000, 1)
        before = path.read_bytes()
        monkeypatch.setattr(os, "pwrite", full)
        with pytest.raises(StateError, match="the disk is full"):
            runner.count_outputs(noisy, 0.5, 1_000, 2)
    assert path.read_bytes() == before


def test_identity_sees_what_a_function_uses() -> None:
    def make(shift: float) -> Any:
        def inner(x: Any, rng: Any) -> Any:
            return x + shift + rng.laplace()

        return inner

    assert mechanism_identity(make(1.0)) == mechanism_identity(make(1.0))
    assert mechanism_identity(make(1.0)) != mechanism_identity(make(2.0))
    assert mechanism_identity(noisy) != mechanism_identity(other)


def test_identity_of_inputs() -> None:
    assert work_identity([1, 2.0]) == work_identity([1, 2.0])
    assert work_identity([1, 2]) != work_identity([12])
    assert work_identity({"a": 1, "b": 2}) == work_identity({"b": 2, "a": 1})
    assert work_identity(np.array([1.0, 2.0])) != work_identity(np.array([[1.0, 2.0]]))
    assert work_identity(1) != work_identity(1.0) != work_identity(True)


def test_native_blocks_are_kept_and_resumed(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    draws = [([1.0] * 5, 1 << 19, 3)]
    whole = Runner().batches(zoo.get("SVT1"), draws)[0]
    assert whole.runner == "native"
    with open_runner(workers=1, state=tmp_path / "kept") as first:
        first.batches(zoo.get("SVT1"), [([1.0] * 5, 1 << 18, 3)])
        first.batches(zoo.get("SVT1"), draws)
    with open_runner(workers=1, state=tmp_path / "kept") as second:
        again = second.batches(zoo.get("SVT1"), draws)[0]
    assert again.runner == "native"
    assert again.codes().keys == whole.codes().keys
    assert again.codes().counts.tolist() == whole.codes().counts.tolist()
