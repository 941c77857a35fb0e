"""One way to run work: a task is mapped over blocks, wherever the blocks are run."""

from __future__ import annotations

import functools
import math
import pickle
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from pathlib import Path
from types import TracebackType
from typing import Any

from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.errors import InputError, WorkerError
from dpest.execution.encoding import decoded, encoded
from dpest.execution.identity import mechanism_identity, work_identity
from dpest.execution.pools import Dask, cores, leave_global_generator, process_pool
from dpest.execution.state import FinishedBlocks
from dpest.execution.travel import describe, pack, pack_result, unpack
from dpest.running.batch.batch import batch, block_of, blocks_in, join_blocks
from dpest.running.batch.counts import OutputCounts, count_block, count_outputs
from dpest.running.native.runs import block_of_runs
from dpest.running.samples import Samples
from dpest.running.seeds import Seed
from dpest.running.watchdog import DEFAULT_SECONDS

_PATIENCE = 10  # seconds without a result, after which the workers are looked for
# A task takes this part of a worker's share of what is left: the last tasks are small, so that no
# worker waits long for the others. One of a cluster costs milliseconds, and they are coarser.
_PARTS_OF_A_SHARE = 4
_PARTS_IN_A_CLUSTER = 1.5


class Runner:
    """Maps tasks over blocks on any `concurrent.futures.Executor`, or in this process.

    Results come in the order of the blocks and don't depend on where, when or how often a block
    was run. `rebuild` makes a new executor after a worker has died (a process pool is lost with
    one of its workers); blocks that were under way are then run again. A block that ends the
    worker that it has for itself `strikes` times is given up. `coarse` makes fewer, larger tasks.
    """

    def __init__(
        self,
        executor: Executor | None = None,
        *,
        workers: int = 1,
        rebuild: Callable[[], Executor] | None = None,
        close: Callable[[], None] | None = None,
        alive: Callable[[], bool] | None = None,
        state: str | Path | None = None,
        repair: bool = False,
        strikes: int = 4,
        coarse: bool = False,
    ) -> None:
        self._executor = executor
        self._rebuild = rebuild
        self._close = close
        self._alive = alive
        self.workers = workers
        self.strikes = strikes
        self._parts = _PARTS_IN_A_CLUSTER if coarse else _PARTS_OF_A_SHARE
        self._state_path = state
        self._repair = repair
        self._states: dict[str, FinishedBlocks] = {}

    def map_blocks(
        self,
        task: Callable[[int], Any],
        blocks: Sequence[int],
        *,
        name: str = "the task",
        keep: tuple[FinishedBlocks, str] | None = None,
        seed: Any = None,
    ) -> list[Any]:
        """[task(block) for block in blocks], in this order.

        `keep` names a state and the key of this work in it: blocks that are finished there are
        not run again, those that finish are put there. `name` and `seed` are for messages.
        """
        found = keep[0].finished(keep[1]) if keep else {}
        done: dict[int, Any] = {block: decoded(found[block]) for block in blocks if block in found}
        missing = [block for block in dict.fromkeys(blocks) if block not in done]
        if self._executor is None:
            return self._here(task, blocks, missing, done, keep)
        packed = pack(task, name)
        _Errand(self, packed, name, seed, keep, done).run(
            _groups(missing, math.ceil(self._parts * self.workers))
        )
        return [done[block] for block in blocks]

    def map_kept(
        self,
        task: Callable[[int], Any],
        blocks: Sequence[int],
        *,
        mechanism: Mechanism,
        settings: tuple[Any, ...],
    ) -> list[Any]:
        """`map_blocks` for a task that the mechanism and the settings determine."""
        keep = self.kept(mechanism, mechanism.all_params, *settings)
        return self.map_blocks(task, blocks, name=mechanism.name, keep=keep)

    def _here(
        self,
        task: Callable[[int], Any],
        blocks: Sequence[int],
        missing: list[int],
        done: dict[int, Any],
        keep: tuple[FinishedBlocks, str] | None,
    ) -> list[Any]:
        for block in missing:
            done[block] = task(block)
            if keep:
                keep[0].keep(keep[1], [(block, encoded(done[block]))])
        return [done[block] for block in blocks]

    # The batch reading

    def batch(
        self,
        mechanism: Callable[..., Any] | Mechanism,
        x: Any,
        size: int,
        seed: Seed,
        *,
        params: Mapping[str, Any] | None = None,
        device: str = "numpy",
        on_note: Callable[[str], None] | None = None,
        time_limit: float = DEFAULT_SECONDS,
    ) -> Samples:
        """`dpest.running.batch.batch.batch`, with the same outputs for the same seed."""
        target = as_mechanism(mechanism).with_params(params)
        if self._executor is None and self._state_path is None:
            return batch(
                target, x, size, seed, device=device, on_note=on_note, time_limit=time_limit
            )
        parts = self._sampled("batch", block_of, target, x, size, seed, device, time_limit)
        return join_blocks(parts, on_note=on_note)

    def batches(
        self,
        mechanism: Callable[..., Any] | Mechanism,
        draws: Sequence[tuple[Any, int, Seed]],
        *,
        params: Mapping[str, Any] | None = None,
        device: str = "numpy",
        time_limit: float = DEFAULT_SECONDS,
    ) -> list[Samples]:
        """`batch` for each (x, size, seed), all at once: small draws too keep every worker busy.

        Where every run of a draw raises, that is its output, and nothing is raised here.
        """
        target = as_mechanism(mechanism).with_params(params)
        bare = Mechanism(target.function, target.name, dict(target.params))
        places = [
            (which, number)
            for which, (_, size, _) in enumerate(draws)
            for number in range(blocks_in(size, device))
        ]
        settings = {"device": device, "time_limit": time_limit}
        if self._state_path is not None:
            parts = [
                part
                for x, size, seed in draws
                for part in self._sampled(
                    "runs", block_of_runs, target, x, size, seed, device, time_limit
                )
            ]
        else:
            task = functools.partial(_one_of_many, bare, tuple(draws), tuple(places), settings)
            seeds = [seed for _, _, seed in draws]
            parts = self.map_blocks(task, range(len(places)), name=target.name, seed=seeds)
        found: list[list[Samples]] = [[] for _ in draws]
        for (which, _), part in zip(places, parts, strict=True):
            found[which].append(part)
        return [p[0] if len(p) == 1 else Samples.concatenate(p) for p in found]

    def count_outputs(
        self,
        mechanism: Callable[..., Any] | Mechanism,
        x: Any,
        size: int,
        seed: Seed,
        *,
        params: Mapping[str, Any] | None = None,
        device: str = "numpy",
        time_limit: float = DEFAULT_SECONDS,
    ) -> OutputCounts:
        """`dpest.running.batch.counts.count_outputs`, with the same counts for the same seed."""
        target = as_mechanism(mechanism).with_params(params)
        if self._executor is None and self._state_path is None:
            return count_outputs(target, x, size, seed, device=device, time_limit=time_limit)
        return OutputCounts.joined(
            self._sampled("count", count_block, target, x, size, seed, device, time_limit)
        )

    def _sampled(
        self,
        kind: str,
        function: Callable[..., Any],
        target: Mechanism,
        x: Any,
        size: int,
        seed: Seed,
        device: str,
        time_limit: float,
    ) -> list[Any]:
        bare = Mechanism(target.function, target.name, dict(target.params))  # a claim stays here
        task = functools.partial(
            _one_block, function, bare, x, size, seed, device=device, time_limit=time_limit
        )
        keep = self.kept(target, kind, target.all_params, x, size, seed, device)
        blocks = range(blocks_in(size, device))
        return self.map_blocks(task, blocks, name=target.name, keep=keep, seed=seed)

    def kept(self, mechanism: Any, *settings: Any) -> tuple[FinishedBlocks, str] | None:
        """Where finished blocks of work with these settings are kept; None without a state."""
        if self._state_path is None:
            return None
        identity = mechanism_identity(mechanism)
        if identity not in self._states:
            name = describe(mechanism)
            self._states[identity] = FinishedBlocks(
                self._state_path, identity, name, repair=self._repair
            )
        return self._states[identity], work_identity(*settings)

    # Life

    def replace(self) -> None:
        """Another executor, after a worker has died."""
        if self._rebuild is None:
            raise WorkerError("the executor is broken, and there is no way to make another one")
        if isinstance(self._executor, ProcessPoolExecutor):
            self._executor.shutdown(wait=False, cancel_futures=True)
        self._executor = self._rebuild()

    def alive(self) -> bool:
        """False if the executor has no workers left to finish what it was given."""
        return self._alive is None or self._alive()

    @property
    def executor(self) -> Executor | None:
        return self._executor

    def close(self) -> None:
        for state in self._states.values():
            state.close()
        self._states.clear()
        if self._close is not None:
            self._close()
        elif self._rebuild is not None and self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_runner(
    workers: int | None = None,
    cluster: str | None = None,
    state: str | Path | None = None,
    repair: bool = False,
) -> Runner:
    """A runner: on all cores, on `workers` processes (1: in this one), or on a Dask cluster.

    `cluster` is tcp://host:port or "local"; `state` a file that keeps finished work, whose
    damaged blocks are dropped with `repair`. Use it as a context manager: it ends the processes
    that it started.
    """
    if workers is not None and workers < 1:
        raise InputError(f"workers is a whole number, at least 1; got {workers}")
    if cluster is not None:
        dask = Dask(cluster, workers)
        return Runner(
            dask.executor(),
            workers=dask.workers,
            rebuild=dask.revived,
            alive=dask.alive,
            close=dask.close,
            state=state,
            repair=repair,
            strikes=1,  # Dask has tried several workers by then
            coarse=True,
        )
    count = workers if workers is not None else cores()
    if count == 1:
        return Runner(state=state, repair=repair)
    rebuild = functools.partial(process_pool, count)
    return Runner(rebuild(), workers=count, rebuild=rebuild, state=state, repair=repair)


