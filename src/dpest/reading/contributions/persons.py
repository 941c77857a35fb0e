"""People with several rows: whose a row is, and what there is once for each person.

Where people have several rows, a value for each row is for up to `rows_each` rows of a person. What
is marked `ONCE` is for each person: the first of its rows, or a number derived from all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpest.reading.contributions.forms import Form, Unread
from dpest.reading.contributions.ledger import ONCE, Derived
from dpest.reading.contributions.values import Case, Object, Option, Rows


class Person(Object):
    """Of a row: whose it is. Rows can be put together by it, and nothing else."""

    words = "the number of a person"


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
    if isinstance(value, Form) or (isinstance(value, (int, float)) and value == value):
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
    low, high = (Fraction(1), Fraction(m.rows_each)) if what == "count" else (None, None)
    found = Derived(what, cases, low, high)
    name = next((n for n, d in m.derived.items() if d == found), None)
    if name is None:
        name = f"{what} {len(m.derived) + 1} of a person"
        m.derived[name] = found
        m.fields[name] = (low, high, False)
    form = m.terms.of("field", None, name)
    return Rows((Case((ONCE,), form),), True)
