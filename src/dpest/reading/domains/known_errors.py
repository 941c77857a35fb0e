"""Numbers that the program computes in doubles: how far off they are, and chances made of them.

1/(1 + e^−x) is 1 in doubles from x = 37 on, and before that 1 minus it has few digits. Where such a
number is the chance of something, what is left to the rest is made of rounding: no exact value
comes of it. Errors are estimated along the way, relative to each number. Numbers are known by their
value, within one reading; so a 1 that is meant as such counts as rounded where another 1 was.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.noise.parameters import is_number

_UNIT = 2.0**-53
_OF_FUNCTIONS = 4 * _UNIT  # how far off a function of a library may be
_MOST_ELEMENTS = 1024  # of a larger array only those next to 0 and 1 are looked at
_NEAR = 2.0**-10
_OF_ENDS = 2.0**-50  # relative: what an end of an interval may be off by
_SLIGHT = 1e-6  # of a chance
_EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_LOGARITHMS = frozenset(("log", "log2", "log10", "log1p"))
# Functions whose values are numbers that they were given, or whole ones on purpose.
_PLAIN = frozenset((
    "abs", "absolute", "fabs", "float", "int", "bool", "round", "floor", "ceil", "trunc", "rint",
    "around", "round_", "sign", "copysign", "heaviside", "max", "min", "maximum", "minimum",
    "fmax", "fmin", "amax", "amin", "clip", "where", "select", "piecewise", "array", "asarray",
    "sort", "unique", "take", "repeat", "tile", "reshape", "ravel", "concatenate", "stack",
    "vstack", "hstack", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like", "eye",
    "identity", "arange", "linspace", "nan_to_num", "isnan", "isinf", "isfinite", "isclose",
    "less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and",
    "logical_or", "logical_not", "logical_xor", "count_nonzero", "argmax", "argmin", "argsort",
    "len", "searchsorted", "digitize", "bincount", "histogram", "any", "all", "floor_divide",
    "mod", "remainder", "fmod", "divmod", "gcd", "lcm", "comb", "perm", "factorial", "positive",
    "negative", "median",
))  # fmt: skip


class KnownErrors:
    """Relative errors of the floats that were computed, by their value; none of exact ones."""

    def __init__(self) -> None:
        self._errors: dict[float, float] = {}
        self._rounded_sums: set[float] = set()  # a small part may be lost in them
        self.of_chances = 0.0  # the largest one of a chance that was drawn with
        self.of_ends = 0.0  # the largest one of an interval of a uniform draw

    def computed(self, op: str, a: Any, b: Any, result: Any) -> None:
        """An operator was applied to known numbers, or to arrays of them."""
        if op == "**":
            self.called(operator.pow, (a, b), result)
        if op not in _EXACT:
            return
        if isinstance(result, float):
            if is_number(a) and is_number(b):
                self._of_numbers(op, a, b, float(result))
        elif isinstance(result, np.ndarray) and result.dtype.kind == "f":
            first, second = (np.broadcast_to(v, result.shape) for v in (a, b))
            if result.size > _MOST_ELEMENTS:
                near = (np.abs(result) < _NEAR) | (np.abs(result - 1.0) < _NEAR)
                first, second, result = first[near], second[near], result[near]
            for x, y, z in zip(first.flat, second.flat, result.flat, strict=True):
                self._of_numbers(op, x.item(), y.item(), z.item())

    def _of_numbers(self, op: str, a: Any, b: Any, value: float) -> None:
        if not math.isfinite(value):
            return
        a, b = (v.item() if isinstance(v, np.generic) else v for v in (a, b))
        x, y = self._errors.get(a, 0.0), self._errors.get(b, 0.0)
        exact = _is_exact(op, a, b, value)
        if op in ("+", "-") and not exact:
            self._rounded_sums.add(value)
        if op == "/" and a == b and a not in self._rounded_sums:
            return  # a number over itself, whatever it is
        error = 0.0 if exact else _UNIT
        if x or y:
            if op in ("+", "-"):
                absolute = (abs(a) * x if a else 0.0) + (abs(b) * y if b else 0.0)
                error += absolute / abs(value) if value else (math.inf if absolute else 0.0)
            else:
                error += x + y
        if value == 0.0 and error:
            error = math.inf
        self._keep(value, error)

    def called(self, function: Any, arguments: Sequence[Any], result: Any) -> None:
        """A function of a library was called on known values."""
        name = getattr(function, "__name__", "")
        if name in _PLAIN or not isinstance(result, (float, np.ndarray, np.floating)):
            return
        rows = _elements(function, arguments, result)
        for *given, value in rows if rows is not None else [(*arguments, result)]:
            self._called(name, given, value)

    def _called(self, name: str, arguments: Iterable[Any], result: Any) -> None:
        given = {v for argument in arguments for v in _floats(argument)}
        if not any(v != 0.0 and math.isfinite(v) for v in given):
            return  # e^0 is 1, and nothing is lost
        of_given = max((abs(v) * self._errors.get(v, 0.0) for v in given if v), default=0.0)
        for value in _floats(result):
            if value in given or not math.isfinite(value):
                continue
            if value == 0.0:
                self._keep(value, math.inf)
            else:
                size = abs(value) if name in _LOGARITHMS else 1.0
                self._keep(value, _OF_FUNCTIONS + of_given / size)

    def interval(self, number: Any, times: Any, constant: Any) -> None:
        """The program asks whether times · U + constant is below a number, for a uniform draw U.

        An end that is off by a few units in its last place is what the exact engine reckons with
        (`exact.losses.doubts`), as running sums have them; but whether there is anything between
        such an end and the next one, nobody can say.
        """
        known = self._chance(number, times, constant)
        if known is None:
            return
        chance, error = known
        nearest = min(abs(chance), abs(1.0 - chance))
        if error <= _OF_ENDS * abs(chance) and error > _SLIGHT * nearest:
            self.of_ends = max(self.of_ends, math.inf if nearest <= 2 * error else error / nearest)
        else:
            self._keep_chance(chance, error)

    def coin(self, number: Any, times: Any = 1, constant: Any = 0) -> None:
        """Something happens with the chance that times · U + constant is below a number."""
        known = self._chance(number, times, constant)
        if known is not None:
            self._keep_chance(*known)

    def _chance(self, number: Any, times: Any, constant: Any) -> tuple[float, float] | None:
        """The chance and its absolute error; None where there is none."""
        known = [float(v) for v in (number, constant, times) if is_number(v)]
        if len(known) < 3 or not self._errors:
            return None
        # What was not written is no number of the program: nothing is added, and 1 · U is U.
        looked_up = zip(known, (math.nan, 0.0, 1.0), strict=True)
        of_number, of_constant, of_times = (
            0.0 if abs(v) == unwritten else self._errors.get(v, 0.0) for v, unwritten in looked_up
        )
        number, constant, times = known
        chance = (number - constant) / times
        error = abs(chance) * of_times if of_times else 0.0
        for value, relative in ((number, of_number), (constant, of_constant)):
            if relative:
                error += abs(value / times) * relative if value else math.inf
        return (chance, error) if error else None

    def _keep_chance(self, chance: float, error: float) -> None:
        nearest = min(abs(chance), abs(1.0 - chance))
        inside = 0.0 < chance < 1.0
        if nearest <= 2 * error:
            self.of_chances = math.inf  # it may be 0 or 1
        elif inside:
            self.of_chances = max(self.of_chances, error / nearest)

    def choice(self, chances: Iterable[Any]) -> None:
        """One of several things happens: the program has computed the chance of each."""
        errors = [self._errors.get(float(chance), 0.0) for chance in chances]
        self.of_chances = max(self.of_chances, *errors, 0.0)

    def _keep(self, value: float, error: float) -> None:
        if error:
            self._errors[value] = max(self._errors.get(value, 0.0), error)


def _is_exact(op: str, a: Any, b: Any, value: float) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        if not (math.isfinite(a) and math.isfinite(b)):
            return False
        if op in ("+", "-"):  # what was rounded off, itself without an error
            other = b if op == "+" else -b
            seen = value - a
            return (a - (value - seen)) + (other - seen) == 0.0
        if abs(value) > _NEAR and not abs(value - 1.0) < _NEAR:
            return math.frexp(a)[0] == 0.5 or math.frexp(b)[0] == 0.5
    return _EXACT[op](Fraction(a), Fraction(b)) == Fraction(value)


def _elements(
    function: Any, arguments: Sequence[Any], result: Any
) -> Iterable[Sequence[float]] | None:
    """Each element's arguments and its result, where a function takes each for itself."""
    if not isinstance(function, np.ufunc) or function.signature is not None:
        return None  # a product of matrices has a signature
    if not isinstance(result, np.ndarray) or not 0 < result.size <= _MOST_ELEMENTS:
        return None
    arrays = [np.asarray(v) for v in (*arguments, result)]
    if not all(a.dtype.kind in "fiub" for a in arrays):
        return None
    return zip(*(row.ravel().tolist() for row in np.broadcast_arrays(*arrays)), strict=True)


def _floats(value: Any) -> Iterator[float]:
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "fiub":
            yield from value.astype(float).ravel().tolist()
    elif isinstance(value, (list, tuple)):
        for element in value:
            yield from _floats(element)
    elif is_number(value) and not isinstance(value, Fraction):
        yield float(value)
