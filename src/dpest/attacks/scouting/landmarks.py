"""Numbers at which a mechanism may change what it does: the constants of its code.

A threshold, a clip bound, a bin edge or a special case is written somewhere: as a literal, a
default, a parameter, or in a list that the code looks at. A pair of inputs that shows a leak at
such a place straddles one of these numbers.
"""

from __future__ import annotations

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
