"""Sums over the data that are taken one after the other: all of them in one pass before the rest.

`sum(x)` and then `sum(v > 1 for v in x)` go through the data twice. A sum of what is made of one
datum alone draws nothing and decides nothing: it may as well be taken before the function begins,
with the others. Two turns of a loop are tried. They must end where they began, and add the same
function of their datum to what there was.
"""

from __future__ import annotations

from dpest.geometry.linear import Form, Symbol
from dpest.reading.lengths.abstraction import Abstraction
from dpest.reading.lengths.machine import LengthMachine
from dpest.reading.lengths.values import Cut, NeedsTotals, PassLog, Plan, SecondPass
from dpest.reading.machine import prelude
from dpest.reading.machine.signals import Fork
from dpest.reading.machine.state import State


def total_of(symbol: Symbol) -> Symbol:
    """The slot that holds the sum of a datum, over all records."""
    return Symbol("state", f"total_{symbol.name}")


def totalled(
    machine: LengthMachine, state: State, plan: Plan
) -> tuple[Abstraction, dict[Symbol, Form]]:
    """The state behind a loop that sums up the data, and what its slots are set to."""
    code = prelude.sum_.__name__
    if not any(f.code.qualname == code and f.code.file == prelude.__file__ for f in state.frames):
        raise SecondPass()
    try:
        first = _after_one_turn(machine, state, plan)
        second = _after_one_turn(machine, first.state, plan)
    except Fork:
        raise SecondPass() from None
    if first.key != second.key or first.filled:
        raise SecondPass()
    updates = {slot: _total(slot, form, second, plan) for slot, form in first.updates.items()}
    return first, updates


def _after_one_turn(machine: LengthMachine, state: State, plan: Plan) -> Abstraction:
    turn = state.fork()
    turn.draws, turn.conditions, turn.constrained = (), (), frozenset()
    turn.heap.place(machine.log_ref.address, PassLog(fresh=True, begun=True))
    try:
        ways = machine.advance(turn)
        if ways is None or len(ways) != 2 or machine.log_of(turn).at:
            raise SecondPass()
        turn = ways[1]  # the other one is the end
        machine.advance(turn)
    except Cut:
        log = machine.log_of(turn)
        places = [[(f.code, f.pc) for f in one.frames] for one in (state, turn)]
        if log.at and not turn.draws and not log.blocks and places[0] == places[1]:
            machine.state, machine.taken = turn, 0
            machine.changes_before = turn.heap.changes
            return Abstraction(machine, turn, plan)
    raise SecondPass()


def _total(slot: Symbol, form: Form, second: Abstraction, plan: Plan) -> Form:
    """What a slot holds after all turns: what it held, and the sum of what each adds."""
    added = second.updates[slot].minus(Form.of(slot))
    rest = form.minus(added)
    if added.constant or any(s.kind != "input" for s in added.terms):
        raise SecondPass()
    if any(s.kind == "input" for s in rest.terms):
        raise SecondPass()
    unknown = added.terms.keys() - set(plan.totals or ())
    if unknown:
        raise NeedsTotals(frozenset(unknown))
    return rest.plus(added.substitute({s: Form.of(total_of(s)) for s in added.terms}))
