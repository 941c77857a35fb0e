"""People with several rows: whose a row is, and what there is once for each person.

Where people have several rows, a value for each row is for up to `rows_each` rows of a person. What
is marked `ONCE` is for each person: the first of its rows, or a number derived from all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpest.reading.contributions.forms import SymbolicForm, Unread
from dpest.reading.contributions.ledger import ONCE, Derived
from dpest.reading.contributions.values import Case, Map, Object, Option, Rows, Seq


class Person(Object):
    """Of a row: whose it is. Rows can be put together by it, and nothing else."""

    words = "the number of a person"


PERSON = Person()
"""Whose the row is that is looked at; as a key of a dict, in a loop over the rows, its entry."""


def is_user(rows: Rows) -> bool:
    """Whether it is the field that says whose a row is, of all rows."""
    return all(isinstance(c.element, Person) and c.present for c in rows.cases)


def of_rows(rows: Rows) -> bool:
    """Whether it is of rows, and not of people already."""
    return not any(ONCE in c.conditions for c in rows.cases)


def first_rows(columns: Mapping[str, Rows]) -> dict[str, Rows]:
    """The first row of each person; all rows must be there, or it would be another one."""
    for rows in columns.values():
        if not rows.whole or not of_rows(rows):
            raise Unread("the first rows of people, of a part of the data")
    return {name: once(rows) for name, rows in columns.items()}


def once(rows: Rows) -> Rows:
    return Rows(
        tuple(Case((ONCE, *c.conditions), c.element, c.present) for c in rows.cases), rows.array
    )


def may_be_absent(value: Any) -> bool:
    values = value.values if isinstance(value, Option) else (value,)
    return any(v is None or (isinstance(v, float) and v != v) for v in values)


def number_of(value: Any) -> Any:
    if isinstance(value, SymbolicForm) or (isinstance(value, (int, float)) and value == value):
        return value
    raise Unread("a number of each person, of values that are no numbers")


def derived(m: Any, what: str, rows: Rows) -> Rows:
    """A symbol for each person: nothing is known of it but that its own rows decide it."""
    if not rows.whole or not of_rows(rows):
        raise Unread("a number of each person, of a part of the data")
    cases = tuple((c.conditions, m.form(c.element)) for c in rows.cases)
    for conditions, form in cases:
        for one in (form, *(c.form for c in conditions)):
            if one is None or m.uses_rows(one):
                raise Unread("a number of each person that depends on what was released")
    low, high = _range(m, what, [form for _, form in cases])
    found = Derived(what, cases, low, high)
    name = next((n for n, d in m.derived.items() if d == found), None)
    if name is None:
        name = f"{what} {len(m.derived) + 1} of a person"
        m.derived[name] = found
        m.fields[name] = (low, high, False)
    form = m.terms.of("field", None, name)
    return Rows((Case((ONCE,), form),), True)


_End = Fraction | None


def _range(m: Any, what: str, forms: list[SymbolicForm]) -> tuple[_End, _End]:
    """Between which numbers it is, for a person with 1 to `rows_each` rows."""
    if what == "count":
        return Fraction(1), Fraction(m.rows_each)
    ends = [ends_of(m, form) for form in forms]
    low = None if any(a is None for a, _ in ends) else min(a for a, _ in ends if a is not None)
    high = None if any(b is None for _, b in ends) else max(b for _, b in ends if b is not None)
    if what == "sum":
        low = None if low is None else min(low, low * m.rows_each)
        high = None if high is None else max(high, high * m.rows_each)
    return low, high


def ends_of(m: Any, form: SymbolicForm) -> tuple[_End, _End]:
    """Between which numbers a form of one row is."""
    low: _End = form.constant
    high: _End = form.constant
    for symbol, c in form.terms:
        a, b = _symbol_ends(m, m.terms.nodes[symbol])
        if c < 0:
            a, b = b, a
        low = None if low is None or a is None else low + c * a
        high = None if high is None or b is None else high + c * b
    return low, high


def _symbol_ends(m: Any, node: tuple[Any, ...]) -> tuple[_End, _End]:
    if node[0] == "field":
        low, high, _ = m.fields[node[2]]
        return low, high
    if node[0] in ("min", "max"):
        ends = [ends_of(m, part) for part in node[1:]]
        pick: Any = min if node[0] == "min" else max
        lows, highs = ([e[i] for e in ends if e[i] is not None] for i in (0, 1))
        all_lows, all_highs = len(lows) == len(ends), len(highs) == len(ends)
        if node[0] == "min":
            return pick(lows) if all_lows else None, pick(highs) if highs else None
        return pick(lows) if lows else None, pick(highs) if all_highs else None
    if node[0] in ("floor", "ceil", "rint"):
        turn: Any = {"floor": math.floor, "ceil": math.ceil, "rint": round}[node[0]]
        low, high = ends_of(m, node[1])
        return (
            None if low is None else Fraction(turn(low)),
            None if high is None else Fraction(turn(high)),
        )
    return (Fraction(0), None) if node[0] in ("abs", "norm") else (None, None)


def by_person(value: Any) -> Any:
    """The numbers of a dict that has an entry for each person, or None."""
    found = value.items.get(PERSON) if isinstance(value, Map) else None
    return found if isinstance(found, Rows) else None


def person_totals(m: Any, cases: list[tuple[Any, SymbolicForm | None]]) -> Rows:
    """What the rows of a person add to its entry of a dict, together."""
    if any(added is None for _, added in cases):
        raise Unread("an entry of each person that not all of its rows add to")
    return derived(m, "sum", Rows(tuple(Case(c, a) for c, a in cases), False))


def of_people(m: Any, rows: Rows, what: str) -> Any:
    """The keys, the values or the items of a dict that has an entry for each person."""
    if what == "values":
        return Seq(rows=Rows(rows.cases, False))
    made = (lambda e: PERSON) if what == "keys" else (lambda e: (PERSON, e))
    return Seq(rows=Rows(m.per_record(made, rows).cases, False))
