"""Generators of random numbers that draw what a script says, in the place of real ones.

For the time of a run, whatever the function could draw from is replaced: the generator that it is
handed, those in its globals and in the attributes of its object, np.random, random and secrets.
They are of the types that the real ones have, so that a function that looks at the type sees
nothing else.
"""

from __future__ import annotations

import contextlib
import random
import secrets
import types
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from dpest.errors import ReplayError
from dpest.noise.family import Noise
from dpest.reading.answering import AnsweringGenerator
from dpest.running.batch.scipy_noise import scipy_replacement

_LEGACY = np.random.mtrand.RandomState
_RANDOM, _SYSTEM = random.Random, random.SystemRandom
_NAMES = [name for name in vars(AnsweringGenerator) if not name.startswith("_")]


class DrawScript:
    """Which numbers are drawn; a log of all draws in order (`noise`, value or outcome)."""

    def __init__(self) -> None:
        self.log: list[tuple[Noise, Any]] = []
        self.draws = AnsweringGenerator(_ScriptedRun(self))

    def value(self, index: int, noise: Noise) -> Any:
        raise NotImplementedError

    def outcome(self, index: int, noise: Noise, outcomes: Sequence[tuple[Any, Any]]) -> Any:
        raise NotImplementedError

    def as_read(self, index: int, noise: Noise) -> tuple[Noise, float]:
        """The noise as the reader has it, and how far from there it lies."""
        return noise, 0.0


class DrawSource(Protocol):
    """Where numbers come from: `draws` has the methods of a generator."""

    @property
    def draws(self) -> Any: ...


class ScriptStage:
    """Where scripts are played: the generators ask whichever script is on, or another source."""

    def __init__(self) -> None:
        self.script: DrawSource | None = None
        self.source: Any = None  # has the methods of a generator

    @property
    def draws(self) -> Any:
        return self.source if self.script is None else self.script.draws


class _ScriptedRun:
    """What the generator asks; it gives numbers where the script has them."""

    def __init__(self, script: DrawScript) -> None:
        self.script = script

    def draw(self, noise: Noise) -> Any:
        if noise.constant is not None:
            return noise.constant
        noise, moved = self.script.as_read(len(self.script.log), noise)
        value = self.script.value(len(self.script.log), noise)
        self.script.log.append((noise, value))
        return value + moved if moved else value

    def outcome(self, noise: Noise, outcomes: Sequence[tuple[Any, Any]]) -> Any:
        if len(outcomes) == 1:
            return outcomes[0][0]
        value = self.script.outcome(len(self.script.log), noise, outcomes)
        self.script.log.append((noise, value))
        return value


class ScriptedGenerator(np.random.Generator):
    """numpy.random.Generator by a script."""

    def __init__(self, stage: ScriptStage) -> None:
        super().__init__(np.random.PCG64(0))
        self.stage = stage


class ScriptedState(_LEGACY):
    """numpy.random.RandomState by a script."""

    def __init__(self, stage: ScriptStage) -> None:
        super().__init__(0)
        self.stage = stage

    def rand(self, *shape: Any) -> Any:
        return self.stage.draws.random(tuple(shape) if shape else None)

    def randn(self, *shape: Any) -> Any:
        return self.stage.draws.standard_normal(tuple(shape) if shape else None)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        drawn = self.stage.draws.integers(low, high, size)
        return drawn if size is not None else int(drawn)

    def random_sample(self, size: Any = None) -> Any:
        return self.stage.draws.random(size)

    sample = ranf = random_sample

    def integers(self, *_: Any, **__: Any) -> Any:
        raise AttributeError("'RandomState' object has no attribute 'integers'")


