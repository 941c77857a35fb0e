"""Pointwise derivations: one for each value of the discrete outputs, then all together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from dpest.judging.deriving import DerivationCost, DerivationSearch, Exhausted, Node, ProgramPair
from dpest.judging.entailing import proof_of
from dpest.kernel.forms import ZERO
from dpest.kernel.judgments.assertions import (
    FALSE,
    Assertion,
    LinearTerm,
    all_of,
    any_of,
    equal,
    implies,
    number,
    variable,
)
from dpest.kernel.judgments.entailments import Hand
from dpest.kernel.judgments.programs import Assign, DrawStatement, If, Program, has_loop
from dpest.reading.programs.translation import ProgramCode

_MOST_POINTS = 300
Searched = Callable[[Any, Assertion, Assertion, DerivationCost, tuple[Fraction, ...]], Node | None]


def pointwise(
    codes: tuple[ProgramCode, ProgramCode],
    pre: Assertion,
    post: Assertion,
    cost: DerivationCost,
    sizes: tuple[Fraction, ...],
    searched: Searched,
) -> Node | None:
    """The rule [pw-eq] on the outputs that take finitely many values, with a derivation for each.

    δ is divided among the values, as those of the derivations add up.
    """
    one, two = codes
    if one.outputs != two.outputs or has_loop(one.program + two.program):
        return None
    found = _points(one)
    if found is None:
        return None
    names, points = found
    share = DerivationCost(cost.epsilon, cost.delta / len(points))
    each, proofs = [], []
    somewhere: Assertion = FALSE
    for point in points:
        here, there = _at(names, 1, point), _at(names, 2, point)
        proof = proof_of(all_of(post, here), there)
        node = None if proof is None else searched(codes, pre, implies(here, post), share, sizes)
        if node is None:
            return None
        each.append(node)
        proofs.append(proof)
        somewhere = any_of(somewhere, here)
    start = ProgramPair(
        one.program, two.program, {}, Hand((), ()).with_(pre), DerivationCost(ZERO, ZERO), 0
    )
    try:
        outside = DerivationSearch(somewhere, ()).alone(start)
    except Exhausted:
        return None
    if outside is None:
        return None
    return {
        "rule": "pointwise",
        "first": list(names),
        "second": list(names),
        "points": [[str(v) for v in point] for point in points],
        "proofs": proofs,
        "each": each,
        "outside": outside,
    }


def _at(names: tuple[str, ...], side: int, point: tuple[Fraction, ...]) -> Assertion:
    pairs = zip(names, point, strict=True)
    return all_of(*(equal(variable(f"{name}<{side}>"), number(v)) for name, v in pairs))


def _points(code: ProgramCode) -> tuple[tuple[str, ...], list[tuple[Fraction, ...]]] | None:
    """The outputs that are constant at the end of every path, and all values that they take."""
    ends: list[dict[str, LinearTerm]] = []
    for memory in _ends(code.program, {}):
        ends.append({n: memory.get(n, variable(n)) for n in code.outputs})
        if len(ends) > 100 * _MOST_POINTS:
            return None
    names = tuple(n for n in code.outputs if all(not end[n].terms for end in ends))
    points = sorted({tuple(end[n].constant for n in names) for end in ends})
    return (names, points) if names and len(points) <= _MOST_POINTS else None


def _ends(program: Program, memory: Mapping[str, LinearTerm]) -> Iterator[dict[str, LinearTerm]]:
    """The memory at the end of every path, in symbols that stand for anything."""
    now = dict(memory)
    for place, head in enumerate(program):
        if isinstance(head, Assign):
            now[head.name] = _value(head.value, now)
        elif isinstance(head, DrawStatement):
            now[head.name] = variable(head.name)
        elif isinstance(head, If):
            for branch in (head.then, head.other):
                yield from _ends(branch + program[place + 1 :], now)
            return
    yield now


def _value(form: LinearTerm, memory: Mapping[str, LinearTerm]) -> LinearTerm:
    total = number(form.constant)
    for name, factor in form.terms.items():
        total = total.plus(memory.get(name, variable(name)), factor)
    return total
