"""Scales of noise in units of a parameter without a value: a proof that holds for every eps.

A multiple of a power of eps is a plain value here (`domains.unit.Unit`): only the scales of noise
may be made of it. The length of the data, where it is public, may divide such a scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpest.errors import DpestError
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.domains.unit import Complement, Root, Unit, UnitExponential, sqrt

PRIVATE_SCALE = (
    "a parameter of the noise depends on private data. Use a public scale: from the bounds of the "
    "data, not from the data. Where records come and go their number is private: release a noisy "
    "sum and a noisy count, and divide afterwards"
)
UNITS = (Unit, Root, UnitExponential, Complement)
SCALES = (Unit, Root)


@dataclass(frozen=True)
class Divided:
    """unit · number^power, the number being public and not known here."""

    unit: Any
    number: SymbolicForm
    power: int


def has_unit(value: Any) -> bool:
    return isinstance(value, (*UNITS, Divided))


def arithmetic(m: Any, op: str, a: Any, b: Any) -> Any:
    """A product or quotient with a unit; everything else would depend on its value."""
    if op not in ("*", "/"):
        raise Unread(f"`{op}` of a parameter that has no value here")
    try:
        return _product(_parts(m, a), _parts(m, b), 1 if op == "*" else -1)
    except DpestError as error:
        raise Unread(str(error)) from None


def _parts(m: Any, value: Any) -> Divided:
    if isinstance(value, Divided):
        return value
    if isinstance(value, SCALES):
        return Divided(value, _NONE, 0)
    form = m.form(value)
    if m.terms.kind(form):
        raise Unread(PRIVATE_SCALE)
    if not form.terms:
        return Divided(form.constant, _NONE, 0)
    if form.constant or len(form.terms) != 1:
        raise Unread("a scale of noise that is not known")
    ((symbol, c),) = form.terms
    node = m.terms.nodes[symbol]
    if node[0] == "div" and not node[1].terms:
        inner = _parts(m, node[2])
        return Divided(c * node[1].constant / inner.unit, inner.number, -inner.power)
    return Divided(c, m.terms.of(*node), 1)


_NONE = SymbolicForm((), Fraction(1))


def _product(a: Divided, b: Divided, sign: int) -> Any:
    unit = a.unit * b.unit if sign == 1 else a.unit / b.unit
    powers: dict[SymbolicForm, int] = {}
    for part, factor in ((a, 1), (b, sign)):
        if part.power:
            powers[part.number] = powers.get(part.number, 0) + factor * part.power
    left = [(number, power) for number, power in powers.items() if power]
    if len(left) > 1:
        raise Unread("a scale of noise that is not known")
    if left:
        return Divided(unit, *left[0])
    return as_number(unit) if isinstance(unit, Fraction) else unit


def as_number(value: Fraction) -> Any:
    """A rational as a double where that says it exactly; otherwise as a form."""
    plain = float(value)
    return plain if Fraction(plain) == value else SymbolicForm((), value)


def function_of(op: str, value: Any) -> Any:
    """A root or an exponential of a unit."""
    try:
        if op == "sqrt":
            return sqrt(value)
        if op in ("exp", "npexp") and isinstance(value, Unit):
            return value.exp()
    except DpestError as error:
        raise Unread(str(error)) from None
    raise Unread(f"`{op}` of a parameter that has no value here")


def is_positive(value: Any) -> bool:
    return isinstance(value, Root) or (isinstance(value, Unit) and value.factor > 0)
