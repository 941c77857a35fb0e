"""Programs of the while language: assignments, draws of noise, conditionals and loops.

A program is a list of statements; an expression is linear in the variables, a test is an assertion
about them. A draw `x <- e + noise` takes fresh noise, independent of everything before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ..fields import Fields, listed
from ..forms import ZERO
from ..invalid import Invalid, need
from .assertions import NAME, Assertion, LinearTerm, read_assertion, read_linear

_DEEPEST = 100
Family = Literal["laplace", "gaussian", "exponential", "bernoulli"]


@dataclass(frozen=True)
class StatedNoise:
    """`size`: the scale (Laplace, exponential), the standard deviation, or the chance of a 1."""

    family: Family
    size: Fraction


@dataclass(frozen=True)
class Assign:
    name: str
    value: LinearTerm


@dataclass(frozen=True)
class DrawStatement:
    """name <- centre + noise"""

    name: str
    centre: LinearTerm
    noise: StatedNoise


@dataclass(frozen=True)
class If:
    test: Assertion
    then: Program
    other: Program


@dataclass(frozen=True)
class While:
    test: Assertion
    body: Program


Statement = Assign | DrawStatement | If | While
Program = tuple[Statement, ...]


def read_program(value: object, where: str, depth: int = 0) -> Program:
    need(depth < _DEEPEST, f"{where}: too deeply nested")
    parts = (Fields(part, where) for part in listed(value, where))
    return tuple(_statement(part, depth) for part in parts)


def _statement(fields: Fields, depth: int) -> Statement:
    kind, where = fields.text("do"), fields.where
    found: Statement
    if kind == "assign":
        found = Assign(_name(fields), read_linear(fields.take("value"), NAME, where))
    elif kind == "draw":
        name, centre = _name(fields), read_linear(fields.take("centre"), NAME, where)
        found = DrawStatement(name, centre, _noise(fields.inner("noise")))
        bare = centre.constant == ZERO and not centre.terms
        need(found.noise.family != "bernoulli" or bare, f"{where}: a coin has no centre")
    elif kind == "if":
        test = read_assertion(fields.take("test"), NAME, where)
        then = read_program(fields.take("then"), where, depth + 1)
        found = If(test, then, read_program(fields.take("else"), where, depth + 1))
    elif kind == "while":
        test = read_assertion(fields.take("test"), NAME, where)
        found = While(test, read_program(fields.take("body"), where, depth + 1))
    else:
        raise Invalid(f"{where}: unknown statement {kind[:40]!r}")
    fields.done()
    return found


def _name(fields: Fields) -> str:
    name = fields.text("name")
    need(NAME.fullmatch(name) is not None, f"{fields.where}: no variable: {name[:40]!r}")
    return name


def _noise(fields: Fields) -> StatedNoise:
    family, size = fields.text("family"), fields.number("size")
    fields.done()
    if family == "bernoulli":
        need(0 <= size <= 1, f"{fields.where}: no chance: {size}")
        return StatedNoise("bernoulli", size)
    need(size > 0, f"{fields.where}: the size of noise is not positive")
    if family == "laplace":
        return StatedNoise("laplace", size)
    if family == "gaussian":
        return StatedNoise("gaussian", size)
    need(family == "exponential", f"{fields.where}: unknown noise {family[:40]!r}")
    return StatedNoise("exponential", size)


def assigned(program: Iterable[Statement]) -> set[str]:
    """The variables that a program may change."""
    found: set[str] = set()
    for statement in program:
        if isinstance(statement, (Assign, DrawStatement)):
            found.add(statement.name)
        elif isinstance(statement, If):
            found |= assigned(statement.then) | assigned(statement.other)
        else:
            found |= assigned(statement.body)
    return found


def has_loop(program: Iterable[Statement]) -> bool:
    for statement in program:
        if isinstance(statement, While):
            return True
        if isinstance(statement, If) and (has_loop(statement.then) or has_loop(statement.other)):
            return True
    return False
