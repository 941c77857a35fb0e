"""Regions that differ in the names of their symbols alone are one question, answered once.

Which of twenty candidates wins gives twenty regions, and one of them is enough. Symbols are told
apart by what they do (the rows they are in, and with whom) and named in the order in which they
are met. Regions with the same key are the same up to names, by construction; two that are the same
may get different keys, which costs time and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from dpest.geometry.linear import Symbol
from dpest.proofs.alignments.alignment import (
    KINDS,
    AlignedNoise,
    Alignment,
    Face,
    PointCost,
    Problem,
    cost_at,
)

_ROUNDS = 2

V = TypeVar("V")


@dataclass(frozen=True)
class UnnamedProblem:
    """A question without names: the symbols that its numbers stand for, and its rows in order."""

    key: Any
    symbols: tuple[Symbol, ...]
    rows: tuple[int, ...]
    """The places of the rows among `keep` and then `pin`, in the order of the key."""


Ratio = tuple[int, int]
Row = tuple[int, Ratio, list[tuple[Symbol, Ratio]]]
"""Whether it is kept or pinned, its constant, its coefficients; integers are quick to compare."""


def rows_of(problem: Problem) -> list[Row]:
    """All that a region asks, as rows of numbers."""
    return [
        (
            place,
            change.constant.as_integer_ratio(),
            [(s, c.as_integer_ratio()) for s, c in (*change.noise.items(), *change.data.items())],
        )
        for place, changes in enumerate((problem.keep, problem.pin))
        for change in changes
    ]


def named(problem: Problem, face: Face, rows: list[Row] | None = None) -> UnnamedProblem:
    """The question "what does this region cost on this face" with its symbols numbered."""
    rows = rows_of(problem) if rows is None else rows
    looks: dict[Symbol, Any] = dict(problem.draws)
    for symbol in face:
        looks[symbol] = (face[symbol], symbol in problem.whole)
    for symbol in problem.data_symbols():
        looks.setdefault(symbol, (None, symbol in problem.whole))
    colours = {s: _colour(look) for s, look in looks.items()}
    terms = [[(s, hash(c)) for s, c in row[2]] for row in rows]
    marks: list[int] = []
    for _ in range(_ROUNDS):
        marks = [
            hash((row[0], row[1], *sorted(hash((colours[s], c)) for s, c in of_row)))
            for row, of_row in zip(rows, terms, strict=True)
        ]
        met: dict[Symbol, list[int]] = {s: [colour] for s, colour in colours.items()}
        for mark, of_row in zip(marks, terms, strict=True):
            for symbol, coefficient in of_row:
                met[symbol].append(hash((mark, coefficient)))
        colours = {s: hash(tuple(sorted(m))) for s, m in met.items()}
    order: dict[Symbol, int] = {}
    for at in sorted(range(len(rows)), key=marks.__getitem__):
        for symbol, _ in sorted(terms[at], key=lambda term: (colours[term[0]], term[1])):
            order.setdefault(symbol, len(order))
    for symbol in sorted(colours, key=lambda s: (colours[s], s)):
        order.setdefault(symbol, len(order))
    written = sorted(
        (place, constant, sorted((order[s], c) for s, c in of_row), at)
        for at, (place, constant, of_row) in enumerate(rows)
    )
    symbols = tuple(order)
    key = (
        tuple((place, constant, tuple(of_row)) for place, constant, of_row, _ in written),
        tuple(looks[s] for s in symbols),
    )
    return UnnamedProblem(key, symbols, tuple(at for *_, at in written))


def _colour(look: Any) -> int:
    """A number for what a symbol is, the same in every process (hashes of text are not)."""
    if isinstance(look, AlignedNoise):
        return hash((KINDS.index(look.kind), look.rate, look.integral))
    ends, whole = look
    return hash((-1, whole, *(ends or ())))


class Costs:
    """The least cost of regions at differences, looked up where an equal one was computed."""

    def __init__(self) -> None:
        self.known: dict[Any, tuple[UnnamedProblem, PointCost]] = {}
        self.rows: dict[int, tuple[Problem, list[Row]]] = {}  # by identity, with what is meant

    def named(self, problem: Problem, face: Face) -> UnnamedProblem:
        if id(problem) not in self.rows:
            self.rows[id(problem)] = (problem, rows_of(problem))
        return named(problem, face, self.rows[id(problem)][1])

    def __call__(self, problem: Problem, point: Mapping[Symbol, Fraction]) -> PointCost:
        used = problem.data_symbols()
        name = self.named(problem, {s: (v, v) for s, v in point.items() if s in used})
        if name.key not in self.known:
            self.known[name.key] = (name, cost_at(problem, point))
            return self.known[name.key][1]
        before, found = self.known[name.key]
        if math.isinf(found.cost):
            return found
        names = dict(zip(before.symbols, name.symbols, strict=True))
        weights = [*found.keep, *found.pin]
        moved = [0.0] * len(weights)
        for here, there in zip(name.rows, before.rows, strict=True):
            moved[here] = weights[there]
        slopes = {names[s]: slope for s, slope in found.slopes.items()}
        count = len(problem.keep)
        return PointCost(found.cost, slopes, moved[:count], moved[count:])


def renamed(alignment: Alignment, before: UnnamedProblem, after: UnnamedProblem) -> Alignment:
    """An answer about one region as the answer about another with the same key."""
    names = dict(zip(before.symbols, after.symbols, strict=True))

    def moved(values: Mapping[Symbol, V]) -> dict[Symbol, V]:
        return {names[s]: value for s, value in values.items()}

    def shifts(values: Mapping[Symbol, Any]) -> dict[Symbol, Any]:
        return {s: replace(v, slopes=moved(v.slopes)) for s, v in moved(values).items()}

    return Alignment(
        moved(alignment.face),
        alignment.cost,
        shifts(alignment.shifts),
        shifts(alignment.bounds),
        moved(alignment.corner),
    )
