"""Specialises a function to an input: what no draw touches is computed now, the rest is code.

The lowered code is executed on values of which some are known and some are registers. Where the run
decides, execution goes on on both ways. Where ways meet, states of the same shape become one block
with slots: a slot holds a plain value, or a register where ways bring different ones. A block whose
slots have become wider is executed again, until nothing changes. A loop over known elements is
unrolled; a loop that the run decides about comes back to its block and stays a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dpest.ask.declaration import Mechanism, parameters_of
from dpest.errors import OpaqueError
from dpest.reading.machine import prelude
from dpest.running.native.ir import TYPES, CodeLine
from dpest.running.native.signals import NotCompiled, RunFork, RunThrown, TooLarge
from dpest.running.native.specialising.functions import LAZY, TABLE
from dpest.running.native.specialising.instructions import Instructions
from dpest.running.native.specialising.methods import method_of
from dpest.running.native.specialising.state import (
    ENTRY,
    RNG,
    BlockEdge,
    Branch,
    Iterator,
    Outside,
    RunFrame,
    RunGenerator,
    RunOutput,
    RunState,
    Segment,
)
from dpest.running.native.specialising.walking import StateTraversal
from dpest.running.native.values import RunChoice, RunNumber, RunValue, kind_of, same
from dpest.running.skeleton import Generated, flatten, raised_output

_MOST_BLOCKS = 4000
_MOST_STEPS = 80_000
_MOST_INSTRUCTIONS = 200_000
_MOST_OPTIONS = 64
_MOST_LEAVES = 4096
_WIDEN_AFTER = 4


class Slot(NamedTuple):
    """What a place of a block holds: "plain", a kind of number, or "choice" between options."""

    kind: str
    value: Any = None  # a plain value, or the options
    low: int | None = None
    high: int | None = None
    numpy: bool = False

    @staticmethod
    def of(value: Any) -> Slot:
        if isinstance(value, RunChoice):
            return Slot("choice", value.options, None, None, value.numpy)
        if isinstance(value, RunNumber):
            return Slot(value.kind, None, value.low, value.high, value.numpy)
        return Slot("plain", value, None, None, isinstance(value, np.generic))

    def number_kind(self) -> str:
        return kind_of(self.value) if self.kind == "plain" else self.kind

    def ends(self) -> tuple[int | None, int | None]:
        if self.kind == "plain":
            return int(self.value), int(self.value)
        return self.low, self.high

    def options(self) -> list[Any]:
        if self.kind == "choice":
            return list(self.value)
        return [(self.value,)] if self.kind == "plain" else [self.kind]

    def equals(self, other: Slot) -> bool:
        if self.kind == other.kind == "plain":
            return same(self.value, other.value)
        return self == other

    def joined(self, other: Slot, widen: bool) -> Slot:
        """A slot that holds what either holds; with `widen`, ranges that grow are given up."""
        if self.kind == other.kind == "plain" and same(self.value, other.value):
            return self
        mine, others = self.number_kind(), other.number_kind()
        numpy = self.numpy and other.numpy
        if mine == others and mine in ("f", "i", "b"):
            low = high = None
            if mine == "i":
                (a_low, a_high), (b_low, b_high) = self.ends(), other.ends()
                if a_low is not None and b_low is not None and not (widen and b_low < a_low):
                    low = min(a_low, b_low)
                if a_high is not None and b_high is not None and not (widen and b_high > a_high):
                    high = max(a_high, b_high)
            return Slot(mine, None, low, high, numpy)
        options = self.options()
        for option in other.options():
            if not any(_same_option(option, known) for known in options):
                options.append(option)
        if len(options) > _MOST_OPTIONS:
            raise NotCompiled("too many different values in one place")
        return Slot("choice", tuple(options), None, None, numpy)


def data_parameter(mechanism: Mechanism) -> str:
    """The parameter that the data are given by."""
    names = list(parameters_of(mechanism.function))
    if "rng" not in names:
        raise NotCompiled("the function takes no generator")
    for name in names:
        if name != "rng" and name not in mechanism.params:
            return name
    raise NotCompiled("the function takes no data")


def _same_option(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return same(a[0], b[0])
    return isinstance(a, str) and a == b


@dataclass(eq=False)
class StateBlock:
    """States of one shape: a template of their frames, slots for the leaves, and their code."""

    number: int
    template: list[RunFrame]
    slots: list[Slot]
    kept: list[Any]  # objects whose identity is part of the shape
    segments: list[Segment] = field(default_factory=list)
    updates: int = 0


class Specialiser(Instructions):
    """One exploration; `blocks` are what it found, `start_leaves` what the first one is given."""

    table, lazy_table = TABLE, LAZY

    def bound_method(self, owner: Any, name: str) -> Callable[..., Any]:
        return method_of(self, owner, name)

    def __init__(self, mechanism: Mechanism, x: Any, outside: Outside, fixed: bool) -> None:
        super().__init__()
        self.outside = outside
        self.lookups = []
        self.walk = StateTraversal(outside, fixed)
        self.mechanism = mechanism
        self.x = x
        self.blocks: dict[Any, StateBlock] = {}
        self.start_leaves: list[Any] = []
        self._pending: list[Any] = []
        self._waiting: list[tuple[RunState, Segment]] = []
        self._executed = 0
        self._generates = False

    def explore(self) -> Specialiser:
        state = RunState([RunFrame(ENTRY, {}, {})])
        self.state = state
        self.begin([], [], [])
        given = {k: self.adopted(v) for k, v in self.mechanism.params.items()}
        words = {**given, data_parameter(self.mechanism): self.x, "rng": RNG}
        found = self.call(self.adopted(self.mechanism.function), (), words)
        if isinstance(found, RunGenerator):  # whoever gets it goes through it
            self._generates = True
            self.by_prelude(prelude.list_, found)
        if len(state.frames) != 2:
            raise NotCompiled("the function is no function of the program")
        self.start_leaves = self.walk.collect(state.frames)[1]
        self._reach(state)
        while self._pending:
            self._generate(self._pending.pop())
            if len(self.blocks) > _MOST_BLOCKS:
                raise TooLarge("a function of too many states")
        return self

    def _reach(self, state: RunState) -> BlockEdge:
        """The block of a state: a new one, or one whose slots become wider."""
        shape, leaves, kept = self.walk.collect(state.frames)
        if len(leaves) > _MOST_LEAVES:
            raise NotCompiled("a state of too many values")
        block = self.blocks.get(shape)
        if block is None:
            slots = [Slot.of(v) for v in leaves]
            template = self.walk.rebuild(state.frames)
            self.blocks[shape] = StateBlock(len(self.blocks), template, slots, kept)
            self._pending.append(shape)
            return BlockEdge(shape, leaves)
        widen = block.updates > _WIDEN_AFTER
        wider = [
            slot.joined(Slot.of(v), widen) for slot, v in zip(block.slots, leaves, strict=True)
        ]
        if not all(a.equals(b) for a, b in zip(wider, block.slots, strict=True)):
            block.slots = wider
            block.updates += 1
            if shape not in self._pending:
                self._pending.append(shape)
        return BlockEdge(shape, leaves)

    def _generate(self, shape: Any) -> None:
        block = self.blocks[shape]
        block.segments = []
        first = self._segment(block)
        values = [self._loaded(block, j, slot, first) for j, slot in enumerate(block.slots)]
        self._waiting = [(RunState(self.walk.rebuild(block.template, values)), first)]
        while self._waiting:
            state, segment = self._waiting.pop()
            self._advance(state, segment, block)

    def _loaded(self, block: StateBlock, place: int, slot: Slot, segment: Segment) -> Any:
        if slot.kind == "plain":
            return slot.value
        name = f"{block.number}_{place}"
        register = self.fresh()
        if slot.kind == "choice":
            tag = self.fresh()
            segment.steps.append(CodeLine(tag, f"load i64, ptr %tag{name}"))
            segment.steps.append(CodeLine(register, f"load i64, ptr %slot{name}"))
            return RunChoice(tag, register, slot.value, slot.numpy)
        segment.steps.append(CodeLine(register, f"load {TYPES[slot.kind]}, ptr %slot{name}"))
        return RunNumber(slot.kind, register, slot.low, slot.high, slot.numpy)

    def _segment(self, block: StateBlock) -> Segment:
        segment = Segment(f"b{block.number}_{len(block.segments)}")
        block.segments.append(segment)
        return segment

    def _advance(self, state: RunState, segment: Segment, block: StateBlock) -> None:
        self.state = state
        while True:
            frame = state.frames[-1]
            # Before the first draw there is one way only, and nothing to meet.
            alone = block.number == 0 and segment is block.segments[0] and not segment.steps
            meeting = state.cut or frame.pc in frame.code.joins
            if state.moved and not state.decisions and meeting and not alone:
                state.cut = False
                segment.end = self._reach(state)
                return
            state.moved = True
            self._executed += 1
            if self._executed > _MOST_INSTRUCTIONS or len(segment.steps) > _MOST_STEPS:
                raise TooLarge("too many instructions")
            self.begin(segment.steps, state.log, state.decisions)
            try:
                self._execute(frame)
            except RunFork as fork:
                self._fork(fork, state, segment, block)
                return
            except RunThrown as thrown:
                if not self._caught(thrown.error):
                    segment.end = self._output(raised_output(thrown.error), thrown.error)
                    return
            state.log, state.decisions = [], []
            if len(state.frames) == 1:
                segment.end = self._output(state.frames[0].registers["result"], None)
                return

    def _execute(self, frame: RunFrame) -> None:
        instruction = frame.code.instructions[frame.pc]
        method = getattr(self, f"do_{instruction.op}", None)
        if method is None:
            raise NotCompiled(f"the instruction {instruction.op}")
        pc = method(frame, instruction)
        if pc is None:
            self.state.frames[-1].pc += 1
        elif pc != self.STAY:
            frame.pc = pc

    def _fork(self, fork: RunFork, state: RunState, segment: Segment, block: StateBlock) -> None:
        ways = []
        for option in fork.options:
            frames = self.walk.rebuild(state.frames)
            way = self._segment(block)
            ways.append((option, way.label))
            self._waiting.append(
                (RunState(frames, list(state.log), [*state.decisions, option], True), way)
            )
        segment.end = Branch(fork.register, fork.kind, ways)

    def _caught(self, error: BaseException) -> bool:
        frames = self.state.frames
        while len(frames) > 1:
            handler = frames[-1].code.instructions[frames[-1].pc].handler
            if handler is not None:
                frames[-1].pc, frames[-1].error = handler, error
                return True
            if frames[-1].back.kind == "generator" and isinstance(error, StopIteration):
                raise NotCompiled("StopIteration leaves a generator")
            frames.pop()
        return False

    def _output(self, value: Any, raised: BaseException | None) -> RunOutput:
        if isinstance(value, (RunGenerator, Iterator)):
            raise NotCompiled("a generator is returned")
        if self._generates and raised is None:
            value = Generated(value)
        try:
            skeleton, leaves = flatten(value)
        except OpaqueError as error:
            raise NotCompiled(str(error)) from None
        described = [
            repr(Slot.of(v)._replace(low=None, high=None)) if isinstance(v, RunValue)
            else f"{type(v).__name__} {v!r}"
            for v in leaves
        ]  # fmt: skip
        return RunOutput(repr((skeleton, described)), skeleton, leaves, raised)