def _groups(blocks: Sequence[int], parts: int) -> list[tuple[int, ...]]:
    """Blocks in tasks, each one of `parts` of what is left: single blocks at the end."""
    groups, start = [], 0
    while start < len(blocks):
        size = max(1, (len(blocks) - start) // parts)
        groups.append(tuple(blocks[start : start + size]))
        start += size
    return groups


class _Errand:
    """One `map_blocks` on an executor: submits, collects, and starts again what was lost."""

    def __init__(
        self,
        runner: Runner,
        packed: bytes,
        name: str,
        seed: Any,
        keep: tuple[FinishedBlocks, str] | None,
        done: dict[int, Any],
    ) -> None:
        self.runner = runner
        self.packed = packed
        self.name = name
        self.seed = seed
        self.keep = keep
        self.done = done

    def run(self, groups: list[tuple[int, ...]]) -> None:
        waiting = deque(groups)
        suspects: deque[tuple[int, ...]] = deque()
        flying: dict[Future[Any], tuple[int, ...]] = {}
        try:
            while waiting or flying:
                # Few at a time, so that few are suspected when a worker dies.
                while waiting and len(flying) < 2 * self.runner.workers:
                    group = waiting.popleft()
                    try:
                        flying[self._submit(group)] = group
                    except BrokenExecutor:
                        waiting.appendleft(group)
                        suspects += self._lost(flying)
                finished = wait(flying, timeout=_PATIENCE, return_when=FIRST_COMPLETED).done
                if not finished and not self.runner.alive():
                    suspects += self._lost(flying)
                broken = [future for future in finished if _worker_died(future)]
                for future in finished:
                    if future not in broken:
                        self._collect(flying.pop(future), future)
                if broken:
                    suspects += self._lost(flying)
                while suspects:
                    self._alone(suspects.popleft())
        except BaseException:
            for future in flying:
                future.cancel()
            raise

    def _submit(self, group: tuple[int, ...]) -> Future[Any]:
        executor = self.runner.executor
        assert executor is not None
        return executor.submit(_run_blocks, self.packed, group)

    def _collect(self, group: tuple[int, ...], future: Future[Any]) -> None:
        error, results = future.result()
        # Workers of our own send pickles; a file that somebody may hand on holds none.
        finished = [(n, pickle.loads(result)) for n, result in zip(group, results, strict=False)]
        if self.keep and finished:
            self.keep[0].keep(self.keep[1], [(n, encoded(result)) for n, result in finished])
        self.done.update(finished)
        if error is not None:
            raise pickle.loads(error)

    def _lost(self, flying: dict[Future[Any], tuple[int, ...]]) -> list[tuple[int, ...]]:
        """A worker has died: what was under way is suspect, and runs again alone."""
        lost = []
        for future, group in list(flying.items()):
            if future.done() and not future.cancelled() and not _worker_died(future):
                self._collect(group, future)
            else:
                future.cancel()  # a cluster would go on with it
                lost.append(group)
        flying.clear()
        self.runner.replace()
        return lost

    def _alone(self, group: tuple[int, ...]) -> None:
        """Run the blocks of a suspect group one after the other, so that the culprit shows."""
        for block in group:
            for strike in range(self.runner.strikes + 1):
                if strike == self.runner.strikes:
                    raise WorkerError(
                        f"block {block} of {self.name} ended its worker every time (seed "
                        f"{self.seed!r}): the mechanism crashes the process, or runs out of "
                        "memory. To see it happen, run this block alone: "
                        f"dpest.running.batch.batch.block_of(mechanism, x, size, "
                        f"seed={self.seed!r}, number={block})"
                    )
                try:
                    future = self._submit((block,))
                    while not wait([future], timeout=_PATIENCE).done and self.runner.alive():
                        pass
                    if not _worker_died(future):
                        self._collect((block,), future)
                        break
                except BrokenExecutor:
                    pass
                self.runner.replace()


def _worker_died(future: Future[Any]) -> bool:
    if future.cancelled() or not future.done():
        return True
    error = future.exception()
    return isinstance(error, BrokenExecutor) or type(error).__name__ in (
        "KilledWorker",
        "CancelledError",
        "FutureCancelledError",
    )


def _one_block(
    function: Callable[..., Any],
    target: Mechanism,
    x: Any,
    size: int,
    seed: Seed,
    number: int,
    **settings: Any,
) -> Any:
    return function(target, x, size, seed, number, **settings)


def _one_of_many(
    target: Mechanism,
    draws: tuple[tuple[Any, int, Seed], ...],
    places: tuple[tuple[int, int], ...],
    settings: Mapping[str, Any],
    place: int,
) -> Samples:
    which, number = places[place]
    x, size, seed = draws[which]
    return block_of_runs(target, x, size, seed, number, **settings)


def _run_blocks(packed: bytes, blocks: tuple[int, ...]) -> tuple[bytes | None, list[bytes]]:
    """In the worker: the packed results, up to the first error, and the error."""
    results: list[bytes] = []
    leave_global_generator()
    try:
        task = unpack(packed)
        for block in blocks:
            results.append(pack_result(task(block)))
    except Exception as error:
        return pack_result(error), results
    return None, results
