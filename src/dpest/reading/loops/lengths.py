"""Numbers that depend on a length that is not known: the length, a position, a counter."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from dpest.reading.refusals import refuse, remembered

_ONE_PASS = (
    "a proof for every length follows one pass over the data, sums of it, and np.argmax; "
    "give a length (length=10) for anything else"
)


def unsupported(what: str) -> NoReturn:
    refuse(f"{what} of a vector of any length", _ONE_PASS)


class NeedsPositionError(BaseException):
    """The function looks at the number of the current element: track it this far, and modulo."""

    def __init__(self, exact: int = 0, modulus: int = 1) -> None:
        self.exact = exact
        self.modulus = modulus


def _needs(exact: int = 0, modulus: int = 1) -> BaseException:
    return remembered(NeedsPositionError(exact, modulus))


@dataclass(frozen=True, eq=False)
class LengthCount:
    """The unknown length, plus a number.

    It can size draws and bound a loop, and no more.
    """

    offset: int = 0

    def __add__(self, other: Any) -> Any:
        if isinstance(other, int) and not isinstance(other, bool):
            return LengthCount(self.offset + other)
        return self._unknown()

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return LengthCount(self.offset - other) if isinstance(other, int) else self._unknown()

    def __eq__(self, other: object) -> Any:
        if isinstance(other, LengthCount):
            return self.offset == other.offset
        if other is None or isinstance(other, str):
            return False
        return self._known(other, False)

    def __ne__(self, other: object) -> Any:
        return not self == other

    def _known(self, other: Any, answer: bool) -> Any:
        """There is an entry, at least: where there is none, two neighbours are the same."""
        if type(other) is int and other < self.offset + 1:
            return answer
        return self._unknown()

    def __gt__(self, other: Any) -> Any:
        return self._known(other, True)

    def __ge__(self, other: Any) -> Any:
        return self._known(other - 1, True) if type(other) is int else self._unknown()

    def __lt__(self, other: Any) -> Any:
        return self._known(other - 1, False) if type(other) is int else self._unknown()

    def __le__(self, other: Any) -> Any:
        return self._known(other, False)

    def __hash__(self) -> int:
        return hash(("count", self.offset))

    def _unknown(self, *_: Any) -> NoReturn:
        unsupported("arithmetic with the length")

    __rsub__ = __mul__ = __rmul__ = __neg__ = __truediv__ = _unknown
    __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __pow__ = __round__ = _unknown
    __index__ = __float__ = __int__ = __bool__ = _unknown

    def dpest_signature(self) -> Any:
        return ("count", self.offset)


@dataclass(frozen=True)
class Position:
    """The number of the current element plus an offset: exact below a limit, else its residue.

    Both runs are at the same element, so that it is public.
    """

    value: int
    exact: bool
    limit: int
    modulus: int
    offset: int = 0
    turn: bool = False
    """Whether it numbers the turns of a loop whose elements come in another order."""

    def next(self) -> Position:
        value = self.value + 1
        if self.exact and value < self.limit:
            return Position(value, True, self.limit, self.modulus)
        return Position(value % self.modulus, False, self.limit, self.modulus)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, (int, np.integer)):
            return replace(self, offset=self.offset + int(other))
        return NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other) if isinstance(other, (int, np.integer)) else NotImplemented

    def __mod__(self, modulus: Any) -> Any:
        if not isinstance(modulus, (int, np.integer)) or modulus <= 0:
            return NotImplemented
        if self.exact:
            return (self.value + self.offset) % int(modulus)
        if self.modulus % modulus:
            raise _needs(modulus=int(modulus))
        return (self.value + self.offset) % int(modulus)

    def _compare(self, other: Any, how: Callable[[Any, Any], bool]) -> Any:
        if not isinstance(other, (int, float, Fraction, np.integer, np.floating)):
            if isinstance(other, Position):
                return how(self.offset, other.offset)
            return NotImplemented
        if self.exact:
            return how(self.value + self.offset, other)
        least = self.limit + self.offset  # the position is at least this, and has no upper bound
        if least <= other:
            raise _needs(exact=math.ceil(other) - self.offset + 1)
        return how(math.inf, other)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, operator.ge)

    def __eq__(self, other: object) -> Any:
        if isinstance(other, (Position, int, float, Fraction, np.integer, np.floating)):
            return self._compare(other, operator.eq)
        return False

    def __hash__(self) -> int:
        return hash((self.value, self.exact, self.offset))

    def _unknown(self, *_: Any) -> Any:
        unsupported("arithmetic with the position in a vector")

    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __index__ = _unknown
    __float__ = __int__ = __rsub__ = _unknown

    def __bool__(self) -> bool:
        return bool(self != 0)

    def dpest_signature(self) -> Any:
        return ("position", self.value, self.exact, self.offset)


@dataclass(frozen=True)
class Counter:
    """An integer that grows without bound and is never looked at, but for being counted on."""

    def __add__(self, other: Any) -> Any:
        return self if isinstance(other, (int, np.integer)) else self._unknown()

    __radd__ = __sub__ = __add__

    def __eq__(self, other: object) -> Any:
        if other is None or isinstance(other, str):
            return False
        unsupported("a look at a counter without a bound in a loop over the elements")

    __hash__ = None  # type: ignore[assignment]

    def _unknown(self, *_: Any) -> Any:
        unsupported("a look at a counter without a bound in a loop over the elements")

    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __index__ = _unknown
    __lt__ = __le__ = __gt__ = __ge__ = __float__ = __int__ = __bool__ = __rsub__ = _unknown

    def dpest_signature(self) -> Any:
        return "counter"
