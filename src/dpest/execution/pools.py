"""Where work can run: a process pool on this machine, a Dask cluster."""

from __future__ import annotations

import ctypes
import multiprocessing
import multiprocessing.spawn
import os
import random
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

from dpest.errors import InputError, MissingExtraError, WorkerError

# Bytes that a worker may have free before it gives some back to the system.
_KEPT_FREE = 1 << 28
# mallopt's names for that and for the size from which an array gets pages of its own.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def process_pool(workers: int) -> ProcessPoolExecutor:
    """Fresh processes, which import nothing of the program that starts them.

    A user's script therefore needs no `if __name__ == "__main__"`, and threads of this process
    are no danger. Workers end when this process does, even if it is killed.
    """
    pool = ProcessPoolExecutor(
        workers, mp_context=multiprocessing.get_context("spawn"), initializer=_begin_worker
    )
    with _hidden_main():
        for _ in range(workers):  # one starts with every task that finds no idle one
            pool.submit(os.getpid)
    return pool


def keep_memory() -> None:
    """Let this process keep the memory of its arrays for the next ones.

    A block's arrays have some MiB each. Pages that go back to the system after each of them come
    again by page faults, which take a quarter of the time of a block, and more where two processes
    ask for them. For processes that do nothing else; glibc alone knows how, elsewhere nothing
    happens.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    mallopt(_M_TRIM_THRESHOLD, _KEPT_FREE)
    mallopt(_M_MMAP_THRESHOLD, _KEPT_FREE)


def leave_global_generator() -> None:
    """Let a worker of Dask draw from a generator of its own.

    To estimate the size of what it holds, it samples with Python's global generator, twice a
    second and in another thread. A block of runs beside which somebody drew from that one is read
    again, for it may have been the mechanism.
    """
    sizes = sys.modules.get("dask.sizeof")
    if sizes is not None and getattr(sizes, "random", None) is random:
        sizes.random = random.Random()  # type: ignore[attr-defined]


def _begin_worker() -> None:
    keep_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the main process's business
    parent = multiprocessing.parent_process()
    if parent is not None:

        def follow() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=follow, name="dpest parent watch", daemon=True).start()


@contextmanager
def _hidden_main() -> Iterator[None]:
    """Processes that start now don't run the user's script again: functions travel by value."""
    original = multiprocessing.spawn.get_preparation_data

    def without_main(name: str) -> dict[str, Any]:
        data = original(name)
        for key in ("init_main_from_name", "init_main_from_path"):
            data.pop(key, None)
        return data

    multiprocessing.spawn.get_preparation_data = without_main
    try:
        yield
    finally:
        multiprocessing.spawn.get_preparation_data = original


class Dask:
    """A Dask cluster: an address, or "local" to start one on this machine."""

    def __init__(self, address: str, workers: int | None = None) -> None:
        self._address = address
        self._wanted = workers or cores()
        self._life = ExitStack()
        self._open()
        self.workers = max(1, sum(self._client.nthreads().values()))

    def _open(self) -> None:
        try:
            import dask
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise MissingExtraError("dask", "a Dask cluster") from error
        if self._address == "local":
            # hidden for its whole life, since it starts processes anew when they die
            self._life.enter_context(_hidden_main())
            settings = {
                "distributed.scheduler.allowed-failures": 2,
                "distributed.worker.profile.enabled": False,  # it samples a hundred times a second
                # what every process does besides work, many times a second
                "distributed.admin.tick.interval": "500ms",
                "distributed.admin.system-monitor.interval": "5s",
                "distributed.worker.memory.monitor-interval": "1s",
                "distributed.scheduler.work-stealing": False,  # few tasks are out at a time
                # as in `keep_memory`; Dask's own setting gives back everything at once
                "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": _KEPT_FREE,
                "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": _KEPT_FREE,
                # and one heap for all threads: those of threads are small, and come and go
                "distributed.nanny.pre-spawn-environ.MALLOC_ARENA_MAX": 1,
            }
            self._life.enter_context(dask.config.set(settings))
            cluster = LocalCluster(
                n_workers=self._wanted,
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=50,
            )
            self._life.callback(cluster.close)
            self._client = Client(cluster)
        else:
            try:
                self._client = Client(self._address, timeout="10s")
            except (OSError, ValueError) as error:
                raise InputError(
                    f"no Dask scheduler answers at {self._address!r}: {error}. "
                    "Give tcp://host:port, or 'local'"
                ) from error
        self._life.callback(self._client.close)

    def executor(self) -> Executor:
        return self._client.get_executor(pure=False)

    def alive(self) -> bool:
        return bool(self._client.scheduler_info(n_workers=-1)["workers"])

    def revived(self) -> Executor:
        """An executor after workers have died: a local cluster is started again if need be."""
        if self._address == "local":
            if len(self._client.nthreads()) < self._wanted:
                self.close()
                self._open()
        else:
            try:
                self._client.wait_for_workers(1, timeout=60)
            except TimeoutError as error:
                raise WorkerError(
                    f"the Dask cluster at {self._address} has lost all of its workers"
                ) from error
        return self.executor()

    def close(self) -> None:
        self._life.close()
