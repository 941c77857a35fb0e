"""Choices between symbolic values: extremes, orders, selections and conversions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpest.geometry.linear import Condition, Form
from dpest.reading.refusals import refuse
from dpest.reading.rewrites.curves import Curved, chosen_of_curves
from dpest.reading.tracing.in_units import chosen_in_units
from dpest.reading.tracing.running import has_run, running
from dpest.reading.tracing.symbolic import (
    TracedReal,
    TracedTruth,
    as_real,
    is_symbolic,
    joined,
    of_numpy,
    settled,
    typed,
)


def chosen(truth: Any, yes: Any, no: Any) -> Any:
    """`yes if truth else no`, without a fork where the answer stays linear."""
    if not isinstance(truth, TracedTruth):
        return yes if truth else no
    either = chosen_in_units(chosen, truth, yes, no)
    if either is not None:
        return either
    if isinstance(yes, Curved) or isinstance(no, Curved):
        either = chosen_of_curves(truth, yes, no)
        return either if either is not None else (yes if bool(truth) else no)
    if isinstance(yes, (bool, np.bool_, TracedTruth)) and isinstance(
        no, (bool, np.bool_, TracedTruth)
    ):
        either = joined(joined(truth, yes, True), joined(truth.negated(), no, True), False)
        kinds = of_numpy(yes), of_numpy(no)
        return typed(either, kinds[0] if kinds[0] is kinds[1] else None)
    first, second = as_real(yes), as_real(no)
    if isinstance(first, TracedReal) and isinstance(second, TracedReal):
        gap = first.form.plus(second.form, -1)
        if not gap.terms:
            number = Form.of(running().indicator(truth))
            return TracedReal(
                second.form.plus(number, gap.constant) if gap.constant else second.form,
                first.integer and second.integer,
                of_numpy(first, second) if first.numpy is second.numpy else None,
            )
    return yes if bool(truth) else no


def clipped(value: Any, low: Any, high: Any) -> Any:
    """np.clip: min(max(value, low), high)."""
    if isinstance(value, TracedReal) and value.form.terms and has_run():
        # A proof knows how far clipped data can move, without a branch on them.
        derive = getattr(running(), "clip", None)
        ends = [None if v is None else as_real(v) for v in (low, high)]
        if derive is not None and all(e is None or not _open_end(e) for e in ends):
            symbol = derive(value.form, *(None if e is None else e.form.constant for e in ends))
            if symbol is not None:
                return TracedReal(Form.of(symbol), value.integer, of_numpy(value, low, high))
    if low is not None and value < low:
        value = low
    if high is not None and value > high:
        value = high
    return value


def _open_end(end: Any) -> bool:
    return not isinstance(end, TracedReal) or bool(end.form.terms)


def sign_of(value: Any) -> Any:
    if isinstance(value, Curved):
        return value.sign()
    if value > 0:
        return 1 if value.integer else 1.0
    zero_possible = not isinstance(value, TracedReal) or not continuous(value.form)
    if zero_possible and value == 0:
        return 0 if value.integer else 0.0
    return -1 if value.integer else -1.0


def with_sign(size: Any, value: Any) -> Any:
    """copysign: |size| with the sign of a noisy value."""
    if not isinstance(value, TracedReal):
        return math.copysign(1.0, value) * abs(size)
    if not isinstance(value, Curved) and not continuous(value.form):
        refuse("the sign of an integer or of a zero", "use np.sign, or compare it with 0")
    return sign_of(value) * abs(size)


def continuous(form: Form) -> bool:
    """Whether it holds a continuous noise, so that it equals a given number with probability 0."""
    run = running()
    noises = (run.noise_of(s) for s in form.terms if s.kind == "noise")
    return any(noise is not None and not noise.discrete for noise in noises)


def converted(value: Any, dtype: np.dtype[Any]) -> Any:
    """`astype` of one element."""
    if not is_symbolic(value):
        return dtype.type(value)
    if dtype.kind == "O":
        return value
    if dtype.kind == "b":
        return value if isinstance(value, TracedTruth) else value != 0
    if isinstance(value, TracedTruth):
        number = value.number()
        return TracedReal(number.form, dtype.kind in "iu")
    if dtype.kind == "f":
        return value if isinstance(value, Curved) else TracedReal(value.form)
    if dtype.kind in "iu" and value.integer:
        return value
    if dtype.kind in "iu":
        return dtype.type(value._whole(f"astype({dtype.name}) of a noisy value", "trunc"))
    refuse(f"astype({dtype.name}) of a noisy value", "keep it a number")


def extreme(values: Sequence[Any], *, least: bool = False) -> int:
    """The place of the greatest (least) of the values, the first one where they tie.

    n values are n cells: one fork, and n − 1 conditions in each.
    """
    if not any(is_symbolic(v) for v in values):
        pick = min if least else max
        return pick(range(len(values)), key=lambda i: values[i])
    if all(isinstance(v, (TracedTruth, bool, np.bool_)) for v in values):
        # The first truth that is (not) so: what comes after it stays undecided.
        return next((i for i, v in enumerate(values) if bool(v) is not least), 0)
    if any(isinstance(v, Curved) for v in values):
        place = 0
        for i, value in enumerate(values):
            if i and (value < values[place] if least else value > values[place]):
                place = i
        return place
    forms: list[Any] = []
    for value in values:
        found = as_real(value)
        if found is NotImplemented:
            raise TypeError(f"can't compare a noisy value with {value!r}")
        forms.append(settled(found).form if isinstance(found, TracedReal) else found)
    for i, form in enumerate(forms):
        if isinstance(form, float) and math.isnan(form):
            return i  # NumPy: a NaN wins
    best = -math.inf if least else math.inf
    infinite = [i for i, form in enumerate(forms) if isinstance(form, float)]
    for i in infinite:
        if forms[i] == best:
            return i
    open_ = [i for i in range(len(forms)) if not isinstance(forms[i], float)]

    def cells() -> list[list[Condition] | None]:
        return [_cell(forms, open_, k, least) for k in open_]

    run = running()
    choose_lazily = getattr(run, "choose_lazily", None)
    if choose_lazily is not None:
        # n·(n−1) conditions are written down only where they are needed, not in a replay.
        return open_[choose_lazily((least, tuple(forms)), cells)]
    found_cells = cells()
    possible = [i for i, cell in enumerate(found_cells) if cell is not None]
    if len(possible) == 1:
        return open_[possible[0]]
    return open_[run.choose(found_cells)]


def _cell(forms: Sequence[Form], open_: Sequence[int], k: int, least: bool) -> Any:
    cell: list[Condition] = []
    for j in open_:
        if j == k:
            continue
        gap = forms[j].plus(forms[k], -1) if least else forms[k].plus(forms[j], -1)
        condition = Condition(gap, ">" if j < k else ">=")
        known = condition.decided()
        if known is False:
            return None
        if known is None:
            cell.append(condition)
    return cell


def ranked(values: Sequence[Any], rank: int) -> tuple[int, list[int]]:
    """The place of the value with `rank` others before it in a stable order, and those after it.

    One fork: which value it is, and which others come before it. n·C(n−1, rank) cells, where an
    order of all values has n!.
    """
    count = len(values)
    if not any(isinstance(v, TracedReal) and v.form.terms for v in values):
        order = ordering(values)
        return order[rank], order[rank + 1 :]
    forms = [settled(real).form for real in map(as_real, values) if isinstance(real, TracedReal)]
    if len(forms) < count:
        order = ordering(values)
        return order[rank], order[rank + 1 :]
    ways = [
        (k, set(before))
        for k in range(count)
        for before in itertools.combinations([j for j in range(count) if j != k], rank)
    ]

    def cells() -> list[list[Condition] | None]:
        return [_between(forms, k, before) for k, before in ways]

    run = running()
    choose_lazily = getattr(run, "choose_lazily", None)
    if choose_lazily is not None:
        place, before = ways[choose_lazily(("rank", rank, tuple(forms)), cells)]
    else:
        found = cells()
        possible = [i for i, cell in enumerate(found) if cell is not None]
        place, before = ways[possible[0] if len(possible) == 1 else run.choose(found)]
    return place, [j for j in range(count) if j != place and j not in before]


def _between(forms: Sequence[Form], k: int, before: set[int]) -> list[Condition] | None:
    cell: list[Condition] = []
    for j in range(len(forms)):
        if j == k:
            continue
        first, last = (j, k) if j in before else (k, j)
        gap = forms[last].plus(forms[first], -1)
        condition = Condition(gap, ">=" if first < last else ">")
        known = condition.decided()
        if known is False:
            return None
        if known is None:
            cell.append(condition)
    return cell


def ordering(values: Sequence[Any]) -> list[int]:
    """A stable ascending order of the values, decided on this path by binary insertion."""
    order: list[int] = []
    for i, value in enumerate(values):
        low, high = 0, len(order)
        while low < high:
            middle = (low + high) // 2
            if value < values[order[middle]]:
                high = middle
            else:
                low = middle + 1
        order.insert(low, i)
    return order
