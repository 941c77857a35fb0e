"""The same blocks for a GPU: PTX text, made on any machine.

A thread makes run after run; draw k of run r is a function of a key, r and k, so that counts don't
depend on how runs are spread over threads or launches. Counts are kept in the shared memory of a
thread block, in as many copies as fit (neighbouring threads then seldom meet at one counter), and
added up in the end; where outputs are too many for that they are counted in the card's memory.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from dpest.running.native import jit
from dpest.running.native.ir import DOUBLE, CodeLine, DrawStep, RealType, UpperHalf
from dpest.running.native.kernel import KernelText, Program
from dpest.running.native.outputs import Ending
from dpest.running.native.scoring import (
    COUNTERS,
    ScoreRule,
    count_score,
    score_allocations,
    score_sum,
)
from dpest.running.native.signals import NotCompiled
from dpest.running.native.streams import FAMILIES, DrawText, declarations

#: Bytes of shared memory that the counts of a thread block take at most.
_SHARED = 32 * 1024
_LANES = 32
#: Draws that a run may make where loops have no bound; more are trapped.
_MOST_DRAWS = 1 << 12
# What the card has no instruction for, and this module no text.
_MISSING = ("@llvm.pow.", "@llvm.sin.", "@llvm.cos.", "@llvm.log2.", "frem ")
_MISSING_LIBRARY = ("@log1p(", "@expm1(", "@tanh(", "@log10(", "@atan(", "@erf(")
_REGISTERS = "\n".join(
    f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}.x()"
    for name in ("tid", "ctaid", "ntid", "nctaid")
)
_INTRINSICS = """
declare void @llvm.nvvm.barrier0()
declare i64 @llvm.nvvm.mulhi.ull(i64, i64)
declare float @llvm.nvvm.lg2.approx.f(float)
declare float @llvm.nvvm.ex2.approx.f(float)
declare float @llvm.nvvm.sqrt.approx.f(float)
declare float @llvm.nvvm.cos.approx.f(float)
"""


class SingleDrawText(DrawText):
    """Draws in single precision, by the card's own approximations (2^-22 of their size)."""

    def constant(self, value: float) -> str:
        return self.real.constant(value)

    def upper(self, word: str) -> str:
        return self(f"trunc i64 {self(f'lshr i64 {word}, 32')} to i32")

    def unit(self, word: str) -> str:
        """[0, 1) in steps of 2^-24."""
        whole = self(f"uitofp i64 {self(f'lshr i64 {word}, 40')} to float")
        return self(f"fmul float {whole}, {self.constant(2.0**-24)}")

    def open_unit(self, word: str) -> str:
        """Near 0 in steps of 2^-32, so that tails reach as far as 32 bits allow."""
        whole = self(f"uitofp i32 {self.upper(word)} to float")
        scaled = self(f"fmul float {whole}, {self.constant(2.0**-32)}")
        middle = self(f"fadd float {scaled}, {self.constant(2.0**-33)}")
        most = self.constant(1.0 - 2.0**-24)
        over = self(f"fcmp ogt float {middle}, {most}")  # rounded up to 1
        return self(f"select i1 {over}, float {most}, float {middle}")

    def minus_log(self, u: str) -> str:
        binary = self(f"call float @llvm.nvvm.lg2.approx.f(float {u})")
        return self(f"fmul float {binary}, {self.constant(-0.6931471805599453)}")

    def signed(self, value: str, word: str) -> str:
        bits = self(f"bitcast float {value} to i32")
        low = self(f"trunc i64 {word} to i32")
        flipped = self(f"xor i32 {bits}, {self(f'shl i32 {low}, 31')}")
        return self(f"bitcast i32 {flipped} to float")

    def normals(self, first: str, second: str) -> tuple[str, str]:
        twice = self(f"fmul float {self.minus_log(self.open_unit(first))}, {self.constant(2.0)}")
        radius = self(f"call float @llvm.nvvm.sqrt.approx.f(float {twice})")
        angle = self(f"fmul float {self.unit(second)}, {self.constant(6.283185307179586)}")
        cosine = self(f"call float @llvm.nvvm.cos.approx.f(float {angle})")
        value = self(f"fmul float {radius}, {cosine}")
        return value, value

    def exponential(self, x: str) -> str:
        binary = self(f"fmul float {x}, {self.constant(1.4426950408889634)}")
        return self(f"call float @llvm.nvvm.ex2.approx.f(float {binary})")


