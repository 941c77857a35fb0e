"""Whole numbers of a record, looked at one by one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpest.reading.contributions.forms import SymbolicForm, form_of
from dpest.reading.contributions.values import RecordTruth

if TYPE_CHECKING:
    from dpest.reading.contributions.loops import Loops

_MANY = 64  # values of a field that are looked at one by one
_MOST = 255  # the same for a graph of sums, which does so in any case
_WHOLE: dict[str, Callable[..., int]] = {
    "min": lambda *v: min(v), "max": lambda *v: max(v), "abs": abs, "mul": lambda a, b: a * b
}  # fmt: skip


def pinned(m: Loops, value: Any) -> Any:
    """A whole number of the record, as a plain one, by cases."""
    if m.record is None or not isinstance(value, SymbolicForm) or not value.terms:
        return value
    field = _small_field(m, value)
    if field is None:
        return value
    symbol, low, high = field
    while high > low and _excluded(m, symbol, high):
        high -= 1
    for k in range(low, high):
        if m.decide(RecordTruth("==", form_of({symbol: Fraction(1)}, Fraction(-k)))):
            return _whole_at(m, value, symbol, k)
    last = RecordTruth("==", form_of({symbol: Fraction(1)}, Fraction(-high)))
    if last not in m.record.taken:
        m.record.taken.append(last)  # there is no other: it follows, and it tells more
    return _whole_at(m, value, symbol, high)


def _excluded(m: Loops, symbol: int, k: int) -> bool:
    """Whether the record is known not to have this number."""
    assert m.record is not None
    form = form_of({symbol: Fraction(1)}, Fraction(-k))
    return any(RecordTruth("!=", f) in m.record.taken for f in (form, -form))


def whole_range(m: Loops, value: Any) -> tuple[Any, Any]:
    """Between which numbers a whole number of the record lies; None: of no known bounds."""
    field = _small_field(m, value) if isinstance(value, SymbolicForm) else None
    if field is None:
        return None, None
    symbol, low, high = field
    values = [_whole_at(m, value, symbol, k) for k in range(low, high + 1)]
    return min(values), max(values)


def _small_field(m: Loops, value: SymbolicForm) -> tuple[int, int, int] | None:
    """The one field of few whole values that a number is computed of, and its ends."""
    symbols = _fields_in(m, value)
    if symbols is None or len(symbols) != 1:
        return None
    (symbol,) = symbols
    low, high, whole = m.fields[m.terms.nodes[symbol][2]]
    if not whole or low is None or high is None:
        return None
    few = high - low <= (_MOST if m.by_cases else _MANY)
    return (symbol, int(low), int(high)) if few else None


def _fields_in(m: Loops, value: SymbolicForm) -> set[int] | None:
    """The fields that a whole number is computed of; None: by other than whole numbers."""
    if value.constant.denominator != 1:
        return None
    found: set[int] = set()
    for symbol, c in value.terms:
        op, *given = m.terms.nodes[symbol]
        if c.denominator != 1 or op not in ("field", *_WHOLE):
            return None
        inside = [{symbol}] if op == "field" else [_fields_in(m, a) for a in given]
        for one in inside:
            if one is None:
                return None
            found |= one
    return found


def _whole_at(m: Loops, value: SymbolicForm, field: int, number: int) -> int:
    """A whole number where the field that it is computed of has a value."""
    total = value.constant
    for symbol, c in value.terms:
        op, *given = m.terms.nodes[symbol]
        if symbol == field:
            total += c * number
        else:
            total += c * _WHOLE[op](*(_whole_at(m, a, field, number) for a in given))
    return int(total)
