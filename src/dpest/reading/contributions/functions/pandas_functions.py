"""Functions of pandas itself: how frames and Series are made, and tests for missing values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from dpest.reading.contributions.arithmetic import is_number, is_plain
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.frames.crossing import crosstab
from dpest.reading.contributions.frames.frame import RecordFrame
from dpest.reading.contributions.frames.groups import Labelled
from dpest.reading.contributions.frames.missing import absent
from dpest.reading.contributions.frames.series import Labels, Series
from dpest.reading.contributions.frames.sheets import Sheet, sheet
from dpest.reading.contributions.shapes import Record
from dpest.reading.contributions.values import Map, Object, Option, Rows, Seq, SmallArray

Handler = Callable[[Any, list[Any], dict[str, Any]], Any]


def pandas_entry(function: Any) -> Handler | None:
    """What a function of pandas does here; None for functions of others."""
    if str(getattr(function, "__module__", None) or "").split(".")[0] != "pandas":
        return None
    name = str(getattr(function, "__name__", ""))
    known = _KNOWN.get(name)
    if known is None:
        raise Unread(f"pandas.{name} is not known here")
    return known


def _rows_of(value: Any) -> Rows | None:
    if isinstance(value, Object):
        return value.rows()
    if isinstance(value, Seq):
        return value.rows
    return value if isinstance(value, Rows) else None


def _frame(m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    data, columns, index = given(
        arguments, named, "data", "columns", "index", data=None, columns=None, index=None
    )
    names = None if columns is None else m.listed(columns)
    if isinstance(data, RecordFrame):
        return RecordFrame(dict(data.columns), data.labels)
    if isinstance(data, Map) and data.known:
        if names is not None:
            raise Unread("a DataFrame of some columns of a dict")
        if data.items and all(_rows_of(v) is None for v in data.items.values()):
            return sheet(m, data.items, index)
        if index is not None:
            raise Unread("a DataFrame of the data with labels of its own")
        return _by_columns(m, data.items)
    if index is not None:
        raise Unread("a DataFrame of the data with labels of its own")
    rows = _rows_of(data)
    if rows is None:
        raise Unread("a DataFrame of values that are not the data")
    return _by_rows(m, rows, names)


def _by_columns(m: Any, items: dict[Any, Any]) -> Any:
    found = {}
    labels: Labels | None = None
    for name, value in items.items():
        rows = _rows_of(value)
        if rows is None or not isinstance(name, str):
            raise Unread("a DataFrame of values that are not the data")
        if isinstance(value, Series):
            if labels is not None and labels is not value.labels:
                raise Unread("Series with different labels: pandas aligns them first")
            labels = value.labels
        found[name] = Rows(rows.cases, True)
    if not found:
        raise Unread("a DataFrame without columns")
    if labels is None and not all(r.whole for r in found.values()):
        labels = Labels()  # numbered anew: they are not those of the records
    m.carried(lambda *v: None, *found.values())  # they must hold the same records
    return RecordFrame(found, labels or Labels())


def _by_rows(m: Any, rows: Rows, names: list[Any] | None) -> Any:
    present = [c.element for c in rows.cases if c.present]
    if not present:
        raise Unread("a DataFrame of no record")
    keys = _keys(present[0], names)
    if any(_keys(e, names) != keys for e in present):
        raise Unread("a DataFrame of records with different fields")
    columns = {}
    for k, key in enumerate(keys):
        part = m.carried(lambda e, k=k: _parts(e)[k], rows)
        columns[key] = Rows(part.cases, True)
    return RecordFrame(columns, Labels())


def _keys(element: Any, names: list[Any] | None) -> list[str]:
    if isinstance(element, Map):
        found = list(element.items)
        if names is not None and names != found:
            raise Unread("a DataFrame of some fields of the records")
    elif isinstance(element, Record):
        found = list(element.fields)
        if names is not None and len(names) == len(found) and element.placed:
            found = names
    elif isinstance(element, (tuple, SmallArray, SymbolicForm, Option)) and names is not None:
        found = names
    else:
        raise Unread("a DataFrame of records without names")
    if len(found) != len(_parts(element)) or not all(isinstance(n, str) for n in found):
        raise Unread("a DataFrame whose columns are not the fields of its records")
    return found


def _parts(element: Any) -> list[Any]:
    if isinstance(element, Map):
        return list(element.items.values())
    if isinstance(element, Record):
        return list(element.fields.values())
    if isinstance(element, tuple):
        return list(element)
    return list(element.cells) if isinstance(element, SmallArray) else [element]


def _is_of_type(m: Any, rows: Rows, dtype: Any) -> bool:
    """Whether values are what a type says they are to become: nothing is changed then."""
    elements = [c.element for c in rows.cases if c.present]
    if dtype in (object, "object", str, "str"):
        return all(isinstance(e, Option) and _all_text(e) for e in elements)
    if dtype in (float, "float", "float64"):
        return all(isinstance(e, SymbolicForm) for e in elements)
    return dtype in (int, "int", "int64") and all(m.is_whole(e) for e in elements)


def _all_text(option: Option) -> bool:
    return all(isinstance(v, str) for v in option.values)


def _series(m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    data, index, dtype, name = given(
        arguments, named, "data", "index", "dtype", "name",
        data=None, index=None, dtype=None, name=None,
    )  # fmt: skip
    rows = _rows_of(data)
    if dtype is not None and (rows is None or not _is_of_type(m, rows, dtype)):
        raise Unread("a Series of another type")
    if rows is not None:
        if index is not None:
            raise Unread("a Series of the data with labels of its own")
        if isinstance(data, Series):
            return data
        return Series(Rows(rows.cases, True), Labels(), name)
    if isinstance(data, Map) and data.known and not data.frozen and index is None:
        return Labelled(tuple(data.items), list(data.items.values()), name)
    if index is None:
        raise Unread("a Series without labels that are public")
    labels = m.listed(index)
    if is_number(data):
        cells = [data] * len(labels)
    else:
        cells = m.listed(data)
    if len(cells) != len(labels) or not all(map(is_plain, labels)):
        raise Unread("a Series whose labels are not plain, or not as many as its values")
    return Labelled(tuple(labels), cells, name)


def _isna(m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "obj")
    if isinstance(value, Series):
        return value.call(m, "isna", [], {})
    if isinstance(value, SymbolicForm) or is_plain(value):
        return absent(value)
    raise Unread("a test for missing values of something that is no Series")


def _notna(m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    found = _isna(m, arguments, named)
    return not found if isinstance(found, bool) else found.unary(m, "~")


def _cut(m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    """pd.cut(series, bins, labels=…): one of the public labels, or missing outside of the bins."""
    value, bins, right, labels, lowest = given(
        arguments, named, "x", "bins", "right", "labels", "include_lowest",
        right=True, labels=None, include_lowest=False,
    )  # fmt: skip
    if not isinstance(value, Series) or labels is None or isinstance(labels, bool):
        raise Unread("pd.cut without labels, or of something that is no column")
    edges, names = m.listed(bins), m.listed(labels)
    if not all(map(is_number, edges)) or edges != sorted(set(edges)):
        raise Unread("pd.cut at edges that are not plain numbers in order")
    if (
        len(names) != len(edges) - 1
        or not all(map(is_plain, names))
        or len(set(names)) < len(names)
    ):
        raise Unread("pd.cut with labels that are not plain, or not as many as bins")
    if not isinstance(right, bool) or not isinstance(lowest, bool):
        raise Unread("pd.cut with other options")

    def one(x: Any) -> Any:
        if absent(x) or not m.decide(m.compare(_first(right, lowest), x, edges[0])):
            return math.nan
        for name, edge in zip(names, edges[1:], strict=True):
            if m.decide(m.compare("<=" if right else "<", x, edge)):
                return name
        return math.nan

    found = value.each(m, one)
    return Series(found.held, found.labels, found.name, tuple(names))


def _first(right: bool, lowest: bool) -> str:
    return ">" if right and not lowest else ">="


def _categorical(m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    """pd.Categorical(column, categories=…): values that are none of them are missing."""
    value, categories, _ = given(
        arguments, named, "values", "categories", "ordered", categories=None, ordered=None
    )
    if not isinstance(value, Series) or categories is None:
        raise Unread("pd.Categorical without categories, or of something that is no column")
    names = m.listed(categories)
    if not all(map(is_plain, names)) or len(set(names)) < len(names):
        raise Unread("categories that are not plain, or not different")

    def one(x: Any) -> Any:
        for name in names:
            if not absent(x) and m.decide(m.compare("==", x, name)):
                return name
        return math.nan

    found = value.each(m, one)
    return Series(found.held, Labels(), found.name, tuple(names))


def _of_frame(m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
    """pd.merge(frame, …) is frame.merge(…)."""
    if not arguments or not isinstance(arguments[0], (RecordFrame, Sheet)):
        raise Unread(f"pd.{name} of something that is no DataFrame")
    return arguments[0].call(m, name, arguments[1:], named)


def _product(m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    """pd.MultiIndex.from_product([A, B]): all pairs of public labels."""
    parts, _ = given(arguments, named, "iterables", "names", names=None)
    lists = [m.listed(part) for part in m.listed(parts)]
    if not all(is_plain(v) for part in lists for v in part):
        raise Unread("labels that are not plain")
    return Seq(list(itertools.product(*lists)))


_KNOWN: dict[str, Handler] = {
    "Categorical": _categorical,
    "crosstab": crosstab,
    "pivot_table": lambda m, arguments, named: _of_frame(m, "pivot_table", arguments, named),
    "merge": lambda m, arguments, named: _of_frame(m, "merge", arguments, named),
    "from_product": _product,
    "cut": _cut,
    "DataFrame": _frame,
    "Series": _series,
    "isna": _isna,
    "isnull": _isna,
    "notna": _notna,
    "notnull": _notna,
}
