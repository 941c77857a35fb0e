"""Where runs come from: a native loop, the batch reading, or plain calls.

A draw of many runs is worth a compilation; a small one is left to the batch reading. The decision
depends on the mechanism, the input and the number of runs alone, never on a clock, so that the same
seed gives the same outputs wherever and whenever they are made. A kernel is replayed before it is
used (`replay`); what it can't hold is made by the batch reading, block by block.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.running.batch.arrays import block_rows
from dpest.running.batch.batch import block_of, blocks_in
from dpest.running.native import jit
from dpest.running.native.compiled import Cache, Compiled, contents, program_of, shape_of
from dpest.running.native.replay import REPLAYED_AGAIN, check_distribution, check_runs
from dpest.running.native.signals import NotCompiled
from dpest.running.samples import Samples
from dpest.running.seeds import Seed, block_seed
from dpest.running.watchdog import DEFAULT_SECONDS, limited

#: Runs of one draw from which on a compilation pays: it takes about as long as the batch reading
#: takes for a million runs, and a draw of this size is hardly ever the only one.
WORTHWHILE = 1 << 17
_lock = threading.RLock()
_programs = Cache()
_inputs = Cache(4096)


def compiled_for(
    mechanism: Callable[..., Any] | Mechanism, x: Any, time_limit: float = DEFAULT_SECONDS
) -> Compiled:
    """The native loop of a mechanism on an input, replayed; NotCompiled where there is none."""
    target = as_mechanism(mechanism)
    if target.black_box:
        raise NotCompiled("a function without a generator is called as it is")
    if not jit.available():
        raise NotCompiled("llvmlite is not installed (pip install 'dpest[fast]')")
    with _lock:
        key = _key(target)
        place = key, contents(x)
        known = _inputs.get(place)
        if known is None or not _fresh(known):
            known = _prepared(target, key, x, time_limit)
            _inputs.put(place, known)
    if isinstance(known, NotCompiled):
        raise known
    return known.on(x) if known.any_input else known.again()


class _Same:
    """An object as a key, by its identity; it is kept alive, so that no other gets its place."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value


def _key(target: Mechanism) -> Any:
    """The function and its parameters: those that are no plain data, by identity."""
    params = tuple(
        (name, repr(value) if isinstance(value, (int, float, str, bool)) else _Same(value))
        for name, value in sorted(target.params.items())
    )
    return _Same(target.function), params


def _fresh(known: Compiled | NotCompiled) -> bool:
    """Whether what was looked up when it was compiled is still there."""
    return isinstance(known, NotCompiled) or known.program.specialiser.unchanged()


def _prepared(target: Mechanism, key: Any, x: Any, time_limit: float) -> Compiled | NotCompiled:
    shape = (key, shape_of(x))
    found = _programs.get(shape)
    if isinstance(found, Compiled) and _fresh(found):
        again = found.on(x)
        try:
            _replayed(again, target, x, time_limit, whole=False)
            return again
        except NotCompiled as refusal:
            return refusal
    try:
        program, any_input = program_of(target, x)
        made = Compiled(program, any_input, x)
        _replayed(made, target, x, time_limit, whole=True)
    except NotCompiled as refusal:
        refusal.__traceback__ = None
        return refusal
    if any_input:
        _programs.put(shape, made)
    return made


def _replayed(made: Compiled, target: Mechanism, x: Any, seconds: float, whole: bool) -> None:
    with limited(seconds, target.name) as clock:
        if whole:
            check_runs(made, target, x, clock=clock)
            check_distribution(made, target, x, clock=clock)
        else:
            check_runs(made, target, x, REPLAYED_AGAIN, clock=clock)


def block_of_runs(
    mechanism: Callable[..., Any] | Mechanism,
    x: Any,
    size: int,
    seed: Seed,
    number: int,
    *,
    device: str = "numpy",
    time_limit: float = DEFAULT_SECONDS,
) -> Samples:
    """Block `number` of `size` runs: the unit of work that is sent to a worker.

    Blocks have the sizes and the seeds of the batch reading. `runner` of the result says who made
    them: "native", "batch" or "calls".
    """
    target = as_mechanism(mechanism)
    if int(size) >= WORTHWHILE and device in ("numpy", "cpu"):
        rows = block_rows(device, int(size))
        count = min(rows, int(size) - number * rows)
        try:
            compiled = compiled_for(target, x, time_limit)
            made = compiled.samples(count, block_seed(seed, number))
            return Samples(made.size, made.groups, made.notes, made.raised, "native")
        except NotCompiled:
            pass
    made = block_of(target, x, size, seed, number, device=device, time_limit=time_limit)
    runner = "calls" if target.black_box else "batch"
    return Samples(made.size, made.groups, made.notes, made.raised, runner)


def draw_runs(
    mechanism: Callable[..., Any] | Mechanism,
    x: Any,
    size: int,
    seed: Seed,
    *,
    device: str = "numpy",
    time_limit: float = DEFAULT_SECONDS,
) -> Samples:
    """`size` runs in order, block by block in this process."""
    return Samples.concatenate(
        [
            block_of_runs(mechanism, x, size, seed, n, device=device, time_limit=time_limit)
            for n in range(blocks_in(size, device))
        ]
    )


def count_runs(
    mechanism: Callable[..., Any] | Mechanism,
    x: Any,
    size: int,
    seed: Seed,
    *,
    time_limit: float = DEFAULT_SECONDS,
) -> tuple[Samples, NDArray[np.int64]]:
    """The distinct outputs of `size` runs, and how often each came up.

    The same runs as the blocks of `block_of_runs`, without an output for each of them. NotCompiled
    where there is no native loop, or the outputs are not discrete.
    """
    compiled = compiled_for(mechanism, x, time_limit)
    table = np.zeros(compiled.layout.codes if compiled.layout.countable else 0, dtype=np.int64)
    for count, stream in blocks_of(size, seed):
        compiled.counts(count, stream, table)
    seen = np.flatnonzero(table)
    return compiled.layout.possible(seen), table[seen]


def blocks_of(size: int, seed: Seed) -> Iterator[tuple[int, np.random.SeedSequence]]:
    """The blocks of `size` runs: how many runs each has, and its stream."""
    rows = block_rows("numpy", int(size))
    for number in range(-(-int(size) // rows)):
        yield min(rows, int(size) - number * rows), block_seed(seed, number)
