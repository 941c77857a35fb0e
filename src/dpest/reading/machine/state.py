"""The state of a run: frames, heap, and what was drawn, read and decided on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.family import Noise
from dpest.reading.code.instructions import Code
from dpest.reading.machine.heap import Heap


class Draw(NamedTuple):
    """One value of noise; the location is added by the program."""

    symbol: Symbol
    noise: Noise
    column: str | None = None  # of noise for every datum: which of them
    place: Form | None = None


class Read(NamedTuple):
    """One datum of data of any length that was looked at."""

    symbol: Symbol
    column: str
    place: Form
    pass_mark: int = 0


class Picked(NamedTuple):
    """A draw with finitely many outcomes that was forked by outcome."""

    site: str
    noise: Noise
    outcome: Any
    probability: Any
    rounded: bool = False  # the probability was computed in floating point


class Frame:
    """One call that is going on. `back` is what is done with what it returns."""

    __slots__ = ("back", "code", "error", "names", "pc", "registers", "target")

    def __init__(
        self,
        code: Code,
        names: dict[str, Any],
        registers: dict[str, Any],
        back: str = "value",
        target: Any = None,
    ) -> None:
        self.code = code
        self.names = names
        self.registers = registers
        self.pc = 0
        self.error: Any = None
        self.back = back  # "value", "instance", "generator", "truth", "class", …
        self.target = target

    def copied(self) -> Frame:
        made = Frame(self.code, self.names, dict(self.registers), self.back, self.target)
        made.pc = self.pc
        made.error = self.error
        return made


class Outcome(NamedTuple):
    raised: bool
    value: Any


@dataclass
class State:
    """Everything that a run depends on from here on, and what it has done since its start."""

    frames: list[Frame]
    heap: Heap
    conditions: tuple[Condition, ...] = ()
    constrained: frozenset[Symbol] = frozenset()
    draws: tuple[Draw, ...] = ()
    reads: tuple[Read, ...] = ()
    picks: tuple[Picked, ...] = ()
    adopted: dict[int, tuple[Any, Any]] = field(default_factory=dict)  # id -> (object, value)
    forks: dict[tuple[int, int], int] = field(default_factory=dict)  # by code and instruction
    pending: tuple[int, ...] = ()  # decisions that the current instruction has made already
    moved: bool = False
    outcome: Outcome | None = None
    drawn_before: int = 0  # draws that are not in `draws` and `picks` any more
    new_turn: bool = False  # a loop has begun a turn since the last draw
    endless: bool = False  # it comes from a fork without a bound

    def fork(self) -> State:
        return State(
            [f.copied() for f in self.frames],
            self.heap.fork(),
            self.conditions,
            self.constrained,
            self.draws,
            self.reads,
            self.picks,
            dict(self.adopted),
            dict(self.forks),
            self.pending,
            self.moved,
            self.outcome,
            self.drawn_before,
            self.new_turn,
            self.endless,
        )
