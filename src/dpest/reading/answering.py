"""A generator of random numbers whose draws somebody else answers.

It has the methods of numpy.random.Generator, with its signatures, shapes, types and errors. What is
drawn is asked of a `Drawer`, noise by noise, in the order in which the machine reads the draws.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NoReturn, Protocol

import numpy as np

from dpest.errors import UntraceableError
from dpest.noise import (
    Bernoulli,
    Binomial,
    Categorical,
    Cauchy,
    Exponential,
    Gaussian,
    Geometric,
    Gumbel,
    Laplace,
    Logistic,
    Poisson,
    StudentT,
    Triangular,
    Uniform,
)
from dpest.noise.discrete_uniform import DiscreteUniform
from dpest.noise.family import Noise
from dpest.noise.parameters import exact, is_number

MOST_OUTCOMES = 32  # whole numbers of more values are one draw of their family
MOST_JOINT = 4096
_HALF = Fraction(1, 2)
_NUMBERS = (bool, np.bool_, int, float, Fraction, np.integer, np.floating)
_ADVICE = (
    "use laplace, exponential, normal, gumbel, logistic, standard_cauchy, standard_t, triangular, "
    "uniform, random, integers, choice, binomial, geometric, poisson, permutation or shuffle"
)


class Drawer(Protocol):
    """Who says what is drawn."""

    def draw(self, noise: Noise) -> Any:
        """A value of a noise."""
        ...

    def outcome(self, noise: Noise, outcomes: Sequence[tuple[Any, Any]]) -> Any:
        """One of finitely many outcomes, each with its chance."""
        ...


def _refuse(reason: str, advice: str) -> NoReturn:
    raise UntraceableError(reason, advice, None)


class AnsweringGenerator:
    """Draws like NumPy's Generator, with the values of a `Drawer`."""

    def __init__(self, drawer: Drawer) -> None:
        self._drawer = drawer

    # Continuous families

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._located("laplace", Laplace, loc, (scale,), size)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._located("normal", Gaussian, loc, (scale,), size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._located("gumbel", Gumbel, loc, (scale,), size)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._located("logistic", Logistic, loc, (scale,), size)

    def standard_cauchy(self, size: Any = None) -> Any:
        return self._located("standard_cauchy", Cauchy, 0.0, (), size)

    def standard_t(self, df: Any, size: Any = None) -> Any:
        return self._located("standard_t", StudentT, 0.0, (df,), size)

    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None) -> Any:
        return self._located("triangular", Triangular, 0.0, (left, mode, right), size)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        return self._located("exponential", Exponential, 0.0, (scale,), size)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        if np.ndim(shape) != 0 or shape != 1:
            _refuse("rng.gamma with a shape other than 1", "sum draws of rng.exponential")
        return self.exponential(scale, size)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        return self._located("uniform", Uniform, 0.0, (low, high), size)

    def standard_normal(self, size: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return _into(out, self.normal(size=_size_of(size, out)))

    def standard_exponential(
        self, size: Any = None, dtype: Any = None, method: str = "zig", out: Any = None
    ) -> Any:
        return _into(out, self.exponential(size=_size_of(size, out)))

    def random(self, size: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return _into(out, self.uniform(size=_size_of(size, out)))

    # Whole numbers

    def geometric(self, p: Any, size: Any = None) -> Any:
        return self._located("geometric", Geometric, 0, (p,), size)

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        return self._located("poisson", Poisson, 0, (lam,), size)

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        def bit(noise: Any) -> Any:
            is_bit = noise.n == 1 and (not is_number(noise.p) or 0 < noise.p < 1)
            return int(self._bit(noise.p)) if is_bit else None

        return self._located("binomial", Binomial, 0, (n, p), size, bit)

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = None,
        endpoint: bool = False,
    ) -> Any:  # fmt: skip
        if high is None:
            low, high = 0, low
        count = 1 if size is None else int(np.prod(size))

        def family(first: Any, last: Any) -> Noise:
            first, last = operator.index(first), operator.index(last)
            last = last if endpoint else last - 1
            if first > last:
                raise ValueError("low > high" if endpoint else "low >= high")
            return DiscreteUniform(first, last)

        def few(noise: Any) -> Any:
            if noise.count == 2:
                return noise.high if self._bit(_HALF) else noise.low
            if noise.count <= MOST_OUTCOMES and noise.count**count <= MOST_JOINT:
                return self._drawer.outcome(noise, noise.outcomes)
            return None

        found = self._located("integers", family, 0, (low, high), size, few)
        if dtype is not None and np.dtype(dtype).kind == "b":
            return found != 0
        # Of single draws this one alone is a scalar of NumPy's.
        return np.int64(found) if type(found) is int else found

    # Choices

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0,
        shuffle: bool = True,
    ) -> Any:  # fmt: skip
        if axis != 0:
            _refuse("rng.choice with axis=", "move the axis to the front")
        pool = _pool(a)
        if size is None:
            return self._picked(pool, _chances(len(pool), p))
        shape = _shape(size)
        count = int(np.prod(shape, dtype=int))
        if not len(pool) and count:
            raise ValueError("a cannot be empty unless no samples are taken")
        if replace:
            picks = [self._picked(pool, _chances(len(pool), p)) for _ in range(count)]
        else:
            picks = self._without_replacement(pool, p, count)
        return _arranged(picks, shape)

    def _without_replacement(self, pool: Sequence[Any], p: Any, count: int) -> list[Any]:
        if count > len(pool):
            raise ValueError("Cannot take a larger sample than population when replace is False")
        rest = list(range(len(pool)))
        chances: list[Any] = list(_chances(len(pool), p))
        picks = []
        for _ in range(count):
            whole = sum(chances[i] for i in rest)
            if is_number(whole) and whole == 0:
                raise ValueError("Fewer non-zero entries in p than size")
            place = self._outcome(rest, [chances[i] / whole for i in rest])
            rest.remove(place)
            picks.append(pool[place])
        return picks

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        """One trial; more of them would be as many outcomes."""
        if size is not None or n != 1:
            _refuse("rng.multinomial of more than one trial", "draw them with rng.choice")
        chances = [_plain(v) for v in pvals]
        rest = 1 - sum(chances[:-1])
        known = _chances(len(chances), [*chances[:-1], rest])
        return np.eye(len(chances), dtype=np.int64)[self._outcome(range(len(chances)), known)]

    def permutation(self, x: Any, axis: int = 0) -> Any:
        if axis != 0:
            _refuse("rng.permutation with axis=", "move the axis to the front")
        pool = np.asarray(_pool(x))
        return pool[self._order(len(pool))]

    def shuffle(self, x: Any, axis: int = 0) -> None:
        before = [np.array(v) if isinstance(v, np.ndarray) else v for v in x]
        for i, place in enumerate(self._order(len(before))):
            x[i] = before[place]

    def _order(self, count: int) -> list[int]:
        """A random order, place by place, each equally likely."""
        rest = list(range(count))
        found: list[int] = []
        while rest:
            place = self._outcome(rest, [Fraction(1, len(rest))] * len(rest))
            rest.remove(place)
            found.append(place)
        return found

    def _picked(self, pool: Sequence[Any], chances: Sequence[Any]) -> Any:
        if not len(pool):
            raise ValueError("a cannot be empty unless no samples are taken")
        possible = [i for i, c in enumerate(chances) if not (is_number(c) and c == 0)]
        if len(possible) == 2 and is_number(chances[possible[0]]):
            first, second = (pool[i] for i in possible)
            if isinstance(first, _NUMBERS) and isinstance(second, _NUMBERS):
                return second if self._bit(chances[possible[1]]) else first
        return pool[self._outcome(possible, [chances[i] for i in possible])]

    def _outcome(self, values: Sequence[Any], chances: Sequence[Any]) -> Any:
        pairs = [
            (v, c) for v, c in zip(values, chances, strict=True) if not (is_number(c) and c == 0)
        ]
        if len(pairs) == 1:
            return pairs[0][0]
        noise = Categorical(tuple(v for v, _ in pairs), tuple(c for _, c in pairs))
        return self._drawer.outcome(noise, pairs)

    # Noises of dpest

    def draw_noise(self, noise: Noise, size: Any = None) -> Any:
        """Draws of a distribution, for the functions of `dpest.noise`."""
        if size is None:
            return self._drawn(noise)
        shape = _shape(size)
        count = int(np.prod(shape, dtype=int))
        return _arranged([self._drawn(noise) for _ in range(count)], shape)

    def _drawn(self, noise: Noise) -> Any:
        if isinstance(noise, Bernoulli):
            return self._bit(noise.p)
        if isinstance(noise, Categorical):
            values, chances = zip(*noise.outcomes, strict=True)
            return self._picked(values, chances)
        return self._drawer.draw(noise)

    def _bit(self, p: Any) -> bool:
        """True with probability p."""
        return bool(self._drawer.draw(Bernoulli(exact(p) if is_number(p) else p)))

    # Shapes

    def _located(
        self,
        name: str,
        family: Callable[..., Noise],
        loc: Any,
        parameters: tuple[Any, ...],
        size: Any,
        special: Callable[[Any], Any] | None = None,
    ) -> Any:
        def one(place: Any, *values: Any) -> Any:
            noise = family(*map(_plain, values))
            drawn = special(noise) if special is not None else None
            if drawn is None:
                drawn = self._drawer.draw(noise)
            if isinstance(place, (int, float)) and place == 0:
                return drawn
            return drawn + _plain(place)

        everything = (loc, *parameters)
        _check(name, everything, size)
        if size is None and all(np.ndim(v) == 0 for v in everything):
            return one(*everything)
        rows = _broadcast(everything, size)
        shape = rows[0].shape
        return _arranged([one(*(row[at] for row in rows)) for at in np.ndindex(shape)], shape)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and hasattr(np.random.Generator, name):
            _refuse(f"rng.{name} is a noise that is not known", _ADVICE)
        raise AttributeError(f"'Generator' object has no attribute {name!r}")


