"""Generators of random numbers of NumPy: Generator, RandomState, and the functions of np.random.

NumPy itself says what a draw looks like: a sample of the same call, with 0 for a location that is
not known, gives shape, type and errors; the numbers are new noise.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.noise import (
    Binomial,
    Categorical,
    Cauchy,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Geometric,
    Gumbel,
    Laplace,
    Logistic,
    Poisson,
    StudentT,
    Triangular,
    TwoSidedGeometric,
    Uniform,
    bernoulli,
    discrete_gaussian,
    discrete_laplace,
    draw,
    two_sided_geometric,
)
from dpest.noise.discrete_uniform import DiscreteUniform
from dpest.noise.family import Noise
from dpest.reading.domains.arithmetic import is_number, is_symbolic
from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.machine import operators
from dpest.reading.machine.adopting import NotConcrete, to_python
from dpest.reading.machine.heap import Instance, ListObject, Seeded
from dpest.reading.machine.signals import Refused, Thrown
from dpest.reading.machine.values import Array, Method, RandomSource, Ref
from dpest.reading.table.numpy_arrays import array
from dpest.reading.table.registry import entry

if TYPE_CHECKING:
    from dpest.reading.machine.executor import Machine

_SAMPLES: dict[str, Any] = {
    "generator": np.random.default_rng(0),
    "state": np.random.RandomState(0),
}
_MOST_OUTCOMES = 32  # finite draws with more outcomes stay symbols
_MOST_JOINT = 4096
_MOST_DRAWS = 100_000
_PRIVATE = "draw with a fixed scale, or choose between fixed scales by an `if`"


def _parameter(m: Machine, name: str, value: Any) -> Any:
    """A parameter of a noise, which must be known: a number or an array of numbers."""
    if isinstance(value, Real):
        raise Refused(f"a parameter of {name} depends on noise or data", _PRIVATE)
    if isinstance(value, Truth):
        return m.holds(value)
    if isinstance(value, Array) or m.sequence(value) is not None:
        made = value if isinstance(value, Array) else array(m, value)
        if not m.arrays.is_known(m, made):
            raise Refused(f"a parameter of {name} depends on noise or data", _PRIVATE)
        return m.arrays.known_content(m, made)
    return to_python(m.state, value)


def _drawn(
    m: Machine,
    library: str,
    name: str,
    known: dict[str, Any],
    family: Callable[..., Noise],
    location: Any = None,
    special: Callable[[Noise, type], Any] | None = None,
) -> Any:
    """Draws of a family: `known` are its parameters and `size`, by NumPy's names."""
    try:
        sample = getattr(_SAMPLES[library], name)(**known)
    except Exception as error:
        raise Thrown(error) from None
    parameters = [known[k] for k in known if k not in ("size", "endpoint", "dtype", "loc")]
    if not isinstance(sample, np.ndarray):
        return _located(m, _one(m, family, parameters, type(sample), special), location)
    if sample.size > _MOST_DRAWS:
        raise Refused(f"more than {_MOST_DRAWS} draws at once")
    rows = [np.broadcast_to(p, sample.shape).reshape(-1) for p in parameters]
    kind = sample.dtype.type
    values = [_one(m, family, [row[i] for row in rows], kind, special) for i in range(sample.size)]
    made = m.arrays.made_of(m, values, sample.shape, sample.dtype)
    return _located(m, made, location)


def _one(
    m: Machine,
    family: Callable[..., Noise],
    parameters: list[Any],
    kind: type,
    special: Callable[[Noise, type], Any] | None,
) -> Any:
    plain = [p.item() if isinstance(p, np.generic) else p for p in parameters]
    try:
        noise = family(*plain)
    except ValueError as error:
        raise Thrown(error) from None
    found = special(noise, kind) if special is not None else None
    return m.draw(noise, (kind,)) if found is None else found


