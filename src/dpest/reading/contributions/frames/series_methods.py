"""What pandas' methods do with a Series of the data."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dpest.reading.contributions.arithmetic import is_number, is_plain
from dpest.reading.contributions.calling import given, on_record
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.frames.grouping import Groups
from dpest.reading.contributions.frames.groups import Labelled, counted
from dpest.reading.contributions.frames.missing import absent, count, mean, require_number, summed
from dpest.reading.contributions.frames.series import SERIES_METHODS, Series
from dpest.reading.contributions.persons import is_user, may_be_absent, once
from dpest.reading.contributions.values import Combined, KeyCounts, Map, RecordTruth, Rows, Seq

FLOAT_TYPES = (float, "float", "float64", "f8")


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
    if isinstance(function, Labelled):
        function = function.call(m, "to_dict", [], {})
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
        if kind in FLOAT_TYPES:
            if absent(x):
                return x
            return m.tidy(m.form(require_number(x)))
        if isinstance(x, (bool, RecordTruth, Combined)):
            return m.form(x)
        return m.call(int, [x], {})

    if kind not in (*FLOAT_TYPES, int, "int", "int64"):
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
    if dtype is not None and dtype not in FLOAT_TYPES:
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


def _groupby(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    """series.groupby(other column of the same frame)."""
    by, _, _, dropped = given(
        arguments, named, "by", "observed", "sort", "dropna",
        observed=True, sort=True, dropna=True,
    )  # fmt: skip
    if not isinstance(by, Series) or by.labels is not s.labels or dropped is not True:
        raise Unread("groups by something that is no column of the same frame")
    if is_user(by.held):
        raise Unread("groups by person of a column alone: group the DataFrame")
    name = s.name if isinstance(s.name, str) else "value"
    return Groups(by.held, by.name, {name: s.held}, name)


def _copy(s: Series, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named, "deep", deep=True)
    return s


SERIES_METHODS.update({
    "sum": _sum, "mean": _mean, "count": _count, "clip": _clip, "fillna": _fillna,
    "between": _between, "isin": _isin, "map": _map, "apply": _apply, "astype": _astype,
    "abs": _abs, "isna": _isna, "isnull": _isna, "notna": _notna, "notnull": _notna,
    "dropna": _dropna, "where": _where, "mask": _mask, "to_numpy": _to_numpy,
    "tolist": _to_list, "to_list": _to_list, "value_counts": _value_counts, "copy": _copy,
    "nunique": _nunique, "unique": _unique, "median": _order_statistic(np.median),
    "quantile": _order_statistic(np.quantile), "max": _order_statistic(np.max),
    "min": _order_statistic(np.min), "groupby": _groupby,
})  # fmt: skip
