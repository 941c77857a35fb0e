"""The graph of a function that passes once over data of any length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpest.geometry.linear import Form, Symbol
from dpest.noise.family import Noise
from dpest.reading.decision_path import Block
from dpest.reading.rewrites.draws.made_values import MadeNoises
from dpest.reading.world import World

END = -1


@dataclass(frozen=True)
class LoopNode:
    index: int
    slots: tuple[Symbol, ...]
    note: str = ""


@dataclass(frozen=True)
class LoopEdge:
    """One path of one piece. `reads` tells that it consumes an element of the data."""

    source: int
    target: int
    reads: bool
    blocks: tuple[Block, ...]
    draws: tuple[Symbol, ...]
    updates: Mapping[Symbol, Form]
    released: tuple[Any, ...]
    order: tuple[tuple[Symbol, bool], ...] = ()
    """What the piece draws, in order: one value each, or (True) one for every element."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Variables that hold the place of an element: of the current one ("now") or an older one."""
    sized: Mapping[int, int] = field(default_factory=dict)
    """Which released numbers the function multiplies by which power of the public length."""
    looked: str = ""
    """At which random place it looked at the data, if at one (see `lengths.places`)."""
    removed: bool = False
    """Whether that place was taken out of the list that it was drawn from."""
    told: tuple[Any, ...] = ()
    """What else is released at the end: places of elements that have no number here."""

    @property
    def forms(self) -> tuple[Form, ...]:
        return tuple(v for v in self.released if isinstance(v, Form))


@dataclass(frozen=True)
class Selection:
    """The place of the greatest (or least) value of `form`, over all elements, is released."""

    form: Form
    least: bool = False


@dataclass
class Graph:
    """Start at node 0, end at END. `selection` is set where an argmax is what is released."""

    nodes: list[LoopNode]
    edges: list[LoopEdge]
    dead: list[tuple[int, bool, tuple[Block, ...], tuple[Symbol, ...]]]
    world: World
    faithful: bool = True
    """Whether all that is counted as released is released in the end: then bounds can be exact."""
    selections: list[Selection] = field(default_factory=list)
    prefix_sums: bool = False
    """Whether the released elements stand for their running sums."""
    recognised: bool = False
    """Whether the selection is a loop with a running maximum: its edges are that loop."""
    gaps: list[Form] = field(default_factory=list)
    """Gaps between the greatest element and the next that are released."""
    rule: str = ""
    """Which rule of `races` made this graph an argmax, where the function takes none."""
    table: tuple[Any, ...] | None = None
    """The public list whose entry at the chosen place is released, if not the place itself."""

    made: MadeNoises = field(default_factory=MadeNoises)
    """The noises that the function makes of its draws."""

    @property
    def noises(self) -> dict[Symbol, Noise]:
        return self.world.noises
