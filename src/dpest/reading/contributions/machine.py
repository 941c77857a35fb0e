"""Executes lowered code on forms: frames, calls, containers."""

from __future__ import annotations

import builtins
import types
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.reading.code.instructions import Instruction
from dpest.reading.contributions.arithmetic import is_number, is_plain
from dpest.reading.contributions.choices import DecisionScript
from dpest.reading.contributions.control import (
    calls,
    catching,
    items,
    iteration,
    operators,
    picks,
    releases,
)
from dpest.reading.contributions.control.actions import ACTIONS, CARRYING
from dpest.reading.contributions.control.counting import by_coins, over_places
from dpest.reading.contributions.control.emptiness import without_records
from dpest.reading.contributions.control.joining import joined
from dpest.reading.contributions.control.objects import SuperLookup, adopted, attribute, is_class
from dpest.reading.contributions.control.public import Publics, Recipe, item_of
from dpest.reading.contributions.control.stack import CallFrame, Suspended
from dpest.reading.contributions.forms import NOISE, RECORD, Raised, SymbolicForm, Terms, Unread
from dpest.reading.contributions.functions.flips import Flip, flip_of, settle
from dpest.reading.contributions.functions.methods.calling import attribute_of
from dpest.reading.contributions.functions.purity import is_known
from dpest.reading.contributions.functions.selections import against_weights
from dpest.reading.contributions.functions.sequences import unzipped
from dpest.reading.contributions.functions.statistics import distinct, quantified
from dpest.reading.contributions.gaps import drawing
from dpest.reading.contributions.gaps import loops as gap_loops
from dpest.reading.contributions.gaps.functions import Joiner, between_ends
from dpest.reading.contributions.gaps.values import Gaps
from dpest.reading.contributions.loops import NeedsKey
from dpest.reading.contributions.made_noise import with_made_noise
from dpest.reading.contributions.values import (
    Bound,
    DrawMethod,
    KeyCounts,
    LoweredFunction,
    Map,
    Object,
    ProgramObject,
    PublicValue,
    RecordPosition,
    RecordTruth,
    Rows,
    Seq,
    SmallArray,
    Stepped,
    Transposed,
    UnseededGenerator,
)
from dpest.reading.machine.values import LOG_NOTE

MOST_STEPS = 400_000
DEEPEST = 40
_OF_WHOLE_NUMBERS = ("%", "//", "&", "|", "^", "<<", ">>")


