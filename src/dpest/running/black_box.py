"""Functions that are called as they are: `f(x)` for one output, `f(x, size)` for many."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.errors import InputError
from dpest.running.places import where_defined
from dpest.running.samples import RaisedRuns, Samples, SkeletonGroup
from dpest.running.skeleton import Leaf, Nest, consumed, flatten
from dpest.running.watchdog import Clock


@contextmanager
def global_randomness(seed: np.random.SeedSequence) -> Iterator[None]:
    """Seed the global generators of NumPy and Python, and give them back as they were."""
    before = GlobalState()
    words = seed.generate_state(8)
    np.random.seed(words)  # noqa: NPY002
    random.seed(int.from_bytes(words.tobytes(), "little"))
    try:
        yield
    finally:
        before.restore()


class GlobalState:
    """Where the global generators of NumPy and Python stand."""

    def __init__(self) -> None:
        self._numpy: Any = np.random.get_state()  # noqa: NPY002
        self._python = random.getstate()

    def touched(self) -> bool:
        """Whether anybody has drawn from them since."""
        now: Any = np.random.get_state()  # noqa: NPY002
        return (
            self._numpy[2:] != now[2:]
            or not np.array_equal(self._numpy[1], now[1])
            or self._python != random.getstate()
        )

    def restore(self) -> None:
        np.random.set_state(self._numpy)  # noqa: NPY002
        random.setstate(self._python)


def black_box_block(
    target: Mechanism, x: Any, count: int, seed: np.random.SeedSequence, clock: Clock
) -> Samples:
    """One block of outputs.

    Repeatable if all randomness comes from NumPy's or Python's global generator, which are seeded
    here. A call that raises has the output "raises ValueError".
    """
    with global_randomness(seed):
        start = GlobalState()
        samples = (
            _many(target, x, count, clock)
            if target.takes_size
            else _single(target, x, count, clock)
        )
        touched = start.touched()
    notes = list(samples.notes)
    if touched:
        notes.append(
            f"{where_defined(target.function) or target.name}: {target.name} draws from a global "
            "generator; it was seeded for every block of runs, which is repeatable only if "
            "nothing else draws from it. Take a parameter rng for more"
        )
    else:
        notes.append(
            f"{target.name} is a black box that brings its own randomness: "
            "the same seed need not give the same outputs"
        )
    return Samples(samples.size, samples.groups, notes, samples.raised)


def _single(target: Mechanism, x: Any, count: int, clock: Clock) -> Samples:
    from dpest.running.batch.block import RaisedRun, fresh

    outputs: list[Any] = []
    copied = fresh(x)
    raised: RaisedRuns | None = None
    for _ in range(count):
        clock.start()
        try:
            outputs.append(consumed(target(copied())))
        except Exception as error:
            outputs.append(RaisedRun(error).output)
            raised = RaisedRuns.joined(raised, RaisedRuns(error, 1))
        finally:
            clock.stop()
    found = Samples.from_outputs(outputs, bool(target.about.get("plain")))
    return Samples(found.size, found.groups, found.notes, raised)


def _many(target: Mechanism, x: Any, count: int, clock: Clock) -> Samples:
    from dpest.running.batch.block import fresh

    clock.start()
    try:
        result = target(fresh(x)(), size=count)
    finally:
        clock.stop()
    return samples_of_columns(result, count, target.name)


def samples_of_columns(result: Any, count: int, name: str) -> Samples:
    """Samples from what a vectorised function returned: the runs are on the first axis.

    An array of `count` rows, a list of `count` outputs, or a tuple or dict of such arrays.
    """
    rows = np.arange(count, dtype=np.int64)
    if isinstance(result, np.ndarray) and result.dtype.kind in "biuf":
        if result.ndim == 0 or len(result) != count:
            raise InputError(
                f"{name}(x, size) must return {count} outputs on the first axis; "
                f"got shape {result.shape}"
            )
        skeleton, columns = _columns(result)
        return Samples(count, [SkeletonGroup(skeleton, rows, columns)])
    if isinstance(result, (tuple, dict)):
        parts = list(result.values()) if isinstance(result, dict) else list(result)
        if parts and all(
            isinstance(p, np.ndarray) and p.ndim and len(p) == count and p.dtype.kind in "biuf"
            for p in parts
        ):
            found = [_columns(part) for part in parts]
            keys = tuple(result) if isinstance(result, dict) else ()
            container = "dict" if isinstance(result, dict) else "tuple"
            nest = Nest(container, keys, tuple(skeleton for skeleton, _ in found))
            columns = tuple(column for _, some in found for column in some)
            return Samples(count, [SkeletonGroup(nest, rows, columns)])
    outputs = list(result)
    if len(outputs) != count:
        raise InputError(f"{name}(x, size) must return {count} outputs; got {len(outputs)}")
    return Samples.from_outputs(outputs)


def _columns(array: np.ndarray) -> tuple[Any, tuple[np.ndarray, ...]]:
    if array.ndim == 1:
        kind = flatten(array.dtype.type(0))[0]
        return kind, (_standard(array),)
    flat = array.reshape(len(array), -1)
    leaf = flatten(array.dtype.type(0))[0]
    assert isinstance(leaf, Leaf)
    columns = tuple(_standard(np.ascontiguousarray(flat[:, i])) for i in range(flat.shape[1]))
    return Nest("array", array.shape[1:], (leaf,) * flat.shape[1]), columns


def _standard(column: np.ndarray) -> np.ndarray:
    """int64, float64 or bool."""
    kinds: dict[str, Any] = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}
    return column.astype(kinds[column.dtype.kind], copy=False)
