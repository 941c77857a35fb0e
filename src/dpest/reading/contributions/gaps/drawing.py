"""A gap is chosen, and a uniform point of it drawn: that point is a step, and public.

Its density is exp(s(r)) over an integral, r being the number of records up to the point, so that a
record that is compared with the point is all that counts. The gap itself must never be seen.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpest.reading.contributions.arithmetic import is_number
from dpest.reading.contributions.control.public import Recipe
from dpest.reading.contributions.forms import GAP, SymbolicForm, Unread, form_of, number
from dpest.reading.contributions.gaps.values import (
    POINT,
    GapChoice,
    PerGap,
    chosen_place,
    is_gap_count,
    place,
)
from dpest.reading.contributions.gaps.weights import (
    NO_LENGTH,
    GapWeight,
    logarithm_of_weight,
    weight_of_gap,
    with_place,
)
from dpest.reading.contributions.ledger import LedgerNoise, Row
from dpest.reading.contributions.values import PublicValue, RecordTruth

TWICE = "a uniform number, or noise, that decides which gap is chosen and is used besides"


def chosen_by_weights(m: Any, pool: Any, chances: PerGap) -> SymbolicForm:
    """rng.choice(n + 1, p=weights over their sum)."""
    among = isinstance(pool, PerGap) and pool.wide == place(m) == pool.empty
    if not among and not is_gap_count(m, pool):
        raise Unread("a choice by weights of gaps from something else than their places")
    if not is_number(chances.empty) or chances.empty != 0:
        raise Unread("gaps between equal records, of length 0, that may be chosen")
    weight = weight_of_gap(m, m.form(chances.wide))
    m.picked("choice")
    return choice_of(m, weight, "pick", m.picks - 1)


def chosen_by_race(m: Any, scores: PerGap) -> SymbolicForm:
    """The place of the largest of log weight + Gumbel noise."""
    if not is_number(scores.empty) or scores.empty != -math.inf:
        raise Unread("gaps between equal records, of length 0, that may be chosen")
    return raced(m, m.form(scores.wide))


def chosen_by_times(m: Any, times: PerGap) -> SymbolicForm:
    """The place of the least of exponential noise over weight."""
    if not is_number(times.empty) or times.empty != math.inf:
        raise Unread("gaps between equal records, of length 0, that may be chosen")
    return first_of(m, m.form(times.wide))


def first_of(m: Any, form: SymbolicForm) -> SymbolicForm:
    """Of exponential noise E, −log(E/w) = log w − log E, and −log E is Gumbel noise."""
    parts = _over(m, form)
    noise = _only(m, parts[0]) if parts is not None else None
    if parts is None or noise is None or noise[0] != "gap noise":
        raise Unread("the least of values of gaps, other than of exponential noise over weights")
    k = noise[1]
    m.settled_ways()
    if m.ledger.noises[k].family != "exponential" or k in m.gaps.spent:
        raise Unread("a race of gaps other than by exponential noise of its own")
    m.gaps.spent.add(k)
    return choice_of(m, weight_of_gap(m, parts[1]), "times", k)


def _only(m: Any, form: SymbolicForm) -> Any:
    """The node of a form that is a positive multiple of one symbol."""
    if form.constant or len(form.terms) != 1 or form.terms[0][1] <= 0:
        return None
    return m.terms.nodes[form.terms[0][0]]


def _over(m: Any, form: SymbolicForm) -> tuple[SymbolicForm, SymbolicForm] | None:
    """a and b of a positive multiple of a/b."""
    node = _only(m, form)
    return (node[1], node[2]) if node is not None and node[0] == "div" else None


def raced(m: Any, form: SymbolicForm) -> SymbolicForm:
    m.settled_ways()
    weight = logarithm_of_weight(m, form)
    if len(weight.noise) != 1:
        raise Unread("the largest of values of gaps without noise of one kind")
    ((symbol, slope),) = weight.noise.items()
    k = m.terms.nodes[symbol][1]
    noise = m.ledger.noises[k]
    if noise.family != "gumbel" or slope <= 0 or k in m.gaps.spent:
        raise Unread("a race of gaps other than by Gumbel noise of its own")
    m.gaps.spent.add(k)
    scale = 1 / (slope * noise.scale)
    plain = GapWeight().plus(GapWeight(weight.power, weight.score, weight.sets), scale)
    return choice_of(m, plain, "race", k)


def chosen_by_walk(m: Any, weight: GapWeight, uniform: int) -> SymbolicForm:
    """The first gap at which the sum of the weights so far reaches a uniform share of all."""
    m.settled_ways()
    spend(m, uniform)
    return choice_of(m, weight, "walk", m.terms.nodes[uniform][1])


def share_of_all(m: Any, target: SymbolicForm, weight: SymbolicForm) -> int:
    """The uniform number u of u·Σw; or of u, where the weights are some over their sum."""
    if not target.constant and len(target.terms) == 1:
        ((symbol, c),) = target.terms
        alone = m.fresh_uniform(target)
        if alone is not None and _adds_up_to_one(m, weight):
            return int(alone)
        node = m.terms.nodes[symbol]
        for first, second in (node[1:], node[:0:-1]) if node[0] == "mul" else ():
            uniform = m.fresh_uniform(first)
            if uniform is not None and sum_of(m, second.times(c)) == weight:
                return int(uniform)
    raise Unread("weights of gaps that are added up to something else than a share of all")


def sum_of(m: Any, form: SymbolicForm) -> SymbolicForm | None:
    """f, of a form that is the sum of f over all gaps."""
    if form.constant or len(form.terms) != 1:
        return None
    ((symbol, c),) = form.terms
    node = m.terms.nodes[symbol]
    if node[0] != "over gaps" or node[1] != "sum":
        return None
    found: SymbolicForm = node[2].times(c)
    return found


def _adds_up_to_one(m: Any, weight: SymbolicForm) -> bool:
    if weight.constant or len(weight.terms) != 1:
        return False
    ((symbol, c),) = weight.terms
    node = m.terms.nodes[symbol]
    return c == 1 and node[0] == "div" and sum_of(m, node[2]) == node[1]


def spend(m: Any, uniform: int) -> None:
    if any(uniform == used for used, _ in m.cumulative) or uniform in m.revealed:
        raise Unread(TWICE)
    m.cumulative[uniform, number(0)] = []


def choice_of(m: Any, weight: GapWeight, how: str, draw: int) -> SymbolicForm:
    if weight.power != 1 or len(weight.sets) != 1 or weight.noise:
        raise Unread(NO_LENGTH)
    if m.in_pass or m.key is not None or m.by_cases or m.rows_each != 1:
        raise Unread("a gap between the records of a person, or for each record")
    m.settled_ways()
    (which,) = weight.sets
    m.gaps.choices.append((which, GapChoice(m.gaps.known[which], weight.score, how, draw)))
    return chosen_place(m, len(m.gaps.choices) - 1)


# The noise of each gap --------------------------------------------------------------------------


def noise_of_gaps(m: Any, family: str, scale: Any, which: str) -> SymbolicForm:
    """A draw for each gap, or for each that has a length."""
    if not is_number(scale) or scale <= 0:
        raise Unread("noise of gaps whose scale is not known")
    if m.joining:
        raise Unread("a draw inside of a decision")
    m.ledger.noises.append(LedgerNoise(family, Fraction(scale), gaps=which))
    found: SymbolicForm = m.terms.of("gap noise", len(m.ledger.noises) - 1)
    return found


def noise_of_each(m: Any, family: str, loc: Any, scale: Any, size: Any) -> PerGap:
    """rng.gumbel(scores), or rng.gumbel(size=n + 1): a draw around each of them."""
    if m.gap_case is not None or not (size is None or is_gap_count(m, size)):
        raise Unread("noise for each gap between records, in another number")
    one = noise_of_gaps(m, family, scale, "all")
    drawn = PerGap(one, one, True)
    if is_number(loc):
        return drawn
    found: PerGap = m.binary("+", loc, drawn)
    return found


# The point --------------------------------------------------------------------------------------


def point_of(m: Any, form: SymbolicForm) -> SymbolicForm:
    """low + u·(high − low), or high − u·(high − low), of the gap that was chosen."""
    if len(form.terms) != 2 or form.constant or not m.terms.kind(form) & GAP:
        return form
    for (base, a), (product, c) in (form.terms, form.terms[::-1]):
        end, node = m.terms.nodes[base], m.terms.nodes[product]
        if a != 1 or end[0] != "chosen" or end[2] == "place" or node[0] != "mul":
            continue
        from_low = end[2] == "low"
        for first, second in (node[1:], node[:0:-1]):
            uniform = m.fresh_uniform(first)
            if uniform is not None and _is_length(m, end[1], second.times(c), from_low):
                return drawn(m, end[1], uniform, from_low)
    return form


def _is_length(m: Any, k: int, form: SymbolicForm, upward: bool) -> bool:
    sign = Fraction(1 if upward else -1)
    low, high = (m.terms.symbol(("chosen", k, end)) for end in ("low", "high"))
    return bool(form == form_of({low: -sign, high: sign}))


def point_between(m: Any, low: SymbolicForm, high: SymbolicForm, unit: Any) -> SymbolicForm:
    """rng.uniform(low, high)."""
    return point_of(m, low + m.form(m.scalar("*", unit, high - low)))


def drawn(m: Any, k: int, uniform: int, from_low: bool) -> SymbolicForm:
    """The point, as a step: any one of them is drawn by the rank that it has among the records."""
    choice: GapChoice = m.gaps.choices[k][1]
    if choice.uniform >= 0 or m.in_pass or m.gap_case is not None:
        raise Unread("several points of the gap that was chosen: together they tell where it lies")
    m.settled_ways()
    spend(m, uniform)
    choice.uniform, choice.from_low = m.terms.nodes[uniform][1], from_low
    at = m.number_of(PublicValue(Recipe(POINT, (choice,)), len(m.ledger.rows)))
    ends = (choice.gaps.low, choice.gaps.high)
    exponent = exponent_at(m, choice, at)
    m.ledger.rows.append(Row(number(0), (exponent,), (), ends))
    found: SymbolicForm = m.number_of(PublicValue(Recipe(POINT, (choice,)), len(m.ledger.rows)))
    return found


def exponent_at(m: Any, choice: GapChoice, at: SymbolicForm) -> SymbolicForm:
    """The score at the number of records up to a point."""
    cases = []
    for case in choice.gaps.rows.cases:
        below = RecordTruth(">=", at - m.form(case.element))
        cases += [((*case.conditions, below), [1]), ((*case.conditions, below.negated()), [0])]
    (rank,) = m.sums(cases)
    return with_place(m, choice.score, rank)
