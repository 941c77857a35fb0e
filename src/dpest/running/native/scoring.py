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
from dpest.running.native.ir import Constant, Operand
from dpest.running.native.kernel import CoreKernel, KernelText, Program
from dpest.running.native.outputs import Ending, Real
from dpest.running.native.signals import NotCompiled
from dpest.running.native.values import Number


@dataclass(frozen=True)
class Cells:
    """Cells of equal width on the line: a number v falls into cell ⌊(v - start)·scale + 1.5⌋.

    `weights` has one weight a cell, numbers beyond the ends fall into the outer ones; `absent` is
    the weight of an output that has no such number. `rank` counts the numbers of an output; with
    `difference` it is that number less the one before it.
    """

    rank: int
    difference: bool
    start: float
    scale: float
    weights: NDArray[np.float64]
    absent: float


@dataclass(frozen=True)
class ScoreRule:
    """Scores of outputs, and the two thresholds that runs are counted by."""

    by_code: NDArray[np.float64]
    cells: tuple[Cells, ...]
    above: float
    below: float

    def table(self) -> NDArray[np.float64]:
        return np.concatenate([self.by_code, *(c.weights for c in self.cells), [0.0]])


@dataclass(frozen=True)
class ScoreCounts:
    """Runs with a score above the one threshold, at it, and below the other."""

    size: int
    above: int
    equal: int
    below: int


def score_sum(text: KernelText, rule: ScoreRule, ending: Ending, leaves: Sequence[Any]) -> str:
    """Steps that compute the score of an output; `%table` holds the weights."""
    place = text.emit("getelementptr double, ptr %table, i64 {0}", text.code(ending, leaves))
    score = text.emit(f"load double, ptr {place}")
    numbers: list[Operand] = []
    for column in ending.columns:
        value = leaves[column.leaf] if isinstance(column, Real) else None
        if not isinstance(value, Number) or value.kind != "f":
            raise NotCompiled("scores of numbers other than reals")
        numbers.append(_real(text, value.register))
    for number in numbers:
        _trap_unusual(text, number)
    at = len(rule.by_code)
    for cells in rule.cells:
        weight: Operand = Constant("f", cells.absent)
        if cells.rank < len(numbers):
            value_now = numbers[cells.rank]
            if cells.difference:
                before = numbers[cells.rank - 1]
                value_now = text.emit("fsub double {0}, {1}", value_now, before)
            weight = _weight(text, cells, value_now, at)
        wide = weight if isinstance(weight, str) else f"0x{_bits(cells.absent):016X}"
        score = text.emit(f"fadd double {score}, {wide}")
        at += len(cells.weights)
    return score


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
    old = text.emit("load i1, ptr %trap")
    unusual = text.emit("xor i1 {0}, true", usual)
    text.do("store i1 {0}, ptr %trap", text.emit("or i1 {0}, {1}", old, unusual))


def _weight(text: KernelText, cells: Cells, number: Operand, at: int) -> str:
    start, scale = f"0x{_bits(cells.start):016X}", f"0x{_bits(cells.scale):016X}"
    place = text.emit(f"fsub double {{0}}, {start}", number)
    place = text.emit(f"fmul double {{0}}, {scale}", place)
    place = text.emit(f"fadd double {{0}}, 0x{_bits(1.5):016X}", place)
    last = f"0x{_bits(len(cells.weights) - 1.0):016X}"
    low = text.emit(f"fcmp olt double {{0}}, 0x{_bits(0.0):016X}", place)
    place = text.emit(f"select i1 {{0}}, double 0x{_bits(0.0):016X}, double {{1}}", low, place)
    high = text.emit(f"fcmp ogt double {{0}}, {last}", place)
    place = text.emit(f"select i1 {{0}}, double {last}, double {{1}}", high, place)
    cell = text.emit("fptosi double {0} to i64", place)
    index = text.emit("add nsw i64 {0}, {1}", cell, Constant("i", at))
    return text.emit(
        f"load double, ptr {text.emit('getelementptr double, ptr %table, i64 {0}', index)}"
    )


def count_score(text: KernelText, rule: ScoreRule, score: str) -> None:
    """Adds the run to the three counters."""
    for name, test, level in (
        ("above", "ogt", rule.above),
        ("equal", "oeq", rule.above),
        ("below", "olt", rule.below),
    ):
        hit = text.emit(f"fcmp {test} double {score}, 0x{_bits(level):016X}")
        one = text.emit("zext i1 {0} to i64", hit)
        old = text.emit(f"load i64, ptr %{name}")
        text.do(f"store i64 {{0}}, ptr %{name}", text.emit("add i64 {0}, {1}", old, one))


COUNTERS = ("above", "equal", "below")


class ScoreKernel(CoreKernel):
    """A kernel whose `columns` is the table of weights, and whose `counts` are the three."""

    def __init__(self, program: Program, rule: ScoreRule) -> None:
        super().__init__(program, "score")
        self.rule = rule

    def sink(self, ending: Ending, leaves: Sequence[Any]) -> None:
        count_score(self, self.rule, score_sum(self, self.rule, ending, leaves))

    def allocations(self) -> list[str]:
        lines = super().allocations()
        for name in COUNTERS:
            lines += [f"  %{name} = alloca i64", f"  store i64 0, ptr %{name}"]
        return lines

    def text(self) -> str:
        stores = ""
        for number, name in enumerate(COUNTERS):
            stores += (
                f"  %final_{name} = load i64, ptr %{name}\n"
                f"  %place_{name} = getelementptr i64, ptr %counts, i64 {number}\n"
                f"  store i64 %final_{name}, ptr %place_{name}\n"
            )
        text = super().text().replace("ptr noalias %columns", "ptr noalias readonly %table")
        return text.replace("end:\n", "end:\n" + stores, 1)


class Scored:
    """Counts of scores of a compiled mechanism under one rule."""

    def __init__(self, compiled: Compiled, rule: ScoreRule) -> None:
        if len(rule.by_code) != compiled.layout.codes:
            raise NotCompiled("a score for other outputs")
        self.compiled = compiled
        self.rule = rule
        self._table = rule.table()
        self._kernel = compiled._linked(ScoreKernel(compiled.program, rule).text(), 7)

    def on(self, compiled: Compiled) -> Scored:
        """The same scores on another input of the shape."""
        other = object.__new__(Scored)
        other.__dict__.update(self.__dict__)
        other.compiled = compiled
        return other

    def counts(self, size: int, seed: np.random.SeedSequence) -> ScoreCounts:
        found = np.zeros(3, dtype=np.int64)
        places = (None, self._table.ctypes.data, 0, found.ctypes.data)
        self.compiled.launch(self._kernel, size, seed, *places)
        return ScoreCounts(size, *found.tolist())
