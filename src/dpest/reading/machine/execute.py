"""Executing a function on concrete values: what the machine makes of it, to compare with Python."""

from __future__ import annotations

from typing import Any, NamedTuple

from dpest.reading.machine.adopting import NotConcrete, adopt, to_python
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.heap import GeneratorObject, Heap, Instance
from dpest.reading.machine.signals import Refused, Thrown
from dpest.reading.machine.state import Frame, Outcome, State
from dpest.reading.machine.values import Ref
from dpest.reading.table.registry import load


class Executed(NamedTuple):
    """What a call gave: a value, or the class of the exception that it raised."""

    raised: bool
    value: Any


def execute(
    function: Any, *args: Any, most_instructions: int = 1_000_000, **kwargs: Any
) -> Executed:
    """`function(*args, **kwargs)` by the machine; raises Refused where it has no rule.

    Arguments are adopted as the caller's own: the function may change them, which is not seen
    outside. An outcome that depends on noise is refused.
    """
    load()
    machine = Machine(most_instructions)
    state = start(machine, function, args, kwargs, outside=False)
    if state.outcome is None:
        forked = machine.advance(state)
        if forked is not None:
            raise Refused("the outcome depends on noise")
    assert state.outcome is not None
    return _plain(machine, state)


def start(
    machine: Machine,
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    outside: bool,
) -> State:
    """The state before the first instruction of a call."""
    state = State([], Heap())
    machine.state = state
    called = adopt(state, function, outside=True)
    given = tuple(adopt(state, a, outside=outside) for a in args)
    named = {k: adopt(state, v, outside=outside) for k, v in kwargs.items()}
    return begun(machine, state, called, given, named)


def begun(
    machine: Machine, state: State, called: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> State:
    """The state with the frame of a call whose arguments are there."""
    machine.taken = 0
    machine.changes_before = state.heap.changes
    try:
        result = machine.call(called, args, kwargs)
        while isinstance(result, Enter):
            result = machine.call(result.function, result.args, dict(result.kwargs))
    except Thrown as thrown:
        error = thrown.error
        state.outcome = Outcome(
            True, machine.adopted(error) if isinstance(error, BaseException) else error
        )
        return state
    if isinstance(result, Frame):
        state.frames.append(result)
    else:
        state.outcome = Outcome(False, result)
    return state


def _plain(machine: Machine, state: State) -> Executed:
    outcome = state.outcome
    assert outcome is not None
    if outcome.raised:
        thing = state.heap.read(outcome.value)
        assert isinstance(thing, Instance)
        return Executed(True, thing.cls)
    if isinstance(outcome.value, Ref):
        thing = state.heap.read(outcome.value)
        if isinstance(thing, GeneratorObject):
            raise Refused("a generator as the result")
    try:
        return Executed(False, to_python(state, outcome.value))
    except NotConcrete:
        raise Refused("a result that native code can't have") from None
