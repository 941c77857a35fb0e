"""Scores of outputs, added up in the loop that makes the runs: only three counts leave it.

A score is a sum: a weight for the code of the output, then a weight for the cell that each of some
numbers (or of differences of neighbouring ones) falls into. Sums are made in the order that is
given, so that a score here is the very number that the table's maker has for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.running.native.compiled import Compiled
from dpest.running.native.ir import FromBits, KnownNumber, Operand, Trap
from dpest.running.native.kernel import CoreKernel, KernelText, Program
from dpest.running.native.outputs import Ending, Pack, RealColumn
from dpest.running.native.signals import NotCompiled
from dpest.running.native.straight import StraightKernel, is_straight
from dpest.running.native.values import RunChoice, RunNumber


@dataclass(frozen=True)
class LineCells:
    """Cells of equal width on the line: a number v falls into cell ⌊(v - start)·scale + 1.5⌋.

    `weights` has a row of weights, one a cell; numbers beyond the ends fall into the outer ones.
    `rows` is the row that an output goes by, by its code. `absent` is the weight of an output that
    has no such number. `rank` counts the numbers of an output; with `difference` it is that number
    less the one before it.
    """

    rank: int
    difference: bool
    start: float
    scale: float
    weights: NDArray[np.float64]
    absent: float
    rows: NDArray[np.int64] | None = None

    @property
    def last(self) -> int:
        return self.weights.shape[1] - 1


@dataclass(frozen=True)
class ScoreRule:
    """Scores of outputs, and the two thresholds that runs are counted by.

    `sources[rank, code]` is the column of the output where the number of a rank stands, -1 where
    there is none; from the number of columns on, it is one of `constants`. `line`: 1 or -1 times
    the first number is added to the score, which every output must have.
    """

    by_code: NDArray[np.float64]
    cells: tuple[LineCells, ...]
    above: float
    below: float
    sources: NDArray[np.int64]
    constants: tuple[float, ...] = ()
    line: int = 0

    def table(self) -> NDArray[np.float64]:
        """All numbers of the rule, in the order that `places` says."""
        parts = [self.by_code, self.sources.ravel().astype(np.float64)]
        for cells in self.cells:
            rows = np.zeros(0) if cells.rows is None else cells.rows.astype(np.float64)
            parts += [rows, cells.weights.ravel()]
        return np.concatenate([*parts, [self.above, self.below]])

    @property
    def levels_at(self) -> int:
        """Where in the table the two thresholds stand: other ones need no other kernel."""
        sizes = (0 if cells.rows is None else len(cells.rows) for cells in self.cells)
        weights = sum(cells.weights.size for cells in self.cells)
        return len(self.by_code) + self.sources.size + sum(sizes) + weights

    def places(self) -> list[tuple[int, int]]:
        """Where in the table the rows and the weights of each of the cells begin."""
        at, found = len(self.by_code) + self.sources.size, []
        for cells in self.cells:
            rows = 0 if cells.rows is None else len(cells.rows)
            found.append((at, at + rows))
            at += rows + cells.weights.size
        return found


@dataclass(frozen=True)
class ScoreCounts:
    """Runs with a score above the one threshold, at it, and below the other."""

    size: int
    above: int
    equal: int
    below: int


def score_sum(text: KernelText, rule: ScoreRule, ending: Ending, leaves: Sequence[Any]) -> str:
    """Steps that compute the score of an output; `%table` holds the weights."""
    code = text.code(ending, leaves)
    score = _entry(text, code, 0)
    numbers = _NumbersOfOutput(text, rule, ending, leaves, code)
    if rule.line:
        value, _ = numbers.of(0)
        assert value is not None
        score = text.emit(f"{'fadd' if rule.line > 0 else 'fsub'} double {score}, {value}")
    for cells, (rows_at, weights_at) in zip(rule.cells, rule.places(), strict=True):
        value, missing = numbers.of(cells.rank)
        if cells.difference and value is not None:
            before, _ = numbers.of(cells.rank - 1)
            assert before is not None
            value = text.emit("fsub double {0}, {1}", value, before)
        weight = f"0x{_bits(cells.absent):016X}"
        if value is not None:
            row: Operand = KnownNumber("i", 0)
            if cells.rows is not None:
                row = text.emit("fptosi double {0} to i64", _entry(text, code, rows_at))
            found = _weight(text, cells, value, row, weights_at)
            if missing is not None:
                pick = f"select i1 {{0}}, double {weight}, double {{1}}"
                found = text.emit(pick, missing, found)
            weight = found
        score = text.emit(f"fadd double {score}, {weight}")
    return score


def _entry(text: KernelText, index: Operand, at: int) -> str:
    """A number of the table."""
    place = index = text.index(index)
    if at:
        place = text.emit("add nsw i64 {0}, {1}", index, KnownNumber("i", at))
    address = text.emit("getelementptr double, ptr %table, i64 {0}", place)
    return text.emit(f"load double, ptr {address}")


class _NumbersOfOutput:
    """The numbers of an output by rank: those of its columns, or as its code says."""

    def __init__(
        self,
        text: KernelText,
        rule: ScoreRule,
        ending: Ending,
        leaves: Sequence[Any],
        code: Operand,
    ) -> None:
        self.text, self.rule, self.code = text, rule, code
        self.columns = [_real_column(text, column, leaves) for column in ending.columns]
        own = rule.sources[:, ending.base : ending.base + ending.size]
        self.fixed = [int(row[0]) if np.all(row == row[0]) else None for row in own]
        self._known: dict[int, tuple[str | None, str | None]] = {}
        if any(source is None for source in self.fixed):
            for place, value in enumerate(self.columns):
                address = text.emit(f"getelementptr double, ptr %held, i64 {place}")
                text.do(f"store double {{0}}, ptr {address}", value)

    def of(self, rank: int) -> tuple[str | None, str | None]:
        """The number of a rank, and where it may be absent the truth that it is."""
        if rank not in self._known:
            self._known[rank] = self._found(rank)
        return self._known[rank]

    def _found(self, rank: int) -> tuple[str | None, str | None]:
        text = self.text
        if rank >= len(self.fixed):
            return None, None
        source = self.fixed[rank]
        if source is not None:
            if source < 0:
                return None, None
            if source >= text.program.layout.width:
                value = self.rule.constants[source - text.program.layout.width]
                return f"0x{_bits(value):016X}", None
            _trap_unusual(text, self.columns[source])
            return str(self.columns[source]), None
        at = len(self.rule.by_code) * (1 + rank)
        index = text.emit("fptosi double {0} to i64", _entry(text, self.code, at))
        missing = text.emit("icmp slt i64 {0}, 0", index)
        safe = text.emit("select i1 {0}, i64 0, i64 {1}", missing, index)
        address = text.emit("getelementptr double, ptr %held, i64 {0}", safe)
        loaded = text.emit(f"load double, ptr {address}")
        zero = f"double 0x{_bits(0.0):016X}"
        number = text.emit(f"select i1 {{0}}, {zero}, double {{1}}", missing, loaded)
        _trap_unusual(text, number)
        return number, missing


def _real_column(text: KernelText, column: RealColumn | Pack, leaves: Sequence[Any]) -> Operand:
    value = leaves[column.leaf] if isinstance(column, RealColumn) else None
    if isinstance(value, RunNumber) and value.kind == "f":
        return _real(text, value.register)
    if isinstance(value, RunChoice) and {o for o in value.options if isinstance(o, str)} == {"f"}:
        register = text.fresh()
        text.step(FromBits(register, value.payload))
        return _real(text, register)
    raise NotCompiled("scores of numbers other than reals")


def _bits(value: float) -> int:
    return int(np.float64(value).view(np.uint64))


def _real(text: KernelText, register: Operand) -> Operand:
    if text.real.name == "double":
        return register
    return text.emit("fpext {F} {0} to double", register)


def _trap_unusual(text: KernelText, number: Operand) -> None:
    """NaN and infinity have rules of their own, elsewhere."""
    size = text.emit("call double @llvm.fabs.f64(double {0})", number)
    usual = text.emit("fcmp olt double {0}, 0x7FF0000000000000", size)
    text.step(Trap(None, text.emit("xor i1 {0}, true", usual)))


def _weight(text: KernelText, cells: LineCells, number: str, row: Operand, at: int) -> str:
    start, scale = f"0x{_bits(cells.start):016X}", f"0x{_bits(cells.scale):016X}"
    place = text.emit(f"fsub double {{0}}, {start}", number)
    place = text.emit(f"fmul double {{0}}, {scale}", place)
    place = text.emit(f"fadd double {{0}}, 0x{_bits(1.5):016X}", place)
    last = f"0x{_bits(float(cells.last)):016X}"
    # NaN, which is trapped, must not become a place either.
    low = text.emit(f"fcmp ult double {{0}}, 0x{_bits(0.0):016X}", place)
    place = text.emit(f"select i1 {{0}}, double 0x{_bits(0.0):016X}, double {{1}}", low, place)
    high = text.emit(f"fcmp ogt double {{0}}, {last}", place)
    place = text.emit(f"select i1 {{0}}, double {last}, double {{1}}", high, place)
    cell: Operand = text.emit("fptosi double {0} to i64", place)
    if isinstance(row, str):
        begin = text.emit("mul nsw i64 {0}, {1}", row, KnownNumber("i", cells.last + 1))
        cell = text.emit("add nsw i64 {0}, {1}", cell, begin)
    return _entry(text, cell, at)


def count_score(text: KernelText, score: Operand) -> None:
    """Adds the run to the three counters."""
    for name, test, level in (
        ("above", "ogt", "%level_above"),
        ("equal", "oeq", "%level_above"),
        ("below", "olt", "%level_below"),
    ):
        hit = text.emit(f"fcmp {test} double {score}, {level}")
        one = text.emit("zext i1 {0} to i64", hit)
        old = text.emit(f"load i64, ptr %{name}")
        text.do(f"store i64 {{0}}, ptr %{name}", text.emit("add i64 {0}, {1}", old, one))


COUNTERS = ("above", "equal", "below")


def score_allocations(program: Program, rule: ScoreRule) -> list[str]:
    """What the steps above keep beside the slots of the blocks."""
    width = program.layout.width
    lines = [f"  %held = alloca [{max(width + len(rule.constants), 1)} x double]"]
    for place, value in enumerate(rule.constants):
        lines += [
            f"  %constant{place} = getelementptr double, ptr %held, i64 {width + place}",
            f"  store double 0x{_bits(value):016X}, ptr %constant{place}",
        ]
    for name in COUNTERS:
        lines += [f"  %{name} = alloca i64", f"  store i64 0, ptr %{name}"]
    for place, name in enumerate(("above", "below"), rule.levels_at):
        lines += [
            f"  %place_of_{name} = getelementptr double, ptr %table, i64 {place}",
            f"  %level_{name} = load double, ptr %place_of_{name}",
        ]
    return lines


class _CountsOfScores(KernelText):
    """A kernel whose `columns` is the table of weights, and whose `counts` are the three."""

    rule: ScoreRule

    def allocations(self) -> list[str]:
        return [*super().allocations(), *score_allocations(self.program, self.rule)]

    def with_counts(self, text: str) -> str:
        stores = ""
        for number, name in enumerate(COUNTERS):
            stores += (
                f"  %final_{name} = load i64, ptr %{name}\n"
                f"  %place_{name} = getelementptr i64, ptr %counts, i64 {number}\n"
                f"  store i64 %final_{name}, ptr %place_{name}\n"
            )
        text = text.replace("ptr noalias %columns", "ptr noalias readonly %table")
        return text.replace("end:\n", "end:\n" + stores, 1)


class ScoreKernel(_CountsOfScores, CoreKernel):
    """Scores where each way ends."""

    def __init__(self, program: Program, rule: ScoreRule) -> None:
        super().__init__(program, "score")
        self.rule = rule

    def sink(self, ending: Ending, leaves: Sequence[Any]) -> None:
        count_score(self, score_sum(self, self.rule, ending, leaves))

    def text(self) -> str:
        return self.with_counts(super().text())


class StraightScoreKernel(_CountsOfScores, StraightKernel):
    """Scores of runs without jumps: of the code, or one for each way to end."""

    def __init__(self, program: Program, rule: ScoreRule) -> None:
        super().__init__(program, "score")
        self.rule = rule
        self._of_code = not rule.cells and not rule.line
        self._scores: list[tuple[Operand | None, Operand]] = []

    def sink(self, ending: Ending, leaves: Sequence[Any]) -> None:
        super().sink(ending, leaves)
        if not self._of_code:
            self._scores.append((self.condition, score_sum(self, self.rule, ending, leaves)))

    def index(self, place: Operand) -> Operand:
        """On the way of another run an index may be anything."""
        if self.condition is None:
            return place
        return self.emit("select i1 {0}, i64 {1}, i64 0", self.condition, place)

    def finish(self) -> None:
        if self._of_code:
            self.condition = None
            score: Operand = _entry(self, self.selected_code(), 0)
        else:
            score = self.selected("double", self._scores)
        count_score(self, score)

    def text(self) -> str:
        return self.with_counts(super().text())


def score_kernel(program: Program, rule: ScoreRule) -> CoreKernel:
    """The faster of the kernels that count scores on a core."""
    return (StraightScoreKernel if is_straight(program) else ScoreKernel)(program, rule)


class CompiledScores:
    """Counts of scores of a compiled mechanism under one rule."""

    def __init__(self, compiled: Compiled, rule: ScoreRule) -> None:
        if len(rule.by_code) != compiled.layout.codes:
            raise NotCompiled("a score for other outputs")
        self.compiled = compiled
        self.rule = rule
        self._table = rule.table()
        self._kernel = compiled.linked(score_kernel(compiled.program, rule).text())

    def on(self, compiled: Compiled) -> CompiledScores:
        """The same scores on another input of the shape."""
        other = object.__new__(CompiledScores)
        other.__dict__.update(self.__dict__)
        other.compiled = compiled
        return other

    def counts(self, size: int, seed: np.random.SeedSequence) -> ScoreCounts:
        found = np.zeros(3, dtype=np.int64)
        places = (None, self._table.ctypes.data, 0, found.ctypes.data)
        self.compiled.launch(self._kernel, size, seed, *places)
        return ScoreCounts(size, *found.tolist())
