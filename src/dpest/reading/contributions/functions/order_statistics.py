"""Order statistics of one number per record: extremes, quantiles, an entry of the sorted data.

Where one of these numbers moves, the statistic moves by some part of that, in its direction. Only
graphs of sums (`reading.cases`) know this; every other reading refuses order statistics.
"""

from __future__ import annotations

import builtins
import operator
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.contributions.arithmetic import is_number
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.control.public import Recipe
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.functions import statistics as bounded_statistics
from dpest.reading.contributions.functions.registry import FUNCTIONS, rows_of
from dpest.reading.contributions.ledger import OrderStatistic
from dpest.reading.contributions.values import Object, PublicValue, Rows

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine

EXTENDED = (bounded_statistics,)
"""Its entries come first: those here leave to them what is not read by cases."""

_Arguments = list[Any]
_Named = dict[str, Any]
Handler = Callable[["ContributionMachine", _Arguments, _Named], Any]


def _statistic(
    m: ContributionMachine, rows: Rows, name: str, at: Callable[[list[Fraction]], Any]
) -> SymbolicForm:
    """An order statistic, for data sets of one size."""
    if m.public_length is None or not rows.whole:
        raise Unread(
            f"the {name} of records that come and go. Its value may move by the whole range of "
            "the data, and there is none of no records: use replace_one and a bounded domain, or "
            "the exponential mechanism"
        )
    return m.order_statistic(rows, OrderStatistic(name, at))


def _of_rows(native: Any, name: str, at: Callable[[list[Fraction]], Any]) -> None:
    """A function of all values, beside what the table has for it."""
    before = FUNCTIONS.get(native)

    def handler(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
        rows = rows_of(m, arguments[0]) if len(arguments) == 1 and m.by_cases else None
        if not isinstance(rows, Rows) or named:
            if before is None:
                return m.publicly(native, *arguments, **named)
            return before(m, arguments, named)
        return _statistic(m, rows, name, at)

    FUNCTIONS[native] = handler


def _quantile(values: list[Fraction], q: Fraction) -> Fraction:
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def _median(values: list[Fraction]) -> Fraction:
    return _quantile(values, Fraction(1, 2))


_STATISTICS: dict[str, tuple[tuple[Any, ...], Callable[[list[Fraction]], Any]]] = {
    "maximum": ((builtins.max, np.max, np.amax), max),
    "minimum": ((builtins.min, np.min, np.amin), min),
    "quantile 0.5": ((np.median, statistics.median), _median),
}
for _name, (_natives, _at) in _STATISTICS.items():
    for _native in _natives:
        _of_rows(_native, _name, _at)


def _of_place(native: Any, whole: int) -> None:
    """np.quantile and np.percentile."""

    def handler(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
        rows = rows_of(m, arguments[0]) if arguments and m.by_cases else None
        if not isinstance(rows, Rows):
            return m.publicly(native, *arguments, **named)
        _, q = given(arguments, named, "a", "q")
        if not is_number(q) or not 0 <= q <= whole:
            raise Unread("several quantiles at once: ask for one at a time")
        share = Fraction(str(float(q))) / whole
        return _statistic(m, rows, f"quantile {float(share)}", lambda v: _quantile(v, share))

    FUNCTIONS[native] = handler


_of_place(np.quantile, 1)
_of_place(np.percentile, 100)


@dataclass(eq=False)
class OrderedRecords(Object):
    """sorted(x): one of them, at a place that does not depend on the data, is a statistic."""

    each: Rows
    descending: bool = False
    words = "the sorted records: use sums, or one order statistic"

    def length(self, m: Any) -> Any:
        return m.length_of(self.each)

    def rank_of(self, m: Any, number: Any, side: str) -> Any:
        if self.descending:
            raise self.refused("a place among falling numbers")
        return bounded_statistics.number_below(m, self.each, number, side)

    def item(self, m: Any, index: Any) -> Any:
        text, at = _place(m, index)
        down = self.descending
        return _statistic(
            m,
            self.each,
            f"entry {text} in {'descending' if down else 'ascending'} order",
            lambda values: sorted(values, reverse=down)[int(at(len(values)))],
        )


def _place(m: ContributionMachine, index: Any) -> tuple[str, Callable[[int], Any]]:
    """A place that both runs know: a number, or one that is computed from how many there are."""
    if is_number(index):
        return str(int(index)), lambda _: int(index)
    if isinstance(index, SymbolicForm) and (not index.terms or _of_length(m, index)):
        slope = index.terms[0][1] if index.terms else Fraction(0)
        return f"{slope}·n + {index.constant}", lambda n: slope * n + index.constant
    recipe = index.recipe if isinstance(index, PublicValue) else None
    if isinstance(index, SymbolicForm) and len(index.terms) == 1 and not index.constant:
        ((symbol, c),) = index.terms
        node = m.terms.nodes[symbol]
        recipe = m.recipes.get(node[1]) if node[0] == "pub" and c == 1 else None
        if recipe is None and node[0] in ("div", "mul"):
            how = operator.truediv if node[0] == "div" else operator.mul
            recipe = Recipe(how, (node[1].times(c), node[2]))
    if isinstance(recipe, Recipe) and not recipe.named and recipe.function in _PUBLIC:
        parts = [_place(m, a) for a in recipe.arguments]
        name = f"{recipe.function.__name__}({', '.join(text for text, _ in parts)})"
        return name, lambda n: recipe.function(*(at(n) for _, at in parts))
    raise Unread("this part of the sorted records: take one at a public place")


def _of_length(m: ContributionMachine, form: SymbolicForm) -> bool:
    """Whether it is an affine function of the public number of records."""
    return isinstance(m.public_length, SymbolicForm) and form.symbols == m.public_length.symbols


_PUBLIC = (operator.floordiv, operator.truediv, operator.mul, operator.add, operator.sub, int)


def _sorted(native: Any) -> None:
    before = FUNCTIONS.get(native)

    def handler(m: ContributionMachine, arguments: _Arguments, named: _Named) -> Any:
        rows = rows_of(m, arguments[0]) if len(arguments) == 1 and m.by_cases else None
        if not isinstance(rows, Rows) or named.keys() - {"reverse"}:
            if before is None:
                return m.publicly(native, *arguments, **named)
            return before(m, arguments, named)
        return OrderedRecords(rows, bool(named.get("reverse", False)))

    FUNCTIONS[native] = handler


_sorted(builtins.sorted)
_sorted(np.sort)
