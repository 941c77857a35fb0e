"""Loops that count: `while i < len(x)`, and coins that are thrown until one fails."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpest.reading.code.instructions import Instruction
from dpest.reading.contributions.arithmetic import is_number
from dpest.reading.contributions.control.snapshots import Snapshot, same_value
from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.ledger import LedgerNoise
from dpest.reading.contributions.values import Case, RecordPosition, RecordTruth, Rows, RowsIterator

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import CallFrame, ContributionMachine

_MOST_STEPS = 200


@dataclass(frozen=True)
class CountedLoop:
    """A `while` loop over the places of the data, as a pass over the records takes it."""

    dst: str
    head: int
    first: int
    jumps: tuple[int, ...]
    op: str = "counted"


def over_places(m: ContributionMachine, frame: CallFrame, instruction: Instruction) -> bool:
    """`while i < len(x)` from i = 0 on, where the body ends with i += 1: a pass over the data."""
    code, here = frame.code, frame.pc
    compare = code.instructions[here - 1] if here else None
    if compare is None or compare.op != "compare" or compare.dst != instruction.uses[0]:
        return False
    if compare.extra != "<" or m.record is not None or m.key is not None:
        return False
    index, length = (frame.registers.get(name) for name in compare.uses)
    if type(index) is not int or index != 0 or not m.is_length(length):
        return False
    heads = [h for h in code.heads if h <= here]
    if not heads or compare.uses[0].startswith("%"):
        return False
    name = compare.uses[0]
    loop = CountedLoop(name, max(heads), instruction.jumps[0], (instruction.jumps[1],))
    rows = Rows((Case((), RecordPosition()),), False)
    m.pass_over(frame, loop, RowsIterator(rows))
    frame.registers[name] = length
    return True


def by_coins(m: ContributionMachine, frame: CallFrame, truth: RecordTruth) -> bool:
    """k += 1 while a fresh uniform number is below α: k grows by geometric noise.

    The frame then stands behind the loop. The chance of k more turns is (1 − α)·α^k.
    """
    chance = _chance(m, truth)
    if chance is None or m.record is not None or m.joining:
        return False
    here, start = frame.pc, Snapshot(m.frames)
    drawn = m.uniforms
    sizes = m.extent()
    try:
        grown = _one_turn(m, frame, start)
    except Unread:
        grown = None
    same = m.extent()[:-2] == sizes[:-2] and m.uniforms == drawn + 1
    other = frame.registers.get(frame.code.instructions[here].uses[0])
    alike = isinstance(other, RecordTruth) and _chance(m, other) == chance
    start.restore()
    frame.pc, m.uniforms = here, drawn
    if grown is None or not same or not alike:
        return False
    before = frame.registers[grown]
    m.ledger.noises.append(LedgerNoise("geometric", chance, coins=True))
    noise = m.terms.of("noise", len(m.ledger.noises) - 1)
    frame.registers[grown] = m.binary("+", before, noise)
    frame.pc = frame.code.instructions[here].jumps[1]
    return True


def _chance(m: ContributionMachine, truth: RecordTruth) -> Fraction | None:
    """α of a truth that says that the uniform number that was drawn last is below α."""
    form = truth.form
    if form is None or truth.relation not in (">", ">=") or len(form.terms) != 1:
        return None
    ((symbol, slope),) = form.terms
    node = m.terms.nodes[symbol]
    place = m.uniform_symbols.get(node[1]) if node[0] == "pub" else None
    if slope != -1 or place is None or place != m.uniforms - 1:
        return None
    return form.constant if 0 < form.constant < 1 else None


def _one_turn(m: ContributionMachine, frame: CallFrame, start: Snapshot) -> str | None:
    """The register that one turn of the loop adds 1 to, where nothing else that lives changes."""
    here = frame.pc
    live = frame.code.live[here]
    frame.pc = frame.code.instructions[here].jumps[0]
    for _ in range(_MOST_STEPS):
        if frame.pc == here:
            break
        instruction = frame.code.instructions[frame.pc]
        if instruction.op in ("return", "next", "yield", "branch"):
            return None
        m.step(frame, instruction)
    else:
        return None
    found = None
    for place, before, now in start.changes():
        if place[0] != "register":
            return None
        name = place[1]
        if name not in live or name == frame.code.instructions[here].uses[0]:
            continue
        both = all(is_number(v) or isinstance(v, SymbolicForm) for v in (before, now))
        if found is not None or not both or not same_value(now, m.binary("+", before, 1)):
            return None
        found = name
    return found
