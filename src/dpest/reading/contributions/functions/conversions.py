"""Numbers and truths made of values: float, bool, int, abs, rounding."""

from __future__ import annotations

import builtins
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.contributions.arithmetic import is_number, is_plain, natively
from dpest.reading.contributions.calling import given
from dpest.reading.contributions.forms import RECORD, SymbolicForm, Unread, number
from dpest.reading.contributions.functions.registry import (
    FUNCTIONS,
    Handler,
    all_plain,
    as_array,
    entry,
    rows_of,
)
from dpest.reading.contributions.persons import ends_of
from dpest.reading.contributions.values import (
    Combined,
    Key,
    PublicValue,
    RecordTruth,
    Rows,
    SmallArray,
)

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


@entry(builtins.abs, np.abs, np.absolute, np.fabs, math.fabs)
def _abs(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "x")
    return m.elementwise(m.absolute, rows_of(m, value))


@entry(builtins.float, np.float64)
def _float(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "x")
    if is_plain(value) and not isinstance(value, SmallArray):
        return natively(float, value)
    if isinstance(value, SmallArray) and len(value.cells) == 1:
        value = value.cells[0]
    if isinstance(value, PublicValue):
        return m.publicly(float, value)
    if isinstance(value, (SymbolicForm, RecordTruth, Combined)) or is_number(value):
        return m.tidy(m.form(value))
    raise Unread("float of a value that is no number")


@entry(builtins.bool)
def _bool(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    (value,) = given(arguments, named, "x")
    if isinstance(value, PublicValue):
        return m.publicly(bool, value)
    return value if isinstance(value, (RecordTruth, Combined)) else m.decide(value)


@entry(builtins.int)
def _int(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
    if all_plain(arguments, named):
        return natively(int, *arguments, **named)
    (value,) = given(arguments, named, "x")
    if isinstance(value, PublicValue):
        return m.publicly(int, value)
    if isinstance(value, Key) and getattr(value.source, "order", "") == "sorted":
        return value  # in an order of their own, keys that become one tell nothing more
    if isinstance(value, (RecordTruth, Combined)):
        return int(m.form(value).constant)
    if m.is_whole_sum(value):
        return value
    found = m.local(m.form(value))
    if m.terms.kind(found):
        node = m.terms.nodes[found.terms[0][0]]
        if node[0] == "field" and m.fields[node[2]][2] and found == m.terms.of(*node):
            return found  # it is whole already
        return _cut_off(m, found)
    return m.publicly(int, found)


def _cut_off(m: ContributionMachine, form: SymbolicForm) -> int:
    """int() of a record's number that lies within narrow bounds, by cases."""
    low, high = ends_of(m, form)
    if m.record is None or m.terms.kind(form) != RECORD or low is None or high is None:
        raise Unread("int of a private value")
    if high - low > MOST_VALUES:
        raise Unread("int of a private value that may be one of very many")
    for k in range(int(low), int(high)):
        # int(v) <= k: below k + 1, or, as it goes towards 0, not above a negative k.
        below = (
            RecordTruth(">", number(k + 1) - form)
            if k >= 0
            else RecordTruth(">=", number(k) - form)
        )
        if m.decide(below):
            return k
    return int(high)


_KINDS = {math.floor: "floor", np.floor: "floor", math.ceil: "ceil", np.ceil: "ceil"}


def _rounding(function: Any) -> Handler:
    def handler(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Any:
        if all_plain(arguments, named):
            return NotImplemented
        value = rows_of(m, arguments[0])
        if isinstance(value, Rows) and function in (np.round, np.rint, np.floor, np.ceil):
            value = as_array(m, value)
        if isinstance(value, Rows) or m.in_pass:
            return m.elementwise(lambda x: _rounded(m, function, x, arguments[1:]), value)
        drawn = value.cells if isinstance(value, SmallArray) else [value]
        if len(arguments) == 1 and not named and drawn and all(map(m.is_unseen_noise, drawn)):
            kind = _KINDS.get(function, "rint")
            return m.elementwise(lambda z: m.terms.of(kind, z), value)
        return m.publicly(function, *arguments, **named)

    return handler


def _rounded(m: ContributionMachine, function: Any, value: Any, digits: list[Any]) -> Any:
    """A record's number, rounded: between its ends, rounded."""
    if is_number(value):
        return natively(function, value, *digits)
    form = m.local(m.form(value))
    if not m.terms.kind(form):
        return m.publicly(function, form, *digits)
    places = digits[0] if digits else 0
    if not isinstance(places, int) or (function in (np.floor, np.ceil) and places):
        raise Unread("rounding to a number of digits that is not known")
    scale = number(Fraction(10) ** places)
    inner = m.terms.mul(form, scale)
    return m.terms.of(_KINDS.get(function, "rint"), inner).times(1 / scale.constant)


for _rounds in (builtins.round, math.floor, math.ceil, np.round, np.rint, np.floor, np.ceil):
    FUNCTIONS[_rounds] = _rounding(_rounds)

MOST_VALUES = 64  # of a record's number, looked at one by one
