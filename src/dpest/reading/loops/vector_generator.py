"""The symbolic generator, with draws of any size, random orders and choices among all elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpest.geometry.linear import Symbol
from dpest.reading.loops.any_length import TracedVector, chosen_by, pass_over
from dpest.reading.loops.lengths import LengthCount, unsupported
from dpest.reading.loops.passes import (
    Index,
    Items,
    LoopPass,
    PlacesLeft,
    RandomPlace,
    every_place,
    taken,
)
from dpest.reading.rewrites.labels import LabelOfPlace, entry
from dpest.reading.rewrites.named_values import named_values
from dpest.reading.rewrites.softmax import Chance, Weight, WeightSum
from dpest.reading.tracing.running import running
from dpest.reading.tracing.symbolic import TracedReal

_OWN_WAYS = ("choice", "permutation", "shuffle", "binomial", "integers", "multinomial", "uniform")


@dataclass
class VectorGenerator:
    """The symbolic generator, with draws of any size."""

    inner: Any
    own: Callable[[Any], frozenset[Symbol]]
    dpest_generator: bool = True

    def __getattr__(self, name: str) -> Any:
        if name in _OWN_WAYS:
            return getattr(self, f"_{name}")
        method = getattr(self.inner, name)

        def draw(*args: Any, **options: Any) -> Any:
            return self._drawn(name, method, args, options)

        return draw

    def _drawn(self, name: str, method: Any, args: tuple[Any, ...], options: Any) -> Any:
        sizes = [v for v in (*args, *options.values()) if is_size(v)]
        vectors = [v for v in (*args, *options.values()) if isinstance(v, TracedVector)]
        if not sizes and not vectors:
            return method(*args, **options)
        plain = [_element(v) for v in args if not is_size(v)]
        named = {k: _element(v) for k, v in options.items() if not is_size(v)}
        value = method(*plain, **named)
        inherited = frozenset().union(*(v.own for v in vectors)) if vectors else frozenset()
        return TracedVector(value, self.own(value) | inherited)

    def _permutation(self, x: Any, axis: int = 0) -> Any:
        over = every_place() if is_size(x) else pass_over(x)
        if over is None or isinstance(x, range):
            return self.inner.permutation(x, axis)
        return Items(over.in_random_order())

    def _shuffle(self, x: Any, axis: int = 0) -> None:
        if not isinstance(x, Items):
            if isinstance(x, (TracedVector, LoopPass)):
                unsupported("rng.shuffle")
            return self.inner.shuffle(x, axis)
        return x.shuffle()

    def _integers(self, low: Any, high: Any = None, **options: Any) -> Any:
        """A place that is drawn uniformly, where the numbers are those of all places."""
        first, last = (0, low) if high is None else (low, high)
        if isinstance(last, LengthCount) and not isinstance(first, LengthCount) and not options:
            if first == 0 and last == LengthCount():
                return self._random_place()
            unsupported("rng.integers")
        if isinstance(last, PlacesLeft) and first == 0 and not options:
            return Index(taken("index"))
        given = (low,) if high is None else (low, high)
        return self._drawn("integers", self.inner.integers, given, options)

    def _random_place(self) -> RandomPlace:
        return RandomPlace(taken("uniform"))

    def _uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """A uniform share of the sum of all weights, where that is the border."""
        if not isinstance(high, WeightSum):
            return self._drawn("uniform", self.inner.uniform, (low, high), {"size": size})
        if size is not None or low != 0:
            unsupported("rng.uniform up to a sum of weights")
        return high * self.inner.random()

    def _binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """A coin with a private chance: a uniform draw below it."""
        if not (isinstance(p, Weight) or _is_named(p)):
            return self._drawn("binomial", self.inner.binomial, (n, p), {"size": size})
        if size is not None or n != 1:
            unsupported("rng.binomial with private chances, but for one trial,")
        return (self.inner.random() < p).number()

    def _choice(self, a: Any, size: Any = None, **options: Any) -> Any:
        """A place of a vector of any length, with given chances; by Gumbel noise (`softmax`)."""
        p = options.get("p")
        if p is None and is_size(size) and options.get("replace", True) is False:
            over = every_place() if is_size(a) else pass_over(a)
            if over is not None:
                return Items(over.in_random_order())
        if p is None and size is None and is_size(a):
            return self._random_place()
        if p is None and size is None and isinstance(a, Items):
            return a.drawn()
        if is_size(size) and isinstance(a, (list, tuple)) and options.get("replace", True) is True:
            value = self.inner.choice(a, **options)
            own = self.own(value)
            if own:  # else a draw with several outcomes, which would be the same for all entries
                return TracedVector(value, own)
        if p is not None and size is None and _is_coin(a, p):
            return a[0] if self.inner.random() < p[0] else a[1]
        if not isinstance(p, TracedVector):
            if any(isinstance(v, (TracedVector, LoopPass, LengthCount)) for v in (a, size, p)):
                unsupported("rng.choice")
            return self.inner.choice(a, size, **options)
        if isinstance(a, (list, tuple, np.ndarray)) and size is None:
            found = entry(a, self._choice(LengthCount(), p=p))
            return found if isinstance(found, LabelOfPlace) else unsupported("rng.choice of these")
        over = pass_over(a)
        places = (isinstance(a, LengthCount) and a == LengthCount()) or (
            over is not None and over.plain and not over.shuffled
        )
        one = size is None or size == 1
        if not places or not one or not isinstance(p.element, Chance) or p.own:
            unsupported("rng.choice with these chances")
        chosen = self._chosen(p.element)
        return chosen if size is None else OneDraw(chosen)

    def _chosen(self, chance: Chance) -> Any:
        run: Any = running()
        before = len(run.draws)
        found = chosen_by(chance.weight)
        run.world.chosen.update(run.draws[before:])
        return found

    def _multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        if not isinstance(pvals, TracedVector):
            return self.inner.multinomial(n, pvals, size)
        if n != 1 or size is not None or not isinstance(pvals.element, Chance) or pvals.own:
            unsupported("rng.multinomial with these chances")
        return OneHot(self._chosen(pvals.element))


@dataclass(frozen=True)
class OneDraw:
    """An array of one drawn place."""

    place: Any

    def __getitem__(self, key: Any) -> Any:
        return self.place if isinstance(key, int) and key in (0, -1) else self.item(key)

    def item(self, *key: Any) -> Any:
        if key not in ((), (0,)):
            unsupported("an entry of one draw")
        return self.place

    def __iter__(self) -> Any:
        yield self.place


@dataclass(frozen=True)
class OneHot:
    """Zeros, and a one at a drawn place: np.argmax of it is the place."""

    place: Any

    def argmax(self, axis: Any = None) -> Any:
        return self.place

    def tolist(self) -> OneHot:
        return self

    def index(self, value: Any) -> Any:
        return self.place if value == 1 else unsupported("index()")


def _is_coin(a: Any, p: Any) -> bool:
    """Whether it is a choice between two, by a private chance and what is left of it."""
    if not isinstance(p, (list, tuple)) or len(p) != 2 or not isinstance(a, (list, tuple)):
        return False
    values = [v.real() if isinstance(v, Weight) else v for v in p]
    if not any(map(_is_named, values)) or len(a) != 2:
        return False
    whole = values[0] + values[1]
    return isinstance(whole, TracedReal) and not whole.form.terms and whole.form.constant == 1


def _is_named(value: Any) -> bool:
    """Whether a number is private, but not linear in the data."""
    values = named_values()
    return isinstance(value, TracedReal) and values is not None and bool(values.among([value.form]))


def is_size(value: Any) -> bool:
    if isinstance(value, LengthCount):
        return True
    return isinstance(value, tuple) and len(value) == 1 and isinstance(value[0], LengthCount)


def _element(value: Any) -> Any:
    return value.element if isinstance(value, TracedVector) else value