class ScriptedRandom(random.Random):
    """random.Random by a script."""

    stage: ScriptStage

    def random(self) -> float:
        return float(self.stage.draws.random())

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        return float(mu + self.stage.draws.normal(0.0, abs(sigma)))

    normalvariate = gauss

    def expovariate(self, lambd: float = 1.0) -> float:
        return float(self.stage.draws.exponential(1 / lambd))

    def uniform(self, a: float, b: float) -> float:
        return float(a + self.stage.draws.uniform(0.0, b - a))

    def triangular(self, low: float = 0.0, high: float = 1.0, mode: float | None = None) -> float:
        top = (low + high) / 2 if mode is None else mode
        return float(self.stage.draws.triangular(low, top, high))

    def _whole(self, low: int, high: int) -> int:
        return low if low == high else int(self.stage.draws.integers(low, high + 1))

    def randint(self, a: int, b: int) -> int:
        if a > b:
            raise ValueError("empty range for randrange()")
        return self._whole(a, b)

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        chosen = range(start) if stop is None else range(start, stop, step)
        if not chosen:
            raise ValueError("empty range for randrange()")
        if chosen.step == 1:
            return self._whole(chosen[0], chosen[-1])
        return chosen[int(self.stage.draws.choice(len(chosen)))]

    def getrandbits(self, k: int) -> int:
        return self._whole(0, 2**k - 1)

    def choice(self, seq: Any) -> Any:
        if not len(seq):
            raise IndexError("Cannot choose from an empty sequence")
        if len(seq) == 1:
            return seq[0]
        if all(isinstance(v, (int, float)) and type(v) is type(seq[0]) for v in seq):
            return seq[self.stage.draws.choice(len(seq))]
        return seq[self._place(len(seq))]

    def _place(self, count: int, p: Any = None) -> int:
        """One of several outcomes, also of two: numbers are drawn as a bit, others as a place."""
        return int(self.stage.draws.choice([str(i) for i in range(count)], p=p))

    def choices(
        self, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1
    ) -> Any:
        if cum_weights is not None:
            raise ReplayError("random.choices with cumulative weights", "use weights=")
        chances = None if weights is None else [w / sum(weights) for w in weights]
        return [population[self._place(len(population), chances)] for _ in range(k)]

    def sample(self, population: Any, k: int, **_: Any) -> Any:
        places = self.stage.draws.choice(len(population), k, replace=False)
        return [population[int(i)] for i in places]

    def shuffle(self, x: Any) -> None:
        self.stage.draws.shuffle(x)


def _delegate(cls: type, name: str) -> None:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.stage.draws, name)(*args, **kwargs)

    method.__name__ = name
    if name not in cls.__dict__:
        setattr(cls, name, method)


def _unknown(cls: type, name: str) -> None:
    def method(self: Any, *_: Any, **__: Any) -> Any:
        raise ReplayError(f"a draw by `{name}` that the script doesn't know", "use rng.laplace")

    setattr(cls, name, method)


for _name in _NAMES:
    _delegate(ScriptedGenerator, _name)
    if hasattr(_LEGACY, _name):
        _delegate(ScriptedState, _name)
for _class, _base in ((ScriptedGenerator, np.random.Generator), (ScriptedState, _LEGACY)):
    for _name in dir(_base):
        known = _name.startswith("_") or _name in _NAMES or _name in _class.__dict__
        if not known and callable(getattr(_base, _name)):
            _unknown(_class, _name)


_STANDS_FOR: dict[type, type] = {
    ScriptedGenerator: np.random.Generator,
    ScriptedState: _LEGACY,
    ScriptedRandom: _RANDOM,
}
for _scripted, _real in _STANDS_FOR.items():
    # Code that asks for the name of the type sees the one that it would see.
    _scripted.__name__, _scripted.__qualname__ = _real.__name__, _real.__qualname__
    _scripted.__module__ = _real.__module__


def scripted_random(stage: ScriptStage) -> ScriptedRandom:
    made = ScriptedRandom(0)
    made.stage = stage
    return made


