"""Functions of the standard library that take records: Counter, median, mean."""

from __future__ import annotations

import collections
import statistics
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpest.reading.records.record_containers import Tally
from dpest.reading.records.records import RecordValues


def counter(*args: Any, **options: Any) -> Any:
    """collections.Counter."""
    if len(args) == 1 and isinstance(args[0], RecordValues):
        return Tally(args[0].count)
    return collections.Counter(*args, **options)


def _own(name: str, original: Any, method: Callable[[RecordValues], Any]) -> Any:
    def call(*args: Any, **options: Any) -> Any:
        if len(args) == 1 and not options and isinstance(args[0], RecordValues):
            return method(args[0])
        return original(*args, **options)

    return call


def _median(records: RecordValues) -> Any:
    return records.quantile(Fraction(1, 2))


REPLACED: Mapping[Any, Any] = {
    collections.Counter: counter,
    statistics.median: _own("median", statistics.median, _median),
    statistics.mean: _own("mean", statistics.mean, RecordValues.mean),
    statistics.fmean: _own("fmean", statistics.fmean, RecordValues.mean),
}
"""Functions of the standard library that take the records."""


class Module:
    """A module whose functions know records."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        try:
            return REPLACED.get(found, found)
        except TypeError:
            return found

    def __deepcopy__(self, memo: Any) -> Module:
        return self

    def dpest_signature(self) -> Any:
        return ("module", self._module.__name__)


MODULES = (collections, statistics)
