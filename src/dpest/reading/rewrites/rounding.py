"""A noisy value that is rounded: one case for each whole number that it may become.

Only where the value is noise and numbers, as on a given input: then its likely values are a few,
and the cases of the unlikely ones may be left, like those of any loop without a bound.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dpest.geometry.linear import Condition, Form, Relation, Symbol
from dpest.noise.family import Noise

How = Literal["round", "floor", "ceil", "trunc"]
_DEVIATIONS = 6.0  # half the first window, in standard deviations
_MOST = 64  # whole numbers on each side that are told apart in one question


@dataclass(frozen=True)
class Window:
    """Which of these whole numbers a value becomes, or something below or above where it may."""

    form: Form
    how: How
    wanted: range
    open_below: bool
    open_above: bool

    def cells(self) -> list[Sequence[Condition]]:
        """The value becomes something smaller (if that is open), each of the wanted, or greater."""
        before = [
            _before(self.form, self.how, k) for k in range(self.wanted.start, self.wanted.stop + 1)
        ]
        after = [c.negated() for c in before]
        cells: list[Sequence[Condition]] = [[before[0]]] if self.open_below else []
        cells += [[after[i], before[i + 1]] for i in range(len(self.wanted))]
        return [*cells, [after[-1]]] if self.open_above else cells


def rounded(
    form: Form,
    how: How,
    step: Fraction,
    noises: Mapping[Symbol, Noise],
    choose: Callable[[Window], int],
) -> int | None:
    """The whole number k such that the value becomes k·step, in the case that `choose` chooses.

    None where it holds something else than noise: then nobody knows where to look for it. Ties of
    `round` go to the even number, as in Python.
    """
    scaled = form.times(1 / step)
    near = _likely(scaled, noises)
    if near is None:
        return None
    low, high = near
    size = (high - low) // 2
    window = Window(scaled, how, range(low, high + 1), True, True)
    while True:
        place = choose(window) - window.open_below
        if 0 <= place < len(window.wanted):
            return window.wanted[place]
        size = min(2 * size, _MOST)  # further out, in longer steps
        if place < 0:
            window = Window(scaled, how, range(low - size, low), True, False)
            low -= size
        else:
            window = Window(scaled, how, range(high + 1, high + 1 + size), False, True)
            high += size


def _likely(form: Form, noises: Mapping[Symbol, Noise]) -> tuple[int, int] | None:
    """Whole numbers with nearly all of a value between them; None if it isn't noise alone."""
    mean, variance = float(form.constant), 0.0
    for symbol, factor in form.terms.items():
        noise = noises.get(symbol)
        if noise is None or not isinstance(noise.variance, numbers.Real):
            return None  # its scale is a multiple of an eps without a value
        mean += float(factor) * noise.mean
        variance += float(factor) ** 2 * float(noise.variance)
    if not form.terms or not math.isfinite(mean) or not math.isfinite(variance):
        return None
    size = min(max(math.ceil(_DEVIATIONS * math.sqrt(variance)), 2), _MOST)
    return round(mean) - size, round(mean) + size


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
PLAINLY: Mapping[How, Callable[[Fraction], int]] = {
    "round": round,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
}