class ContributionMachine(Publics):
    """One run of a mechanism for every data set at once, along one way of public decisions."""

    def __init__(self, script: DecisionScript, replace: bool, races: bool = True) -> None:
        super().__init__()
        self.races = races
        self.gaps = Gaps()
        self.outside: dict[int, tuple[Any, Any]] = {}
        self.namespaces: dict[int, dict[str, Any]] = {}
        self.joining = 0
        self.drained: dict[int, tuple[Seq, tuple[Any, ...]]] = {}
        self.flipping = False  # another turn of a loop over candidates is looked at
        self.trying = 0  # calls and instructions in progress whose exceptions are caught
        self.terms = Terms()
        self.script = script
        self.replace = replace
        self.frames: list[CallFrame] = []
        self.steps = 0

    # Running -------------------------------------------------------------------------------------

    def run(self, frame: CallFrame) -> Any:
        """Until the frame returns."""
        if len(self.frames) > DEEPEST:
            raise Unread("calls that go too deep")
        self.frames.append(frame)
        try:
            done, value = self.run_until(frame, None)
        finally:
            self.frames.pop()
        assert done
        return value

    def run_until(self, frame: CallFrame, stop: int | None) -> tuple[bool, Any]:
        """Until the frame returns, or comes to an instruction (then the first answer is False)."""
        while True:
            if stop is not None and frame.pc == stop:
                return False, None
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise Unread("too many steps: a loop that may not end")
            body = self.confined[1] if self.confined and self.confined[0] is frame else None
            if body is not None and frame.pc not in body:
                raise Unread("a loop over the records that ends early")
            instruction = frame.code.instructions[frame.pc]
            if instruction.op == "return":
                return True, frame.registers[instruction.uses[0]]
            if instruction.op == "yield" and frame.lazy:
                frame.handed = [frame.registers[instruction.uses[0]]]
                if instruction.dst is not None:
                    frame.registers[instruction.dst] = None
                frame.pc += 1
                return False, None
            try:
                self.step(frame, instruction)
            except NeedsKey:
                raise
            except Unread as reason:
                if not reason.placed:
                    where = f"{frame.code.file}:{instruction.place.line}"
                    placed = Unread(f"{where}: {reason}")
                    placed.placed, placed.of_record = True, self.in_pass
                    raise placed from None
                raise

    def step(self, frame: CallFrame, instruction: Instruction) -> None:
        registers = frame.registers
        op = instruction.op
        if op == "jump":
            frame.pc = instruction.jumps[0]
            return
        if op == "branch":
            self.take(frame, instruction, registers[instruction.uses[0]])
            return
        if op == "next":
            iteration.next_turn(self, frame, instruction)
            return
        action = ACTIONS.get(op)
        if action is None:
            raise Unread(f"the instruction `{op}` is not read here")
        try:
            uses = [registers[name] for name in instruction.uses]
            if op not in CARRYING:
                uses = list(map(self.settled, uses))
        except KeyError:
            raise Unread("a variable that may not be set") from None
        handler = catching.handler_of(frame, instruction)
        if handler is None and not self.trying:
            value = action(self, frame, instruction, uses)
        elif op in ("raise", "reraise"):
            try:
                action(self, frame, instruction, uses)
            except Raised as raised:
                if handler is None:
                    raise
                frame.caught, frame.pc = raised.error, handler
                return
        else:
            try:
                value = catching.guarded(self, frame, instruction, uses, action)
            except Raised as raised:
                if handler is None:
                    raise
                frame.caught, frame.pc = raised.error, handler
                return
        if instruction.dst is not None:
            registers[instruction.dst] = value
        frame.pc += 1

    def take(self, frame: CallFrame, instruction: Instruction, value: Any) -> None:
        """A branch: both ways as one where they meet again, or one of them by the script."""
        plain = is_plain(value) or isinstance(value, (Seq, Map))
        if isinstance(value, Flip):
            settle(self, frame, value)
            return
        if isinstance(value, RecordTruth) and over_places(self, frame, instruction):
            return
        if isinstance(value, RecordTruth) and by_coins(self, frame, value):
            return
        if self.record is None and not self.by_cases:
            if without_records(self, frame, value):
                return
            if not plain and joined(self, frame, value):
                return
        taken = self.branch(frame, value)
        frame.pc = instruction.jumps[0 if taken else 1]

    def presence(self, value: Any) -> Any:
        """Whether a list of the data has any values, as a truth about how many there are."""
        rows = value.rows if isinstance(value, Seq) else value
        if not isinstance(rows, Rows) or rows.array:
            raise Unread("whether a list of the data is empty")
        return self.compare("!=", self.length_of(rows), 0)

    def unary(self, op: str, a: Any) -> Any:
        if op == "not" and isinstance(a, (Rows, Seq)) and (isinstance(a, Rows) or a.rows):
            there = self.presence(a)
            return self.opposite(there) if isinstance(there, RecordTruth) else not there
        return super().unary(op, a)

    def log(self, *values: Any) -> None:
        """A line of a log: its numbers become visible, and a note says that there is a log."""
        if self.in_pass:
            raise Unread("a log with a line for a record, which whoever reads it sees")
        if self.by_cases and not all(map(is_plain, values)):
            raise Unread("a log of noisy or private values, which whoever reads it sees")
        for value in values:
            self.release(value)
        if LOG_NOTE not in self.ledger.notes:
            self.ledger.notes.append(LOG_NOTE)

    def visible(self, form: SymbolicForm) -> SymbolicForm:
        return super().visible(with_made_noise(self, self.reveal(form)))

    def extent(self) -> tuple[int, ...]:
        """How much was found so far: draws, sums, releases."""
        found = self.ledger
        parts: tuple[list[Any], ...] = (found.rows, found.passes, found.noises, found.gates)
        gaps = len(self.gaps.choices) + len(self.gaps.spent) + self.gaps.sorts
        return (*map(len, parts), gaps, self.picks, self.uniforms, len(self.script.answers))

    def branch(self, frame: CallFrame, value: Any) -> bool:
        about = value.form if isinstance(value, RecordTruth) else None
        if about is not None and self.terms.kind(about) & NOISE:
            return self.rejected(frame, value)
        return self.decide(value)

    # Names ---------------------------------------------------------------------------------------

    def lookup(self, frame: CallFrame, name: str) -> Any:
        if name in frame.globals:
            return self.admitted(frame.globals[name], f"the global `{name}`")
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise Unread(f"no name `{name}`")

    def admitted(self, value: Any, what: str) -> Any:
        """A value from outside of the run: constants, modules, functions, objects."""
        return adopted(self, value, what)

    def knows(self, function: Any) -> bool:
        return is_known(function)

    def attribute(self, owner: Any, name: str) -> Any:
        if isinstance(owner, UnseededGenerator):
            return DrawMethod(name, owner.library)
        if isinstance(owner, (ProgramObject, SuperLookup)) or is_class(owner):
            return attribute(self, owner, name)
        if isinstance(owner, PublicValue):
            return Bound(owner, name)
        if isinstance(owner, Object):
            return owner.attribute(self, name)
        if isinstance(owner, types.ModuleType):
            if not hasattr(owner, name):
                raise Unread(f"{owner.__name__} has no {name}")
            if owner is np and name == "r_":
                return Joiner()
            return self.admitted(getattr(owner, name), f"{owner.__name__}.{name}")
        if isinstance(owner, (Rows, Seq, Map, SmallArray, KeyCounts, SymbolicForm)):
            return attribute_of(self, owner, name)
        if is_number(owner) or isinstance(owner, str):
            return Bound(owner, name)
        if isinstance(owner, type) or callable(owner):
            found = getattr(owner, name, None)
            if found is not None and is_known(found):
                return found
        raise Unread(f"the attribute `{name}` of {type(owner).__name__}")

    # Calls ---------------------------------------------------------------------------------------

    def call(self, function: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
        return calls.call(self, function, arguments, named)

    def picked(self, kind: str, *about: Any) -> PublicValue:
        return picks.picked(self, kind, *about)

    def place_of(self, place: SymbolicForm) -> PublicValue | None:
        return picks.candidate_at(self, place)

    def items_of(self, value: PublicValue, count: int) -> Seq:
        """The values of something public whose length is known."""
        return Seq([self.publicly(item_of, value, i) for i in range(count)])

    def followed(self, form: SymbolicForm) -> SymbolicForm:
        """What a step has shown of a private number: public, and followed in a replay."""
        return self.number_of(self.publicly_followed(lambda v: v, form))

    def publicly_followed(self, function: Any, *arguments: Any) -> PublicValue:
        return PublicValue(Recipe(function, arguments), len(self.ledger.rows))

    def special_comparison(self, op: str, difference: SymbolicForm) -> Any:
        if self.in_pass or op not in ("<", "<=", ">", ">="):
            return None
        found = flip_of(self, op, difference)
        return against_weights(self, op, difference) if found is None else found

    def between_ends(self, parts: list[Any]) -> Any:
        return between_ends(self, parts)

    def decide_gap(self, truth: RecordTruth) -> bool:
        return gap_loops.decided(self, truth)

    def point_of(self, form: SymbolicForm) -> SymbolicForm:
        return drawing.point_of(self, form)

    def closure_of(self, function: types.FunctionType) -> LoweredFunction:
        return calls.closure_of(self, function)

    # Generators ----------------------------------------------------------------------------------

    def advance(self, generator: Suspended) -> tuple[bool, Any]:
        return iteration.advance(self, generator)

    # Items ---------------------------------------------------------------------------------------

    def binary(self, op: str, a: Any, b: Any) -> Any:
        if isinstance(a, ProgramObject) or isinstance(b, ProgramObject):
            return operators.of_objects(self, op, a, b)
        if isinstance(a, RecordPosition) and op == "+" and type(b) is int and b == 1:
            return Stepped()
        if op == "@" and isinstance(b, Rows) and isinstance(a, (Rows, Transposed)):
            first = a.rows if isinstance(a, Transposed) else a
            if isinstance(a, Rows) and any(isinstance(c.element, SmallArray) for c in a.cases):
                raise Unread("a product of two arrays of the data")
            if isinstance(a, Transposed) and any(
                isinstance(c.element, SmallArray) for c in b.cases
            ):
                return self.sum_rows(self.per_record(self._outer, first, b))
            return self.sum_rows(super().binary("*", first, b))
        if op in _OF_WHOLE_NUMBERS:
            a, b = self.pinned(a), self.pinned(b)
            divided = isinstance(a, SymbolicForm) and is_number(b) and b > 0
            if op == "//" and divided and self.terms.kind(a) == RECORD:
                return self.terms.of("floor", a.times(1 / Fraction(b)))
        return super().binary(op, a, b)

    def _outer(self, a: Any, b: Any) -> SmallArray:
        """What one record adds to X.T @ Y: its row of X times its row of Y."""
        if not all(isinstance(v, SmallArray) and len(v.shape) == 1 for v in (a, b)):
            raise Unread("a product of two arrays of the data")
        cells = [self.mixed("*", x, y) for x in a.cells for y in b.cells]
        return SmallArray((len(a.cells), len(b.cells)), cells)

    def item(self, owner: Any, index: Any) -> Any:
        return items.item_of_owner(self, owner, index)

    def of_person(self, owner: Any, otherwise: Any = None) -> Any:
        return items.entry_of_person(self, owner, otherwise)

    def set_item(self, owner: Any, index: Any, value: Any) -> None:
        items.set_item(self, owner, index, value)

    # Iteration -----------------------------------------------------------------------------------

    def iterate(self, value: Any) -> Any:
        return iteration.iterator_over(self, value)

    def listed(self, value: Any) -> list[Any]:
        return iteration.listed(self, value)

    def unzipped(self, value: Any) -> Any:
        """zip(*pairs), of a pair for each record."""
        return unzipped(value, self)

    # What is released ----------------------------------------------------------------------------

    def quantified(self, rows: Rows, conjunction: bool) -> Any:
        """any() or all() of the records."""
        return quantified(self, rows, conjunction)

    def distinct(self, counts: KeyCounts) -> Any:
        """How many keys there are."""
        if counts.rows is None:
            raise Unread("how many keys the data have")
        return distinct(self, counts.rows)

    def release(self, value: Any) -> Any:
        return releases.released(self, value)


__all__ = ["CallFrame", "ContributionMachine"]
