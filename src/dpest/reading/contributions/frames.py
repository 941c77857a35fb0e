"""DataFrames and Series of pandas with a row per record, and what pandas does with them.

A Series aligns its rows by labels. Here the labels of a row are those of its record: two Series go
together where they come from one frame (`Labels`) and hold the same records; others are refused.
Missing values are skipped by pandas' sums, means and counts, and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from keyword import iskeyword
from typing import Any

import numpy as np

from dpest.reading.contributions.arithmetic import is_number, is_plain, natively
from dpest.reading.contributions.calling import given, on_record
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.grouping import Groups
from dpest.reading.contributions.groups import Labelled, counted
from dpest.reading.contributions.persons import (
    derived,
    first_rows,
    is_user,
    may_be_absent,
    number_of,
    once,
)
from dpest.reading.contributions.queries import mask_of
from dpest.reading.contributions.shapes import joined
from dpest.reading.contributions.values import (
    Bound,
    Case,
    Combined,
    KeyCounts,
    Map,
    Object,
    PlainIterator,
    RecordPosition,
    RecordTruth,
    Rows,
    RowsIterator,
    Seq,
    SmallArray,
)

_FLOATS = (float, "float", "float64", "f8")
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_ARITHMETIC = {
    "add": "+", "sub": "-", "subtract": "-", "mul": "*", "multiply": "*", "div": "/",
    "divide": "/", "truediv": "/", "pow": "**",
}  # fmt: skip
_TEXT = ("lower", "upper", "strip", "title", "startswith", "endswith", "len")


class Labels:
    """Whose labels the rows of a frame have: equal only to itself."""


def absent(value: Any) -> bool:
    """Whether pandas takes a value of a record for missing."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def summed(m: Any, rows: Rows) -> Any:
    """Series.sum(): what is missing counts as nothing."""
    return m.sum_rows(m.per_record(lambda e: 0 if absent(e) else _number(e), rows))


def _number(value: Any) -> Any:
    if isinstance(value, (SymbolicForm, RecordTruth, Combined)) or is_number(value):
        return value
    raise Unread(f"a sum of values that are no numbers ({type(value).__name__})")


def count(m: Any, rows: Rows) -> Any:
    """Series.count(): how many are not missing."""
    if not any(may_be_absent(c.element) for c in rows.cases if c.present):
        return m.length_of(rows)
    return m.sum_rows(m.per_record(lambda e: int(not absent(e)), rows))


def mean(m: Any, rows: Rows) -> Any:
    return m.binary("/", summed(m, rows), count(m, rows))


@dataclass(eq=False)
class Series(Object):
    """A column: one value per record."""

    held: Rows
    labels: Labels
    name: Any = None
    categories: tuple[Any, ...] | None = None
    """All values that it may have, where pandas keeps them with it (pd.cut)."""
    words = "a Series of the data"

    def rows(self) -> Rows:
        return self.held

    def length(self, m: Any) -> Any:
        return m.length_of(self.held)

    def iterate(self, m: Any) -> Any:
        return RowsIterator(self.held)

    def with_rows(self, rows: Rows) -> Series:
        return Series(Rows(rows.cases, True), self.labels, self.name)

    def each(self, m: Any, function: Callable[..., Any], *others: Any) -> Series:
        """A function of each value, and of others in the same rows."""
        return self.with_rows(m.per_record(function, self.held, *map(self.beside, others)))

    def beside(self, other: Any) -> Any:
        """Another operand: of the same rows, or the same for all."""
        if isinstance(other, Series):
            if other.labels is not self.labels:
                raise Unread("Series with different labels: pandas aligns them first")
            return other.held
        if isinstance(other, Rows) and other.array:
            return other
        if (
            isinstance(other, (SymbolicForm, RecordTruth))
            or is_number(other)
            or isinstance(other, str)
        ):
            return other
        raise Unread(f"a Series of the data with {type(other).__name__}")

    # Operators -----------------------------------------------------------------------------------

    def operate(self, m: Any, op: str, a: Any, b: Any) -> Any:
        def one(x: Any, y: Any) -> Any:
            return math.nan if absent(x) or absent(y) else m.binary(op, x, y)

        return self.with_rows(m.per_record(one, self.beside(a), self.beside(b)))

    def compare(self, m: Any, op: str, a: Any, b: Any) -> Any:
        def one(x: Any, y: Any) -> Any:
            return op == "!=" if absent(x) or absent(y) else m.compare(op, x, y)

        return self.with_rows(m.per_record(one, self.beside(a), self.beside(b)))

    def unary(self, m: Any, op: str) -> Any:
        if op == "not":
            raise self.refused("the truth")
        return self.each(m, lambda x: _opposite(m, x) if op == "~" else m.unary(op, x))

    # Parts ---------------------------------------------------------------------------------------

    def item(self, m: Any, index: Any) -> Any:
        if isinstance(index, (Series, Rows)):
            return self.with_rows(m.rows_item(self.held, self.beside(index)))
        raise Unread("the place, or the label, of a record")

    def attribute(self, m: Any, name: str) -> Any:
        if name == "values":
            return self.held
        if name == "shape":
            return (m.length_of(self.held),)
        if name == "size":
            return m.length_of(self.held)
        if name == "name":
            return self.name
        if name == "loc":
            return Located(self)
        if name == "str":
            return Texts(self)
        return Bound(self, name)

    # Methods -------------------------------------------------------------------------------------

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        if name in _COMPARISONS:
            (other,) = given(arguments, named, "other")
            return self.compare(m, _COMPARISONS[name], self, other)
        if name in _ARITHMETIC:
            (other,) = given(arguments, named, "other")
            return self.operate(m, _ARITHMETIC[name], self, other)
        method = _SERIES.get(name)
        if method is None:
            raise self.refused(f"the method `{name}`")
        return method(self, m, arguments, named)

    def release(self, m: Any) -> Any:
        raise Unread("a Series with an entry for each record is released")


