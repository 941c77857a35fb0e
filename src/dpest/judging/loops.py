"""Loops in a derivation: an invariant, and a variant that bounds the turns."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpest.judging.deriving import (
    DerivationCost,
    DerivationSearch,
    Node,
    ProgramPair,
    assertion_json,
    linear_json,
)
from dpest.judging.entailing import entailed, proof_of
from dpest.kernel.forms import ONE, ZERO, LinearInequality
from dpest.kernel.judgments.assertions import (
    Assertion,
    LinearTerm,
    all_of,
    at_least_zero,
    equal,
    negated,
    number,
    sided,
    variable,
)
from dpest.kernel.judgments.derivations import KAPPA, Derivations, Goal
from dpest.kernel.judgments.entailments import Hand
from dpest.kernel.judgments.programs import While, assigned


def looped(search: DerivationSearch, pair: ProgramPair, one: While, two: While) -> Node | None:
    """The rule of loops, then what follows; None if no invariant was found.

    The candidates are equalities of the same variable on both sides, and what is known of variables
    that the loop doesn't change. Those that the body breaks are dropped, one at a time.
    """
    variant = _variant(one)
    if variant is None:
        return None
    entry = pair.value(variant, 1)
    if entry.terms:
        return None
    turns = max(0, math.ceil(entry.constant))
    known = _candidates(pair, one, two)
    while known:
        invariant = all_of(*known)
        found = _with_invariant(search, pair, (one, two), invariant, variant, turns)
        if found is not None:
            return found
        known.pop()
    return None


def _variant(loop: While) -> LinearTerm | None:
    """n - i for a loop `while i < n`: what the body makes smaller."""
    if not isinstance(loop.test, LinearInequality):
        return None
    form = LinearTerm(loop.test.constant, dict(loop.test.terms))
    return form if loop.test.strict else form.plus(number(ONE))


def _candidates(pair: ProgramPair, one: While, two: While) -> list[Assertion]:
    changed = assigned(one.body) | assigned(two.body)
    found: list[Assertion] = []
    for condition in pair.hand.conditions:
        names = condition.symbols
        still = all(
            (n.split("<")[0] not in changed and n in pair.memory) or "<" in n for n in names
        )
        if still and all(pair.memory.get(n, variable(n)) == variable(n) for n in names):
            found.append(condition)
    everything = {name.split("<")[0] for name in pair.memory}
    test = {n for n, _ in one.test.terms} if isinstance(one.test, LinearInequality) else set()
    order = sorted(everything | changed, key=lambda n: (n not in test, n in changed, n))
    for name in order:
        left = pair.memory.get(f"{name}<1>", variable(f"{name}<1>"))
        right = pair.memory.get(f"{name}<2>", variable(f"{name}<2>"))
        if entailed(pair.hand, equal(left, right)):
            found.append(equal(variable(f"{name}<1>"), variable(f"{name}<2>")))
    return found


def _with_invariant(
    search: DerivationSearch,
    pair: ProgramPair,
    loops: tuple[While, While],
    invariant: Assertion,
    variant: LinearTerm,
    turns: int,
) -> Node | None:
    one, two = loops
    tests = sided(one.test, 1), sided(two.test, 2)
    measured = variant.renamed(lambda name: f"{name}<1>")
    after = _after(search, pair, loops, invariant)
    if after is None:
        return None
    second, post = after
    bound = variable(KAPPA)
    fewer = at_least_zero(bound.plus(number(ONE), -ONE).plus(measured, -ONE))
    before = all_of(invariant, *tests, at_least_zero(bound.plus(measured, -ONE)))
    share = DerivationCost(pair.left.epsilon / max(1, turns), pair.left.delta / max(1, turns))
    inside = DerivationSearch(all_of(invariant, fewer), search.sizes, search.loop)
    start = ProgramPair(one.body, two.body, {}, Hand((), ()).with_(before), share, pair.moves)
    body = inside.derive(start)
    if body is None:
        return None
    ended = at_least_zero(number(ZERO).plus(measured, -ONE))
    wanted: dict[str, tuple[Assertion, Assertion]] = {
        "same": (all_of(invariant, tests[0]), tests[1]),
        "again": (all_of(invariant, tests[1]), tests[0]),
        "ends": (all_of(invariant, ended), negated(tests[0])),
        "post": (all_of(invariant, negated(tests[0]), negated(tests[1])), post),
        "body": (before, inside_precondition(body, one, two, all_of(invariant, fewer))),
    }
    proofs: dict[str, Any] = {}
    for key, (premise, goal) in wanted.items():
        proof = proof_of(premise, goal)
        if proof is None:
            return None
        proofs[key] = proof
    first = {
        "rule": "while",
        "invariant": assertion_json(invariant),
        "variant": linear_json(measured),
        "turns": turns,
        "proofs": proofs,
        "body": body,
    }
    return {"rule": "sequence", "at": [1, 1], "first": first, "second": second}


def inside_precondition(body: Node, one: While, two: While, post: Assertion) -> Assertion:
    """What the kernel finds that the body's derivation needs."""
    return Derivations().check(body, Goal(one.body, two.body, post), "body").pre


def _after(
    search: DerivationSearch, pair: ProgramPair, loops: tuple[While, While], invariant: Assertion
) -> tuple[Node, Assertion] | None:
    """What follows the loops, and the precondition that it needs."""
    one, two = loops
    out = all_of(invariant, negated(sided(one.test, 1)), negated(sided(two.test, 2)))
    rest = replace(
        pair,
        first=pair.first[1:],
        second=pair.second[1:],
        memory={},
        hand=Hand((), ()).with_(out),
        left=replace(pair.left, epsilon=Fraction(0), delta=Fraction(0)),
    )
    found = search.derive(rest)
    if found is None:
        return None
    goal = Goal(rest.first, rest.second, search.post)
    return found, Derivations().check(found, goal, "after").pre
