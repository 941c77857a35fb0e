"""Weights of gaps: length · exp(score), the score being a function of the place alone.

What all gaps share is a common factor, which changes no chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpest.reading.contributions.arithmetic import is_number
from dpest.reading.contributions.forms import SymbolicForm, Unread, form_of, number
from dpest.reading.contributions.gaps.values import PerGap, depends, is_of_gap

NO_LENGTH = (
    "a gap between records is chosen by other weights than its length times e^(a function of its "
    "place): then the point that is drawn from it tells how long the gap is"
)


_NOTHING = number(0)


@dataclass(frozen=True)
class GapWeight:
    """length^power · exp(score + noise), up to a common factor; `sets`: whose length it is."""

    power: Fraction = Fraction(0)
    score: SymbolicForm = _NOTHING
    sets: frozenset[int] = frozenset()
    noise: dict[int, Fraction] = field(default_factory=dict)

    def plus(self, other: GapWeight, times: Fraction = Fraction(1)) -> GapWeight:
        if other.noise:
            raise Unread("a function of the noise of a gap")
        return GapWeight(
            self.power + times * other.power,
            self.score + other.score.times(times),
            self.sets | other.sets,
            self.noise,
        )


def logarithm_of_weight(m: Any, form: SymbolicForm) -> GapWeight:
    """What a form is as the logarithm of a weight, with noise in it."""
    found = GapWeight()
    for symbol, c in form.terms:
        node = m.terms.nodes[symbol]
        if not depends(m, symbol):
            continue  # the same for all gaps
        if node[0] == "gap noise":
            found = GapWeight(found.power, found.score, found.sets, {**found.noise, symbol: c})
        elif node[0] == "log":
            found = found.plus(weight_of_gap(m, node[1]), c)
        elif _is_of_place(m, symbol):
            found = found.plus(GapWeight(score=SymbolicForm(((symbol, c),), Fraction(0))))
        else:
            raise Unread(NO_LENGTH)
    return found


def weight_of_gap(m: Any, form: SymbolicForm) -> GapWeight:
    """What a positive form is as a weight; Unread where it may not be positive."""
    if not is_of_gap(m, form):
        if _is_positive(m, form):
            return GapWeight()
        raise Unread(NO_LENGTH)
    found = _length(m, form)
    if found is not None:
        return GapWeight(Fraction(1), sets=frozenset([found]))
    if form.constant or len(form.terms) != 1 or form.terms[0][1] <= 0:
        raise Unread(NO_LENGTH)
    node = m.terms.nodes[form.terms[0][0]]
    if node[0] in ("exp", "npexp"):
        return logarithm_of_weight(m, node[1])
    if node[0] in ("mul", "div"):
        sign = Fraction(1 if node[0] == "mul" else -1)
        return weight_of_gap(m, node[1]).plus(weight_of_gap(m, node[2]), sign)
    raise Unread(NO_LENGTH)


def _length(m: Any, form: SymbolicForm) -> int | None:
    """The set whose gaps' length a form is, up to a positive factor."""
    if form.constant or len(form.terms) != 2:
        return None
    (first, a), (second, b) = form.terms
    x, y = m.terms.nodes[first], m.terms.nodes[second]
    if x[0] == "high":
        (x, a), (y, b) = (y, b), (x, a)
    same = x[0] == "low" and y[0] == "high" and x[1] == y[1]
    return int(x[1]) if same and b > 0 and a == -b else None


def sign_of(m: Any, form: SymbolicForm) -> int:
    """1 or −1 where a form is a weight, or the negative of one; 0 where nothing is known.

    Of a gap it is that of one that has a length; a sum over all gaps has one such gap at least.
    """
    if is_of_gap(m, form) and m.gap_case != "wide":
        return 0
    for sign in (1, -1):
        try:
            if weight_of_gap(m, form.times(Fraction(sign))):
                return sign
        except Unread:
            continue
    return 0


def _is_positive(m: Any, form: SymbolicForm) -> bool:
    if not form.terms:
        return form.constant > 0
    if form.constant or len(form.terms) != 1 or form.terms[0][1] <= 0:
        return False
    node = m.terms.nodes[form.terms[0][0]]
    if node[0] == "over gaps":
        weight_of_gap(m, node[2])
        return True
    return node[0] in ("exp", "npexp")


def _is_of_place(m: Any, symbol: int) -> bool:
    """Whether a symbol is a function of the place, of public numbers and of how many there are."""
    node = m.terms.nodes[symbol]
    if node[0] in ("place", "pub"):
        return True
    if node[0] == "sum":
        return bool(m.is_length(SymbolicForm(((symbol, Fraction(1)),), Fraction(0))))
    if node[0] not in ("abs", "min", "max", "mul", "div"):
        return False
    return all(
        _is_of_place(m, s) for a in node[1:] if isinstance(a, SymbolicForm) for s in a.symbols
    )


def over_gaps(m: Any, op: str, values: PerGap) -> SymbolicForm:
    """The sum of all gaps' values, or the largest; gaps of length 0 must make no difference."""
    empty = values.empty
    if op == "sum" and not (is_number(empty) and empty == 0):
        raise Unread("gaps between equal records, of length 0, that count")
    if op == "max" and is_number(empty) and not empty < math.inf:
        raise Unread("gaps between equal records, of length 0, that are the largest")
    found: SymbolicForm = m.terms.of("over gaps", op, m.form(values.wide))
    return found


def with_place(m: Any, form: SymbolicForm, rank: SymbolicForm) -> SymbolicForm:
    """A function of the place, at another number."""
    found = number(form.constant)
    for symbol, c in form.terms:
        node = m.terms.nodes[symbol]
        if node[0] == "place":
            one = rank
        elif not depends(m, symbol):
            one = form_of({symbol: Fraction(1)})
        else:
            parts = [with_place(m, a, rank) for a in node[1:]]
            one = m.terms.absolute(*parts) if node[0] == "abs" else m.terms.of(node[0], *parts)
        found += one.times(c)
    return found