def _opposite(m: Any, x: Any) -> Any:
    if isinstance(x, bool) or type(x).__name__ == "bool_":
        return not x
    return m.unary("~", x)


def _skips(named: dict[str, Any]) -> None:
    """Only the default: missing values are skipped."""
    if named.get("skipna", True) is not True or named.get("numeric_only", False) not in (0, 1):
        raise Unread("a sum that doesn't skip missing values")


def _sum(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named, "axis", "skipna", axis=None, skipna=True)
    _skips(named)
    return summed(m, s.held)


def _mean(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named, "axis", "skipna", axis=None, skipna=True)
    _skips(named)
    return mean(m, s.held)


def _count(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named)
    return count(m, s.held)


def _clip(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    low, high = given(arguments, named, "lower", "upper", lower=None, upper=None)
    for end in (low, high):
        if end is not None and not (is_number(end) or isinstance(end, SymbolicForm)):
            raise Unread("a clip whose ends are not numbers")
    return s.each(m, lambda x: x if absent(x) else m.clip(x, low, high))


def _fillna(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "value")
    if not is_number(value) and not isinstance(value, str):
        raise Unread("missing values that are filled with something that is not plain")
    return s.each(m, lambda x: value if absent(x) else x)


def _between(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    low, high, inclusive = given(arguments, named, "left", "right", "inclusive", inclusive="both")
    if inclusive not in ("both", "neither", "left", "right"):
        raise Unread("between with an unknown `inclusive`")
    above = ">=" if inclusive in ("both", "left") else ">"
    below = "<=" if inclusive in ("both", "right") else "<"

    def one(x: Any) -> Any:
        if absent(x):
            return False
        return m.decide(m.compare(above, x, low)) and m.decide(m.compare(below, x, high))

    return s.each(m, one)


def _isin(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (values,) = given(arguments, named, "values")
    known = m.listed(values)
    if not all(map(is_plain, known)) or any(map(absent, known)):
        raise Unread("isin of values that are not plain")

    def one(x: Any) -> Any:
        return not absent(x) and any(m.decide(m.compare("==", x, v)) for v in known)

    return s.each(m, one)


def _map(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (function,) = given(arguments, named, "arg")
    if isinstance(function, Map):
        if function.frozen or not function.known:
            raise Unread("a mapping that is not known")
        known = dict(function.items)

        def look_up(x: Any) -> Any:
            if not is_plain(x):
                raise Unread("a look-up by a number of the data")
            return known.get(x, math.nan)

        return s.each(m, look_up)
    return _apply(s, m, [function], {})


def _apply(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (function,) = given(arguments, named, "func")
    return s.each(m, lambda x: scalar(on_record(m, function, [x])))


def scalar(value: Any) -> Any:
    """What a function of a row gave: a value of a Series, and nothing that pandas would unfold."""
    if (
        isinstance(value, (SymbolicForm, RecordTruth, Combined, str))
        or is_number(value)
        or value is None
    ):
        return value
    raise Unread(f"a function of each row that gives a {type(value).__name__}")


def _astype(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (kind,) = given(arguments, named, "dtype")

    def one(x: Any) -> Any:
        if kind in _FLOATS:
            if absent(x):
                return x
            return m.tidy(m.form(_number(x)))
        if isinstance(x, (bool, RecordTruth, Combined)):
            return m.form(x)
        return m.call(int, [x], {})

    if kind not in (*_FLOATS, int, "int", "int64"):
        raise Unread(f"numbers of the data as {kind}")
    return s.each(m, one)


def _abs(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named)
    return s.each(m, lambda x: x if absent(x) else m.absolute(x))


def _isna(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named)
    return s.each(m, absent)


def _notna(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named)
    return s.each(m, lambda x: not absent(x))


def _dropna(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named)
    return s.with_rows(m.rows_item(s.held, m.per_record(lambda x: not absent(x), s.held)))


def _where(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    truth, other = given(arguments, named, "cond", "other", other=math.nan)
    if not isinstance(truth, (Series, Rows)):
        raise Unread("where of a condition that is no mask")
    return s.each(m, lambda x, t, o: x if m.decide(t) else o, truth, other)


def _mask(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    truth, other = given(arguments, named, "cond", "other", other=math.nan)
    if not isinstance(truth, (Series, Rows)):
        raise Unread("mask of a condition that is no mask")
    return s.each(m, lambda x, t, o: o if m.decide(t) else x, truth, other)


def _to_numpy(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    dtype, _ = given(arguments, named, "dtype", "copy", dtype=None, copy=False)
    if dtype is not None and dtype not in _FLOATS:
        raise Unread(f"an array of {dtype}")
    return s.held


def _to_list(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named)
    return Seq(rows=Rows(s.held.cases, False))


def _value_counts(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    normalised, ordered, _, _, dropped = given(
        arguments, named, "normalize", "sort", "ascending", "bins", "dropna",
        normalize=False, sort=True, ascending=False, bins=None, dropna=True,
    )  # fmt: skip
    if normalised is not False or named.get("bins") is not None or dropped is not True:
        raise Unread("value_counts with other arguments than `sort`")
    ones = m.per_record(lambda _: 1, s.held)
    totals = counted(m, s.held, ones, "count", s.name)
    if s.categories is None:
        return replace(totals, order="value_counts" if ordered is not False else "first")
    return totals.of_categories(s.categories, by_count=ordered is not False)


def _nunique(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named, "dropna", dropna=True)
    if is_user(s.held):
        return m.length_of(once(s.held))
    return m.distinct(_unique(s, m, [], {}))


def _unique(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named)
    if any(may_be_absent(c.element) for c in s.held.cases) or is_user(s.held):
        raise Unread("the different values of a column that may be absent")
    return KeyCounts(s.held, counted=False)


def _order_statistic(function: Any) -> Any:
    def handler(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
        if any(may_be_absent(c.element) for c in s.held.cases):
            raise Unread("an order statistic of a column that may be absent")
        return m.call(function, [s.held, *arguments], named)

    return handler


def _copy(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named, "deep", deep=True)
    return s


_Method = Callable[[Series, Any, list[Any], dict[str, Any]], Any]
_SERIES: dict[str, _Method] = {
    "sum": _sum, "mean": _mean, "count": _count, "clip": _clip, "fillna": _fillna,
    "between": _between, "isin": _isin, "map": _map, "apply": _apply, "astype": _astype,
    "abs": _abs, "isna": _isna, "isnull": _isna, "notna": _notna, "notnull": _notna,
    "dropna": _dropna, "where": _where, "mask": _mask, "to_numpy": _to_numpy,
    "tolist": _to_list, "to_list": _to_list, "value_counts": _value_counts, "copy": _copy,
    "nunique": _nunique, "unique": _unique, "median": _order_statistic(np.median),
    "quantile": _order_statistic(np.quantile), "max": _order_statistic(np.max),
    "min": _order_statistic(np.min),
}  # fmt: skip


@dataclass(eq=False)
class Texts(Object):
    """series.str: methods of the text of each record."""

    series: Series
    words = "the texts of a Series"

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        if name not in _TEXT or named or not all(isinstance(a, str) for a in arguments):
            raise self.refused(f"the method `{name}`")

        def one(x: Any) -> Any:
            if not isinstance(x, str):
                raise Unread("a method of text on a value that is none")
            if name == "len":
                return len(x)
            return natively(lambda t, *a: getattr(t, name)(*a), x, *arguments)

        return self.series.each(m, one)


@dataclass(eq=False)
class Located(Object):
    """frame.loc or series.loc: rows by a mask, columns by name."""

    owner: Any
    words = ".loc"

    def item(self, m: Any, index: Any) -> Any:
        if isinstance(index, tuple):
            if len(index) != 2 or not isinstance(self.owner, RecordFrame):
                raise Unread("the label of a record")
            rows, columns = index
            return self._of(m, self.owner.item(m, columns), rows)
        return self._of(m, self.owner, index)

    def _of(self, m: Any, owner: Any, rows: Any) -> Any:
        if isinstance(rows, slice) and rows == slice(None):
            return owner
        if isinstance(rows, (Series, Rows)):
            return owner.item(m, rows)
        raise Unread("the label of a record")


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
            return _matrix(self, m, [], {})
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
        method = _FRAME.get(name)
        if method is None:
            raise self.refused(f"the method `{name}`")
        return method(self, m, arguments, named)

    def release(self, m: Any) -> Any:
        raise Unread("a DataFrame with a row for each record is released")


_BY_COLUMN = ("clip", "fillna", "abs", "astype", "isna", "isnull", "notna", "notnull")


def _matrix(f: RecordFrame, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    dtype, _ = given(arguments, named, "dtype", "copy", dtype=None, copy=False)
    if dtype is not None and dtype not in _FLOATS:
        raise Unread(f"an array of {dtype}")

    def row(*values: Any) -> SmallArray:
        for v in values:
            if not isinstance(v, SymbolicForm) and not is_number(v):
                raise Unread("an array of values that are no numbers")
        return SmallArray((len(values),), list(values))

    return Rows(m.per_record(row, *f.columns.values()).cases, True)


def _frame_copy(f: RecordFrame, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named, "deep", deep=True)
    return RecordFrame(dict(f.columns), f.labels)


def _assign(f: RecordFrame, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    if arguments:
        raise Unread("assign with arguments that are not named")
    found = RecordFrame(dict(f.columns), f.labels)
    for name, value in named.items():
        plain = isinstance(value, (Series, Rows)) or is_plain(value)
        found.set_item(m, name, value if plain else m.call(value, [found], {}))
    return found


def _iterrows(f: RecordFrame, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named)
    rows = _row_series(f, m)
    return RowsIterator(m.carried(lambda r: (RowLabel(), r), rows))


def _row_series(f: RecordFrame, m: Any) -> Rows:
    """Each row as a Series: row.name and row.count are its own, whatever the columns are called."""
    import pandas

    return joined(m, f.columns, named=True, hidden=pandas.Series)


class RowLabel(Object):
    """The label of a row: nothing is known of it."""

    words = "the label of a row"


def _itertuples(f: RecordFrame, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    index, name = given(arguments, named, "index", "name", index=True, name="Pandas")
    columns: dict[str, Rows] = dict(f.columns)
    if index is True:
        label = m.carried(lambda _: RowLabel(), f.first)
        columns = {"Index": Rows(label.cases, True), **columns}
    names = [n for n in columns if n.isidentifier() and not n.startswith("_") and not iskeyword(n)]
    if len(names) != len(columns):
        raise Unread("columns that are no names of a tuple")
    if name is None:
        return RowsIterator(Rows(m.carried(lambda *v: v, *columns.values()).cases, False))
    return RowsIterator(joined(m, columns, placed=True))


def _to_dict(f: RecordFrame, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (orient,) = given(arguments, named, "orient", orient="dict")
    if orient != "records":
        raise Unread("a dict of the data other than of records")
    names = list(f.columns)
    rows = m.carried(
        lambda *v: Map(dict(zip(names, v, strict=True)), frozen=True), *f.columns.values()
    )
    return Seq(rows=Rows(rows.cases, False))


def _frame_apply(f: RecordFrame, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    function, axis = given(arguments, named, "func", "axis", axis=0)
    if axis not in (1, "columns"):
        raise Unread("a function of each column")
    if not f.first.whole:
        # Of no row at all pandas makes a frame, and not a Series: somebody sees that.
        raise Unread("a function of each row of a part of the data: its shape depends on them")
    rows = m.per_record(lambda r: scalar(on_record(m, function, [r])), _row_series(f, m))
    return Series(Rows(rows.cases, True), f.labels)


def _drop(f: RecordFrame, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (columns,) = given(arguments, named, "columns")
    names = [columns] if isinstance(columns, str) else m.listed(columns)
    for name in names:
        f.series(name)
    return f.with_columns({k: v for k, v in f.columns.items() if k not in names})


def _frame_dropna(f: RecordFrame, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (subset,) = given(arguments, named, "subset", subset=None)
    names = list(f.columns) if subset is None else m.listed(subset)
    if isinstance(subset, str):
        names = [subset]
    mask = m.per_record(lambda *v: not any(map(absent, v)), *(f.series(n).held for n in names))
    return f.item(m, Rows(mask.cases, True))


def _query(f: RecordFrame, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (text,) = given(arguments, named, "expr")
    mask = mask_of(m, f, text) if isinstance(text, str) else None
    if not isinstance(mask, Series):
        raise Unread("a query that is not plain")
    return f.item(m, mask)


def _drop_duplicates(f: RecordFrame, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    subset, keep = given(arguments, named, "subset", "keep", keep="first")
    if isinstance(subset, Seq) and subset.rows is None and len(subset.items) == 1:
        (subset,) = subset.items
    if keep != "first" or not isinstance(subset, str) or not is_user(f.series(subset).held):
        raise Unread("rows that are dropped because of other rows")
    return RecordFrame(first_rows(f.columns), f.labels)


def _reset_index(f: RecordFrame, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (drop,) = given(arguments, named, "drop", drop=False)
    if drop is not True:
        raise Unread("the labels of the rows as a column")
    return RecordFrame(dict(f.columns), Labels())


@dataclass(eq=False)
class PersonGroups(Object):
    """frame.groupby(user): the rows of each person."""

    columns: Mapping[str, Rows]
    chosen: str | None = None
    words = "the rows of each person"

    def item(self, m: Any, index: Any) -> Any:
        if not isinstance(index, str) or index not in self.columns or self.chosen is not None:
            raise Unread("a column of groups that is not known")
        return PersonGroups(self.columns, index)

    def attribute(self, m: Any, name: str) -> Any:
        import pandas

        known = hasattr(pandas.api.typing.DataFrameGroupBy, name)
        if name in self.columns and self.chosen is None and not known:
            return self.item(m, name)
        return Bound(self, name)

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        if arguments or named:
            raise self.refused(f"the method `{name}` with arguments")
        rows = next(iter(self.columns.values()))
        if name == "first" and self.chosen is None:
            user = [n for n, r in self.columns.items() if is_user(r)]
            rest = {n: r for n, r in self.columns.items() if n not in user}
            if any(may_be_absent(c.element) for r in rest.values() for c in r.cases):
                raise Unread("the first values of people that are not missing")
            return RecordFrame(first_rows(rest), Labels())
        if name == "size":
            return Series(derived(m, "count", m.per_record(lambda _: 1, rows)), Labels())
        if self.chosen is None or name not in ("sum", "mean", "max", "min", "count"):
            raise self.refused(f"the method `{name}`")
        values = m.per_record(number_of, self.columns[self.chosen])
        return Series(derived(m, name, values), Labels(), self.chosen)


def _groupby(f: RecordFrame, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    by, _, _, dropped = given(
        arguments, named, "by", "observed", "sort", "dropna",
        observed=True, sort=True, dropna=True,
    )  # fmt: skip
    if dropped is not True:
        raise Unread("groups of missing values")
    if isinstance(by, str) and by in f.columns and is_user(f.columns[by]):
        return PersonGroups(dict(f.columns))
    if isinstance(by, Seq) and by.rows is None and len(by.items) == 1:
        (by,) = by.items
    key = f.series(by) if isinstance(by, str) else by
    if not isinstance(key, Series) or key.labels is not f.labels:
        raise Unread("groups by something that is no column")
    return Groups(key.held, key.name, dict(f.columns))


_FRAME: dict[str, Callable[[RecordFrame, Any, list[Any], dict[str, Any]], Any]] = {
    "copy": _frame_copy, "assign": _assign, "to_numpy": _matrix, "iterrows": _iterrows,
    "itertuples": _itertuples, "to_dict": _to_dict, "apply": _frame_apply, "drop": _drop,
    "dropna": _frame_dropna, "drop_duplicates": _drop_duplicates, "query": _query,
    "reset_index": _reset_index, "groupby": _groupby,
}  # fmt: skip

__all__ = ["Case", "Labels", "RecordFrame", "RecordPosition", "Series"]
