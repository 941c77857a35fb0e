"""DataFrames of pandas with a row per record; their columns by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpest.reading.contributions.arithmetic import is_number
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.frames.groups import Labelled
from dpest.reading.contributions.frames.series import Labels, Located, Series
from dpest.reading.contributions.values import Bound, Object, PlainIterator, Rows, Seq


@dataclass(eq=False)
class RowLabels(Object):
    """frame.index: how many there are, and nothing else."""

    held: Rows
    words = "the labels of the rows"

    def length(self, m: Any) -> Any:
        return m.length_of(self.held)

    def attribute(self, m: Any, name: str) -> Any:
        if name == "size":
            return m.length_of(self.held)
        raise self.refused(f"the attribute `{name}`")


FrameMethod = Callable[["RecordFrame", Any, list[Any], dict[str, Any]], Any]
FRAME_METHODS: dict[str, FrameMethod] = {}
"""The methods that `frame_methods` knows."""


@dataclass(eq=False)
class RecordFrame(Object):
    """A DataFrame with a row per record; its columns by name."""

    columns: dict[str, Rows]
    labels: Labels = field(default_factory=Labels)
    words = "a DataFrame"

    def state(self) -> dict[str, Any]:
        return self.columns

    def restore(self, state: dict[str, Any]) -> None:
        self.columns = dict(state)

    def series(self, name: Any) -> Series:
        if not isinstance(name, str) or name not in self.columns:
            raise Unread(f"no column {name!r}")
        return Series(self.columns[name], self.labels, name)

    @property
    def first(self) -> Rows:
        if not self.columns:
            raise Unread("a DataFrame without columns")
        return next(iter(self.columns.values()))

    def with_columns(self, columns: Mapping[str, Rows]) -> RecordFrame:
        return RecordFrame({k: Rows(v.cases, True) for k, v in columns.items()}, self.labels)

    def length(self, m: Any) -> Any:
        return m.length_of(self.first)

    def iterate(self, m: Any) -> Any:
        return PlainIterator.over(self.columns)

    def contains(self, m: Any, value: Any) -> bool:
        if not isinstance(value, str):
            raise self.refused("`in`")
        return value in self.columns

    def item(self, m: Any, index: Any) -> Any:
        if isinstance(index, str):
            return self.series(index)
        if isinstance(index, Seq) and index.rows is None and not index.bag:
            if len(set(index.items)) < len(index.items):
                raise Unread("a column that is taken twice")
            return self.with_columns({n: self.series(n).held for n in index.items})
        if isinstance(index, (Series, Rows)):
            mask = Series(self.first, self.labels).beside(index)
            return self.with_columns({n: m.rows_item(r, mask) for n, r in self.columns.items()})
        raise Unread("the place, or the label, of a record")

    def set_item(self, m: Any, index: Any, value: Any) -> None:
        if m.record is not None or m.key is not None:
            raise Unread("a DataFrame that is changed for each record")
        if not isinstance(index, str):
            raise Unread("rows of a DataFrame that are changed in place")
        self.columns[index] = self._column(m, value)

    def _column(self, m: Any, value: Any) -> Rows:
        beside = Series(self.first, self.labels).beside(value)
        found = m.carried(lambda _, v: v, self.first, beside)
        return Rows(found.cases, True)

    def attribute(self, m: Any, name: str) -> Any:
        import pandas

        if name == "index":
            return RowLabels(self.first)
        if name in self.columns and not hasattr(pandas.DataFrame, name):
            return self.series(name)
        if name == "shape":
            return (self.length(m), len(self.columns))
        if name == "columns":
            return Seq(list(self.columns))
        if name == "loc":
            return Located(self)
        if name == "values":
            return FRAME_METHODS["to_numpy"](self, m, [], {})
        return Bound(self, name)

    def operate(self, m: Any, op: str, a: Any, b: Any) -> Any:
        if not (is_number(a) or is_number(b)):
            raise Unread(f"`{op}` of a DataFrame and of more than a number")
        found = {}
        for name in self.columns:
            s = self.series(name)
            found[name] = s.operate(m, op, s if a is self else a, s if b is self else b).held
        return self.with_columns(found)

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        if name in _BY_COLUMN:
            return self.with_columns(
                {n: self.series(n).call(m, name, arguments, named).held for n in self.columns}
            )
        if name in ("sum", "mean", "count"):
            axis = named.pop("axis", 0)
            if axis not in (0, "index"):
                raise Unread(f"{name} over the columns")
            cells = [self.series(n).call(m, name, arguments, named) for n in self.columns]
            return Labelled(tuple(self.columns), cells)
        method = FRAME_METHODS.get(name)
        if method is None:
            raise self.refused(f"the method `{name}`")
        return method(self, m, arguments, named)

    def release(self, m: Any) -> Any:
        raise Unread("a DataFrame with a row for each record is released")


_BY_COLUMN = ("clip", "fillna", "abs", "astype", "isna", "isnull", "notna", "notnull")