def _located(m: Machine, drawn: Any, location: Any) -> Any:
    if location is None or (is_number(location) and location == 0):
        return drawn
    found = operators.binary(m, "+", drawn, location)
    if isinstance(found, Real) and not isinstance(drawn, Array):
        kinds = drawn.kinds if isinstance(drawn, Real) else (type(drawn),)
        return Real(found.form, kinds)
    return found


def _place(m: Machine, name: str, value: Any) -> tuple[Any, Any]:
    """A location: as NumPy's sample may have it, and as it is to be added."""
    if isinstance(value, (Real, Truth)):
        return 0.0, value
    if isinstance(value, Array) or m.sequence(value) is not None:
        made = value if isinstance(value, Array) else array(m, value)
        return np.zeros(made.shape), made
    known = _parameter(m, name, value)
    return known, known


def _size(m: Machine, size: Any) -> Any:
    if isinstance(size, Real):
        raise Refused("a number of draws that depends on noise or data")
    return to_python(m.state, size)


def _continuous(name: str, family: Callable[..., Noise]) -> Any:
    def made(
        m: Machine, rng: RandomSource, loc: Any = 0.0, scale: Any = 1.0, size: Any = None
    ) -> Any:
        lazy = m.lazy_draws(family, loc, scale, size)
        if lazy is not None:
            return lazy
        sample, location = _place(m, name, loc)
        known = {"loc": sample, "scale": _parameter(m, name, scale), "size": _size(m, size)}
        return _drawn(m, rng.library, name, known, family, location)

    return made


_LOCATED: dict[str, Callable[..., Noise]] = {
    "laplace": Laplace, "normal": Gaussian, "gumbel": Gumbel, "logistic": Logistic,
}  # fmt: skip
for _name, _family in _LOCATED.items():
    for _library in _SAMPLES:
        entry(Method(_library, _name))(_continuous(_name, _family))


def exponential(m: Machine, rng: RandomSource, scale: Any = 1.0, size: Any = None) -> Any:
    lazy = m.lazy_draws(Exponential, 0.0, scale, size)
    if lazy is not None:
        return lazy
    known = {"scale": _parameter(m, "exponential", scale), "size": _size(m, size)}
    return _drawn(m, rng.library, "exponential", known, Exponential)


def standard_cauchy(m: Machine, rng: Any, size: Any = None) -> Any:
    lazy = m.lazy_draws(Cauchy, 0.0, 1.0, size)
    if lazy is not None:
        return lazy
    return _drawn(m, rng.library, "standard_cauchy", {"size": _size(m, size)}, Cauchy)


def standard_t(m: Machine, rng: Any, df: Any, size: Any = None) -> Any:
    freedom = _parameter(m, "standard_t", df)
    if is_number(freedom):
        lazy = m.lazy_draws(lambda scale: StudentT(freedom, scale), 0.0, 1.0, size)
        if lazy is not None:
            return lazy
    known = {"df": freedom, "size": _size(m, size)}
    return _drawn(m, rng.library, "standard_t", known, StudentT)


def triangular(m: Machine, rng: Any, left: Any, mode: Any, right: Any, size: Any = None) -> Any:
    ends = {"left": left, "mode": mode, "right": right}
    known = {name: _parameter(m, "triangular", value) for name, value in ends.items()}
    known["size"] = _size(m, size)
    return _drawn(m, rng.library, "triangular", known, Triangular)


