"""Changed certificates: what a careless editor, a careful forger or a bad disk makes of one."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

Place = tuple[Any, ...]
_OTHER_TYPES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 10**30, 1.5, float("nan"), "", "x", "0", "-1", "1/0", "1/-2",
    "1.5", "1e9", "inf", "-inf", "nan", " 1", "١", "any", "anyx", "eps", "epsx", "q", "h0_0", "m",
    [], [[]], ["0", {}, True], {}, {"h0": "1"}, {"0": "1"}, [0], "\ud800",
)  # fmt: skip


def places(value: Any, path: Place = ()) -> Iterator[Place]:
    """The path to every value but the whole."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield (*path, key)
        if isinstance(value[key], (dict, list)):
            yield from places(value[key], (*path, key))


def at(value: Any, path: Place) -> Any:
    for key in path:
        value = value[key]
    return value


def _retyped(value: Any, key: Any, source: random.Random, whole: Any) -> None:
    value[key] = copy.deepcopy(source.choice(_OTHER_TYPES))


def _moved(value: Any, key: Any, source: random.Random, whole: Any) -> None:
    """Another number, where there is one."""
    try:
        old = Fraction(value[key])
    except (TypeError, ValueError):
        old = Fraction(source.randrange(-3, 4))
    step = source.choice([1, -1, 2, Fraction(1, 7), Fraction(-1, 7), -old, old])
    new = old + step
    kept = isinstance(value[key], int) and new.denominator == 1
    value[key] = int(new) if kept else str(new)


def _removed(value: Any, key: Any, source: random.Random, whole: Any) -> None:
    del value[key]


def _renamed(value: Any, key: Any, source: random.Random, whole: Any) -> None:
    if isinstance(value, dict):
        value[source.choice([key + "x", "q", "h0_0", "v.x", "t0", "0", "empty", "proof"])] = (
            value.pop(key)
        )
    else:
        value.append(copy.deepcopy(value[key]))


def _added(value: Any, key: Any, source: random.Random, whole: Any) -> None:
    new = copy.deepcopy(source.choice(_OTHER_TYPES))
    if isinstance(value, dict):
        word = source.choice(["power", "rule", "entries", "cases", "steps", "invariant", "unknown"])
        value[word] = new
    else:
        value.insert(source.randrange(len(value) + 1), new)


def _swapped(value: Any, key: Any, source: random.Random, whole: Any) -> None:
    """Two values of one object, or a value from elsewhere in the certificate."""
    other = source.choice(list(value) if isinstance(value, dict) else range(len(value)))
    value[key], value[other] = value[other], value[key]


def _transplanted(value: Any, key: Any, source: random.Random, whole: Any) -> None:
    value[key] = copy.deepcopy(at(whole, source.choice(list(places(whole)))))


CHANGES: tuple[Callable[[Any, Any, random.Random, Any], None], ...] = (
    _retyped, _moved, _moved, _removed, _renamed, _added, _swapped, _transplanted,
)  # fmt: skip


def mutated(certificate: dict[str, Any], source: random.Random) -> dict[str, Any]:
    """One or two changes at random places; the digests of forged sources are made anew."""
    changed = copy.deepcopy(certificate)
    for _ in range(source.choice([1, 1, 1, 2])):
        path = source.choice(list(places(changed)))
        source.choice(CHANGES)(at(changed, path[:-1]), path[-1], source, certificate)
    return changed
