"""Records in the shapes in which people hold them: objects, named tuples, rows, structured arrays.

A record here is one generic record; its fields are forms, or options that are settled by cases.
Nobody may change it, or release it.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpest.reading.contributions.arithmetic import is_plain
from dpest.reading.contributions.forms import Unread
from dpest.reading.contributions.values import (
    Object,
    PlainIterator,
    Rows,
    RowsIterator,
    Seq,
    SmallArray,
)


@dataclass(eq=False)
class Record(Object):
    """One record. `named`, `placed`: whether record["age"] and record[0] are known to it."""

    fields: Mapping[str, Any]
    words = "a record"
    attributes: bool = True
    named: bool = False
    placed: bool = False
    hidden: type | None = None  # a class whose own attributes come before the fields

    def attribute(self, m: Any, name: str) -> Any:
        shadowed = self.hidden is not None and hasattr(self.hidden, name)
        if self.attributes and name in self.fields and not shadowed:
            return m.settled(self.fields[name])
        raise Unread(f"the attribute `{name}` of a record")

    def item(self, m: Any, index: Any) -> Any:
        if self.named and isinstance(index, str) and index in self.fields:
            return m.settled(self.fields[index])
        if self.placed and isinstance(index, int) and -len(self.fields) <= index < len(self.fields):
            return m.settled(list(self.fields.values())[index])
        raise Unread("an item of a record that it does not have")

    def iterate(self, m: Any) -> Any:
        if not self.placed:
            raise Unread("a loop over the fields of a record")
        return PlainIterator.over(self.fields.values())

    def length(self, m: Any) -> Any:
        if not self.placed:
            raise Unread("the length of a record")
        return len(self.fields)


@dataclass(eq=False)
class Structured(Object):
    """A structured array: a value for each record in each of its fields."""

    columns: Mapping[str, Rows]
    words = "a structured array"

    def item(self, m: Any, index: Any) -> Any:
        if isinstance(index, str):
            if index not in self.columns:
                raise Unread(f"no field {index!r}")
            return self.columns[index]
        if isinstance(index, Rows):
            return Structured({k: m.rows_item(v, index) for k, v in self.columns.items()})
        raise Unread("the place of a record")

    def attribute(self, m: Any, name: str) -> Any:
        if name == "shape":
            return (self.length(m),)
        if name == "size":
            return self.length(m)
        raise Unread(f"the attribute `{name}` of a structured array")

    def iterate(self, m: Any) -> Any:
        return RowsIterator(joined(m, self.columns, attributes=False, named=True, placed=True))

    def length(self, m: Any) -> Any:
        return m.length_of(next(iter(self.columns.values())))


def joined(m: Any, columns: Mapping[str, Rows], **shape: Any) -> Rows:
    """A record for each row of some columns."""
    names = list(columns)
    found = m.carried(
        lambda *v: Record(dict(zip(names, v, strict=True)), **shape), *columns.values()
    )
    return Rows(found.cases, False)


def structured(m: Any, rows: Rows, fields: Any) -> Structured:
    """np.array(list of tuples, dtype=[("age", float), …])."""
    names = []
    for one in fields.items if isinstance(fields, Seq) else fields:
        if not isinstance(one, tuple) or len(one) != 2 or one[1] not in (float, "f8", "float64"):
            raise Unread("a structured array with fields other than floats")
        names.append(one[0])

    def part(element: Any, k: int) -> Any:
        values = element if isinstance(element, tuple) else None
        if values is None or len(values) != len(names):
            raise Unread("a structured array of values that are not tuples of its fields")
        return m.tidy(m.form(m.settled(values[k])))

    columns = {}
    for k, name in enumerate(names):
        one_field = m.per_record(lambda e, k=k: part(e, k), rows)
        columns[name] = Rows(one_field.cases, True)
    return Structured(columns)


def is_record_class(kind: Any) -> bool:
    """Whether a class only holds its fields: a plain dataclass, or a named tuple."""
    if not isinstance(kind, type):
        return False
    if issubclass(kind, tuple):
        return hasattr(kind, "_fields") and kind.__mro__[1] is tuple
    return (
        dataclasses.is_dataclass(kind)
        and kind.__mro__[1:] == (object,)
        and not hasattr(kind, "__post_init__")
        and "__getattribute__" not in vars(kind)
        and "__getattr__" not in vars(kind)
        and all(f.init and f.kw_only is False for f in dataclasses.fields(kind))
        and not any(isinstance(vars(kind).get(f.name), property) for f in dataclasses.fields(kind))
        and kind.__init__.__qualname__.endswith(f"{kind.__name__}.__init__")
        and _generated(kind.__init__)
        and "__new__" not in vars(kind)
        and "__setattr__" not in {k for k in vars(kind) if not _frozen(kind)}
        and type(kind) is type
    )


def _generated(function: Any) -> bool:
    """Whether the dataclass decorator wrote a method: it has no file of its own."""
    return bool(function.__code__.co_filename == "<string>")


def _frozen(kind: Any) -> bool:
    return bool(kind.__dataclass_params__.frozen)


def constructed(m: Any, kind: Any, arguments: list[Any], named: dict[str, Any]) -> Record:
    """Patient(age, smoker): a record of a class that only holds its fields."""
    try:
        bound = inspect.signature(kind).bind(*arguments, **named)
    except TypeError as error:
        raise Unread(f"a call of {kind.__name__}: {error}") from None
    bound.apply_defaults()
    for name, value in bound.arguments.items():
        if name not in {**dict(zip_names(kind, arguments)), **named} and not is_plain(value):
            raise Unread(f"the default of `{name}` is a {type(value).__name__}")
    return Record(dict(bound.arguments), placed=issubclass(kind, tuple))


def zip_names(kind: Any, arguments: list[Any]) -> list[tuple[str, Any]]:
    return list(zip(inspect.signature(kind).parameters, arguments, strict=False))


__all__ = ["Record", "SmallArray", "Structured", "constructed", "is_record_class", "joined"]
