"""Tables of results, and data beside public tables: merge, set_index, rename."""

from __future__ import annotations

import math
from typing import Any

from dpest.reading.contributions.arithmetic import is_number, is_plain
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.frames.groups import Labelled, is_absent
from dpest.reading.contributions.frames.series import Labels
from dpest.reading.contributions.frames.sheets import SHEET_METHODS, Sheet
from dpest.reading.contributions.values import Map, Rows, Seq


def merged(frame: Any, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    """data.merge(public table, on="key"): of each record, what the table says of its key.

    Every key must be in the table once at most: otherwise a record would be there several times.
    """
    right, on, how = _asked(arguments, named)
    if not isinstance(right, Sheet) or on not in right.columns:
        raise Unread("a merge of the data with other than a public table")
    others = [name for name in right.columns if name != on]
    if set(others) & set(frame.columns):
        raise Unread("a merge of tables with other columns of the same name: pandas renames them")
    table = {name: _plain_column(right, name) for name in right.columns}
    keys = _different(table[on])
    found = m.per_record(lambda k: m.pinned(k), frame.series(on).held)
    if how == "inner":
        mask = m.per_record(lambda k: k in keys, found)
        frame = frame.item(m, Rows(mask.cases, True))
        found = m.rows_item(found, mask)
    columns = dict(frame.columns)
    for name in others:
        values = dict(zip(keys, table[name], strict=True))
        rows = m.per_record(lambda k, v=values: _looked_up(v, k), found)
        columns[name] = Rows(rows.cases, True)
    return type(frame)(columns, Labels())


def _looked_up(values: dict[Any, Any], key: Any) -> Any:
    if not is_plain(key) or is_absent(key):
        raise Unread("a merge by a number of the data, or by keys that may be missing")
    return values.get(key, math.nan)


def _asked(arguments: list[Any], named: dict[str, Any]) -> tuple[Any, str, str]:
    right, how, on = given(arguments, named, "right", "how", "on", how="inner")
    if isinstance(on, Seq) and on.rows is None and len(on.items) == 1:
        (on,) = on.items
    if how not in ("left", "inner") or not isinstance(on, str):
        raise Unread("a merge other than inner or left, by one column")
    return right, on, how


def _plain_column(table: Sheet, name: str) -> list[Any]:
    column = table.columns[name]
    if not all(isinstance(v, str) or is_number(v) for v in column):
        raise Unread("a merge of the data with a table that is not plain")
    return column


def _different(keys: list[Any]) -> list[Any]:
    if len(set(keys)) != len(keys) or any(map(is_absent, keys)):
        raise Unread("a merge with a table in which a key stands twice")
    return keys


def _merged_results(left: Sheet, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    """Two tables of results by a public column, whose values are different in both."""
    right, on, how = _asked(arguments, named)
    if not isinstance(right, Sheet) or on not in left.columns or on not in right.columns:
        raise Unread("a merge of tables that are not known")
    first, second = _different(_plain_column(left, on)), _different(_plain_column(right, on))
    others = [name for name in right.columns if name != on]
    if set(others) & set(left.columns):
        raise Unread("a merge of tables with other columns of the same name: pandas renames them")
    if how == "left" and not set(first) <= set(second):
        raise Unread("a merge that leaves gaps")
    places = [i for i, key in enumerate(first) if key in second]
    columns = {name: [column[i] for i in places] for name, column in left.columns.items()}
    for name in others:
        columns[name] = [right.columns[name][second.index(first[i])] for i in places]
    return Sheet(columns, tuple(range(len(places))))


def _with_index(table: Sheet, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (name,) = given(arguments, named, "keys")
    labels = _different(_plain_column(table, name)) if name in table.columns else None
    if labels is None:
        raise Unread("labels that are no column of a table")
    return Sheet({k: list(v) for k, v in table.columns.items() if k != name}, tuple(labels))


def _renamed(table: Sheet, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (names,) = given(arguments, named, "columns")
    if not isinstance(names, Map) or not names.known:
        raise Unread("a table whose columns are renamed other than by a dict")
    found = {names.items.get(k, k): list(v) for k, v in table.columns.items()}
    if len(found) != len(table.columns) or not all(isinstance(k, str) for k in found):
        raise Unread("a table with two columns of one name")
    return Sheet(found, table.labels)


def _copied(table: Sheet, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named, "deep", deep=True)
    return Sheet({k: list(v) for k, v in table.columns.items()}, table.labels)


def public_table(value: Any, what: str) -> Any:
    """A DataFrame or Series that the program holds, as one of public values; None for others."""
    if type(value).__module__.split(".")[0] != "pandas":
        return None
    if type(value).__name__ == "Series" and _plain(value.index):
        cells = value.tolist()
        return Labelled(tuple(value.index.tolist()), cells, value.name) if _plain(cells) else None
    if type(value).__name__ == "DataFrame" and _plain(value.index):
        columns = {str(name): value[name].tolist() for name in value.columns}
        if all(isinstance(n, str) for n in value.columns) and all(map(_plain, columns.values())):
            return Sheet(columns, tuple(value.index.tolist()), shared=True)
    raise Unread(f"{what} is a table with other than numbers and texts")


def _plain(values: Any) -> bool:
    return all(isinstance(v, str) or is_number(v) for v in list(values))


SHEET_METHODS.update({
    "merge": _merged_results, "set_index": _with_index, "rename": _renamed, "copy": _copied,
})  # fmt: skip

__all__ = ["merged", "public_table"]
