"""What the bytecode of a function says: where control can go, and which variables still matter.

A loop's state can be compared between two of its turns only where it is known what the state is:
the variables that are still read, and nothing on the interpreter's stack.
"""

from __future__ import annotations

import dis
import functools
from dataclasses import dataclass
from types import CodeType

_ENDS = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}
_GENERATORS = 0x20 | 0x80 | 0x200  # inspect.CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR


@dataclass(frozen=True, eq=False)
class Bytecode:
    """One code object. Instructions are known by their places 0, 1, 2, …

    `depths` is the size of the interpreter's stack before each instruction, -1 where it is not
    known. `after` are the places where control can go. `heads` are the places to which `while`
    loops jump back, with the place of the last jump.
    """

    instructions: tuple[dis.Instruction, ...]
    place_at: dict[int, int]
    after: tuple[tuple[int, ...], ...]
    depths: tuple[int, ...]
    live: tuple[frozenset[str], ...]
    heads: tuple[tuple[int, int], ...]
    targets: frozenset[int]
    resumable: bool  # a generator or a coroutine, whose state outlives a call

    @property
    def loops(self) -> bool:
        """Whether a call of it can loop without others having a part in it."""
        return bool(self.heads) and not self.resumable

    def following(self, place: int, outcome: bool | None) -> tuple[int, ...]:
        """Where control goes, given what a truth value that was asked for here turned out to be."""
        instruction = self.instructions[place]
        name = instruction.opname
        if outcome is None or "JUMP" not in name or "_IF_" not in name or "NONE" in name:
            return self.after[place]
        jumps = ("_IF_TRUE" in name) is outcome
        return (self.place_at[instruction.argval],) if jumps else (place + 1,)

    def start_of(self, place: int) -> int | None:
        """The last place before with nothing on the stack but what the loop around it keeps there.

        From it to `place` control runs straight on. None outside of `while` loops.
        """
        around = [(last - head, head) for head, last in self.heads if head <= place <= last]
        if not around:
            return None
        head = min(around)[1]
        depth = self.depths[head]
        for start in range(place, head - 1, -1):
            if self.depths[start] == depth:
                return start
            if start in self.targets or len(self.after[start - 1]) != 1 or depth < 0:
                return None
        return None

    def owner_called(self, place: int) -> str | None:
        """The variable whose method the instruction calls, if it is so plain: `name.method(…)`."""
        instruction = self.instructions[place]
        if instruction.opname != "CALL" or instruction.arg is None:
            return None
        if self.instructions[place - 1].opname == "PRECALL":
            place -= 1
        below = self.depths[place] - instruction.arg - 1
        for q in range(place - 1, 0, -1):
            if self.depths[q] == below:
                method, owner = self.instructions[q], self.instructions[q - 1]
                plain = owner.opname in ("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_DEREF")
                if plain and (method.opname == "LOAD_METHOD" or "NULL" in method.argrepr):
                    return str(owner.argval)
            if self.depths[q] <= below:
                return None
        return None

    @functools.lru_cache(maxsize=4096)  # noqa: B019
    def stays_above(self, place: int, outcome: bool | None, goal: int, depth: int) -> bool:
        """Whether no way from one instruction to another touches the lowest `depth` of the stack.

        There the iterators of `for` loops lie, which nobody can look at.
        """
        reached = self._reached(self.following(place, outcome), goal)
        return not any(
            self._touches(p, depth) and goal in self._reached(self.after[p], -1) for p in reached
        )

    def _reached(self, starts: tuple[int, ...], goal: int) -> set[int]:
        found: set[int] = set()
        pending = list(starts)
        while pending:
            place = pending.pop()
            if place in found:
                continue
            found.add(place)
            if place != goal:
                pending.extend(self.after[place])
        return found

    def _touches(self, place: int, depth: int) -> bool:
        size = self.depths[place]
        if size < 0 or size < depth:
            return True
        return self.instructions[place].opname in ("FOR_ITER", "SEND") and size <= depth


