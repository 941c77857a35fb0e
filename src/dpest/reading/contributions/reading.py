"""From a mechanism to what its records add: all ways of public decisions."""

from __future__ import annotations

import inspect
import math
import types
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpest.ask.declaration import data_parameter
from dpest.reading.contributions.arithmetic import is_number
from dpest.reading.contributions.choices import DecisionScript, ways
from dpest.reading.contributions.control.objects import ObjectMethod, PartialCall, looked_up
from dpest.reading.contributions.forms import Raised, SymbolicForm, Terms, Unread
from dpest.reading.contributions.frames.frame import RecordFrame
from dpest.reading.contributions.frames.series import Labels
from dpest.reading.contributions.gaps.values import GapChoice
from dpest.reading.contributions.ledger import Derived, Ledger
from dpest.reading.contributions.machine import ContributionMachine
from dpest.reading.contributions.made_noise import check_unused
from dpest.reading.contributions.persons import PERSON
from dpest.reading.contributions.shapes import Record, Structured
from dpest.reading.contributions.values import (
    Case,
    Map,
    Option,
    ProgramObject,
    RecordTruth,
    Rows,
    RowsLength,
    Seq,
    SmallArray,
    UnseededGenerator,
)


@dataclass(frozen=True)
class RecordField:
    """A field of a record; `name` is None where records are numbers. None: no bound.

    `values`: it is one of these instead, and its symbol stands for the place among them.
    `missing`: it may be NaN too, which a symbol of its own says (1: it is).
    """

    name: str | None
    low: Fraction | None
    high: Fraction | None
    whole: bool
    values: tuple[Any, ...] | None = None
    missing: bool = False

    @classmethod
    def of_values(cls, name: str | None, values: tuple[Any, ...]) -> RecordField:
        return cls(name, Fraction(0), Fraction(len(values) - 1), True, values)

    @property
    def kind(self) -> type:
        """What a column of an array or a DataFrame holds."""
        plain = self.values is None or all(is_number(v) for v in self.values)
        return float if plain else object

    @property
    def flag(self) -> str:
        """The name of the symbol that says whether it is NaN."""
        return f"{self.name or 'it'} is NaN"

    def codes(self, value: Any) -> dict[Any, float]:
        """What the symbols of the field are, for one of its values."""
        if self.values is not None:
            return {self.name: float(_place(self.values, value))}
        if not self.missing:
            return {self.name: float(value)}
        absent = value != value
        return {self.name: 0.0 if absent else float(value), self.flag: float(absent)}

    def ranges(self) -> dict[Any, tuple[Fraction | None, Fraction | None, bool]]:
        """The symbols of the field, and between which numbers they are."""
        found = {self.name: (self.low, self.high, self.whole)}
        if self.missing:
            found[self.flag] = (Fraction(0), Fraction(1), True)
        return found


def _place(values: tuple[Any, ...], value: Any) -> int:
    for k, v in enumerate(values):
        if type(v) is type(value) and v == value:
            return k
    return values.index(value)


@dataclass(frozen=True)
class Data:
    """What is given: the columns of a record, the form, who is a neighbour, and the length.

    `length`: None for every length. `apart`: each of `length` records has symbols of its own.
    `user`: the field that says whose a row is; a person has up to `rows_each` of them.
    """

    columns: tuple[RecordField, ...]
    form: str
    replace: bool
    length: int | None = None
    apart: bool = False
    user: str | None = None
    rows_each: int = 1

    @property
    def kinds(self) -> dict[str, type]:
        """What the columns of the function's data hold, in their order."""
        found = {str(c.name): c.kind for c in self.columns}
        return found if self.user is None else {self.user: int, **found}


@dataclass(frozen=True)
class PublicWay:
    """One way through the program: what was decided in public, what was found, the output."""

    decided: tuple[RecordTruth, ...]
    ledger: Ledger
    terms: Terms
    output: Any
    row_of: dict[Any, int]
    """Which public symbol is the value of which row."""
    derived: dict[str, Derived]
    """Symbols of a person that are computed from all of its rows."""
    length_symbol: Any
    uniform_symbols: dict[Any, int]
    """Which public symbol is which uniform draw."""
    recipes: dict[Any, Any]
    """How a run makes what a public symbol stands for."""
    namespaces: tuple[dict[str, Any], ...]
    """The globals of all functions that were read."""
    gap_choices: tuple[GapChoice, ...] = ()
    """The choices of gaps between sorted records."""


