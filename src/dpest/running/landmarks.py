"""Numbers at which a mechanism may change what it does: the constants of its code.

A threshold, a clip bound, a bin edge or a special case is written somewhere: as a literal, a
default, a parameter, or in a list that the code looks at. A pair of inputs that shows a leak at
such a place straddles one of these numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.running.reach import reached

_MOST = 48
_MOST_ELEMENTS = 64


def landmarks(mechanism: Mechanism, most: int = _MOST) -> tuple[float, ...]:
    """Distinct finite numbers of the code that the mechanism can reach; literals come first."""
    codes, values = reached(mechanism.function)
    found = [
        *(number for code in codes for number in numbers_in(_constants(code))),
        *numbers_in(mechanism.all_params.values()),
        *numbers_in(values),
    ]
    return tuple(dict.fromkeys(found))[:most]


def _constants(code: CodeType) -> Iterator[Any]:
    """The literals of a code object. Those of the functions inside of it are reached as well."""
    return (c for c in code.co_consts if not isinstance(c, (CodeType, str, bytes)))


def numbers_in(values: Iterable[Any], depth: int = 3) -> Iterator[float]:
    """The finite numbers among some values, inside of small containers too."""
    for value in values:
        if isinstance(value, bool) or value is None:
            continue
        if isinstance(value, (int, float, np.integer, np.floating)):
            # Neither NaN nor a whole number that no double can hold.
            if -1e300 < value < 1e300:
                yield float(value)
        elif depth and isinstance(value, Mapping):
            if len(value) <= _MOST_ELEMENTS:
                yield from numbers_in([*value.keys(), *value.values()], depth - 1)
        elif depth and isinstance(value, (list, tuple, set, frozenset, range)):
            if len(value) <= _MOST_ELEMENTS:
                yield from numbers_in(value, depth - 1)
        elif isinstance(value, np.ndarray) and value.size <= _MOST_ELEMENTS:
            yield from numbers_in(value.ravel().tolist(), 0)


def around(number: float) -> tuple[float, ...]:
    """A number and what lies just below and just above it."""
    near = max(abs(number), 1.0) * 1e-6
    return (number, number - near, number + near, number - 1, number + 1)


def places(numbers: Iterable[float], low: float = -math.inf, high: float = math.inf) -> list[float]:
    """The numbers between two ends, and a place in each gap between them and the ends.

    What a program does with an entry changes at such numbers only, as far as they are written down:
    there is one place for each of its cases, also for those that random data never fall in. The
    places in the gaps are short binary fractions, so that sums of them are exact.
    """
    inside = sorted({float(v) for v in numbers if low <= v <= high})
    ends = [v for v in (low, high) if math.isfinite(v)]
    edges = sorted({*inside, *ends})
    if not edges:
        return [0.0]
    outer = [edges[0] - 1.0] if low == -math.inf else []
    outer += [edges[-1] + 1.0] if high == math.inf else []
    gaps = (_between(a, b) for a, b in itertools.pairwise(edges))
    return sorted({*edges, *outer, *(v for v in gaps if v is not None)})


def _between(low: float, high: float) -> float | None:
    """The shortest binary fraction strictly between two numbers."""
    for digits in range(-64, 64):
        unit = math.ldexp(1.0, -digits)
        found = (math.floor(low / unit) + 1) * unit
        if low < found < high:
            return found
    return None
