"""How many records are in each of several bins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.contributions.arithmetic import is_number, is_plain
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.control.whole_numbers import whole_range
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.functions.registry import all_plain, as_array, entry, rows_of
from dpest.reading.contributions.values import Rows, SmallArray

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


@entry(np.bincount)
def _bincount(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if all_plain(arguments, named):
        return NotImplemented
    value, least = given(arguments, named, "x", "minlength", minlength=0)
    value = rows_of(m, value)
    if not isinstance(value, Rows) or not isinstance(least, int):
        raise Unread("bincount of values that are not known")
    for case in value.cases:
        if case.present:
            _check_bins(m, case.element, least)

    def bins(element: Any) -> SmallArray:
        place = m.pinned(element)
        return SmallArray((least,), [int(k == place) for k in range(least)])

    return m.sum_rows(m.per_record(bins, value))


def _check_bins(m: ContributionMachine, element: Any, least: int) -> None:
    low, high = (element, element) if is_number(element) else whole_range(m, element)
    if low is None or high is None or low < 0 or high >= least:
        raise Unread(
            f"np.bincount of data that may lie outside of 0..{least - 1}: its result gets longer "
            "with them, and a negative number is an error. Say what the data are "
            f"(domain=dpest.integers(dpest.ANY, 0, {max(least - 1, 1)})) and minlength; or np.clip "
            "them first"
        )


@entry(np.count_nonzero)
def _count(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "a")
    value = as_array(m, value)
    if not isinstance(value, Rows):
        return NotImplemented
    return m.sum_rows(m.per_record(lambda e: int(m.decide(e)), value))


@entry(np.histogram)
def _histogram(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if all_plain(arguments, named):
        return NotImplemented
    value, bins, ends = given(arguments, named, "a", "bins", "range", bins=10, range=None)
    value = as_array(m, value)
    if not isinstance(value, Rows):
        raise Unread("a histogram of values that are not known")
    edges = _edges(m, bins, ends)

    def counts(element: Any) -> SmallArray:
        place = _bin_of(m, element, edges)
        return SmallArray((len(edges) - 1,), [int(j == place) for j in range(len(edges) - 1)])

    total = m.sum_rows(m.per_record(counts, value))
    return total, SmallArray((len(edges),), list(edges))


def _bin_of(m: ContributionMachine, element: Any, edges: list[float]) -> int | None:
    """The bin that a number lies in; the last one has both of its ends."""
    if not m.decide(m.compare(">=", element, edges[0])):
        return None
    for j, edge in enumerate(edges[1:]):
        last = j == len(edges) - 2
        if m.decide(m.compare("<=" if last else "<", element, edge)):
            return j
    return None


@entry(np.histogram2d)
def _histogram2d(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if all_plain(arguments, named):
        return NotImplemented
    x, y, bins, ends = given(arguments, named, "x", "y", "bins", "range", bins=10, range=None)
    values = [as_array(m, v) for v in (x, y)]
    if not all(isinstance(v, Rows) for v in values):
        raise Unread("a histogram of values that are not known")
    each = [bins, bins] if is_number(bins) else m.listed(bins)
    ranges = [None, None] if ends is None else m.listed(ends)
    if len(each) != 2 or len(ranges) != 2:
        raise Unread("a histogram of two variables with other than two lists of edges")
    first, second = (_edges(m, one, between) for one, between in zip(each, ranges, strict=True))

    def counts(a: Any, b: Any) -> SmallArray:
        place = (_bin_of(m, a, first), _bin_of(m, b, second))
        shape = (len(first) - 1, len(second) - 1)
        return SmallArray(
            shape, [int((i, j) == place) for i in range(shape[0]) for j in range(shape[1])]
        )

    total = m.sum_rows(m.per_record(counts, *values))
    return total, SmallArray((len(first),), list(first)), SmallArray((len(second),), list(second))


def _edges(m: ContributionMachine, bins: Any, between: Any) -> list[float]:
    """The edges of bins, which must not depend on the data."""
    bins = as_array(m, bins)
    if not is_number(bins):
        if not is_plain(bins):
            raise Unread("a histogram of values that are not known")
        return [float(e) for e in bins.cells]
    limits = None if between is None else m.listed(between)
    if limits is None or not all(map(is_plain, limits)):
        raise Unread("a histogram whose range depends on the data: give range")
    return [float(e) for e in np.linspace(limits[0], limits[1], int(bins) + 1)]
