"""A loop that puts one value for each element of the data into a list: a vector.

`[v + rng.laplace(scale=2 / eps) for v in x]` is as good as a vector of noisy values, of which the
greatest may be asked. One turn is tried. It must end where it began, decide nothing, change nothing
but that list, not look at it, and draw once at most: then every turn does the same for its element.
"""

from __future__ import annotations

from typing import Any

from dpest.reading.domains.numbers import Real
from dpest.reading.domains.weights import Chance, ScaledScore, Weight
from dpest.reading.lengths.abstraction import Abstraction
from dpest.reading.lengths.machine import LengthMachine
from dpest.reading.lengths.values import (
    Cut,
    DataIterator,
    Filled,
    FilledList,
    NeedsList,
    PassLog,
    Plan,
    Vector,
)
from dpest.reading.machine.heap import ListObject
from dpest.reading.machine.state import Draw, State
from dpest.reading.machine.values import Ref


def gather(
    machine: LengthMachine, state: State, plan: Plan, before: Abstraction, address: int
) -> bool:
    """Takes a state behind such a loop, with the vector in the place of the list.

    False where the loop is another one; the state is as it was then.
    """
    turn = _one_turn(machine, state, address, before.filled[address])
    if turn is None:
        return False
    machine.state, machine.taken = turn, 0
    machine.changes_before = turn.heap.changes
    after = Abstraction(machine, turn, plan)
    same = before.key == after.key and before.updates == after.updates
    log: PassLog = turn.heap.read(machine.log_ref)
    if not same or any(before.put) or sum(map(len, after.put)) != 1 or log.blocks:
        return False
    found = _value(turn, address)
    if found is None or len(turn.draws) > 1 or any(d.column is not None for d in turn.draws):
        return False
    if not isinstance(found, Real) and (turn.draws or log.used):
        return False
    machine.state = state
    own, draws = log.used, state.draws
    for drawn in turn.draws:
        symbol = machine.symbol_of_each(drawn.noise)
        form = machine.made_again(found.form, drawn.symbol, symbol)
        own, draws = own | {symbol}, (*draws, Draw(symbol, drawn.noise, "each"))
        own |= {s for s in form.terms if machine.roots(s) == {symbol}}
        found = Real(form, found.kinds)
    vector = Vector(found, own, list)
    trial = state.fork()
    _replace(trial, address, vector)
    if address in Abstraction(machine, trial, plan).seen:
        return False  # something else than a variable holds the list
    _replace(state, address, vector)
    state.draws = draws
    _exhaust(state, turn)
    frame = state.frames[-1]
    frame.pc = frame.code.instructions[frame.pc].jumps[0]
    return True


def _one_turn(machine: LengthMachine, state: State, address: int, name: str) -> State | None:
    """The state after one element; None where it decides something, or leaves the loop.

    Whoever looks at the list meets one that can only be filled: it is no longer new in later turns.
    """
    old = state.heap.read(Ref(address))
    if type(old) is not ListObject or old.items:
        return None
    turn = state.fork()
    turn.heap.place(address, FilledList(items=Filled(name)))
    turn.draws, turn.conditions, turn.constrained = (), (), frozenset()
    turn.heap.place(machine.log_ref.address, PassLog(fresh=True, begun=True))
    try:
        ways = machine.advance(turn)
        if ways is None or len(ways) != 2 or machine.log_of(turn).at:
            return None
        turn = ways[1]  # the other one is the end
        machine.advance(turn)
    except NeedsList:
        return None
    except Cut:
        if not machine.log_of(turn).at:
            return None
        before, new = state.frames, turn.frames
        loops = [(f.code, f.pc) for f in before] == [(f.code, f.pc) for f in new]
        return turn if loops and new[-1].code.instructions[new[-1].pc].op == "next" else None
    return None


def _value(turn: State, address: int) -> Any:
    """What the turn put into the list: a number, or a weight; None for anything else."""
    put = turn.heap.read(Ref(address)).items.new
    value = put[0] if len(put) == 1 else None
    if isinstance(value, (ScaledScore, Weight, Chance)):
        return value
    if not isinstance(value, Real) or any(s.kind == "indicator" for s in value.form.terms):
        return None
    return value


def _replace(state: State, address: int, vector: Vector) -> None:
    for frame in state.frames:
        for name, value in frame.registers.items():
            if isinstance(value, Ref) and value.address == address:
                frame.registers[name] = vector


def _exhaust(state: State, turn: State) -> None:
    """Nobody may go on with the iterators of the loop: they are at the end of the data."""
    for address, thing in list(turn.heap.items()):
        if isinstance(thing, DataIterator) and state.heap.holds(address):
            before = state.heap.read(Ref(address))
            if before.at != thing.at:
                state.heap.write(Ref(address)).at = -1
