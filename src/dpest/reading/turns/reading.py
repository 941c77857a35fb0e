"""Loops without a bound: the graph of their turns and its paths, with no more left than asked."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.canonical import Unmergeable
from dpest.reading.machine.exploring.explorer import Limits
from dpest.reading.machine.exploring.turns import (
    MOST_TURNS,
    ManyTurns,
    TurnNode,
    explore_turns,
)
from dpest.reading.machine.signals import OutOfTime
from dpest.reading.machine.state import State
from dpest.reading.model import Model
from dpest.reading.turns.paths import NotSummable, comes_back, turn_model

_MOST_LEFTOVER = 1e-3
_MORE_LEFT = 1000
_AIMS = 3
_LESS_LEFT = 20


class Turned(NamedTuple):
    """The nodes of the turns, and their paths."""

    nodes: list[TurnNode]
    model: Model

    @property
    def is_summed_up(self) -> bool:
        return comes_back(self.nodes)

    @property
    def has_no_bound(self) -> bool:
        """Whether something is left: it seems to go on for ever."""
        return self.model.leftover > 0


def read_turns(machine: Machine, first: State, limits: Limits) -> Turned | None:
    """The turns of loops; None where there are too many, or no such loops.

    The more is left of them, the fewer they are.
    """
    if not limits.leftover or not _has_while(machine):
        return None
    leftover, end = limits.leftover, time.monotonic() + limits.seconds
    while True:
        within = replace(limits, leftover=leftover, seconds=end - time.monotonic())
        try:
            return _left_less(machine, first, within)
        except OutOfTime:
            return None
        except ManyTurns:
            if leftover >= _MOST_LEFTOVER:
                return None
            leftover = min(_MORE_LEFT * leftover, _MOST_LEFTOVER)


def _has_while(machine: Machine) -> bool:
    """Whether some loop isn't over a sequence, or over a generator: it may have no bound."""
    codes = machine.seen_codes.values()
    if any(code.is_generator for code in codes):
        return True
    return any(code.instructions[head].op != "next" for code in codes for head in code.heads)


def _left_less(machine: Machine, first: State, limits: Limits) -> Turned | None:
    """With no more left than `limits` says; on the way it is only estimated."""
    aim, end = limits.leftover, time.monotonic() + limits.seconds
    for _ in range(_AIMS):
        within = replace(limits, leftover=aim, seconds=end - time.monotonic())
        turned = _turned(machine, first, within)
        if turned is None or turned.model.leftover <= limits.leftover:
            return turned
        aim /= _LESS_LEFT
    raise ManyTurns("a loop without a bound")


def _turned(machine: Machine, first: State, limits: Limits) -> Turned | None:
    """Summed up where that can be done; otherwise turn by turn."""
    for by_depth in (False, True):
        try:
            nodes = explore_turns(machine, first, limits, by_depth=by_depth)
            if machine.has_made_noise:
                return None  # noise that is made of several draws is replayed path by path
            return Turned(nodes, turn_model(machine, nodes, min(limits.paths, MOST_TURNS)))
        except NotSummable:
            continue
        except ManyTurns:
            if by_depth:
                raise
        except Unmergeable:
            break
    return None
