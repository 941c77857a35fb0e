"""One block of runs: the function is entered once for every path that its runs take."""

from __future__ import annotations

import copy
import functools
import heapq
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism, in_order
from dpest.running.batch.draws import KeptDraws, TooMuchKept, kept_values
from dpest.running.batch.generator import BatchGenerator
from dpest.running.batch.outputs import flatten_batched
from dpest.running.batch.patches import patched, stand_ins_accepted
from dpest.running.batch.reading import BatchReading, Pending
from dpest.running.batch.replay import (
    HandedLikeBatch,
    Replays,
    draws_from_the_system,
    looks_at_identity,
    same_flat,
)
from dpest.running.batch.scalar import ScalarGenerator
from dpest.running.batch.values import NeedsScalar
from dpest.running.black_box import GlobalState, global_randomness
from dpest.running.places import where_defined
from dpest.running.seeds import block_seed, generator_of
from dpest.running.skeleton import consumed, flatten, raised_output
from dpest.running.watchdog import Clock

_SMALL = 8  # so few runs are finished one by one: array operations no longer pay
_CREDIT = 100  # runs by which paths may fall short of paying, before the rest goes one by one
_PARTS = 8  # a block whose draws don't fit in memory is read in so many parts
_OWN_RANDOMNESS = (
    "gave different outputs for the same rng, or drew from a global generator: it has randomness "
    "or memory of its own (np.random, random, a global). Its runs were made one by one. Draw from "
    "the rng that is handed in"
)
_NOT_ALIKE = (
    "does something else in a batch than in a plain run with the same draws: it looks at the "
    "types of its values or of rng, or has randomness of its own. Its runs were made one by one, "
    "which is slower"
)
_IDENTITY = (
    "asks whether a value `is True` or `is False`, which can't be read in batches. Its runs were "
    "made one by one, which is slower; write `if value:`"
)


_TRIES = 4


def _others_run() -> bool:
    """Whether code of other threads may draw from the global generators meanwhile."""
    return threading.current_thread() is not threading.main_thread()


