"""What pandas' methods do with a DataFrame of the data."""

from __future__ import annotations

from keyword import iskeyword
from typing import Any

from dpest.reading.contributions.arithmetic import is_number, is_plain
from dpest.reading.contributions.calling import given, on_record
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.frames.crossing import paired, pivot_table
from dpest.reading.contributions.frames.frame import FRAME_METHODS, RecordFrame
from dpest.reading.contributions.frames.grouping import Groups
from dpest.reading.contributions.frames.groups import Labelled
from dpest.reading.contributions.frames.merging import merged
from dpest.reading.contributions.frames.missing import absent
from dpest.reading.contributions.frames.people import PersonGroups
from dpest.reading.contributions.frames.queries import mask_of
from dpest.reading.contributions.frames.series import Labels, Series
from dpest.reading.contributions.frames.series_methods import FLOAT_TYPES, scalar
from dpest.reading.contributions.persons import first_rows, is_user
from dpest.reading.contributions.shapes import joined
from dpest.reading.contributions.values import Map, Object, Rows, RowsIterator, Seq, SmallArray


def _matrix(f: RecordFrame, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    dtype, _ = given(arguments, named, "dtype", "copy", dtype=None, copy=False)
    if dtype is not None and dtype not in FLOAT_TYPES:
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
    if isinstance(by, Seq) and by.rows is None and len(by.items) == 2:
        first, second = (f.series(n) for n in by.items)
        return Groups(paired(m, first.held, second.held), None, dict(f.columns))
    key = f.series(by) if isinstance(by, str) else by
    if not isinstance(key, Series) or key.labels is not f.labels:
        raise Unread("groups by something that is no column")
    return Groups(key.held, key.name, dict(f.columns))


def _pipe(f: RecordFrame, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    if not arguments:
        raise Unread("pipe without a function")
    return m.call(arguments[0], [f, *arguments[1:]], named)


def _frame_agg(f: RecordFrame, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    """frame.agg("sum"), frame.agg({"pay": "sum", "age": "mean"})."""
    (how,) = given(arguments, named, "func")
    if isinstance(how, str):
        return f.call(m, how, [], {})
    if not isinstance(how, Map) or not how.known or not how.items:
        raise Unread("`agg` of a DataFrame by several functions")
    cells = []
    for name, one in how.items.items():
        if one not in ("sum", "mean", "count"):
            raise Unread("`agg` of a DataFrame by another function than sum, mean or count")
        cells.append(f.series(name).call(m, one, [], {}))
    return Labelled(tuple(how.items), cells)


FRAME_METHODS.update({
    "copy": _frame_copy, "assign": _assign, "to_numpy": _matrix, "iterrows": _iterrows,
    "itertuples": _itertuples, "to_dict": _to_dict, "apply": _frame_apply, "drop": _drop,
    "dropna": _frame_dropna, "drop_duplicates": _drop_duplicates, "query": _query,
    "reset_index": _reset_index, "groupby": _groupby, "pivot_table": pivot_table, "merge": merged,
    "pipe": _pipe, "agg": _frame_agg, "aggregate": _frame_agg,
})  # fmt: skip
