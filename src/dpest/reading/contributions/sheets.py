"""DataFrames that a function makes to give them away: public columns, a public number of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpest.reading.contributions.arithmetic import is_plain
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.groups import Labelled
from dpest.reading.contributions.values import Bound, Map, Object, Rows, Seq, SmallArray


@dataclass(eq=False)
class Sheet(Object):
    """A DataFrame of values that are not the data, one list for each column."""

    columns: dict[str, list[Any]]
    labels: tuple[Any, ...]
    words = "a DataFrame of results"

    def length(self, m: Any) -> Any:
        return len(self.labels)

    def item(self, m: Any, index: Any) -> Any:
        if not isinstance(index, str) or index not in self.columns:
            raise Unread(f"no column {index!r}")
        return Labelled(self.labels, list(self.columns[index]), index)

    def attribute(self, m: Any, name: str) -> Any:
        if name == "columns":
            return Seq(list(self.columns))
        if name == "shape":
            return (len(self.labels), len(self.columns))
        return Bound(self, name)

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
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
