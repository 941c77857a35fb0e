"""A kernel is believed after its runs were made again by the untouched function.

First run by run: the function is handed a generator that gives the kernel's own draws, and must
give the kernel's outputs. Then in distribution: against as many runs with NumPy's generator. The
first finds a program that was misread; the second also finds draws that are not what they should
be.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.ask.declaration import Mechanism
from dpest.running.native.compiled import Compiled
from dpest.running.native.signals import NotCompiled, RunThrown
from dpest.running.native.specialising.drawing import RECIPES, RunDrawing
from dpest.running.native.specialising.specialiser import data_parameter
from dpest.running.native.straight import is_straight, runs_of_a_turn
from dpest.running.native.streams import BUFFER, block_keys
from dpest.running.samples import Samples
from dpest.running.seeds import block_seed, generator_of
from dpest.running.skeleton import consumed, flatten, raised_output
from dpest.running.watchdog import Clock

#: Runs that are compared one by one, at first and on each further input of the shape.
REPLAYED, REPLAYED_AGAIN = 200, 40
#: Runs of each kind that are compared in distribution.
COMPARED = 2000
#: How often a right kernel is refused by chance. A kernel that gives some output, or some range of
#: a number, with a probability that is off by 0.2 is refused with probability 0.99.
FALSE_ALARM = 1e-6
_SEED = 20_240_229
_CLOSE = 1e-9


class _KernelDraws(RunDrawing):
    """The kernel's draws of a block, in the order in which it takes them.

    `_held` has each family's buffer, where its next draw is, and how often it was filled. A kernel
    without jumps has the runs of a turn side by side.
    """

    def __init__(self, compiled: Compiled, keys: NDArray[np.uint64]) -> None:
        super().__init__()
        compiled.kernel("columns")
        assert compiled.fills is not None
        self._fills, self._keys = compiled.fills, keys
        self._most = compiled.program.most_draws
        self._turn = runs_of_a_turn(compiled.program) if is_straight(compiled.program) else None
        self._run = 0
        self._held: dict[str, tuple[NDArray[np.float64], int, int]] = {}
        for family in compiled.program.families:
            self._held[family] = np.empty(0), BUFFER, 0
        self._starts: dict[str, int] = {}

    def next_run(self) -> None:
        """A core refills before a run, where it knows how many draws that can take."""
        if self._turn is not None:
            self._next_of_turn(self._turn)
        elif self._most is not None and max(self._most.values(), default=0) <= BUFFER // 4:
            self._make_room(1)

    def _make_room(self, runs: int) -> None:
        assert self._most is not None
        for family, (_, place, _) in self._held.items():
            if place > BUFFER - self._most[family] * runs:
                self._refill(family)

    def _next_of_turn(self, turn: int) -> None:
        assert self._most is not None
        column = self._run % turn
        self._run += 1
        if column == 0:
            for family, start in self._starts.items():
                buffer, _, times = self._held[family]
                self._held[family] = buffer, start + self._most[family] * turn, times
            self._make_room(turn)
            self._starts = {family: place for family, (_, place, _) in self._held.items()}
        for family, start in self._starts.items():
            buffer, _, times = self._held[family]
            self._held[family] = buffer, start + column, times

    def _refill(self, family: str) -> None:
        _, _, times = self._held[family]
        self._held[family] = self._fills.buffer(family, self._keys, times), 0, times + 1

    def _next(self, family: str) -> np.float64:
        if family not in self._held:
            raise NotCompiled(f"replay: the kernel has no {family} draws")
        if self._held[family][1] >= BUFFER:
            self._refill(family)
        buffer, place, times = self._held[family]
        self._held[family] = buffer, place + (self._turn or 1), times
        return np.float64(buffer[place])

    def standard(self, family: str) -> Any:
        return float(self._next(family))

    def below(self, n: int) -> Any:
        return (int(self._next("bits").view(np.uint64)) * n) >> 64


class Given(np.random.Generator):
    """NumPy's generator for who looks at the type; its draws are the kernel's."""

    def __init__(self, draws: _KernelDraws) -> None:
        super().__init__(np.random.SFC64(0))
        self._draws = draws

    def draw_noise(self, noise: Any, size: Any = None) -> Any:
        return self._drawn("draw_noise", noise, size)

    def _drawn(self, name: str, *args: Any, **words: Any) -> Any:
        try:
            return self._draws.drawn(name, args, words)
        except RunThrown as thrown:
            raise thrown.error from None


def _given_method(name: str) -> Any:
    if name in RECIPES or name in ("integers", "choice", "permutation"):
        return lambda self, *args, **words: self._drawn(name, *args, **words)

    def refuse(self: Any, *args: Any, **words: Any) -> Any:
        raise NotCompiled(f"replay: rng.{name}")

    return refuse


for _name in dir(np.random.Generator):
    if not _name.startswith("_") and _name != "bit_generator":
        setattr(Given, _name, _given_method(_name))


def _plain_output(mechanism: Mechanism, x: Any, rng: Any, clock: Clock | None) -> Any:
    given = {data_parameter(mechanism): copy.deepcopy(x), "rng": rng}
    try:
        with np.errstate(all="ignore"):
            if clock is not None:
                clock.start()
            return consumed(mechanism(**given))
    except NotCompiled:
        raise
    except Exception as error:
        return raised_output(error)
    finally:
        if clock is not None:
            clock.stop()


def check_runs(
    compiled: Compiled,
    mechanism: Mechanism,
    x: Any,
    runs: int = REPLAYED,
    clock: Clock | None = None,
) -> None:
    """Raises NotCompiled unless the function gives what the kernel gave, run by run."""
    seed = block_seed(_SEED, 0)
    samples = compiled.samples(runs, seed)
    draws = _KernelDraws(compiled, block_keys(seed))
    rng = Given(draws)
    outputs = []
    for _ in range(runs):
        draws.next_run()
        outputs.append(_plain_output(mechanism, x, rng, clock))
    plain = Samples.from_outputs(outputs)
    if len(Samples.from_outputs(outputs, typed=True).groups) != len(plain.groups):
        raise NotCompiled("replay: outputs that differ in the types of their numbers alone")
    mine = {group.skeleton: group for group in samples.groups}
    for group in plain.groups:
        other = mine.get(group.skeleton)
        if other is None or sorted(other.rows.tolist()) != sorted(group.rows.tolist()):
            raise NotCompiled("replay: an output of another structure")
        order, other_order = np.argsort(group.rows), np.argsort(other.rows)
        for a, b in zip(group.columns, other.columns, strict=True):
            if not _equal(a[order], b[other_order]):
                raise NotCompiled("replay: another output for the same draws")


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype.kind == "f" and b.dtype.kind == "f":
        return bool(np.allclose(a, b, rtol=_CLOSE, atol=_CLOSE, equal_nan=True))
    if a.dtype == object or b.dtype == object:
        return all(flatten(u) == flatten(v) for u, v in zip(a, b, strict=True))
    return bool(np.array_equal(a, b))


def check_distribution(
    compiled: Compiled,
    mechanism: Mechanism,
    x: Any,
    runs: int = COMPARED,
    clock: Clock | None = None,
) -> None:
    """Raises NotCompiled where runs of the kernel and plain runs differ in distribution."""
    mine = compiled.samples(runs, block_seed(_SEED, 1))
    rng = generator_of(block_seed(_SEED, 2))
    plain = Samples.from_outputs([_plain_output(mechanism, x, rng, clock) for _ in range(runs)])
    tests = list(_tests(mine, plain))
    for distance in tests:
        # Hoeffding and Dvoretzky-Kiefer-Wolfowitz: each sample strays by at most this.
        if distance > 2 * math.sqrt(math.log(4 * len(tests) / FALSE_ALARM) / (2 * runs)):
            raise NotCompiled("replay: another distribution than that of plain runs")


def _tests(mine: Samples, plain: Samples) -> Any:
    """Distances that are small where two samples have one distribution."""
    counts: dict[Any, list[int]] = {}
    for side, samples in enumerate((mine, plain)):
        codes = samples.codes()
        for key, count in zip(codes.keys, codes.counts.tolist(), strict=True):
            counts.setdefault(key, [0, 0])[side] = count
    for one, two in counts.values():
        yield abs(one / mine.size - two / plain.size)
    groups = {group.skeleton: group for group in plain.groups}
    for group in mine.groups:
        other = groups.get(group.skeleton)
        for place, column in enumerate(group.columns):
            if column.dtype.kind not in "fi" or other is None:
                continue
            yield _distance(column, other.columns[place], mine.size)


def _distance(a: np.ndarray, b: np.ndarray, size: int) -> float:
    """The largest difference of two sub-distribution functions."""
    a, b = np.sort(a.astype(np.float64)), np.sort(b.astype(np.float64))
    values = np.concatenate([a, b])
    below_a, below_b = (np.searchsorted(v, values, side="right") for v in (a, b))
    return float(np.max(np.abs(below_a - below_b), initial=0)) / size
