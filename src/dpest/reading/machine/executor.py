"""The machine: one instruction after the other on an explicit state."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from dpest.reading.code.instructions import Code, Instruction
from dpest.reading.machine import arrays
from dpest.reading.machine.adopting import adopt
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.calls import Calls
from dpest.reading.machine.control import Control
from dpest.reading.machine.exploring.making import Making
from dpest.reading.machine.heap import Undecided
from dpest.reading.machine.lazy import DataAtHand
from dpest.reading.machine.objects import Objects
from dpest.reading.machine.orders import settle
from dpest.reading.machine.signals import (
    BeforeDraw,
    Dead,
    Fork,
    OutOfLimits,
    OutOfTime,
    Refused,
    Thrown,
)
from dpest.reading.machine.state import Frame, Outcome, State
from dpest.reading.machine.values import LOG_NOTE

_MOST_INSTRUCTIONS = 20_000_000
_MOST_FRAMES = 400


class Machine(Control, Objects, Calls, Making, DataAtHand):
    """Executes states. One machine belongs to one reading; it holds no state of the program."""

    arrays = arrays

    def __init__(self, most_instructions: int = _MOST_INSTRUCTIONS) -> None:
        super().__init__()
        self.instructions_done = 0
        self.most_instructions = most_instructions
        self.deadline: float | None = None  # of time.monotonic
        self.seen_codes: dict[int, Code] = {}
        self.seen_namespaces: dict[int, dict[str, Any]] = {}
        self.forks: Counter[tuple[int, int]] = Counter()  # by code and instruction
        self.is_cut: Callable[[Frame], bool] | None = None
        self._operations = {
            name[3:]: getattr(self, name) for name in dir(self) if name.startswith("op_")
        }
        self.state: State
        self.frame: Frame
        self.instruction: Instruction

    def write_log(self) -> None:
        """A line of a log that holds no symbol: whatever is proved is not about the log."""
        self.notes[LOG_NOTE] = None

    def advance(self, state: State) -> list[State] | None:
        """Executes until a fork (the states after it), a cut or the end (None)."""
        self.state = state
        operations = self._operations
        while True:
            frame = self.frame = state.frames[-1]
            resting = state.moved and not state.pending
            if resting and self.is_cut is not None and self.is_cut(frame):
                return None
            state.moved = True
            instruction = self.instruction = frame.code.instructions[frame.pc]
            self.instructions_done += 1
            if not self.instructions_done & 1023:
                self._check_limits()
            self.taken = 0
            self.changes_before = state.heap.changes
            done = state.draws, state.reads, state.picks
            try:
                operations[instruction.op](frame, instruction)
                state.pending = ()
            except Thrown as thrown:
                state.pending = ()
                self.unwind(thrown.error)
            except Fork as fork:
                state.draws, state.reads, state.picks = done
                return self.forked(state, fork)
            except Undecided as undecided:
                state.draws, state.reads, state.picks = done
                after = self._settled(state, undecided)
                if after is not None:
                    return after
                continue
            except Dead:
                return []
            except BeforeDraw:
                state.draws, state.reads, state.picks = done
                return None
            except Refused as refusal:
                raise self.placed(refusal) from None
            if state.outcome is not None:
                return None

    def _settled(self, state: State, undecided: Undecided) -> list[State] | None:
        """Decides what an instruction has found open, so that it can be executed again."""
        if state.heap.changes != self.changes_before:
            raise self.placed(Refused("an order that is looked at in the middle of a change"))
        before = state.pending[: self.taken]
        try:
            settle(self, undecided)
        except Fork as fork:
            return self.forked(state, fork)
        except Dead:
            return []
        except Refused as refusal:
            raise self.placed(refusal) from None
        state.pending = before
        return None

    def _check_limits(self) -> None:
        if self.instructions_done > self.most_instructions:
            raise self.placed(OutOfLimits(f"more than {self.most_instructions} instructions"))
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise self.placed(OutOfTime("more time than there is for a reading"))

    def forked(self, state: State, fork: Fork) -> list[State]:
        made = []
        for n, k in enumerate(fork.alive):
            one = state if n == len(fork.alive) - 1 else state.fork()
            one.pending = (*one.pending, k)
            one.endless = fork.endless
            option = [c for c in fork.options[k] if c.form.terms]
            one.conditions = (*one.conditions, *option)
            one.constrained = one.constrained.union(*(c.form.terms for c in option))
            made.append(one)
        return made

    def explained(self, limit: OutOfLimits) -> OutOfLimits:
        """The limit, with the line of the user's own code that has forked most often."""
        lines: Counter[str] = Counter()
        for (number, pc), count in self.forks.items():
            code = self.seen_codes.get(number)
            if code is not None and not code.file.endswith(_PRELUDE):
                lines[f"{code.file}:{code.instructions[pc].place.line}"] += count
        limit.forks = lines.total()
        if lines:
            limit.where = lines.most_common(1)[0][0]
        return limit

    @property
    def namespaces(self) -> list[dict[str, Any]]:
        """The globals of all functions that were entered, but for the machine's own."""
        own = "dpest.reading.machine"
        return [
            n for n in self.seen_namespaces.values() if not str(n.get("__name__")).startswith(own)
        ]

    @property
    def constants(self) -> list[float]:
        """The numbers that stand in the code of all functions that were entered."""
        found = {
            float(i.extra)
            for code in self.seen_codes.values()
            for i in code.instructions
            if i.op == "const" and type(i.extra) in (int, float) and abs(i.extra) < 1e15
        }
        return sorted(found)

    # Frames

    def placed(self, refusal: Refused) -> Refused:
        """The refusal, with the innermost line of the user's own code."""
        if refusal.where is None:
            for frame in reversed(self.state.frames):
                if not frame.code.file.endswith(_PRELUDE):
                    place = frame.code.instructions[frame.pc].place
                    refusal.where = f"{frame.code.file}:{place.line}"
                    break
        return refusal

    def push(self, frame: Frame) -> None:
        if len(self.state.frames) > _MOST_FRAMES:
            raise Refused("a recursion of more than some hundred calls")
        self.state.frames.append(frame)

    def get(self, frame: Frame, name: str) -> Any:
        try:
            return frame.registers[name]
        except KeyError:
            if frame.code.is_class:
                raise Refused("a name that the body of a class reads before it binds it") from None
            text = f"cannot access local variable '{name}' where it is not associated with a value"
            raise Thrown(UnboundLocalError(text)) from None

    def put(self, frame: Frame, instruction: Instruction, value: Any) -> None:
        """The result of an instruction, or the code that has to be executed for it."""
        if type(value) is Enter:
            self.enter(value)
            return
        if instruction.dst is not None:
            frame.registers[instruction.dst] = value
        frame.pc += 1

    def enter(self, call: Enter) -> None:
        """Executes a function of the program; the instruction that asked waits for its result."""
        result = self.call(call.function, call.args, dict(call.kwargs))
        if type(result) is Enter:
            self.enter(result)
        elif isinstance(result, Frame):
            if call.back != "value":
                result.back, result.target = call.back, call.target
            self.push(result)
        else:
            self.deliver(result)

    def deliver(self, value: Any) -> None:
        """A result, to the instruction that waits on top of the stack."""
        frame = self.state.frames[-1]
        instruction = frame.code.instructions[frame.pc]
        finish = getattr(self, f"finish_{instruction.op}", None)
        if finish is not None:
            finish(frame, instruction, value)
        else:
            self.put(frame, instruction, value)

    def end(self, raised: bool, value: Any) -> None:
        self.state.outcome = Outcome(raised, value)

    def adopted(self, value: Any) -> Any:
        """What a native call gave, as a value."""
        return adopt(self.state, value, outside=False)


_PRELUDE = "machine/prelude.py"
