"""The module math."""

from __future__ import annotations

import cmath
import math
from typing import TYPE_CHECKING, Any

from dpest.reading.domains import arithmetic
from dpest.reading.domains.numbers import FLOAT, INT, Real, Truth, as_number
from dpest.reading.machine import prelude
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.signals import Refused
from dpest.reading.table.registry import TABLE, entry, native

if TYPE_CHECKING:
    from dpest.reading.machine.executor import Machine

native(f for f in vars(math).values() if callable(f))
native(f for f in vars(cmath).values() if callable(f))


@entry(math.fabs)
def fabs(m: Machine, value: Any) -> Any:
    made = TABLE[abs](m, value)
    return Real(made.form, FLOAT) if isinstance(made, Real) else float(made)


@entry(math.fsum)
def fsum(m: Machine, values: Any) -> Any:
    return Enter(prelude.sum_, (values, 0.0))


@entry(math.isnan, math.isinf)
def never(m: Machine, value: Any) -> Any:
    if isinstance(value, (Real, Truth)):
        return False
    raise Refused("math.isnan or isinf of this")


@entry(math.isfinite)
def always(m: Machine, value: Any) -> Any:
    if isinstance(value, (Real, Truth)):
        return True
    raise Refused("math.isfinite of this")


def _rounded(name: str) -> Any:
    def made(m: Machine, value: Any) -> Any:
        refusal = Refused("rounding of a noisy or private number")
        if not isinstance(value, Real):
            raise refusal
        if value.integral:
            return as_number(value.form, INT)
        return arithmetic.rounded(m, name, value, INT, refusal)

    return made


for _function in (math.floor, math.ceil, math.trunc):
    entry(_function)(_rounded(_function.__name__))


def _curved(name: str) -> Any:
    def made(m: Machine, value: Any) -> Any:
        return arithmetic.applied(m, name, value, FLOAT)

    return made


for _function in (math.log, math.exp, math.sqrt, math.sin, math.cos, math.tan):
    entry(_function)(_curved(_function.__name__))


@entry(math.log1p)
def log1p(m: Machine, value: Any) -> Any:
    return arithmetic.applied(m, "log", arithmetic.binary(m, "+", value, 1), FLOAT)


def _other_logarithm(base: int) -> Any:
    def made(m: Machine, value: Any) -> Any:
        found = arithmetic.applied(m, "log", value, FLOAT)
        return arithmetic.binary(m, "/", found, math.log(base))

    return made


entry(math.log2)(_other_logarithm(2))
entry(math.log10)(_other_logarithm(10))


@entry(math.copysign)
def copysign(m: Machine, size: Any, sign: Any) -> Any:
    if not isinstance(sign, Real) or not arithmetic.is_number(size):
        raise Refused("math.copysign of a noisy or private size")
    return arithmetic.binary(m, "*", arithmetic.sign_of(m, sign, FLOAT), math.fabs(size))
