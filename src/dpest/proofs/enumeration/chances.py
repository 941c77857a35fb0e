"""The chance of a way through a function: of the outcomes that it took, and of its conditions.

Each condition must be about one draw, or about draws with finitely many outcomes. For uniform and
finite draws the chance is exact, a rational function of e^-eps where eps has no value; for others
it comes from their distribution functions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.geometry.linear import Condition, Form, Symbol, rational
from dpest.noise import DiscreteUniform, Uniform
from dpest.noise.family import Noise
from dpest.proofs.enumeration.machine import EnumeratingMachine, compared
from dpest.proofs.enumeration.ratios import Ratio
from dpest.reading.machine.state import Picked
from dpest.reading.replay import independent

_MOST_CELLS = 4096


def exact_chance(
    machine: EnumeratingMachine, conditions: Sequence[Condition], picks: Iterable[Picked]
) -> Ratio:
    """The chance of a way, exactly."""
    total = Ratio((1,))
    for pick in picks:
        total = total * pick.probability
    for draws, own in _by_draw(machine, conditions):
        if len(draws) > 1:
            total = total * _joint(machine, draws, own)
            continue
        (symbol,) = draws
        noise = _noise(machine, symbol)
        if isinstance(noise, Uniform):
            total = total * _share(machine, noise, symbol, own)
        elif noise.outcomes is None and isinstance(noise, DiscreteUniform):
            total = total * _whole_share(noise, symbol, own)
        else:
            total = total * _joint(machine, draws, own)
    return total


def likelihood(
    machine: EnumeratingMachine, conditions: Sequence[Condition], picks: Iterable[Picked]
) -> float:
    """The chance of a way at known parameters, as a float."""
    total = math.prod((float(p.probability) for p in picks), start=1.0)
    for draws, own in _by_draw(machine, conditions):
        noise = _noise(machine, next(iter(draws)))
        if len(draws) > 1 or noise.discrete:
            total *= float(_joint(machine, draws, own).value)
        else:
            low, high = _ends(machine, next(iter(draws)), own)
            above = 0.0 if low is None else float(noise.cdf(float(low)))
            below = 1.0 if high is None else float(noise.cdf(float(high)))
            total *= max(below - above, 0.0)
    return total


def _noise(machine: EnumeratingMachine, symbol: Symbol) -> Noise:
    noise = machine.supports.noises.get(symbol)
    if noise is None:
        raise RefusedError("a function of a draw that is compared with another draw")
    return noise


def _by_draw(
    machine: EnumeratingMachine, conditions: Sequence[Condition]
) -> list[tuple[set[Symbol], list[Condition]]]:
    """The draws that conditions tie together, with the conditions; public ones are settled."""
    draws_of = {
        c: Condition(Form({s: v for s, v in c.form.terms.items() if s.kind == "noise"}), ">")
        for c in dict.fromkeys(conditions)
    }
    public = [c for c, own in draws_of.items() if not own.form.terms]
    if not all(machine.holds_for_all(c) for c in public):
        raise RefusedError("a way that nobody takes")
    found = []
    for group in independent([own for own in draws_of.values() if own.form.terms]):
        draws = {s for own in group for s in own.form.terms}
        found.append((draws, [c for c in draws_of if not draws.isdisjoint(c.form.terms)]))
    return found


def _border(machine: EnumeratingMachine, symbol: Symbol, condition: Condition) -> Any:
    """Where a condition on one draw changes: a rational, or a function of e^-eps."""
    form, slope = condition.form, condition.form.terms[symbol]
    rest = Form({s: c for s, c in form.terms.items() if s != symbol}, form.constant)
    return machine.value_of(rest) * (-1 / slope) if rest.terms else -rest.constant / slope


def _ends(
    machine: EnumeratingMachine, symbol: Symbol, conditions: Sequence[Condition]
) -> tuple[Any, Any]:
    """Between which ends the conditions leave a continuous draw; None where there is no end."""
    low: Any = None
    high: Any = None
    for condition in conditions:
        if condition.relation == "!=":
            continue  # a null set
        if condition.relation == "==":
            raise RefusedError("equality of a continuous draw, which has probability 0")
        border = _border(machine, symbol, condition)
        if condition.form.terms[symbol] > 0:
            low = border if low is None or border > low else low
        else:
            high = border if high is None or border < high else high
    return low, high


def _share(
    machine: EnumeratingMachine, noise: Uniform, symbol: Symbol, conditions: Sequence[Condition]
) -> Ratio:
    first, last = Ratio.of(rational(noise.low)), Ratio.of(rational(noise.high))
    low, high = _ends(machine, symbol, conditions)
    low = first if low is None or low < first else Ratio.of(low)
    high = last if high is None or high > last else Ratio.of(high)
    return (high - low) / (last - first) if high > low else Ratio(())


def _whole_share(noise: DiscreteUniform, symbol: Symbol, conditions: Sequence[Condition]) -> Ratio:
    """The share of very many whole numbers; the conditions are about nothing else."""
    low, high = noise.low, noise.high
    without: set[int] = set()
    for condition in conditions:
        if set(condition.form.terms) != {symbol}:
            raise RefusedError("a whole number that is compared with a function of eps")
        slope = condition.form.terms[symbol]
        border = -condition.form.constant / slope
        whole = border.denominator == 1
        if condition.relation == "!=":
            without |= {int(border)} if whole else set()
            continue
        strict = condition.relation == ">"
        if condition.relation == "==" or slope > 0:
            low = max(low, math.floor(border) + 1 if strict else math.ceil(border))
        if condition.relation == "==" or slope < 0:
            high = min(high, math.ceil(border) - 1 if strict else math.floor(border))
    left = max(high - low + 1, 0) - sum(low <= k <= high for k in without)
    return Ratio.of(Fraction(left, noise.count))


def _joint(
    machine: EnumeratingMachine, draws: Iterable[Symbol], conditions: Sequence[Condition]
) -> Ratio:
    """The chance of conditions on finite draws, outcome by outcome."""
    noises = {s: _noise(machine, s) for s in sorted(draws)}
    rows = [_outcomes(noise) for noise in noises.values()]
    if math.prod(map(len, rows)) > max(_MOST_CELLS, *map(len, rows)):
        raise RefusedError("conditions on too many draws at once")
    total = Ratio(())
    for choice in itertools.product(*rows):
        values = dict(zip(noises, (Form.number(value) for value, _ in choice), strict=True))
        if all(_holds(machine, c, values) for c in conditions):
            chance: Any = math.prod((p for _, p in choice), start=Ratio((1,)))
            total = total + chance
    return total


def _outcomes(noise: Noise) -> Sequence[tuple[Any, Any]]:
    if noise.outcomes is None:
        raise RefusedError(f"{noise.family} noise has infinitely many outcomes")
    return noise.outcomes


def _holds(
    machine: EnumeratingMachine, condition: Condition, values: Mapping[Symbol, Form]
) -> bool:
    at = Condition(condition.form.substitute(values), condition.relation)
    if machine.in_eps(at.form):
        return machine.holds_for_all(at)
    constant = at.form.constant
    return compared((constant > 0) - (constant < 0), at.relation)
