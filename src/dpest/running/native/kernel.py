"""From blocks to one function in LLVM's language that makes many runs.

`CoreKernel` is the function for a core: it reads draws from buffers and hands out codes and
columns, or counts of codes. `ptx.GpuKernel` writes the same blocks for a GPU.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from dpest.running.native.ir import (
    DOUBLE,
    TYPES,
    CodeLine,
    DrawStep,
    FromBits,
    KnownNumber,
    Operand,
    RealType,
    ToBits,
    Trap,
    UpperHalf,
)
from dpest.running.native.outputs import Ending, Layout, Pack, RealColumn
from dpest.running.native.signals import NotCompiled, TooLarge
from dpest.running.native.specialising.specialiser import Slot, Specialiser, StateBlock
from dpest.running.native.specialising.state import BlockEdge, Branch, RunOutput
from dpest.running.native.streams import BUFFER, FAMILIES, declarations
from dpest.running.native.values import RunChoice, RunNumber, same

#: Turns of loops that one call of a kernel may make, so that it ends within a second or so.
FUEL = 1 << 28
#: Steps of a kernel: more would take a compiler too long.
MOST_STEPS = 80_000


class Program:
    """The blocks that runs can reach, their outputs, and how many draws a run makes at most."""

    def __init__(self, specialiser: Specialiser, data: Sequence[str] = ()) -> None:
        self.specialiser = specialiser
        self.data = list(data)
        """The kinds of the numbers of the data, where those are arguments."""
        self.blocks = _reached(specialiser.blocks)
        outputs = [
            segment.end
            for block in self.blocks.values()
            for segment in block.segments
            if isinstance(segment.end, RunOutput)
        ]
        if not outputs:
            raise NotCompiled("the function never ends")
        self.layout = Layout(outputs)
        self.exits = {shape: _exits(block) for shape, block in self.blocks.items()}
        self.order = _topological(self.blocks, self.exits)
        """The shapes of the blocks, each before those that it leads to; None with loops."""
        self.most_draws = self._most_draws()
        steps = (s for b in self.blocks.values() for g in b.segments for s in g.steps)
        if sum(len(g.steps) for b in self.blocks.values() for g in b.segments) > MOST_STEPS:
            raise TooLarge("too many steps to compile")
        used = {step.family for step in steps if isinstance(step, DrawStep)}
        self.families = [family for family in FAMILIES if family in used]

    @property
    def start(self) -> StateBlock:
        return next(iter(self.blocks.values()))

    def _most_draws(self) -> dict[str, int] | None:
        """The most draws of each family that a run can make; None where a loop has no bound."""
        if self.order is None:
            return None
        most: dict[Any, dict[str, int]] = {}
        for shape in reversed(self.order):
            best: dict[str, int] = {}
            for draws, end in self.exits[shape]:
                after = most[end.shape] if isinstance(end, BlockEdge) else {}
                for family in {*draws, *after}:
                    total = draws.get(family, 0) + after.get(family, 0)
                    best[family] = max(best.get(family, 0), total)
            most[shape] = best
        return most[next(iter(self.blocks))]


def _reached(blocks: dict[Any, StateBlock]) -> dict[Any, StateBlock]:
    first = next(iter(blocks))
    found, pending = {first}, [first]
    while pending:
        for segment in blocks[pending.pop()].segments:
            if isinstance(segment.end, BlockEdge) and segment.end.shape not in found:
                found.add(segment.end.shape)
                pending.append(segment.end.shape)
    return {shape: block for shape, block in blocks.items() if shape in found}


def _exits(block: StateBlock) -> list[tuple[dict[str, int], Any]]:
    """How a block is left, and the draws made by then."""
    made: dict[str, dict[str, int]] = {block.segments[0].label: {}}
    found = []
    for segment in block.segments:  # a segment comes before those that it branches to
        draws = dict(made[segment.label])
        for step in segment.steps:
            if isinstance(step, DrawStep):
                draws[step.family] = draws.get(step.family, 0) + 1
        if isinstance(segment.end, Branch):
            for _, label in segment.end.ways:
                made[label] = draws
        else:
            found.append((draws, segment.end))
    return found


def _topological(blocks: dict[Any, StateBlock], exits: dict[Any, Any]) -> list[Any] | None:
    incoming = dict.fromkeys(blocks, 0)
    for shape in blocks:
        for _, end in exits[shape]:
            if isinstance(end, BlockEdge):
                incoming[end.shape] += 1
    order, ready = [], [shape for shape, count in incoming.items() if count == 0]
    while ready:
        shape = ready.pop()
        order.append(shape)
        for _, end in exits[shape]:
            if isinstance(end, BlockEdge):
                incoming[end.shape] -= 1
                if incoming[end.shape] == 0:
                    ready.append(end.shape)
    return order if len(order) == len(blocks) else None


class KernelText:
    """What kernels of all kinds share: blocks, slots, jumps."""

    def __init__(self, program: Program, real: RealType = DOUBLE) -> None:
        self.program = program
        self.real = real
        self._numbers = itertools.count()
        self.lines: list[str] = []

    def fresh(self) -> str:
        return f"%k{next(self._numbers)}"

    def emit(self, form: str, *operands: Operand) -> str:
        register = self.fresh()
        self.lines.append(self.real.line(CodeLine(register, form, operands)))
        return register

    def do(self, form: str, *operands: Operand) -> None:
        self.lines.append(self.real.line(CodeLine(None, form, operands)))

    # Steps

    def step(self, step: Any) -> None:
        if isinstance(step, CodeLine):
            self.lines.append(self.real.line(step))
        elif isinstance(step, DrawStep):
            self.draw(step)
        elif isinstance(step, Trap):
            old = self.emit("load i1, ptr %trap")
            self.do("store i1 {0}, ptr %trap", self.emit("or i1 {0}, {1}", old, step.operand))
        elif isinstance(step, ToBits):
            self.lines.append(f"  {step.result} = {self._bits(step.operand)}")
        elif isinstance(step, UpperHalf):
            self.upper_half(step)
        elif isinstance(step, FromBits):
            self._from_bits(step)

    def _bits(self, operand: Operand) -> str:
        text = self.real.operand(operand)
        if self.real.name == "double":
            return f"bitcast double {text} to i64"
        small = self.emit("bitcast {F} {0} to i32", operand)
        return f"zext i32 {small} to i64"

    def _from_bits(self, step: FromBits) -> None:
        if self.real.name == "double":
            line = CodeLine(step.result, "bitcast i64 {0} to double", (step.operand,))
        else:
            small = self.emit("trunc i64 {0} to i32", step.operand)
            line = CodeLine(step.result, "bitcast i32 {0} to {F}", (small,))
        self.lines.append(self.real.line(line))

    def draw(self, step: DrawStep) -> None:
        raise NotImplementedError

    def upper_half(self, step: UpperHalf) -> None:
        first, second = (
            self.emit("zext i64 {0} to i128", operand) for operand in (step.first, step.second)
        )
        product = self.emit("mul i128 {0}, {1}", first, second)
        upper = self.emit("lshr i128 {0}, 64", product)
        self.lines.append(f"  {step.result} = trunc i128 {upper} to i64")

    def index(self, place: Operand) -> Operand:
        """A place in a table, where a run looks it up."""
        return place

    def loads(self) -> list[str]:
        """The numbers of the data, read before the first run."""
        lines = []
        for place, kind in enumerate(self.program.data):
            lines.append(f"  %data_at{place} = getelementptr double, ptr %data, i64 {place}")
            if kind == "i" or self.real.name == "double":
                text = "i64" if kind == "i" else "double"
                lines.append(f"  %datum{place} = load {text}, ptr %data_at{place}")
            else:
                lines.append(f"  %wide_datum{place} = load double, ptr %data_at{place}")
                small = f"fptrunc double %wide_datum{place} to {self.real.name}"
                lines.append(f"  %datum{place} = {small}")
        return lines

    def sink(self, ending: Ending, leaves: Sequence[Any]) -> None:
        raise NotImplementedError

    # Blocks

    def body(self) -> str:
        parts = []
        for block in self.program.blocks.values():
            for segment in block.segments:
                self.lines = [f"{segment.label}:"]
                for step in segment.steps:
                    self.step(step)
                self._end(block, segment.end)
                parts.append("\n".join(self.lines))
        return "\n".join(parts)

    def _end(self, block: StateBlock, end: Any) -> None:
        if isinstance(end, Branch):
            if end.kind == "i1":
                ways = dict(end.ways)
                self.do(f"br i1 {{0}}, label %{ways[1]}, label %{ways[0]}", end.register)
                return
            *most, last = end.ways
            cases = " ".join(f"i64 {value}, label %{label}" for value, label in most)
            self.do(f"switch i64 {{0}}, label %{last[1]} [{cases}]", end.register)
        elif isinstance(end, BlockEdge):
            target = self.program.blocks[end.shape]
            self.store_slots(target, end.leaves)
            if self.program.most_draws is None and target.number <= block.number:
                left = self.emit("sub i64 {0}, 1", self.emit("load i64, ptr %fuel"))
                self.do("store i64 {0}, ptr %fuel", left)
                empty = self.emit("icmp slt i64 {0}, 0", left)
                self.do(f"br i1 {{0}}, label %exhausted, label %b{target.number}_0", empty)
                return
            self.do(f"br label %b{target.number}_0")
        else:
            assert isinstance(end, RunOutput)
            self.sink(self.program.layout.endings[end.key], end.leaves)
            self.do("br label %next")

    def store_slots(self, block: StateBlock, leaves: Sequence[Any]) -> None:
        for kind, place, value in self.slot_values(block, leaves):
            self.do(f"store {kind} {{0}}, ptr {place}", value)

    def slot_values(
        self, block: StateBlock, leaves: Sequence[Any]
    ) -> Iterator[tuple[str, str, Operand]]:
        """What a block is given: types, places, and values."""
        for place, (slot, value) in enumerate(zip(block.slots, leaves, strict=True)):
            name = f"{block.number}_{place}"
            if slot.kind == "choice":
                tag, payload = self._tagged(value, slot)
                yield "i64", f"%tag{name}", tag
                yield "i64", f"%slot{name}", payload
            elif slot.kind != "plain":
                yield TYPES[slot.kind], f"%slot{name}", self._number(value, slot.kind)

    def _number(self, value: Any, kind: str) -> Operand:
        if isinstance(value, RunNumber):
            return value.register
        return KnownNumber(kind, value.item() if hasattr(value, "item") else value)

    def _tagged(self, value: Any, slot: Slot) -> tuple[Operand, Operand]:
        """A value as one of the options of a slot."""
        if not isinstance(value, RunChoice):
            if not isinstance(value, RunNumber):
                return KnownNumber("i", _place((value,), slot.value)), KnownNumber("i", 0)
            return KnownNumber("i", _place(value.kind, slot.value)), self._payload(
                value, value.kind
            )
        places = [_place(option, slot.value) for option in value.options]
        if places == list(range(len(places))):
            return value.tag, value.payload
        tag_now: Operand = KnownNumber("i", places[-1])
        for number, place in enumerate(places[:-1]):
            here = self.emit("icmp eq i64 {0}, {1}", value.tag, KnownNumber("i", number))
            chosen = (here, KnownNumber("i", place), tag_now)
            tag_now = self.emit("select i1 {0}, i64 {1}, i64 {2}", *chosen)
        return tag_now, value.payload

    def _payload(self, value: Any, kind: str) -> Operand:
        operand = self._number(value, kind)
        if kind == "f":
            register = self.fresh()
            text = self._bits(operand)
            self.lines.append(f"  {register} = {text}")
            return register
        return self.emit("zext i1 {0} to i64", operand) if kind == "b" else operand

    def allocations(self) -> list[str]:
        lines = ["  %trap = alloca i1", "  store i1 false, ptr %trap"]
        if self.program.most_draws is None:
            lines += ["  %fuel = alloca i64", f"  store i64 {FUEL}, ptr %fuel"]
        for block in self.program.blocks.values():
            for place, slot in enumerate(block.slots):
                name = f"{block.number}_{place}"
                if slot.kind == "choice":
                    lines += [f"  %slot{name} = alloca i64", f"  %tag{name} = alloca i64"]
                elif slot.kind != "plain":
                    kind = TYPES[slot.kind].format(F=self.real.name)
                    lines.append(f"  %slot{name} = alloca {kind}")
        return lines

    def start(self) -> str:
        """Stores of what the first block is given."""
        self.lines = []
        self.store_slots(self.program.start, self.program.specialiser.start_leaves)
        self.do(f"br label %b{self.program.start.number}_0")
        return "\n".join(self.lines)

    # Outputs

    def code(self, ending: Ending, leaves: Sequence[Any]) -> Operand:
        return self.packed(ending.digits, leaves, ending.base)

    def packed(self, digits: Sequence[Any], leaves: Sequence[Any], base: int) -> Operand:
        code: Operand | None = None
        for digit in digits:
            value = leaves[digit.leaf]
            if isinstance(value, RunChoice):
                number: Operand = value.tag
            elif value.kind == "b":
                number = self.emit("zext i1 {0} to i64", value.register)
            else:
                low = KnownNumber("i", digit.low)
                number = self.emit("sub i64 {0}, {1}", value.register, low)
            if code is None:
                code = number
            else:
                wide = self.emit("mul nsw i64 {0}, {1}", code, KnownNumber("i", digit.width))
                code = self.emit("add nsw i64 {0}, {1}", wide, number)
        if code is None:
            return KnownNumber("i", base)
        return (
            code if base == 0 else self.emit("add nsw i64 {0}, {1}", code, KnownNumber("i", base))
        )

    def column_bits(self, ending: Ending, leaves: Sequence[Any]) -> list[Operand]:
        """The columns of an ending as words of 64 bits."""
        found: list[Operand] = []
        for column in ending.columns:
            if isinstance(column, Pack):
                found.append(self.packed(column.digits, leaves, 0))
                continue
            value = leaves[column.leaf]
            if isinstance(value, RunChoice):
                found.append(value.payload)
            else:
                found.append(self._payload(value, value.kind))
        return found

    def column_reals(self, ending: Ending, leaves: Sequence[Any]) -> dict[int, Operand]:
        """The real numbers of an ending by leaf, where they are plain reals."""
        found: dict[int, Operand] = {}
        for column in ending.columns:
            if isinstance(column, RealColumn) and isinstance(leaves[column.leaf], RunNumber):
                value = leaves[column.leaf]
                if value.kind == "f":
                    found[column.leaf] = value.register
        return found


def _place(option: Any, options: Sequence[Any]) -> int:
    for number, known in enumerate(options):
        if isinstance(option, tuple) and isinstance(known, tuple):
            if same(option[0], known[0]):
                return number
        elif isinstance(option, str) and option == known:
            return number
    raise NotCompiled(f"{option} where only {options} were seen")


HEADER = (
    "define i64 @kernel(i64 %n, ptr noalias readonly %keys, ptr noalias %buffers, "
    "ptr noalias %codes, ptr noalias %columns, i64 %stride, ptr noalias %counts, "
    "ptr noalias readonly %data) {"
)


class CoreKernel(KernelText):
    """`i64 kernel(n, keys, buffers, codes, columns, stride, counts, data)`.

    Gives the number of runs made; -1 where a run left what 64 bits hold, -2 where loops took too
    long. Nothing that it wrote is to be used then.
    """

    def __init__(self, program: Program, sink: str) -> None:
        super().__init__(program)
        self.sink_kind = sink
        most = program.most_draws
        self.bounded = most is not None and max(most.values(), default=0) <= BUFFER // 4

    def draw(self, step: DrawStep) -> None:
        family = step.family
        kind = "i64" if family == "bits" else "double"
        if self.bounded:
            at = self.emit(f"load i64, ptr %at_{family}")
            after = self.emit("add nuw nsw i64 {0}, 1", at)
            self.do(f"store i64 {{0}}, ptr %at_{family}", after)
            place = self.emit(f"getelementptr inbounds double, ptr %buffer_{family}, i64 {{0}}", at)
        else:
            place = self.emit(
                f"call ptr @next_{family}(ptr %at_{family}, ptr %filled_{family}, "
                f"ptr %buffer_{family}, i64 %key_{family}, i64 %second_{family})"
            )
        self.lines.append(f"  {step.result} = load {kind}, ptr {place}")

    def sink(self, ending: Ending, leaves: Sequence[Any]) -> None:
        code = self.code(ending, leaves)
        if self.sink_kind == "counts":
            place = self.emit("getelementptr i64, ptr %counts, i64 {0}", code)
            count = self.emit("add i64 {0}, 1", self.emit(f"load i64, ptr {place}"))
            self.do(f"store i64 {{0}}, ptr {place}", count)
            return
        self.store_code(code, "%codes", "%run")
        self.store_columns(self.column_bits(ending, leaves))

    def store_code(self, code: Operand, table: str, row: str) -> None:
        if self.program.layout.codes > 1:
            place = self.emit(f"getelementptr {self.code_kind}, ptr {table}, i64 {row}")
            kind = self.code_kind
            small = code if kind == "i64" else self.emit(f"trunc i64 {{0}} to {kind}", code)
            self.do(f"store {kind} {{0}}, ptr {place}", small)

    @property
    def code_kind(self) -> str:
        return {1: "i8", 4: "i32", 8: "i64"}[self.program.layout.code_type(0).itemsize]

    def store_columns(self, columns: Sequence[Operand]) -> None:
        for number, bits in enumerate(columns):
            at = self.emit("mul i64 %stride, {0}", KnownNumber("i", number))
            at = self.emit("add i64 {0}, %run", at)
            self.do("store i64 {0}, ptr {1}", bits,
                    self.emit("getelementptr i64, ptr %columns, i64 {0}", at))  # fmt: skip

    def text(self) -> str:
        body, start = self.body(), self.start()
        setup: list[str] = []
        refills: list[str] = []
        functions: list[str] = []
        for family in self.program.families:
            setup += self.setup(family)
            if self.bounded:
                assert self.program.most_draws is not None
                refills.append(refill(family, self.program.most_draws[family]))
            else:
                functions.append(_next_function(family))
            functions.append(f"declare void @fill_{family}(ptr noalias, i64, i64, i64)")
        exhausted = "exhausted:\n  ret i64 -2\n" if self.program.most_draws is None else ""
        return "\n".join(
            [
                declarations(self.real),
                *functions,
                HEADER,
                "entry:",
                *self.loads(),
                *setup,
                *self.allocations(),
                "  %run_at = alloca i64",
                "  store i64 0, ptr %run_at",
                "  %none = icmp eq i64 %n, 0",
                "  br i1 %none, label %end, label %head",
                "head:",
                "  %run = load i64, ptr %run_at",
                *refills,
                start,
                body,
                "next:",
                "  %after = add nuw nsw i64 %run, 1",
                "  store i64 %after, ptr %run_at",
                "  %more = icmp ult i64 %after, %n",
                "  br i1 %more, label %head, label %end",
                "end:",
                "  %trapped = load i1, ptr %trap",
                "  %result = select i1 %trapped, i64 -1, i64 %n",
                "  ret i64 %result",
                exhausted + "}",
                '!0 = !{!"branch_weights", i32 1, i32 1000}',
            ]
        )

    def setup(self, family: str) -> list[str]:
        number = FAMILIES.index(family)
        lines = [
            f"  %at_{family} = alloca i64",
            f"  store i64 {BUFFER}, ptr %at_{family}",
            f"  %filled_{family} = alloca i64",
            f"  store i64 0, ptr %filled_{family}",
            f"  %buffer_{family} = getelementptr double, ptr %buffers, i64 {number * BUFFER}",
        ]
        for name, place in (("key", 2 * number), ("second", 2 * number + 1)):
            lines.append(f"  %{name}_at_{family} = getelementptr i64, ptr %keys, i64 {place}")
            lines.append(f"  %{name}_{family} = load i64, ptr %{name}_at_{family}")
        return lines


def refill(family: str, most: int) -> str:
    """Before a run: what is left in the buffer must do for the longest one."""
    return f"""  %place_{family} = load i64, ptr %at_{family}
  %short_{family} = icmp ugt i64 %place_{family}, {BUFFER - most}
  br i1 %short_{family}, label %refill_{family}, label %full_{family}, !prof !0
