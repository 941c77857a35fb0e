"""Runs without jumps: decisions become selections, so that vector units take many runs at once.

Where all ways through a program make the same draws, and doing what each of them does costs little
more than the longest, every step is made in every run, and the way that a run goes decides which
values count. The loop over the runs of a buffer then has no branch, whose outcome no processor
could foresee, and a compiler can make it one of vectors. Few codes are counted by comparing whole
vectors of them.

A value of a way that the run does not go may be anything (LLVM: poison). It ends in a selection
that leaves it out, so what could do harm by being computed alone (a division of integers) is not
made on the way of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpest.running.native.ir import CodeLine, DrawStep, KnownNumber, Operand, Trap, UpperHalf
from dpest.running.native.kernel import HEADER, CoreKernel, Program, refill
from dpest.running.native.outputs import Ending
from dpest.running.native.specialising.specialiser import StateBlock
from dpest.running.native.specialising.state import BlockEdge, Branch
from dpest.running.native.streams import BUFFER, declarations

#: What a step costs, about, as a number of additions; one that is not listed costs 1.
_COSTS = {"call": 15, "fdiv": 5, "frem": 30, "sdiv": 20, "srem": 20}
#: All ways together may cost so much more than the longest one: a wrong guess costs about 40.
_MOST_EXTRA = 40
_MOST_COST = 4000
#: Runs of one turn must be many enough to pay for its beginning.
_LEAST_RUNS = 16
#: Codes up to here are counted by comparing; more in a table.
_FEW_CODES = 64
_LANES = 64
#: Steps that must not be made on the way of another run.
_HARMFUL = ("sdiv", "srem")


def core_kernel(program: Program, sink: str) -> CoreKernel:
    """The faster of the kernels that a program can have on a core."""
    return StraightKernel(program, sink) if is_straight(program) else CoreKernel(program, sink)


def is_straight(program: Program) -> bool:
    """Whether runs are better made without jumps."""
    if program.order is None or program.most_draws is None:
        return False
    if max(program.most_draws.values(), default=0) > BUFFER // _LEAST_RUNS:
        return False
    return _same_draws(program) and _cheap(program) and _harmless(program)


def runs_of_a_turn(program: Program) -> int:
    """As many runs as a full buffer has draws for; draw j of all of them comes before draw j+1."""
    assert program.most_draws is not None
    runs = BUFFER // max([1, *program.most_draws.values()])
    return runs - runs % _LEAST_RUNS


def _same_draws(program: Program) -> bool:
    """Whether a block has the same draws behind it, whichever way a run came there."""
    assert program.order is not None
    before: dict[Any, dict[str, int]] = {program.order[0]: {}}
    end_of_all: dict[str, int] | None = None
    for shape in program.order:
        for made, end in program.exits[shape]:
            draws = dict(before[shape])
            for family, count in made.items():
                draws[family] = draws.get(family, 0) + count
            if isinstance(end, BlockEdge):
                if before.setdefault(end.shape, draws) != draws:
                    return False
            elif end_of_all is None:
                end_of_all = draws
            elif draws != end_of_all:
                return False
    return True


def _operation(step: Any) -> str:
    return step.form.split(maxsplit=1)[0] if isinstance(step, CodeLine) else ""


def _cost(steps: Sequence[Any]) -> int:
    return sum(_COSTS.get(_operation(step), 1) for step in steps)


def _cheap(program: Program) -> bool:
    """Whether all ways together cost little more than the longest one."""
    assert program.order is not None
    total, longest = 0, dict.fromkeys(program.order, 0)
    end_of_all = 0
    for shape in program.order:
        block = program.blocks[shape]
        at = {block.segments[0].label: longest[shape]}
        for segment in block.segments:
            cost = _cost(segment.steps)
            total += cost
            here = at[segment.label] + cost
            end_of_all = max(end_of_all, here)
            if isinstance(segment.end, Branch):
                at |= {label: here for _, label in segment.end.ways}
            elif isinstance(segment.end, BlockEdge):
                longest[segment.end.shape] = max(longest[segment.end.shape], here)
    return total <= min(_MOST_COST, 1.25 * end_of_all + _MOST_EXTRA)


def _harmless(program: Program) -> bool:
    return all(
        _operation(step) not in _HARMFUL
        for block in program.blocks.values()
        for segment in block.segments
        for step in segment.steps
    )


class StraightKernel(CoreKernel):
    """`CoreKernel` with all ways in one: the same arguments, the same draws, the same results."""

    def __init__(self, program: Program, sink: str) -> None:
        super().__init__(program, sink)
        self.turn = runs_of_a_turn(program)
        self._drawn = dict.fromkeys(program.families, 0)
        self.condition: Operand | None = None  # of the segment at hand; None: always
        self._shares: dict[Any, Fraction] = {}
        self._edges: dict[Any, list[tuple[Operand | None, list[tuple[str, str, Operand]]]]] = {}
        self.outputs: list[tuple[Operand | None, Ending, Sequence[Any]]] = []
        """The ways to end: their conditions, and what leaves there."""
        self._traps: list[Operand] = []

    # Draws

    def draw(self, step: DrawStep) -> None:
        """Neighbouring runs have neighbouring draws."""
        family, begin = step.family, KnownNumber("i", self._drawn[step.family] * self.turn)
        self._drawn[family] += 1
        at = self.emit("add nuw nsw i64 {0}, %i", begin)
        place = self.emit(f"getelementptr inbounds double, ptr %from_{family}, i64 {{0}}", at)
        kind = "i64" if family == "bits" else "double"
        self.lines.append(f"  {step.result} = load {kind}, ptr {place}")

    def upper_half(self, step: UpperHalf) -> None:
        """With a factor below 2^32, in steps that vector units have."""
        word, factor = step.first, step.second
        if not isinstance(factor, KnownNumber) or not 0 <= int(factor.value) < 1 << 32:
            super().upper_half(step)
            return
        low = self.emit("and i64 {0}, 4294967295", word)
        low = self.emit("lshr i64 {0}, 32", self.emit("mul nuw i64 {0}, {1}", low, factor))
        high = self.emit("mul nuw i64 {0}, {1}", self.emit("lshr i64 {0}, 32", word), factor)
        total = self.emit("add nuw i64 {0}, {1}", high, low)
        self.lines.append(f"  {step.result} = lshr i64 {total}, 32")

    # Ways

    def step(self, step: Any) -> None:
        if isinstance(step, Trap):
            self._traps.append(self._both(self.condition, step.operand))
        else:
            super().step(step)

    def _count_trapped(self) -> None:
        """A sum over runs: that is what vectors can keep."""
        if not self._traps:
            return
        some: Operand = self._traps[0]
        for other in self._traps[1:]:
            some = self.emit("or i1 {0}, {1}", some, other)
        one = self.emit("zext i1 {0} to i64", some)
        total = self.emit("add i64 {0}, {1}", self.emit("load i64, ptr %trapped_at"), one)
        self.do("store i64 {0}, ptr %trapped_at", total)

    def allocations(self) -> list[str]:
        return [
            *super().allocations(),
            "  %trapped_at = alloca i64",
            "  store i64 0, ptr %trapped_at",
        ]

    def _both(self, condition: Operand | None, other: Operand) -> Operand:
        """Where the condition fails the other may be anything."""
        if condition is None:
            return other
        return self.emit("select i1 {0}, i1 {1}, i1 false", condition, other)

    def _either(self, conditions: Sequence[Operand | None]) -> Operand | None:
        found = conditions[0]
        for condition in conditions[1:]:
            assert found is not None
            assert condition is not None
            found = self.emit("or i1 {0}, {1}", found, condition)
        return found

    def selected(self, kind: str, values: Sequence[tuple[Operand | None, Operand]]) -> Operand:
        """The value whose condition holds."""
        found = values[0][1]
        for condition, value in values[1:]:
            assert condition is not None
            form = f"select i1 {{0}}, {kind} {{1}}, {kind} {{2}}"
            found = self.emit(form, condition, value, found)
        return found

    def body(self) -> str:
        self.lines = []
        order = self.program.order
        assert order is not None
        self._shares = dict.fromkeys(order, Fraction(0)) | {order[0]: Fraction(1)}
        made = dict.fromkeys(order, dict.fromkeys(self.program.families, 0))
        for number, shape in enumerate(order):
            block = self.program.blocks[shape]
            condition = self._entered(block, shape) if number else None
            self._make(block, condition, self._shares[shape], made, shape)
        self.finish()
        self._count_trapped()
        return "\n".join(self.lines)

    def _entered(self, block: StateBlock, shape: Any) -> Operand | None:
        """What a block is given, by the way that the run came; its condition."""
        edges = self._edges[shape]
        for place, (kind, pointer, _) in enumerate(edges[0][1]):
            value = self.selected(kind, [(way, values[place][2]) for way, values in edges])
            self.do(f"store {kind} {{0}}, ptr {pointer}", value)
        if self._shares[shape] == 1:  # every way leads here
            return None
        return self._either([way for way, _ in edges])

    def _make(
        self,
        block: StateBlock,
        condition: Operand | None,
        share: Fraction,
        made: dict[Any, dict[str, int]],
        shape: Any,
    ) -> None:
        conditions = {block.segments[0].label: (condition, share, made[shape])}
        for segment in block.segments:
            self.condition, part, drawn = conditions[segment.label]
            self._drawn = dict(drawn)
            for step in segment.steps:
                self.step(step)
            end = segment.end
            if isinstance(end, Branch):
                for way, label in end.ways:
                    taken = self._taken(end, way)
                    conditions[label] = (
                        self._both(self.condition, taken),
                        part / len(end.ways),
                        self._drawn,
                    )
            elif isinstance(end, BlockEdge):
                values = list(self.slot_values(self.program.blocks[end.shape], end.leaves))
                self._edges.setdefault(end.shape, []).append((self.condition, values))
                self._shares[end.shape] += part
                made[end.shape] = self._drawn
            else:
                self.sink(self.program.layout.endings[end.key], end.leaves)

    def _taken(self, end: Branch, way: int) -> Operand:
        if end.kind != "i1":
            return self.emit("icmp eq i64 {0}, {1}", end.register, KnownNumber("i", way))
        return end.register if way else self.emit("xor i1 {0}, true", end.register)

    # Outputs

    def sink(self, ending: Ending, leaves: Sequence[Any]) -> None:
        self.outputs.append((self.condition, ending, leaves))

    def selected_code(self) -> Operand:
        """The code of the way that the run went."""
        return self.selected("i64", [(c, self.code(e, leaves)) for c, e, leaves in self.outputs])

    def selected_columns(self) -> list[Operand]:
        found = [(c, self.column_bits(e, leaves)) for c, e, leaves in self.outputs]
        return [
            self.selected("i64", [(c, bits[k]) for c, bits in found if k < len(bits)])
            for k in range(self.program.layout.width)
        ]

    def finish(self) -> None:
        """What is made of the output of a run."""
        if self.sink_kind == "counts":
            self.store_code(self.selected_code(), "%chunk", "%i")
        else:
            self.store_code(self.selected_code(), "%codes", "%run")
            self.store_columns(self.selected_columns())

    # The loop

    def text(self) -> str:
        self.lines = []
        self.store_slots(self.program.start, self.program.specialiser.start_leaves)
        start = "\n".join(self.lines)
        body = self.body()
        families = self.program.families
        declared = [
            f"declare void @fill_{family}(ptr noalias, i64, i64, i64)" for family in families
        ]
        return "\n".join(
            [
                declarations(self.real),
                "declare i64 @llvm.ctpop.i64(i64)",
                "declare i64 @llvm.umin.i64(i64, i64)",
                *declared,
                HEADER,
                "entry:",
                *self.loads(),
                *(line for family in families for line in self.setup(family)),
                *self.allocations(),
                "  %run_at = alloca i64",
                "  store i64 0, ptr %run_at",
                f"  %chunk = alloca [{self.turn + _LANES} x {self.code_kind}]",
                "  %none = icmp eq i64 %n, 0",
                "  br i1 %none, label %end, label %head",
                "head:",
                *(refill(family, self._drawn_in_a_turn(family)) for family in families),
                *self._turn(),
                "  br label %runs",
                "runs:",
                "  %i = phi i64 [0, %turn], [%i_after, %runs]",
                "  %run = add nuw nsw i64 %first, %i",
                start,
                body,
                "  %i_after = add nuw nsw i64 %i, 1",
                "  %i_more = icmp ult i64 %i_after, %size",
                "  br i1 %i_more, label %runs, label %made",
                "made:",
                *(self._count() if self.sink_kind == "counts" else ["  br label %next"]),
                "next:",
                "  %after = add nuw nsw i64 %first, %size",
                "  store i64 %after, ptr %run_at",
                "  %more = icmp ult i64 %after, %n",
                "  br i1 %more, label %head, label %end",
                "end:",
                "  %trapped_runs = load i64, ptr %trapped_at",
                "  %trapped = icmp ne i64 %trapped_runs, 0",
                "  %result = select i1 %trapped, i64 -1, i64 %n",
                "  ret i64 %result",
                "}",
                '!0 = !{!"branch_weights", i32 1, i32 1000}',
            ]
        )

    def _drawn_in_a_turn(self, family: str) -> int:
        assert self.program.most_draws is not None
        return self.program.most_draws[family] * self.turn

    def _turn(self) -> list[str]:
        """The runs of a turn, and where its draws begin."""
        lines = [
            "  br label %turn",
            "turn:",
            "  %first = load i64, ptr %run_at",
            "  %left = sub i64 %n, %first",
            f"  %size = call i64 @llvm.umin.i64(i64 %left, i64 {self.turn})",
        ]
        for family in self.program.families:
            lines += [
                f"  %now_{family} = load i64, ptr %at_{family}",
                f"  %from_{family} = getelementptr inbounds double, ptr %buffer_{family}, "
                f"i64 %now_{family}",
                f"  %then_{family} = add i64 %now_{family}, {self._drawn_in_a_turn(family)}",
                f"  store i64 %then_{family}, ptr %at_{family}",
            ]
        return lines

    def _count(self) -> list[str]:
        codes = self.program.layout.codes
        if codes == 1:
            return [
                "  %old = load i64, ptr %counts",
                "  %new = add i64 %old, %size",
                "  store i64 %new, ptr %counts",
                "  br label %next",
            ]
        return self._compared(codes) if codes <= _FEW_CODES else self._tabled()

    def _compared(self, codes: int) -> list[str]:
        """Each code against vectors of the runs' codes; what is beyond the last run fits none."""
        vector = f"<{_LANES} x i8>"
        head, body, tail = [], [], []
        for k in range(codes):
            head.append(f"  %count{k} = phi i64 [0, %made], [%count_after{k}, %counting]")
            body += [
                f"  %equal{k} = icmp eq {vector} %held, splat (i8 {k})",
                f"  %mask{k} = bitcast <{_LANES} x i1> %equal{k} to i64",
                f"  %ones{k} = call i64 @llvm.ctpop.i64(i64 %mask{k})",
                f"  %count_after{k} = add i64 %count{k}, %ones{k}",
            ]
            tail += [
                f"  %counter{k} = getelementptr i64, ptr %counts, i64 {k}",
                f"  %old{k} = load i64, ptr %counter{k}",
                f"  %new{k} = add i64 %old{k}, %count_after{k}",
                f"  store i64 %new{k}, ptr %counter{k}",
            ]
        return [
            "  %beyond = getelementptr i8, ptr %chunk, i64 %size",
            f"  store {vector} splat (i8 -1), ptr %beyond, align 1",
            "  br label %counting",
            "counting:",
            "  %j = phi i64 [0, %made], [%j_after, %counting]",
            *head,
            "  %held_at = getelementptr i8, ptr %chunk, i64 %j",
            f"  %held = load {vector}, ptr %held_at, align 1",
            *body,
            f"  %j_after = add nuw nsw i64 %j, {_LANES}",
            "  %j_more = icmp ult i64 %j_after, %size",
            "  br i1 %j_more, label %counting, label %counted",
            "counted:",
            *tail,
            "  br label %next",
        ]

    def _tabled(self) -> list[str]:
        kind = self.code_kind
        wide = "%held" if kind == "i64" else f"zext {kind} %held to i64"
        return [
            "  br label %counting",
            "counting:",
            "  %j = phi i64 [0, %made], [%j_after, %counting]",
            f"  %held_at = getelementptr {kind}, ptr %chunk, i64 %j",
            f"  %held = load {kind}, ptr %held_at",
            f"  %code = {wide}" if kind != "i64" else "  %code = add i64 %held, 0",
            "  %counter = getelementptr i64, ptr %counts, i64 %code",
            "  %old = load i64, ptr %counter",
            "  %new = add i64 %old, 1",
            "  store i64 %new, ptr %counter",
            "  %j_after = add nuw nsw i64 %j, 1",
            "  %j_more = icmp ult i64 %j_after, %size",
            "  br i1 %j_more, label %counting, label %next",
        ]
