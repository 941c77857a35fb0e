"""The state from which a reading of symbolic data starts: the call of the mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpest.ask.declaration import Mechanism
from dpest.reading.domains.unit import Unit
from dpest.reading.lengths.machine import LengthMachine
from dpest.reading.lengths.values import PassLog, Scale
from dpest.reading.machine import prelude
from dpest.reading.machine.adopting import adopt
from dpest.reading.machine.execute import begun
from dpest.reading.machine.heap import GeneratorObject, Heap
from dpest.reading.machine.state import State
from dpest.reading.machine.values import Ref
from dpest.reading.paths_of_code import GENERATOR, arguments


def first_state(
    machine: LengthMachine,
    target: Mechanism,
    parameters: Mapping[str, Any],
    data: Callable[[State], Any],
) -> State:
    """The mechanism, called on the data that `data` puts into the state.

    A parameter may be a `Unit`. Of a generator, all that it yields is taken as a list.
    """
    state = State([], Heap())
    machine.state = state
    machine.log_ref = state.heap.new(PassLog())
    params = {
        k: Scale(v) if isinstance(v, Unit) else adopt(state, v, outside=True)
        for k, v in parameters.items()
    }
    called = adopt(state, target.function, outside=True)
    args, kwargs = arguments(target, data(state), params, GENERATOR)
    begun(machine, state, called, args, kwargs)
    found = None if state.outcome is None else state.outcome.value
    if isinstance(found, Ref) and isinstance(state.heap.read(found), GeneratorObject):
        state.outcome = None
        begun(machine, state, prelude.list_, (found,), {})
    return state