refill_{family}:
  %times_{family} = load i64, ptr %filled_{family}
  call void @fill_{family}(ptr %buffer_{family}, i64 %key_{family}, i64 %second_{family},
    i64 %times_{family})
  %again_{family} = add i64 %times_{family}, 1
  store i64 %again_{family}, ptr %filled_{family}
  store i64 0, ptr %at_{family}
  br label %full_{family}
full_{family}:"""


def _next_function(family: str) -> str:
    """Where a run has no most number of draws: each looks whether there is one left."""
    return f"""define internal ptr @next_{family}(ptr %at, ptr %filled, ptr %buffer,
    i64 %key, i64 %second) alwaysinline {{
  %place = load i64, ptr %at
  %empty = icmp eq i64 %place, {BUFFER}
  br i1 %empty, label %refill, label %go, !prof !0
refill:
  %times = load i64, ptr %filled
  call void @fill_{family}(ptr %buffer, i64 %key, i64 %second, i64 %times)
  %again = add i64 %times, 1
  store i64 %again, ptr %filled
  br label %go
go:
  %now = phi i64 [%place, %0], [0, %refill]
  %after = add i64 %now, 1
  store i64 %after, ptr %at
  %found = getelementptr inbounds double, ptr %buffer, i64 %now
  ret ptr %found
}}"""
