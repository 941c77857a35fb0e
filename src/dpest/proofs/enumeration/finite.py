"""Finite mechanisms by exact enumeration: every input, every outcome of every draw.

Probabilities are rationals, or rational functions of e^-unit; then the bound holds for every
positive value of the unit, by showing that polynomials are not negative on (0, 1).
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpest.errors import PathLimitError, RefusedError, ReplayError
from dpest.geometry.linear import rational
from dpest.noise import Bernoulli, DiscreteUniform, Uniform
from dpest.noise.family import Noise
from dpest.proofs.enumeration.ratios import (
    NeedsDenominatorError,
    Poly,
    Ratio,
    exponential,
    non_negative,
    plus,
    times,
)
from dpest.reading.answering import AnsweringGenerator
from dpest.reading.domains.unit import Unit
from dpest.reading.tracing.math_for_units import with_units
from dpest.running.watchdog import Deadline

_MOST_INPUTS = 64
_MOST_PATHS = 20_000
_SECONDS = 10.0


class _FinitePath:
    """One path: draws are answered by the prefix; the probability of the answers multiplies."""

    def __init__(self, prefix: Sequence[int]) -> None:
        self.prefix = list(prefix)
        self.taken: list[int] = []
        self.options: list[int] = []
        self.probability: Any = Ratio((1,))

    def pick(self, chances: Sequence[Any]) -> int:
        possible = [i for i, c in enumerate(chances) if Ratio.of(c) != 0]
        if len(possible) == 1:
            return possible[0]
        at = len(self.taken)
        choice = self.prefix[at] if at < len(self.prefix) else 0
        self.taken.append(choice)
        self.options.append(len(possible))
        self.probability = self.probability * Ratio.of(chances[possible[choice]])
        return possible[choice]

    def draw(self, noise: Noise) -> Any:
        only = getattr(noise, "constant", None)
        if only is not None:
            return only
        if isinstance(noise, Bernoulli):
            return self.pick([1 - _chance(noise.p), _chance(noise.p)])
        if isinstance(noise, Uniform):
            return _Uniform(self, noise.low, noise.high)
        if isinstance(noise, DiscreteUniform):
            return _Whole(self, noise.low, noise.high)
        outcomes = noise.outcomes
        if outcomes is None:
            raise RefusedError(f"{noise.family} noise has infinitely many outcomes")
        return self.outcome(noise, outcomes)

    def outcome(self, noise: Noise, outcomes: Sequence[tuple[Any, Any]]) -> Any:
        return outcomes[self.pick([_chance(c) for _, c in outcomes])][0]


def _chance(value: Any) -> Any:
    return value if isinstance(value, Ratio) else Ratio.of(rational(value))


class _Uniform:
    """A uniform draw that is only compared with numbers."""

    def __init__(self, run: _FinitePath, low: Any, high: Any) -> None:
        self.run = run
        self.low, self.high = _chance(low), _chance(high)

    def _below(self, border: Any) -> bool:
        border = Ratio.of(border)
        if border is NotImplemented:
            raise RefusedError("a uniform draw is compared with something that is not a number")
        if border <= self.low:
            return False
        if border >= self.high:
            return True
        share = (border - self.low) / (self.high - self.low)
        if self.run.pick([share, 1 - share]) == 0:
            self.high = border
            return True
        self.low = border
        return False

    def __lt__(self, other: Any) -> bool:
        return self._below(other)

    __le__ = __lt__

    def __gt__(self, other: Any) -> bool:
        return not self._below(other)

    __ge__ = __gt__

    def _other(self, *_: Any) -> Any:
        raise RefusedError("a uniform draw is used in arithmetic: not a finite mechanism")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __float__ = __int__ = _other


class _Whole:
    """A whole number between two others, each equally likely, that is only compared."""

    def __init__(self, run: _FinitePath, low: int, high: int) -> None:
        self.run = run
        self.low, self.high = int(low), int(high)

    def _at_most(self, border: Any) -> bool:
        border = math.floor(border)
        if border < self.low:
            return False
        if border >= self.high:
            return True
        share = Fraction(border - self.low + 1, self.high - self.low + 1)
        if self.run.pick([share, 1 - share]) == 0:
            self.high = border
            return True
        self.low = border + 1
        return False

    def __le__(self, other: Any) -> bool:
        return self._at_most(other)

    def __lt__(self, other: Any) -> bool:
        return self._at_most(math.ceil(other) - 1)

    def __gt__(self, other: Any) -> bool:
        return not self._at_most(other)

    def __ge__(self, other: Any) -> bool:
        return not self._at_most(math.ceil(other) - 1)

    def _value(self) -> int:
        count = self.high - self.low + 1
        if count > _MOST_PATHS:
            raise RefusedError("a whole number with too many values is used in arithmetic")
        place = self.run.pick([Fraction(1, count)] * count)
        self.low = self.high = self.low + place
        return self.low

    __index__ = __int__ = _value

    def __add__(self, other: Any) -> Any:
        return self._value() + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._value() - other

    def __rsub__(self, other: Any) -> Any:
        return other - self._value()

    def __mul__(self, other: Any) -> Any:
        return self._value() * other

    __rmul__ = __mul__

    def __mod__(self, other: Any) -> Any:
        return self._value() % other

    def __eq__(self, other: object) -> bool:
        return self._value() == other

    def __hash__(self) -> int:
        return hash(self._value())


def distribution(function: Callable[[Any, Any], Any], x: Any) -> dict[str, Any]:
    """Output -> exact probability."""
    found: dict[str, Any] = {}
    pending: list[list[int]] = [[]]
    count = 0
    deadline = Deadline(_SECONDS)
    while pending:
        prefix = pending.pop()
        count += 1
        if count > _MOST_PATHS or deadline.passed():
            raise PathLimitError(
                f"too many outcomes of the draws (more than {count - 1})",
                "Use a smaller mechanism",
                None,
            )
        run = _FinitePath(prefix)
        output = shown(function(x, AnsweringGenerator(run)))
        found[output] = found.get(output, Ratio(())) + run.probability
        for at in range(len(prefix), len(run.taken)):
            pending += [[*run.taken[:at], other] for other in range(1, run.options[at])]
    return found


def shown(value: Any) -> str:
    """An output as an observer sees it: a text that is equal for equal outputs."""
    if isinstance(value, _Whole):
        value = int(value)
    if isinstance(value, (_Uniform, Ratio)):
        raise RefusedError("a continuous value is released: not a finite mechanism")
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(shown(v) for v in value) + "]"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool):
        value = int(value)
    return repr(value)


@dataclass(frozen=True)
class FiniteBound:
    """ε = power/denominator units for every unit, or e^ε = factor; and where it is attained.

    For each input its tables: one, or one for each independent part of the output.
    """

    tables: Mapping[str, Sequence[Mapping[str, Ratio]]]
    power: int | None
    denominator: int
    factor: Fraction | None
    attained: bool
    pair: tuple[Any, Any]
    output: str


def bound(
    function: Callable[..., Any],
    argument_values: Mapping[str, Any],
    unit: str | None,
    inputs: Sequence[Any],
    adjacent: Callable[[Any, Any], bool],
) -> FiniteBound:
    """The least bound over all neighbouring inputs and all outputs."""
    if len(inputs) > _MOST_INPUTS:
        raise RefusedError(f"{len(inputs)} inputs are too many to enumerate")
    names = {k: with_units(v) for k, v in function.__globals__.items()}
    own = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    own.__kwdefaults__ = function.__kwdefaults__
    denominator = 1
    before = Unit.exponential
    while True:
        needed: list[int] = []
        Unit.exponential = exponential(denominator, needed)
        try:
            params = dict(argument_values)
            if unit is not None:
                params[unit] = Unit()
            tables = {
                repr(x): distribution(lambda value, rng: own(value, rng=rng, **params), x)
                for x in inputs
            }
            again = distribution(lambda value, rng: own(value, rng=rng, **params), inputs[0])
            if needed:
                raise NeedsDenominatorError(needed[0])
            if again != tables[repr(inputs[0])]:
                raise ReplayError(
                    "the function did something else when it was run again",
                    "A mechanism must depend on its input, its parameters and `rng` alone",
                    None,
                )
            break
        except NeedsDenominatorError as need:
            denominator = math.lcm(denominator, need.denominator * denominator)
            if denominator > 64:
                raise RefusedError("exponents of eps with large denominators") from None
        finally:
            Unit.exponential = before
    for x, table in tables.items():
        total = Ratio(())
        for chance in table.values():
            total = total + chance
        if total != 1:
            raise RefusedError(f"the probabilities on the input {x} don't add up to one")
    pairs = [(x, y) for x in inputs for y in inputs if x is not y and adjacent(x, y)]
    return _least(tables, pairs, unit is not None, denominator)


def independent(
    mechanism: Any, inputs: Sequence[Any], adjacent: Callable[[Any, Any], bool]
) -> FiniteBound:
    """The bound of a mechanism that releases independent bits (see `independent_bits`)."""
    from dpest.proofs.enumeration import independent_bits

    if len(inputs) > _MOST_INPUTS:
        raise RefusedError(f"{len(inputs)} inputs are too many to enumerate")
    tables = {repr(x): independent_bits.parts_of(mechanism, x) for x in inputs}
    factor, pair, output = independent_bits.worst_pair(tables, inputs, adjacent)
    return FiniteBound(tables, None, 1, factor, True, pair, output)


def _least(
    tables: Mapping[str, Mapping[str, Ratio]],
    pairs: Sequence[tuple[Any, Any]],
    symbolic: bool,
    denominator: int,
) -> FiniteBound:
    factor, power = Fraction(1), 0
    parts = {x: [table] for x, table in tables.items()}
    where: tuple[tuple[Any, Any], str] = (pairs[0] if pairs else (None, None), "")
    for x, y in pairs:
        for output, p in tables[repr(x)].items():
            q = tables[repr(y)].get(output, Ratio(()))
            if not q.top:
                raise RefusedError(
                    f"the output {output} is possible on {x!r} and impossible on {y!r}: ε is "
                    "infinite"
                )
            if symbolic:
                order = _order(q) - _order(p)
                if order > power:
                    power, where = order, ((x, y), output)
            else:
                ratio = p.value / q.value
                if ratio > factor:
                    factor, where = ratio, ((x, y), output)
    if not symbolic:
        return FiniteBound(parts, None, 1, factor, True, where[0], where[1])
    for extra in range(4):
        if all(_holds(tables, x, y, power + extra) for x, y in pairs):
            return FiniteBound(
                parts, power + extra, denominator, None, extra == 0, where[0], where[1]
            )
    raise RefusedError("no multiple of the unit bounds the ratio for every value of it")


def _order(value: Ratio) -> int:
    """The power of a that the value behaves like as a → 0."""
    first = next(i for i, v in enumerate(value.top) if v)
    return first - next(i for i, v in enumerate(value.bottom) if v)


def _holds(tables: Any, x: Any, y: Any, power: int) -> bool:
    shift: Poly = (*[0] * power, 1)
    for output, p in tables[repr(x)].items():
        q = tables[repr(y)][output]
        left = times(times(p.top, q.bottom), shift)
        if not non_negative(plus(times(q.top, p.bottom), left, -1)):
            return False
    return True
