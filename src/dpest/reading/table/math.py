"""The module math."""

from __future__ import annotations

import cmath
import math
from typing import TYPE_CHECKING, Any

from dpest.reading.domains import arithmetic
from dpest.reading.domains.numbers import FLOAT, Real, Truth
from dpest.reading.machine import prelude
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.signals import Refused, Thrown
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


def _curved(name: str) -> Any:
    def made(m: Machine, value: Any) -> Any:
        return arithmetic.applied(m, name, value, FLOAT)

    return made


for _function in (math.exp, math.sqrt, math.sin, math.cos, math.tan):
    entry(_function)(_curved(_function.__name__))


@entry(math.log)
def log(m: Machine, value: Any, base: Any = None) -> Any:
    found = arithmetic.applied(m, "log", value, FLOAT)
    # What has a law has it wherever the draws lie: it never raises.
    unfinished = isinstance(found, Real) and any(s in m.unfinished for s in found.form.terms)
    if unfinished and isinstance(value, Real) and not m.is_positive(value.form):
        raise _outside()
    if base is None:
        return found
    if not arithmetic.is_number(base):
        raise Refused("math.log with a noisy or private base")
    return arithmetic.binary(m, "/", found, math.log(base))


def _outside() -> Thrown:
    """What a logarithm of Python's raises for a number that is not positive."""
    try:
        math.log(-1.0)
    except ValueError as error:
        return Thrown(error)
    raise AssertionError


@entry(math.log1p)
def log1p(m: Machine, value: Any) -> Any:
    return log(m, arithmetic.binary(m, "+", value, 1))


@entry(math.log2)
def log2(m: Machine, value: Any) -> Any:
    return log(m, value, 2)


@entry(math.log10)
def log10(m: Machine, value: Any) -> Any:
    return log(m, value, 10)


@entry(math.copysign)
def copysign(m: Machine, size: Any, sign: Any) -> Any:
    if not isinstance(sign, Real) or not arithmetic.is_number(size):
        raise Refused("math.copysign of a noisy or private size")
    return arithmetic.binary(m, "*", arithmetic.sign_of(m, sign, FLOAT), math.fabs(size))
