"""Which registers are read later, and where ways meet: what merging of states goes by."""

from __future__ import annotations

from dpest.reading.code.instructions import Code, successors


def analyse(code: Code) -> None:
    """Fills in `code.live` and `code.joins`."""
    size = len(code.instructions)
    ways = [successors(code, pc) for pc in range(size)]
    before: list[list[int]] = [[] for _ in range(size)]
    for pc in range(size):
        for after in ways[pc]:
            before[after].append(pc)
    live: list[frozenset[str]] = [frozenset()] * size
    pending = list(range(size))
    while pending:
        pc = pending.pop()
        now = _live_before(code, pc, ways[pc], live)
        if now != live[pc]:
            live[pc] = now
            pending.extend(before[pc])
    code.live = live
    code.joins = frozenset(pc for pc in range(size) if len(before[pc]) > 1)


def _live_before(
    code: Code, pc: int, ways: tuple[int, ...], live: list[frozenset[str]]
) -> frozenset[str]:
    return frozenset(code.instructions[pc].uses) | _live_behind(code, pc, ways, live)


def _live_behind(
    code: Code, pc: int, ways: tuple[int, ...], live: list[frozenset[str]]
) -> frozenset[str]:
    """What is read after an instruction, apart from what it writes itself."""
    instruction = code.instructions[pc]
    found: set[str] = set()
    for way in ways:
        if way == instruction.handler:
            found |= live[way]  # where it raises, its result was not written
        elif instruction.op == "next" and way in instruction.jumps:
            found |= live[way] - {instruction.extra}
        else:
            found |= live[way] - {instruction.dst}
    return frozenset(found)


def live_while_waiting(code: Code, pc: int) -> frozenset[str]:
    """What a frame that waits for the result of an instruction still needs."""
    return _live_behind(code, pc, successors(code, pc), code.live)
