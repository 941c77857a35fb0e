"""Draws: what each method of a generator makes of the standard families of the streams.

Each entry of `RECIPES` says how one draw is made, on a kernel or on plain numbers: replay hands the
untouched function the same draws by the same recipes (see `replay`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpest.noise import (
    Bernoulli,
    Cauchy,
    DiscreteGaussian,
    DiscreteLaplace,
    StudentT,
    TwoSidedGeometric,
)
from dpest.running.batch.generator import PARAMETERS
from dpest.running.native.ir import KnownNumber
from dpest.running.native.signals import NotCompiled, RunThrown, error_of
from dpest.running.native.specialising.arrays import Arrays, objects, python_number
from dpest.running.native.values import RunNumber, RunValue, kind_of

_MOST_DRAWN = 4096
_MOST_TRIALS = 64
_WIDEST_GAUSSIAN = 200
_CHECK = np.random.default_rng(0)  # asked for NumPy's own errors


class RunDrawing(Arrays):
    """The generator that a function of the run is handed."""

    def standard(self, family: str) -> Any:
        return RunNumber("f", self.draw(family))

    def drawn(self, name: str, args: Sequence[Any], words: dict[str, Any]) -> Any:
        special: dict[str, Callable[..., Any]] = {
            "draw_noise": self._of_noise,
            "integers": self._integers,
            "choice": self._choice,
            "permutation": self._permutation,
        }
        if name in special:
            try:
                return special[name](*args, **words)
            except TypeError as error:
                raise NotCompiled(f"rng.{name}: {error}") from None
        if name not in RECIPES:
            raise NotCompiled(f"rng.{name}")
        names = [n for n, _ in PARAMETERS[name]] + ["size"]
        given = dict(PARAMETERS[name]) | {"size": None} | dict(zip(names, args, strict=False))
        if set(words) - set(given) or len(args) > len(names):
            raise NotCompiled(f"rng.{name} with other arguments")
        given |= words
        size = given.pop("size")
        parameters = list(given.values())
        self._check(name, parameters)
        recipe = RECIPES[name]
        if size is None and not any(_is_row(p) for p in parameters):
            return recipe(self, *parameters)
        if size is None:
            size = np.broadcast_shapes(*(objects(p).shape for p in parameters))
        return self.filled(size, lambda *p: recipe(self, *p), parameters)

    def _check(self, name: str, parameters: Sequence[Any]) -> None:
        """NumPy's own errors for plain parameters; those of the run are looked at when drawn."""
        if not any(isinstance(v, RunValue) for p in parameters for v in objects(p).flat):
            self.plain(lambda: getattr(_CHECK, name)(*parameters))

    def filled(self, size: Any, f: Callable[..., Any], parameters: Sequence[Any] = ()) -> Any:
        size = self.plain_index(size)
        made = np.empty(size, dtype=object)
        if made.size > _MOST_DRAWN:
            raise NotCompiled("many draws at once")
        try:
            wide = [np.broadcast_to(objects(p), made.shape) for p in parameters]
        except ValueError as error:
            raise RunThrown(error) from None
        for place in np.ndindex(made.shape):
            made[place] = f(*(w[place] for w in wide))
        return self.settled(made) if made.size else np.empty(size)

    def scaled(self, location: Any, scale: Any, drawn: Any) -> Any:
        if isinstance(scale, RunNumber):
            error = error_of(lambda: _CHECK.laplace(0.0, -1.0))
            self.raise_if(self.truth(self.compare("<", scale, 0)), error)
        if isinstance(scale, RunValue) or scale != 1:
            drawn = self.arithmetic("*", drawn, self.to_float(scale))
        if isinstance(location, RunValue) or location != 0:
            drawn = self.arithmetic("+", drawn, self.to_float(location))
        return python_number(drawn)

    def below(self, n: int) -> Any:
        """0 to n-1: the upper half of the product of n with 64 random bits."""
        return RunNumber("i", self.upper_half(self.draw("bits"), KnownNumber("i", n)), 0, n - 1)

    def geometric(self, p: Any) -> Any:
        if isinstance(p, RunValue):
            raise NotCompiled("a probability that the run computes")
        if p == 1:
            return 1
        ratio = np.float64(-math.log1p(-float(p)))
        waited = self.arithmetic("/", as_numpy(self.standard("exponential")), ratio)
        return self.arithmetic("+", self.cast_from_zero(waited), 1)

    def cast_from_zero(self, value: Any) -> Any:
        """A real of at least 0 as an integer, cut off."""
        return self.whole(value.register, low=0) if isinstance(value, RunNumber) else int(value)

    def place_by(self, chances: Sequence[Any]) -> Any:
        """An index with these chances: how many partial sums are at or below a uniform draw."""
        uniform, place, now = self.standard("uniform"), 0, 0.0
        for chance in chances[:-1]:
            now = self.arithmetic("+", now, chance)
            place = self.arithmetic("+", place, self.cast(self.compare(">=", uniform, now), "i"))
        if isinstance(place, RunNumber):
            return RunNumber("i", place.register, 0, len(chances) - 1, True)
        return place

    # Methods with rules of their own

    def _integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = int, endpoint: Any = False
    ) -> Any:
        if high is None:
            low, high = 0, low
        if np.dtype(dtype) != np.int64:
            raise NotCompiled("integers of another type")
        if any(isinstance(v, RunValue) or _is_row(v) for v in (low, high)):
            raise NotCompiled("integers between ends that the run computes")
        low, high = int(low), int(high) + bool(endpoint)
        if not high > low:
            self.plain(lambda: _CHECK.integers(low, high))
        if high - low >= 1 << 53:
            raise NotCompiled("integers of a wide range")

        def one() -> Any:
            return self.arithmetic("+", self.below(high - low), low)

        return as_numpy(one()) if size is None else self.filled(size, one)

    def _choice(
        self, a: Any, size: Any = None, replace: Any = True, p: Any = None, axis: Any = 0,
        shuffle: Any = True,
    ) -> Any:  # fmt: skip
        if isinstance(a, RunValue) or axis != 0:
            raise NotCompiled("a choice among as many as the run computes")
        values = self._candidates(a)
        if p is not None:
            chances = list(objects(p))
            if len(chances) != len(values):
                raise RunThrown(error_of(lambda: _CHECK.choice(2, p=[1.0])))
            if not any(isinstance(c, RunValue) for c in chances):
                self.plain(lambda: _CHECK.choice(len(values), p=chances))

        def index() -> Any:
            return self.below(len(values)) if p is None else self.place_by(chances)

        def one() -> Any:
            return self.element(values, index())

        if size is None:
            return one()
        if replace:
            return self.filled(size, one)
        if p is not None:
            raise NotCompiled("a weighted choice without replacement")
        count = int(self.plain_index(size))
        order = self.permuted(list(range(len(values))), count)[:count]
        return self.settled(objects([self.element(values, i) for i in order]))

    def _candidates(self, a: Any) -> Any:
        """What is chosen from, as the array that NumPy makes of it."""
        if not _is_row(a):
            return np.arange(int(a))
        if any(kind_of(v) == "c" for v in a):
            if not all(isinstance(v, str) for v in a):
                raise NotCompiled("a choice among things of several kinds")
            return [np.str_(v) for v in a]
        return self.converted(a)

    def permuted(self, values: list[Any], count: int | None = None) -> list[Any]:
        """The first `count` places of a random order (Fisher and Yates)."""
        if len(values) > 32:
            raise NotCompiled("an order of many")
        for i in range(min(len(values) - 1, len(values) if count is None else count)):
            place = self.arithmetic("+", self.below(len(values) - i), i)
            chosen = self.element(values, place)
            values = [
                old if k < i else self.select(self.compare("==", place, k), values[i], old)
                for k, old in enumerate(values)
            ]
            values[i] = chosen
        return values

    def _permutation(self, a: Any) -> Any:
        if isinstance(a, RunValue):
            raise NotCompiled("an order of as many as the run computes")
        return self.settled(objects(self.permuted(list(self._candidates(a)))))

    def _of_noise(self, noise: Any, size: Any = None) -> Any:
        if size is not None:
            return self.filled(size, lambda: self._of_noise(noise))
        if isinstance(noise, Bernoulli):
            return self.compare("<", self.standard("uniform"), float(noise.p))
        if isinstance(noise, DiscreteLaplace):
            p = -math.expm1(-1 / float(noise.scale))
            return self.arithmetic("-", self.geometric(p), self.geometric(p))
        if isinstance(noise, TwoSidedGeometric):
            p = float(noise.p)
            return self.arithmetic("-", self.geometric(p), self.geometric(p))
        if isinstance(noise, DiscreteGaussian):
            return self.discrete_gaussian(float(noise.sigma))
        if isinstance(noise, Cauchy):
            return self.scaled(0.0, float(noise.scale), _cauchy(self))
        if isinstance(noise, StudentT):
            return self.scaled(0.0, float(noise.scale), _student_t(self, float(noise.df)))
        raise NotCompiled(f"noise of the family {type(noise).__name__}")

    def discrete_gaussian(self, sigma: float) -> Any:
        """By its cumulative chances; what lies beyond nine deviations has less than 1e-17."""
        most = math.ceil(9 * sigma)
        if most > _WIDEST_GAUSSIAN:
            raise NotCompiled("a wide discrete Gaussian")
        k = np.arange(-most, most + 1)
        weights = np.exp(-(k**2) / (2 * sigma * sigma))
        place = self.place_by((weights / weights.sum()).tolist())
        return self.arithmetic("-", place, most)


