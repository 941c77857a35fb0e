"""scipy.stats: distributions that draw from a generator, and quantiles of a uniform draw.

A draw is one of the generator's method for this noise, with the types that SciPy gives it. What a
distribution computes of known numbers is SciPy's own.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpest.noise import Cauchy, DiscreteLaplace, Noise, StudentT
from dpest.reading.domains.arithmetic import is_number
from dpest.reading.domains.numbers import INT, Real
from dpest.reading.machine import operators
from dpest.reading.machine.adopting import NotConcrete, to_python
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.values import Array, Method, RandomSource, SciPyDistribution
from dpest.reading.table.generator import _noise_of_dpest, _parameter, whole
from dpest.reading.table.numpy_functions import numpy_kind
from dpest.reading.table.registry import TABLE, entry

if TYPE_CHECKING:
    from dpest.reading.machine.executor import Machine

_INSTEAD = "draw from rng instead"


class _Given(NamedTuple):
    """What a call of a method said."""

    shapes: tuple[Any, ...]
    loc: Any
    scale: Any
    size: Any = None


_SHAPES_OF_WHOLE = {
    "geom": 1, "poisson": 1, "binom": 2, "bernoulli": 1, "randint": 2, "dlaplace": 1,
}  # fmt: skip
"""How many shape parameters a family of whole numbers has: those have no scale."""
_SHAPES = {**_SHAPES_OF_WHOLE, "t": 1, "triang": 1}


def _given(
    distribution: SciPyDistribution, args: tuple[Any, ...], options: dict[str, Any], *names: str
) -> _Given | None:
    """The parameters of a call; `names` are those that follow after them. None: not understood."""
    if distribution.frozen:
        if len(args) > len(names) or options.keys() - set(names):
            return None
        found = _given(distribution_of(distribution), distribution.args, dict(distribution.kwargs))
        rest = dict(zip(names, args, strict=False)) | options
        return None if found is None else found._replace(size=rest.get("size"))
    shapes = _SHAPES.get(distribution.name, 0)
    scaled = distribution.name not in _SHAPES_OF_WHOLE
    order = ["loc", *(["scale"] if scaled else []), *names]
    if len(args) < shapes or len(args) > shapes + len(order) or options.keys() - set(order):
        return None
    known = dict(zip(order, args[shapes:], strict=False))
    if known.keys() & options.keys():
        return None
    known |= options
    return _Given(args[:shapes], known.get("loc", 0), known.get("scale", 1), known.get("size"))


def distribution_of(distribution: SciPyDistribution) -> SciPyDistribution:
    """The same without its parameters."""
    return SciPyDistribution(distribution.name)


@entry(Method("distribution", "freeze"))
def freeze(m: Machine, distribution: SciPyDistribution, *args: Any, **options: Any) -> Any:
    if distribution.frozen or _given(distribution, args, options) is None:
        raise Refused(f"scipy.stats.{distribution.name} with these arguments", _INSTEAD)
    return SciPyDistribution(distribution.name, True, args, tuple(options.items()))


# Draws


def _continuous(name: str) -> Callable[..., Any]:
    def drawn(m: Machine, rng: RandomSource, given: _Given) -> Any:
        return _by(m, rng, name, given.loc, given.scale, given.size)

    return drawn


def _by(m: Machine, rng: RandomSource, name: str, *args: Any) -> Any:
    """A draw by a method of the generator."""
    return TABLE[Method(rng.library, name)](m, rng, *args)


def _exponential(m: Machine, rng: RandomSource, given: _Given) -> Any:
    return _moved(m, _by(m, rng, "exponential", given.scale, given.size), given.loc)


def _uniform(m: Machine, rng: RandomSource, given: _Given) -> Any:
    high = operators.binary(m, "+", given.loc, given.scale)
    return _by(m, rng, "uniform", given.loc, high, given.size)


def _whole(name: str) -> Callable[..., Any]:
    def drawn(m: Machine, rng: RandomSource, given: _Given) -> Any:
        return _moved(m, _by(m, rng, name, *given.shapes, given.size), given.loc)

    return drawn


def _bernoulli(m: Machine, rng: RandomSource, given: _Given) -> Any:
    return _moved(m, _by(m, rng, "binomial", 1, *given.shapes, given.size), given.loc)


def _between(m: Machine, rng: RandomSource, given: _Given) -> Any:
    name = "integers" if rng.library == "generator" else "randint"
    low, high = given.shapes
    return _moved(m, whole(m, rng.library, name, low, high, given.size, False, {}), given.loc)


def _discrete_laplace(m: Machine, rng: RandomSource, given: _Given) -> Any:
    (rate,) = given.shapes
    scale = operators.binary(m, "/", 1, rate)
    return _moved(m, _noise_of_dpest(DiscreteLaplace)(m, rng, scale, given.size), given.loc)


def _cauchy(m: Machine, rng: RandomSource, given: _Given) -> Any:
    return _moved(m, _scaled(m, rng, Cauchy, given), given.loc)


def _student_t(m: Machine, rng: RandomSource, given: _Given) -> Any:
    df = _known_number(m, given.shapes[0])
    return _moved(m, _scaled(m, rng, lambda scale: StudentT(df, scale), given), given.loc)


def _triangular(m: Machine, rng: RandomSource, given: _Given) -> Any:
    mode, scale = _known_number(m, given.shapes[0]), _known_number(m, given.scale)
    if not 0 <= mode <= 1 or not scale > 0:
        raise Refused("scipy.stats.triang with these arguments", _INSTEAD)
    return _moved(m, _by(m, rng, "triangular", 0.0, mode * scale, scale, given.size), given.loc)


def _scaled(m: Machine, rng: RandomSource, family: Callable[[Any], Noise], given: _Given) -> Any:
    """Draws of a family that NumPy has at scale 1 only."""
    lazy = m.lazy_draws(family, 0.0, given.scale, given.size)
    if lazy is not None:
        return lazy
    noise = family(_known_number(m, given.scale))
    return _noise_of_dpest(lambda _: noise, float)(m, rng, 0, given.size)


def _known_number(m: Machine, value: Any) -> Any:
    known = _parameter(m, "noise", value)
    if not is_number(known) or not known > 0:
        raise Refused("a parameter of a distribution that is not one positive number", _INSTEAD)
    return known


def _moved(m: Machine, drawn: Any, loc: Any) -> Any:
    if is_number(loc) and loc == 0:
        return drawn
    return operators.binary(m, "+", drawn, loc)


_DRAWS: dict[str, Callable[..., Any]] = {
    "laplace": _continuous("laplace"),
    "norm": _continuous("normal"),
    "gumbel_r": _continuous("gumbel"),
    "logistic": _continuous("logistic"),
    "cauchy": _cauchy,
    "t": _student_t,
    "triang": _triangular,
    "expon": _exponential,
    "uniform": _uniform,
    "geom": _whole("geometric"),
    "poisson": _whole("poisson"),
    "binom": _whole("binomial"),
    "bernoulli": _bernoulli,
    "randint": _between,
    "dlaplace": _discrete_laplace,
}


@entry(Method("distribution", "rvs"))
def rvs(
    m: Machine,
    distribution: SciPyDistribution,
    *args: Any,
    random_state: Any = None,
    **options: Any,
) -> Any:
    name = distribution.name
    if not isinstance(random_state, RandomSource):
        raise Refused(f"scipy.stats.{name}.rvs without random_state=rng", _INSTEAD)
    given = _given(distribution, args, options, "size")
    draw = _DRAWS.get(name)
    if draw is None or given is None:
        raise Refused(f"scipy.stats.{name}.rvs with these arguments", _INSTEAD)
    drawn = draw(m, random_state, given)
    if isinstance(drawn, Array) or given.size is not None:
        return drawn
    if name not in _SHAPES_OF_WHOLE:
        return numpy_kind(drawn)
    return Real(drawn.form, INT) if isinstance(drawn, Real) else _as_int(drawn)


def _as_int(drawn: Any) -> Any:
    return int(drawn) if is_number(drawn) else drawn


# What a distribution computes


def _laplace_quantile(m: Machine, q: Any) -> Any:
    low = m.call_table(np.log, (operators.binary(m, "*", 2, q),))
    rest = operators.binary(m, "*", 2, operators.binary(m, "-", 1, q))
    high = operators.unary(m, "-", m.call_table(np.log, (rest,)))
    return m.call_table(np.where, (operators.compare(m, ">", q, 0.5), high, low))


def _exponential_quantile(m: Machine, q: Any) -> Any:
    return operators.unary(m, "-", m.call_table(np.log1p, (operators.unary(m, "-", q),)))


def _gumbel_quantile(m: Machine, q: Any) -> Any:
    inner = operators.unary(m, "-", m.call_table(np.log, (q,)))
    return operators.unary(m, "-", m.call_table(np.log, (inner,)))


_QUANTILES: dict[str, Callable[[Machine, Any], Any]] = {
    "laplace": _laplace_quantile,
    "expon": _exponential_quantile,
    "gumbel_r": _gumbel_quantile,
    "uniform": lambda m, q: q,
}


@entry(Method("distribution", "ppf"))
def quantile(
    m: Machine, distribution: SciPyDistribution, q: Any, *args: Any, **options: Any
) -> Any:
    known = _computed(m, "ppf", distribution, (q, *args), options)
    if known is not None:
        return known
    name = distribution.name
    found = _QUANTILES.get(name)
    given = _given(distribution, args, options)
    if found is None or given is None:
        raise Refused(f"scipy.stats.{name}.ppf of a noisy value", _INSTEAD)
    made = numpy_kind(found(m, q))
    return _moved(m, operators.binary(m, "*", made, given.scale), given.loc)


def _computed(
    m: Machine, method: str, distribution: SciPyDistribution, args: tuple[Any, ...], options: Any
) -> Any:
    """What SciPy gives of known numbers; None where something is not known."""
    try:
        values = [to_python(m.state, v) for v in args]
        named = {k: to_python(m.state, v) for k, v in options.items()}
        fixed = [to_python(m.state, v) for v in distribution.args]
        fixed_named = {k: to_python(m.state, v) for k, v in distribution.kwargs}
    except NotConcrete:
        return None
    own = getattr(importlib.import_module("scipy.stats"), distribution.name)
    if distribution.frozen:
        own = own(*fixed, **fixed_named)
    return m.call_native(getattr(own, method), values, named)


def _of_known_numbers(method: str) -> Any:
    def made(m: Machine, distribution: SciPyDistribution, *args: Any, **options: Any) -> Any:
        found = _computed(m, method, distribution, args, options)
        if found is None:
            raise Refused(f"scipy.stats.{distribution.name}.{method} of a noisy or private value")
        return found

    return made


for _method in (
    *("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "isf"),
    *("mean", "median", "var", "std", "interval", "support", "entropy"),
):
    entry(Method("distribution", _method))(_of_known_numbers(_method))