_SAMPLE = np.random.Generator(np.random.PCG64(0))
_WITH_PLACE = ("laplace", "normal", "gumbel", "logistic")


def _check(name: str, values: tuple[Any, ...], size: Any) -> None:
    """Raises what NumPy raises; parameters that it doesn't know are left to the noise itself."""
    arrays = [np.asarray(v) for v in values]
    if name == "integers" or any(a.dtype.kind not in "fiub" for a in arrays):
        return
    getattr(_SAMPLE, name)(*(values if name in _WITH_PLACE else values[1:]), size=size)


def _broadcast(values: Sequence[Any], size: Any) -> list[np.ndarray]:
    """The parameters of all draws, by NumPy's rules."""
    arrays = [np.asarray(v) for v in values]
    shape = np.broadcast_shapes(*(a.shape for a in arrays)) if size is None else _shape(size)
    return [np.broadcast_to(a, shape) for a in arrays]


def _shape(size: Any) -> tuple[int, ...]:
    return (operator.index(size),) if np.ndim(size) == 0 else tuple(size)


def _size_of(size: Any, out: Any) -> Any:
    return np.shape(out) if size is None and out is not None else size


def _into(out: Any, value: Any) -> Any:
    if out is None:
        return value
    out[...] = value
    return out


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _chances(count: int, p: Any) -> Sequence[Any]:
    if p is None:
        return (Fraction(1, max(count, 1)),) * count
    chances = [_plain(v) for v in p]
    if len(chances) != count:
        raise ValueError("a and p must have same size")
    checked = Categorical(tuple(range(count)), tuple(chances)) if count else None
    if checked is not None and all(is_number(v) for v in chances):
        known = dict(checked.outcomes)
        return [known.get(i, Fraction(0)) for i in range(count)]
    return chances


def _pool(a: Any) -> Any:
    """What is chosen from, by position: NumPy turns a list into an array, of one type."""
    if isinstance(a, (int, np.integer)) and not isinstance(a, bool):
        if a < 0:
            raise ValueError("a must be a positive integer unless no samples are taken")
        return np.arange(a)
    if hasattr(a, "to_numpy"):
        return a.to_numpy()
    return a if isinstance(a, np.ndarray) else np.array(list(a) if isinstance(a, range) else a)


def _arranged(values: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Values in a shape; an array of numbers, or of whatever the drawer has given."""
    if any(isinstance(v, np.ndarray) and v.ndim for v in values):
        return np.stack(values)
    plain = all(isinstance(v, (*_NUMBERS, str)) and not isinstance(v, Fraction) for v in values)
    if plain:
        found = np.array(values) if len(values) else np.zeros(0)
    else:
        found = np.empty(len(values), dtype=object)
        for i, value in enumerate(values):
            found[i] = value
    return found.reshape(shape)
