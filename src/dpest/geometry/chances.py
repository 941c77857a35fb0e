"""The probability of a few conditions on independent noises, exact or to full precision."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.geometry.masses import interval_mass
from dpest.noise.family import Noise
from dpest.noise.parameters import exact, is_number
from dpest.noise.uniform import Uniform

Chance = Fraction | float

_TAIL = 1e-19  # of a noise, where sums over it end
_MOST_TERMS = 400_000
_NODES = 24
_AGREEMENT = 1e-14  # of two quadratures


def probability(
    conditions: Sequence[Condition], choices: Iterable[Any], noises: Mapping[Symbol, Noise]
) -> Chance | None:
    """P(all of them), a Fraction where it is rational; None where it isn't known here.

    Known are bounds on single noises, and bounds on one combination a·X + b·Y of two.
    """
    result: Chance = Fraction(1)
    for choice in choices:
        if not is_number(choice.probability):
            return None
        result = result * exact(choice.probability)
    for direction, bounds in _directions(conditions).items():
        if any(s not in noises for s in direction.terms):
            return None
        one = _of_one(noises, bounds) if len(direction.terms) == 1 else _of_two(noises, bounds)
        if one is None:
            return None
        result = result * one
    spoken = [s for direction in _directions(conditions) for s in direction.terms]
    return result if len(spoken) == len(set(spoken)) else None


def _directions(conditions: Sequence[Condition]) -> dict[Form, list[Condition]]:
    """The conditions by the combination of noises that they bound."""
    found: dict[Form, list[Condition]] = {}
    for condition in conditions:
        terms = condition.form.terms
        if not terms:
            continue
        lead = terms[min(terms)]
        direction = Form({s: c / lead for s, c in terms.items()})
        found.setdefault(direction, []).append(condition)
    return found


def _of_one(noises: Mapping[Symbol, Noise], bounds: Sequence[Condition]) -> Chance | None:
    (symbol,) = bounds[0].form.terms
    noise = noises[symbol]
    plain: list[Condition] = []
    for condition in bounds:
        if condition.relation in (">", ">="):
            plain.append(condition)
        elif condition.relation == "==" and noise.discrete:
            plain += [Condition(condition.form.times(k), ">=") for k in (1, -1)]
        else:
            return None
    if isinstance(noise, Uniform) and is_number(noise.low) and is_number(noise.high):
        return _uniform(noise, plain)
    return interval_mass(noise, plain)


def _ends(conditions: Sequence[Condition], slope: Fraction) -> tuple[list[Any], list[Any]]:
    """Lower and upper bounds on the direction, as (value, strict)."""
    lows: list[Any] = []
    highs: list[Any] = []
    for condition in conditions:
        factor = next(iter(condition.form.terms.values())) / slope
        border = -condition.form.constant / factor
        (lows if factor > 0 else highs).append((border, condition.strict))
    return lows, highs


def _uniform(noise: Uniform, conditions: Sequence[Condition]) -> Fraction:
    bottom, top = exact(noise.low), exact(noise.high)
    lows, highs = _ends(conditions, Fraction(1))
    low = max([bottom, *(v for v, _ in lows)])
    high = min([top, *(v for v, _ in highs)])
    return max(high - low, Fraction(0)) / (top - bottom)


def _of_two(noises: Mapping[Symbol, Noise], bounds: Sequence[Condition]) -> float | None:
    terms = bounds[0].form.terms
    if len(terms) != 2 or any(c.relation not in (">", ">=") for c in bounds):
        return None
    (first, a), (second, b) = terms.items()
    lows: list[Any] = []
    highs: list[Any] = []
    for condition in bounds:
        (lows if condition.form.terms[first] / a > 0 else highs).append(
            (-condition.form.constant * a / condition.form.terms[first], condition.strict)
        )
    x, y = noises[first], noises[second]
    try:
        if x.discrete and y.discrete:
            return _lattice(x, y, a, b, lows, highs)
        if not x.discrete and not y.discrete:
            return _integral(x, y, float(a), float(b), lows, highs)
    except (TypeError, ValueError):
        pass
    return None


def _reach(noise: Noise) -> tuple[float, float]:
    """An interval outside of which there is nothing to speak of."""
    low, high = (float(v) for v in noise.support)
    middle = float(noise.quantile(0.5))
    step = 1.0 + noise.width
    if not math.isfinite(low):
        low = middle - step
        while float(noise.cdf(low)) > _TAIL:
            low = middle - 2 * (middle - low)
    if not math.isfinite(high):
        high = middle + step
        while float(noise.sf(high)) > _TAIL:
            high = middle + 2 * (high - middle)
    return low, high


def _lattice(
    x: Noise, y: Noise, a: Fraction, b: Fraction, lows: Sequence[Any], highs: Sequence[Any]
) -> float | None:
    low, high = _reach(x)
    if high - low > _MOST_TERMS:
        return None
    values = range(math.floor(low), math.ceil(high) + 1)
    masses = np.asarray(x.density(np.array(values, dtype=float)), dtype=float)
    scale = math.lcm(a.denominator, b.denominator, *(v.denominator for v, _ in (*lows, *highs)))
    above = [(int(v * scale), strict) for v, strict in lows]
    below = [(int(v * scale), strict) for v, strict in highs]
    slope, step = int(a * scale), int(b * scale)
    # step·Y between bounds on integers, so that no border is rounded.
    least = max((v + strict for v, strict in above), default=None)
    most = min((v - strict for v, strict in below), default=None)
    if step < 0:
        slope, step = -slope, -step
        least, most = (None if most is None else -most), (None if least is None else -least)
    chances = np.array([_between(y, least, most, slope * k, step) for k in values])
    return math.fsum(masses * chances)


def _between(y: Noise, least: int | None, most: int | None, taken: int, step: int) -> float:
    """P(least ≤ taken + step·Y ≤ most)."""
    first = -math.inf if least is None else float(-((taken - least) // step))
    last = math.inf if most is None else float((most - taken) // step)
    return _mass(y, first, last)


def _mass(noise: Noise, first: float, last: float) -> float:
    """P(first ≤ noise ≤ last), from the smaller tail."""
    if first > last:
        return 0.0
    before = first - 1 if noise.discrete else first
    if last == math.inf:
        return 1.0 if first == -math.inf else float(noise.sf(before))
    below, above = float(noise.cdf(last)), float(noise.sf(before))
    if first == -math.inf:
        return below
    if above < below:
        return max(0.0, above - float(noise.sf(last)))
    return max(0.0, below - float(noise.cdf(before)))


def _integral(
    x: Noise, y: Noise, a: float, b: float, lows: Sequence[Any], highs: Sequence[Any]
) -> float | None:
    """Gauss-Legendre between the kinks, twice: with panels and with half of them.

    Equal panels over heavy tails would all miss the middle, and agree: the other noise is the one
    that is integrated, or there is no answer.
    """
    if 0.0 in x.tail_rates:
        return None if 0.0 in y.tail_rates else _integral(y, x, b, a, lows, highs)
    low = max((float(v) for v, _ in lows), default=-math.inf)
    high = min((float(v) for v, _ in highs), default=math.inf)
    if low >= high:
        return 0.0
    start, end = _reach(x)
    kinks = {start, end, *x.kinks}
    for border in (low, high):
        if math.isfinite(border):
            kinks |= {(border - b * k) / a for k in (*y.kinks, 0.0)}
    places = sorted(k for k in kinks if start <= k <= end)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)

    def total(panels: int) -> float:
        parts = []
        for left, right in itertools.pairwise(places):
            ends = np.linspace(left, right, panels + 1)
            half = (ends[1:] - ends[:-1])[:, None] / 2
            at = (ends[1:] + ends[:-1])[:, None] / 2 + half * nodes
            upper, lower = (high - a * at) / b, (low - a * at) / b
            if b < 0:
                upper, lower = lower, upper
            from_low = y.cdf(upper) - y.cdf(lower)
            from_high = y.sf(lower) - y.sf(upper)
            chance = np.where(lower > 0, from_high, from_low)
            parts.append(math.fsum((half * weights * x.density(at) * chance).ravel()))
        return math.fsum(parts)

    one, two = total(48), total(96)
    return two if abs(one - two) <= _AGREEMENT else None
