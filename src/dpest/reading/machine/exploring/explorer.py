"""The explorer: all that a function can do, state by state.

Without cuts it follows every way from the start to an end: the paths. With cuts a state that
arrives at one is made abstract (`machine.abstraction`): equal states are one node.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from dpest.geometry.linear import Form, Symbol
from dpest.reading.domains.numbers import Truth
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.releasing import released
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.state import State
from dpest.reading.model import END, Edge, Model, Node


@dataclass(frozen=True)
class Limits:
    """Where a reading gives up. `forks`: how often one instruction may fork on one path."""

    paths: int = 20_000
    seconds: float = 20.0
    forks: int = 400
    instructions: int = 20_000_000
    merge_at: int = 0  # so many paths with half as many releases are left to those who merge


def explore_paths(machine: Machine, first: State, limits: Limits) -> tuple[Model, list[State]]:
    """The paths of a function from its first state, and the states in which they ended."""
    machine.deadline = time.monotonic() + limits.seconds
    edges: list[Edge] = []
    ends: list[State] = []
    pending = [first]
    while pending:
        state = pending.pop()
        after = None if state.outcome is not None else machine.advance(state)
        if after is not None:
            for one in after:
                _count_fork(machine, one, limits)
            pending += reversed(after)
            continue
        if len(edges) >= limits.paths:
            raise Refused(f"more than {limits.paths} paths")
        if time.monotonic() > machine.deadline:
            raise Refused(f"more than {limits.seconds:g} s of reading")
        release = released(machine, state)
        if limits.merge_at and len(edges) + 1 == limits.merge_at:
            releases = {_release_key(e) for e in edges}
            if 2 * len(releases) <= limits.merge_at:
                raise Refused("many paths to few releases")
        edges.append(
            Edge(0, END, state.conditions, state.draws, state.picks, state.reads, release=release)
        )
        ends.append(state)
    node = Node(0, (), "start")
    noises = {d.symbol: d.noise for e in edges for d in e.draws}
    used = _used_symbols(machine, edges)
    for symbol in machine.draws_apart(used):
        noises.pop(symbol, None)
    made = {symbol: machine.made[symbol] for symbol in used if symbol in machine.made}
    noises |= {symbol: one.noise for symbol, one in made.items()}
    model = Model(
        [node],
        edges,
        noises,
        machine.definitions,
        tuple(machine.notes),
        machine.instructions_done,
        made,
    )
    return model, ends


def _used_symbols(machine: Machine, edges: list[Edge]) -> dict[Symbol, None]:
    """All symbols that something depends on: conditions, releases, and the truths in them."""
    found: dict[Symbol, None] = {}
    pending: list[Form] = []
    for edge in edges:
        assert edge.release is not None
        pending += [c.form for c in edge.conditions]
        pending += [leaf for leaf in edge.release.leaves if isinstance(leaf, Form)]
    for form in pending:
        for symbol in form.terms:
            if symbol not in found:
                found[symbol] = None
                if symbol.kind == "indicator":
                    pending += _forms_of(machine.definitions[symbol])
    return found


def _forms_of(truth: Truth) -> list[Form]:
    own = [] if truth.condition is None else [truth.condition.form]
    return own + [form for part in truth.parts for form in _forms_of(part)]


def _release_key(edge: Edge) -> object:
    assert edge.release is not None
    try:
        return hash((edge.release.skeleton, edge.release.leaves))
    except TypeError:
        return repr(edge.release)


def _count_fork(machine: Machine, state: State, limits: Limits) -> None:
    frame = state.frames[-1]
    place = (id(frame.code), frame.pc)
    count = state.forks.get(place, 0) + 1
    if count > limits.forks:
        raise machine.placed(Refused("a loop that may go on without a bound"))
    state.forks[place] = count
