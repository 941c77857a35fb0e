"""Series of pandas with a value per record.

A Series aligns its rows by labels. Here the labels of a row are those of its record: two Series go
together where they come from one frame (`Labels`) and hold the same records; others are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpest.reading.contributions.arithmetic import is_number, natively
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.frames.missing import absent
from dpest.reading.contributions.values import Bound, Object, RecordTruth, Rows, RowsIterator

_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_ARITHMETIC = {
    "add": "+", "sub": "-", "subtract": "-", "mul": "*", "multiply": "*", "div": "/",
    "divide": "/", "truediv": "/", "pow": "**",
}  # fmt: skip
_TEXT = ("lower", "upper", "strip", "title", "startswith", "endswith", "len")


class Labels:
    """Whose labels the rows of a frame have: equal only to itself."""


SeriesMethod = Callable[["Series", Any, list[Any], dict[str, Any]], Any]
SERIES_METHODS: dict[str, SeriesMethod] = {}
"""The methods that `series_methods` knows."""


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

        a, b = m.pinned_public(a), m.pinned_public(b)
        return self.with_rows(m.per_record(one, self.beside(a), self.beside(b)))

    def compare(self, m: Any, op: str, a: Any, b: Any) -> Any:
        def one(x: Any, y: Any) -> Any:
            return op == "!=" if absent(x) or absent(y) else m.compare(op, x, y)

        a, b = m.pinned_public(a), m.pinned_public(b)
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
        method = SERIES_METHODS.get(name)
        if method is None:
            raise self.refused(f"the method `{name}`")
        return method(self, m, arguments, named)

    def release(self, m: Any) -> Any:
        raise Unread("a Series with an entry for each record is released")


def _opposite(m: Any, x: Any) -> Any:
    if isinstance(x, bool) or type(x).__name__ == "bool_":
        return not x
    return m.unary("~", x)


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
            if len(index) != 2 or isinstance(self.owner, Series):
                raise Unread("the label of a record")
            rows, columns = index
            return self._of(m, self.owner.item(m, columns), rows)
        return self._of(m, self.owner, index)

    def set_item(self, m: Any, index: Any, value: Any) -> None:
        """frame.loc[mask, column] = value: other values in some of the rows."""
        if not isinstance(index, tuple) or len(index) != 2 or isinstance(self.owner, Series):
            raise self.refused("a change in place")
        mask, column = index
        if not isinstance(mask, (Series, Rows)) or not isinstance(column, str):
            raise self.refused("a change in place")
        before = self.owner.item(m, column)
        if not _takes(m, before.held, value):
            raise self.refused("values of another type than the column has")
        changed = before.each(m, lambda x, t, v: v if m.decide(t) else x, mask, value)
        self.owner.set_item(m, column, changed)

    def _of(self, m: Any, owner: Any, rows: Any) -> Any:
        if isinstance(rows, slice) and rows == slice(None):
            return owner
        if isinstance(rows, (Series, Rows)):
            return owner.item(m, rows)
        raise Unread("the label of a record")


def _takes(m: Any, column: Rows, value: Any) -> bool:
    """Whether values may be put into some rows: pandas raises where it changes the column's type.

    Of floats every number may; of others a plain value of their type.
    """
    elements = [c.element for c in column.cases if c.present]
    if any(isinstance(e, float) or _is_real(m, e) for e in elements):
        return isinstance(value, (Series, Rows, SymbolicForm)) or type(value) in (int, float)
    whole = [int if isinstance(e, SymbolicForm) else type(e) for e in elements]
    return all(type(value) is kind for kind in whole)


def _is_real(m: Any, element: Any) -> bool:
    return isinstance(element, SymbolicForm) and not m.adds_whole(element)
