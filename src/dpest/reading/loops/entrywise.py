"""Operators of a vector whose length is not known: what they do, they do to every entry."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any


class Entrywise(ABC):
    """Sums, differences, quotients and comparisons, all by `_with`."""

    __array_priority__ = 3000
    __array_ufunc__ = None

    @abstractmethod
    def _with(self, other: Any, how: Callable[[Any, Any], Any]) -> Any:
        """how(entry, other) for every entry, or entry by entry with another such vector."""

    def __add__(self, other: Any) -> Any:
        return self._with(other, operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b + a)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b - a)

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, operator.truediv)

    def __lt__(self, other: Any) -> Any:
        return self._with(other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self._with(other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self._with(other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self._with(other, operator.ge)