def read(
    function: Any,
    parameters: dict[str, Any],
    data: Data,
    races: bool = True,
    by_cases: bool = False,
    cells_first: bool = False,
) -> list[PublicWay]:
    """All ways; refuses what it does not understand.

    `races`: which of several noisy values is the largest is looked at as one step. `by_cases`: for
    a graph of sums, in which every decision about noisy values is a way of its own, and order
    statistics may stand beside sums. `cells_first`: of a sum of noisy counts these are seen first.
    """

    def one(script: DecisionScript) -> PublicWay:
        machine = ContributionMachine(script, data.replace, races and not by_cases)
        machine.by_cases = by_cases
        machine.cells_first = cells_first
        machine.rows_each = data.rows_each
        machine.least_records = (data.length or 0) - (not data.replace)
        machine.fields = {k: v for c in data.columns for k, v in c.ranges().items()}
        if data.replace:
            machine.public_length = (
                machine.public() if data.length is None else RowsLength(data.length)
            )
        target, arguments, names = _target(machine, function)
        given: dict[str, Any] = {"rng": UnseededGenerator()} if "rng" in names else {}
        for name, value in parameters.items():
            given[name] = machine.admitted(value, f"the parameter `{name}`")
        first = data_parameter(function)
        if first not in names and len(arguments) < len(names):
            first = names[len(arguments)]  # the signature says another name than the code
        if first not in names or first == "rng":
            raise Unread("a function without a parameter for its data")
        given.pop(first, None)
        if names.index(first) == len(arguments):
            arguments = [*arguments, _data(machine, data)]
        else:
            given[first] = _data(machine, data)
        try:
            output = machine.call(target, arguments, given)
            released = machine.release(output)
        except Raised as raised:
            released = raised
        found = machine.ledger
        check_unused(
            machine, machine.made_of, released, script.taken, found.rows, found.passes,
            found.gates, [n.over for n in found.noises], machine.derived,
        )  # fmt: skip
        return PublicWay(
            tuple(script.taken),
            machine.ledger,
            machine.terms,
            released,
            machine.row_of,
            machine.derived,
            1 if data.replace and data.length is None else None,
            machine.uniform_symbols,
            machine.recipes,
            tuple(machine.namespaces.values()),
            tuple(choice for _, choice in machine.gaps.choices),
        )

    return [way for _, way in ways(one, most=64)]


def _target(machine: ContributionMachine, function: Any) -> tuple[Any, list[Any], list[str]]:
    """What is called, with what stands before the data, and the names of its parameters."""
    found = machine.admitted(function, "the mechanism")
    if isinstance(found, ObjectMethod):
        target, before = found.function, [found.owner]
    elif isinstance(found, ProgramObject):
        target, before = looked_up(found.kind.__mro__, "__call__"), [found]
    elif isinstance(found, PartialCall):
        names = [n for n in inspect.signature(function).parameters if n not in found.named]
        return found, [], names
    else:
        target, before = found, []
    if not isinstance(target, types.FunctionType):
        raise Unread(f"a {type(function).__name__} is no plain function")
    parameters = machine.closure_of(target).code.parameters
    return target, before, [
        *parameters.positional_only, *parameters.positional, *parameters.keyword_only
    ]  # fmt: skip


def _data(machine: ContributionMachine, data: Data) -> Any:
    if data.apart and data.user is not None:
        raise Unread("people apart from each other")
    if data.apart:
        assert data.length is not None
        if any(c.values is not None or c.missing for c in data.columns):
            raise Unread("records apart from each other whose fields are not numbers")
        if data.form not in ("list", "dicts", "tuples", "array", "objects", "namedtuples"):
            raise Unread(f"records apart from each other given as {data.form}")
        items = [_record(machine, data, i) for i in range(data.length)]
        return SmallArray((len(items),), items) if data.form == "array" else Seq(items)
    if data.form in ("pandas", "structured", "columns"):
        columns = {
            str(c.name): Rows((Case((), _field(machine, c, None, True)),), True)
            for c in data.columns
        }
        if data.user is not None:
            columns = {data.user: Rows((Case((), PERSON),), True), **columns}
        if data.form == "pandas":
            return RecordFrame(columns, Labels())
        return Structured(columns) if data.form == "structured" else Map(columns, frozen=True)
    return Rows((Case((), _record(machine, data, None)),), data.form in ("array", "matrix"))


def _field(
    machine: ContributionMachine, column: RecordField, index: int | None, floats: bool = False
) -> Any:
    """The value of a field: a form, or an option; `floats`: all numbers are given as such."""
    form = machine.terms.of("field", index, column.name)
    if column.values is not None:
        plain = floats and column.kind is float
        return Option(form, tuple(map(float, column.values)) if plain else column.values)
    if column.missing:
        return Option(machine.terms.of("field", index, column.flag), (form, math.nan))
    return form


def _record(machine: ContributionMachine, data: Data, index: int | None) -> Any:
    """One record, as the function is given it: a number, a dict, a row of a matrix, a tuple."""
    found: dict[Any, Any] = {c.name: _field(machine, c, index) for c in data.columns}
    if data.user is not None:
        found = {data.user: PERSON, **found}
    if None in found:
        return found[None]
    if data.form == "matrix" and not data.apart:
        if not all(isinstance(v, SymbolicForm) for v in found.values()):
            raise Unread("a matrix of fields that are not numbers")
        return SmallArray((len(found),), list(found.values()))
    if data.form == "tuples":
        return tuple(found.values())
    if data.form == "objects":
        return Record(found)
    if data.form == "namedtuples":
        return Record(found, placed=True)
    if data.form not in ("list", "dicts"):
        raise Unread(f"records given as {data.form}")
    return Map(dict(found), frozen=True)


def bounds(low: float, high: float) -> tuple[Fraction | None, Fraction | None]:
    """The ends of a range as rationals; None where there is none."""
    return (
        None if math.isinf(low) else Fraction(low),
        None if math.isinf(high) else Fraction(high),
    )
