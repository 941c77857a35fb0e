"""From a mechanism to what its records add: all ways of public decisions."""

from __future__ import annotations

import inspect
import math
import types
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpest.reading.contributions.choices import Script, ways
from dpest.reading.contributions.forms import Raised, Terms, Unread
from dpest.reading.contributions.ledger import Ledger
from dpest.reading.contributions.machine import Machine
from dpest.reading.contributions.objects import Method, Partial
from dpest.reading.contributions.values import (
    Array,
    Case,
    Generator,
    Instance,
    Map,
    Rows,
    RowsLength,
    Seq,
    Truth,
)


@dataclass(frozen=True)
class Column:
    """A field of a record; `name` is None where records are numbers. None: no bound."""

    name: str | None
    low: Fraction | None
    high: Fraction | None
    whole: bool


@dataclass(frozen=True)
class Data:
    """What is given: the columns of a record, the form, who is a neighbour, and the length.

    `length`: None for every length. `apart`: each of `length` records has symbols of its own.
    """

    columns: tuple[Column, ...]
    form: str
    replace: bool
    length: int | None = None
    apart: bool = False


@dataclass(frozen=True)
class Way:
    """One way through the program: what was decided in public, what was found, the output."""

    decided: tuple[Truth, ...]
    ledger: Ledger
    terms: Terms
    output: Any
    row_of: dict[Any, int]
    """Which public symbol is the value of which row."""
    length_symbol: Any
    uniform_symbols: dict[Any, int]
    """Which public symbol is which uniform draw."""
    recipes: dict[Any, Any]
    """How a run makes what a public symbol stands for."""
    namespaces: tuple[dict[str, Any], ...]
    """The globals of all functions that were read."""


def read(function: Any, parameters: dict[str, Any], data: Data, races: bool = True) -> list[Way]:
    """All ways; refuses what it does not understand.

    `races`: which of several noisy values is the largest is looked at as one step.
    """

    def one(script: Script) -> Way:
        machine = Machine(script, data.replace, races)
        machine.fields = {c.name: (c.low, c.high, c.whole) for c in data.columns}
        if data.replace:
            machine.public_length = (
                machine.public() if data.length is None else RowsLength(data.length)
            )
        target, arguments, names = _target(machine, function)
        given: dict[str, Any] = {"rng": Generator()} if "rng" in names else {}
        for name, value in parameters.items():
            given[name] = machine.admitted(value, f"the parameter `{name}`")
        first = names[len(arguments)] if len(arguments) < len(names) else None
        if first is None or first == "rng":
            raise Unread("a function without a first parameter for its data")
        given.pop(first, None)
        try:
            output = machine.call(target, [*arguments, _data(machine, data)], given)
            released = machine.release(output)
        except Raised as raised:
            released = raised
        return Way(
            tuple(script.taken),
            machine.ledger,
            machine.terms,
            released,
            machine.row_of,
            1 if data.replace and data.length is None else None,
            machine.uniform_symbols,
            machine.recipes,
            tuple(machine.namespaces.values()),
        )

    return [way for _, way in ways(one, most=64)]


def _target(machine: Machine, function: Any) -> tuple[Any, list[Any], list[str]]:
    """What is called, with what stands before the data, and the names of its parameters."""
    found = machine.admitted(function, "the mechanism")
    if isinstance(found, Method):
        target, before = found.function, [found.owner]
    elif isinstance(found, Instance):
        target, before = getattr(found.kind, "__call__", None), [found]
    elif isinstance(found, Partial):
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


def _data(machine: Machine, data: Data) -> Any:
    if data.apart:
        assert data.length is not None
        items = [_record(machine, data, i) for i in range(data.length)]
        return Array((len(items),), items) if data.form == "array" else Seq(items)
    return Rows((Case((), _record(machine, data, None)),), data.form in ("array", "matrix"))


def _record(machine: Machine, data: Data, index: int | None) -> Any:
    """One record, as the function is given it: a number, a dict, a row of a matrix, a tuple."""
    found = {c.name: machine.terms.of("field", index, c.name) for c in data.columns}
    if None in found:
        return found[None]
    if data.form == "matrix" and not data.apart:
        return Array((len(found),), list(found.values()))
    if data.form == "tuples":
        return tuple(found.values())
    if data.form not in ("list", "dicts"):
        raise Unread(f"records given as {data.form}")
    return Map(dict(found), frozen=True)


def bounds(low: float, high: float) -> tuple[Fraction | None, Fraction | None]:
    """The ends of a range as rationals; None where there is none."""
    return (
        None if math.isinf(low) else Fraction(low),
        None if math.isinf(high) else Fraction(high),
    )
