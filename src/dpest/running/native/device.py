"""Kernels on a GPU: loaded and launched by CuPy, counted there, only counts come back.

CuPy is what we load PTX with: it takes the text as it is, brings the CUDA runtime in its wheels,
and is kept up by a community of its own; torch has no public way to load PTX, and with cuda-python
memory and errors would have to be handled here. This module needs NumPy and CuPy alone, so that
kernels that were written elsewhere run where there is no compiler.

Launches are of bounded length: Ctrl-C, SIGTERM and budgets are obeyed between them.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

#: Seconds that one launch should take.
LAUNCH_SECONDS = 0.2
_FIRST_LAUNCH = 1 << 24
_THREADS = 256
_BLOCKS_A_PROCESSOR = 8


class Counter(Protocol):
    """Counts of the runs from `first` on, and how many were made before `stopped`."""

    def counts(
        self,
        keys: NDArray[np.uint64],
        first: int,
        runs: int,
        stopped: Callable[[], bool] = ...,
    ) -> tuple[NDArray[np.int64], int]: ...


class Trapped(Exception):
    """A run left what the types of the kernel hold: the counts are not to be used."""


class GpuCounter:
    """Counts of one kernel; draws are those of the keys, by the number of the run."""

    def __init__(
        self,
        ptx: str,
        counters: int,
        data: NDArray[np.float64],
        table: NDArray[np.float64] | None = None,
        device: int = 0,
    ) -> None:
        import cupy

        self._cupy = cupy
        self._device = cupy.cuda.Device(device)
        with self._device:
            self._kernel = _loaded(cupy, ptx)
            self._data = cupy.asarray(data)
            self._table = cupy.asarray(np.zeros(1) if table is None else table)
            self._counters = counters
            processors = self._device.attributes["MultiProcessorCount"]
        self._grid = (_BLOCKS_A_PROCESSOR * processors,)
        self._launch = _FIRST_LAUNCH

    def counts(
        self,
        keys: NDArray[np.uint64],
        first: int,
        runs: int,
        stopped: Callable[[], bool] = lambda: False,
    ) -> tuple[NDArray[np.int64], int]:
        """The counts of the runs from `first` on, and how many were made before `stopped`."""
        cupy = self._cupy
        with self._device:
            total = cupy.zeros(self._counters, dtype=cupy.int64)
            status = cupy.zeros(1, dtype=cupy.int64)
            held = cupy.asarray(keys)
            done = 0
            while done < runs and not stopped():
                size = min(self._launch, runs - done)
                start = time.perf_counter()
                arguments = (np.int64(first + done), np.int64(size), held, self._data, self._table,
                             total, status)  # fmt: skip
                self._kernel(self._grid, (_THREADS,), arguments)
                self._device.synchronize()
                done += size
                took = time.perf_counter() - start
                if size == self._launch and took < LAUNCH_SECONDS / 2:
                    self._launch = min(2 * self._launch, 1 << 33)
                elif took > 2 * LAUNCH_SECONDS:
                    self._launch = max(self._launch // 2, 1 << 16)
            if int(status[0]):
                raise Trapped("an integer left its 64 bits, or a number was not finite")
            found: NDArray[np.int64] = cupy.asnumpy(total)
        return found, done


class SpreadCounter:
    """One kernel on several cards: each makes a part of the runs, the counts are those of one."""

    def __init__(self, counters: Sequence[Counter]) -> None:
        self._counters = counters

    def counts(
        self,
        keys: NDArray[np.uint64],
        first: int,
        runs: int,
        stopped: Callable[[], bool] = lambda: False,
    ) -> tuple[NDArray[np.int64], int]:
        """`GpuCounter.counts`; an interruption reaches every card before it is raised again."""
        cards, ended = len(self._counters), threading.Event()
        ends = [first + runs * card // cards for card in range(cards + 1)]
        with ThreadPoolExecutor(cards) as pool:
            tasks = [
                pool.submit(counter.counts, keys, begin, end - begin,
                            lambda: ended.is_set() or stopped())
                for counter, begin, end in zip(self._counters, ends, ends[1:], strict=False)
            ]  # fmt: skip
            try:
                found = [task.result() for task in tasks]
            finally:
                ended.set()
        return np.sum([counts for counts, _ in found], axis=0), sum(done for _, done in found)


def cards_of(device: str) -> list[int]:
    """The cards that a device names: "cuda:1" is one, "cuda" all that are visible."""
    _, _, number = device.partition(":")
    if number.isdigit():
        return [int(number)]
    import cupy

    return list(range(max(1, cupy.cuda.runtime.getDeviceCount())))


def _loaded(cupy: Any, ptx: str) -> Any:
    """The kernel of a PTX text; CuPy takes that from a file."""
    handle, path = tempfile.mkstemp(suffix=".ptx")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(ptx)
        return cupy.RawModule(path=path).get_function("kernel")
    finally:
        os.unlink(path)