def uniform(m: Machine, rng: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    if size is None and (is_symbolic(low) or is_symbolic(high)):
        width = operators.binary(m, "-", high, low)
        if is_symbolic(width):
            raise Refused("a uniform draw whose width depends on noise or data", _PRIVATE)
        drawn = m.draw(Uniform(0.0, float(width)), (float,))
        return _located(m, drawn, low)
    lazy = m.lazy_draws(lambda a: Uniform(0.0, a), low, operators.binary(m, "-", high, low), size) \
        if not isinstance(low, Array) and not isinstance(high, Array) else None  # fmt: skip
    if lazy is not None:
        return lazy
    known = {
        "low": _parameter(m, "uniform", low),
        "high": _parameter(m, "uniform", high),
        "size": _size(m, size),
    }
    return _drawn(m, rng.library, "uniform", known, Uniform)


def standard_normal(m: Machine, rng: Any, size: Any = None) -> Any:
    return _continuous("normal", Gaussian)(m, rng, 0.0, 1.0, size)


def standard_exponential(m: Machine, rng: Any, size: Any = None) -> Any:
    return exponential(m, rng, 1.0, size)


def random(m: Machine, rng: Any, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
    if np.dtype(dtype) != np.float64:
        raise Refused("uniform draws of a narrow type")
    if out is None:
        return uniform(m, rng, 0.0, 1.0, size)
    if size is not None or not isinstance(out, Array) or out.dtype != np.float64:
        raise Refused("draws that are put into this")
    drawn = uniform(m, rng, 0.0, 1.0, out.shape)
    m.arrays.write(m, out, m.arrays.content(m, drawn))
    return out


def rand(m: Machine, rng: Any, *shape: Any) -> Any:
    return uniform(m, rng, 0.0, 1.0, tuple(shape) if shape else None)


def randn(m: Machine, rng: Any, *shape: Any) -> Any:
    return standard_normal(m, rng, tuple(shape) if shape else None)


def gamma(m: Machine, rng: Any, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
    if not is_number(shape) or shape != 1:
        raise Refused("gamma noise with a shape other than 1", "sum draws of rng.exponential")
    return exponential(m, rng, scale, size)


# Whole numbers


def geometric(m: Machine, rng: Any, p: Any, size: Any = None) -> Any:
    known = {"p": _parameter(m, "geometric", p), "size": _size(m, size)}
    return _drawn(m, rng.library, "geometric", known, Geometric)


def poisson(m: Machine, rng: Any, lam: Any = 1.0, size: Any = None) -> Any:
    known = {"lam": _parameter(m, "poisson", lam), "size": _size(m, size)}
    return _drawn(m, rng.library, "poisson", known, Poisson)


def binomial(m: Machine, rng: Any, n: Any, p: Any, size: Any = None) -> Any:
    if isinstance(p, Real) and is_number(n) and n == 1:
        raise Refused(
            "the chance of binomial depends on noise or data",
            "compare a uniform draw with it: int(rng.random() < p)",
        )
    known = {
        "n": _parameter(m, "binomial", n),
        "p": _parameter(m, "binomial", p),
        "size": _size(m, size),
    }

    def coin(noise: Any, kind: type) -> Any:
        if noise.n == 1 and 0 < noise.p < 1:
            m.known_errors.coin(noise.p)
            return m.chosen(m.coin(noise.p), 1, 0, (kind,))
        return None

    return _drawn(m, rng.library, "binomial", known, Binomial, special=coin)


def integers(
    m: Machine, rng: Any, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64,
    endpoint: Any = False,
) -> Any:  # fmt: skip
    if np.dtype(dtype) != np.int64 or not is_number(endpoint):
        raise Refused("integers of another type than int64")
    return whole(m, rng.library, "integers", low, high, size, bool(endpoint), {})


def whole(
    m: Machine, library: str, name: str, low: Any, high: Any, size: Any, endpoint: bool,
    options: dict[str, Any],
) -> Any:  # fmt: skip
    low, high = (0, low) if high is None else (low, high)
    known = {
        "low": _parameter(m, name, low),
        "high": _parameter(m, name, high),
        "size": _size(m, size),
        **options,
    }
    if endpoint:
        known["endpoint"] = True
    count = 1 if known["size"] is None else int(np.prod(known["size"]))

    def family(first: Any, last: Any) -> Noise:
        last = operator.index(last) - (not endpoint)
        return DiscreteUniform(operator.index(first), last)

    def few(noise: Any, kind: type) -> Any:
        if noise.count == 2:
            return m.chosen(m.coin(Fraction(1, 2)), noise.high, noise.low, (kind,))
        if noise.count <= _MOST_OUTCOMES and noise.count**count <= _MOST_JOINT:
            return kind(m.outcome(noise, noise.outcomes))
        return None

    return _drawn(m, library, name, known, family, special=few)


def randint(m: Machine, rng: Any, low: Any, high: Any = None, size: Any = None) -> Any:
    return whole(m, rng.library, "randint", low, high, size, False, {})


# Choices


def pool_of(m: Machine, a: Any) -> list[Any]:
    """What is chosen from, as NumPy sees it: an array."""
    if is_number(a):
        if operators.native(operator.index, a) < 0:
            raise Thrown(ValueError("a must be a positive integer unless no samples are taken"))
        return [np.int64(i) for i in range(int(a))]
    made = a if isinstance(a, Array) else None
    if made is None:
        items = m.all_items(a, "a choice from")
        if all(isinstance(v, str) for v in items):
            return [np.str_(v) for v in items]
        made = array(m, a)
    if made.places.ndim != 1:
        raise Refused("a choice from a matrix")
    return m.arrays.elements(m, made)


def chances_of(m: Machine, count: int, p: Any) -> list[Any]:
    if p is None:
        return [Fraction(1, max(count, 1))] * count
    known = _parameter(m, "choice", p)
    chances = [float(v) for v in np.asarray(known).reshape(-1)]
    if len(chances) != count:
        raise Thrown(ValueError("a and p must have same size"))
    m.known_errors.choice(chances)
    try:
        np.random.default_rng(0).choice(max(count, 1), p=chances)
        checked = dict(Categorical(tuple(range(count)), tuple(chances)).outcomes)
    except ValueError as error:
        raise Thrown(error) from None
    return [checked.get(i, Fraction(0)) for i in range(count)]


def picked(m: Machine, pool: list[Any], chances: list[Any]) -> Any:
    """One of a pool, with these chances."""
    possible = [i for i, c in enumerate(chances) if c != 0]
    values = [pool[i] for i in possible]
    if len(values) == 2 and all(is_number(v) for v in values):
        first, second = values
        if type(first) is type(second) and not isinstance(first, (bool, np.bool_)):
            return m.chosen(m.coin(chances[possible[1]]), second, first, (type(first),))
        if isinstance(first, (bool, np.bool_)):
            coin = m.coin(chances[possible[1]], type(first))
            if bool(first) == bool(second):
                return first
            if not isinstance(coin, Truth):
                return second if coin else first
            return coin if second else coin.negated()
    place = pick_place(m, possible, [chances[i] for i in possible])
    return pool[place]


def pick_place(m: Machine, places: list[int], chances: list[Any]) -> int:
    if len(places) == 1:
        return places[0]
    noise = Categorical(tuple(places), tuple(chances))
    return int(m.outcome(noise, list(zip(places, chances, strict=True))))


def choice(
    m: Machine, rng: Any, a: Any, size: Any = None, replace: Any = True, p: Any = None
) -> Any:
    pool = pool_of(m, a)
    chances = chances_of(m, len(pool), p)
    known = _size(m, size)
    if known is None:
        if not pool:
            raise Thrown(ValueError("a cannot be empty unless no samples are taken"))
        return picked(m, pool, chances)
    shape = (known,) if isinstance(known, (int, np.integer)) else tuple(known)
    count = int(np.prod(shape, dtype=int))
    if replace:
        picks = [picked(m, pool, chances) for _ in range(count)]
    else:
        picks = _without_replacement(m, pool, chances, count)
    made = array(m, m.state.heap.new(ListObject(picks)))
    return m.arrays.view(m, made, lambda places: places.reshape(shape))


def _without_replacement(m: Machine, pool: list[Any], chances: list[Any], count: int) -> list[Any]:
    if count > len(pool):
        text = "Cannot take a larger sample than population when replace is False"
        raise Thrown(ValueError(text))
    rest = [i for i in range(len(pool)) if chances[i] != 0]
    if len(rest) < count:
        raise Thrown(ValueError("Fewer non-zero entries in p than size"))
    picks = []
    for _ in range(count):
        total = sum(chances[i] for i in rest)
        place = pick_place(m, rest, [chances[i] / total for i in rest])
        rest = [i for i in rest if i != place]
        picks.append(pool[place])
    return picks


def _random_order(m: Machine, count: int) -> list[int]:
    """A random order, place by place, each equally likely."""
    if math.factorial(count) > _MOST_JOINT:
        raise Refused(f"a random order of {count}, which has as many outcomes as there are orders")
    rest = list(range(count))
    found = []
    while rest:
        place = pick_place(m, rest, [Fraction(1, len(rest))] * len(rest))
        rest.remove(place)
        found.append(place)
    return found


def permutation(m: Machine, rng: Any, x: Any, axis: Any = 0) -> Any:
    if axis != 0:
        raise Refused("rng.permutation with axis=", "move the axis to the front")
    pool: Any = m.adopted(np.arange(int(x))) if is_number(x) else x
    pool = pool if isinstance(pool, Array) else array(m, pool)
    order = np.array(_random_order(m, pool.shape[0]), dtype=int)
    return m.arrays.item(m, pool, m.adopted(order))


def shuffle(m: Machine, rng: Any, x: Any, axis: Any = 0) -> Any:
    items = m.sequence(x) if isinstance(x, Ref) else None
    if axis != 0 or not (items is not None or (isinstance(x, Array) and x.shape)):
        raise Refused(f"a shuffle of a {m.type_name(x)}")
    if isinstance(x, Array):
        order = np.array(_random_order(m, x.shape[0]), dtype=int)
        m.arrays.set_item(m, x, ..., m.arrays.item(m, x, m.adopted(order)))
        return None
    assert items is not None
    places = _random_order(m, len(items))
    moved = [items[k] for k in places]
    m.state.heap.write(x).items[:] = moved
    return None


def multinomial(m: Machine, rng: Any, n: Any, pvals: Any, size: Any = None) -> Any:
    """One trial; more of them would be as many outcomes."""
    if size is not None or not is_number(n) or n != 1:
        raise Refused("rng.multinomial of more than one trial", "draw them with rng.choice")
    known = [float(v) for v in np.asarray(_parameter(m, "multinomial", pvals)).reshape(-1)]
    for chance in known[:-1]:
        m.known_errors.coin(chance)
    chances = chances_of(m, len(known), (*known[:-1], 1 - sum(known[:-1])))
    possible = [i for i, c in enumerate(chances) if c != 0]
    place = pick_place(m, possible, [chances[i] for i in possible])
    return m.adopted(np.eye(len(known), dtype=np.int64)[place])


_OWN: dict[str, dict[str, Any]] = {
    "generator": {"random": random, "integers": integers},
    "state": {
        "random": random, "random_sample": random, "sample": random, "ranf": random, "rand": rand,
        "randn": randn, "randint": randint,
    },
}  # fmt: skip
for _library, _functions in _OWN.items():
    _shared: dict[str, Any] = {
        "exponential": exponential, "uniform": uniform, "standard_normal": standard_normal,
        "standard_exponential": standard_exponential, "gamma": gamma, "geometric": geometric,
        "standard_cauchy": standard_cauchy, "standard_t": standard_t, "triangular": triangular,
        "poisson": poisson, "binomial": binomial, "choice": choice, "permutation": permutation,
        "shuffle": shuffle, "multinomial": multinomial,
    }  # fmt: skip
    for _name, _function in {**_shared, **_functions}.items():
        entry(Method(_library, _name))(_function)


# Noises of dpest


def _noise_of_dpest(family: Callable[[Any], Noise], kind: type = int) -> Any:
    def made(m: Machine, rng: Any, parameter: Any, size: Any = None) -> Any:
        if not isinstance(rng, RandomSource):
            raise Refused("noise of dpest from something that is no generator")
        noise = family(_parameter(m, "noise", parameter))
        shape = _size(m, size)
        if shape is None:
            return m.draw(noise, (kind,))
        count = int(np.prod(shape, dtype=int))
        dtype = np.dtype(kind)
        values = [m.draw(noise, (dtype.type,)) for _ in range(count)]
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        return m.arrays.made_of(m, values, shape, dtype)

    return made


entry(discrete_laplace)(_noise_of_dpest(DiscreteLaplace))
entry(discrete_gaussian)(_noise_of_dpest(DiscreteGaussian))
entry(two_sided_geometric)(_noise_of_dpest(TwoSidedGeometric))


@entry(draw)
def draw_(m: Machine, rng: Any, noise: Any, size: Any = None) -> Any:
    """A draw of a noise of anybody's."""
    thing = m.state.heap.read(noise) if isinstance(noise, Ref) else None
    if not isinstance(thing, Instance) or not issubclass(thing.cls, Noise):
        raise Refused("a draw of something that is no noise of dpest")
    known = {name: m.noise_parameter(value) for name, value in thing.attributes.items()}
    try:
        made = thing.cls(**known)
    except ValueError as error:
        raise Thrown(error) from None
    return _noise_of_dpest(lambda _: made, int if made.discrete else float)(m, rng, 0, size)


@entry(bernoulli)
def bernoulli_(m: Machine, rng: Any, p: Any, size: Any = None) -> Any:
    if size is not None:
        raise Refused("several coins at once")
    chance = _parameter(m, "bernoulli", p)
    m.known_errors.coin(chance)
    return m.coin(chance)


# Making generators


def _made(library: str, kind: Any, native: Callable[[Any], Any]) -> Any:
    def made(m: Machine, seed: Any = None) -> Any:
        if seed is None:
            return RandomSource(library, kind)
        if isinstance(seed, RandomSource):
            return seed
        try:
            known = to_python(m.state, seed)
        except NotConcrete:
            raise Refused(
                "a generator whose seed depends on noise or data", "don't seed it", final=True
            ) from None
        m.notes.setdefault("a generator with a fixed seed makes no noise: its draws are constants")
        try:
            state = native(known)
        except Exception as error:
            raise Thrown(error) from None
        return m.state.heap.new(Seeded(library, state, kind))

    return made


def _generator_state(seed: Any) -> Any:
    return np.random.default_rng(seed).bit_generator.state


def _legacy_state(seed: Any) -> Any:
    return np.random.RandomState(seed).get_state(legacy=False)


entry(np.random.default_rng)(_made("generator", np.random.Generator, _generator_state))
entry(np.random.RandomState)(_made("state", np.random.RandomState, _legacy_state))


def seeded(m: Machine, name: str, ref: Ref, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A draw from a generator with a known seed: what NumPy or Python gives."""
    thing = m.state.heap.read(ref)
    if name in ("shuffle", "spawn", "seed", "setstate", "set_state", "bit_generator"):
        raise Refused(f"`{name}` of a generator with a fixed seed")
    known = [to_python(m.state, v) for v in args]
    named = {k: to_python(m.state, v) for k, v in kwargs.items()}
    generator, save = _restored(thing)
    try:
        result = getattr(generator, name)(*known, **named)
    except Exception as error:
        raise Thrown(error) from None
    m.state.heap.write(ref).state = save()
    return m.adopted(result)


def _restored(thing: Seeded) -> tuple[Any, Callable[[], Any]]:
    if thing.library == "generator":
        generator = np.random.default_rng(0)
        generator.bit_generator.state = thing.state
        return generator, lambda: generator.bit_generator.state
    if thing.library == "state":
        legacy = np.random.RandomState(0)
        legacy.set_state(thing.state)
        return legacy, lambda: legacy.get_state(legacy=False)
    import random as python_random

    plain = python_random.Random()
    plain.setstate(thing.state)
    return plain, plain.getstate


@entry(Method("state", "seed"), np.random.seed)
def seed(m: Machine, *_: Any) -> Any:
    raise Refused(
        "the function seeds NumPy's global generator: its noise is the same in every call",
        "don't call np.random.seed",
        final=True,
    )
