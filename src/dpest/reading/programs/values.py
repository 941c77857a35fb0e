"""What an expression of a translated function stands for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.geometry.linear import rational
from dpest.kernel.forms import ONE, ZERO
from dpest.kernel.judgments.assertions import (
    FALSE,
    TRUE,
    Assertion,
    LinearTerm,
    number,
    variable,
)

BOOL, INT, FLOAT, NONE = "bool", "int", "float", "None"
NUMPY_INT, NUMPY_FLOAT, NUMPY_BOOL = "numpy.int64", "numpy.float64", "numpy.bool"
NUMPY = frozenset({NUMPY_INT, NUMPY_FLOAT, NUMPY_BOOL})
FRACTION, OTHER = "Fraction", "of a type that is not known"
"""Kinds of numbers that may be used, and not returned."""
_KINDS: dict[type, str] = {
    int: INT,
    float: FLOAT,
    Fraction: FRACTION,
    np.int64: NUMPY_INT,
    np.float64: NUMPY_FLOAT,
}


@dataclass(frozen=True)
class ProgramNumber:
    """A number that is linear in the variables of the memory, and its Python type."""

    form: LinearTerm
    kind: str

    @property
    def constant(self) -> Fraction | None:
        return None if self.form.terms else self.form.constant


@dataclass(frozen=True)
class ProgramTruth:
    """A bool that a test decides."""

    test: Assertion
    kind: str = BOOL


@dataclass(frozen=True)
class Sequence_:
    """A list, tuple or array whose length is known where the code is read."""

    items: tuple[Value, ...]
    kind: str
    mutable: bool = False


@dataclass(frozen=True)
class ProgramConstant:
    """A value that is no number: None, a text, a function, a module, the generator."""

    value: Any


@dataclass(frozen=True)
class Product:
    """name := left·right, a statement beyond the while language: for those who can use it."""

    name: str
    left: LinearTerm
    right: LinearTerm


@dataclass(frozen=True)
class Quotient:
    """name := left/right"""

    name: str
    left: LinearTerm
    right: LinearTerm


@dataclass(frozen=True)
class Apply:
    """name := function(argument): exp, log, or a power with a known exponent."""

    name: str
    function: str
    argument: LinearTerm
    exponent: Fraction | None = None


class ProgramGenerator:
    """Stands for `rng`."""


Value = ProgramNumber | ProgramTruth | Sequence_ | ProgramConstant


@dataclass(frozen=True)
class ProgramState:
    """The names of a function where it is read: their values, and numbers that are known there."""

    names: Mapping[str, Value]
    prefix: str = ""
    globals: Mapping[str, Any] = field(default_factory=dict)

    def memory(self, name: str) -> str:
        """The variable of a name; those of outputs are kept free."""
        full = self.prefix + name
        return f"my.{full}" if full.split(".")[0] == "out" else full

    def with_(self, name: str, value: Value) -> ProgramState:
        return ProgramState({**self.names, name: value}, self.prefix, self.globals)


Continue = Callable[[ProgramState], Any]


def integer(value: int) -> ProgramNumber:
    return ProgramNumber(number(Fraction(value)), INT)


def plain_value(value: Any) -> Value:
    """A value of Python as it is: a number only if it is of a known class, not of a subclass."""
    if type(value) is bool:
        return ProgramTruth(TRUE if value else FALSE)
    kind = _KINDS.get(type(value))
    if kind is None or not abs(value) < math.inf:
        return ProgramConstant(value)
    return ProgramNumber(number(rational(value)), kind)


def of_variable(name: str, kind: str) -> ProgramNumber:
    return ProgramNumber(variable(name), kind)


def plus(one: ProgramNumber, other: ProgramNumber, factor: Fraction = ONE) -> ProgramNumber:
    return ProgramNumber(one.form.plus(other.form, factor), joined(one.kind, other.kind))


def joined(one: str, other: str) -> str:
    """The type of a sum or a product."""
    kinds = {one, other}
    if kinds & {OTHER, NUMPY_BOOL} or (FRACTION in kinds and kinds & NUMPY):
        return OTHER
    if kinds & NUMPY:
        return NUMPY_FLOAT if kinds & {FLOAT, NUMPY_FLOAT} else NUMPY_INT
    if FLOAT in kinds:
        return FLOAT
    return FRACTION if FRACTION in kinds else INT


def compared(*kinds: str) -> str:
    """The type of a comparison."""
    if OTHER in kinds or (FRACTION in kinds and NUMPY.intersection(kinds)):
        return OTHER
    return NUMPY_BOOL if NUMPY.intersection(kinds) else BOOL


def divided(one: str, other: str) -> str:
    """The type of a quotient."""
    kind = joined(one, other)
    return FRACTION if kind == FRACTION else joined(kind, FLOAT)


def scaled(one: ProgramNumber, factor: Fraction, kind: str) -> ProgramNumber:
    return ProgramNumber(number(ZERO).plus(one.form, factor), kind)