def _draw_function(family: str, real: RealType) -> str:
    """`draw_family(key, second, counter)`."""
    text = DrawText(real) if real is DOUBLE else SingleDrawText(real)
    if family == "normal":
        even = text("shl i64 %counter, 1")
        words = [text.word("%key", "%second", w) for w in (even, text(f"or i64 {even}, 1"))]
        found = text.normals(*words)[0]
    else:
        word = text.word("%key", "%second", "%counter")
        found = word if family == "bits" else text.draws(family, [word])[0]
    kind = "i64" if family == "bits" else real.name
    body = "\n".join(text.lines)
    return (
        f"define internal {kind} @draw_{family}(i64 %key, i64 %second, i64 %counter) "
        f"alwaysinline {{\n{body}\n  ret {kind} {found}\n}}"
    )


def _function(name: str, real: RealType) -> str:
    """`dpest_log(x)` of a positive x, and `dpest_exp(x)` of an x below 709."""
    text = DrawText(real) if real is DOUBLE else SingleDrawText(real)
    if name == "log":
        found = text(f"fneg {real.name} {text.minus_log('%x')}")
    else:
        found = text.exponential("%x")
    body = "\n".join(text.lines)
    return (
        f"define internal {real.name} @dpest_{name}({real.name} %x) alwaysinline "
        f"{{\n{body}\n  ret {real.name} {found}\n}}"
    )


