"""The symbolic generator: what a traced function gets for `numpy.random.Generator`.

Continuous and integer-valued families become noise symbols, one a draw. Draws with two outcomes
become bits that fork only when they are forced. Other finite draws (`choice`, `integers` over a
few values, `permutation`) fork by outcome, each with its exact probability.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.geometry.linear import Condition, Form
from dpest.noise import (
    Bernoulli,
    Binomial,
    Categorical,
    Exponential,
    Gaussian,
    Geometric,
    Gumbel,
    Laplace,
    Poisson,
    Uniform,
)
from dpest.noise.discrete_uniform import DiscreteUniform
from dpest.noise.family import Noise
from dpest.noise.parameters import exact, is_number
from dpest.reading.refusals import refuse
from dpest.reading.rewrites.curves import drawn_value
from dpest.reading.rewrites.lazy_arrays import LazyArray, Shuffled
from dpest.reading.rewrites.readings import site_of_draw
from dpest.reading.tracing.selections import chosen
from dpest.reading.tracing.symbolic import (
    TracedReal,
    TracedTruth,
    as_real,
    is_symbolic,
    settled,
    typed,
)
from dpest.reading.tracing.symbolic_arrays import SymbolicArray, symbolic_array, wrapped

_MOST_OUTCOMES = 32  # finite integer draws with more outcomes stay symbols
_MOST_JOINT = 4096
_PLAIN = (int, float)
_HALF = Fraction(1, 2)


class SymbolicGenerator:
    """Draws like NumPy's Generator, with its signatures and its errors, in symbols."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self._waiting: dict[Any, list[Any]] = {}  # noises for the next draws of a line

    def dpest_signature(self) -> str:
        """Between two runs that drew alike, one generator is as good as the other."""
        waiting = [repr(drawn) for found in self._waiting.values() for drawn in found]
        return " ".join(["rng", *waiting])

    # Continuous families

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._located("laplace", Laplace, loc, (scale,), size, self._curve())

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._located("normal", Gaussian, loc, (scale,), size, self._curve())

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._located("gumbel", Gumbel, loc, (scale,), size, self._curve())

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        return self._located("exponential", Exponential, 0.0, (scale,), size, self._curve())

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        if is_symbolic(shape) or np.ndim(shape) != 0 or shape != 1:
            refuse("rng.gamma with a shape other than 1", "sum draws of rng.exponential")
        return self.exponential(scale, size)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        if not any(_has_symbols(v) for v in (low, high)):
            return self._located("uniform", Uniform, 0.0, (low, high), size, self._curve())
        # A noisy border: a uniform of the width, which must be a number, moved there.
        width = np.subtract(high, low)
        return self._located("uniform", lambda w: Uniform(0.0, w), low, (width,), size)

    def standard_normal(self, size: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return self._into(out, self.normal(size=_size_of(size, out)))

    def standard_exponential(
        self, size: Any = None, dtype: Any = None, method: str = "zig", out: Any = None
    ) -> Any:
        return self._into(out, self.exponential(size=_size_of(size, out)))

    def random(self, size: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return self._into(out, self.uniform(size=_size_of(size, out)))

    # Integer-valued families

    def geometric(self, p: Any, size: Any = None) -> Any:
        return self._located("geometric", Geometric, 0, (p,), size)

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        return self._located("poisson", Poisson, 0, (lam,), size)

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        def family(count: Any, chance: Any) -> Noise:
            return Binomial(count, chance)

        def draw(noise: Any) -> Any:
            return chosen(self._bit(noise.p), 1, 0) if noise.n == 1 and _open(noise.p) else None

        return self._located("binomial", family, 0, (n, p), size, special=draw)

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

        def draw(noise: Any) -> Any:
            if noise.count == 2:
                return chosen(self._bit(_HALF), noise.high, noise.low)
            if noise.count <= _MOST_OUTCOMES and noise.count**count <= _MOST_JOINT:
                return self._run.outcome(noise, noise.outcomes)
            return None

        result = self._located("integers", family, 0, (low, high), size, special=draw)
        if dtype is not None and np.dtype(dtype).kind == "b":
            return result.astype(bool) if size is not None else result != 0
        return result

    # Finite choices

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0,
        shuffle: bool = True,
    ) -> Any:  # fmt: skip
        if axis != 0:
            refuse("rng.choice with axis=", "move the axis to the front")
        pool = _pool(a)
        if size is None:
            return self._picked(pool, self._chances(len(pool), p))
        shape = (operator.index(size),) if np.ndim(size) == 0 else tuple(size)
        count = int(np.prod(shape, dtype=int))
        if not len(pool) and count:
            raise ValueError("a cannot be empty unless no samples are taken")
        if replace:
            picks = [self._picked(pool, self._chances(len(pool), p)) for _ in range(count)]
        else:
            picks = self._without_replacement(pool, p, count)
        return _arranged(picks, shape)

    def _without_replacement(self, pool: Sequence[Any], p: Any, count: int) -> list[Any]:
        if count > len(pool):
            raise ValueError("Cannot take a larger sample than population when replace is False")
        rest = list(range(len(pool)))
        chances: list[Any] = list(self._chances(len(pool), p))
        picks = []
        for _ in range(count):
            whole = sum(chances[i] for i in rest)
            if not is_symbolic(whole) and is_number(whole) and whole == 0:
                raise ValueError("Fewer non-zero entries in p than size")
            place = self._outcome(rest, [chances[i] / whole for i in rest])
            rest.remove(place)
            picks.append(pool[place])
        return picks

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        """One trial; more of them would be as many forks."""
        chances = [_parameter("multinomial", v) for v in pvals]
        if size is not None or n != 1:
            refuse("rng.multinomial of more than one trial", "draw them with rng.choice")
        rest = 1 - sum(chances[:-1])
        place = self._outcome(
            range(len(chances)), self._chances(len(chances), [*chances[:-1], rest])
        )
        return np.eye(len(chances), dtype=np.int64)[place]

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """Lazily: a loop that stops early forks only over what it has looked at."""
        if axis != 0:
            refuse("rng.permutation with axis=", "move the axis to the front")
        return LazyArray(Shuffled(_pool(x), self._outcome))

    def shuffle(self, x: Any, axis: int = 0) -> None:
        order = list(LazyArray(Shuffled(list(x), self._outcome)))
        for i, value in enumerate(order):
            x[i] = value

    def _chances(self, count: int, p: Any) -> Sequence[Any]:
        if p is None:
            return (Fraction(1, max(count, 1)),) * count
        chances = [_parameter("choice", v) for v in (p if isinstance(p, list) else list(p))]
        if len(chances) != count:
            raise ValueError("a and p must have same size")
        checked = Categorical(tuple(range(count)), tuple(chances)) if count else None
        if checked is not None and all(is_number(v) for v in chances):
            known = dict(checked.outcomes)
            return [known.get(i, Fraction(0)) for i in range(count)]
        return chances

    def _picked(self, pool: Sequence[Any], chances: Sequence[Any]) -> Any:
        if not len(pool):
            raise ValueError("a cannot be empty unless no samples are taken")
        possible = [i for i, c in enumerate(chances) if not (is_number(c) and c == 0)]
        values = [pool[i] for i in possible]
        if len(possible) == 2 and is_number(chances[possible[0]]):
            first, second = values
            if _is_number_like(first) and _is_number_like(second):
                # Two numbers or truth values: a bit, forked only when it is forced.
                picked = chosen(self._bit(chances[possible[1]]), second, first)
                return typed(picked, isinstance(first, np.generic))
        place = self._outcome(possible, [chances[i] for i in possible])
        return pool[place]

    def _outcome(self, values: Sequence[Any], chances: Sequence[Any]) -> Any:
        pairs = [
            (v, c) for v, c in zip(values, chances, strict=True) if not (is_number(c) and c == 0)
        ]
        if len(pairs) == 1:
            return pairs[0][0]
        noise = Categorical(tuple(v for v, _ in pairs), tuple(c for _, c in pairs))
        return self._run.outcome(noise, pairs)

    # Any noise of dpest

    def draw_noise(self, noise: Noise, size: Any = None) -> Any:
        """Draws of a distribution, for the functions of `dpest.noise`."""
        if size is None:
            return self._drawn(noise)
        count = int(np.prod(size, dtype=int))
        shape = (operator.index(size),) if np.ndim(size) == 0 else tuple(size)
        return _arranged([self._drawn(noise) for _ in range(count)], shape)

    def _drawn(self, noise: Noise) -> Any:
        if isinstance(noise, Bernoulli):
            return self._bit(noise.p)
        if isinstance(noise, Categorical):
            values, chances = zip(*noise.outcomes, strict=True)
            return self._picked(values, chances)
        return self._run.draw(noise)

    def _bit(self, p: Any) -> Any:
        """True with probability p."""
        p = exact(p) if is_number(p) else p
        curve = self._curve()
        made = None if curve is None else curve(Bernoulli(p))
        if made is not None:
            return made
        drawn = self._run.draw(Bernoulli(p))
        if not isinstance(drawn, TracedReal):
            return bool(drawn)
        (symbol,) = drawn.form.terms
        return TracedTruth(Condition(Form({symbol: Fraction(1)}, -_HALF), ">"))

    def _curve(self) -> Callable[[Any], Any] | None:
        """How draws are made that the plan reads in another way."""
        return self._curved if getattr(self._run, "plan", None) else None

    @property
    def _eps(self) -> Any:
        """What the unit of a proof stands for in this run."""
        return getattr(self._run, "eps", None)

    def _curved(self, noise: Noise) -> Any:
        site = site_of_draw(noise)
        curve = None if site is None else self._run.plan.get(site)
        if site is None or curve is None or not curve.fits(noise):
            return None
        waiting = self._waiting.get(site)
        if waiting:
            return drawn_value(curve, waiting.pop(0), noise, self._eps)
        drawn = self._run.draw(curve.noise(noise))
        if isinstance(drawn, TracedReal):
            (symbol,) = drawn.form.terms
            self._run.draw_sites[symbol] = site
        if curve.partner is not None:
            self._waiting.setdefault(curve.partner, []).append(drawn)
        return drawn_value(curve, drawn, noise, self._eps)

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
            noise = family(*(_parameter(name, v) for v in values))
            drawn = special(noise) if special is not None else None
            if drawn is None:
                drawn = self._run.draw(noise)
            # Of single draws only `integers` gives a scalar of NumPy's.
            drawn = typed(drawn, name == "integers")
            if not is_symbolic(place) and isinstance(place, (int, float)) and place == 0:
                return drawn
            return typed(drawn + place, name == "integers")

        everything = (loc, *parameters)
        if size is None and special is None and all(type(v) in _PLAIN for v in everything):
            before = getattr(self._run, "drawn_before", None)
            if before is None or type(loc) is not float or loc:
                return one(*everything)
            key = (name, parameters)
            value = before(key)
            if value is None:
                value = one(*everything)
                self._run.remember(key, value)
            return value
        if size is None and not any(_is_array(v) for v in everything):
            return one(*everything)
        arrays = [symbolic_array(v).view(np.ndarray) for v in everything]
        inner = np.broadcast_shapes(*(a.shape for a in arrays))
        shape = inner
        if size is not None:
            shape = (operator.index(size),) if np.ndim(size) == 0 else tuple(size)
            fits = len(shape) >= len(inner) and all(
                a in (1, b) for a, b in zip(reversed(inner), reversed(shape), strict=False)
            )
            if not fits:
                raise ValueError(
                    f"Output size {shape} is not compatible with broadcast dimensions of inputs "
                    f"{inner}."
                )
        rows = [np.broadcast_to(a, shape) for a in arrays]
        values = [one(*(row[place] for row in rows)) for place in np.ndindex(shape)]
        return _arranged(values, shape)

    def _into(self, out: Any, value: Any) -> Any:
        if out is None:
            return value
        out[...] = value
        return out

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if hasattr(np.random.Generator, name):
            refuse(
                f"rng.{name} is a noise that the trace doesn't know",
                "it knows laplace, exponential, normal, gumbel, uniform, random, integers, choice, "
                "binomial, geometric, poisson, permutation and shuffle",
            )
        raise AttributeError(f"'Generator' object has no attribute {name!r}")


def _size_of(size: Any, out: Any) -> Any:
    return np.shape(out) if size is None and out is not None else size


def _open(p: Any) -> bool:
    return not is_number(p) or 0 < p < 1


def _is_array(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray)) or (
        hasattr(value, "to_numpy") or isinstance(value, LazyArray)
    )


