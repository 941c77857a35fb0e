"""Turns of a loop without a bound that end in the same state are followed once.

A rejected draw is forgotten: whether it was too small or too large, the next turn begins alike.
Following both doubles the paths with every turn. Where two runs reach the same decision of a
`while` loop with equal variables, the second stops there, and the ways on which the two differ
become one choice with the sum of their probabilities, if nothing later speaks of their noise.
"""

from __future__ import annotations

import ast
import functools
import linecache
import math
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from dpest.geometry.linear import Condition, Symbol
from dpest.geometry.masses import interval_mass
from dpest.noise.bernoulli import Bernoulli
from dpest.noise.family import Noise
from dpest.noise.parameters import is_number
from dpest.reading.paths import Choice
from dpest.running.places import Place, is_user_frame

_GENERATOR = 0x20  # inspect.CO_GENERATOR


@dataclass
class Join:
    """The decision that several ways lead to: `prefix` was followed, `others` stopped there.

    The ways are alike up to `start`; from there each has its own segment.
    """

    prefix: list[Any]
    start: int = -1
    others: list[list[Any]] = field(default_factory=list)

    @property
    def segments(self) -> list[list[Any]]:
        return [self.prefix[self.start :], *self.others]


class Joins:
    """All joins of one exploration."""

    def __init__(self, noises: Mapping[Symbol, Noise]) -> None:
        self.noises = noises
        self.found: dict[Hashable, Join] = {}

    def absorbs(self, key: Hashable, turns: Sequence[Any]) -> bool:
        """Whether the run that made these turns may stop here, as another goes on for it."""
        join = self.found.get(key)
        if join is None:
            self.found[key] = Join(list(turns))
            return False
        start = 0
        for a, b in zip(join.prefix, turns, strict=False):
            if a is not b:
                break
            start += 1
        if start == len(turns) and start == len(join.prefix):
            return False  # the same run again
        if join.start not in (-1, start):
            return False
        segment = list(turns[start:])
        if not self._apart(turns[:start], (segment, join.prefix[start:])):
            return False
        join.start = start
        join.others.append(segment)
        return True

    def _apart(self, before: Sequence[Any], segments: Sequence[Sequence[Any]]) -> bool:
        """The segments speak of single noises that nothing before has spoken of."""
        own = {s for segment in segments for s in _symbols(segment)}
        if own & set(_symbols(before)) or not own <= self.noises.keys():
            return False
        return all(_probability(segment, self.noises) is not None for segment in segments)

    def on(self, turns: Sequence[Any]) -> list[tuple[int, Join]]:
        """The joins that a run went through, with their numbers."""
        found = []
        for number, join in enumerate(self.found.values()):
            size = len(join.prefix)
            if join.others and size <= len(turns) and turns[size - 1] is join.prefix[-1]:
                found.append((number, join))
        return found

    def merged(
        self, turns: Sequence[Any], used: Iterable[Symbol]
    ) -> list[tuple[list[Condition], list[Choice], float]]:
        """What the path stands for: conditions, choices, and the probability of merged ways.

        One entry where all its joins can be merged; else one for each way.
        """
        variants: list[tuple[list[Any], list[Choice], float]] = [(list(turns), [], 1.0)]
        for number, join in self.on(turns):
            segment = join.prefix[join.start :]
            own = {s for part in join.segments for s in _symbols(part)}
            inside = {id(turn) for turn in segment}
            others = {s for turn in turns if id(turn) not in inside for s in _symbols([turn])}
            grown: list[tuple[list[Any], list[Choice], float]] = []
            for kept, choices, mass in variants:
                rest = [turn for turn in kept if id(turn) not in inside]
                if own & (others | set(used)):
                    grown.extend(([*rest, *part], choices, mass) for part in join.segments)
                    continue
                total = math.fsum(_probability(part, self.noises) or 0.0 for part in join.segments)
                total = min(total, 1.0)
                choice = Choice(f"turn{number}", Bernoulli(total), True, total, rounded=True)
                grown.append((rest, [*choices, choice], mass * total))
            variants = grown
        return [
            (
                [c for turn in kept for c in turn.conditions],
                [*(t.choice for t in kept if t.choice is not None), *choices],
                mass,
            )
            for kept, choices, mass in variants
        ]