class GpuKernel(KernelText):
    """`kernel(first, n, keys, data, table, counts, status)`: runs `first` to before first + n.

    Adds to `counts`: one counter a code, or three with a rule of scores. `status` becomes 1 where a
    run left what its types hold; the counts are not to be used then.
    """

    def __init__(
        self, program: Program, real: RealType = DOUBLE, rule: ScoreRule | None = None
    ) -> None:
        super().__init__(program, real)
        if rule is None and not program.layout.countable:
            raise NotCompiled("the outputs are not discrete, or too many")
        self.rule = rule
        self.counters = len(COUNTERS) if rule is not None else program.layout.codes
        self.copies = 0
        if rule is None:
            while self.copies < _LANES and 4 * self.counters * max(2 * self.copies, 1) <= _SHARED:
                self.copies = max(2 * self.copies, 1)
        most = program.most_draws
        total = _MOST_DRAWS if most is None else max(sum(most.values()), 1)
        self.draws = 1 << (total - 1).bit_length()

    def step(self, step: Any) -> None:
        if isinstance(step, CodeLine):
            if any(name in step.form for name in (*_MISSING, *_MISSING_LIBRARY)):
                raise NotCompiled("a function that a GPU has no instruction for")
            if "@llvm.log." in step.form:
                x = step.operands[0]
                zero = self.real.constant(0.0)
                positive = self.emit(f"fcmp ogt {{F}} {{0}}, {zero}", x)
                self._trap_unless(positive)
                step = CodeLine(step.result, "call {F} @dpest_log({F} {0})", step.operands)
            elif "@llvm.exp." in step.form:
                most = self.real.constant(709.0 if self.real is DOUBLE else 88.0)
                self._trap_unless(self.emit(f"fcmp ole {{F}} {{0}}, {most}", step.operands[0]))
                step = CodeLine(step.result, "call {F} @dpest_exp({F} {0})", step.operands)
        super().step(step)

    def _trap_unless(self, condition: str) -> None:
        bad = self.emit(f"xor i1 {condition}, true")
        old = self.emit("load i1, ptr %trap")
        self.do(f"store i1 {self.emit(f'or i1 {old}, {bad}')}, ptr %trap")

    def draw(self, step: DrawStep) -> None:
        kind = "i64" if step.family == "bits" else self.real.name
        at = self.emit("load i64, ptr %drawn")
        self.do(f"store i64 {self.emit(f'add i64 {at}, 1')}, ptr %drawn")
        if self.program.most_draws is None:
            used = self.emit(f"sub i64 {at}, %base")
            self._trap_unless(self.emit(f"icmp ult i64 {used}, {self.draws}"))
        self.lines.append(
            f"  {step.result} = call {kind} @draw_{step.family}(i64 %key_{step.family}, "
            f"i64 %second_{step.family}, i64 {at})"
        )

    def upper_half(self, step: UpperHalf) -> None:
        first, second = self.real.operand(step.first), self.real.operand(step.second)
        self.lines.append(
            f"  {step.result} = call i64 @llvm.nvvm.mulhi.ull(i64 {first}, i64 {second})"
        )

    def sink(self, ending: Ending, leaves: Sequence[Any]) -> None:
        if self.rule is not None:
            count_score(self, score_sum(self, self.rule, ending, leaves))
            return
        code = self.code(ending, leaves)
        if self.copies:
            index = self.emit("mul nsw i64 {0}, " + str(self.copies), code)
            index = self.emit("add nsw i64 {0}, %copy", index)
            place = self.emit("getelementptr i32, ptr addrspace(3) @bins, i64 {0}", index)
            self.emit(f"atomicrmw add ptr addrspace(3) {place}, i32 1 monotonic")
        else:
            place = self.emit("getelementptr i64, ptr addrspace(1) %total, i64 {0}", code)
            self.emit(f"atomicrmw add ptr addrspace(1) {place}, i64 1 monotonic")

    def allocations(self) -> list[str]:
        own = score_allocations(self.program, self.rule) if self.rule is not None else []
        return [*super().allocations(), *own]

    def text(self) -> str:
        body, start = self.body(), self.start()
        keys = []
        for family in self.program.families:
            for name, place in (("key", 0), ("second", 1)):
                number = 2 * FAMILIES.index(family) + place
                keys += [
                    f"  %{name}_at_{family} = getelementptr i64, ptr %keys, i64 {number}",
                    f"  %{name}_{family} = load i64, ptr %{name}_at_{family}",
                ]
        size = self.counters * self.copies
        bins = f"@bins = internal addrspace(3) global [{size} x i32] undef, align 4"
        loose = "exhausted:\n  store i1 true, ptr %trap\n  br label %end"
        return "\n".join(
            [
                declarations(self.real) + declarations_of_doubles(self.real),
                _REGISTERS + _INTRINSICS,
                bins if self.copies else "",
                *(_draw_function(family, self.real) for family in self.program.families),
                _function("log", self.real),
                _function("exp", self.real),
                "define ptx_kernel void @kernel(i64 %first, i64 %n, ptr noalias readonly %keys, "
                "ptr noalias readonly %data, ptr noalias readonly %table, ptr noalias %counts, "
                "ptr noalias %status) {",
                "entry:",
                _THREAD,
                *self.loads(),
                *keys,
                *self.allocations(),
                "  %run_at = alloca i64",
                "  store i64 %me, ptr %run_at",
                "  %drawn = alloca i64",
                *([_zeroed(size, self.copies)] if self.copies else ["  br label %begin", "begin:"]),
                "  %none = icmp uge i64 %me, %n",
                "  br i1 %none, label %end, label %head",
                "head:",
                "  %run = load i64, ptr %run_at",
                "  %global_run = add i64 %run, %first",
                f"  %base = mul i64 %global_run, {self.draws}",
                "  store i64 %base, ptr %drawn",
                start,
                body,
                "next:",
                "  %after = add nuw nsw i64 %run, %all",
                "  store i64 %after, ptr %run_at",
                "  %more = icmp ult i64 %after, %n",
                "  br i1 %more, label %head, label %end",
                loose if self.program.most_draws is None else "",
                "end:",
                self._finish(size),
                "}",
            ]
        )

    def _finish(self, size: int) -> str:
        lines = [
            "  %trapped = load i1, ptr %trap",
            "  br i1 %trapped, label %mark, label %good",
            "mark:",
            "  %old_status = atomicrmw or ptr addrspace(1) %flag, i64 1 monotonic",
            "  br label %good",
            "good:",
        ]
        if self.rule is not None:
            for number, name in enumerate(COUNTERS):
                lines += [
                    f"  %final_{name} = load i64, ptr %{name}",
                    f"  %place_{name} = getelementptr i64, ptr addrspace(1) %total, i64 {number}",
                    f"  %old_{name} = atomicrmw add ptr addrspace(1) %place_{name}, "
                    f"i64 %final_{name} monotonic",
                ]
        if self.copies:
            lines.append(_flushed(size, self.copies))
        return "\n".join([*lines, "  ret void"])