def _is_number_like(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_, int, float, Fraction, np.integer, np.floating))


def _has_symbols(value: Any) -> bool:
    if isinstance(value, np.ndarray) and value.dtype == object:
        return any(is_symbolic(v) for v in value.flat)
    return is_symbolic(value)


def _parameter(name: str, value: Any) -> Any:
    """A parameter of a noise: a number, or what a proof uses for one."""
    if isinstance(value, np.generic):
        return value.item()
    if is_symbolic(value):
        found = settled(as_real(value))
        if found.form.terms:
            refuse(
                f"a parameter of rng.{name} depends on a noisy or symbolic value",
                "draw with a fixed scale, or choose between fixed scales by an `if`",
            )
        return found.plain
    return value


def _pool(a: Any) -> Any:
    """What is chosen from, by position."""
    if isinstance(a, (int, np.integer)) and not isinstance(a, bool):
        if a < 0:
            raise ValueError("a must be a positive integer unless no samples are taken")
        return [np.int64(i) for i in range(a)]
    if isinstance(a, LazyArray):
        return a.decided()
    if isinstance(a, np.ndarray):
        return a
    if isinstance(a, (list, tuple, range)):
        plain = np.array(list(a), dtype=object)
        if plain.ndim == 1 and not any(is_symbolic(v) for v in plain):
            # NumPy turns a list into an array, and its elements into one type.
            return np.array(list(a))
        return plain.view(SymbolicArray)
    if hasattr(a, "to_numpy"):
        return a.to_numpy()
    return np.asarray(a)


def _arranged(values: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Values in a shape; an array of what it holds, as NumPy would have it."""
    if any(isinstance(v, np.ndarray) and v.ndim for v in values):
        return np.stack([symbolic_array(v) for v in values])
    found = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        found[i] = value
    found = found.reshape(shape)
    return wrapped(found) if found.ndim else found.item()
