"""Entailments of assertions: proofs for the kernel, found by exact linear programming."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpest.geometry.simplex import contradiction_or_point
from dpest.kernel.forms import ZERO, LinearInequality
from dpest.kernel.judgments.assertions import All, Assertion, LinearTerm, Some, negated
from dpest.kernel.judgments.entailments import Hand

Point = Mapping[str, Fraction]


def proof_of(premise: Assertion, goal: Assertion) -> dict[str, Any] | None:
    """The proof that the premise implies the goal, as the kernel reads it; None if it doesn't."""
    return contradiction(Hand((), ()).with_(All((premise, negated(goal)))))


def entailed(hand: Hand, goal: Assertion) -> bool:
    return contradiction(hand.with_(negated(goal))) is not None


def contradiction(hand: Hand) -> dict[str, Any] | None:
    """The proof that nothing satisfies all that holds, or None if something does."""
    weights, point = decided(hand.conditions)
    if weights is not None:
        return {"weights": {str(i): str(w) for i, w in enumerate(weights) if w}}
    assert point is not None
    open_ = [
        (len(choice.parts), place)
        for place, choice in enumerate(hand.choices)
        if not holds(choice, point)
    ]
    if not open_:
        return None
    _, place = min(open_)
    rest = Hand(hand.conditions, hand.choices[:place] + hand.choices[place + 1 :])
    cases = []
    for part in hand.choices[place].parts:
        found = contradiction(rest.with_(part))
        if found is None:
            return None
        cases.append(found)
    return {"split": place, "cases": cases}


def decided(
    conditions: Sequence[LinearInequality],
) -> tuple[list[Fraction] | None, dict[str, Fraction] | None]:
    """Weights of a contradiction, or a point that satisfies all conditions."""
    names = sorted({name for c in conditions for name in c.symbols})
    rows = []
    for c in conditions:
        terms = dict(c.terms)
        rows.append([terms.get(name, ZERO) for name in names])
    if not rows:
        return None, {}
    if not names:  # conditions without variables are decided where they are made
        rows = [[ZERO] for _ in rows]
    weights, point = contradiction_or_point(
        rows, [c.constant for c in conditions], [c.strict for c in conditions]
    )
    if weights is not None:
        return weights, None
    assert point is not None
    return None, dict(zip(names, point, strict=False))


def holds(assertion: Assertion, point: Point) -> bool:
    """At a point; variables that it doesn't have are 0."""
    if isinstance(assertion, All):
        return all(holds(part, point) for part in assertion.parts)
    if isinstance(assertion, Some):
        return any(holds(part, point) for part in assertion.parts)
    value = assertion.constant + sum(
        (factor * point.get(name, ZERO) for name, factor in assertion.terms), ZERO
    )
    return value > 0 or (value == 0 and not assertion.strict)


def largest(form: LinearTerm, conditions: Sequence[LinearInequality]) -> Fraction | None:
    """The supremum of a form where the conditions hold, as a short rational; None if unbounded.

    It is found in floats: what is built on it is proved afterwards.
    """
    if not form.terms:
        return form.constant
    from scipy.optimize import linprog

    names = sorted({*form.terms, *(name for c in conditions for name in c.symbols)})
    objective = [-float(form.terms.get(name, ZERO)) for name in names]
    left = [[-float(dict(c.terms).get(name, ZERO)) for name in names] for c in conditions]
    right = [float(c.constant) for c in conditions]
    found = linprog(
        objective,
        A_ub=left or None,
        b_ub=right or None,
        bounds=(None, None),
        method="highs",
    )
    if found.status != 0:
        return None
    value = form.constant - Fraction(float(found.fun))
    near = value.limit_denominator(10**6)
    if abs(near - value) <= (1 + abs(value)) / 10**9:
        return near
    return Fraction(math.ceil(value * 10**9), 10**9)
