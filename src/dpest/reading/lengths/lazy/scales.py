"""Arithmetic with powers of eps, which has no value here: exact, or refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpest.errors import DpestError
from dpest.noise.parameters import is_number
from dpest.reading.code.operators import COMPARISONS, OPERATORS
from dpest.reading.domains.unit import Complement, Root, Unit, UnitExponential
from dpest.reading.lengths.values import Scale
from dpest.reading.machine.signals import Refused


def unscaled(value: Any) -> Any:
    return value.unit if isinstance(value, Scale) else value


def in_units(op: str, *values: Any) -> Any:
    """Arithmetic with powers of eps: exact, or refused."""
    plain = [unscaled(v) for v in values]
    if not all(isinstance(v, Scale) or is_number(v) for v in values):
        if op in ("==", "!=") and any(v is None or isinstance(v, str) for v in values):
            return op == "!="
        raise Refused("eps, which has no value here, together with a value that is no number")
    try:
        if len(plain) == 1:
            found = {"-": lambda v: -v, "+": lambda v: v, "not": lambda v: not v}[op](plain[0])
        else:
            found = (COMPARISONS.get(op) or OPERATORS[op])(*plain)
    except (DpestError, TypeError, ZeroDivisionError, ValueError) as error:
        raise Refused(f"eps, which has no value here: {error}") from None
    return as_scale(found)


def as_scale(found: Any) -> Any:
    if isinstance(found, (Unit, Root, UnitExponential, Complement)):
        return Scale(found)
    if isinstance(found, Fraction):
        if found.denominator == 1 and abs(found) < 2**53:
            return float(found)
        return float(found) if Fraction(float(found)) == found else _not_exact()
    if isinstance(found, (bool, int, float)):
        return found
    raise Refused("eps, which has no value here, in this operation")


def _not_exact() -> Any:
    raise Refused("a number without a finite binary fraction, from a quotient of scales")