@functools.lru_cache(maxsize=256)
def bytecode(code: CodeType) -> Bytecode:
    listed = dis.Bytecode(code)
    instructions = tuple(i for i in listed if i.opname != "CACHE")
    # The interpreter may stand behind an instruction, in its cache.
    place_at: dict[int, int] = {}
    for place, instruction in enumerate(instructions):
        last = (
            len(code.co_code) if place + 1 == len(instructions) else instructions[place + 1].offset
        )
        place_at.update(dict.fromkeys(range(instruction.offset, last, 2), place))
    jumps: list[tuple[int, ...]] = []
    handlers: list[tuple[int, ...]] = []
    entries = getattr(listed, "exception_entries", ())
    for place, instruction in enumerate(instructions):
        ways: list[int] = []
        target = _target(instruction)
        if target is not None:
            ways.append(place_at[target])
        if instruction.opname not in _ENDS and not _always_jumps(instruction):
            ways.append(place + 1)
        jumps.append(tuple(dict.fromkeys(w for w in ways if w < len(instructions))))
        handlers.append(
            tuple(place_at[e.target] for e in entries if e.start <= instruction.offset < e.end)
        )
    after = tuple((*a, *b) for a, b in zip(jumps, handlers, strict=True))
    return Bytecode(
        instructions,
        place_at,
        after,
        _depths(instructions, jumps, entries, place_at),
        _live(instructions, after),
        _while_loops(instructions, place_at),
        frozenset(
            place_at[t] for t in ({_target(i) for i in instructions} - {None}) if t in place_at
        ),
        bool(code.co_flags & _GENERATORS),
    )


def _target(instruction: dis.Instruction) -> int | None:
    jumps = instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs
    return instruction.argval if jumps else None


def _always_jumps(instruction: dis.Instruction) -> bool:
    return instruction.opname.startswith("JUMP_") and "_IF_" not in instruction.opname


def _depths(instructions, jumps, entries, place_at) -> tuple[int, ...]:  # type: ignore[no-untyped-def]
    found = [-1] * len(instructions)
    pending = [(0, 0)]
    pending += [(place_at[e.target], e.depth + 1 + bool(e.lasti)) for e in entries]
    while pending:
        place, depth = pending.pop()
        if found[place] >= 0:
            continue
        found[place] = depth
        instruction = instructions[place]
        argument = instruction.arg if instruction.opcode >= dis.HAVE_ARGUMENT else None
        target = _target(instruction)
        for way in jumps[place]:
            jumped = target is not None and way == place_at[target]
            try:
                effect = dis.stack_effect(instruction.opcode, argument, jump=jumped)
            except ValueError:
                continue
            pending.append((way, depth + effect))
    return tuple(found)


def _names(instruction: dis.Instruction) -> tuple[str, ...]:
    value = instruction.argval
    return tuple(value) if isinstance(value, tuple) else (value,)


def _live(
    instructions: tuple[dis.Instruction, ...], after: tuple[tuple[int, ...], ...]
) -> tuple[frozenset[str], ...]:
    """Before each instruction, the local variables that are read before they are written."""
    reads: list[set[str]] = []
    writes: list[set[str]] = []
    for instruction in instructions:
        name = instruction.opname
        read: set[str] = set()
        written: set[str] = set()
        if name in ("STORE_FAST", "STORE_FAST_STORE_FAST"):
            written.update(_names(instruction))
        elif name == "STORE_FAST_LOAD_FAST":
            first, second = _names(instruction)
            written.add(first)
            read.update({second} - {first})
        elif "FAST" in name:
            read.update(_names(instruction))
        reads.append(read)
        writes.append(written)
    live: list[frozenset[str]] = [frozenset()] * len(instructions)
    changed = True
    while changed:
        changed = False
        for place in range(len(instructions) - 1, -1, -1):
            out: set[str] = set()
            for way in after[place]:
                out |= live[way]
            now = frozenset(reads[place] | (out - writes[place]))
            if now != live[place]:
                live[place] = now
                changed = True
    return tuple(live)


def _while_loops(
    instructions: tuple[dis.Instruction, ...], place_at: dict[int, int]
) -> tuple[tuple[int, int], ...]:
    found: dict[int, int] = {}
    for place, instruction in enumerate(instructions):
        target = _target(instruction)
        if target is None or place_at[target] > place:
            continue
        head = place_at[target]
        first = next(i for i in instructions[head:] if i.opname != "EXTENDED_ARG")
        if first.opname not in ("FOR_ITER", "SEND"):
            found[head] = max(place, found.get(head, 0))
    return tuple(found.items())
