"""SciPy's distributions as a source of noise: `laplace.rvs(scale=b, random_state=rng)`, `ppf(u)`.

SciPy takes NumPy's own generators alone. While a function is read, the distributions in its modules
stand behind objects that draw from the reading's generator instead, by its method of that name, and
that compute quantiles of a noisy value with NumPy. With NumPy's generator, and for all that is not
known here, they are SciPy's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from dpest.noise.discrete_laplace import DiscreteLaplace
from dpest.noise.heavy_tails.cauchy import Cauchy
from dpest.noise.heavy_tails.student_t import StudentT
from dpest.reading.refusals import refuse
from dpest.running.handed import Handed

_Draw = Callable[..., Any]  # (rng, size, loc, scale, *shapes)


def _dlaplace(rng: Any, size: Any, loc: Any, scale: Any, a: Any) -> Any:
    return loc + rng.draw_noise(DiscreteLaplace(1 / a), size)


_DRAWS: dict[str, _Draw] = {
    "laplace": lambda rng, size, loc, scale: rng.laplace(loc, scale, size),
    "norm": lambda rng, size, loc, scale: rng.normal(loc, scale, size),
    "gumbel_r": lambda rng, size, loc, scale: rng.gumbel(loc, scale, size),
    "logistic": lambda rng, size, loc, scale: rng.logistic(loc, scale, size),
    "cauchy": lambda rng, size, loc, scale: loc + rng.draw_noise(Cauchy(scale), size),
    "t": lambda rng, size, loc, scale, df: loc + rng.draw_noise(StudentT(df, scale), size),
    "triang": lambda rng, size, loc, scale, c: loc + rng.triangular(0.0, c * scale, scale, size),
    "expon": lambda rng, size, loc, scale: loc + rng.exponential(scale, size),
    "uniform": lambda rng, size, loc, scale: rng.uniform(loc, loc + scale, size),
    "geom": lambda rng, size, loc, scale, p: loc + rng.geometric(p, size),
    "poisson": lambda rng, size, loc, scale, mu: loc + rng.poisson(mu, size),
    "binom": lambda rng, size, loc, scale, n, p: loc + rng.binomial(n, p, size),
    "bernoulli": lambda rng, size, loc, scale, p: loc + rng.binomial(1, p, size),
    "randint": lambda rng, size, loc, scale, low, high: loc + rng.integers(low, high, size),
    "dlaplace": _dlaplace,
}
_QUANTILES: dict[str, Callable[[Any], Any]] = {
    "laplace": lambda u: -np.sign(2 * u - 1) * np.log(1 - np.abs(2 * u - 1)),
    "expon": lambda u: -np.log1p(-u),
    "gumbel_r": lambda u: -np.log(-np.log(u)),
    "uniform": lambda u: u,
}
_SHAPES_OF_WHOLE = {
    "geom": 1, "poisson": 1, "binom": 2, "bernoulli": 1, "randint": 2, "dlaplace": 1,
}  # fmt: skip
_SHAPES = {**_SHAPES_OF_WHOLE, "t": 1, "triang": 1}
_NAMES = {"p", "mu", "n", "low", "high", "a", "df", "c"}


class Distribution:
    """One of SciPy's distributions, or (with `given`) one with its parameters fixed."""

    def __init__(self, original: Any, name: str, given: tuple[Any, ...] | None = None) -> None:
        self._original = original
        self._name = name
        self._given = given  # location, scale and shapes

    def __call__(self, *args: Any, **options: Any) -> Any:
        found = self._parameters(args, dict(options))
        original = self._original(*args, **options)
        return original if found is None else Distribution(original, self._name, found[0])

    freeze = __call__

    def rvs(self, *args: Any, random_state: Any = None, **options: Any) -> Any:
        if isinstance(random_state, Handed):
            random_state = random_state._generator
        kind = type(random_state)
        if not hasattr(kind, "draw_noise") and not hasattr(kind, "dpest_generator"):
            return self._original.rvs(*args, random_state=random_state, **options)
        given = self._parameters(args, options)
        if given is None or given[1].keys() - {"size"}:
            refuse(f"scipy.stats.{self._name}.rvs with these arguments", "draw from rng instead")
        (loc, scale, *shapes), rest = given
        drawn = _DRAWS[self._name](random_state, rest.get("size"), loc, scale, *shapes)
        # SciPy's numbers are NumPy's, if they are not whole.
        return np.float64(drawn) if type(drawn) is float else drawn

    def ppf(self, q: Any, *args: Any, **options: Any) -> Any:
        # By its type: a value of a batch says that it is a float.
        if issubclass(type(q), (int, float, np.generic)) or type(q) is np.ndarray:
            return self._original.ppf(q, *args, **options)
        given = self._parameters(args, options)
        quantile = _QUANTILES.get(self._name)
        if quantile is None or given is None or given[1]:
            return self._original.ppf(q, *args, **options)
        (loc, scale, *_) = given[0]
        return loc + scale * quantile(q)

    def _parameters(
        self, args: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Location, scale and shapes; and what else was said. None: not understood."""
        rest = dict(options)
        if self._given is not None:
            if args:  # a frozen distribution takes its size first
                rest["size"] = args[0]
            return (self._given, rest) if len(args) <= 1 else None
        shapes = _SHAPES.get(self._name, 0)
        has_scale = self._name not in _SHAPES_OF_WHOLE
        names = ["loc", *(["scale"] if has_scale else []), "size"]
        if any(name in rest for name in _NAMES) or len(args) < shapes:
            return None
        for name, value in zip(names, args[shapes:], strict=False):
            if name in rest:
                return None
            rest[name] = value
        if len(args) > shapes + len(names) or (not has_scale and "scale" in rest):
            return None
        return (rest.pop("loc", 0), rest.pop("scale", 1), *args[:shapes]), rest

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __deepcopy__(self, memo: Any) -> Distribution:
        return self

    def dpest_signature(self) -> Any:
        return ("scipy.stats", self._name, self._given)


class _Stats(ModuleType):
    """`scipy.stats`, or `scipy`, with such distributions in it."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(module.__name__)
        self.__dict__["_module"] = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__dict__["_module"], name)
        new = scipy_replacement(found)
        return found if new is None else new


_known: dict[int, tuple[Any, Any]] = {}


@contextmanager
def scipy_replaced(names: dict[str, Any]) -> Iterator[None]:
    """Such objects stand in these globals inside of this."""
    found = [(name, old, scipy_replacement(old)) for name, old in list(names.items())]
    slots = [slot for slot in found if slot[2] is not None]
    for name, _, new in slots:
        names[name] = new
    try:
        yield
    finally:
        for name, old, new in slots:
            if names.get(name) is new:
                names[name] = old


def scipy_replacement(value: Any) -> Any:
    """What stands for a distribution of SciPy's, or a module with them; None for all else."""
    stats = sys.modules.get("scipy.stats")
    if stats is None:
        return None
    known = _known.get(id(value))
    if known is not None and known[0] is value:
        return known[1]
    new: Any = None
    if isinstance(value, ModuleType):
        if value is stats or value is sys.modules.get("scipy"):
            new = _Stats(value)
    elif type(value).__module__.startswith("scipy.stats"):
        name = getattr(value, "name", None)
        if name in _DRAWS and getattr(stats, name, None) is value:
            new = Distribution(value, name)
    if new is not None:
        _known[id(value)] = value, new
    return new
