"""Reading JSON strictly: every key is taken once, every value has the type that is asked for.

A certificate comes from anywhere. Nothing is guessed and nothing is skipped: a key that nobody
asked for, one that is missing, a number that is written otherwise than as a rational, a key that
occurs twice are all reasons to refuse it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from math import inf

from .invalid import Invalid, need

Extended = Fraction | float
"""A rational, or one of the two infinities (the only floats in the kernel)."""

_RATIONAL = re.compile(r"-?[0-9]{1,2000}(/[1-9][0-9]{0,1999})?")
_INFINITE = {"inf": inf, "-inf": -inf}


def loads(text: str) -> object:
    """The value of a JSON text, without repeated keys and without NaN or Infinity."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"not JSON: {error}") from None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    need(len(found) == len(pairs), "a key occurs twice")
    return found


def _no_constant(name: str) -> object:
    raise Invalid(f"{name} is not a number of a certificate")


class Fields:
    """One object of the certificate. `where` is how a refusal names it."""

    def __init__(self, value: object, where: str) -> None:
        self.where = where
        self._left = mapping(value, where)

    def has(self, key: str) -> bool:
        return key in self._left

    def take(self, key: str) -> object:
        need(key in self._left, f"{self.where}: {key} is missing")
        return self._left.pop(key)

    def optional(self, key: str) -> object:
        """The value, or None where the key is missing."""
        return self._left.pop(key, None)

    def names(self) -> list[str]:
        """The keys that are left, in their order."""
        return list(self._left)

    def inner(self, key: str) -> Fields:
        return Fields(self.take(key), f"{self.where}.{key}")

    def each(self, key: str) -> Iterator[Fields]:
        """The objects of a list."""
        for i, value in enumerate(listed(self.take(key), f"{self.where}.{key}")):
            yield Fields(value, f"{self.where}.{key}[{i}]")

    def text(self, key: str) -> str:
        return text(self.take(key), f"{self.where}.{key}")

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, none twice."""
        where = f"{self.where}.{key}"
        found = tuple(text(v, where) for v in listed(self.take(key), where))
        need(len(set(found)) == len(found), f"{where}: an entry twice")
        return found

    def whole(self, key: str) -> int:
        return whole(self.take(key), f"{self.where}.{key}")

    def truth(self, key: str) -> bool:
        return truth(self.take(key), f"{self.where}.{key}")

    def number(self, key: str) -> Fraction:
        return rational(self.take(key), f"{self.where}.{key}")

    def done(self) -> None:
        """Nothing may be left over."""
        need(not self._left, f"{self.where}: unknown key {', '.join(sorted(self._left))}")


def mapping(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict) or not all(isinstance(k, str) for k in value):
        raise Invalid(f"{where}: not an object")
    return dict(value)


def listed(value: object, where: str, size: int | None = None) -> list[object]:
    """A list (of `size` entries, if given). Python's tuples are lists to JSON."""
    if not isinstance(value, (list, tuple)):
        raise Invalid(f"{where}: not a list")
    need(size is None or len(value) == size, f"{where}: not {size} entries")
    return list(value)


def text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise Invalid(f"{where}: not a text")
    return value


def line(value: object, where: str) -> str:
    """A text that a statement repeats: nothing in it may look like the end of a line."""
    found = text(value, where)
    need(found.isprintable(), f"{where}: not one line of text")
    return found


def whole(value: object, where: str) -> int:
    """A JSON integer; true and false are none."""
    if type(value) is not int:
        raise Invalid(f"{where}: not a whole number")
    return value


def truth(value: object, where: str) -> bool:
    if type(value) is not bool:
        raise Invalid(f"{where}: neither true nor false")
    return value


def rational(value: object, where: str) -> Fraction:
    """ "3", "-1/7", or a JSON integer; never a float."""
    if type(value) is int:
        need(abs(value) < 10**2000, f"{where}: too long a number")
        return Fraction(value)
    if not isinstance(value, str) or _RATIONAL.fullmatch(value) is None:
        raise Invalid(f"{where}: not a rational: {str(value)[:40]!r}")
    return Fraction(value)


def extended(value: object, where: str) -> Extended:
    """A rational, or "inf" or "-inf"."""
    if isinstance(value, str) and value in _INFINITE:
        return _INFINITE[value]
    return rational(value, where)
