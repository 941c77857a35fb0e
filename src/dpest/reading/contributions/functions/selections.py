"""Choices whose chances depend on sums over records: the exponential mechanism, and noisy maxima.

Chances must be weights over their sum, w₁/Σw, …, where each weight is a number times e^(exponent)
and the exponents are forms of private values: then the choice is one step, and what was chosen is
public. A part that all exponents share cancels (the maximum that is subtracted before).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.contributions.arithmetic import is_number, is_plain
from dpest.reading.contributions.control.public import item_of
from dpest.reading.contributions.forms import NOISE, SymbolicForm, Unread, form_of
from dpest.reading.contributions.gaps.drawing import chosen_by_weights
from dpest.reading.contributions.gaps.values import PerGap
from dpest.reading.contributions.ledger import Row
from dpest.reading.contributions.values import (
    Case,
    PublicValue,
    RecordPosition,
    RecordTruth,
    Rows,
    Seq,
    SmallArray,
)

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine

OVERFLOW = "no weight of a choice overflows: its exponent stays below 700"
_LARGEST = 700
Weight = tuple[SymbolicForm, Fraction]
"""An exponent, and the number that its exponential is multiplied by."""


def choose(m: ContributionMachine, pool: Any, size: Any, again: Any, p: Any) -> Any:
    """rng.choice."""
    if isinstance(p, PerGap) and size is None:
        return chosen_by_weights(m, pool, p)
    rows = pool.rows if isinstance(pool, Seq) and pool.rows is not None else pool
    if isinstance(rows, Rows) or m.is_length(pool):
        return sample(m, rows, size, again, p)
    if m.in_pass or isinstance(again, SymbolicForm):
        raise Unread("a choice for every record")
    if not m.is_public(pool):
        raise Unread("a choice from a list that is not public")
    if p is not None and not m.is_public(p):
        if size is not None:
            raise Unread("several choices at once whose chances depend on the data")
        return choose_by(m, pool, normalised(m, m.listed(p)))
    found = m.picked("choice")
    if size is not None:
        return m.publicly(_several, _pool(pool), found)
    return m.publicly(_chosen, _pool(pool), found)


def _chosen(pool: Any, place: Any) -> Any:
    return place if isinstance(pool, int) else pool[place]


def _several(pool: Any, places: Any) -> Any:
    """As NumPy gives them: an array."""
    return np.asarray(places if isinstance(pool, int) else np.asarray(pool)[places])


def _pool(pool: Any) -> Any:
    return int(pool) if is_number(pool) else pool


def choose_weighted(m: ContributionMachine, pool: Any, weights: Any) -> Any:
    """random.choices(pool, weights)[0]."""
    if isinstance(weights, PerGap):
        return chosen_by_weights(m, pool, weights)
    if m.in_pass or not m.is_public(pool):
        raise Unread("a choice from a list that is not public")
    if m.is_public(weights):
        return m.publicly(_chosen, _pool(pool), m.picked("choice"))
    return choose_by(m, pool, [weight_of(m, w) for w in m.listed(weights)])


def choose_by(m: ContributionMachine, pool: Any, weights: Sequence[Weight]) -> PublicValue:
    count = int(pool) if is_number(pool) else len(m.listed(pool))
    if len(weights) != count:
        raise Unread("as many chances as there are to choose from are needed")
    selected(m, weights)
    found = m.publicly(_chosen, _pool(pool), m.picked("choice"))
    return with_options(found, range(count) if is_number(pool) else m.listed(pool))


def selected(m: ContributionMachine, weights: Sequence[Weight]) -> None:
    """The choice, as a step that is visible from here on."""
    m.settled_ways()
    _need_finite(m, [e for e, _ in weights])
    chosen_by(m, [e for e, _ in weights])


def chosen_by(m: ContributionMachine, exponents: Sequence[SymbolicForm]) -> None:
    m.settled_ways()
    m.ledger.rows.append(Row(SymbolicForm((), Fraction(0)), without_common(exponents)))


def _need_finite(m: ContributionMachine, exponents: Sequence[SymbolicForm]) -> None:
    """e^710 is no double: scores that may be so large must have their largest subtracted."""
    if any(m.terms.nodes[s][0] in ("max", "log") for s in _shared(exponents)):
        return
    for exponent in exponents:
        most: Fraction | None = exponent.constant
        for symbol, c in exponent.terms:
            node = m.terms.nodes[symbol]
            low, high, _ = m.fields[node[2]] if node[0] == "field" else (None, None, False)
            end = high if c > 0 else low
            most = None if most is None or end is None else most + c * end
        if most is None:
            if OVERFLOW not in m.ledger.assumptions:
                m.ledger.assumptions.append(OVERFLOW)
        elif most > _LARGEST:
            raise Unread("weights that may overflow: subtract the largest score first")


def _shared(exponents: Sequence[SymbolicForm]) -> set[int]:
    """The symbols that all have with the same slope."""
    shared = set(exponents[0].terms)
    for one in exponents[1:]:
        shared &= set(one.terms)
    return {s for s, _ in shared}


def without_common(exponents: Sequence[SymbolicForm]) -> tuple[SymbolicForm, ...]:
    """Without the terms that all have: a common factor of all weights changes no chance."""
    shared = dict(exponents[0].terms)
    for one in exponents[1:]:
        mine = dict(one.terms)
        shared = {s: c for s, c in shared.items() if mine.get(s) == c}
    common = form_of(shared)
    return tuple(one - common for one in exponents)


def weight_of(m: ContributionMachine, value: Any) -> Weight:
    """A weight as number·e^exponent."""
    if is_number(value) and value > 0:
        return SymbolicForm((), Fraction(0)), Fraction(
            value.item() if hasattr(value, "item") else value
        )
    form = m.form(value)
    if not form.constant and len(form.terms) == 1 and form.terms[0][1] > 0:
        ((symbol, c),) = form.terms
        node = m.terms.nodes[symbol]
        if node[0] in ("exp", "npexp"):
            return node[1], c
        if node[0] == "mul":
            (a, x), (b, y) = (weight_of(m, f) for f in node[1:])
            return a + b, c * x * y
        if node[0] == "div":
            (a, x), (b, y) = (weight_of(m, f) for f in node[1:])
            return a - b, c * x / y
    raise Unread("a weight that is no exponential of a score")


def normalised(m: ContributionMachine, chances: Sequence[Any]) -> list[Weight]:
    """The weights behind chances that are w/Σw; nothing else is sure to add up to 1."""
    logarithmic = _by_logarithm(m, [m.form(c) for c in chances])
    if logarithmic is not None:
        return logarithmic
    found = []
    totals = set()
    for chance in chances:
        form = m.form(chance)
        node = m.terms.nodes[form.terms[0][0]] if len(form.terms) == 1 else ("",)
        if form.constant or node[0] != "div" or form.terms[0][1] != 1:
            raise Unread("chances that are no weights over their sum")
        found.append(node[1])
        totals.add(node[2])
    total = form_of({})
    for weight in found:
        total += weight
    if totals != {total}:
        raise Unread("chances that are no weights over their sum")
    return [weight_of(m, w) for w in found]


def _by_logarithm(m: ContributionMachine, chances: Sequence[SymbolicForm]) -> list[Weight] | None:
    """exp(uᵢ − log Σ exp(u)): the same."""
    exponents = []
    for form in chances:
        node = m.terms.nodes[form.terms[0][0]] if len(form.terms) == 1 else ("",)
        if form.constant or node[0] not in ("exp", "npexp") or form.terms[0][1] != 1:
            return None
        exponents.append((node[0], node[1]))
    for symbol, c in exponents[0][1].terms:
        node = m.terms.nodes[symbol]
        if c != -1 or node[0] != "log":
            continue
        own = SymbolicForm(((symbol, Fraction(1)),), Fraction(0))
        parts = [(op, e + own) for op, e in exponents]
        for name in ("exp", "npexp"):  # whichever of the two functions made the sum
            total = form_of({})
            for _, e in parts:
                total += m.terms.apply(name, e)
            if total == node[1]:
                return [(e, Fraction(1)) for _, e in parts]
    return None


# A uniform number against sums of weights --------------------------------------------------------


def against_weights(m: ContributionMachine, op: str, difference: SymbolicForm) -> Any:
    """u·Σw against w₁ + … + wₖ: whether one of the first k is chosen. None where it is not that."""
    parsed = _threshold(m, difference)
    if parsed is None:
        return None
    uniform, sign, part, total = parsed
    chosen_set = frozenset(part.terms)
    if part.constant or total.constant or not chosen_set <= set(total.terms):
        return None
    key = (uniform, total)
    if key not in m.cumulative:
        weights = [weight_of(m, SymbolicForm((t,), Fraction(0))) for t in total.terms]
        selected(m, weights)
        m.cumulative[key] = []
        if any(u == uniform for u, other in m.cumulative if other != total):
            raise Unread("one uniform number in two choices")
    chain = m.cumulative[key]
    if not all(chosen_set <= other or other <= chosen_set for other in chain):
        raise Unread("sums of weights that are not added up one by one")
    chain.append(chosen_set)
    if chosen_set == set(total.terms):
        return (op in ("<", "<=")) if sign > 0 else (op in (">", ">="))
    shown = m.followed(difference)
    if op in ("<", "<="):
        return RecordTruth(">" if op == "<" else ">=", -shown)
    return RecordTruth(op, shown)


def _threshold(
    m: ContributionMachine, difference: SymbolicForm
) -> tuple[int, int, SymbolicForm, SymbolicForm] | None:
    """(u, its sign, A, Z) of ±(u·Z − A), or of ±(u − A/Z)."""
    nodes = m.terms.nodes
    for symbol, c in difference.terms:
        node = nodes[symbol]
        rest = form_of({s: x for s, x in difference.terms if s != symbol}, difference.constant)
        if abs(c) != 1 or not rest.terms:
            continue
        sign = 1 if c > 0 else -1
        if node[0] == "mul":
            for first, second in (node[1:], node[:0:-1]):
                uniform = m.fresh_uniform(first)
                if uniform is not None:
                    return uniform, sign, rest.times(Fraction(-sign)), second
        uniform = m.fresh_uniform(SymbolicForm(((symbol, Fraction(1)),), Fraction(0)))
        if uniform is not None and not rest.constant:
            parts = [(nodes[s], x) for s, x in rest.terms]
            totals = {n[2] for n, _ in parts if n[0] == "div"}
            if len(totals) == 1 and all(n[0] == "div" for n, _ in parts):
                part = form_of({})
                for n, x in parts:
                    part += n[1].times(x * -sign)
                return uniform, sign, part, totals.pop()
    return None


# Noisy maxima ------------------------------------------------------------------------------------


def race(m: ContributionMachine, values: Sequence[Any]) -> bool:
    """Whether which of several noisy values is the largest is one step by itself.

    Each value needs a draw of its own of one and the same kind that nothing has looked at.
    """
    found = []
    kinds = set()
    drawn: set[int] = set()
    for value in values:
        if not isinstance(value, SymbolicForm):
            return False
        noises = [(s, c) for s, c in value.terms if m.terms.kinds[s] & NOISE]
        if len(noises) != 1 or m.terms.nodes[noises[0][0]][0] != "noise":
            return False
        ((symbol, c),) = noises
        if symbol in m.watched or symbol in drawn:
            return False
        noise = m.ledger.noises[m.terms.nodes[symbol][1]]
        if noise.most is not None or noise.family not in ("laplace", "exponential", "gumbel"):
            return False
        if c < 0 and noise.family != "laplace":
            return False
        drawn.add(symbol)
        kinds.add((noise.family, noise.scale, c))
        found.append(value)
    if len(kinds) != 1 or len(found) < 2:
        return False
    ((_, _, c),) = kinds
    exponents = []
    for value in found:
        rest = form_of({s: x for s, x in value.terms if s not in drawn}, value.constant)
        if m.terms.kind(rest) & NOISE:
            return False
        exponents.append(rest.times(1 / abs(c)))
    m.settled_ways()
    m.watched |= drawn
    m.spent |= drawn
    numbers = tuple(m.terms.nodes[s][1] for s in sorted(drawn))
    m.ledger.rows.append(Row(SymbolicForm((), Fraction(0)), without_common(exponents), numbers))
    return True


def largest(m: ContributionMachine, values: Sequence[Any], items: Any, op: str = "max") -> Any:
    """The item whose value is the largest (or least)."""
    if m.record is not None:
        return items[of_record(m, values, op)]
    forms = [m.form(v) for v in values]
    if m.by_cases and len(forms) > 1 and any(f.terms for f in forms):
        if m.in_pass:
            raise Unread("what is the largest of several numbers of a record")
        return items[m.winner(forms if op == "max" else [-f for f in forms])]
    if m.races and race(m, forms if op == "max" else [-f for f in forms]):
        found = m.publicly_followed(lambda v, i: i[_place(v, op)], tuple(forms), items)
    else:
        shown = tuple(m.shown(f) for f in forms)
        found = m.publicly(lambda v, i: i[_place(v, op)], shown, items)
    return with_options(found, items)


def of_record(m: ContributionMachine, values: Sequence[Any], op: str) -> int:
    """The place of the largest (or least) of numbers of one record, by cases; the first of equals.

    What they are compared with may be public, as centres are that a record is assigned to.
    """
    if not values:
        raise Unread("the place of the largest of nothing")
    best = 0
    for place in range(1, len(values)):
        if m.decide(m.compare(">" if op == "max" else "<", values[place], values[best])):
            best = place
    return best


def with_options(value: PublicValue, items: Iterable[Any]) -> PublicValue:
    """What was chosen, with what it was chosen from."""
    known = tuple(items)
    return replace(value, options=known) if all(map(is_plain, known)) else value


def _place(values: Sequence[float], op: str) -> int:
    best = max(values) if op == "max" else min(values)
    return list(values).index(best)


# Samples -----------------------------------------------------------------------------------------


def sample(m: ContributionMachine, rows: Any, size: Any, again: Any, p: Any) -> Rows:
    """rng.choice(x, size=k, replace=False): k of n records, each set of k as likely as another."""
    length = m.public_length
    if p is not None or again is not False or m.in_pass:
        raise Unread("a sample of the data with replacement, or with chances")
    if not is_number(length) or not is_number(size) or not 0 < size <= length:
        raise Unread("a sample of the data whose size, or the number of records, is not known")
    m.picked("choice")
    coin = (("subset", m.picks - 1), Fraction(int(size), int(length)))
    element: Any = RecordPosition()
    if isinstance(rows, Rows):
        if len(rows.cases) != 1 or not rows.whole:
            raise Unread("a sample of a part of the data")
        element = rows.cases[0].element
    heads = RecordTruth("in", None, coin)
    return Rows((Case((heads,), element), Case((heads.negated(),), None, False)), True)


__all__ = ["SmallArray", "against_weights", "choose", "item_of", "largest", "race"]
