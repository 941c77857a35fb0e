"""Symbolic numbers and truths: exact linear forms that know which types they stand for.

They have no operators. What Python would do with the number is done by `domains.arithmetic`; if a
symbolic value ever gets into code that is not the machine's, each of its operators refuses.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from dpest.geometry.linear import Condition, Form
from dpest.reading.machine.signals import Refused

Kinds = tuple[type, ...]
FLOAT: Kinds = (float,)
INT: Kinds = (int,)
BOOL: Kinds = (bool,)
NUMPY_FLOAT: Kinds = (np.float64,)
NUMPY_INT: Kinds = (np.int64,)
NUMPY_BOOL: Kinds = (np.bool_,)
NUMBER: Kinds = (float, int)  # a datum that may be either

PLAIN_NUMBERS = (int, float, bool, np.float64, np.int64, np.bool_, np.integer, np.floating)


class Guarded:
    """Refuses whatever native code would do with it."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise Refused("a symbolic value reached code that is not read")


for _name in (
    *("bool", "float", "int", "index", "complex", "len", "iter", "str", "format", "bytes"),
    *("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert", "round", "trunc"),
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv"),
    *("rfloordiv", "mod", "rmod", "pow", "rpow", "and", "rand", "or", "ror", "xor", "rxor"),
    *("matmul", "rmatmul", "getitem", "contains", "call", "array", "divmod", "rdivmod"),
):
    setattr(Guarded, f"__{_name}__", Guarded._refuse)


class Real(Guarded):
    """A number that is linear in noise and data; `kinds` are the types that it may have."""

    __slots__ = ("form", "kinds")

    def __init__(self, form: Form, kinds: Kinds = FLOAT) -> None:
        self.form = form
        self.kinds = kinds

    @property
    def integral(self) -> bool:
        """Whether it is a whole number by its type."""
        return all(issubclass(k, (int, np.integer, np.bool_)) for k in self.kinds)

    def __repr__(self) -> str:
        return f"<{self.form}>"


class Truth(Guarded):
    """A formula: a condition, or a conjunction or disjunction of formulas. Never a known one."""

    __slots__ = ("condition", "conjunction", "kind", "parts")

    def __init__(
        self,
        condition: Condition | None,
        parts: tuple[Truth, ...] = (),
        conjunction: bool = True,
        kind: type = bool,
    ) -> None:
        self.condition = condition
        self.parts = parts
        self.conjunction = conjunction
        self.kind = kind

    def negated(self) -> Truth:
        if self.condition is not None:
            return Truth(self.condition.negated(), kind=self.kind)
        parts = tuple(p.negated() for p in self.parts)
        return Truth(None, parts, not self.conjunction, self.kind)

    def typed(self, kind: type) -> Truth:
        return (
            self if kind is self.kind else Truth(self.condition, self.parts, self.conjunction, kind)
        )

    @property
    def key(self) -> Any:
        if self.condition is not None:
            return self.condition
        return (self.conjunction, tuple(p.key for p in self.parts))

    def __repr__(self) -> str:
        if self.condition is not None:
            return f"[{self.condition}]"
        return (" and " if self.conjunction else " or ").join(map(repr, self.parts)).join("()")


def kinds_of(value: Any) -> Kinds:
    if isinstance(value, Real):
        return value.kinds
    return (value.kind,) if isinstance(value, Truth) else (type(value),)


def is_integral(kinds: Kinds) -> bool:
    return all(issubclass(k, (int, np.integer, np.bool_)) for k in kinds)


_SAMPLES: dict[type, Any] = {bool: True, np.bool_: np.bool_(True)}


@functools.lru_cache(maxsize=4096)
def result_kinds(op: Callable[..., Any], *kinds: Kinds) -> Kinds:
    """The types of an operator's result, found by doing it to ones of the given types."""
    found: set[type] = set()

    def go(chosen: tuple[Any, ...], rest: tuple[Kinds, ...]) -> None:
        if rest:
            for kind in rest[0]:
                go((*chosen, _SAMPLES.get(kind, kind(1))), rest[1:])
        else:
            try:
                found.add(type(op(*chosen)))
            except TypeError:
                raise Refused(f"`{getattr(op, '__name__', op)}` of these types") from None

    with np.errstate(all="ignore"):
        go((), kinds)
    return tuple(sorted(found, key=lambda k: k.__name__))


def as_number(form: Form, kinds: Kinds) -> Any:
    """A form as a value: a plain number of its type where it has no symbols."""
    if form.terms:
        return Real(form, kinds)
    if len(kinds) > 1:
        # A number that stands for an int or a float: whole ones would differ in their text.
        raise Refused("a constant that may be an int or a float")
    kind: Any = kinds[0]
    constant = form.constant
    if issubclass(kind, (int, np.integer)):
        if constant.denominator != 1:
            raise Refused("a whole number that isn't one")
        return kind(int(constant))
    return kind(_nearest_float(constant))


def _nearest_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        raise Refused("a number that is too large for a float", final=True) from None


ADD, SUBTRACT, MULTIPLY, DIVIDE = operator.add, operator.sub, operator.mul, operator.truediv
