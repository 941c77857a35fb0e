"""Where outputs come from: one small protocol, so that black boxes, batches and GPUs all fit."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from dpest.program.samples import Samples


class Sampler(Protocol):
    """`draw(x, size, seed)` gives `size` independent outputs of the mechanism on input `x`.

    The same arguments give the same outputs where the mechanism's randomness comes from its
    generator. `notes()` says what a reader of the result should know (crashes, a fallback).
    """

    def draw(self, x: Any, size: int, seed: int) -> Samples: ...

    def notes(self) -> tuple[str, ...]: ...


class Crash(str):
    """The output of a run that raised: an event like any other, and an observable one."""

    __slots__ = ()


class FunctionSampler:
    """Runs a Python callable as it is: `f(x, rng)`, `f(x, size)` or `f(x)`.

    An exception of a run is an output of its own, by its type, and is counted; an adversary sees
    that the mechanism failed. KeyboardInterrupt and the like go through.
    """

    def __init__(
        self, function: Callable[..., Any], params: Mapping[str, Any] | None = None
    ) -> None:
        self._function = function
        self._params = dict(params or {})
        self._takes = _parameters(function)
        self.runs = 0
        self.crashes: dict[str, int] = {}

    def draw(self, x: Any, size: int, seed: int) -> Samples:
        if "rng" in self._takes:
            rng = np.random.default_rng(seed)
            outputs = [self._run(x, rng=rng) for _ in range(size)]
        elif "size" in self._takes:
            outputs = self._many(x, size)
        else:
            outputs = [self._run(x) for _ in range(size)]
        self.runs += size
        return Samples.from_outputs(outputs)

    def notes(self) -> tuple[str, ...]:
        if not self.crashes:
            return ()
        total = sum(self.crashes.values())
        kinds = ", ".join(f"{name} {n}" for name, n in sorted(self.crashes.items()))
        return (
            f"{total} of {self.runs} runs raised ({kinds}); each was counted as an output of its own",
        )

    def _run(self, x: Any, **extra: Any) -> Any:
        try:
            return self._function(x, **extra, **self._params)
        except Exception as error:  # any failure of the user's code is an output
            return self._crashed(error)

    def _crashed(self, error: Exception, times: int = 1) -> Crash:
        name = type(error).__name__
        self.crashes[name] = self.crashes.get(name, 0) + times
        return Crash(f"raised {name}")

    def _many(self, x: Any, size: int) -> list[Any]:
        """A call for many outputs. If it raises, the runs are made one by one instead."""
        try:
            outputs = list(self._function(x, size=size, **self._params))
        except Exception:
            if size == 1:
                return [self._run(x, size=1)]
            half = size // 2
            return self._many(x, half) + self._many(x, size - half)
        if len(outputs) != size:
            raise ValueError(
                f"{getattr(self._function, '__name__', 'the black box')}(x, size={size}) returned "
                f"{len(outputs)} outputs; it must return one output per run, along the first axis"
            )
        return outputs


def _parameters(function: Callable[..., Any]) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # builtins may have no signature
        return set()


def spawn_seeds(seed: int, count: int) -> list[int]:
    """Independent seeds from one, by NumPy's SeedSequence."""
    state = np.random.SeedSequence(seed).generate_state(count, dtype=np.uint64)
    return [int(s) for s in state]
