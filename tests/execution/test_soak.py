"""Many small pieces of work: memory stays flat, nothing is left open."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from dpest.execution.runner import open_runner


def noisy(x: Any, rng: Any) -> Any:
    if x + rng.laplace() > 0.5:
        return [True, x + rng.laplace()]
    return [False, float(rng.random())]


def resident() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def soak(rounds: int, workers: int, folder: Path) -> tuple[int, int]:
    """Growth in bytes and in open files over the second half of `rounds`."""
    sizes = []
    for i in range(rounds):
        with open_runner(workers, state=folder / f"{i % 3}.db") as runner:
            runner.batch(noisy, 0.0, 3_000, i)
        gc.collect()
        sizes.append((resident(), open_files()))
    middle, end = sizes[rounds // 2], sizes[-1]
    return end[0] - middle[0], end[1] - middle[1]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("rounds", "workers"),
    [
        (40, 1),
        pytest.param(1_000, 1, marks=pytest.mark.slow),
        pytest.param(30, 2, marks=pytest.mark.slow),
    ],
)
def test_nothing_grows_and_nothing_is_left(rounds: int, workers: int, tmp_path: Path) -> None:
    threads = threading.active_count()
    growth, files = soak(rounds, workers, tmp_path)
    assert growth < 16 << 20
    assert files <= 0
    assert threading.active_count() <= threads
    assert multiprocessing.active_children() == []
