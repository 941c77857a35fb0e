"""Decisions of a program, and whether the branches at one place are all the branches.

A decision is a condition that holds or not, or which of several values is the greatest (of equal
ones the first is). The branches that leave a node are lists of decisions. They cover everything,
and don't overlap, if they form a tree: all ask the same first, every answer occurs, and after each
answer the rest of them does the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..fields import listed, rational, whole
from ..forms import ONE, LinearInequality, combined, condition, read_condition, read_terms
from ..invalid import need


@dataclass(frozen=True)
class Decision:
    """`asked`: equal for equal questions; `answer` out of range(answers); what then holds."""

    asked: tuple[LinearInequality, ...]
    answer: int
    answers: int
    conditions: tuple[LinearInequality, ...]


Branch = tuple[Decision, ...]


def held(branch: Branch) -> list[LinearInequality]:
    """All conditions of a branch."""
    return [c for decision in branch for c in decision.conditions]


def read_branch(value: object, where: str) -> Branch:
    return tuple(_decision(d, where) for d in listed(value, where))


def _decision(value: object, where: str) -> Decision:
    parts = listed(value, where, 3)
    if parts[0] == "greatest":
        return _greatest(parts[1], whole(parts[2], where), where)
    found = read_condition(value, where)
    other = found.negated()
    asked = (min(found, other), max(found, other))
    return Decision(asked, int(found > other), 2, (found,))


def _greatest(value: object, winner: int, where: str) -> Decision:
    """The conditions of one value being the greatest; ties go to the first."""
    values = []
    for entry in listed(value, where):
        constant, terms = listed(entry, where, 2)
        values.append(condition(rational(constant, where), read_terms(terms, where), False))
    need(0 <= winner < len(values), f"{where}: the greatest of {len(values)} values is not there")
    first = values[winner]
    conditions = tuple(
        condition(
            first.constant - other.constant,
            combined((ONE, dict(first.terms)), (-ONE, dict(other.terms))),
            place < winner,
        )
        for place, other in enumerate(values)
        if place != winner
    )
    return Decision(tuple(values), winner, len(values), conditions)


def need_all_branches(branches: Iterable[Branch], where: str) -> None:
    """Refuse unless the branches form a whole tree of decisions."""
    pending: list[Sequence[Branch]] = [list(branches)]
    while pending:
        here = pending.pop()
        if len(here) == 1 and not here[0]:
            continue
        need(bool(here) and all(here), f"{where}: branches overlap")
        asked, answers = here[0][0].asked, here[0][0].answers
        need(all(b[0].asked == asked for b in here), f"{where}: branches overlap")
        by_answer: dict[int, list[Branch]] = {}
        for branch in here:
            by_answer.setdefault(branch[0].answer, []).append(branch[1:])
        need(answers > 1 and len(by_answer) == answers, f"{where}: a branch is missing")
        pending.extend(by_answer.values())
