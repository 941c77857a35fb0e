"""Draws, from wherever they come: rng, np.random, RandomState, random, secrets."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.noise import discrete_gaussian, discrete_laplace, two_sided_geometric
from dpest.reading.contributions.arithmetic import is_number, is_plain
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.forms import GAP, SymbolicForm, Unread
from dpest.reading.contributions.functions.flips import Permuted
from dpest.reading.contributions.functions.noise import noise_like, uniform_draw
from dpest.reading.contributions.functions.registry import FUNCTIONS, entry
from dpest.reading.contributions.functions.selections import choose, choose_weighted
from dpest.reading.contributions.functions.units import has_unit, is_positive
from dpest.reading.contributions.gaps.drawing import point_between
from dpest.reading.contributions.values import PublicValue, Rows, Seq, UnseededGenerator
from dpest.reading.domains.unit import Complement

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine

_Arguments = list[Any]
_Named = dict[str, Any]


def draw(
    m: ContributionMachine, library: str, name: str, arguments: _Arguments, named: _Named
) -> Any:
    """A method of a generator."""
    handler = _METHODS[library].get(name)
    if handler is None:
        raise Unread(f"noise of the family {name}")
    return handler(m, arguments, named)


# Noise -------------------------------------------------------------------------------------------


def _located(family: str) -> Callable[[ContributionMachine, _Arguments, _Named], Any]:
    def handler(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
        loc, scale, size = given(
            arguments, named, "loc", "scale", "size", loc=0.0, scale=1.0, size=None
        )
        return noise_like(m, family, loc, scale, size)

    return handler


def _standard(
    family: str, *others: str
) -> Callable[[ContributionMachine, _Arguments, _Named], Any]:
    def handler(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
        (size,) = given(arguments, named, "size", size=None)
        return noise_like(m, family, 0.0, 1.0, size)

    return handler


def _exponential(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    scale, size = given(arguments, named, "scale", "size", scale=1.0, size=None)
    return noise_like(m, "exponential", 0.0, scale, size)


def _geometric(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    """Turns until the first success: 1, 2, …; the part above 1 falls off by 1 − p a turn."""
    p, size = given(arguments, named, "p", "size", size=None)
    if not is_number(p) or not 0 < p <= 1:
        raise Unread("geometric noise whose chance is not known")
    return noise_like(m, "geometric", 1, p, size)


def _gauss(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    mu, sigma = given(arguments, named, "mu", "sigma", mu=0.0, sigma=1.0)
    return noise_like(m, "normal", mu, m.call(abs, [sigma], {}), None)


def _expovariate(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    (rate,) = given(arguments, named, "lambd", lambd=1.0)
    if not is_number(rate) or rate <= 0:
        raise Unread("exponential noise whose rate is not known")
    return noise_like(m, "exponential", 0.0, 1 / rate, None)


# Uniform numbers ---------------------------------------------------------------------------------


def _random(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    (size,) = given(arguments, named, "size", size=None)
    return uniform_draw(m, size)


def _rand(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    if named:
        raise Unread("rand with names")
    return uniform_draw(m, (tuple(arguments) if len(arguments) > 1 else arguments[0])
                        if arguments else None)  # fmt: skip


def _randn(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    if named:
        raise Unread("randn with names")
    size = (tuple(arguments) if len(arguments) > 1 else arguments[0]) if arguments else None
    return noise_like(m, "normal", 0.0, 1.0, size)


def _uniform(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    low, high, size = given(arguments, named, "low", "high", "size", low=0.0, high=1.0, size=None)
    return _between(m, low, high, size)


def _python_uniform(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    low, high = given(arguments, named, "a", "b")
    return _between(m, low, high, None)


def _between(m: ContributionMachine, low: Any, high: Any, size: Any) -> Any:
    unit = uniform_draw(m, size)
    if is_number(low) and is_number(high) and low == 0 and high == 1:
        return unit
    if not isinstance(unit, SymbolicForm):
        raise Unread("uniform draws between other numbers than 0 and 1")
    if any(isinstance(v, SymbolicForm) and m.terms.kind(v) & GAP for v in (low, high)):
        return point_between(m, m.form(low), m.form(high), unit)
    if not (m.is_public(low) and m.is_public(high)):
        raise Unread("a uniform draw between private numbers")
    return m.binary("+", low, m.binary("*", m.binary("-", high, low), unit))


# Whole numbers, and places -----------------------------------------------------------------------


def _whole(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    low, high, size, endpoint = given(
        arguments, named, "low", "high", "size", "endpoint", high=None, size=None, endpoint=False
    )
    return _pick(m, low, high, size, endpoint)


def _pick(m: ContributionMachine, low: Any, high: Any, size: Any, endpoint: Any = False) -> Any:
    """A whole number that depends on nothing private: public."""
    if m.in_pass or not all(is_plain(v) for v in (low, high, size, endpoint)):
        raise Unread("a whole number that is drawn between numbers that are not known")
    low, high = (0, low) if high is None else (low, high)
    last = high - (0 if endpoint else 1)
    if size is None and low == last:
        return low
    return m.picked("integers", low, last - low + 1) if size is None else m.picked("integers")


def _randint(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    low, high = given(arguments, named, "a", "b")
    return _pick(m, low, high, None, True)


def _randrange(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    start, stop, step = given(arguments, named, "start", "stop", "step", stop=None, step=1)
    if step != 1:
        raise Unread("randrange with a step")
    return _pick(m, start, stop, None)


def _getrandbits(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    (k,) = given(arguments, named, "k")
    if not isinstance(k, int):
        raise Unread("random bits whose number is not known")
    return _pick(m, 0, 2**k, None)


def _choice(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    pool, size, again, p = given(
        arguments, named, "a", "size", "replace", "p", size=None, replace=True, p=None
    )
    return choose(m, pool, size, again, p)


def _python_choice(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    (pool,) = given(arguments, named, "seq")
    return choose(m, pool, None, True, None)


def _choices(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    pool, weights, cumulative, k = given(
        arguments, named, "population", "weights", "cum_weights", "k",
        weights=None, cum_weights=None, k=1,
    )  # fmt: skip
    if cumulative is not None or not isinstance(k, int):
        raise Unread("random.choices with cumulative weights, or with an unknown number")
    if weights is None:
        return Seq([choose(m, pool, None, True, None) for _ in range(k)])
    return Seq([choose_weighted(m, pool, weights) for _ in range(k)])


def _sample(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    pool, k = given(arguments, named, "population", "k")
    found = choose(m, pool, k, False, None)
    return m.publicly(list, found) if isinstance(found, PublicValue) else found


def _permutation(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    (x,) = given(arguments, named, "x")
    if isinstance(x, Rows) or m.in_pass or not is_number(x):
        raise Unread("a permutation of the data, or of values that are not known")
    order = m.picked("permutation")
    return Permuted(int(x), m.picks - 1) if m.races else m.items_of(order, int(x))


def _seeded(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    raise Unread("a generator that is seeded: its draws are the same in every call")


_SHARED: dict[str, Any] = {
    "laplace": _located("laplace"), "normal": _located("normal"), "gumbel": _located("gumbel"),
    "exponential": _exponential, "standard_normal": _standard("normal"),
    "standard_exponential": _standard("exponential"), "geometric": _geometric, "random": _random,
    "uniform": _uniform, "choice": _choice, "permutation": _permutation,
}  # fmt: skip
_METHODS: dict[str, dict[str, Any]] = {
    "generator": {**_SHARED, "integers": _whole},
    "state": {
        **_SHARED, "rand": _rand, "randn": _randn, "random_sample": _random, "ranf": _random,
        "sample": _random, "randint": _whole, "seed": _seeded,
    },
    "random": {
        "gauss": _gauss, "normalvariate": _gauss, "expovariate": _expovariate, "random": _random,
        "uniform": _python_uniform, "randint": _randint, "randrange": _randrange,
        "getrandbits": _getrandbits, "choice": _python_choice, "choices": _choices,
        "sample": _sample, "seed": _seeded,
    },
}  # fmt: skip
# The given rng may be of either of NumPy's types: a run decides, and a replay sees it.
_METHODS["generator"] |= {
    k: v for k, v in _METHODS["state"].items() if k not in _METHODS["generator"]
}


# Making generators -------------------------------------------------------------------------------


def _made(library: str) -> Callable[[ContributionMachine, _Arguments, _Named], Any]:
    def handler(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
        (seed,) = given(arguments, named, "seed", seed=None)
        if seed is None:
            return UnseededGenerator(library)
        if isinstance(seed, UnseededGenerator):
            return seed
        raise Unread("a generator with a seed: its draws are constants, or tell of the data")

    return handler


FUNCTIONS[np.random.default_rng] = _made("generator")
FUNCTIONS[np.random.RandomState] = _made("state")
FUNCTIONS[random.Random] = FUNCTIONS[random.SystemRandom] = _made("random")


@entry(secrets.randbelow)
def _randbelow(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    return _randrange(m, arguments, named)


@entry(secrets.randbits)
def _randbits(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    return _getrandbits(m, arguments, named)


@entry(secrets.choice)
def _secret_choice(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    return _python_choice(m, arguments, named)


def _two_sided(family: str) -> Callable[[ContributionMachine, _Arguments, _Named], Any]:
    def handler(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
        if not arguments or not isinstance(arguments[0], UnseededGenerator) or m.in_pass:
            raise Unread("noise of dpest from something that is no generator")
        if len(arguments) + len(named) != 2 or "size" in named:
            raise Unread("several draws of discrete noise at once")
        (parameter,) = (*arguments[1:], *named.values())
        if has_unit(parameter):
            known = isinstance(parameter, Complement) or is_positive(parameter)
            if not known or isinstance(parameter, Complement) != (family == "two_sided_geometric"):
                raise Unread("discrete noise whose scale is not known")
            return m.noise(family, parameter)
        if not is_number(parameter) or parameter <= 0:
            raise Unread("discrete noise whose scale is not known")
        size = Fraction(parameter)
        return m.noise(family, 1 - size if family == "two_sided_geometric" else size)

    return handler


FUNCTIONS[discrete_laplace] = _two_sided("discrete_laplace")
FUNCTIONS[two_sided_geometric] = _two_sided("two_sided_geometric")


@entry(discrete_gaussian)
def _discrete_gaussian(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
    if not m.by_cases:
        raise Unread("discrete Gaussian noise")
    return _two_sided("discrete_gaussian")(m, arguments, named)