def _symbols(turns: Iterable[Any]) -> Iterable[Symbol]:
    return (s for turn in turns for c in turn.conditions for s in c.form.terms)


def _probability(segment: Sequence[Any], noises: Mapping[Symbol, Noise]) -> float | None:
    """P(segment), where its conditions are bounds on single noises."""
    result = 1.0
    bounds: dict[Symbol, list[Condition]] = {}
    for turn in segment:
        if turn.choice is not None:
            if not is_number(turn.choice.probability):
                return None
            result *= float(turn.choice.probability)
        for condition in turn.conditions:
            if len(condition.form.terms) != 1 or condition.relation not in (">", ">="):
                return None
            (symbol,) = condition.form.terms
            bounds.setdefault(symbol, []).append(condition)
    for symbol, conditions in bounds.items():
        mass = interval_mass(noises[symbol], conditions)
        if mass is None:
            return None
        result *= mass
    return result


def state_key(place: Place, drawn: Place, draws: int, symbols: Iterable[Symbol]) -> Hashable | None:
    """What the function will do from here on depends on, or None where that can't be told.

    Only for a decision that is the first since a draw in another statement, inside of `while` and
    `if` alone: then no value hides between the variables, on the interpreter's stack. And only in
    the mechanism itself, not in functions that it calls.
    """
    if place[0] != drawn[0] or not _apart_in_while(place[0], place[1], drawn[1]):
        return None
    frame = _only_user_frame()
    if frame is None or frame.f_code.co_flags & _GENERATOR:
        return None
    from dpest.reading.tracing.states import signature

    try:
        variables = signature(dict(frame.f_locals))
        # Not the instruction: the interpreter replaces instructions by faster ones as it goes.
        where = _positions(frame.f_code)[frame.f_lasti // 2]
        key = (frame.f_code, where, draws, tuple(symbols), variables)
        hash(key)
    except Exception:
        return None
    return key


@functools.lru_cache(maxsize=256)
def _positions(code: CodeType) -> list[Any]:
    return list(code.co_positions())


def _only_user_frame() -> FrameType | None:
    found: FrameType | None = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.endswith("reading/calls.py"):
            return found
        if is_user_frame(frame):
            if found is not None:
                return None
            found = frame
        frame = frame.f_back
    return None


@functools.lru_cache(maxsize=4096)
def _apart_in_while(filename: str, line: int, other: int) -> bool:
    first, second = _statement(filename, line), _statement(filename, other)
    return first is not None and second is not None and first != second


@functools.lru_cache(maxsize=4096)
def _statement(filename: str, line: int) -> int | None:
    """The number of the only statement at the line, if `while` and `if` alone enclose it."""
    found = [n for n, (first, last, _) in enumerate(_headers(filename)) if first <= line <= last]
    return found[0] if len(found) == 1 and _headers(filename)[found[0]][2] else None


@functools.lru_cache(maxsize=64)
def _headers(filename: str) -> tuple[tuple[int, int, bool], ...]:
    """Of every statement its own lines, without its body, and whether it stands plainly in a loop.

    Plainly: between it and its function there are only `while` and `if`, at least one `while`.
    """
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return ()
    found: list[tuple[int, int, bool]] = []

    def visit(node: ast.AST, plain: bool, looped: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.stmt):
                if not isinstance(child, ast.expr):
                    visit(child, False, looped)
                continue
            last = child.end_lineno or child.lineno
            if isinstance(child, (ast.If, ast.While)):
                head = child.test.end_lineno or child.lineno
                inner = looped or isinstance(child, ast.While)
                found.append((child.lineno, head, plain and looped))
                visit(child, plain, inner)
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                visit(child, True, False)
            elif hasattr(child, "body"):
                body = child.body
                found.append((child.lineno, body[0].lineno - 1, False))
                visit(child, False, looped)
            else:
                found.append((child.lineno, last, plain and looped))

    visit(tree, False, False)
    return tuple(found)
