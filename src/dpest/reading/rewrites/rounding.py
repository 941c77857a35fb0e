"""A noisy value that is rounded: one path for each whole number that it may become.

Only where the value is noise and numbers, as on a given input: then its likely values are a few,
and the paths of the unlikely ones may stay unexplored like those of any loop without a bound.
"""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal

from dpest.geometry.linear import Condition, Form, Relation
from dpest.reading.tracing.running import running

How = Literal["round", "floor", "ceil", "trunc"]
_DEVIATIONS = 6.0  # half the first window, in standard deviations
_MOST = 64  # whole numbers on each side that are told apart in one fork


def rounded(form: Form, how: How, step: Fraction = Fraction(1)) -> int | None:
    """The whole number k such that the value becomes k·step on this path.

    None where it holds something else than noise: then nobody knows where to look for it. Ties of
    `round` go to the even number, as in Python.
    """
    run = running()
    choose = getattr(run, "choose_endlessly", None)
    noises = {s: run.noise_of(s) if s.kind == "noise" else None for s in form.terms}
    if choose is None or not noises or any(noise is None for noise in noises.values()):
        return None
    scaled = form.times(1 / step)
    mean, variance = float(scaled.constant), 0.0
    for symbol, factor in scaled.terms.items():
        noise = noises[symbol]
        assert noise is not None
        if not isinstance(noise.variance, numbers.Real):
            return None  # its scale is a multiple of an eps without a value
        mean += float(factor) * noise.mean
        variance += float(factor) ** 2 * float(noise.variance)
    if not math.isfinite(mean) or not math.isfinite(variance):
        return None
    size = min(max(math.ceil(_DEVIATIONS * math.sqrt(variance)), 2), _MOST)
    low, high = round(mean) - size, round(mean) + size
    wanted, open_below, open_above = range(low, high + 1), True, True
    while True:
        question = (scaled, how, wanted, open_below, open_above)
        place = choose(question, functools.partial(_cells, *question)) - open_below
        if 0 <= place < len(wanted):
            return wanted[place]
        size = min(2 * size, _MOST)  # further out, in longer steps
        if place < 0:
            wanted, open_below, open_above = range(low - size, low), True, False
            low -= size
        else:
            wanted, open_below, open_above = range(high + 1, high + 1 + size), False, True
            high += size


def _cells(
    form: Form, how: How, wanted: range, open_below: bool, open_above: bool
) -> list[Sequence[Condition]]:
    """The value becomes something smaller (if that is open), each of the wanted, or greater."""
    before = [_before(form, how, k) for k in range(wanted.start, wanted.stop + 1)]
    after = [c.negated() for c in before]
    cells: list[Sequence[Condition]] = [[before[0]]] if open_below else []
    cells += [[after[i], before[i + 1]] for i in range(len(wanted))]
    return [*cells, [after[-1]]] if open_above else cells


def _before(form: Form, how: How, k: int) -> Condition:
    """The value becomes less than k."""
    border, itself = _EDGES[how](k)
    relation: Relation = ">" if itself else ">="
    return Condition(Form.number(border).plus(form, -1), relation)


# The border between becoming k - 1 and becoming k, and whether the border itself becomes k.
_EDGES: dict[How, Callable[[int], tuple[Fraction, bool]]] = {
    "floor": lambda k: (Fraction(k), True),
    "ceil": lambda k: (Fraction(k - 1), False),
    "trunc": lambda k: (Fraction(k), True) if k > 0 else (Fraction(k - 1), False),
    "round": lambda k: (Fraction(2 * k - 1, 2), k % 2 == 0),
}
