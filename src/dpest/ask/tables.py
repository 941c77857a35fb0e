"""Tables: records whose fields are numbers within bounds or one of a few values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpest.ask.domains import ANY, Domain, Length, Reals, Records, require_length
from dpest.ask.entries import is_real, same, short
from dpest.ask.shapes import as_rows, check_shape, in_shape
from dpest.errors import InputError

_MOST = 4096
_FEW = 8


@dataclass(frozen=True)
class Column:
    """A field: numbers in [low, high] (whole ones if `integral`), or one of `values`."""

    name: str
    low: float = -math.inf
    high: float = math.inf
    integral: bool = False
    values: tuple[Any, ...] | None = None
    nan: bool = False

    @property
    def kind(self) -> type:
        """What a column of an array or a DataFrame holds."""
        plain = self.values is None or all(is_real(v) for v in self.values)
        return float if plain else object

    def check(self, value: Any, where: str) -> None:
        if self.values is not None:
            if not any(same(value, v) for v in self.values):
                raise InputError(f"{where} is {short(value)}, none of {short(list(self.values))}")
            return
        if not is_real(value):
            raise InputError(f"{where} is {short(value)}, not a number")
        if self.nan and math.isnan(value):
            return
        if not self.low <= value <= self.high:
            raise InputError(f"{where} is {value:g}, outside [{self.low:g}, {self.high:g}]")
        if self.integral and value != math.floor(value):
            raise InputError(f"{where} is {value:g}, not a whole number")

    def ends(self) -> list[Any]:
        """Values worth trying: the ends and the middle, or all of a list."""
        if self.values is not None:
            return list(self.values)
        low = self.low if math.isfinite(self.low) else min(-10.0, self.high)
        high = self.high if math.isfinite(self.high) else max(10.0, low)
        missing = (math.nan,) if self.nan else ()
        return list(dict.fromkeys(self.at(v) for v in (high, *missing, low, (low + high) / 2)))

    def at(self, number: float) -> Any:
        """The value of the field that is nearest to a number, or the one that equals it."""
        if self.values is not None:
            equal = [v for v in self.values if is_real(v) and v == number]
            return equal[0] if equal else self.values[0]
        if math.isnan(number):
            return math.nan
        inside = min(max(number, self.low), self.high)
        return round(inside) if self.integral else float(inside)

    def random(self, generator: np.random.Generator) -> Any:
        if self.values is not None:
            return self.values[int(generator.integers(len(self.values)))]
        ends = [v for v in self.ends() if is_real(v) and not math.isnan(v)]
        if self.nan and generator.random() < 0.2:
            return math.nan
        return self.at(float(generator.uniform(min(ends), max(ends))))

    def __str__(self) -> str:
        if self.values is not None:
            return f"{self.name}={list(self.values)!r}"
        kind = "integers" if self.integral else ""
        if self.nan:
            return f"{self.name}=reals(low={self.low:g}, high={self.high:g}, nan=True)"
        return f"{self.name}={kind}({self.low:g}, {self.high:g})"


@dataclass(frozen=True)
class Table(Domain):
    """Datasets of records with `columns`, handed to the function in one of the `shapes.SHAPES`.

    With `nameless` the records are the values of the only column themselves: a list of strings.
    """

    length: Length = ANY
    columns: tuple[Column, ...] = ()
    box: tuple[float, float] = (-10.0, 10.0)
    form: str = "list"
    nameless: bool = False

    def __post_init__(self) -> None:
        require_length(self.length)
        if not self.columns:
            raise InputError("a table needs at least one field: table(8, age=(0, 120))")
        if not self.nameless and self.form != "list":
            check_shape(self.form)

    @property
    def names(self) -> list[str]:
        return [c.name for c in self.columns]

    @property
    def kinds(self) -> dict[str, type]:
        """What the columns hold, in their order."""
        return {c.name: c.kind for c in self.columns}

    def as_input(self, x: Any) -> Any:
        if not isinstance(x, list) or (x and not self.nameless and not isinstance(x[0], dict)):
            return x
        if self.nameless:
            return np.array(x) if self.form == "array" else list(x)
        return x if self.form == "list" else in_shape(self.form, x, self.kinds)

    def rows(self, x: Any) -> list[Any]:
        return list(x) if self.nameless else as_rows(x, self.names)

    def check(self, x: Any, *, any_length: bool = False) -> None:
        found = self.rows(x)
        self._check_length(len(found), x, any_length)
        for i, row in enumerate(found):
            self.check_row(row, i)

    def check_row(self, row: Any, i: int) -> None:
        if self.nameless:
            self.columns[0].check(row, f"entry {i}")
            return
        for column in self.columns:
            if column.name not in row:
                raise InputError(f"entry {i} has no field {column.name!r}")
            column.check(row[column.name], f"field {column.name!r} of entry {i}")

    def clip(self, x: Any) -> list[Any]:
        return [self.clip_entry(row) for row in self.rows(x)]

    def clip_entry(self, entry: Any) -> Any:
        if self.nameless:
            return self.columns[0].at(entry) if is_real(entry) else entry
        return {c.name: c.at(v) if is_real(v := entry[c.name]) else v for c in self.columns}

    def entry(self, values: Sequence[Any]) -> Any:
        """A record with these values, in the order of the columns."""
        return values[0] if self.nameless else dict(zip(self.names, values, strict=True))

    def typical_entries(self) -> list[Any]:
        """All combinations of the values worth trying where there are few, else each in turn."""
        ends = [c.ends() for c in self.columns]
        if math.prod(map(len, ends)) <= _FEW:
            return [self.entry(v) for v in itertools.product(*ends)]
        longest = max(map(len, ends))
        turns = [[e[min(i, len(e) - 1)] for e in ends] for i in range(longest)]
        first = turns[0]
        ones = [[*first[:k], v, *first[k + 1 :]] for k, e in enumerate(ends) for v in e]
        kept: dict[str, Any] = {repr(v): self.entry(v) for v in [*turns, *ones]}
        return list(kept.values())[: 2 * _FEW]

    def entries_at(self, number: float) -> Iterator[Any]:
        """Records with a number in one field, the others as usual."""
        for usual in self._usual():
            for k, column in enumerate(self.columns):
                if column.values is None or number in column.values:
                    yield self.entry([*usual[:k], column.at(number), *usual[k + 1 :]])

    def _usual(self) -> Iterator[list[Any]]:
        """Values of all fields: numbers at one end or the other, with each value of the lists."""
        few = math.prod(len(c.values or (None,)) for c in self.columns) <= _FEW
        for place in (0, -1):
            choices = [
                c.values if few and c.values is not None else (c.ends()[place],)
                for c in self.columns
            ]
            yield from map(list, itertools.product(*choices))

    def random_entry(self, generator: np.random.Generator) -> Any:
        return self.entry([c.random(generator) for c in self.columns])

    def random(self, generator: np.random.Generator, length: int | None = None) -> list[Any]:
        n = self.default_length() if length is None else length
        return [self.random_entry(generator) for _ in range(n)]

    @property
    def size(self) -> int | None:
        if not isinstance(self.length, int) or any(c.values is None for c in self.columns):
            return None
        count = math.prod(len(c.values or ()) for c in self.columns) ** self.length
        return count if count <= _MOST else None

    def enumerate(self) -> list[Any]:
        if self.size is None:
            return super().enumerate()
        assert isinstance(self.length, int)
        kinds = itertools.product(*(c.values or () for c in self.columns))
        rows = [self.entry(list(values)) for values in kinds]
        return [list(rows) for rows in itertools.product(rows, repeat=self.length)]

    def _words(self) -> str:
        counted = self._many("record", "records")
        if self.nameless:
            return f"{counted}, each one of {short(list(self.columns[0].values or ()))}"
        shape = "" if self.form in ("list", "dicts") else f", as {self.form}"
        return f"{counted} with the fields {', '.join(self.names)}{shape}"

    def __str__(self) -> str:
        if self.nameless:
            return f"records({self.length}, values={list(self.columns[0].values or ())!r})"
        return f"table({self.length}, {', '.join(map(str, self.columns))})"


def column(name: str, what: Any) -> Column:
    """A pair is an interval of reals, a list are its values, a domain gives its own bounds."""
    if isinstance(what, Reals):
        return Column(name, what.low, what.high, integral=what.integral, nan=what.nan)
    if isinstance(what, tuple) and len(what) == 2 and all(map(is_real, what)):
        low, high = float(what[0]), float(what[1])
        if not low <= high:
            raise InputError(f"field {name!r}: nothing lies between {low:g} and {high:g}")
        return Column(name, low, high)
    if isinstance(what, (list, set, frozenset, range)) and what:
        return Column(name, values=tuple(what))
    raise InputError(
        f"field {name!r} is described by {short(what)}: write (low, high) for real numbers, a list "
        "for its values, or dpest.integers(low=0, high=9)"
    )


def records(
    length: Length = ANY,
    low: float = -math.inf,
    high: float = math.inf,
    fields: Mapping[str, Any] | None = None,
    box: tuple[float, float] = (-10.0, 10.0),
    values: Sequence[Any] | None = None,
) -> Domain:
    """Datasets of numbers in [low, high], of dicts with bounded fields, or of the given values.

    A field is a pair of bounds; other things that a column of a `table` may be serve, too.
    """
    if values is not None:
        if not values:
            raise InputError("records of no value at all: give at least one")
        return Table(length, (Column("", values=tuple(values)),), form="list", nameless=True)
    if fields and not all(map(_is_pair, fields.values())):
        return table_of(length, tuple(column(n, w) for n, w in fields.items()), "list")
    bounds = tuple((name, float(a), float(b)) for name, (a, b) in (fields or {}).items())
    return Records(length, float(low), float(high), bounds, (float(box[0]), float(box[1])))


def _is_pair(bounds: Any) -> bool:
    numbers = isinstance(bounds, (tuple, list)) and all(isinstance(v, (int, float)) for v in bounds)
    return numbers and len(bounds) == 2


def table_of(length: Length, made: tuple[Column, ...], form: str) -> Domain:
    """A table of these fields; of real numbers alone it is the same as `records(fields=…)`."""
    if made and all(c.values is None and not c.integral and not c.nan for c in made):
        fields = tuple((c.name, c.low, c.high) for c in made)
        return Records(length, fields=fields, form=form)
    return Table(length, made, form=form)
