"""Totals of groups of records, and Series whose labels are public.

Which groups there are is private: pandas lists those that occur, in an order of its own. So the
totals of groups can be looked up by public labels alone (`reindex`, `get`); an absent one is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from dpest.reading.contributions.arithmetic import is_number, is_plain
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.values import (
    Bound,
    Case,
    Map,
    Object,
    PlainIterator,
    PublicValue,
    Rows,
    Seq,
    SmallArray,
)

_MOST = 64


def counted(m: Any, keys: Rows, values: Rows, name: Any, index: Any) -> Totals:
    """Σ of the values by key: a sum for each key that a record may have."""
    settled = m.per_record(lambda k: k if isinstance(k, tuple) else m.pinned(k), keys)
    labels = list(dict.fromkeys(c.element for c in settled.cases if c.present and _plain_key(c)))
    if len(labels) > _MOST:
        raise Unread("groups by a field with very many values")

    def parts(key: Any, value: Any) -> SmallArray:
        cells: list[Any] = [0] * len(labels)
        if not is_absent(key):
            cells[labels.index(key)] = 0 if is_absent(value) else value
        return SmallArray((len(labels),), cells)

    if not labels:
        return Totals((), [], name, index)
    found = m.sum_rows(m.per_record(parts, settled, values))
    return Totals(tuple(labels), list(found.cells), name, index)


def public_labels(m: Any, labels: Any, fill: Any) -> list[Any]:
    """The labels of reindex, where absent groups are filled with 0 or are NaN."""
    known = m.listed(labels)
    if not all(map(is_plain, known)) or len(set(known)) != len(known):
        raise Unread("labels that are not plain, or not different")
    if not is_number(fill) or (fill != 0 and fill == fill):
        raise Unread("absent groups that are filled with another number than 0")
    return list(known)


def _plain_key(case: Any) -> bool:
    key = case.element
    if isinstance(key, tuple):
        present = [_plain_key(Case((), part)) for part in key]
        return all(present)
    if not isinstance(key, str) and not is_number(key) and not is_absent(key):
        raise Unread("groups by a field that is not one of a few values")
    return not is_absent(key)


def is_absent(value: Any) -> bool:
    if isinstance(value, tuple):  # several keys: pandas drops the record if one is missing
        return any(map(is_absent, value))
    return value is None or (isinstance(value, float) and math.isnan(value))


PAIR_METHODS: dict[str, Any] = {}
"""What `crossing` knows to do with totals by two keys."""


@dataclass(eq=False)
class Totals(Object):
    """A Series with a total for each group that occurs; those that may occur are `labels`."""

    labels: tuple[Any, ...]
    held: list[Any]
    name: Any
    index: Any
    words = "a Series by groups of the data, whose labels are private: reindex it by public ones"

    order: str = "sorted"
    """In which order the groups come: see `KeyCounts`."""
    categories: tuple[Any, ...] | None = None
    """All labels, where pandas lists those of absent groups, too; in the order of their counts."""

    def of_categories(self, labels: tuple[Any, ...], by_count: bool) -> Totals | Labelled:
        cells = [self.total(k) for k in labels]
        if by_count:
            return Totals(labels, cells, self.name, self.index, categories=labels)
        return Labelled(labels, cells, self.name, self.index)

    def total(self, label: Any) -> Any:
        return self.held[self.labels.index(label)] if label in self.labels else 0

    def iterate(self, m: Any) -> Any:
        raise Unread("a loop over the groups that occur in the data: their keys are private")

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        if name == "reindex":
            labels, fill = given(arguments, named, "index", "fill_value", fill_value=math.nan)
            known = public_labels(m, labels, fill)
            cells = [self.total(k) for k in known]
            certain = self.categories is not None and set(known) <= set(self.categories)
            gaps = fill != fill and not certain
            return Labelled(tuple(known), cells, self.name, self.index, gaps)
        if name == "get":
            label, otherwise = given(arguments, named, "key", "default", default=None)
            if not is_plain(label) or not is_number(otherwise) or otherwise != 0:
                raise Unread("a group that is absent and not 0")
            return self.total(label)
        if any(isinstance(label, tuple) for label in self.labels):
            if name in PAIR_METHODS:
                return PAIR_METHODS[name](self, arguments, named)
            if name not in ("reindex", "get", "to_dict", "sort_index", "sum"):
                raise self.refused(f"the method `{name}`")
        if name == "items" and not arguments and not named and self.categories is None:
            held = Map(dict(zip(self.labels, self.held, strict=True)), partial=set(self.labels))
            return replace(m.counts_of(held), gives="items", order=self.order)
        if name == "to_dict" and not arguments and not named:
            return self
        if name == "sort_index" and not arguments and not named:
            if self.categories is not None:
                return Labelled(self.categories, list(self.held), self.name, self.index)
            return self
        if name == "sum" and not arguments and not named:
            total: Any = 0
            for cell in self.held:
                total = m.mixed("+", total, cell)
            return total
        raise self.refused(f"the method `{name}`")

    def release(self, m: Any) -> Any:
        raise Unread("a Series is released whose labels are the groups of the data")


@dataclass(eq=False)
class Labelled(Object):
    """A Series whose labels are public. `gaps`: it is NaN where a group is absent."""

    labels: tuple[Any, ...]
    held: list[Any]
    name: Any = None
    index: Any = None
    gaps: bool = False
    words = "a Series"

    def cells(self) -> SmallArray:
        if self.gaps:
            raise Unread("a Series that is NaN where a group is absent: fill it with 0 first")
        return SmallArray((len(self.held),), list(self.held))

    def like(self, found: Any) -> Labelled:
        if not isinstance(found, SmallArray) or found.shape != (len(self.labels),):
            raise Unread("a Series with values of another length")
        return Labelled(self.labels, list(found.cells), self.name, self.index)

    def length(self, m: Any) -> Any:
        return len(self.labels)

    def iterate(self, m: Any) -> Any:
        return PlainIterator.over(self.cells().cells)

    def contains(self, m: Any, value: Any) -> bool:
        if not is_plain(value):
            raise self.refused("`in`")
        return value in self.labels

    def _beside(self, m: Any, other: Any) -> Any:
        if isinstance(other, Labelled):
            if other.labels != self.labels:
                raise Unread("Series with different labels: pandas aligns them first")
            return other.cells()
        if isinstance(other, Seq):
            return m.array(other)
        if isinstance(other, (SmallArray, SymbolicForm)) or is_number(other):
            return other
        raise Unread(f"a Series with {type(other).__name__}")

    def operate(self, m: Any, op: str, a: Any, b: Any) -> Any:
        return self.like(m.binary(op, self._beside(m, a), self._beside(m, b)))

    def compare(self, m: Any, op: str, a: Any, b: Any) -> Any:
        return self.like(m.compare(op, self._beside(m, a), self._beside(m, b)))

    def unary(self, m: Any, op: str) -> Any:
        if op == "not":
            raise self.refused("the truth")
        return self.like(m.unary(op, self.cells()))

    def item(self, m: Any, index: Any) -> Any:
        if (isinstance(index, str) or is_number(index)) and index in self.labels:
            return self.cells().cells[self.labels.index(index)]
        raise Unread("a label that a Series does not have")

    def attribute(self, m: Any, name: str) -> Any:
        if name == "values":
            return self.cells()
        if name == "index":
            return Seq(list(self.labels))
        if name in ("size", "shape"):
            return len(self.labels) if name == "size" else (len(self.labels),)
        if name == "name":
            return self.name
        if name in ("loc", "at"):
            return self
        return Bound(self, name)

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        method = _LABELLED.get(name)
        if method is None:
            raise self.refused(f"the method `{name}`")
        return method(self, m, arguments, named)

    def release(self, m: Any) -> Any:
        return Labelled(
            self.labels, [m.release(c) for c in self.cells().cells], self.name, self.index
        )


def _fillna(s: Labelled, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "value")
    if not is_number(value) or value != 0:
        raise Unread("absent groups that are filled with another number than 0")
    return Labelled(s.labels, list(s.held), s.name, s.index)


def _to_dict(s: Labelled, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named)
    return Map(dict(zip(s.labels, s.cells().cells, strict=True)))


def _items(s: Labelled, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named)
    return Seq(list(zip(s.labels, s.cells().cells, strict=True)))


def _get(s: Labelled, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    label, otherwise = given(arguments, named, "key", "default", default=None)
    return s.item(m, label) if is_plain(label) and label in s.labels else otherwise


def _clip(s: Labelled, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    low, high = given(arguments, named, "lower", "upper", lower=None, upper=None)
    if any(e is not None and not is_number(e) for e in (low, high)):
        raise Unread("a clip whose ends are not numbers")
    return s.like(s.cells().map(lambda x: m.clip(x, low, high)))


def _round(s: Labelled, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (decimals,) = given(arguments, named, "decimals", decimals=0)
    if not isinstance(decimals, int):
        raise Unread("a number of digits that is not known")
    digits = [decimals] if decimals else []
    return s.like(s.cells().map(lambda x: m.call(round, [x, *digits], {})))


def _sum(s: Labelled, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named)
    total: Any = 0
    for cell in s.cells().cells:
        total = m.mixed("+", total, cell)
    return total


def _mean(s: Labelled, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    return m.binary("/", _sum(s, m, arguments, named), len(s.labels))


def _to_numpy(s: Labelled, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named)
    return s.cells()


def _to_list(s: Labelled, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    given(arguments, named)
    return Seq(list(s.cells().cells))


def _astype(s: Labelled, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (kind,) = given(arguments, named, "dtype")
    if kind in (float, "float", "float64"):
        return s.like(s.cells())
    if kind in (int, "int", "int64"):
        return s.like(s.cells().map(lambda x: m.call(int, [x], {})))
    raise Unread(f"a Series as {kind}")


def _reindex(s: Labelled, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    (labels,) = given(arguments, named, "index")
    known = m.listed(labels)
    if set(known) - set(s.labels):
        raise Unread("labels that a Series does not have")
    cells = [s.held[s.labels.index(k)] for k in known]
    return Labelled(tuple(known), cells, s.name, s.index, s.gaps)


def _seen(s: Labelled, m: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    """What is computed from public values alone: the place of the greatest, an order."""
    for cell in s.cells().cells:
        if isinstance(cell, SymbolicForm):
            m.visible(cell)
        elif not is_plain(cell):
            raise Unread("an order of values that are not known")
    if not all(map(is_plain, (*arguments, *named.values()))):
        raise Unread("an order by something that is not plain")
    return NoisyOrder()


class NoisyOrder(Object):
    """A public Series in an order that noisy values decide, or a part of it."""

    words = "a Series in an order of its own"

    def attribute(self, m: Any, name: str) -> Any:
        return self if name == "index" else Bound(self, name)

    def call(self, m: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        if name in ("tolist", "to_list", "to_dict", "head", "tail", "round", "to_numpy"):
            if not all(map(is_plain, (*arguments, *named.values()))):
                raise self.refused(f"the method `{name}`")
            return self
        raise self.refused(f"the method `{name}`")

    def item(self, m: Any, index: Any) -> Any:
        if not is_plain(index):
            raise self.refused("an item")
        return self

    def release(self, m: Any) -> Any:
        return PublicValue()


_LABELLED: dict[str, Any] = {
    "fillna": _fillna, "to_dict": _to_dict, "items": _items, "get": _get, "clip": _clip,
    "round": _round, "sum": _sum, "mean": _mean, "to_numpy": _to_numpy, "tolist": _to_list,
    "to_list": _to_list, "astype": _astype, "reindex": _reindex, "idxmax": _seen,
    "idxmin": _seen, "nlargest": _seen, "nsmallest": _seen, "sort_values": _seen,
    "argmax": _seen, "argmin": _seen,
}  # fmt: skip

__all__ = ["Labelled", "Totals", "counted", "is_absent", "public_labels"]
