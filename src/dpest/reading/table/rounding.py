"""What rounds: round, int, math.floor and their like, of Python and of NumPy.

A noisy value on a given input becomes one of a few whole numbers, each in a state of its own,
unless a law is known of the rounded noise (`rewrites/laws/`). Data are not rounded here.
"""

from __future__ import annotations

import builtins
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.geometry.linear import Form
from dpest.noise.parameters import exact
from dpest.reading.domains import arithmetic
from dpest.reading.domains.numbers import INT, Real, Truth, as_number, is_integral
from dpest.reading.machine import operators
from dpest.reading.machine.classes import is_object
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.values import Array
from dpest.reading.rewrites.rounding import PLAINLY, How, Window, rounded
from dpest.reading.table.numpy_functions import _elementwise as elementwise
from dpest.reading.table.registry import entry

if TYPE_CHECKING:
    from dpest.reading.machine.executor import Machine

_ONE = Fraction(1)


def _refusal(what: str) -> Refused:
    return Refused(
        f"{what} of a noisy value", "release the value itself; rounding afterwards costs no privacy"
    )


def _multiple(m: Machine, form: Form, how: How, step: Fraction, refusal: Refused) -> Fraction:
    """The multiple of `step` that a value becomes on this path."""

    def choose(window: Window) -> int:
        known = m.answered([form])
        if known is not None:
            return known
        return m.decide([tuple(cell) for cell in window.cells()], endless=True)

    if not form.terms:
        return PLAINLY[how](form.constant / step) * step
    found = rounded(form, how, step, m.supports.noises, choose) if m.may_leave else None
    if found is None:
        raise refusal
    return found * step


def _whole(m: Machine, value: Real, how: How, what: str) -> Any:
    """A whole number, as Python gives it."""
    if value.integral or m.divisible(value.form, 1) is not None:
        return as_number(value.form, INT)
    form = m.settled(value.form)
    refusal = _refusal(what)
    if how != "round" and form.terms:
        try:
            return as_number(m.make(how, [form], refusal), INT)
        except Refused as refused:
            if refused is not refusal:
                raise
    return int(_multiple(m, form, how, _ONE, refusal))


def _float(m: Machine, value: Any, how: How, digits: int, kind: type, what: str) -> Any:
    """A number with so many digits, of the type that it had; a small negative one becomes -0.0."""
    form = m.settled(value.form)
    refusal = _refusal(what)
    if how != "round" and form.terms:
        try:
            return as_number(m.make(how, [form], refusal), (kind,))
        except Refused as refused:
            if refused is not refusal:
                raise
    found = _multiple(m, form, how, Fraction(10) ** -digits, refusal)
    if found == 0 and m.holds(arithmetic.compare(m, "<", Real(form), 0)):
        return kind(-0.0)
    return kind(round(float(found), digits))


def _of_float(m: Machine, value: Any, how: How, digits: int, what: str) -> Any:
    if not isinstance(value, Real):
        return value
    if value.integral or len(value.kinds) > 1:
        raise _refusal(what)
    return _float(m, value, how, digits, value.kinds[0], what)


# Python


@entry(builtins.round)
def round_(m: Machine, value: Any, digits: Any = None) -> Any:
    if not isinstance(value, Real) or (digits is not None and not arithmetic.is_number(digits)):
        raise Refused("rounding of a noisy or private number")
    if digits is None:
        return _whole(m, value, "round", "round()")
    return _of_float(m, value, "round", int(digits), "round()")


@entry(math.floor)
def floor(m: Machine, value: Any) -> Any:
    return _of_math(m, value, "floor")


@entry(math.ceil)
def ceil(m: Machine, value: Any) -> Any:
    return _of_math(m, value, "ceil")


@entry(math.trunc)
def trunc(m: Machine, value: Any) -> Any:
    return _of_math(m, value, "trunc")


def _of_math(m: Machine, value: Any, how: How) -> Any:
    if isinstance(value, Truth):
        return as_number(m.indicator(value), INT)
    if not isinstance(value, Real):
        raise Refused(f"math.{how}(…) of this")
    return _whole(m, value, how, f"math.{how}()")


@entry(builtins.int)
def int_(m: Machine, value: Any = 0, *base: Any) -> Any:
    if isinstance(value, Array) and value.places.size == 1:
        value = m.arrays.elements(m, value)[0]
    if isinstance(value, Truth):
        return as_number(m.indicator(value), INT)
    if isinstance(value, Real):
        return _whole(m, value, "trunc", "int()")
    if is_object(m.state, value):
        raise Refused("int(…) of an object")
    return operators.native(int, m.plain_index(value), *base)


# NumPy


def _numpy(how: How, ufunc: Any) -> Any:
    def one(m: Machine, value: Any) -> Any:
        if not isinstance(value, (Real, Truth)):
            return ufunc(value)
        if isinstance(value, Truth) or is_integral(value.kinds):
            raise _refusal(f"np.{ufunc.__name__}()")
        return _of_float(m, value, how, 0, f"np.{ufunc.__name__}()")

    return elementwise(one, ufunc)


for _ufunc, _how in {
    np.rint: "round", np.floor: "floor", np.ceil: "ceil", np.trunc: "trunc"
}.items():  # fmt: skip
    entry(_ufunc)(_numpy(_how, _ufunc))  # type: ignore[arg-type]


@entry(np.round, np.around)
def numpy_round(m: Machine, value: Any, decimals: Any = 0, **options: Any) -> Any:
    if options or not arithmetic.is_number(decimals):
        raise Refused("an option of np.round")
    digits = int(exact(decimals))

    def one(m: Machine, v: Any) -> Any:
        return _of_float(m, v, "round", digits, "np.round()") if isinstance(v, Real) else v

    return elementwise(one, np.rint)(m, value)
