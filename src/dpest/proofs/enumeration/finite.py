"""Finite mechanisms by exact enumeration: every input, every outcome of every draw.

Probabilities are rationals, or rational functions of e^-unit; then the bound holds for every
positive value of the unit, by showing that polynomials are not negative on (0, 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpest.ask.declaration import Mechanism
from dpest.errors import PathLimitError, RefusedError
from dpest.proofs.enumeration import independent_bits
from dpest.proofs.enumeration.chances import exact_chance
from dpest.proofs.enumeration.machine import EPS, EnumeratingMachine
from dpest.proofs.enumeration.ratios import (
    NeedsDenominatorError,
    Poly,
    Ratio,
    non_negative,
    plus,
    times,
)
from dpest.proofs.enumeration.replaying import check
from dpest.proofs.enumeration.ways import OutputTexts, Ways
from dpest.reading.machine.exploring.explorer import Limits
from dpest.reading.model import Edge

_MOST_INPUTS = 64
_MOST_PATHS = 20_000
_SECONDS = 10.0
_FINEST = 64


def distribution(
    target: Mechanism, unit: str | None, x: Any, denominator: int, outputs: OutputTexts
) -> dict[str, Ratio]:
    """Output -> exact probability; for every value of the unit, where there is one."""
    machine = EnumeratingMachine(denominator)
    asked = target if unit is None else target.with_params({unit: EPS})
    found: dict[str, Ratio] = {}
    ways: list[Edge] = []
    for way in Ways(machine, asked, x, Limits(seconds=_SECONDS)).ends():
        chance = exact_chance(machine, way.edge.conditions, way.edge.picks)
        if len(ways) == _MOST_PATHS:
            raise PathLimitError(
                f"too many outcomes of the draws (more than {_MOST_PATHS})",
                "Use a smaller mechanism",
                None,
            )
        ways.append(way.edge)
        if chance != 0:
            text = outputs.text(way)
            found[text] = found.get(text, Ratio(())) + chance
    check(machine, ways, target, unit, x)
    return found


@dataclass(frozen=True)
class FiniteBound:
    """ε = power/denominator units for every unit, or e^ε = factor; and where it is attained.

    For each input its tables: one, or one for each independent part of the output.
    """

    tables: Mapping[str, Sequence[Mapping[str, Ratio]]]
    power: int | None
    denominator: int
    factor: Fraction | None
    attained: bool
    pair: tuple[Any, Any]
    output: str


def bound(
    target: Mechanism,
    unit: str | None,
    inputs: Sequence[Any],
    adjacent: Callable[[Any, Any], bool],
) -> FiniteBound:
    """The least bound over all neighbouring inputs and all outputs."""
    if len(inputs) > _MOST_INPUTS:
        raise RefusedError(f"{len(inputs)} inputs are too many to enumerate")
    denominator, tables = 1, None
    while tables is None:
        outputs = OutputTexts()
        try:
            tables = {repr(x): distribution(target, unit, x, denominator, outputs) for x in inputs}
        except NeedsDenominatorError as need:
            denominator *= need.denominator
            if denominator > _FINEST:
                raise RefusedError("exponents of eps with large denominators") from None
    for x, table in tables.items():
        if sum(table.values(), start=Ratio(())) != 1:
            raise RefusedError(f"the probabilities on the input {x} don't add up to one")
    pairs = [(x, y) for x in inputs for y in inputs if x is not y and adjacent(x, y)]
    return _least(tables, pairs, unit is not None, denominator)


def independent(
    mechanism: Any, inputs: Sequence[Any], adjacent: Callable[[Any, Any], bool]
) -> FiniteBound:
    """The bound of a mechanism that releases independent bits (see `independent_bits`)."""
    if len(inputs) > _MOST_INPUTS:
        raise RefusedError(f"{len(inputs)} inputs are too many to enumerate")
    tables = {repr(x): independent_bits.parts_of(mechanism, x) for x in inputs}
    factor, pair, output = independent_bits.worst_pair(tables, inputs, adjacent)
    return FiniteBound(tables, None, 1, factor, True, pair, output)


def _least(
    tables: Mapping[str, Mapping[str, Ratio]],
    pairs: Sequence[tuple[Any, Any]],
    symbolic: bool,
    denominator: int,
) -> FiniteBound:
    factor, power = Fraction(1), 0
    parts = {x: [table] for x, table in tables.items()}
    where: tuple[tuple[Any, Any], str] = (pairs[0] if pairs else (None, None), "")
    for x, y in pairs:
        for output, p in tables[repr(x)].items():
            q = tables[repr(y)].get(output, Ratio(()))
            if not q.top:
                raise RefusedError(
                    f"the output {output} is possible on {x!r} and impossible on {y!r}: ε is "
                    "infinite"
                )
            if symbolic:
                order = _order(q) - _order(p)
                if order > power:
                    power, where = order, ((x, y), output)
            else:
                ratio = p.value / q.value
                if ratio > factor:
                    factor, where = ratio, ((x, y), output)
    if not symbolic:
        return FiniteBound(parts, None, 1, factor, True, where[0], where[1])
    for extra in range(4):
        if all(_holds(tables, x, y, power + extra) for x, y in pairs):
            return FiniteBound(
                parts, power + extra, denominator, None, extra == 0, where[0], where[1]
            )
    raise RefusedError("no multiple of the unit bounds the ratio for every value of it")


def _order(value: Ratio) -> int:
    """The power of a that the value behaves like as a → 0."""
    first = next(i for i, v in enumerate(value.top) if v)
    return first - next(i for i, v in enumerate(value.bottom) if v)


def _holds(tables: Any, x: Any, y: Any, power: int) -> bool:
    shift: Poly = (*[0] * power, 1)
    for output, p in tables[repr(x)].items():
        q = tables[repr(y)][output]
        left = times(times(p.top, q.bottom), shift)
        if not non_negative(plus(times(q.top, p.bottom), left, -1)):
            return False
    return True
