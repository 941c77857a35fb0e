"""Domains: the inputs that a mechanism takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dpest.ask.entries import entries, is_real, same, short, vector
from dpest.ask.shapes import as_rows, in_shape
from dpest.errors import InputError


class _Any:
    """Any length: a proof for every n, a dataset of any size."""

    def __repr__(self) -> str:
        return "ANY"

    def __reduce__(self) -> str:
        return "ANY"


ANY = _Any()
Length = int | _Any
# "list", "array" or "number" for plain data; records may have any of `shapes.SHAPES`.
Form = str


class Domain:
    """What all domains share.

    `length` is the number of entries of an input, or ANY. `box` is a bounded part of the domain,
    where the published tools searched: starts of a search are drawn from it, its results may leave.
    `form` is what a function is given: a list, a NumPy array, or a plain number (of length 1).
    """

    length: Length
    box: tuple[float, float]
    form: Form

    @property
    def integral(self) -> bool:
        """Whether all entries are whole numbers."""
        return False

    @property
    def width(self) -> float:
        """The largest difference that two inputs can have in one entry."""
        return math.inf

    @property
    def size(self) -> int | None:
        """How many inputs there are, if few enough to list."""
        return None

    def describe(self) -> str:
        """What an input is, in words, then as `parse_domain` reads it."""
        return f"{self._words()}: {self}"

    def _words(self) -> str:
        raise NotImplementedError

    def _many(self, one: str, several: str) -> str:
        """The length and the noun that goes with it."""
        if self.form == "array":
            several = f"{several} in an array"
            one = f"{one} in an array"
        if not isinstance(self.length, int):
            return f"any number of {several}"
        return f"{self.length} {one if self.length == 1 else several}"

    def check(self, x: Any, *, any_length: bool = False) -> None:
        """Raise InputError, saying why, unless x lies in the domain."""
        raise NotImplementedError

    def check_pair(self, x: Any, x2: Any) -> tuple[Any, Any]:
        """Two inputs as an adjacency compares them; raise InputError if it may not."""
        return x, x2

    def contains(self, x: Any, *, any_length: bool = False) -> bool:
        try:
            self.check(x, any_length=any_length)
        except InputError:
            return False
        return True

    def clip(self, x: Any) -> Any:
        """The nearest input of the domain."""
        raise NotImplementedError

    def random(self, generator: np.random.Generator, length: int | None = None) -> Any:
        """An input drawn from the box."""
        raise NotImplementedError

    def enumerate(self) -> list[Any]:
        """Every input, for domains with a `size`."""
        raise InputError(f"{self} has too many inputs to list")

    def with_length(self, length: Length | None) -> Self:
        if length is None or length == self.length:
            return self
        if self.form == "number":
            raise InputError(f"one number has length 1, not {length}")
        return replace(self, length=length)  # type: ignore[type-var]

    def as_input(self, x: Any) -> Any:
        """A list of entries in the form in which a function is given it; others as they are."""
        if not isinstance(x, list):
            return x
        if self.form == "number":
            return x[0]
        return np.array(x) if self.form == "array" else x

    def default_length(self, otherwise: int = 5) -> int:
        return self.length if isinstance(self.length, int) else otherwise

    def _check_length(self, found: int, x: Any, any_length: bool) -> None:
        if isinstance(self.length, int) and found != self.length and not any_length:
            raise InputError(f"the input {short(x)} has length {found}, not {self.length}")


_MANY = 4096
_LONG = 64


@dataclass(frozen=True)
class Reals(Domain):
    """Vectors of numbers between `low` and `high`."""

    length: Length = ANY
    low: float = -math.inf
    high: float = math.inf
    box: tuple[float, float] = (-10.0, 10.0)
    form: Form = "list"
    nan: bool = False
    """Whether an entry may be NaN too."""

    def __post_init__(self) -> None:
        if self.form == "number" and self.length != 1:
            raise InputError(f"one number has length 1, not {self.length}")
        if not self.low <= self.high:
            raise InputError(
                f"an empty domain: nothing lies between {self.low:g} and {self.high:g}"
            )
        require_length(self.length)
        low, high = max(self.low, self.box[0]), min(self.high, self.box[1])
        if low > high:  # the usual box lies outside: search near the domain's finite end
            low = self.low if self.low > -math.inf else self.high - 20
            high = min(self.high, low + 20)
        object.__setattr__(self, "box", (low, high))

    @property
    def width(self) -> float:
        return self.high - self.low

    @property
    def integral(self) -> bool:
        """Whether the entries are whole numbers."""
        return False

    def check(self, x: Any, *, any_length: bool = False) -> None:
        values = vector(x, nan=self.nan)
        self._check_length(len(values), x, any_length)
        if len(values) > _LONG and self._all_inside(np.array(values)):
            return
        for i, value in enumerate(values):
            if not math.isnan(value):
                self._check_entry(value, i)

    def _all_inside(self, values: np.ndarray) -> bool:
        """What `check` asks of each entry, of many at once."""
        outside = (values < self.low) | (values > self.high)  # NaN is neither
        return not outside.any()

    def _check_entry(self, value: float, i: int) -> None:
        if not self.low <= value <= self.high:
            raise InputError(
                f"entry {i} of the input is {value:g}, outside [{self.low:g}, {self.high:g}]"
            )

    def clip(self, x: Any) -> list[Any]:
        return [self.clip_entry(v) for v in vector(x, nan=self.nan)]

    def clip_entry(self, value: float) -> Any:
        return math.nan if math.isnan(value) else float(min(max(value, self.low), self.high))

    def entries_at(self, number: float) -> list[Any]:
        """Entries made of a number."""
        return [self.clip_entry(number)]

    def random_entry(self, generator: np.random.Generator) -> Any:
        return float(generator.uniform(*self.box))

    def random(self, generator: np.random.Generator, length: int | None = None) -> list[Any]:
        n = self.default_length() if length is None else length
        return [self.random_entry(generator) for _ in range(n)]

    def _words(self) -> str:
        return self._many("real number", "real numbers") + _between(self.low, self.high)

    def __str__(self) -> str:
        unbounded = self.low == -math.inf and self.high == math.inf
        where = "" if unbounded else f"{self.low:g}, {self.high:g}"
        if self.nan:
            where += f"{where and ', '}nan=True"
        if self.form == "number":
            return f"real({where})"
        return f"reals({self.length}{where and ', ' + where})"


@dataclass(frozen=True)
class Integers(Reals):
    """Vectors of whole numbers between `low` and `high`."""

    def __post_init__(self) -> None:
        for bound in (self.low, self.high):
            if math.isfinite(bound) and bound != math.floor(bound):
                raise InputError(f"the bounds of integers are whole numbers: {bound}")
        super().__post_init__()
        low, high = math.ceil(self.box[0]), math.floor(self.box[1])
        object.__setattr__(self, "box", (low, max(low, high)))

    def _all_inside(self, values: np.ndarray) -> bool:
        broken = (values != np.floor(values)) & ~np.isnan(values)
        return super()._all_inside(values) and not broken.any()

    def _check_entry(self, value: float, i: int) -> None:
        super()._check_entry(value, i)
        if value != math.floor(value):
            raise InputError(f"entry {i} of the input is {value:g}, not a whole number")

    @property
    def integral(self) -> bool:
        return True

    def clip_entry(self, value: float) -> Any:
        return int(min(max(round(value), self.low), self.high))

    def random_entry(self, generator: np.random.Generator) -> Any:
        return int(generator.integers(int(self.box[0]), int(self.box[1]), endpoint=True))

    @property
    def size(self) -> int | None:
        if self.width == math.inf or not isinstance(self.length, int):
            return None
        if self.length * math.log2(self.width + 1) > 64:
            return None
        count = (int(self.width) + 1) ** self.length
        return count if count <= _MANY else None

    def enumerate(self) -> list[Any]:
        import itertools

        if self.size is None:
            return super().enumerate()
        values = range(int(self.low), int(self.high) + 1)
        return [list(x) for x in itertools.product(values, repeat=self.default_length())]

    def _words(self) -> str:
        return self._many("whole number", "whole numbers") + _between(self.low, self.high)

    def __str__(self) -> str:
        return super().__str__().replace("real", "integer", 1)


@dataclass(frozen=True)
class Finite(Domain):
    """One of a few given inputs, of any kind."""

    values: tuple[Any, ...]
    length: Length = 1
    box: tuple[float, float] = (-math.inf, math.inf)
    form: Form = "list"

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values:
            raise InputError("a finite domain needs at least one value")

    @property
    def size(self) -> int | None:
        return len(self.values)

    def check(self, x: Any, *, any_length: bool = False) -> None:
        if not any(same(x, value) for value in self.values):
            raise InputError(f"the input {short(x)} is none of the domain's {self.size} values")

    def clip(self, x: Any) -> Any:
        if self.contains(x):
            return x
        if is_real(x) and all(is_real(value) for value in self.values):
            return min(self.values, key=lambda value: abs(value - x))
        return self.values[0]

    def random(self, generator: np.random.Generator, length: int | None = None) -> Any:
        return self.values[int(generator.integers(len(self.values)))]

    def enumerate(self) -> list[Any]:
        return list(self.values)

    def with_length(self, length: Length | None) -> Self:
        return self

    def _words(self) -> str:
        return f"one of {len(self.values)} inputs"

    def __str__(self) -> str:
        if len(self.values) > 6:
            return f"finite([{short(self.values[0])}, …, {short(self.values[-1])}])"
        return f"finite([{', '.join(map(short, self.values))}])"


@dataclass(frozen=True)
class Records(Domain):
    """Datasets: lists of numbers within bounds, or of dicts whose fields have bounds."""

    length: Length = ANY
    low: float = -math.inf
    high: float = math.inf
    fields: tuple[tuple[str, float, float], ...] = ()
    box: tuple[float, float] = (-10.0, 10.0)
    form: Form = "list"

    def __post_init__(self) -> None:
        for _, low, high in self.fields or (("", self.low, self.high),):
            if not low <= high:
                raise InputError(f"an empty domain: nothing lies between {low:g} and {high:g}")
        require_length(self.length)

    @property
    def width(self) -> float:
        return self.high - self.low if not self.fields else math.inf

    def as_input(self, x: Any) -> Any:
        rows = isinstance(x, list) and bool(self.fields) and all(isinstance(e, dict) for e in x)
        if not rows or self.form == "list":
            return super().as_input(x)
        return in_shape(self.form, x, {name: float for name, _, _ in self.fields})

    def check(self, x: Any, *, any_length: bool = False) -> None:
        found = as_rows(x, [n for n, _, _ in self.fields]) if self.fields else entries(x)
        self._check_length(len(found), x, any_length)
        for i, entry in enumerate(found):
            self._check_entry(entry, i)

    def _check_entry(self, entry: Any, i: int) -> None:
        for name, value, low, high in self._fields_of(entry, i):
            where = f"field {name!r} of entry {i}" if name else f"entry {i}"
            if not is_real(value):
                raise InputError(f"{where} is {short(value)}, not a number")
            if not low <= value <= high:
                raise InputError(f"{where} is {value:g}, outside [{low:g}, {high:g}]")

    def _fields_of(self, entry: Any, i: int) -> list[tuple[str, Any, float, float]]:
        if not self.fields:
            return [("", entry, self.low, self.high)]
        if isinstance(entry, tuple) and len(entry) == len(self.fields):  # a row of a DataFrame
            entry = dict(zip((name for name, _, _ in self.fields), entry, strict=True))
        if not isinstance(entry, Mapping):
            raise InputError(f"entry {i} is {short(entry)}, not a record with fields")
        missing = [name for name, _, _ in self.fields if name not in entry]
        if missing:
            raise InputError(f"entry {i} has no field {missing[0]!r}")
        return [(name, entry[name], low, high) for name, low, high in self.fields]

    def clip(self, x: Any) -> list[Any]:
        return [self.clip_entry(entry) for entry in entries(x)]

    def clip_entry(self, entry: Any) -> Any:
        if not self.fields:
            return float(min(max(entry, self.low), self.high))
        clipped = {n: float(min(max(v, a), b)) for n, v, a, b in self._fields_of(entry, 0)}
        return {**entry, **clipped}

    def bounds(self) -> list[tuple[str, float, float]]:
        """(field, low, high) inside the box; one nameless field for plain numbers."""
        found = []
        for name, low, high in self.fields or (("", self.low, self.high),):
            a, b = max(low, self.box[0]), min(high, self.box[1])
            if math.isfinite(low) and math.isfinite(high):
                a, b = low, high
            elif a > b:
                a, b = (low, low + 20) if math.isfinite(low) else (high - 20, high)
            found.append((name, a, b))
        return found

    def entry(self, values: Sequence[float]) -> Any:
        """A record with these field values, clipped."""
        if not self.fields:
            return self.clip_entry(values[0])
        names = [name for name, _, _ in self.fields]
        return self.clip_entry(dict(zip(names, values, strict=True)))

    def entries_at(self, number: float) -> list[Any]:
        """Entries with a number in one field, the others in the middle of their bounds."""
        middle = [(a + b) / 2 for _, a, b in self.bounds()]
        return [self.entry([*middle[:i], number, *middle[i + 1 :]]) for i in range(len(middle))]

    def random_entry(self, generator: np.random.Generator) -> Any:
        return self.entry([float(generator.uniform(a, b)) for _, a, b in self.bounds()])

    def random(self, generator: np.random.Generator, length: int | None = None) -> list[Any]:
        n = self.default_length() if length is None else length
        return [self.random_entry(generator) for _ in range(n)]

    def _words(self) -> str:
        if self.fields:
            return self._many("record", "records") + " with numbers in named fields"
        return self._many("record", "records") + ", each a number" + _between(self.low, self.high)

    def __str__(self) -> str:
        if self.fields:
            inner = ", ".join(f"{name}: [{low:g}, {high:g}]" for name, low, high in self.fields)
            return f"records({self.length}, {inner})"
        if self.width == math.inf:
            return f"records({self.length})"
        return f"records({self.length}, {self.low:g}, {self.high:g})"


def require_length(length: Length) -> None:
    """The first number of a domain is its length; bounds in its place are a mistake, not a length.

    Datasets of length 0 are inputs of a domain of ANY length, not a domain of their own.
    """
    if length is ANY or (
        isinstance(length, (int, np.integer)) and length >= 1 and length is not True
    ):
        return
    raise InputError(
        f"a length is a whole number of at least 1, not {length!r}: the length comes first and "
        "the bounds after it, as in reals(5, 0, 1); or name them, as in reals(low=0, high=1)"
    )


def _between(low: float, high: float) -> str:
    if math.isinf(low) and math.isinf(high):
        return ""
    if math.isinf(high):
        return f" of at least {low:g}"
    if math.isinf(low):
        return f" of at most {high:g}"
    return f" between {low:g} and {high:g}"


def reals(
    length: Length = ANY,
    low: float = -math.inf,
    high: float = math.inf,
    box: tuple[float, float] = (-10.0, 10.0),
    nan: bool = False,
) -> Reals:
    """Vectors of real numbers; by default the whole real line, searched first inside `box`.

    `nan`: entries may be NaN too, which is no number: np.clip, max and sums let it through.
    """
    return Reals(length, float(low), float(high), (float(box[0]), float(box[1])), nan=bool(nan))


def real(low: float = -math.inf, high: float = math.inf) -> Reals:
    """One real number, for a function that takes a number and not a list."""
    return Reals(1, float(low), float(high), form="number")


def integer(low: float = -math.inf, high: float = math.inf) -> Integers:
    """One whole number, for a function that takes a number and not a list."""
    return Integers(1, float(low), float(high), form="number")


def integers(
    length: Length = ANY,
    low: float = -math.inf,
    high: float = math.inf,
    box: tuple[float, float] = (-10.0, 10.0),
) -> Integers:
    """Vectors of whole numbers."""
    return Integers(length, float(low), float(high), (float(box[0]), float(box[1])))


def finite(values: Sequence[Any]) -> Finite:
    """One of the given inputs."""
    return Finite(tuple(values))
