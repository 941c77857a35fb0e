"""The intermediate code of a kernel: lines of LLVM's language with the type of reals left open.

A line is text with places for operands and for the type of reals, which is `double` on a core and
`double` or `float` on a GPU. Draws stand as lines of their own: a core reads them from a buffer, a
GPU computes them where they are needed.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dpest.running.native.signals import NotCompiled, RunFork

#: Kinds of values: real, integer, truth.
TYPES = {"f": "{F}", "i": "i64", "b": "i1"}


class KnownNumber(NamedTuple):
    """A number that is known now."""

    kind: str
    value: float | int | bool


Operand = str | KnownNumber  # a register has a name


class CodeLine(NamedTuple):
    """`result = form`, or a form without a result; `{0}`, `{1}`, … are the operands."""

    result: str | None
    form: str
    operands: tuple[Operand, ...] = ()


class DrawStep(NamedTuple):
    """`result` = the next draw of a standard family (see `streams.FAMILIES`)."""

    result: str
    family: str


class ToBits(NamedTuple):
    """`result` = the bits of a real, as an integer."""

    result: str
    operand: Operand


class FromBits(NamedTuple):
    result: str
    operand: Operand


class UpperHalf(NamedTuple):
    """`result` = the upper 64 bits of the product of two words without signs."""

    result: str
    first: Operand
    second: Operand


class Trap(NamedTuple):
    """Where this truth holds, the block's runs are not to be believed (see `Builder.trap`)."""

    result: None
    operand: Operand


Step = CodeLine | DrawStep | ToBits | FromBits | UpperHalf | Trap


@dataclass(frozen=True)
class RealType:
    """How reals are written: their type, the suffix of intrinsics, the integer of their size."""

    name: str
    suffix: str
    bits: str

    def constant(self, value: float) -> str:
        """LLVM writes a float by the bits of the double that it equals."""
        if self.name == "float" and math.isfinite(value):
            try:
                value = struct.unpack("<f", struct.pack("<f", value))[0]
            except OverflowError:
                value = math.copysign(math.inf, value)
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"

    def operand(self, operand: Operand) -> str:
        if isinstance(operand, str):
            return operand
        if operand.kind == "f":
            return self.constant(float(operand.value))
        if operand.kind == "i":
            return str(int(operand.value))
        return "true" if operand.value else "false"

    def line(self, line: CodeLine) -> str:
        text = line.form.format(
            *(self.operand(o) for o in line.operands), F=self.name, S=self.suffix
        )
        return f"  {text}" if line.result is None else f"  {line.result} = {text}"


DOUBLE = RealType("double", "f64", "i64")
SINGLE = RealType("float", "f32", "i32")


@dataclass
class SegmentBuilder:
    """Writes the steps of the segment at hand.

    An instruction that forked is executed again on each of its ways: `log` holds the registers
    that it had written by then, in order, and `decisions` what was decided. So an instruction has
    to ask everything before it changes anything.
    """

    count: int = 0
    steps: list[Step] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    decisions: list[int] = field(default_factory=list)
    written: int = 0
    decided: int = 0

    def begin(self, steps: list[Step], log: list[str], decisions: list[int]) -> None:
        self.steps, self.log, self.decisions = steps, log, decisions
        self.written = self.decided = 0

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def _add(self, make: Any) -> str:
        if self.written < len(self.log):
            self.written += 1
            return self.log[self.written - 1]
        register = self.fresh()
        self.steps.append(make(register))
        self.log.append(register)
        self.written += 1
        return register

    def emit(self, form: str, *operands: Operand) -> str:
        return self._add(lambda register: CodeLine(register, form, operands))

    def draw(self, family: str) -> str:
        return self._add(lambda register: DrawStep(register, family))

    def upper_half(self, first: Operand, second: Operand) -> str:
        return self._add(lambda register: UpperHalf(register, first, second))

    def to_bits(self, operand: Operand) -> str:
        return self._add(lambda register: ToBits(register, operand))

    def from_bits(self, operand: Operand) -> str:
        return self._add(lambda register: FromBits(register, operand))

    def trap(self, operand: Operand) -> None:
        """The runs of the block are given up where this holds: an integer left its 64 bits."""
        if isinstance(operand, KnownNumber):
            if operand.value:
                raise NotCompiled("an integer of more than 64 bits")
            return
        self._add(lambda register: Trap(None, operand))

    def decide(self, register: Operand, kind: str = "i1", options: Any = (1, 0)) -> int:
        choices = list(options)
        if len(choices) == 1:
            return int(choices[0])
        if self.decided < len(self.decisions):
            self.decided += 1
            return self.decisions[self.decided - 1]
        raise RunFork(register, kind, choices)
