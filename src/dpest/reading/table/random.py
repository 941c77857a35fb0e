"""The modules random and secrets, and random.Random."""

from __future__ import annotations

import operator
import random
import secrets
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpest.noise import Exponential, Gaussian, Triangular, Uniform
from dpest.noise.discrete_uniform import DiscreteUniform
from dpest.reading.domains.arithmetic import is_number, is_symbolic
from dpest.reading.domains.numbers import Real
from dpest.reading.machine import operators
from dpest.reading.machine.heap import ListObject
from dpest.reading.machine.signals import Refused, Thrown
from dpest.reading.machine.values import Method, RandomSource
from dpest.reading.table.generator import _made, _parameter, _without_replacement, pick_place
from dpest.reading.table.generator import shuffle as shuffle_list
from dpest.reading.table.registry import entry

if TYPE_CHECKING:
    from dpest.reading.machine.executor import Machine

_MOST_OUTCOMES = 32


def _moved(m: Machine, drawn: Any, location: Any) -> Any:
    found = operators.binary(m, "+", location, drawn)
    return Real(found.form, (float,)) if isinstance(found, Real) else float(found)


def gauss(m: Machine, rng: Any, mu: Any = 0.0, sigma: Any = 1.0) -> Any:
    scale = _parameter(m, "gauss", sigma)
    # A negative sigma is mirrored: the distribution is the same.
    return _moved(m, m.draw(Gaussian(abs(scale)), (float,)), mu)


def expovariate(m: Machine, rng: Any, lambd: Any = 1.0) -> Any:
    rate = _parameter(m, "expovariate", lambd)
    if rate == 0:
        raise Thrown(ZeroDivisionError("float division by zero"))
    if rate < 0:
        raise Refused("random.expovariate with a negative rate")
    return m.draw(Exponential(1 / rate), (float,))


def uniform(m: Machine, rng: Any, a: Any, b: Any) -> Any:
    width = operators.binary(m, "-", b, a)
    if is_symbolic(width) or width < 0:
        raise Refused("random.uniform whose width depends on noise or data")
    return _moved(m, m.draw(Uniform(0.0, float(width)), (float,)), a)


def triangular(m: Machine, rng: Any, low: Any = 0.0, high: Any = 1.0, mode: Any = None) -> Any:
    left, right = _parameter(m, "triangular", low), _parameter(m, "triangular", high)
    top = (left + right) / 2 if mode is None else _parameter(m, "triangular", mode)
    if not left <= top <= right or left == right:
        raise Refused("random.triangular whose mode is not between its ends")
    return m.draw(Triangular(float(left), float(top), float(right)), (float,))


def unit(m: Machine, rng: Any) -> Any:
    return m.draw(Uniform(0.0, 1.0), (float,))


def _whole(m: Machine, low: int, high: int) -> Any:
    noise = DiscreteUniform(low, high)
    if noise.count == 1:
        return low
    if noise.count == 2:
        return m.chosen(m.coin(Fraction(1, 2)), high, low, (int,))
    if noise.count <= _MOST_OUTCOMES:
        return int(m.outcome(noise, noise.outcomes or ()))
    return m.draw(noise, (int,))


def randint(m: Machine, rng: Any, a: Any, b: Any) -> Any:
    low, high = (operators.native(operator.index, _parameter(m, "randint", v)) for v in (a, b))
    if low > high:
        raise Thrown(ValueError("empty range for randrange()"))
    return _whole(m, low, high)


def randrange(m: Machine, rng: Any, start: Any, stop: Any = None, step: Any = 1) -> Any:
    ends = [_parameter(m, "randrange", v) for v in (start, stop, step)]
    chosen = range(ends[0]) if ends[1] is None else range(*ends)
    if not chosen:
        raise Thrown(ValueError("empty range for randrange()"))
    if chosen.step == 1:
        return _whole(m, chosen[0], chosen[-1])
    return chosen[pick_place(m, list(range(len(chosen))), [Fraction(1, len(chosen))] * len(chosen))]


def getrandbits(m: Machine, rng: Any, k: Any) -> Any:
    return _whole(m, 0, 2 ** int(_parameter(m, "getrandbits", k)) - 1)


def choice(m: Machine, rng: Any, values: Any) -> Any:
    items = m.all_items(values, "a choice from")
    if not items:
        raise Thrown(IndexError("Cannot choose from an empty sequence"))
    if len(items) == 2 and all(is_number(v) and type(v) is type(items[0]) for v in items):
        if isinstance(items[0], bool):
            coin = m.coin(Fraction(1, 2))
            if items[0] == items[1]:
                return items[0]
            return coin if items[1] else coin.negated()  # heads are the second place
        return m.chosen(m.coin(Fraction(1, 2)), items[1], items[0], (type(items[0]),))
    return items[pick_place(m, list(range(len(items))), [Fraction(1, len(items))] * len(items))]


def choices(
    m: Machine, rng: Any, population: Any, weights: Any = None, *, cum_weights: Any = None,
    k: Any = 1,
) -> Any:  # fmt: skip
    if cum_weights is not None:
        raise Refused("random.choices with cumulative weights")
    items = m.all_items(population, "a choice from")
    if weights is None:
        chances = [Fraction(1, len(items))] * len(items)
    else:
        known = [Fraction(repr(float(_parameter(m, "choices", w))))
                 for w in m.all_items(weights, "weights of")]  # fmt: skip
        if sum(known) <= 0 or min(known) < 0 or len(known) != len(items):
            raise Refused("weights of random.choices")
        m.known_errors.choice(known)
        chances = [w / sum(known) for w in known]
    possible = [i for i, c in enumerate(chances) if c]
    picks = [items[pick_place(m, possible, [chances[i] for i in possible])] for _ in range(k)]
    return m.state.heap.new(ListObject(picks))


def sample(m: Machine, rng: Any, population: Any, k: Any) -> Any:
    items = m.all_items(population, "a sample of")
    if len(items) > 12 and k > 1:
        raise Refused("a sample of more than a few elements")
    if k > len(items) or k < 0:
        raise Thrown(ValueError("Sample larger than population or is negative"))
    chances = [Fraction(1, max(len(items), 1))] * len(items)
    return m.state.heap.new(ListObject(_without_replacement(m, items, chances, k)))


_METHODS: dict[str, Any] = {
    "gauss": gauss, "normalvariate": gauss, "expovariate": expovariate, "uniform": uniform,
    "triangular": triangular,
    "random": unit, "randint": randint, "randrange": randrange, "getrandbits": getrandbits,
    "choice": choice, "choices": choices, "sample": sample, "shuffle": shuffle_list,
}  # fmt: skip
for _name, _function in _METHODS.items():
    for _library in ("random", "system"):
        entry(Method(_library, _name))(_function)


@entry(Method("random", "seed"))
def seed(m: Machine, *_: Any) -> Any:
    raise Refused(
        "the function seeds the global generator: its noise is the same in every call",
        "don't call random.seed",
        final=True,
    )


def _state(value: Any) -> Any:
    return random.Random(value).getstate()


entry(random.Random)(_made("random", random.Random, _state))
_SYSTEM = RandomSource("system", random.SystemRandom)
entry(random.SystemRandom, secrets.SystemRandom)(lambda m, *_: _SYSTEM)
entry(secrets.randbelow)(lambda m, n: randrange(m, _SYSTEM, n))
entry(secrets.randbits)(lambda m, k: getrandbits(m, _SYSTEM, k))
entry(secrets.choice)(lambda m, values: choice(m, _SYSTEM, values))
