"""Entries of data of any length: that of this turn, the greatest, one at a random place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpest.reading.domains.weights import Weight, WeightSum
from dpest.reading.lengths import places, weighing
from dpest.reading.lengths.lazy.counting import place_below
from dpest.reading.lengths.places import CHOSEN, IN_ORDER, OneDraw, RandomPlace
from dpest.reading.lengths.values import (
    Argmax,
    ElementPlace,
    Filled,
    NeedsList,
    Ordered,
    OrderedPlaces,
    PlacedList,
    Ranked,
    Sums,
    Vector,
)
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.values import Lazy, Ref

if TYPE_CHECKING:
    from dpest.reading.lengths.machine import LengthMachine


def entry_of(m: LengthMachine, thing: Any, index: Any) -> Any:
    """thing[index], where one of them depends on the length; None: neither does."""
    placed = m.placed_at(thing, index)
    if placed is not None:
        if not placed.current and not placed.fill:
            raise Refused("a place of an array that was not set")
        return (placed.current or placed.fill)[0]
    candidates = places.candidates_of(m, thing)
    if type(index) is int and (isinstance(thing, Vector) or candidates is not None):
        m.need_place()
    if candidates is not None:
        return places.entry_of(m, thing, index)
    if isinstance(index, CHOSEN) and not isinstance(thing, Vector):
        label = places.label_at(m, thing, index)
        if label is not None:
            return label
    if isinstance(index, RandomPlace) and isinstance(thing, Vector):
        return m.entry_at(thing, index)
    if isinstance(index, ElementPlace) and isinstance(thing, Vector):
        m.reach(index)
        m.look(IN_ORDER)
        m.use(thing.own)
        return thing.element
    if isinstance(index, Argmax) and isinstance(thing, Vector):
        if thing.own and index.is_greatest_of(thing):
            return Ranked(thing, 1)
        return weighing.entry_at(m, thing, index)
    if isinstance(index, ElementPlace) and (items := m.sequence(thing)) is not None:
        return items[place_below(m, index, len(items))]
    if isinstance(thing, OneDraw) and type(index) is int and index in (0, -1):
        return thing.place
    weights = thing.vector.element if isinstance(thing, Sums) else None
    if isinstance(weights, Weight) and type(index) is int and index == -1:
        return WeightSum(weights)
    if isinstance(thing, Ordered) and type(index) is int and index in (-1, -2):
        return Ranked(thing.vector, -index)
    if isinstance(thing, OrderedPlaces) and type(index) is int and index in (0, -1):
        return Argmax(thing.element, thing.backwards == (index == -1))
    if isinstance(thing, OrderedPlaces) and index == slice(None, 1):
        return OneDraw(Argmax(thing.element, not thing.backwards))
    if isinstance(thing, OrderedPlaces) and index == slice(None, None, -1):
        return OrderedPlaces(thing.element, not thing.backwards)
    if isinstance(thing, (Ordered, OrderedPlaces)):
        raise Refused("an entry of an order of the data, but the first or the last")
    if isinstance(thing, Lazy) or isinstance(index, Lazy):
        raise Refused("an entry of data of any length, but that of this turn")
    return None


def placed_at(m: LengthMachine, thing: Any, index: Any) -> PlacedList | None:
    """Such an array, where it is looked at in the place of this edge's element."""
    found = m.state.heap.read(thing) if isinstance(thing, Ref) else None
    if not isinstance(found, PlacedList):
        return None
    if index != ElementPlace() or not m.log.at:
        raise NeedsList(found.items.name)
    return found


def new_places(m: LengthMachine, fill: tuple[Any, ...], kind: type) -> Ref:
    """A new array or list with a place for each element."""
    if m.log.begun:
        raise Refused("an array with a place for each of the data, after some were read")
    name = f"{m.frame.code.qualname}:{m.frame.pc}"
    return m.state.heap.new(PlacedList(items=Filled(name), kind=kind, fill=fill))
