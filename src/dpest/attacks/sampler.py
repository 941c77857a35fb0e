"""Where outputs come from: one small protocol, so that batches, workers and GPUs all fit."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.errors import DpestError, ReadingError
from dpest.running.native.runs import draw_runs
from dpest.running.samples import Samples
from dpest.running.skeleton import Skeleton


class Sampler(Protocol):
    """`draw(x, size, seed)` gives `size` independent outputs of the mechanism on input `x`.

    The same arguments give the same outputs where the mechanism's randomness comes from its
    generator. A run that raises is an output too. `notes()` says what a reader of the result
    should know (runs that raised, a fallback).
    """

    def draw(self, x: Any, size: int, seed: int) -> Samples: ...

    def notes(self) -> tuple[str, ...]: ...


def runners_of(sample: Sampler) -> dict[str, int]:
    """How many runs of a sampler were made natively, by the batch reading, by plain calls."""
    found = sample.runners if isinstance(sample, MechanismSampler) else {}
    return {name: count for name, count in sorted(found.items()) if name}


class MechanismSampler:
    """Runs of a mechanism: native loops, the batch reading, or calls of a black box.

    In this process, or by `run_all`, which makes many draws of one mechanism at once and gives the
    same outputs: `Runner.batches` of a pool of processes, or of a cluster (and `map_kept` of the
    same runner, for work that brings back less than outputs). `count_on` is the device of runs
    whose outputs nobody needs, that of the others if not said.
    A run that raises has the output "raises ValueError": whoever sees the output sees that too.
    Such runs are counted and stated, and so are NaN and a black box's outputs of several shapes.
    Only if every run on both inputs raised does `draw` raise as well.
    """

    def __init__(
        self,
        mechanism: Callable[..., Any] | Mechanism,
        params: Mapping[str, Any] | None = None,
        device: str = "numpy",
        run_all: Callable[..., list[Samples]] | None = None,
        map_blocks: Callable[..., list[Any]] | None = None,
        count_on: str | None = None,
    ) -> None:
        self._mechanism = as_mechanism(mechanism).with_params(params)
        self._device = device
        self._run_all = run_all
        self.map_blocks = map_blocks
        self.count_on = device if count_on is None else count_on
        self.runs = 0
        self.runners: Counter[str] = Counter()
        """Who made the runs: how many were "native", by the "batch" reading, by plain "calls"."""
        self.raised = 0
        self.nans = 0
        self._inputs: set[str] = set()
        self._shapes: set[Skeleton] = set()
        self._notes: dict[str, None] = {}

    @property
    def mechanism(self) -> Mechanism:
        return self._mechanism

    @property
    def counts_natively(self) -> bool:
        """Whether runs that are only counted may be made by native loops: here, by `map_blocks`,
        or on the GPU that `count_on` names.
        """
        if self.count_on.startswith("cuda"):
            return True
        return self.counts_on_cores and (self._run_all is None) == (self.map_blocks is None)

    @property
    def counts_on_cores(self) -> bool:
        return self.count_on in ("numpy", "cpu")

    def counted(self, runs: int, runner: str) -> None:
        """Runs of the mechanism that were made elsewhere, and only counted."""
        self.runs += runs
        self.runners[runner] += runs

    def draw(self, x: Any, size: int, seed: int) -> Samples:
        return self.draw_all([(x, size, seed)])[0]

    def draw_all(self, draws: Sequence[tuple[Any, int, int]]) -> list[Samples]:
        """`draw` for each (x, size, seed); at the same time, where there are several workers."""
        if self._run_all is None:
            return [self._noted(x, self._sampled(x, size, seed)) for x, size, seed in draws]
        found = self._run_all(self._mechanism, draws, device=self._device)
        return [self._noted(x, samples) for (x, _, _), samples in zip(draws, found, strict=True)]

    def _noted(self, x: Any, samples: Samples) -> Samples:
        self.runs += samples.size
        self.runners[samples.runner] += samples.size
        if len(self._inputs) < 2:
            self._inputs.add(repr(x))
        self.nans += samples.nan_count
        if self._mechanism.black_box:
            self._shapes.update(group.skeleton for group in samples.groups)
        self._notes.update(dict.fromkeys(samples.notes))
        if samples.raised is not None:
            self.raised += samples.raised.count
            # A hundred failures on two inputs and nothing else: it can't run at all. (To fail on
            # one input alone would tell it from the other.)
            if self.raised == self.runs >= 100 and len(self._inputs) > 1:
                raise _failure(samples.raised.error, self.runs)
        return samples

    def _sampled(self, x: Any, size: int, seed: int) -> Samples:
        return draw_runs(self._mechanism, x, size, seed, device=self._device)

    def notes(self) -> tuple[str, ...]:
        stated = tuple(self._notes)
        if self.raised:
            stated += (
                f"{self.raised} of {self.runs} runs raised; each was counted as an output, "
                "by the type of its error",
            )
        if self.nans:
            stated += (f"{self.nans} numbers among the outputs were NaN, a value like any other",)
        shapes = len(self._shapes) - bool(self.raised)
        if shapes > 1:
            stated += (f"outputs came in {shapes} shapes (lengths or types); each was told apart",)
        return stated


def _failure(error: Exception, runs: int) -> DpestError:
    """What to say of a mechanism that raises whatever it is given."""
    if isinstance(error, DpestError):
        return error
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    failure = ReadingError(
        f"all of the first {runs} runs raised {type(error).__name__} ({error})",
        "Nothing was left to compare: mend the function, or give inputs that it takes",
        where,
    )
    failure.__cause__ = error
    return failure


def spawn_seeds(seed: int, count: int) -> list[int]:
    """Independent seeds from one, by NumPy's SeedSequence."""
    state = np.random.SeedSequence(seed).generate_state(count, dtype=np.uint64)
    return [int(s) for s in state]
