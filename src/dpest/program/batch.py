"""The batch reading: many outputs of an unmodified scalar function, in array operations."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dpest.declaration import Mechanism, as_mechanism
from dpest.program.batch_draws import TooMuchKept
from dpest.program.batch_generator import BatchGenerator
from dpest.program.batch_numpy import NumpyArrays
from dpest.program.batch_outputs import SampleCollector
from dpest.program.batch_reading import Pending, Reading
from dpest.program.batch_scalar import Pools, ScalarGenerator
from dpest.program.batch_values import NeedsScalar
from dpest.program.samples import Samples
from dpest.program.seeds import Seed, block_seed

_SMALL = 12  # runs on a path that are finished one by one: array operations no longer pay


def batch(
    mechanism: Callable[..., Any] | Mechanism,
    x: Any,
    size: int,
    seed: Seed,
    *,
    params: Mapping[str, Any] | None = None,
    device: str = "numpy",
    on_note: Callable[[str], None] | None = None,
) -> Samples:
    """`size` outputs of `mechanism` on the input `x`, in order.

    The same seed gives the same outputs, whatever else runs. `notes` of the result, also handed to
    `on_note`, say what could not be batched and what a user should know.
    """
    target = as_mechanism(mechanism).with_params(params)
    parts = []
    block = NumpyArrays.block
    for number in range(0, max(1, -(-size // block))):
        count = min(block, size - number * block)
        parts.append(batch_block(target, x, count, block_seed(seed, number)))
    samples = Samples.concatenate(parts) if len(parts) > 1 else parts[0]
    if on_note is not None:
        for note in samples.notes:
            on_note(note)
    return samples


def batch_block(target: Mechanism, x: Any, count: int, seed: np.random.SeedSequence) -> Samples:
    collector = SampleCollector(count)
    read_block(target, x, count, seed, collector)
    return collector.samples()


def read_block(
    target: Mechanism, x: Any, count: int, seed: np.random.SeedSequence, collector: Any
) -> None:
    """Hand the outputs of one block to `collector`, path by path."""
    arrays = NumpyArrays(seed)
    reading = Reading(arrays, count)
    generator = BatchGenerator(reading)
    reading.pending.append(Pending(reading.rows, [], []))
    pools = Pools(arrays.scalar_generator())
    with np.errstate(all="ignore"):
        while reading.pending:
            path = reading.pending.pop()
            if path.rows.count < _SMALL:
                _one_by_one(target, x, path, pools, collector)
                continue
            reading.enter(path)
            try:
                reading.active = True
                output = target(fresh(x), generator)
                if reading.failure is not None:
                    raise reading.failure
                collector.path(reading, output)
            except NeedsScalar as need:
                place = f"{need.where}: " if need.where else ""
                collector.note(
                    f"{place}{need.operation} needs one number at a time; "
                    "these runs were made one by one, which is slower"
                )
                left = Pending(reading.rows, reading.decisions, reading.draws)
                _one_by_one(target, x, left, pools, collector)
            finally:
                reading.active = False


def _one_by_one(
    target: Mechanism, x: Any, path: Pending, pools: Pools, collector: Any
) -> None:
    """Finish the runs of a path, with the draws that led them there."""
    count = path.rows.count
    outputs = []
    if not path.decisions:
        # nothing was decided by the draws so far, so that they may be thrown away
        for _ in range(count):
            outputs.append(target(fresh(x), pools.generator))
    else:
        keys, columns = [], []
        for record in path.draws:
            keys.append(record.key)
            columns.append(_values_of(record, path.rows))
        for row in range(count):
            values = [column[row] if column is not None else None for column in columns]
            outputs.append(target(fresh(x), ScalarGenerator(pools, keys, values)))
    collector.outputs(path.rows, outputs)


def _values_of(record: Any, rows: Any) -> Any:
    """What a draw was in each of these runs: numbers, or arrays for a draw with a shape."""
    if record.data is None:
        return None
    data = record.data
    arrays = rows._arrays
    if record.rows is not rows:
        data = arrays.take(data, rows.positions_in(record.rows))
    data = arrays.to_numpy(data)
    if not record.shape:
        return data.tolist()
    return list(np.moveaxis(data, -1, 0))


def fresh(x: Any) -> Any:
    """The input as a function may spoil it: every run gets its own."""
    if isinstance(x, (int, float, str, tuple, np.generic)) or x is None:
        return x
    if isinstance(x, list):
        return list(x) if not x or isinstance(x[0], (int, float, str)) else copy.deepcopy(x)
    if isinstance(x, np.ndarray):
        return x.copy()
    return copy.deepcopy(x)


__all__ = ["TooMuchKept", "batch", "batch_block", "fresh", "read_block"]
