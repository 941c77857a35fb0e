"""Tables of totals by two fields: pd.crosstab, pivot_table, groupby([a, b]).size().unstack().

Which rows and columns there are is private: pandas lists the values that occur. So such a table can
be looked at only after `reindex` has given it public ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from dpest.reading.contributions.arithmetic import is_number
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.frames.groups import (
    PAIR_METHODS,
    Totals,
    counted,
    is_absent,
    public_labels,
)
from dpest.reading.contributions.frames.series import Series
from dpest.reading.contributions.frames.sheets import Sheet
from dpest.reading.contributions.values import Bound, Object, Rows, Seq


def paired(m: Any, first: Rows, second: Rows) -> Rows:
    """For each record both of its keys, as a pair; missing where one of them is."""
    return m.per_record(lambda a, b: (m.pinned(a), m.pinned(b)), first, second)


@dataclass(frozen=True, eq=False)
class CrossTotals(Object):
    """A total for each pair of keys that occurs; `rows`, `columns`: the public labels it was given.

    `gaps`: it is NaN where a row or a column is absent.
    """

    totals: Totals
    index: tuple[Any, ...] | None = None
    columns: tuple[Any, ...] | None = None
    gaps: bool = False
    words = "a table by two fields of the data, whose labels are private: reindex it by public ones"

    def attribute(self, m: Any, name: str) -> Any:
        return Bound(self, name)

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        if name == "reindex":
            return self._reindexed(m, arguments, named)
        if name == "fillna" and self.gaps:
            (value,) = given(arguments, named, "value")
            if not is_number(value) or value != 0:
                raise Unread("absent groups that are filled with another number than 0")
            return replace(self, gaps=False).settled()
        raise self.refused(f"the method `{name}`")

    def _reindexed(self, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
        _, index, columns, fill = given(
            arguments, named, "labels", "index", "columns", "fill_value",
            labels=None, index=None, columns=None, fill_value=math.nan,
        )  # fmt: skip
        if arguments:
            index = arguments[0]
        if index is None and columns is None:
            raise Unread("a table that is reindexed by nothing")
        found = replace(self, gaps=self.gaps or fill != fill)
        if index is not None:
            found = replace(found, index=tuple(public_labels(m, index, fill)))
        if columns is not None:
            found = replace(found, columns=tuple(public_labels(m, columns, fill)))
        return found.settled()

    def settled(self) -> Any:
        """A DataFrame of results, once nothing private is left in its labels."""
        if self.index is None or self.columns is None or self.gaps:
            return self
        cells = {b: [self.totals.total((a, b)) for a in self.index] for b in self.columns}
        return Sheet(cells, self.index)

    def release(self, m: Any) -> Any:
        raise Unread("a table is released whose labels are the groups of the data")


def unstacked(totals: Totals, arguments: list[Any], named: dict[str, Any]) -> CrossTotals:
    """totals.unstack(): the second key as columns."""
    level, fill = given(arguments, named, "level", "fill_value", level=-1, fill_value=math.nan)
    if level not in (-1, 1) or not is_number(fill) or (fill != 0 and fill == fill):
        raise Unread("`unstack` of another level than the last, or filled with another number")
    return CrossTotals(totals, gaps=fill != fill)


PAIR_METHODS["unstack"] = unstacked


def crosstab(m: Any, arguments: list[Any], named: dict[str, Any]) -> CrossTotals:
    """pd.crosstab(a, b)."""
    first, second = given(arguments, named, "index", "columns")
    if not isinstance(first, Series) or not isinstance(second, Series):
        raise Unread("a cross table of other than two columns of the data")
    keys = paired(m, first.held, first.beside(second))
    return CrossTotals(counted(m, keys, m.per_record(lambda _: 1, keys), None, None))


def _single(names: Any) -> Any:
    """A name, also where it stands in a list of one."""
    listed = isinstance(names, Seq) and names.rows is None and len(names.items) == 1
    return names.items[0] if listed else names


def pivot_table(frame: Any, m: Any, arguments: list[Any], named: dict[str, Any]) -> CrossTotals:
    """frame.pivot_table(index, columns, values, aggfunc): sums or numbers of records."""
    values, index, columns, how, fill = given(
        arguments, named, "values", "index", "columns", "aggfunc", "fill_value",
        values=None, aggfunc="mean", fill_value=None,
    )  # fmt: skip
    names = [_single(v) for v in (index, columns)]
    if how not in ("sum", "count", "size") or fill not in (None, 0):
        raise Unread("a pivot table other than of sums or of numbers of records")
    keys = paired(m, *(frame.series(n).held for n in names))
    if how == "size":
        rows = m.per_record(lambda _: 1, keys)
    elif values is None:
        raise Unread("a pivot table of all columns: say which, in values")
    else:
        column = frame.series(_single(values)).held
        counts = how == "count"
        rows = m.per_record(lambda v: int(not is_absent(v)) if counts else v, column)
    return CrossTotals(counted(m, keys, rows, None, None), gaps=fill is None)


__all__ = ["CrossTotals", "crosstab", "paired", "pivot_table", "unstacked"]
