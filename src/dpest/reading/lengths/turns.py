"""Edges that come to one element: in the order of the data, or at a place that was drawn."""

from __future__ import annotations

from typing import Any

from dpest.reading.lengths.places import RandomPlace
from dpest.reading.lengths.values import DataIterator, ElementPlace, NeedsIndex, Vector
from dpest.reading.machine.signals import Refused, Thrown
from dpest.reading.machine.values import BoundMethod, Closure, Partial
from dpest.reading.rewrites.races import TURN


class Turns:
    """The part of the machine that knows of which element an edge speaks."""

    def begin_turn(self: Any, source: str) -> None:
        """A place is drawn: that is where an edge begins."""
        if not self.log.fresh:
            self.cut()
        changed = self.change_log()
        changed.fresh, changed.begun, changed.turn = False, True, source

    def redrawn(self: Any, source: str) -> None:
        """The place that was drawn on this edge is one of a list."""
        if self.log.looked or not self.log.turn:
            raise Refused("a place that was looked at before it is taken out of a list")
        self.change_log().turn = source

    def look(self: Any, source: str) -> None:
        """The data of one element alone may be looked at on an edge: `q` is its datum."""
        if self.log.looked not in ("", source):
            raise Refused("a second entry, beside the one of this turn")
        if self.log.looked != source:
            self.change_log().looked = source

    def reach(self: Any, place: ElementPlace) -> None:
        """The element at a place is that of this edge: it was read, or it is the next one."""
        log = self.log
        if place.offset == 0 and log.at:
            return
        if place.offset != log.at:
            raise Refused("another entry than that of this turn")
        if not self.more(DataIterator(None, place.offset)):
            raise Thrown(IndexError("list index out of range"))

    def need_place(self: Any) -> None:
        """A variable that the data are indexed by is the place of an element from here on."""
        name = self.variable_looked_at()
        if name and name not in self.plan.indices:
            raise NeedsIndex(name)
        if name:
            self.cut()

    def entry_at(self: Any, vector: Vector, place: RandomPlace) -> Any:
        """What a vector has at a random place of this edge."""
        if place.offset:
            raise Refused("the entry beside a random place")
        in_turn = place.source.startswith(TURN)
        if not in_turn and vector.own:
            raise Refused("noise at a place that may be drawn again")
        if not in_turn and place.source != self.log.turn:
            raise Refused("an entry at a place that was drawn before")
        self.look(place.source)
        self.use(vector.own)
        return vector.element

    def is_held_once(self: Any, value: Any) -> bool:
        """Whether only the variable that is changed holds an array: then a new one is as good.

        Nodes hold copies, and the caller holds the data.
        """
        if self.log.begun or value is self.data:
            return False
        held = 0
        for frame in self.state.frames:
            live = frame.code.live[frame.pc]
            found = [v for name, v in frame.registers.items() if name in live]
            if any(v is not value and _holds(v, value) for v in found):
                return False
            held += sum(v is value for v in found)
        things = [list(vars(thing).values()) for _, thing in self.state.heap.items()]
        return held == 1 and not any(_holds(parts, value) for parts in things)


def _holds(thing: Any, value: Any) -> bool:
    """Whether a value is inside of another."""
    parts = [thing]
    while parts:
        part = parts.pop()
        if part is value:
            return True
        if isinstance(part, (list, tuple)):
            parts += part
        elif isinstance(part, dict):
            parts += part.values()
        elif isinstance(part, (BoundMethod, Partial, Closure)):
            parts += vars(part).values()
    return False