def declarations_of_doubles(real: RealType) -> str:
    """Scores are doubles whatever the reals are."""
    return "" if real is DOUBLE else "declare double @llvm.fabs.f64(double)\n"


_THREAD = """  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %block_size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %blocks = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %before = mul i32 %block, %block_size
  %number = add i32 %before, %tid
  %me = zext i32 %number to i64
  %threads = mul i32 %block_size, %blocks
  %all = zext i32 %threads to i64
  %tid_wide = zext i32 %tid to i64
  %step = zext i32 %block_size to i64
  %total = addrspacecast ptr %counts to ptr addrspace(1)
  %flag = addrspacecast ptr %status to ptr addrspace(1)"""


def _zeroed(size: int, copies: int) -> str:
    return f"""  %copy = and i64 %tid_wide, {copies - 1}
  %any_zero = icmp ult i64 %tid_wide, {size}
  br i1 %any_zero, label %zero, label %zeroed
zero:
  %z = phi i64 [%tid_wide, %entry], [%z_next, %zero]
  %z_place = getelementptr i32, ptr addrspace(3) @bins, i64 %z
  store i32 0, ptr addrspace(3) %z_place
  %z_next = add i64 %z, %step
  %z_more = icmp ult i64 %z_next, {size}
  br i1 %z_more, label %zero, label %zeroed
zeroed:
  call void @llvm.nvvm.barrier0()
  br label %begin
begin:"""


def _flushed(size: int, copies: int) -> str:
    """The counts of the thread block, added to the card's."""
    return f"""  call void @llvm.nvvm.barrier0()
  %any_left = icmp ult i64 %tid_wide, {size}
  br i1 %any_left, label %flush, label %flushed
flush:
  %f = phi i64 [%tid_wide, %good], [%f_next, %flush_next]
  %f_place = getelementptr i32, ptr addrspace(3) @bins, i64 %f
  %f_count = load i32, ptr addrspace(3) %f_place
  %f_none = icmp eq i32 %f_count, 0
  br i1 %f_none, label %flush_next, label %flush_add
flush_add:
  %f_wide = zext i32 %f_count to i64
  %f_code = udiv i64 %f, {copies}
  %f_total = getelementptr i64, ptr addrspace(1) %total, i64 %f_code
  %f_old = atomicrmw add ptr addrspace(1) %f_total, i64 %f_wide monotonic
  br label %flush_next
flush_next:
  %f_next = add i64 %f, %step
  %f_more = icmp ult i64 %f_next, {size}
  br i1 %f_more, label %flush, label %flushed
flushed:"""


@functools.cache
def _machine(chip: str) -> Any:
    llvm = jit._binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    return target.create_target_machine(cpu=chip, opt=3)


def ptx(
    program: Program, real: RealType = DOUBLE, rule: ScoreRule | None = None, chip: str = "sm_90"
) -> str:
    """The kernel of a program as PTX, for a card of this kind or a later one."""
    machine = _machine(chip)
    text = GpuKernel(program, real, rule).text()
    assembly: str = machine.emit_assembly(jit.optimised(text, machine))
    return assembly
