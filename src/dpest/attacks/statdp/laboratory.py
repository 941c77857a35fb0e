"""Runs of a mechanism for StatDP: with any arguments, remembered while the search needs them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.attacks.budget import Progress, Report
from dpest.attacks.sampler import MechanismSampler, Sampler
from dpest.attacks.statdp.discrete import NUMBER
from dpest.attacks.statdp.features import Grouped
from dpest.attacks.statdp.leaves import leaves_of
from dpest.errors import InputError, ReadingError
from dpest.running.samples import Samples
from dpest.running.skeleton import raised_output

_NOISE_FREE_SECONDS = 2.0


@dataclass(frozen=True)
class InputCase:
    """Two neighbouring inputs and the arguments that go with them."""

    x: Any
    x2: Any
    arguments: Mapping[str, Any] = field(default_factory=dict)
    pattern: str = ""

    @property
    def arguments_key(self) -> str:
        return repr(sorted(self.arguments.items()))


def named_seed(seed: int, *names: Any) -> int:
    """A seed that depends on the names only: independent streams, whatever the order of use."""
    digest = hashlib.blake2b(repr((seed, names)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


class Laboratory:
    """Runs the mechanism with any arguments, remembers the samples of the search."""

    def __init__(
        self,
        target: Any,
        params: Mapping[str, Any] | None,
        seed: int,
        progress: Report | None = None,
        run_all: Callable[..., list[Samples]] | None = None,
    ) -> None:
        self._run_all = run_all
        self.mechanism: Mechanism | None = None
        self.fixed: Sampler | None = None
        if hasattr(target, "draw"):
            self.fixed = target
        else:
            self.mechanism = as_mechanism(target).with_params(params)
        self._noise_free = True
        self._references: dict[tuple[str, str], tuple[Any, ...]] = {}
        self.samplers: dict[str, Sampler] = {}
        self.memory: dict[tuple[str, str, str, int], Samples] = {}
        self.seed = seed
        self.runs = 0
        self._progress = progress
        self._started = time.perf_counter()

    def report(self, stage: str) -> None:
        if self._progress is not None:
            seconds = time.perf_counter() - self._started
            self._progress(Progress("statdp", self.runs, seconds, 0.0, stage))

    def sampler(self, case: InputCase) -> Sampler:
        if self.fixed is not None:
            if case.arguments:
                raise InputError("arguments can only be chosen for a mechanism, not for a sampler")
            return self.fixed
        assert self.mechanism is not None
        key = case.arguments_key
        if key not in self.samplers:
            self.samplers[key] = MechanismSampler(
                self.mechanism, case.arguments, run_all=self._run_all
            )
        return self.samplers[key]

    def search_samples(self, case: InputCase, x: Any, size: int) -> Samples:
        """Samples for the search: the first `size` of a stream that belongs to this input."""
        return self._remembered(case, x, size, "search")

    def second_samples(self, case: InputCase, x: Any, size: int) -> Samples:
        """As many others, to look at what the first ones chose."""
        return self._remembered(case, x, size, "second look")

    def prepare(self, cases: Sequence[InputCase], size: int, stage: str = "search") -> None:
        """Draw what a stage is going to ask for at the same time, where several workers can."""
        if self._run_all is None or self.mechanism is None:
            return
        wanted: dict[str, dict[tuple[str, str, str, int], tuple[Any, int, int]]] = {}
        for case in cases:
            for x in (case.x, case.x2):
                key = (stage, case.arguments_key, repr(x), size)
                if key not in self.memory:
                    wanted.setdefault(case.arguments_key, {})[key] = (
                        x,
                        size,
                        named_seed(self.seed, *key),
                    )
        samplers = {case.arguments_key: self.sampler(case) for case in cases}
        for arguments, draws in wanted.items():
            found = self.draw_all(samplers[arguments], list(draws.values()))
            self.memory.update(zip(draws, found, strict=True))

    def _remembered(self, case: InputCase, x: Any, size: int, stage: str) -> Samples:
        key = (stage, case.arguments_key, repr(x), size)
        if key not in self.memory:
            self.memory[key] = self.draw(case, x, size, named_seed(self.seed, *key))
        return self.memory[key]

    def draw(self, case: InputCase, x: Any, size: int, seed: int) -> Samples:
        return self.draw_all(self.sampler(case), [(x, size, seed)])[0]

    def draw_all(self, sampler: Sampler, draws: Sequence[tuple[Any, int, int]]) -> list[Samples]:
        """Many draws of one sampler; at the same time, where it can."""
        self.runs += sum(size for _, size, _ in draws)
        if isinstance(sampler, MechanismSampler):
            return sampler.draw_all(draws)
        return [sampler.draw(x, size, seed) for x, size, seed in draws]

    def reference(self, case: InputCase, x: Any, samples: Samples) -> tuple[Any, ...] | None:
        """ω0: the output without noise; for a black box the most frequent output."""
        if self.mechanism is not None and not self.mechanism.black_box and self._noise_free:
            key = (case.arguments_key, repr(x))
            if key not in self._references:
                try:
                    self._references[key] = self._without_noise(self.mechanism, case, x)
                except ReadingError:
                    self._noise_free = False  # a loop that only noise ends, say: not once a pair
            if key in self._references:
                return self._references[key]
        codes, outputs = Grouped.of(samples).keys(())
        common = outputs[int(np.bincount(codes).argmax())] if outputs else ()
        return None if any(v is NUMBER for v in common) else common

    @staticmethod
    def _without_noise(mechanism: Mechanism, case: InputCase, x: Any) -> tuple[Any, ...]:
        from dpest.reading.trace import noise_free

        target = mechanism.with_params(case.arguments)
        try:
            return leaves_of(noise_free(target, x, seconds=_NOISE_FREE_SECONDS))
        except ReadingError:
            raise
        except Exception as error:  # the function's own: an output like any other
            return (raised_output(error),)

    def notes(self) -> tuple[str, ...]:
        samplers = [self.fixed] if self.fixed is not None else list(self.samplers.values())
        return tuple(dict.fromkeys(note for s in samplers if s for note in s.notes()))
