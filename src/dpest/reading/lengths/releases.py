"""What a receiver sees of a value: its numbers, and plain values, one after the other.

The structure around them is decided by the way that was taken through the graph, which a proof
keeps; it needs no names here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dpest.geometry.linear import Form
from dpest.reading.domains.numbers import Real, Truth
from dpest.reading.lengths.abstraction import placed_values
from dpest.reading.lengths.machine import LengthMachine
from dpest.reading.lengths.places import ChosenPlace, DrawnByLaw, PlaceLabel, RandomPlace
from dpest.reading.lengths.values import (
    Argmax,
    Count,
    ElementPlace,
    FilledList,
    Gap,
    Kept,
    PlacedList,
)
from dpest.reading.machine.heap import (
    Buffer,
    DequeObject,
    DictObject,
    Instance,
    ListObject,
    SetObject,
)
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.state import State
from dpest.reading.machine.values import Array, Ref, is_plain
from dpest.running.skeleton import flatten


@dataclass
class Leaves:
    """Released numbers (as forms) and plain values; places of the greatest; places kept."""

    values: list[Any] = field(default_factory=list)
    greatest: list[Argmax] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    drawn: list[DrawnByLaw] = field(default_factory=list)
    tables: set[tuple[Any, ...]] = field(default_factory=set)
    """Public lists whose entries at such places are told instead of the places."""
    lists: set[str] = field(default_factory=set)
    told: set[int] = field(default_factory=set)
    shown: bool = True
    """Whether equal outputs are equal here, on whichever way: else there are no lower bounds."""

    def need_plain(self) -> None:
        if self.greatest or self.gaps or self.kept or self.drawn or self.tables:
            raise Refused("the place of an element that is put into a list")


def leaves_of(
    machine: LengthMachine, state: State, value: Any, found: Leaves, held: set[int]
) -> None:
    """Adds what is seen of a value; `held` are objects that the program can still change."""
    if isinstance(value, Real):
        found.values.append(_form(machine, value))
    elif isinstance(value, Truth):
        found.values.append(bool(machine.holds(value)))
    elif isinstance(value, (Count, ElementPlace)):
        found.values.append("position")
        # The number of the element at hand is known by the way; others may be equal by chance.
        found.shown = found.shown and isinstance(value, ElementPlace) and value.offset == 0
    elif isinstance(value, Kept):
        found.kept.append(value)
    elif isinstance(value, RandomPlace):
        found.values.append(("place", value.source, value.offset))
    elif isinstance(value, ChosenPlace):
        found.values.append(("chosen", value.path, value.offset))
    elif isinstance(value, DrawnByLaw):
        found.drawn.append(value)
    elif isinstance(value, PlaceLabel):
        found.tables.add(value.table)
        leaves_of(machine, state, value.place, found, held)
    elif isinstance(value, Argmax):
        found.greatest.append(value)
    elif isinstance(value, Gap):
        found.gaps.append(value)
    elif is_plain(value) and not isinstance(value, (tuple, frozenset, range)):
        found.values.extend(flatten(value)[1])
    elif isinstance(value, (tuple, range)):
        for part in value:
            leaves_of(machine, state, part, found, held)
    elif isinstance(value, Array):
        _unheld(value.buffer, held)
        for part in machine.arrays.elements(machine, value):
            leaves_of(machine, state, part, found, held)
    elif isinstance(value, Ref):
        _unheld(value, held)
        _of_object(machine, state, value, found, held)
    else:
        raise Refused(f"a {type(value).__name__} is released")


def returned_lists(state: State, value: Any) -> list[Ref]:
    """The lists that were filled, inside of what is returned."""
    found: list[Ref] = []
    pending: list[Any] = [value]
    seen: set[int] = set()
    while pending:
        part = pending.pop()
        if isinstance(part, tuple):
            pending += part
        elif isinstance(part, Ref) and part.address not in seen:
            seen.add(part.address)
            thing = state.heap.read(part)
            if isinstance(thing, FilledList):
                found.append(part)
            elif isinstance(thing, (ListObject, DequeObject)):
                pending += thing.items
            elif isinstance(thing, DictObject):
                pending += thing.items.values()
            elif isinstance(thing, Instance):
                pending += thing.attributes.values()
    return found


def _of_object(
    machine: LengthMachine, state: State, ref: Ref, found: Leaves, held: set[int]
) -> None:
    thing = state.heap.read(ref)
    if isinstance(thing, FilledList):
        if ref.address in found.told:
            return  # its values come first (see `released_at_end`)
        found.told.add(ref.address)
        found.lists.add(thing.items.name)
        parts = thing.items.new
        if isinstance(thing, PlacedList):
            log = machine.log_of(state)
            if not log.ended:
                raise Refused("an array with a place for each of the data, not all of them read")
            parts = placed_values(thing, log)
    elif isinstance(thing, (ListObject, DequeObject)):
        parts = thing.items
    elif isinstance(thing, DictObject):
        if any(isinstance(k, Ref) for k in thing.items):
            raise Refused("a dict with objects as keys is released")
        parts = [thing.items[k] for k in sorted(thing.items, key=repr)]
    elif isinstance(thing, SetObject):
        parts = sorted(thing.items, key=repr)
    elif isinstance(thing, Instance) and isinstance(thing.cls, type):
        parts = list(thing.attributes.values())
    elif isinstance(thing, Buffer):
        raise Refused("the memory of an array is released")
    else:
        raise Refused(f"a {machine.type_name(ref)} is released, which can't be looked into")
    for part in parts:
        leaves_of(machine, state, part, found, held | {ref.address})


def released_at_end(machine: LengthMachine, state: State, value: Any) -> Leaves:
    """What a returned value shows: first what lists got last, as on the edges before."""
    found = Leaves()
    for ref in returned_lists(state, value):
        leaves_of(machine, state, ref, found, set())
    leaves_of(machine, state, value, found, set())
    return found


def _unheld(ref: Ref, held: set[int]) -> None:
    if ref.address in held:
        raise Refused("an object inside of a list that is filled, which may still change")


def _form(machine: LengthMachine, value: Real) -> Any:
    bits = [s for s in value.form.terms if s.kind == "indicator"]
    form = value.form
    if bits:
        known = {s: Form.number(int(machine.holds(machine.definition(s)))) for s in bits}
        form = form.substitute(known)
    if form.terms:
        return form
    constant = form.constant
    return int(constant) if value.integral else float(constant)
