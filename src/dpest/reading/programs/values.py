"""What an expression of a translated function stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpest.kernel.forms import ONE, ZERO
from dpest.kernel.judgments.assertions import Assertion, Linear, number, variable

BOOL, INT, FLOAT, NONE = "bool", "int", "float", "None"
NUMPY_INT, NUMPY_FLOAT = "numpy.int64", "numpy.float64"


@dataclass(frozen=True)
class Number:
    """A number that is linear in the variables of the memory, and its Python type."""

    form: Linear
    kind: str

    @property
    def constant(self) -> Fraction | None:
        return None if self.form.terms else self.form.constant


@dataclass(frozen=True)
class Truth:
    """A bool that a test decides."""

    test: Assertion


@dataclass(frozen=True)
class Sequence_:
    """A list, tuple or array whose length is known where the code is read."""

    items: tuple[Value, ...]
    kind: str
    mutable: bool = False


@dataclass(frozen=True)
class Constant:
    """A value that is no number: None, a text, a function, a module, the generator."""

    value: Any


@dataclass(frozen=True)
class Product:
    """name := left·right, a statement beyond the while language: for those who can use it."""

    name: str
    left: Linear
    right: Linear


@dataclass(frozen=True)
class Quotient:
    """name := left/right"""

    name: str
    left: Linear
    right: Linear


@dataclass(frozen=True)
class Apply:
    """name := function(argument): exp, log, or a power with a known exponent."""

    name: str
    function: str
    argument: Linear
    exponent: Fraction | None = None


class Generator:
    """Stands for `rng`."""


Value = Number | Truth | Sequence_ | Constant


@dataclass(frozen=True)
class State:
    """The names of a function where it is read: their values, and numbers that are known there."""

    names: Mapping[str, Value]
    prefix: str = ""
    globals: Mapping[str, Any] = field(default_factory=dict)

    def memory(self, name: str) -> str:
        """The variable of a name; those of outputs are kept free."""
        full = self.prefix + name
        return f"my.{full}" if full.split(".")[0] == "out" else full

    def with_(self, name: str, value: Value) -> State:
        return State({**self.names, name: value}, self.prefix, self.globals)


Continue = Callable[[State], Any]


def integer(value: int) -> Number:
    return Number(number(Fraction(value)), INT)


def of_variable(name: str, kind: str) -> Number:
    return Number(variable(name), kind)


def plus(one: Number, other: Number, factor: Fraction = ONE) -> Number:
    return Number(one.form.plus(other.form, factor), joined(one.kind, other.kind))


def joined(one: str, other: str) -> str:
    """The type of a sum or a product."""
    kinds = {one, other}
    if kinds & {NUMPY_FLOAT, NUMPY_INT}:
        return NUMPY_FLOAT if kinds & {FLOAT, NUMPY_FLOAT} else NUMPY_INT
    return FLOAT if FLOAT in kinds else INT


def scaled(one: Number, factor: Fraction, kind: str) -> Number:
    return Number(number(ZERO).plus(one.form, factor), kind)