class StandIns:
    """All that a function can draw from, and what stands for it: a generator of the stage's."""

    def __init__(
        self, stage: ScriptStage, function: Any, namespaces: Sequence[dict[str, Any]] = ()
    ) -> None:
        self.stage = stage
        self.generator = ScriptedGenerator(stage)
        self._legacy = ScriptedState(stage)
        self._plain = scripted_random(stage)
        own = [f.__globals__ for f in _functions(function)]
        found = list({id(n): n for n in (*own, *namespaces)}.values())
        owner = getattr(function, "__self__", function)
        holders = [vars(np.random), vars(random), vars(secrets), *found, *_attributes(owner)]
        self._planned = [
            (holder, name, new)
            for holder in holders
            for name, value in holder.items()
            if not name.startswith("_inst") and (new := self._replaced(value)) is not None
        ]

    @contextlib.contextmanager
    def in_place(self) -> Iterator[Any]:
        """Within, everything that draws is scripted; gives the generator for the function."""
        changed: list[tuple[Any, str, Any]] = []
        try:
            for holder, name, new in self._planned:
                changed.append((holder, name, holder[name]))
                holder[name] = new
            yield self.generator
        finally:
            for holder, name, value in reversed(changed):
                holder[name] = value

    @contextlib.contextmanager
    def drawing(self, source: Any) -> Iterator[Any]:
        """Within, everything that draws asks this source."""
        before, self.stage.source = self.stage.source, source
        try:
            with self.in_place() as generator:
                yield generator
        finally:
            self.stage.source = before

    def _replaced(self, value: Any) -> Any:
        generator, legacy, plain = self.generator, self._legacy, self._plain
        if isinstance(value, np.random.Generator):
            return generator
        if isinstance(value, _LEGACY):
            return legacy
        if isinstance(value, _RANDOM):
            return plain
        if value is np.random.default_rng:
            return lambda seed=None: generator if seed is None else _seeded(value, seed)
        if value is _RANDOM or value is _SYSTEM:
            return _class_giving(plain, _RANDOM)
        if value is _LEGACY:
            return _class_giving(legacy, _LEGACY)
        if value is secrets.randbelow:
            return plain.randrange
        if value is secrets.randbits:
            return plain.getrandbits
        distribution = scipy_replacement(value)
        if distribution is not None:
            return distribution
        source = getattr(value, "__self__", None)
        if isinstance(value, (types.BuiltinMethodType, types.MethodType)):
            if source is np.random.mtrand._rand:
                return getattr(legacy, value.__name__)
            if isinstance(source, _RANDOM):
                return getattr(plain, value.__name__)
        return None


def _functions(function: Any) -> list[Any]:
    """The function and those that it wraps, whose globals may hold generators."""
    found = []
    pending = [function]
    while pending:
        thing = pending.pop()
        inner = getattr(thing, "__func__", None) or getattr(thing, "func", None)
        if inner is not None:
            pending.append(inner)
        if hasattr(thing, "__globals__"):
            found.append(thing)
    return found


def _class_giving(unseeded: Any, original: Any) -> type:
    """A class in the place of another: without a seed it gives the scripted object."""

    def made(_: type, seed: Any = None) -> Any:
        return unseeded if seed is None else original(seed)

    return type(original.__name__, (original,), {"__new__": made})


def _seeded(original: Any, seed: Any) -> Any:
    return seed if isinstance(seed, np.random.Generator) else original(seed)


def _attributes(owner: Any) -> list[dict[str, Any]]:
    """The attributes of an object and of those that it holds."""
    found: list[dict[str, Any]] = []
    pending = [owner]
    seen: set[int] = set()
    while pending and len(seen) < 100:
        thing = pending.pop()
        held = getattr(thing, "__dict__", None)
        simple = isinstance(thing, (type, types.ModuleType, types.FunctionType))
        if not isinstance(held, dict) or id(thing) in seen or simple:
            continue
        seen.add(id(thing))
        found.append(held)
        pending += held.values()
    return found
