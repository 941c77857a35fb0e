"""The model of a function: nodes with real slots, and edges that say what happens on the way.

At a fixed input, or at symbolic inputs of one length, there is one node, and its edges are the
paths. For data of any length a node is a state of the program between two steps: all that is
discrete in it, with a slot for each real number that it still needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.family import Noise
from dpest.reading.domains.numbers import Truth
from dpest.reading.machine.exploring.making import Made
from dpest.reading.machine.state import Draw, Picked, Read
from dpest.running.skeleton import Skeleton

END = -1


class Release(NamedTuple):
    """What a receiver sees at the end: the structure, and its leaves (constants and Forms)."""

    skeleton: Skeleton
    leaves: tuple[Any, ...]
    raised: bool = False


@dataclass(frozen=True)
class Edge:
    """One way from a node to the next.

    `conditions` must hold; `draws` are new noises, `picks` draws that were forked by outcome,
    `reads` data that are looked at; `updates` gives each slot of the target; `appended` are values
    that go to the end of lists which are released. An edge to END has a `release`.
    """

    source: int
    target: int
    conditions: tuple[Condition, ...]
    draws: tuple[Draw, ...]
    picks: tuple[Picked, ...]
    reads: tuple[Read, ...] = ()
    updates: Mapping[Symbol, Form] = field(default_factory=dict)
    appended: tuple[tuple[str, Any], ...] = ()
    release: Release | None = None


@dataclass(frozen=True)
class Node:
    index: int
    slots: tuple[Symbol, ...]
    place: str  # "function:line", for people


@dataclass
class Model:
    """All that a reading found; `definitions` says which truth an indicator symbol stands for."""

    nodes: list[Node]
    edges: list[Edge]
    noises: Mapping[Symbol, Noise]
    definitions: Mapping[Symbol, Truth]
    notes: tuple[str, ...] = ()
    instructions: int = 0
    made: Mapping[Symbol, Made] = field(default_factory=dict)  # noise that was made of draws
    leftover: float = 0.0  # at least the probability of what was not followed
