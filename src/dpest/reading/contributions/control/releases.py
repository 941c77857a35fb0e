"""All that a receiver sees, made visible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpest.reading.contributions.arithmetic import is_plain
from dpest.reading.contributions.control.stack import Suspended
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.loops import KEYS
from dpest.reading.contributions.values import (
    Combined,
    Map,
    Object,
    PlainIterator,
    ProgramObject,
    PublicValue,
    RecordTruth,
    Seq,
    SmallArray,
    UnseededGenerator,
)

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


def released(m: ContributionMachine, value: Any) -> Any:
    """All that a receiver sees, made visible; its structure is that of one run."""
    if isinstance(value, SymbolicForm):
        return m.visible(value)
    if isinstance(value, (RecordTruth, Combined)):
        seen = m.is_public(value) and not m.by_cases
        return m.shown(value) if seen else m.decide(value)
    if isinstance(value, ProgramObject):
        return ProgramObject(
            value.kind,
            {
                k: released(m, v)
                for k, v in value.attributes.items()
                if not isinstance(v, UnseededGenerator)
            },
        )
    if isinstance(value, Object):
        return value.release(m)
    if isinstance(value, SmallArray):
        return value.map(m.release)
    if isinstance(value, Seq):
        if value.rows is not None:
            raise Unread("a list with an entry for each record is released")
        if value.bag and value.sorted:
            return PublicValue()
        if value.bag:
            raise Unread(
                "a list is released whose order is that of the private data: sort it first"
            )
        return Seq([released(m, v) for v in value.items])
    if isinstance(value, Map):
        if value.frozen:
            raise Unread("a record is released")
        if value.partial:
            raise Unread(f"a dict is released whose keys are those of the data: {KEYS}")
        if value.open:
            m.ledger.notes.append(
                "the released dict is taken as a mapping: its order is that of the private "
                "data, and would leak if it were listed or written out"
            )
            return value
        return Map({k: released(m, v) for k, v in value.items.items()})
    if isinstance(value, tuple):
        return tuple(map(m.release, value))
    if isinstance(value, Suspended):
        return released(m, Seq(m.listed(value)))
    if isinstance(value, PlainIterator):
        return Seq([released(m, v) for v in value.items])
    if is_plain(value) or isinstance(value, PublicValue):
        return value
    raise Unread(f"{type(value).__name__} is released")
