"""All outcomes of the draws of a function on one input, with their chances, likeliest first.

The function runs as it is. A finite draw forks; a continuous one is not drawn at all, but forks
where the function compares it with a number, as the part of its range that is left is known.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpest.errors import RefusedError
from dpest.noise import Bernoulli
from dpest.noise.family import Noise
from dpest.reading.answering import AnsweringGenerator

_FAINT = 1e-9  # a way that is less likely is not followed to its end


class FaintError(BaseException):
    """A way has become too unlikely. Not an Exception: a user's `except` must not catch it."""


class OutcomeRun:
    """One way through the function: its decisions are those of the prefix, then drawn ones."""

    def __init__(self, prefix: Sequence[int], source: random.Random) -> None:
        self.prefix = list(prefix)
        self.source = source
        self.taken: list[int] = []
        self.others: list[list[tuple[int, float]]] = []
        """For each decision the ways that were not taken, and the chance of a run up to there."""
        self.chance = 1.0

    def pick(self, chances: Sequence[float]) -> int:
        open_ = [i for i, c in enumerate(chances) if c > 0]
        if len(open_) == 1:
            return open_[0]
        at = len(self.taken)
        if at < len(self.prefix):
            choice = self.prefix[at]
        else:
            (choice,) = self.source.choices(open_, [chances[i] for i in open_])
        self.taken.append(choice)
        self.others.append([(i, self.chance * chances[i]) for i in open_ if i != choice])
        self.chance *= chances[choice]
        if self.chance < _FAINT:
            raise FaintError
        return choice

    def draw(self, noise: Noise) -> Any:
        only = getattr(noise, "constant", None)
        if only is not None:
            return only
        if isinstance(noise, Bernoulli):
            p = float(noise.p)
            return self.pick([1 - p, p])
        if noise.outcomes is not None:
            return self.outcome(noise, noise.outcomes)
        if noise.discrete:
            raise RefusedError(f"{noise.family} noise has too many outcomes")
        return Undrawn(_Rest(self, noise), lambda t: t, True)

    def outcome(self, noise: Noise, outcomes: Sequence[tuple[Any, Any]]) -> Any:
        return outcomes[self.pick([float(c) for _, c in outcomes])][0]


class _Rest:
    """The part of the range of a continuous draw that its comparisons have left."""

    def __init__(self, run: OutcomeRun, noise: Noise) -> None:
        self.run = run
        self.noise = noise
        self.low, self.high = 0.0, 1.0  # in terms of its distribution function

    def below(self, border: float) -> bool:
        at = min(max(float(self.noise.cdf(border)), self.low), self.high)
        share = (at - self.low) / (self.high - self.low)
        if self.run.pick([share, 1 - share]) == 0:
            self.high = at
            return True
        self.low = at
        return False


@dataclass(eq=False)
class Undrawn:
    """A monotone function of a continuous draw; `inverse` takes a border back to the draw."""

    rest: _Rest
    inverse: Callable[[float], float]
    rising: bool
    __array_priority__ = 1000

    def _below(self, border: Any) -> bool:
        if isinstance(border, Undrawn) or not isinstance(border, (int, float, np.number)):
            raise RefusedError("a draw is compared with something that is not a number")
        below = self.rest.below(self.inverse(float(border)))
        return below if self.rising else not below

    def __lt__(self, other: Any) -> bool:
        return self._below(other)

    __le__ = __lt__

    def __gt__(self, other: Any) -> bool:
        return not self._below(other)

    __ge__ = __gt__

    def _then(self, back: Callable[[float], float], rising: bool = True) -> Undrawn:
        inner = self.inverse
        return Undrawn(self.rest, lambda t: inner(back(t)), self.rising == rising)

    def __add__(self, other: Any) -> Undrawn:
        number = _number(other)
        return self._then(lambda t: t - number)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Undrawn:
        return self + (-_number(other))

    def __rsub__(self, other: Any) -> Undrawn:
        return -self + other

    def __neg__(self) -> Undrawn:
        return self._then(lambda t: -t, False)

    def __mul__(self, other: Any) -> Any:
        number = _number(other)
        return self._then(lambda t: t / number, number > 0) if number else 0.0

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self * (1 / _number(other))

    def log(self) -> Undrawn:
        """NumPy calls this for np.log of it."""
        return self._then(_exp)

    def exp(self) -> Undrawn:
        return self._then(_log)

    def item(self) -> Undrawn:
        return self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        boxed = [_boxed(v) if isinstance(v, Undrawn) else v for v in inputs]
        found = getattr(ufunc, method)(*boxed, **options)
        return found.item() if isinstance(found, np.ndarray) and not found.ndim else found

    def __array_function__(self, func: Any, types: Any, args: Any, options: Any) -> Any:
        if func is np.searchsorted and len(args) == 2 and not set(options) - {"side"}:
            return next((i for i, v in enumerate(args[0]) if self <= v), len(args[0]))
        raise RefusedError(f"np.{func.__name__} of a continuous draw")

    def __float__(self) -> float:
        raise RefusedError("a continuous draw is used as a number")

    __int__ = __index__ = __bool__ = __float__
    __hash__ = None  # type: ignore[assignment]


def _number(value: Any) -> float:
    if isinstance(value, Undrawn) or not isinstance(value, (int, float, np.number)):
        raise RefusedError("a draw is combined with something that is not a number")
    return float(value)


def _exp(t: float) -> float:
    return math.exp(t) if t < 700 else math.inf


def _log(t: float) -> float:
    return math.log(t) if t > 0 else -math.inf


def _boxed(value: Any) -> Any:
    box = np.empty((), dtype=object)
    box[()] = value
    return box


def distribution(
    function: Callable[[Any], Any], shown: Callable[[Any], str], left: float, most: int
) -> tuple[dict[str, float], float]:
    """Output -> its chance, by at most so many runs; and the chance of what was not followed.

    `function` is called with a generator; ways are followed until no more than `left` remains.
    """
    found: dict[str, float] = {}
    count = itertools.count()
    pending: list[tuple[float, int, list[int]]] = [(-1.0, next(count), [])]
    explored, source = 0.0, random.Random(29)
    for _ in range(most):
        if not pending or 1 - explored <= left:
            break
        _, _, prefix = heapq.heappop(pending)
        run = OutcomeRun(prefix, source)
        try:
            output = shown(function(AnsweringGenerator(run)))
            found[output] = found.get(output, 0.0) + run.chance
            explored += run.chance
        except FaintError:
            pass  # counted with what was not followed
        for at in range(len(prefix), len(run.taken)):
            for other, chance in run.others[at]:
                heapq.heappush(pending, (-chance, next(count), [*run.taken[:at], other]))
    return found, max(1 - explored, 0.0)
