"""DataFrames that a function makes to give them away: public columns, a public number of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpest.reading.contributions.arithmetic import is_number, is_plain
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.frames.groups import Labelled
from dpest.reading.contributions.values import Bound, Map, Object, Rows, Seq, SmallArray


@dataclass(eq=False)
class Sheet(Object):
    """A DataFrame of values that are not the data, one list for each column."""

    columns: dict[str, list[Any]]
    labels: tuple[Any, ...]
    shared: bool = False  # it is from outside of the run, and not to be changed
    words = "a DataFrame of results"

    def length(self, m: Any) -> Any:
        return len(self.labels)

    def item(self, m: Any, index: Any) -> Any:
        if isinstance(index, Seq) and index.rows is None and set(index.items) <= set(self.columns):
            return Sheet({name: list(self.columns[name]) for name in index.items}, self.labels)
        if not (isinstance(index, str) or is_number(index)) or index not in self.columns:
            raise Unread(f"no column {index!r}")
        return Labelled(self.labels, list(self.columns[index]), index)

    def set_item(self, m: Any, index: Any, value: Any) -> None:
        if m.record is not None or m.key is not None or not isinstance(index, str):
            raise Unread("a DataFrame of results that is changed for each record")
        if self.shared:
            raise Unread("a DataFrame from outside of the function that is changed")
        made = sheet(m, {index: value}, None)
        own = isinstance(value, Labelled)
        if len(made.labels) != len(self.labels) or (own and made.labels != self.labels):
            raise Unread("a column with other labels: pandas aligns it first")
        self.columns[index] = made.columns[index]

    def state(self) -> dict[str, Any]:
        return self.columns

    def restore(self, state: dict[str, Any]) -> None:
        self.columns = dict(state)

    def operate(self, m: Any, op: str, a: Any, b: Any) -> Any:
        shape = (len(self.labels), len(self.columns))
        found = m.binary(op, *(self._cells(v, shape) for v in (a, b)))
        if not isinstance(found, SmallArray) or found.shape != shape:
            raise Unread("a DataFrame with values of another shape")
        rows = zip(self.columns, range(shape[1]), strict=True)
        return Sheet({k: found.cells[i :: shape[1]] for k, i in rows}, self.labels)

    def _cells(self, value: Any, shape: tuple[int, int]) -> Any:
        """A DataFrame of the same labels as an array of rows; other values as they are."""
        if isinstance(value, Sheet):
            if value.labels != self.labels or list(value.columns) != list(self.columns):
                raise Unread("DataFrames with different labels: pandas aligns them first")
            rows = zip(*value.columns.values(), strict=True)
            return SmallArray(shape, [cell for row in rows for cell in row])
        if isinstance(value, SmallArray) and value.shape != shape:
            raise Unread("a DataFrame with an array of another shape")
        if isinstance(value, (SmallArray, SymbolicForm)) or is_number(value):
            return value
        raise Unread(f"a DataFrame with {type(value).__name__}")

    def attribute(self, m: Any, name: str) -> Any:
        import pandas

        if name in self.columns and not hasattr(pandas.DataFrame, name):
            return self.item(m, name)
        if name == "columns":
            return Seq(list(self.columns))
        if name == "shape":
            return (len(self.labels), len(self.columns))
        if name == "index":
            return Seq(list(self.labels))
        if name == "values":
            return self._cells(self, (len(self.labels), len(self.columns)))
        if name in ("loc", "at"):
            return SheetCells(self)
        return Bound(self, name)

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        if name == "to_numpy" and not arguments and not named:
            return self.attribute(m, "values")
        if name in ("copy", "merge", "set_index", "rename"):
            return SHEET_METHODS[name](self, m, arguments, named)
        if name in ("clip", "round", "astype", "fillna"):
            found = {k: self.item(m, k).call(m, name, arguments, named) for k in self.columns}
            return Sheet({k: list(v.held) for k, v in found.items()}, self.labels)
        if name != "to_dict":
            raise self.refused(f"the method `{name}`")
        (orient,) = given(arguments, named, "orient", orient="dict")
        if orient == "list":
            return Map({k: Seq(list(v)) for k, v in self.columns.items()})
        if orient == "records":
            rows = zip(*self.columns.values(), strict=True)
            return Seq([Map(dict(zip(self.columns, row, strict=True))) for row in rows])
        raise Unread("a dict of a DataFrame that is neither of lists nor of records")

    def release(self, m: Any) -> Any:
        columns = {k: [m.release(v) for v in values] for k, values in self.columns.items()}
        return Sheet(columns, self.labels)


SheetMethod = Callable[[Sheet, Any, list[Any], dict[str, Any]], Any]
SHEET_METHODS: dict[str, SheetMethod] = {}
"""The methods that `merging` knows."""


@dataclass(eq=False)
class SheetCells(Object):
    """table.loc[row, column], table.at[row, column]: one cell by its labels."""

    owner: Sheet
    words = "cells of a DataFrame of results"

    def item(self, m: Any, index: Any) -> Any:
        if not isinstance(index, tuple) or len(index) != 2 or not all(map(is_plain, index)):
            raise self.refused("more than one cell")
        row, column = index
        if row not in self.owner.labels or column not in self.owner.columns:
            raise Unread("a cell that a DataFrame does not have")
        return self.owner.columns[column][self.owner.labels.index(row)]


def sheet(m: Any, items: Mapping[Any, Any], index: Any) -> Sheet:
    """pd.DataFrame({"city": CITIES, "count": noisy}), of values that are not the data."""
    columns: dict[str, list[Any]] = {}
    labels: tuple[Any, ...] | None = None
    for name, value in items.items():
        if not isinstance(name, str) or isinstance(value, Rows):
            raise Unread("a DataFrame of the data and of other values")
        if isinstance(value, Labelled):
            if labels is not None and labels != value.labels:
                raise Unread("Series with different labels: pandas aligns them first")
            labels = value.labels
            columns[name] = list(value.cells().cells)
        elif isinstance(value, (Seq, tuple, SmallArray)):
            columns[name] = m.listed(value)
        else:
            raise Unread(f"a DataFrame of {type(value).__name__}")
    sizes = {len(v) for v in columns.values()}
    if len(sizes) != 1 or any(isinstance(c, SmallArray) for v in columns.values() for c in v):
        raise Unread("a DataFrame of columns of different lengths")
    (size,) = sizes
    if index is not None:
        known = m.listed(index)
        if labels is not None or len(known) != size or not all(map(is_plain, known)):
            raise Unread("a DataFrame whose labels are not plain")
        labels = tuple(known)
    return Sheet(columns, labels if labels is not None else tuple(range(size)))
