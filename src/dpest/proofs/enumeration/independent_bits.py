"""Finite mechanisms whose released bits are independent: twenty bits are twenty small tables.

The trace of one input must be a single path without conditions whose released leaves are bits,
each decided by draws of its own. The probability of a bit is exact: the borders that its conditions
name cut each draw into intervals (or it has finitely many outcomes), and each cell is decided.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.geometry.linear import Form, Symbol, rational
from dpest.noise import Bernoulli, Uniform
from dpest.noise.family import Noise
from dpest.proofs.enumeration.ratios import Ratio
from dpest.reading.machine.values import LOG_NOTE
from dpest.reading.trace import trace
from dpest.reading.world import conditions_of

_MOST_CELLS = 4096
Parts = list[dict[str, Ratio]]


def parts_of(mechanism: Any, x: Any) -> Parts:
    """One table per released leaf; refuses where the leaves are not independent bits."""
    found = trace(mechanism, x, max_paths=1)
    if found.leftover or len(found.paths) != 1 or found.paths[0].conditions:
        raise RefusedError("the output is not a list of independent bits")
    if LOG_NOTE in found.notes:
        raise RefusedError("a log of a function whose inputs are looked at one by one")
    (path,) = found.paths
    if path.choices:
        raise RefusedError("the output is not a list of independent bits")
    used: set[Symbol] = set()
    parts: Parts = []
    for leaf in path.leaves:
        if not isinstance(leaf, Form):
            parts.append({repr(leaf): Ratio((1,))})
            continue
        bit = next(iter(leaf.terms), None)
        if bit is None or leaf != Form.of(bit) or bit not in found.indicators:
            raise RefusedError("a released number is not a bit")
        truth = found.indicators[bit]
        draws = {s for c in conditions_of(truth) for s in c.form.terms}
        if draws & used or any(s.kind != "noise" for s in draws):
            raise RefusedError("released bits share a draw")
        used |= draws
        chance = _chance(truth, {s: found.noises[s] for s in sorted(draws)})
        parts.append(
            {str(v): Ratio.of(p) for v, p in ((1, chance), (0, 1 - chance)) if p}  # 0 or 1 is sure
        )
    return parts


def _chance(truth: Any, noises: Mapping[Symbol, Noise]) -> Fraction:
    """The probability that a formula of conditions on single draws is true."""
    borders: dict[Symbol, set[Fraction]] = {s: set() for s in noises}
    for condition in conditions_of(truth):
        if len(condition.form.terms) != 1:
            raise RefusedError("a condition on several draws at once")
        ((symbol, slope),) = condition.form.terms.items()
        borders[symbol].add(-condition.form.constant / slope)
    cells = [_cells(noises[s], borders[s]) for s in noises]
    if math.prod(map(len, cells)) > _MOST_CELLS:
        raise RefusedError("a bit depends on too many draws")
    total = Fraction(0)
    for choice in itertools.product(*cells):
        values = dict(zip(noises, (point for point, _ in choice), strict=True))
        if _true(truth, values):
            total += math.prod((p for _, p in choice), start=Fraction(1))
    return total


def _cells(noise: Noise, borders: set[Fraction]) -> Sequence[tuple[Fraction, Fraction]]:
    """A point and the probability of each part of a draw; borders of a uniform are null sets."""
    if isinstance(noise, Uniform):
        low, high = (rational(v) for v in (noise.low, noise.high))
        ends = [low, *sorted(b for b in borders if low < b < high), high]
        return [((a + b) / 2, (b - a) / (high - low)) for a, b in itertools.pairwise(ends)]
    if isinstance(noise, Bernoulli):
        p = rational(noise.p)
        return [(Fraction(0), 1 - p), (Fraction(1), p)]
    outcomes = noise.outcomes
    if outcomes is None:
        raise RefusedError(f"{noise.family} noise has infinitely many outcomes")
    return [(rational(v), rational(p)) for v, p in outcomes]


def _true(truth: Any, values: Mapping[Symbol, Fraction]) -> bool:
    if truth.condition is not None:
        return bool(truth.condition.holds(values))
    parts = [_true(p, values) for p in truth.parts]
    return all(parts) if truth.conjunction else any(parts)


def worst_pair(
    tables: Mapping[str, Parts], inputs: Sequence[Any], adjacent: Callable[[Any, Any], bool]
) -> tuple[Fraction, tuple[Any, Any], str]:
    """The greatest e^ε over neighbours: ratios of independent parts multiply, and so do maxima."""
    worst, pair, output = Fraction(1), (inputs[0], inputs[0]), ""
    for x, y in itertools.permutations(inputs, 2):
        if not adjacent(x, y):
            continue
        first, second = tables[repr(x)], tables[repr(y)]
        if len(first) != len(second):
            raise RefusedError("outputs of different lengths: ε is infinite")
        factor, shown = Fraction(1), []
        for p, q in zip(first, second, strict=True):
            if set(p) - set(q):
                raise RefusedError(
                    f"an output is possible on {x!r} and impossible on {y!r}: ε is infinite"
                )
            best = max(p, key=lambda v: p[v].value / q[v].value)
            factor *= p[best].value / q[best].value
            shown.append(best)
        if factor > worst:
            worst, pair, output = factor, (x, y), "[" + ", ".join(shown) + "]"
    return worst, pair, output
