"""Numbers of elements, and places of them: added up and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpest.reading.code.operators import COMPARISONS
from dpest.reading.lengths.values import (
    Count,
    DataIterator,
    ElementPlace,
    Kept,
    NeedsIndex,
    NeedsPosition,
)
from dpest.reading.machine.signals import Refused, Thrown

if TYPE_CHECKING:
    from dpest.reading.lengths.machine import LengthMachine


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def counted(m: LengthMachine, op: str, *values: Any) -> Any:
    a, *rest = values
    if not rest:
        raise Refused(f"`{op}` of a number that depends on the length of the data")
    b = rest[0]
    if op in ("==", "!=") and any(v is None or isinstance(v, str) for v in (a, b)):
        return op == "!="
    if op in COMPARISONS:
        if isinstance(a, (Count, ElementPlace, Kept)):
            return _number_compared(m, op, a, b)
        return _number_compared(m, _MIRRORED[op], b, a)
    if op in ("+", "-") and isinstance(a, (Count, ElementPlace, Kept)) and type(b) is int:
        step = b if op == "+" else -b
        return Kept() if isinstance(a, Kept) else type(a)(a.offset + step)
    if op == "+" and isinstance(b, (Count, ElementPlace, Kept)) and type(a) is int:
        return Kept() if isinstance(b, Kept) else type(b)(b.offset + a)
    if op == "-" and isinstance(a, ElementPlace) and isinstance(b, ElementPlace):
        return a.offset - b.offset
    if op == "%" and isinstance(a, ElementPlace) and type(b) is int and b > 0:
        return _remainder(m, a, b)
    raise Refused(f"`{op}` of a number that depends on the length of the data")


def _number_compared(m: LengthMachine, op: str, a: Any, b: Any) -> bool:
    if isinstance(a, Count) and type(b) is int:
        return count_compared(m, op, a, b)
    if isinstance(a, Count) and isinstance(b, Count):
        return bool(COMPARISONS[op](a.offset, b.offset))
    if isinstance(a, ElementPlace) and type(b) is int:
        return place_compared(m, op, a, b)
    if isinstance(a, ElementPlace) and isinstance(b, ElementPlace):
        return bool(COMPARISONS[op](a.offset, b.offset))
    if isinstance(a, ElementPlace) and b == Count():
        return _place_before_end(m, op, a)
    if isinstance(b, ElementPlace) and a == Count():
        return _place_before_end(m, _MIRRORED[op], b)
    raise Refused("a look at a number that depends on the length of the data")


def count_compared(m: LengthMachine, op: str, count: Count, number: int) -> bool:
    """There is an entry, at least: where there is none, two neighbours are the same."""
    name = m.variable_looked_at()
    if name in m.plan.indices:
        m.cut()  # it is a place from there on
    if number < count.offset + 1:
        return bool(COMPARISONS[op](1, 0))
    if number == count.offset + 1 and op in ("<", ">="):
        return op == ">="
    raise NeedsIndex(name) if name else Refused("a comparison of the length with a number")


def variable_looked_at(m: LengthMachine) -> str:
    """The variable with a whole number that an instruction looks at, over all readings."""
    frame, i = m.frame, m.instruction
    if i.op in ("compare", "item"):
        for name in i.uses:
            if type(frame.registers.get(name)) is int and not name.startswith("%"):
                return f"{frame.code.qualname}:{name}"
    return ""


def place_compared(m: LengthMachine, op: str, place: ElementPlace, number: int) -> bool:
    log = m.log
    if log.exact:
        return bool(COMPARISONS[op](log.number + place.offset, number))
    least = m.plan.limit + place.offset  # the number is at least this, and has no upper bound
    if least <= number:
        raise NeedsPosition(exact=number - place.offset + 1)
    return bool(COMPARISONS[op](1, 0))


def place_below(m: LengthMachine, place: ElementPlace, size: int) -> int:
    """The place of an entry of a public list, at a place of the data."""
    log = m.log
    if log.exact:
        found = log.number + place.offset
        if not -size <= found < size:
            raise Thrown(IndexError("list index out of range"))
        return found
    if m.plan.limit + place.offset < size:
        raise NeedsPosition(exact=size - place.offset + 1)
    raise Thrown(IndexError("list index out of range"))


def _place_before_end(m: LengthMachine, op: str, place: ElementPlace) -> bool:
    """`i < len(x)` of the next place: whether there is an element."""
    if op not in ("<", ">=", "!=", "=="):
        raise Refused("a place that is compared with the length in this way")
    log = m.log
    before = True if place.offset < log.at else m.more(DataIterator(None, place.offset))
    return before if op in ("<", "!=") else not before


def _remainder(m: LengthMachine, place: ElementPlace, modulus: int) -> int:
    log = m.log
    if not log.exact and m.plan.modulus % modulus:
        raise NeedsPosition(modulus=modulus)
    return (log.number + place.offset) % modulus