class BlockReader:
    """Reads blocks of one mechanism on one input and hands its outputs to collectors."""

    def __init__(
        self,
        target: Mechanism,
        x: Any,
        make_arrays: Callable[[np.random.SeedSequence], Any],
        make_collector: Callable[[int], Any],
        clock: Clock,
    ) -> None:
        self.target = target
        self._function = functools.partial(in_order(target.function), **target.params)
        self._fresh = fresh(x)
        self.make_arrays = make_arrays
        self.make_collector = make_collector
        self.clock = clock

    def read(self, count: int, seed: np.random.SeedSequence) -> list[Any]:
        """The collectors of a block's parts, in order; one, unless memory was short."""
        plain = self.target.about.get("plain")
        if plain:
            return [self._all_one_by_one(count, seed, f"is run call by call: {plain}", typed=True)]
        with np.errstate(all="ignore"):
            for left in reversed(range(_TRIES if _others_run() else 1)):
                before = GlobalState()
                collector, problem = self._in_batches(count, seed)
                if not before.touched():
                    break
                # Perhaps on a rare path only; or another thread drew from the global generator.
                # The same runs, made again, draw from it again if it is the function that does.
                before.restore()
                if left == 0:
                    problem = _OWN_RANDOMNESS
            if problem:
                return [self._all_one_by_one(count, seed, problem)]
        if collector is not None:
            return [collector]
        parts = -(-count // max(_SMALL - 1, -(-count // _PARTS)))
        edges = [count * i // parts for i in range(parts + 1)]
        found: list[Any] = []
        for i in range(parts):
            found.extend(self.read(edges[i + 1] - edges[i], block_seed(seed, i)))
        return found

    def _in_batches(self, count: int, seed: np.random.SeedSequence) -> tuple[Any, str]:
        """The block's collector (None: memory was short), and what keeps it from being right."""
        problem = self._peculiarity(seed) if count else ""
        if problem:
            return None, problem
        collector = self.make_collector(count)
        arrays = self.make_arrays(seed)
        try:
            with arrays.working(), stand_ins_accepted(self._function):
                replays = self._read_paths(count, arrays, collector)
                if not replays.agree(self._call, _single(arrays)):
                    problem = _NOT_ALIKE
        except (TooMuchKept, MemoryError):
            if count <= _SMALL:
                raise
            return None, ""
        return collector, problem

    def _all_one_by_one(
        self, count: int, seed: np.random.SeedSequence, problem: str, typed: bool = False
    ) -> Any:
        """Plain runs of a function that can't be read in batches."""
        collector = self.make_collector(count)
        collector.typed = typed
        arrays = self.make_arrays(seed)
        place = where_defined(self.target.function)
        collector.note(f"{place}: {self.target.name} {problem}")
        with global_randomness(seed):
            self._one_by_one(Pending(BatchReading(arrays, count).rows, [], []), arrays, collector)
        return collector

    def _call(self, rng: Any) -> Any:
        self.clock.start()
        try:
            return consumed(self._function(self._fresh(), rng))
        finally:
            self.clock.stop()

    def _peculiarity(self, seed: np.random.SeedSequence) -> str:
        """What keeps this function from being read in batches, or nothing.

        NumPy's own generator, twice, and something that hands on its draws must give the same.
        """
        if looks_at_identity(self.target.function):
            return _IDENTITY
        if draws_from_the_system(self.target.function):
            return _OWN_RANDOMNESS
        first = self._outcome(generator_of(block_seed(seed, 0)))
        with stand_ins_accepted(self._function):
            handed = self._outcome(HandedLikeBatch(generator_of(block_seed(seed, 0))))
        if same_flat(first, handed):
            return ""
        again = self._outcome(generator_of(block_seed(seed, 0)))
        return _NOT_ALIKE if same_flat(first, again) else _OWN_RANDOMNESS

    def _outcome(self, rng: Any) -> tuple[Any, list[Any]]:
        try:
            return flatten(self._call(rng))
        except Exception as error:  # it may raise for some draws
            return flatten(RaisedRun(error).output)

    def _read_paths(self, count: int, arrays: Any, collector: Any) -> Replays:
        reading = BatchReading(arrays, count)
        replays = Replays(arrays)
        raised: list[tuple[Pending, Exception]] = []
        generator = BatchGenerator(reading)
        waiting: list[tuple[int, int, Pending]] = [(-count, 0, Pending(reading.rows, [], []))]
        entered = 0
        credit: float = _CREDIT
        left: list[Pending] = []
        with patched(reading, self.target.function):
            while waiting:
                # The largest first. Once paths finish few runs each, the rest goes one by one: with
                # 2^20 paths, splitting would cost more than it saves.
                _, _, path = heapq.heappop(waiting)
                if path.rows.count < _SMALL or credit <= 0:
                    left.append(path)
                    continue
                reading.enter(path)
                try:
                    reading.active = True
                    output = self._call(generator)
                    if reading.failure is not None:  # the function swallowed it
                        raise reading.failure
                    flat = flatten_batched(reading, output)
                    collector.path(reading, *flat, output)
                    replays.keep(reading, *flat)
                except NeedsScalar as need:
                    if need.operation:
                        place = f"{need.where}: " if need.where else ""
                        collector.note(
                            f"{place}{need.operation} needs one number at a time; these runs were "
                            "made one by one, which is slower"
                        )
                    left.append(reading.path())
                except MemoryError:
                    raise
                except Exception as error:
                    if arrays.out_of_memory(error):
                        raise MemoryError(str(error)) from None
                    if isinstance(reading.failure, TooMuchKept):
                        raise reading.failure from None
                    if reading.failure is not None:  # swallowed: this error is not the function's
                        left.append(reading.path())
                    else:
                        raised.append((reading.path(), error))
                finally:
                    reading.active = False
                credit = min(credit + reading.rows.count - reading.cost_in_runs(), 8 * _CREDIT)
                for aside in reading.aside:
                    entered += 1
                    heapq.heappush(waiting, (-aside.rows.count, entered, aside))
                reading.aside.clear()
        for path, raised_error in raised:
            self._raised(path, raised_error, arrays, collector)
        table = KeptDraws(left, count) if _many_runs(left, count, arrays) else None
        for path in left:
            self._one_by_one(path, arrays, collector, table)
        return replays

    def _raised(self, path: Pending, error: Exception, arrays: Any, collector: Any) -> None:
        """All runs of a path raise alike, unless it was the batch that the code can't bear."""
        single = self._outputs(path, arrays, 1)[0]
        if (
            isinstance(single, RaisedRun)
            and type(single.error) is type(error)
            and str(single.error) == str(error)
        ):
            collector.raised(single.error, path.rows.count)
            collector.constant(path.rows, single.output)
            return
        collector.note(
            f"{where_defined(self.target.function)}: {self.target.name} can't be batched "
            f"({type(error).__name__}: {error}); these runs were made one by one, which is slower"
        )
        self._one_by_one(path, arrays, collector)

    def _one_by_one(
        self, path: Pending, arrays: Any, collector: Any, table: KeptDraws | None = None
    ) -> None:
        """Finish the runs of a path, with the draws that led them there."""
        outputs = self._outputs(path, arrays, path.rows.count, table)
        for i, output in enumerate(outputs):
            if isinstance(output, RaisedRun):
                collector.raised(output.error, 1)
                outputs[i] = output.output
        collector.outputs(path.rows, outputs)

    def _outputs(
        self, path: Pending, arrays: Any, count: int, table: KeptDraws | None = None
    ) -> list[Any]:
        rng = _single(arrays)
        if not path.decisions:
            # nothing was decided by the draws so far, so that they may be thrown away
            return [self._run(rng.generator) for _ in range(count)]
        rng.follow([record.key if record.looked_at else None for record in path.draws])
        outputs: list[Any] = []
        function, copied, clock = self._function, self._fresh, self.clock
        for values in kept_values(path, arrays) if table is None else table.of(path):
            rng.restart(values)
            clock.start()
            try:
                outputs.append(consumed(function(copied(), rng)))
            except Exception as error:
                outputs.append(RaisedRun(error))
            if len(outputs) == count:
                break
        clock.stop()
        return outputs

    def _run(self, rng: Any) -> Any:
        try:
            return self._call(rng)
        except Exception as error:
            return RaisedRun(error)


class RaisedRun:
    """A run that ended in an exception: an output like any other, for an observer sees it."""

    __slots__ = ("error", "output")

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.output = raised_output(error)


def _single(arrays: Any) -> ScalarGenerator:
    if arrays.single is None:
        arrays.single = ScalarGenerator(arrays.scalar_generator())
    return arrays.single


def _many_runs(paths: list[Pending], count: int, arrays: Any) -> bool:
    """Whether the draws of these paths are best put into one table."""
    return (
        arrays.name == "numpy"
        and 8 * sum(path.rows.count for path in paths) >= count
        and all(record.parts is None for path in paths for record in path.draws)
    )


def fresh(x: Any) -> Callable[[], Any]:
    """A maker of the input as a function may spoil it: every call gets its own."""
    if isinstance(x, list) and all(type(v) in (float, int, str, bool) for v in x):
        return x.copy
    if isinstance(x, np.ndarray) and x.dtype.kind in "fiub":
        return x.copy
    if isinstance(x, (int, float, str, np.generic)) or x is None:
        return lambda: x
    return lambda: copy.deepcopy(x)
