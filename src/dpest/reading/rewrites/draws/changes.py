"""Changes of draws: the ways that a draw may fall, with what was made of it in terms of new noise.

A change is exact: given its new noise, and on which way it fell, the draws have the joint
distribution that they had. It is applied to ways through a function, each a list of conditions and
a list of forms: a way on which it is open how the draw fell becomes several, unless they are alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.reading.domains.arithmetic import conjunction_of, disjunction_of
from dpest.reading.domains.numbers import Truth


class DrawCase(Protocol):
    """One of the ways that a draw may fall."""

    @property
    def side(self) -> tuple[Condition, ...]:
        """When it falls so: conditions on the new noise, or on the draw where it stays."""
        ...

    def holds(self, condition: Condition) -> bool:
        """Whether a condition on the draw alone holds here, where it always or never does."""
        ...

    def value(self, symbol: Symbol) -> Form | None:
        """What a symbol is here, by the new noise; None where it is not changed."""
        ...


class DrawChange(Protocol):
    """`keeps_draw`: the conditions on the draw stay as they are."""

    draw: Symbol
    keeps_draw: bool

    @property
    def cases(self) -> Sequence[DrawCase]: ...


class ChangedWay(NamedTuple):
    """What was decided on a way through a function, in order, and the numbers at its end."""

    conditions: tuple[Condition, ...]
    forms: tuple[Form, ...]


def changed(change: DrawChange, way: ChangedWay) -> list[ChangedWay]:
    """A way, with the change applied: one for each case that is possible on it."""
    found = [(case, _in_case(change, case, way)) for case in change.cases]
    possible = [(case, new) for case, new in found if new is not None]
    distinct = list(dict.fromkeys(new for _, new in possible))
    about = any(_is_about(change, c) for c in way.conditions)
    if about and not change.keeps_draw:
        return distinct
    if len(distinct) <= 1 and (about or len(possible) == len(change.cases)):
        return distinct
    return [ChangedWay((*case.side, *new.conditions), new.forms) for case, new in possible]


def _is_about(change: DrawChange, condition: Condition) -> bool:
    """Whether it says how the draw fell."""
    return condition.form.terms.keys() == {change.draw}


def _in_case(change: DrawChange, case: DrawCase, way: ChangedWay) -> ChangedWay | None:
    conditions: dict[Condition, None] = {}
    for condition in way.conditions:
        if _is_about(change, condition):
            if not case.holds(condition):
                return None
            side = (condition,) if change.keeps_draw else case.side
            conditions.update(dict.fromkeys(side))
            continue
        new = _substituted(case, condition)
        known = new.decided()
        if known is False:
            return None
        if known is None:
            conditions[new] = None
    return ChangedWay(tuple(conditions), tuple(_changed_form(case, f) for f in way.forms))


def _changed_form(case: DrawCase, form: Form) -> Form:
    values = {s: v for s in form.terms if (v := case.value(s)) is not None}
    return form.substitute(values) if values else form


def _substituted(case: DrawCase, condition: Condition) -> Condition:
    return Condition(_changed_form(case, condition.form), condition.relation)


def changed_truth(change: DrawChange, truth: Truth) -> Truth | bool:
    """A formula, with the change applied."""
    if truth.condition is None:
        parts = tuple(changed_truth(change, part) for part in truth.parts)
        found = conjunction_of(parts) if truth.conjunction else disjunction_of(parts)
    else:
        found = _changed_condition(change, truth.condition)
    return found.typed(truth.kind) if isinstance(found, Truth) else bool(found)


def _changed_condition(change: DrawChange, condition: Condition) -> Truth | bool:
    about = _is_about(change, condition)
    if about and change.keeps_draw:
        return Truth(condition)
    answers: list[Truth | bool] = []
    for case in change.cases:
        if about:
            answers.append(case.holds(condition))
        else:
            new = _substituted(case, condition)
            known = new.decided()
            answers.append(Truth(new) if known is None else known)
    if all(_same(answer, answers[0]) for answer in answers):
        return answers[0]
    ways = [
        conjunction_of((*(Truth(c) for c in case.side), answer))
        for case, answer in zip(change.cases, answers, strict=True)
    ]
    found: Truth | bool = disjunction_of(tuple(ways))
    return found


def _same(a: Truth | bool, b: Truth | bool) -> bool:
    if isinstance(a, Truth) and isinstance(b, Truth):
        return bool(a.key == b.key)
    return not isinstance(a, Truth) and not isinstance(b, Truth) and a == b


def symbols_in(
    way: ChangedWay, definitions: Mapping[Symbol, Truth]
) -> Iterator[tuple[Symbol, Condition | None]]:
    """All symbols of a way, those of the truths in it too; with the condition that they are in."""
    seen: set[Symbol] = set()
    pending: list[tuple[Form, Condition | None]] = [(c.form, c) for c in way.conditions]
    pending += [(form, None) for form in way.forms]
    for form, condition in pending:
        for symbol in form.terms:
            yield symbol, condition
            if symbol.kind == "indicator" and symbol not in seen:
                seen.add(symbol)
                pending += [(c.form, c) for c in conditions_in(definitions[symbol])]


def conditions_in(truth: Truth) -> Iterator[Condition]:
    if truth.condition is not None:
        yield truth.condition
    for part in truth.parts:
        yield from conditions_in(part)
