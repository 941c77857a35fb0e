"""The batch reading: many outputs of an unmodified scalar function, in array operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.errors import InputError
from dpest.running.batch.arrays import arrays_for, block_rows
from dpest.running.batch.block import BlockReader
from dpest.running.batch.outputs import SampleCollector
from dpest.running.black_box import black_box_block
from dpest.running.memory import forgotten
from dpest.running.samples import Samples
from dpest.running.seeds import Seed, block_seed
from dpest.running.watchdog import DEFAULT_SECONDS, limited


def batch(
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
    """`size` outputs of `mechanism` on the input `x`, in order.

    A function `f(x, rng, **params)` is read in batches; `f(x)` and `f(x, size)` are called as they
    are. Runs are made in blocks of fixed size with a stream of randomness each, so that the same
    seed gives the same outputs however the blocks are spread over workers (`block_of`). A run that
    raises has the output "raises ValueError"; if every run raises, so does this. `notes` of the
    result, also handed to `on_note`, say what could not be batched and what a user should know.
    `device` is "numpy", "cuda" or "torch:cpu"; devices agree in distribution, not bit for bit.
    One call of the function may take `time_limit` seconds.

    >>> samples = batch(lambda x, rng: x + rng.laplace() > 0, 0.5, 1000, seed=1)
    >>> samples.groups[0].columns[0].dtype
    dtype('bool')
    """
    if size < 0 or int(size) != size:
        raise InputError(f"size is the number of runs, a whole number; got {size!r}")
    target = as_mechanism(mechanism).with_params(params)
    parts = [
        block_of(target, x, size, seed, number, device=device, time_limit=time_limit)
        for number in range(blocks_in(size, device))
    ]
    return join_blocks(parts, on_note=on_note)


def blocks_in(size: int, device: str = "numpy") -> int:
    """How many blocks `size` runs make; at least one."""
    return max(1, -(-int(size) // block_rows(device, int(size))))


def block_of(
    mechanism: Callable[..., Any] | Mechanism,
    x: Any,
    size: int,
    seed: Seed,
    number: int,
    *,
    params: Mapping[str, Any] | None = None,
    device: str = "numpy",
    time_limit: float = DEFAULT_SECONDS,
    rows: int | None = None,
) -> Samples:
    """Block `number` of a batch of `size` runs: the unit of work that is sent to a worker.

    `rows` are the runs of a block, if not those of the device. A function with hundreds of paths
    is faster in larger blocks; their outputs are others, equal in distribution. Raises
    DependentRunsError where a run changed what outlives it.
    """
    target = as_mechanism(mechanism).with_params(params)
    rows = rows or block_rows(device, int(size))
    count = min(rows, int(size) - number * rows)
    stream = block_seed(seed, number)
    with forgotten(target), limited(time_limit, target.name) as clock:
        if target.black_box:
            return black_box_block(target, x, count, stream, clock)
        reader = BlockReader(target, x, lambda s: arrays_for(device, s), SampleCollector, clock)
        return Samples.concatenate([c.samples() for c in reader.read(count, stream)])


def join_blocks(parts: list[Samples], on_note: Callable[[str], None] | None = None) -> Samples:
    """The blocks of one batch, in order, as one."""
    samples = parts[0] if len(parts) == 1 else Samples.concatenate(parts)
    if samples.raised is not None and samples.raised.count == samples.size > 0:
        raise samples.raised.error
    notes = list(samples.notes)
    if samples.raised is not None:
        error = samples.raised.error
        notes.append(
            f"{samples.raised.count} of {samples.size} runs raised {type(error).__name__}"
            f" ({error}); each counts as an output of its own"
        )
    if samples.nan_count:
        notes.append(
            f"{samples.nan_count} numbers among the outputs are NaN; they are kept as they are"
        )
    if on_note is not None:
        for note in notes:
            on_note(note)
    return Samples(samples.size, samples.groups, notes, samples.raised)
