"""How often each discrete output comes up, counted where the runs are."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.errors import InputError
from dpest.running.batch.arrays import arrays_for, block_rows
from dpest.running.batch.block import BlockReader
from dpest.running.batch.outputs import LeafColumn
from dpest.running.batch.reading import BatchReading
from dpest.running.batch.rows import RunRows
from dpest.running.black_box import black_box_block
from dpest.running.samples import Samples
from dpest.running.seeds import Seed, block_seed
from dpest.running.skeleton import Skeleton, flatten, leaf_kinds, unflatten
from dpest.running.watchdog import DEFAULT_SECONDS, limited


@dataclass(frozen=True)
class OutputCounts:
    """Distinct outputs, how often each came up in `size` runs, and notes as in Samples.

    `keys` are hashable and equal for equal outputs, whatever the device or the run; the order of
    the outputs depends on the keys alone.
    """

    size: int
    outputs: tuple[Any, ...]
    keys: tuple[Hashable, ...]
    counts: tuple[int, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, output: Any) -> int:
        """How often this output came up.

        >>> counts = count_outputs(lambda x, rng: rng.random() < 2, 0, 10, seed=0)
        >>> counts[True], counts[False]
        (10, 0)
        """
        return dict(zip(self.keys, self.counts, strict=True)).get(_key(*flatten(output)), 0)

    @staticmethod
    def joined(parts: list[OutputCounts]) -> OutputCounts:
        total: dict[Hashable, int] = {}
        outputs: dict[Hashable, Any] = {}
        notes: dict[str, None] = {}
        for part in parts:
            for key, output, count in zip(part.keys, part.outputs, part.counts, strict=True):
                total[key] = total.get(key, 0) + count
                outputs[key] = output
            notes.update(dict.fromkeys(part.notes))
        keys = sorted(total, key=repr)
        return OutputCounts(
            sum(part.size for part in parts),
            tuple(outputs[key] for key in keys),
            tuple(keys),
            tuple(total[key] for key in keys),
            tuple(notes),
        )


def count_outputs(
    mechanism: Callable[..., Any] | Mechanism,
    x: Any,
    size: int,
    seed: Seed,
    *,
    params: Mapping[str, Any] | None = None,
    device: str = "numpy",
    time_limit: float = DEFAULT_SECONDS,
) -> OutputCounts:
    """The counts of `size` outputs, without bringing the runs back from the device.

    The same runs as `batch` with the same seed and device. The outputs must be discrete: to count
    an event of a continuous output, count `lambda x, rng: event(mechanism(x, rng))`.
    """
    blocks = max(1, -(-int(size) // block_rows(device, int(size))))
    target = as_mechanism(mechanism).with_params(params)
    return OutputCounts.joined(
        [
            count_block(target, x, size, seed, number, device=device, time_limit=time_limit)
            for number in range(blocks)
        ]
    )


def count_block(
    mechanism: Callable[..., Any] | Mechanism,
    x: Any,
    size: int,
    seed: Seed,
    number: int,
    *,
    params: Mapping[str, Any] | None = None,
    device: str = "numpy",
    time_limit: float = DEFAULT_SECONDS,
) -> OutputCounts:
    """Block `number` of `count_outputs`: the unit of work that is sent to a worker."""
    target = as_mechanism(mechanism).with_params(params)
    rows = block_rows(device, int(size))
    count = min(rows, int(size) - number * rows)
    stream = block_seed(seed, number)
    with limited(time_limit, target.name) as clock:
        if target.black_box:
            collector = CountCollector(count)
            samples = black_box_block(target, x, count, stream, clock)
            collector.samples(samples)
            return collector.counts()
        reader = BlockReader(target, x, lambda s: arrays_for(device, s), CountCollector, clock)
        return OutputCounts.joined([part.counts() for part in reader.read(count, stream)])


class CountCollector:
    """Counts the outputs of one block; asks the device for nothing but sums."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._counts: dict[Hashable, int] = {}
        self._outputs: dict[Hashable, Any] = {}
        self._notes: dict[str, None] = {}
        self._single: list[Any] = []

    def note(self, text: str) -> None:
        self._notes[text] = None

    def _add(self, skeleton: Skeleton, leaves: list[Any], count: int) -> None:
        key = _key(skeleton, leaves)
        if key not in self._outputs:
            self._outputs[key] = unflatten(skeleton, leaves)
        self._counts[key] = self._counts.get(key, 0) + count

    def path(
        self, reading: BatchReading, skeleton: Skeleton, leaves: list[Any], output: Any
    ) -> None:
        """The output of the path that has just ended, and what `flatten_batched` made of it."""
        _refuse_floats(skeleton, output)
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, LeafColumn)]
        if not places:
            self._add(skeleton, leaves, reading.rows.count)
            return
        leaves = list(leaves)
        for values, count in _joint_counts(reading.arrays, [leaves[i].data for i in places]):
            for i, value in zip(places, values, strict=True):
                leaves[i] = value
            self._add(skeleton, leaves, count)

    def constant(self, rows: RunRows, output: Any) -> None:
        self._add(*flatten(output), rows.count)

    def raised(self, error: Exception, count: int) -> None:
        self.note(f"some runs raised {type(error).__name__} ({error}); each counts as an output")

    def outputs(self, rows: RunRows, outputs: list[Any]) -> None:
        self.samples(Samples.from_outputs(outputs))

    def samples(self, samples: Samples) -> None:
        for group in samples.groups:
            if len(group.rows):
                _refuse_floats(group.skeleton, group.output(0))
        codes = samples.codes()
        for output, count in zip(codes.table, codes.counts.tolist(), strict=True):
            self._add(*flatten(output), count)
        self._notes.update(dict.fromkeys(samples.notes))

    def counts(self) -> OutputCounts:
        keys = tuple(self._counts)
        return OutputCounts(
            self.count,
            tuple(self._outputs[key] for key in keys),
            keys,
            tuple(self._counts.values()),
            tuple(self._notes),
        )


def _joint_counts(arrays: Any, columns: list[Any]) -> list[tuple[list[Any], int]]:
    """The distinct combinations of several discrete columns, with their counts."""
    codes, span = None, 1
    digits: list[tuple[int, int, bool]] = []
    for column in columns:
        boolean = arrays.dtype(column) == np.bool_
        low = 0 if boolean else int(column.min())
        width = 2 if boolean else int(column.max()) - low + 1
        if span * width >= 1 << 62:
            raise InputError("the outputs have too many discrete values to be counted")
        part = arrays.astype(column, np.dtype(np.int64)) - low
        codes = part if codes is None else codes * width + part
        digits.append((low, width, boolean))
        span *= width
    values, counts = arrays.unique(codes)
    found = []
    for code, count in zip(values.tolist(), counts.tolist(), strict=True):
        parts: list[Any] = []
        for low, width, boolean in reversed(digits):
            code, digit = divmod(code, width)
            parts.append(bool(digit) if boolean else digit + low)
        found.append((parts[::-1], count))
    return found


def _refuse_floats(skeleton: Skeleton, output: Any) -> None:
    if "float" in leaf_kinds(skeleton):
        raise InputError(
            "counting needs a discrete output, and this one has a float in it. "
            "Count an event of it: lambda x, rng: event(mechanism(x, rng))"
        )


def _key(skeleton: Skeleton, leaves: list[Any]) -> Hashable:
    return skeleton, tuple(leaf.item() if isinstance(leaf, np.generic) else leaf for leaf in leaves)
