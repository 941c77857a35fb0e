"""Every record is in a case: what it adds is known, whatever it is.

Questions are asked in the order of the cases, each with both its answers. Where the answers are all
that a case asks for, the record is in that case; where no case is left, no record may give them.
(Cases may overlap: then a record may add what either says.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ..invalid import need
from .terms import RecordCondition, RecordTerms
from .ways import StageCase

Conditions = tuple[RecordCondition, ...]
_MOST_QUESTIONS = 20_000
_MOST_VALUES = 10_000
_OTHER = {
    "==": "!=", "!=": "==", ">": ">=", ">=": ">",
    "heads": "tails", "tails": "heads", "in": "out", "out": "in",
}  # fmt: skip


def need_every_record(terms: RecordTerms, cases: Sequence[StageCase]) -> None:
    pending: list[tuple[Conditions, list[Conditions]]] = [((), [c.conditions for c in cases])]
    asked = 0
    while pending:
        known, left = pending.pop()
        asked += 1
        need(asked <= _MOST_QUESTIONS, "cases: too many questions to be checked")
        if not left:
            none = terms.empty(known) or _no_whole_number(terms, known)
            need(none, "cases: a record may be in none of them")
        elif all(left):
            question = left[0][0]
            for answer in (question, negation(question)):
                rest = [c for c in left if not any(answer.opposite(other) for other in c)]
                pending.append(((*known, answer), [_without(c, answer) for c in rest]))


def negation(condition: RecordCondition) -> RecordCondition:
    relation, form = _OTHER[condition.relation], condition.form
    if form is not None and relation in (">", ">="):
        form = form.times(Fraction(-1))
    return RecordCondition(relation, form, condition.coin, condition.chance)


def _without(conditions: Conditions, answer: RecordCondition) -> Conditions:
    return tuple(c for c in conditions if c != answer)


def _no_whole_number(terms: RecordTerms, known: Conditions) -> bool:
    """Whether each value of some whole field is excluded."""
    about: dict[int, list[RecordCondition]] = {}
    for condition in known:
        if condition.form is not None and len(condition.form.terms) == 1:
            about.setdefault(condition.form.terms[0][0], []).append(condition)
    for symbol, conditions in about.items():
        s = terms.symbols[symbol]
        if s.op != "field" or not terms.fields[s.name].whole:
            continue
        low, high = terms.fields[s.name].low, terms.fields[s.name].high
        if low is None or high is None or high - low > _MOST_VALUES:
            continue
        values = range(math.ceil(low), math.floor(high) + 1)
        if all(any(not _holds(c, v) for c in conditions) for v in values):
            return True
    return False


def _holds(condition: RecordCondition, value: int) -> bool:
    """A condition on one field, where the field has this value."""
    form = condition.form
    assert form is not None
    found = form.constant + form.terms[0][1] * value
    if condition.relation in ("==", "!="):
        return (found == 0) == (condition.relation == "==")
    return found > 0 or (found == 0 and condition.relation == ">=")
