"""What stands for the gaps between sorted records: the edges, and one value for each gap.

The records, clipped and sorted between two public ends, leave n + 1 gaps. A value for each gap is
read twice: for a gap that has a length ("wide"), as a form of its place and its ends, and for one
of length 0 ("empty"), where both of its ends are one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.reading.contributions.arithmetic import is_number
from dpest.reading.contributions.control.snapshots import apart
from dpest.reading.contributions.forms import SUM, Raised, SymbolicForm, Unread, form_of, number
from dpest.reading.contributions.persons import ends_of
from dpest.reading.contributions.values import Object, Rows, Seq, SmallArray


@dataclass(frozen=True)
class GapSet:
    """The gaps between the sorted records and two public ends, by what a record is."""

    rows: Rows
    low: Fraction
    high: Fraction


@dataclass(eq=False)
class GapChoice:
    """A gap that was chosen with chances proportional to its length times exp(score).

    `how`: by a "pick" among chances, by a uniform number on a "walk" along sums of weights, or by
    a "race" with Gumbel noise or with the "times" of exponential noise; `draw` is its number.
    `uniform`: that of the draw of the point, `from_low`: whether the point lies that far above the
    lower end, or below the upper one.
    """

    gaps: GapSet
    score: SymbolicForm
    how: str
    draw: int
    uniform: int = -1
    from_low: bool = True


def POINT(choice: GapChoice) -> Any:  # a mark: a replay chooses again
    raise AssertionError


@dataclass
class Gaps:
    """All that a reading knows of gaps."""

    sets: dict[Any, int] = field(default_factory=dict)
    known: list[GapSet] = field(default_factory=list)
    choices: list[tuple[int, GapChoice]] = field(default_factory=list)
    spent: set[int] = field(default_factory=set)  # noises that have decided
    loops: int = 0
    sorts: int = 0  # how many lists were sorted in place
    turn: Any = None  # a turn of a loop over gaps

    def number_of(self, rows: Rows, low: Fraction, high: Fraction) -> int:
        key = (tuple((c.conditions, c.element) for c in rows.cases), low, high)
        if key not in self.sets:
            self.sets[key] = len(self.known)
            self.known.append(GapSet(rows, low, high))
        return self.sets[key]


@contextmanager
def in_case(m: Any, case: str) -> Iterator[None]:
    before, m.gap_case = m.gap_case, case
    try:
        yield
    except Raised:
        raise Unread("an exception for some of the gaps between records") from None
    finally:
        m.gap_case = before


def place(m: Any) -> SymbolicForm:
    found: SymbolicForm = m.terms.of("place")
    return found


def is_gap_count(m: Any, value: Any) -> bool:
    """Whether a value is the number of gaps: one more than there are records."""
    if not isinstance(value, SymbolicForm) or not value.terms:
        return False
    if m.public_length is None and not m.terms.kind(value) & SUM:
        return False
    return bool(m.is_length(value - number(1)))


def place_and_choice(m: Any, index: Any) -> tuple[int | None, int] | None:
    """(k, j) of an index that is j behind the place of choice k; k is None for the gap at hand."""
    if not isinstance(index, SymbolicForm) or len(index.terms) != 1:
        return None
    ((symbol, c),) = index.terms
    node = m.terms.nodes[symbol]
    if c != 1 or index.constant.denominator != 1:
        return None
    if node == ("place",) and m.gap_case is not None:
        return None, int(index.constant)
    if node[0] == "chosen" and node[2] == "place":
        return node[1], int(index.constant)
    return None


class SortedEdges(Object):
    """The sorted records between their ends, as far as these are there.

    `before`, `behind`: the numbers on both sides of them; `ordered`: whether all is sorted.
    """

    words = "the sorted data between two ends"

    def __init__(
        self, rows: Rows, before: tuple[Any, ...], behind: tuple[Any, ...], array: bool,
        ordered: bool = True,
    ) -> None:  # fmt: skip
        self.each, self.before, self.behind = rows, before, behind
        self.array, self.ordered = array, ordered

    def number(self, m: Any) -> int:
        """Which set of gaps it is; refuses records that may lie outside of the ends."""
        if not self.ordered or len(self.before) != 1 or len(self.behind) != 1:
            raise self.refused("a use before both ends are there, and in order,")
        if not all(map(math.isfinite, (*self.before, *self.behind))):
            raise self.refused("an infinite end")
        low, high = Fraction(self.before[0]), Fraction(self.behind[0])
        for case in self.each.cases:
            least, most = ends_of(m, m.form(case.element))
            if least is None or most is None or least < low or most > high or low >= high:
                raise Unread("records that may lie outside of the ends: clip them first")
        found: int = m.gaps.number_of(self.each, low, high)
        return found

    def ends(self, m: Any) -> tuple[PerGap, PerGap]:
        """edges[:-1] and edges[1:]."""
        k = self.number(m)
        low, high = m.terms.of("low", k), m.terms.of("high", k)
        found = PerGap(low, low, self.array), PerGap(high, low, self.array)
        for one in found:
            one.view = True
        return found

    def length(self, m: Any) -> Any:
        return m.binary("+", m.length_of(self.each), len(self.before) + len(self.behind))

    def attribute(self, m: Any, name: str) -> Any:
        if name == "size" and self.array:
            return self.length(m)
        return super().attribute(m, name)

    def state(self) -> dict[str, Any]:
        return {"before": self.before, "behind": self.behind, "ordered": self.ordered}

    def restore(self, state: dict[str, Any]) -> None:
        self.before, self.behind = state["before"], state["behind"]
        self.ordered = state["ordered"]

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        if name != "sort" or arguments or named or m.in_pass or m.gap_case is not None:
            raise self.refused(f"the method `{name}`")
        self.restore(self.sorted().state())

    def sorted(self) -> SortedEdges:
        """In order, where the records lie between the two ends."""
        ends = sorted((*self.before, *self.behind))
        return SortedEdges(self.each, tuple(ends[:1]), tuple(ends[1:]), self.array)

    def item(self, m: Any, index: Any) -> Any:
        low, high = self.ends(m)
        if isinstance(index, slice) and index.step is None:
            if index in (slice(None, -1), slice(0, -1)):
                return low
            if index == slice(1, None):
                return high
        if isinstance(index, PerGap):
            return per_gap(m, lambda i: self.item(m, i), index)
        if type(index) is int and index in (0, -1):
            return float(self.behind[0] if index else self.before[0])
        found = place_and_choice(m, index)
        if found is None or found[1] not in (0, 1):
            raise self.refused("an item other than the ends of the gap at hand")
        end = high if found[1] else low
        if found[0] is None:
            return end.wide if m.gap_case == "wide" else end.empty
        return chosen_of(m, found[0], end)

    def operate(self, m: Any, op: str, a: Any, b: Any) -> Any:
        other = b if a is self else a
        if op != "+" or self.array or not isinstance(other, Seq):
            raise self.refused(f"`{op}`")
        return joined(m, [a, b], False)


def joined(m: Any, parts: list[Any], array: bool) -> SortedEdges:
    """Sorted records, or records that are to be sorted, and numbers before and behind them."""
    before: list[Any] = []
    behind: list[Any] = []
    found: SortedEdges | None = None
    for part in parts:
        if isinstance(part, SortedEdges):
            if found is not None:
                raise Unread("several lists of the data in one")
            found = part
            continue
        if isinstance(part, Seq) and (part.rows is not None or part.bag):
            raise Unread("several lists of the data in one")
        items = getattr(part, "items" if isinstance(part, Seq) else "cells", part)
        if not isinstance(items, (list, tuple)) or not all(map(is_number, items)):
            raise Unread("ends of the data that are not plain numbers")
        (before if found is None else behind).extend(map(float, items))
    assert found is not None
    return SortedEdges(
        found.each, (*before, *found.before), (*found.behind, *behind), array, found.ordered
    )


_METHODS: dict[str, Any] = {
    "cumsum": np.cumsum, "sum": np.sum, "max": np.max, "argmax": np.argmax, "argmin": np.argmin,
    "tolist": list, "clip": np.clip,
}  # fmt: skip


class PerGap(Object):
    """A value for each gap: for one that has a length, and for one of length 0."""

    words = "values of the gaps between the sorted data"

    def __init__(self, wide: Any, empty: Any, array: bool) -> None:
        self.wide, self.empty, self.array = wide, empty, array
        self.view = False  # of what another name may hold: not to be changed
        self.once = self.gone = False  # of an iterator, and whether something went through it

    def state(self) -> dict[str, Any]:
        return {"wide": self.wide, "empty": self.empty}

    def restore(self, state: dict[str, Any]) -> None:
        self.wide, self.empty = state["wide"], state["empty"]

    def changed_in_place(self, m: Any, op: str, other: Any) -> PerGap:
        """self op= other; every name of the array sees it."""
        if self.view or not self.array or m.gap_case is not None:
            raise self.refused("a change in place")
        found = self.operate(m, op, self, other)
        self.wide, self.empty = found.wide, found.empty
        return self

    def length(self, m: Any) -> Any:
        return m.binary("+", m.length_of(self._known(m).rows), 1)

    def iterate(self, m: Any) -> Any:
        return self if self.once else iterated(self)

    def attribute(self, m: Any, name: str) -> Any:
        if name == "ndim":
            return 1
        if name in ("size", "shape") and self.array:
            return self.length(m) if name == "size" else (self.length(m),)
        return super().attribute(m, name)

    def _known(self, m: Any) -> GapSet:
        """Gaps of the data; there is one more of them than of records, in all sets alike."""
        if not m.gaps.known:
            raise self.refused("the number")
        found: GapSet = m.gaps.known[0]
        return found

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        if name == "copy" and not arguments:
            return PerGap(self.wide, self.empty, self.array)
        if name == "__getitem__" and len(arguments) == 1:
            return self.item(m, arguments[0])
        if name not in _METHODS or not self.array:
            raise self.refused(f"the method `{name}`")
        return m.call(_METHODS[name], [self, *arguments], named)

    def operate(self, m: Any, op: str, a: Any, b: Any) -> Any:
        self._need_array(a, b)
        return per_gap(m, lambda x, y: m.binary(op, x, y), a, b)

    def compare(self, m: Any, op: str, a: Any, b: Any) -> Any:
        self._need_array(a, b)
        return per_gap(m, lambda x, y: m.compare(op, x, y), a, b)

    def unary(self, m: Any, op: str) -> Any:
        self._need_array(self)
        return per_gap(m, lambda x: m.unary(op, x), self)

    def _need_array(self, *values: Any) -> None:
        if not any(isinstance(v, PerGap) and v.array for v in values):
            raise self.refused("arithmetic with a list")

    def item(self, m: Any, index: Any) -> Any:
        found = place_and_choice(m, index)
        if found is None or found[1]:
            raise self.refused("an item other than that of the gap at hand")
        if m.gaps.turn is not None and any(owner is self for owner, _ in m.gaps.turn.writes):
            raise self.refused("an item that was just changed")
        if found[0] is None:
            return self.wide if m.gap_case == "wide" else self.empty
        return chosen_of(m, found[0], self)

    def set_item(self, m: Any, index: Any, value: Any) -> None:
        turn = m.gaps.turn
        if (
            self.view
            or m.in_pass
            or (m.joining and turn is not None)
            or (turn is not None and turn.decision is not None)
        ):
            raise self.refused("a change in place")
        plain = is_number(value) or isinstance(value, SymbolicForm)
        if isinstance(index, PerGap) and plain and turn is None:
            changed = per_gap(m, lambda t, v: value if m.decide(t) else v, index, self)
            self.wide, self.empty = changed.wide, changed.empty
        elif m.gap_case is not None and place_and_choice(m, index) == (None, 0):
            if turn is None or not (isinstance(value, SymbolicForm) or is_number(value)):
                raise self.refused("a change in place")
            turn.writes.append((self, value))
        else:
            raise self.refused("a change in place")


def iterated(values: PerGap) -> PerGap:
    """An iterator over values of the gaps."""
    found = PerGap(values.wide, values.empty, values.array)
    found.view = found.once = True
    return found


def per_gap(m: Any, function: Callable[..., Any], *values: Any) -> PerGap:
    """A function of the values of one gap, for each gap."""
    if m.gap_case is not None or m.in_pass:
        raise Unread("something for each gap between records inside of a loop")
    found = []
    for case in ("wide", "empty"):
        with in_case(m, case), apart(m):
            found.append(function(*(_of_case(v, case) for v in values)))
    given = [v for v in values if isinstance(v, PerGap)]
    return PerGap(found[0], found[1], any(v.array for v in given))


def _of_case(value: Any, case: str) -> Any:
    if isinstance(value, (SmallArray, Seq, Rows, SortedEdges)):
        raise Unread("an array of the gaps between records, and one of another length")
    return getattr(value, case) if isinstance(value, PerGap) else value


# The gap that was chosen ------------------------------------------------------------------------


def chosen_place(m: Any, k: int) -> SymbolicForm:
    found: SymbolicForm = m.terms.of("chosen", k, "place")
    return found


def chosen_of(m: Any, k: int, values: PerGap) -> Any:
    """What the values of the gaps are at one that was chosen; it has a length."""
    return at_choice(m, k, values.wide)


def at_choice(m: Any, k: int, value: Any) -> Any:
    """A value of the gap at hand, for the gap of a choice; Unread where it has more in it."""
    if isinstance(value, tuple):
        return tuple(at_choice(m, k, v) for v in value)
    if isinstance(value, Seq) and value.rows is None:
        return Seq([at_choice(m, k, v) for v in value.items])
    if not isinstance(value, SymbolicForm):
        return value
    which = m.gaps.choices[k][0]
    found: dict[int, Fraction] = {}
    for symbol, c in value.terms:
        node = m.terms.nodes[symbol]
        if node[0] in ("place", "low", "high"):
            if node[0] != "place" and node[1] != which:
                raise Unread("a gap of other data than that which was chosen")
            symbol = m.terms.symbol(("chosen", k, node[0]))
        elif depends(m, symbol):
            raise Unread("a function of the gap that was chosen")
        found[symbol] = found.get(symbol, Fraction(0)) + c
    return form_of(found, value.constant)


_OF_ONE = ("place", "low", "high", "gap noise", "carried", "sum so far")


def depends(m: Any, symbol: int) -> bool:
    """Whether a symbol is of the gap at hand; what goes over all gaps is not."""
    node = m.terms.nodes[symbol]
    if node[0] == "over gaps":
        return False
    return node[0] in _OF_ONE or any(
        depends(m, s) for a in node[1:] if isinstance(a, SymbolicForm) for s in a.symbols
    )


def is_of_gap(m: Any, form: SymbolicForm) -> bool:
    return any(depends(m, s) for s in form.symbols)
