"""The same answer wherever the work runs; dead workers, poison and what can't travel."""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpest.errors import InputError, TimeLimitError, WorkerError
from dpest.execution.pools import leave_global_generator
from dpest.execution.runner import Runner, _groups, open_runner
from dpest.running.batch.batch import batch
from dpest.running.batch.counts import count_outputs
from dpest.running.native.runs import draw_runs

SIZE = 300_000  # three blocks
THRESHOLD = 1.0


def above(x: Any, rng: Any) -> Any:
    """Uses a global of its module, as a user's function may."""
    return [bool(v) for v in (x + rng.laplace() > THRESHOLD, rng.random() > 0.5)]


@pytest.fixture(scope="module")
def pool() -> Iterator[Runner]:
    with open_runner(workers=2) as runner:
        yield runner


def test_the_pool_gives_what_this_process_gives(pool: Runner) -> None:
    here, there = batch(above, 0.5, SIZE, 3), pool.batch(above, 0.5, SIZE, 3)
    for a, b in zip(here.groups, there.groups, strict=True):
        assert a.skeleton == b.skeleton
        np.testing.assert_array_equal(a.rows, b.rows)
        for column, other in zip(a.columns, b.columns, strict=True):
            np.testing.assert_array_equal(column, other)
    assert pool.count_outputs(above, 0.5, SIZE, 3) == count_outputs(above, 0.5, SIZE, 3)


def test_many_draws_at_once_are_the_same_draws(pool: Runner, tmp_path: Path) -> None:
    draws = [(0.5, 1000, 1), (1.5, SIZE, 2), (0.5, 10, 3)]
    with open_runner(workers=1, state=tmp_path / "kept") as kept:
        for runner in (pool, Runner(), kept):
            for (x, size, seed), found in zip(draws, runner.batches(above, draws), strict=True):
                here = draw_runs(above, x, size, seed)
                assert found.size == size
                for a, b in zip(here.groups, found.groups, strict=True):
                    np.testing.assert_array_equal(a.rows, b.rows)
                    for column, other in zip(a.columns, b.columns, strict=True):
                        np.testing.assert_array_equal(column, other)


def test_a_draw_whose_runs_all_raise_has_that_for_its_outputs(pool: Runner) -> None:
    def raising(x: Any, rng: Any) -> Any:
        if x > 0:
            raise ValueError("too large")
        return rng.random()

    for runner in (pool, Runner()):
        good, bad = runner.batches(raising, [(0, 50, 1), (1, 50, 1)])
        assert good.raised is None
        assert bad.raised is not None
        assert bad.raised.count == 50


@pytest.mark.parametrize("count", [0, 1, 5, 77, 1000])
@pytest.mark.parametrize("parts", [2, 3, 16])
def test_tasks_get_smaller_towards_the_end(count: int, parts: int) -> None:
    groups = _groups(range(count), parts)
    assert [block for group in groups for block in group] == list(range(count))
    sizes = [len(group) for group in groups]
    assert sizes == sorted(sizes, reverse=True)
    assert all(size == 1 for size in sizes[-parts:])


def test_blocks_come_in_order(pool: Runner) -> None:
    blocks = [5, 3, 11, 0, 7, 3]
    assert pool.map_blocks(lambda block: block * block, blocks) == [b * b for b in blocks]


def test_any_executor_will_do() -> None:
    with ThreadPoolExecutor(2) as threads:
        runner = Runner(threads, workers=2)
        assert runner.count_outputs(above, 0.5, SIZE, 3) == count_outputs(above, 0.5, SIZE, 3)
        assert runner.map_blocks(lambda block: -block, [2, 1]) == [-2, -1]