def as_numpy(value: Any) -> Any:
    return value.as_numpy() if isinstance(value, RunNumber) else np.asarray(value)[()]


def _is_row(value: Any) -> bool:
    return isinstance(value, (list, tuple, range)) or (
        isinstance(value, np.ndarray) and value.ndim > 0
    )


def _gumbel(run: RunDrawing, location: Any, scale: Any) -> Any:
    drawn = run.function("log", as_numpy(run.standard("exponential")), True)
    return run.scaled(location, scale, run.negative(drawn))


def _logistic(run: RunDrawing, location: Any, scale: Any) -> Any:
    u = as_numpy(run.standard("uniform"))
    odds = run.arithmetic("/", u, run.arithmetic("-", np.float64(1.0), u))
    return run.scaled(location, scale, run.function("log", odds, True))


def _cauchy(run: RunDrawing) -> Any:
    """The ratio of two normal draws."""
    return run.arithmetic("/", as_numpy(run.standard("normal")), as_numpy(run.standard("normal")))


def _student_t(run: RunDrawing, df: Any) -> Any:
    """A normal draw over the root of the mean of `df` squares; two squares are an exponential."""
    if isinstance(df, RunValue) or df != int(df) or not 0 < df <= _MOST_TRIALS:
        raise NotCompiled("Student's t with other than a few whole degrees of freedom")
    top = as_numpy(run.standard("normal"))
    squares = [
        run.arithmetic("*", 2.0, as_numpy(run.standard("exponential"))) for _ in range(int(df) // 2)
    ]
    if int(df) % 2:
        rest = as_numpy(run.standard("normal"))
        squares.append(run.arithmetic("*", rest, rest))
    mean = run.arithmetic("/", run.total(squares), float(df))
    return run.arithmetic("/", top, run.function("sqrt", mean, True))


def _triangular(run: RunDrawing, left: Any, mode: Any, right: Any) -> Any:
    """By its quantiles."""
    if any(isinstance(v, RunValue) for v in (left, mode, right)):
        raise NotCompiled("a triangular draw between ends that the run computes")
    u, width = as_numpy(run.standard("uniform")), float(right) - float(left)
    below = run.arithmetic("*", u, width * (float(mode) - float(left)))
    rest = run.arithmetic("-", np.float64(1.0), u)
    above = run.arithmetic("*", rest, width * (float(right) - float(mode)))
    low = run.arithmetic("+", run.function("sqrt", below, True), float(left))
    high = run.arithmetic("-", float(right), run.function("sqrt", above, True))
    is_low = run.compare("<", u, (float(mode) - float(left)) / width)
    return run.select(is_low, low, high)


def _uniform(run: RunDrawing, low: Any, high: Any) -> Any:
    return run.scaled(low, run.arithmetic("-", high, low), run.standard("uniform"))


def _binomial(run: RunDrawing, n: Any, p: Any) -> Any:
    if isinstance(n, RunValue) or n > _MOST_TRIALS:
        raise NotCompiled("a binomial of many trials")
    return run.total(
        [run.cast(run.compare("<", run.standard("uniform"), p), "i") for _ in range(int(n))]
    )


RECIPES: dict[str, Callable[..., Any]] = {
    "laplace": lambda run, m, b: run.scaled(m, b, run.standard("laplace")),
    "normal": lambda run, m, s: run.scaled(m, s, run.standard("normal")),
    "standard_normal": lambda run: run.standard("normal"),
    "exponential": lambda run, b: run.scaled(0, b, run.standard("exponential")),
    "standard_exponential": lambda run: run.standard("exponential"),
    "gumbel": _gumbel,
    "logistic": _logistic,
    "standard_cauchy": lambda run: python_number(_cauchy(run)),
    "standard_t": lambda run, df: python_number(_student_t(run, df)),
    "triangular": lambda run, *ends: python_number(_triangular(run, *ends)),
    "uniform": _uniform,
    "random": lambda run: run.standard("uniform"),
    "geometric": lambda run, p: run.geometric(p),
    "binomial": _binomial,
}
