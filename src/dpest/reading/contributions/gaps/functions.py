"""What functions of Python and NumPy do with values of the gaps between sorted records."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp, softmax

from dpest.reading.contributions.arithmetic import is_number, natively
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.functions import sources, statistics
from dpest.reading.contributions.functions.registry import FUNCTIONS, rows_of
from dpest.reading.contributions.functions.statistics import SortedRows
from dpest.reading.contributions.gaps.drawing import (
    chosen_by_race,
    chosen_by_times,
    chosen_by_walk,
    share_of_all,
)
from dpest.reading.contributions.gaps.values import (
    PerGap,
    SortedEdges,
    is_gap_count,
    iterated,
    joined,
    per_gap,
    place,
    place_and_choice,
)
from dpest.reading.contributions.gaps.weights import over_gaps, weight_of_gap
from dpest.reading.contributions.values import Object, Rows, Seq

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine

EXTENDED = (sources, statistics)
"""Their entries come first: those here look at gaps alone, and leave the rest to them."""
Handler = Callable[["ContributionMachine", list[Any], dict[str, Any]], Any]


def _extend(*functions: Any) -> Callable[[Handler], Handler]:
    """An entry that comes before what the table has; NotImplemented: it is none of its own."""

    def declare(handler: Handler) -> Handler:
        for function in functions:
            FUNCTIONS[function] = _before(handler, FUNCTIONS.get(function))
        return handler

    return declare


def _before(first: Handler, second: Handler | None) -> Handler:
    def handler(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
        found = first(m, arguments, named)
        if found is not NotImplemented:
            return found
        return NotImplemented if second is None else second(m, arguments, named)

    return handler


def _has_gaps(arguments: list[Any]) -> bool:
    return any(isinstance(a, PerGap) for a in arguments)


# The sorted records and their ends ---------------------------------------------------------------


@_extend(np.concatenate, np.hstack)
def _concatenate(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if len(arguments) != 1 or named or not isinstance(arguments[0], (tuple, Seq)):
        return NotImplemented
    given_parts = arguments[0]
    if isinstance(given_parts, Seq) and given_parts.rows is not None:
        return NotImplemented
    return together(m, list(m.listed(given_parts)), True)


def together(m: ContributionMachine, parts: list[Any], array: bool) -> Any:
    """Ends and the data, sorted or not; NotImplemented where the data are not among them."""
    found = [_edges(m, p) for p in parts]
    if not any(isinstance(p, SortedEdges) for p in found) or m.in_pass or m.by_cases:
        return NotImplemented
    return joined(m, [Seq([p]) if is_number(p) else p for p in found], array)


def between_ends(m: ContributionMachine, parts: list[Any]) -> Any:
    """The sorted data, with numbers before and behind them, as a list."""
    found = together(m, parts, False)
    if found is NotImplemented:
        raise Unread("the sorted data in a list with other values")
    return found


def _edges(m: ContributionMachine, value: Any) -> Any:
    if isinstance(value, Seq) and value.ordered is not None:
        value = value.ordered
    if isinstance(value, SortedRows):
        if value.part is not None:
            raise Unread("a part of the sorted data between two ends")
        return SortedEdges(value.sorted, (), (), value.array)
    rows = rows_of(m, value)
    if isinstance(rows, Rows) and rows.whole:
        return SortedEdges(rows, (), (), True, ordered=False)
    return value


@_extend(builtins.sorted, np.sort)
def _sorted(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if len(arguments) != 1 or named or not isinstance(arguments[0], SortedEdges):
        return NotImplemented
    return arguments[0].sorted()


@_extend(np.append)
def _append(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if len(arguments) != 2 or named:
        return NotImplemented
    return together(m, list(arguments), True)


@_extend(np.insert)
def _insert(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if len(arguments) != 3 or named or arguments[1] != 0:
        return NotImplemented
    return together(m, [arguments[2], arguments[0]], True)


@_extend(np.diff)
def _diff(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if len(arguments) != 1 or named or not isinstance(arguments[0], SortedEdges):
        return NotImplemented
    low, high = arguments[0].ends(m)
    low.array = True
    return per_gap(m, lambda a, b: m.binary("-", b, a), low, high)


# Places ------------------------------------------------------------------------------------------


@_extend(builtins.range, np.arange)
def _range(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if len(arguments) == 2 and is_number(arguments[0]) and arguments[0] == 0:
        arguments = arguments[1:]
    if len(arguments) != 1 or named or not is_gap_count(m, arguments[0]):
        return NotImplemented
    found = PerGap(place(m), place(m), False)
    found.view = True  # of whole numbers
    return found


@_extend(np.arange)
def _arange(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    found = _range(m, arguments, named)
    if isinstance(found, PerGap):
        found.array = True
    return found


@_extend(builtins.enumerate)
def _enumerate(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    value = arguments[0] if len(arguments) == 1 and not named else None
    if isinstance(value, Cumulative):
        value = value.iterate(m)
    if not isinstance(value, PerGap):
        return NotImplemented
    return iterated(per_gap(m, lambda e: (place(m), e), value))


@_extend(builtins.zip)
def _zip(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not _has_gaps(arguments):
        return NotImplemented
    # Of the edges, one more than the gaps, the last is left out: strict=True would raise.
    firsts = [a.ends(m)[0] if isinstance(a, SortedEdges) and not named else a for a in arguments]
    if not all(isinstance(a, PerGap) for a in firsts):
        raise Unread("gaps between records beside other values")
    return iterated(per_gap(m, lambda *e: e, *firsts))


@_extend(itertools.pairwise)
def _pairwise(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if len(arguments) != 1 or named or not isinstance(arguments[0], SortedEdges):
        return NotImplemented
    return iterated(per_gap(m, lambda *e: e, *arguments[0].ends(m)))


@_extend(builtins.len)
def _len(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    value = arguments[0] if len(arguments) == 1 else None
    if not isinstance(value, Seq) or value.ordered is None:
        return NotImplemented
    return value.ordered.length(m)


def _filled(*functions: Any) -> None:
    for function in functions:

        @_extend(function)
        def _full(m: ContributionMachine, arguments: list[Any], named: dict[str, Any],
                  native: Any = function) -> Any:  # fmt: skip
            if not arguments or not is_gap_count(m, arguments[0]):
                return NotImplemented
            if named and not (set(named) == {"dtype"} and named["dtype"] is float):
                raise Unread("an array for the gaps between records, of a type of its own")
            value = natively(native, 1, *arguments[1:]).cells[0]
            found = PerGap(value, value, True)
            found.view = not isinstance(value, float)  # of whole numbers, others are cut off in it
            return found


_filled(np.zeros, np.ones, np.full)


# Element by element ------------------------------------------------------------------------------


def _elementwise(*functions: Any) -> None:
    for function in functions:

        @_extend(function)
        def _each(m: ContributionMachine, arguments: list[Any], named: dict[str, Any],
                  native: Any = function) -> Any:  # fmt: skip
            if not _has_gaps(arguments):
                return NotImplemented
            if named or not all(a.array for a in arguments if isinstance(a, PerGap)):
                raise Unread("a function of a list of the gaps between records")
            return per_gap(m, lambda *v: m.call(native, list(v), {}), *arguments)


_elementwise(
    builtins.abs, np.log, np.exp, np.abs, np.absolute, np.fabs, np.sqrt, np.minimum, np.maximum,
    np.add, np.subtract, np.multiply, np.divide, np.where, np.clip, np.isfinite, np.isnan,
)  # fmt: skip


@_extend(np.array, np.asarray)
def _array(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not arguments or not isinstance(arguments[0], (PerGap, SortedEdges, SortedRows)):
        return NotImplemented
    if len(arguments) + len(named) > 1 and (*arguments[1:], *named.values()) != (float,):
        raise Unread("an array of the gaps between records, of a type of its own")
    value = arguments[0]
    if isinstance(value, SortedRows):
        return SortedRows(value.sorted, value.part, array=True)
    if isinstance(value, SortedEdges):
        return SortedEdges(value.each, value.before, value.behind, True, value.ordered)
    value.view = True
    found = PerGap(value.wide, value.empty, True)
    found.view = value.array
    return found


@_extend(builtins.list)
def _list(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not arguments or not isinstance(arguments[0], (PerGap, SortedEdges)):
        return NotImplemented
    (value,) = arguments
    if isinstance(value, SortedEdges):
        return SortedEdges(value.each, value.before, value.behind, False, value.ordered)
    return PerGap(value.wide, value.empty, False)


# All gaps together -------------------------------------------------------------------------------


@_extend(builtins.sum, np.sum)
def _sum(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not _has_gaps(arguments):
        return NotImplemented
    (value,) = given(arguments, named, "a")
    return over_gaps(m, "sum", value)


@_extend(builtins.max, np.max, np.amax)
def _max(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not _has_gaps(arguments):
        return NotImplemented
    if set(named) == {"key"} and len(arguments) == 1:
        return _largest_by(m, arguments[0], named["key"])
    (value,) = given(arguments, named, "a")
    return over_gaps(m, "max", value)


def _largest_by(m: ContributionMachine, values: PerGap, key: Any) -> SymbolicForm:
    """max(range(n + 1), key=scores.__getitem__)."""
    if values.wide != place(m) or values.empty != place(m):
        raise Unread("the largest of other values than the places of gaps")
    return chosen_by_race(m, per_gap(m, lambda i: m.call(key, [i], {}), values))


@_extend(np.argmax)
def _argmax(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not _has_gaps(arguments):
        return NotImplemented
    (value,) = given(arguments, named, "a")
    return chosen_by_race(m, value)


@_extend(np.argmin)
def _argmin(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not _has_gaps(arguments):
        return NotImplemented
    (value,) = given(arguments, named, "a")
    return chosen_by_times(m, value)


@_extend(softmax)
def _softmax(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not _has_gaps(arguments):
        return NotImplemented
    (value,) = given(arguments, named, "x")
    weights = per_gap(m, lambda v: m.call(np.exp, [v], {}), value)
    weights.array = True
    return m.binary("/", weights, over_gaps(m, "sum", weights))


@_extend(logsumexp)
def _logsumexp(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not _has_gaps(arguments):
        return NotImplemented
    (value,) = given(arguments, named, "x")
    weights = per_gap(m, lambda v: m.call(np.exp, [v], {}), value)
    return m.call(np.log, [over_gaps(m, "sum", weights)], {})


@dataclass(eq=False)
class Cumulative(Object):
    """np.cumsum of the weights of all gaps: good for a walk along them."""

    each: PerGap
    words = "sums of the weights of gaps"

    def item(self, m: Any, index: Any) -> Any:
        if type(index) is int and index == -1:
            return over_gaps(m, "sum", self.each)
        return self.iterate(m).item(m, index)

    def iterate(self, m: Any) -> Any:
        over_gaps(m, "sum", self.each)  # where those of length 0 add nothing
        found = m.terms.of("sum so far", m.form(self.each.wide))
        return PerGap(found, found, True)

    def operate(self, m: Any, op: str, a: Any, b: Any) -> Any:
        if op not in ("/", "*") or a is not self:
            raise self.refused(f"`{op}`")
        return Cumulative(per_gap(m, lambda w: m.binary(op, w, b), self.each))


@_extend(np.cumsum)
def _cumsum(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not _has_gaps(arguments):
        return NotImplemented
    (value,) = given(arguments, named, "a")
    return Cumulative(value)


@_extend(np.searchsorted)
def _searchsorted(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not arguments or not isinstance(arguments[0], Cumulative):
        return NotImplemented
    sums, target, side = given(arguments, named, "a", "v", "side", side="left")
    if side not in ("left", "right"):
        raise Unread("a search from neither side")
    over_gaps(m, "sum", sums.each)  # where those of length 0 add nothing
    weight = m.form(sums.each.wide)
    uniform = share_of_all(m, m.form(target), weight)
    return chosen_by_walk(m, weight_of_gap(m, weight), uniform)


class Joiner(Object):
    """np.r_."""

    words = "np.r_"

    def item(self, m: Any, index: Any) -> Any:
        found = together(m, list(index), True) if isinstance(index, tuple) else NotImplemented
        if found is NotImplemented:
            raise self.refused("an item without the data")
        return found


@_extend(builtins.int)
def _int(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    known = len(arguments) == 1 and not named and isinstance(arguments[0], SymbolicForm)
    if not known or place_and_choice(m, arguments[0]) is None:
        return NotImplemented
    return arguments[0]
