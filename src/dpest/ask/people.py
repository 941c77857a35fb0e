"""Tables as people ask for them; also with several rows of one person, who is a neighbour then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpest.ask.domains import ANY, Domain, Length
from dpest.ask.entries import same
from dpest.ask.shapes import as_rows, check_shape, in_shape
from dpest.ask.tables import Table, column, table_of
from dpest.errors import InputError

Person = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class People(Table):
    """Datasets of people with 1 to `rows_each` rows; the field `user` says whose a row is.

    An entry is a person: a tuple of rows, without the field `user`. The function is given all rows,
    those of a person beside each other, numbered by person in the order of the entries. So that
    nobody else's number changes, a person is added, or removed, at the end.
    """

    user: str = "id"
    rows_each: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rows_each < 1:
            raise InputError(f"a person has at least one row: rows_each={self.rows_each}")
        if self.user in self.names:
            raise InputError(f"the field {self.user!r} is numbered by dpest: leave it out")

    @property
    def kinds(self) -> dict[str, type]:
        return {self.user: int, **super().kinds}

    def numbered(self, people: list[Person]) -> list[dict[str, Any]]:
        """All rows, each with the number of its person."""
        return [{self.user: i, **row} for i, person in enumerate(people) for row in person]

    def as_input(self, x: Any) -> Any:
        if not isinstance(x, list) or not all(isinstance(e, tuple) for e in x):
            return x
        return in_shape("dicts" if self.form == "list" else self.form, self.numbered(x), self.kinds)

    def rows(self, x: Any) -> list[Any]:
        """The people of a dataset, as they are kept here or as a function is given them."""
        if isinstance(x, list) and all(isinstance(e, tuple) and _is_person(e) for e in x):
            return list(x)
        people: dict[Any, list[dict[str, Any]]] = {}
        for row in as_rows(x, list(self.kinds)):
            people.setdefault(row.pop(self.user, None), []).append(row)
        return [tuple(rows) for rows in people.values()]

    def check_row(self, row: Any, i: int) -> None:
        if not isinstance(row, tuple) or not 1 <= len(row) <= self.rows_each:
            raise InputError(f"person {i} does not have 1 to {self.rows_each} rows")
        for one in row:
            super().check_row(one, i)

    def check_pair(self, x: Any, x2: Any) -> tuple[list[Any], list[Any]]:
        """The people of two inputs; the shorter one must be the beginning of the longer one."""
        a, b = self.rows(x), self.rows(x2)
        if len(a) != len(b) and not all(map(same, a, b)):
            raise InputError("not neighbours: a person comes, or goes, at the end of the data")
        return a, b

    def clip_entry(self, entry: Any) -> Any:
        return tuple(super(People, self).clip_entry(row) for row in entry[: self.rows_each])

    def typical_entries(self) -> list[Any]:
        rows = super().typical_entries()
        return [*((row,) * self.rows_each for row in rows), *((row,) for row in rows)]

    def entries_at(self, number: float) -> Iterator[Any]:
        for row in super().entries_at(number):
            yield (row,) * self.rows_each

    def random_entry(self, generator: np.random.Generator) -> Any:
        count = int(generator.integers(1, self.rows_each, endpoint=True))
        return tuple(super(People, self).random_entry(generator) for _ in range(count))

    @property
    def size(self) -> int | None:
        return None

    def _words(self) -> str:
        shape = "" if self.form in ("list", "dicts") else f", as {self.form}"
        return (
            f"{self._many('person', 'people')} with 1 to {self.rows_each} rows each "
            f"({', '.join(self.kinds)}){shape}"
        )

    def __str__(self) -> str:
        columns = ", ".join(map(str, self.columns))
        return f"table({self.length}, {columns}, user={self.user!r}, rows_each={self.rows_each})"


def _is_person(entry: tuple[Any, ...]) -> bool:
    return all(isinstance(row, Mapping) for row in entry)


def table(
    length: Length = ANY,
    /,
    *,
    as_: str | None = None,
    user: str | None = None,
    rows_each: int | None = None,
    **columns: Any,
) -> Domain:
    """Datasets of `length` records (or ANY number of them) with named fields.

    `as_` is the shape in which the function takes them (see `ask.shapes`); where it isn't said, it
    is found by trying. A table of real numbers alone is the same as `records(fields=…)`.

    With `user="id"` a record is a person, with up to `rows_each` rows that have the same number in
    the field `id`: neighbours differ in all rows of one person.

    >>> print(table(8, age=(0, 120), city=["Berlin", "Paris"]))
    table(8, age=(0, 120), city=['Berlin', 'Paris'])
    """
    made = tuple(column(name, what) for name, what in columns.items())
    if (user is None) != (rows_each is None):
        raise InputError('people with several rows: give both, user="id" and rows_each=3')
    form = check_shape(as_) if as_ else "list"
    if user is not None and rows_each is not None:
        return People(length, made, form=form, user=user, rows_each=rows_each)
    return table_of(length, made, form)
