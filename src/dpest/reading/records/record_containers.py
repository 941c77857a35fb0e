"""What a query makes of its records besides numbers: their order, their counts, their number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.reading.records.public_sizes import Public, RecordPlaces
from dpest.reading.records.record_cases import refuse_query
from dpest.reading.tracing.unit import Unit

KEYS = (
    "which values occur in the data is private, however noisy their counts are",
    "Ask for the values that can occur: [c[v] for v in range(k)]",
)


class SortedRecords:
    """sorted(x): one of them, at a place that does not depend on the data, is a statistic."""

    def __init__(self, records: Any, descending: bool = False) -> None:
        self.records = records
        self.descending = descending

    def __getitem__(self, key: Any) -> Any:
        at: Callable[[int], Any]
        if isinstance(key, Public):
            at, name = key.at, key.text
        elif isinstance(key, (int, np.integer)):
            at, name = (lambda _: int(key)), str(int(key))
        else:
            refuse_query("this part of the sorted records", "Take one at a public place")
        down = self.descending
        return self.records.statistic(
            f"entry {name} in {'descending' if down else 'ascending'} order",
            lambda v: sorted(v, reverse=down)[int(at(len(v)))],
        )

    def __iter__(self) -> Any:
        refuse_query("a loop over the sorted records", "Use sums or one order statistic")

    def _unknown(self, *_: Any) -> Any:
        refuse_query("the sorted records as a whole", "Use sums or one order statistic")

    __eq__ = __ne__ = __bool__ = __contains__ = __len__ = __str__ = _unknown
    __hash__ = None  # type: ignore[assignment]

    def dpest_builtin(self, name: str, args: Any, options: Any) -> Any:
        if name == "len":
            return self.records.length()
        refuse_query(f"{name}() of the sorted records", "Use sums or one order statistic")

    def dpest_signature(self) -> Any:
        return ("sorted", self.descending, self.records.dpest_signature())


class PrivateSize:
    """How many records there are, or are left, where that is private: a sum of 1 for each."""

    __array_priority__ = 3000
    __array_ufunc__ = None

    def __init__(self, value: Any, whole: bool) -> None:
        self.value = value
        self.whole = whole

    def __add__(self, other: Any) -> Any:
        return self.value + getattr(other, "value", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self.value - getattr(other, "value", other)

    def __rsub__(self, other: Any) -> Any:
        return other - self.value

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Unit):
            self._scale()
        return self.value * other

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self.value / other

    def __neg__(self) -> Any:
        return -self.value

    def __rtruediv__(self, other: Any) -> Any:
        refuse_query(
            "a division by the number of records, which is private here",
            "Release a noisy sum and a noisy count, and divide afterwards",
        )

    def _scale(self) -> Any:
        refuse_query(
            "the number of records, which is private here, in the scale of noise",
            "Use a public scale: from the bounds of the data, not from the data",
        )

    def __lt__(self, other: Any) -> Any:
        return self.value < other

    def __le__(self, other: Any) -> Any:
        return self.value <= other

    def __gt__(self, other: Any) -> Any:
        return self.value > other

    def __ge__(self, other: Any) -> Any:
        return self.value >= other

    def __eq__(self, other: object) -> Any:
        return self.value == other

    def __ne__(self, other: object) -> Any:
        return self.value != other

    __hash__ = None  # type: ignore[assignment]

    def _unknown(self, *_: Any) -> Any:
        refuse_query(
            "arithmetic with the number of records, which is private here",
            "Add noise to it first: len(x) + rng.laplace(...)",
        )

    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _unknown
    __index__ = __int__ = __float__ = __round__ = _unknown

    def __bool__(self) -> bool:
        return bool(self.value != 0)

    def dpest_builtin(self, name: str, args: Any, options: Any) -> Any:
        if name == "range" and self.whole and (args in ((self,), (0, self))):
            return RecordPlaces()
        if name in ("int", "float") and len(args) == 1:
            return self.value
        refuse_query(
            f"{name}() of the number of records, which is private here",
            "Add noise to it: len(x) + rng.laplace(...); a mean is a noisy sum over a noisy count",
        )

    def dpest_numpy(self, name: str, args: Any, options: Any) -> Any:
        return self.dpest_builtin(f"np.{name}", args, options)

    def dpest_signature(self) -> Any:
        from dpest.reading.tracing.states import signature

        return ("private size", signature(self.value))


class Tally:
    """collections.Counter of the records, or a dict that a loop counted into."""

    def __init__(self, count: Callable[[Any], Any]) -> None:
        self._count = count

    def __getitem__(self, key: Any) -> Any:
        return self._count(key)

    def get(self, key: Any, default: Any = 0) -> Any:
        if default != 0:
            refuse_query(
                "a value that tells whether a key occurs in the data", "Use 0: c.get(key, 0)"
            )
        return self._count(key)

    def _keys(self, *_: Any, **__: Any) -> Any:
        refuse_query(*KEYS)

    __iter__ = __len__ = __contains__ = keys = values = items = most_common = elements = _keys
    total = update = pop = __bool__ = __eq__ = __ne__ = __or__ = __add__ = __str__ = _keys
    __hash__ = None  # type: ignore[assignment]

    def dpest_signature(self) -> Any:
        return ("tally", id(self._count))

    def __deepcopy__(self, memo: Any) -> Tally:
        return self