def test_functions_from_a_file_travel(pool: Runner, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        textwrap.dedent(
            """
            SHIFT = 2.0
            class Odd(Exception):
                pass
            def helper(v):
                return v + SHIFT
            def mechanism(x, rng):
                if rng.random() < 0.25:
                    raise Odd("odd")
                return helper(x + rng.laplace()) > 2
            """
        )
    )
    spec = importlib.util.spec_from_file_location("mine_loaded_from_a_file", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    try:
        samples = pool.batch(module.mechanism, 0.0, SIZE, 1)
    finally:
        del sys.modules[spec.name]
    assert any("runs raised Odd (odd)" in note for note in samples.notes)
    assert len(samples.codes().keys) == 3


def test_closures_travel(pool: Runner) -> None:
    shift = 3.0
    counts = pool.count_outputs(lambda x, rng: x + rng.random() > shift, 2.5, SIZE, 1)
    assert abs(counts[True] / SIZE - 0.5) < 0.01


def test_what_cannot_travel_is_said(pool: Runner) -> None:
    lock = threading.Lock()

    def holds_a_lock(x: Any, rng: Any) -> Any:
        with lock:
            return rng.random() > 0.5

    with pytest.raises(WorkerError, match="holds_a_lock can't travel") as caught:
        pool.batch(holds_a_lock, 0, SIZE, 1)
    assert "one worker" in str(caught.value)


def test_errors_of_the_mechanism_come_back_as_they_are(pool: Runner) -> None:
    with pytest.raises(ValueError, match="scale < 0"):
        pool.batch(lambda x, rng: rng.laplace(scale=-1), 0, SIZE, 1)

    def forever(x: Any, rng: Any) -> Any:
        while True:
            pass

    with pytest.raises(TimeLimitError, match=r"one call of forever took more than 0\.3 s"):
        pool.batch(forever, 0, SIZE, 1, time_limit=0.3)


def test_a_block_that_kills_its_worker_ends_in_an_error_with_the_seed() -> None:
    def fatal(x: Any, rng: Any) -> Any:
        if rng.random() > 2:
            return 0
        os._exit(3)

    with open_runner(workers=2) as runner:
        with pytest.raises(WorkerError, match=r"block 0 of fatal .* \(seed 77\)"):
            runner.batch(fatal, 0, SIZE, 77)
        assert runner.map_blocks(lambda block: block + 1, [1, 2]) == [2, 3]  # it goes on


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    """The first worker to see block 4 dies; everything is there in the end."""
    mark = tmp_path / "died"

    def task(block: int) -> int:
        if block == 4 and not mark.exists():
            mark.touch()
            os._exit(1)
        return 10 * block

    with open_runner(workers=2) as runner:
        assert runner.map_blocks(task, range(9)) == [10 * block for block in range(9)]
    assert mark.exists()


def test_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            from dpest.execution.runner import open_runner
            print("started")
            def noisy(x, rng):
                return x + rng.laplace() > 0
            with open_runner(workers=2) as runner:
                print(sum(runner.count_outputs(noisy, 0, 300_000, 1).counts))
            """
        )
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout.split(), done.stderr) == (["started", "300000"], "")


def test_workers_are_counted_in_whole_numbers() -> None:
    with pytest.raises(InputError, match="at least 1"):
        open_runner(workers=0)
    with open_runner(workers=1) as runner:
        assert runner.executor is None


def test_a_worker_of_dask_leaves_the_global_generator_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = pytest.importorskip("dask.sizeof")
    monkeypatch.setattr(sizes, "random", random)
    many = [object() for _ in range(1000)]
    before = random.getstate()
    sizes.sizeof(many)
    assert random.getstate() != before, "nothing has to be done here any more"
    leave_global_generator()
    before = random.getstate()
    sizes.sizeof(many)
    assert random.getstate() == before


@pytest.mark.slow
def test_a_dask_cluster_gives_what_this_process_gives() -> None:
    pytest.importorskip("distributed")
    with open_runner(cluster="local", workers=2) as runner:
        assert runner.count_outputs(above, 0.5, SIZE, 3) == count_outputs(above, 0.5, SIZE, 3)


def test_no_scheduler_is_an_error() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        open_runner(cluster="nonsense://nowhere:1")
