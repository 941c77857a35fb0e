"""Finished work is kept, found again, and never mixed with other work."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpest.execution.state as state_module
from dpest.errors import StateError
from dpest.execution.identity import mechanism_identity, work_identity
from dpest.execution.runner import open_runner
from dpest.execution.state import State

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
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM work WHERE block = 1")
    connection.close()
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
    State(path, "abc", "noisy").close()
    monkeypatch.setattr(state_module, "__version__", "999.0")
    with pytest.raises(StateError, match="another version"):
        State(path, "abc", "noisy")


def test_what_is_no_state_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(b"something else altogether, and long enough to be read" * 100)
    before = path.read_bytes()
    with pytest.raises(StateError, match="can't be used as a state file"):
        State(path, "abc")
    assert path.read_bytes() == before


WRITER = """
import sys
from dpest.execution.state import State
path, worker = sys.argv[1], int(sys.argv[2])
with State(path, "abc", "noisy") as state:
    for block in range(50):
        state.keep("shared", [(block, b"x" * 1000)])
        state.keep(f"own {worker}", [(block, bytes([worker]))])
"""


def test_several_processes_on_one_file(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(i)]) for i in range(3)
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    with State(path, "abc", "noisy") as state:
        assert len(state.finished("shared")) == 50
        for i in range(3):
            assert state.finished(f"own {i}") == dict.fromkeys(range(50), bytes([i]))
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


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
