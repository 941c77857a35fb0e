"""A decision about public values whose two ways meet again: one way, with values chosen by it.

Without draws, sums or releases in between, what differs afterwards is a function of public values.
So a program that tidies up many noisy numbers by `if` stays one way.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpest.reading.code.instructions import Code
from dpest.reading.contributions.arithmetic import is_number, is_plain
from dpest.reading.contributions.control.public import chosen
from dpest.reading.contributions.control.snapshots import Left, Snapshot, same_value
from dpest.reading.contributions.forms import Raised, SymbolicForm, Unread

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import CallFrame, ContributionMachine

_DEEPEST = 8


@functools.lru_cache(maxsize=256)
def meeting_points(code: Code) -> tuple[int | None, ...]:
    """For each instruction, the nearest one that every way from it comes to; handlers apart."""
    size = len(code.instructions)
    after = [_ways(code, pc) for pc in range(size)]
    everything = set(range(size))
    behind: list[set[int]] = [set(everything) if a else {pc} for pc, a in enumerate(after)]
    changed = True
    while changed:
        changed = False
        for pc in reversed(range(size)):
            if not after[pc]:
                continue
            new = {pc} | set.intersection(*(behind[a] for a in after[pc]))
            if new != behind[pc]:
                behind[pc], changed = new, True
    found: list[int | None] = []
    for pc in range(size):
        others = behind[pc] - {pc}
        nearest = [p for p in others if others <= behind[p]]
        found.append(nearest[0] if len(nearest) == 1 else None)
    return tuple(found)


def _ways(code: Code, pc: int) -> tuple[int, ...]:
    instruction = code.instructions[pc]
    if instruction.op in ("return", "raise", "reraise", "namespace"):
        return ()
    if instruction.op in ("jump", "branch"):
        return tuple(instruction.jumps)
    return (*instruction.jumps, pc + 1)


def joined(m: ContributionMachine, frame: CallFrame, truth: Any) -> bool:
    """Whether both ways of a branch could be taken as one; the frame is then where they meet.

    A way may look at noisy numbers from before the branch, which makes them visible. They are so
    on the other way too, and then nothing is left that happens on one way alone.
    """
    meeting = meeting_points(frame.code)[frame.pc]
    if meeting is None or m.joining >= _DEEPEST or not m.is_public(truth):
        return False
    before = m.extent()
    if _joined_at(m, frame, truth, meeting):
        return True
    shown, *others = m.extent()
    if shown == before[0] or tuple(others) != before[1:]:
        return False
    return _joined_at(m, frame, truth, meeting)


def _joined_at(m: ContributionMachine, frame: CallFrame, truth: Any, meeting: int) -> bool:
    start, here = Snapshot(m.frames), frame.pc
    sizes = m.extent()
    m.joining += 1
    arms = []
    try:
        for way in frame.code.instructions[here].jumps:
            frame.pc = way
            done, _ = m.run_until(frame, meeting)
            if done or m.extent() != sizes:
                return _back(start, frame, here)
            arms.append({p: now for p, _, now in start.changes() if _lives(frame, meeting, p)})
            start.restore()
        merged = _merged(m, start, truth, *arms)
    except (Unread, Raised):
        return _back(start, frame, here)
    finally:
        m.joining -= 1
    for place, value in merged.items():
        start.put(place, value)
    frame.pc = meeting
    return True


def _lives(frame: CallFrame, meeting: int, place: tuple[Any, ...]) -> bool:
    """Whether what a place holds is read after the ways have met."""
    return place[0] != "register" or place[1] in frame.code.live[meeting]


def _back(start: Snapshot, frame: CallFrame, here: int) -> bool:
    start.restore()
    frame.pc = here
    return False


def _merged(
    m: ContributionMachine,
    start: Snapshot,
    truth: Any,
    first: dict[Any, Any],
    second: dict[Any, Any],
) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for place in {**first, **second}:
        before = start.before(place)
        a, b = (m.public_if_seen(arm.get(place, before)) for arm in (first, second))
        if same_value(a, b):
            found[place] = a
        elif place[0] == "register" and (a is Left or b is Left):
            found[place] = Left()
        elif m.is_public(a) and m.is_public(b):
            value = m.publicly(chosen, truth, a, b)
            if is_plain(a) and is_plain(b):  # one of two that are known
                found[place] = replace(value, options=(a, b))
                continue
            numeric = all(is_number(v) or isinstance(v, SymbolicForm) for v in (a, b))
            found[place] = m.number_of(value) if numeric else value
        else:
            raise Unread("private values that a public decision chooses between")
    return found
