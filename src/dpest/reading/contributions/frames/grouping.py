"""frame.groupby(field): records in groups, and tables of their totals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpest.reading.contributions.calling import given
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.frames.groups import Totals, counted, is_absent, public_labels
from dpest.reading.contributions.frames.sheets import Sheet
from dpest.reading.contributions.values import Bound, Map, Object, Rows, Seq


@dataclass(eq=False)
class Groups(Object):
    """frame.groupby(field), perhaps with one column chosen, or several."""

    keys: Rows
    name: Any
    columns: Mapping[str, Rows]
    chosen: str | tuple[str, ...] | None = None
    words = "groups of the data"

    def item(self, m: Any, index: Any) -> Any:
        names = tuple(m.listed(index)) if isinstance(index, Seq) else (index,)
        known = all(isinstance(n, str) and n in self.columns for n in names)
        if not known or not names or self.chosen is not None:
            raise Unread("a column of groups that is not known")
        return Groups(
            self.keys, self.name, self.columns, names if isinstance(index, Seq) else index
        )

    def attribute(self, m: Any, name: str) -> Any:
        import pandas

        known = hasattr(pandas.api.typing.DataFrameGroupBy, name)
        if name in self.columns and self.chosen is None and not known:
            return self.item(m, name)
        return Bound(self, name)

    def iterate(self, m: Any) -> Any:
        raise Unread("a loop over the groups that occur in the data: their keys are private")

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        if name in ("agg", "aggregate"):
            return self._aggregated(m, arguments, named)
        if name == "size" or isinstance(self.chosen, str):
            given(arguments, named)
            return self._total(m, name, self.chosen if isinstance(self.chosen, str) else None)
        if self.chosen is None:
            raise Unread(f"`{name}` of groups of the data")
        given(arguments, named)
        return GroupTotals({column: self._total(m, name, column) for column in self.chosen})

    def _aggregated(self, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
        """agg("sum"), agg({"income": "sum"}), agg(n=("income", "size"), …)."""
        if len(arguments) == 1 and not named and isinstance(arguments[0], str):
            return self.call(m, arguments[0], [], {})
        asked: dict[str, Any] = dict(named)
        if len(arguments) == 1 and not named and isinstance(arguments[0], Map):
            asked = {column: (column, how) for column, how in arguments[0].items.items()}
        elif arguments and not (isinstance(self.chosen, str) and asks_list(arguments, named)):
            raise Unread("`agg` of groups of the data by several functions")
        if isinstance(self.chosen, str) and asks_list(arguments, named):
            return GroupTotals(
                {how: self._total(m, how, self.chosen) for how in arguments[0].items}
            )
        if self.chosen is not None or not asked:
            raise Unread("`agg` of chosen columns of groups of the data")
        found = {}
        for name, what in asked.items():
            if not isinstance(what, tuple) or len(what) != 2 or not isinstance(what[1], str):
                raise Unread("`agg` of groups of the data by a function")
            found[name] = self._total(m, what[1], what[0])
        return GroupTotals(found)

    def _total(self, m: Any, how: str, column: Any) -> Totals:
        if how == "size":
            return counted(m, self.keys, m.per_record(lambda _: 1, self.keys), None, self.name)
        if how not in ("sum", "count") or column not in self.columns:
            raise Unread(f"`{how}` of groups of the data")
        rows = self.columns[column]
        if how == "count":
            rows = m.per_record(lambda v: int(not is_absent(v)), rows)
        return counted(m, self.keys, rows, column, self.name)


def asks_list(arguments: list[Any], named: dict[str, Any]) -> bool:
    """Whether `agg` is given a list of names: agg(["sum", "count"])."""
    one = arguments[0] if len(arguments) == 1 and not named else None
    return isinstance(one, Seq) and one.rows is None and all(isinstance(n, str) for n in one.items)


@dataclass(eq=False)
class GroupTotals(Object):
    """A DataFrame with totals for each group that occurs; which these are is private.

    `filled`: the public labels that it was given, where absent groups are still NaN.
    """

    columns: dict[str, Totals]
    filled: tuple[Any, ...] | None = None
    words = "a DataFrame by groups of the data, whose labels are private: reindex it by public ones"

    def item(self, m: Any, index: Any) -> Any:
        if index not in self.columns or self.filled is not None:
            raise self.refused("an item")
        return self.columns[index]

    def attribute(self, m: Any, name: str) -> Any:
        return Bound(self, name)

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        if name == "fillna" and self.filled is not None:
            (value,) = given(arguments, named, "value")
            return self._sheet(public_labels(m, Seq(list(self.filled)), value))
        if name != "reindex" or self.filled is not None:
            raise self.refused(f"the method `{name}`")
        labels, fill = given(arguments, named, "index", "fill_value", fill_value=math.nan)
        known = public_labels(m, labels, fill)
        return self._sheet(known) if fill == 0 else GroupTotals(self.columns, tuple(known))

    def _sheet(self, labels: list[Any]) -> Sheet:
        columns = {k: [t.total(label) for label in labels] for k, t in self.columns.items()}
        return Sheet(columns, tuple(labels))

    def release(self, m: Any) -> Any:
        raise Unread("a DataFrame is released whose labels are the groups of the data")


__all__ = ["GroupTotals", "Groups"]
