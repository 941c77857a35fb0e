"""What is possible at all: decided exactly from the conditions, never from a small number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

from dpest.exact.outputs.cells import Coordinate, OutputCell, PathRegion
from dpest.geometry.linear import Condition, Form, Relation, Symbol, rational
from dpest.geometry.polyhedra import feasible
from dpest.noise.discrete_uniform import DiscreteUniform
from dpest.noise.family import Noise
from dpest.noise.lattice import LatticeNoise

_ONE = Fraction(1)


def support_conditions(
    symbols: Iterable[Symbol], noises: Mapping[Symbol, Noise], *, inner: bool
) -> list[Condition]:
    """Where the noises can be. `inner`: the open support, for continuous noise."""
    found = []
    for symbol in symbols:
        noise = noises[symbol]
        relation: Relation = ">" if inner and not noise.discrete else ">="
        low, high = noise.support
        if math.isfinite(low):
            found.append(Condition(Form({symbol: _ONE}, -rational(float(low))), relation))
        if math.isfinite(high):
            found.append(Condition(Form({symbol: -_ONE}, rational(float(high))), relation))
    return found


def has_mass(region: PathRegion, noises: Mapping[Symbol, Noise]) -> bool:
    """Whether the region has positive probability.

    With continuous noise alone: whether its interior meets the open support. Conditions on
    lattice noise are taken as they stand.
    """
    if region.weight <= 0:
        return False
    conditions = [_opened(c, noises) for c in region.conditions]
    symbols = {s for c in conditions for s in c.form.terms}
    return feasible([*conditions, *support_conditions(symbols, noises, inner=True)]) is not None


def _opened(condition: Condition, noises: Mapping[Symbol, Noise]) -> Condition:
    if condition.relation == ">=" and any(not noises[s].discrete for s in condition.form.terms):
        return Condition(condition.form, ">")
    return condition


def possible_at(
    cell: OutputCell,
    region: PathRegion,
    noises: Mapping[Symbol, Noise],
    point: Mapping[Symbol, Fraction],
    *,
    inner: bool,
) -> bool:
    """Whether the region can release the coordinates `point`.

    `inner`: also everywhere near the point (all conditions strict), so that the density there is
    positive. Without it: whether the point lies in the closed region.
    """
    conditions = list(region.conditions)
    if inner:
        conditions = [_opened(c, noises) for c in conditions]
    else:
        conditions = [
            Condition(c.form, ">=") if c.relation == ">" else c
            for c in conditions
            if c.relation != "!="
        ]
    symbols = {s for c in conditions for s in c.form.terms}
    for coordinate in cell.coordinates:
        form = Form(None, -point[coordinate.symbol])
        for c, j in zip(coordinate.combination, cell.shape.free, strict=True):
            if c:
                leaf = region.leaves[cell.real[j]]
                form = form.plus(leaf if isinstance(leaf, Form) else Form.number(leaf), c)
        symbols |= set(form.terms)
        conditions.append(Condition(form, "=="))
    conditions += support_conditions(symbols, noises, inner=inner)
    return feasible(conditions) is not None


def only_one_side(
    cell: OutputCell,
    noises: tuple[Mapping[Symbol, Noise], Mapping[Symbol, Noise]],
    point: Mapping[Symbol, float],
    side: int,
) -> bool:
    """Whether the output near `point` is possible on `side` and impossible on the other."""
    exact = {s: Fraction(v) for s, v in point.items()}
    here = any(possible_at(cell, r, noises[side], exact, inner=True) for r in cell.regions[side])
    other = 1 - side
    return here and not any(
        possible_at(cell, r, noises[other], exact, inner=False) for r in cell.regions[other]
    )


def only_one_side_of_lattice(
    cell: OutputCell,
    noises: tuple[Mapping[Symbol, Noise], Mapping[Symbol, Noise]],
    point: Mapping[Symbol, float],
    side: int,
) -> bool:
    """Whether an output with lattice coordinates, seen on `side`, is impossible on the other.

    A sum of unbounded noises is known on a window only: a mass of zero outside of it proves
    nothing. Impossible is what the supports and conditions exclude, or what lies between the
    points of the other side's lattice. An output of whole numbers alone is impossible, too, where
    the continuous noise would have to lie on a border: that has probability 0.
    """
    exact = {s: Fraction(v) for s, v in point.items()}
    whole = all(c.lattice for c in cell.coordinates)
    for coordinate in cell.coordinates:
        if coordinate.lattice:
            exact[coordinate.symbol] = _snapped(coordinate, point[coordinate.symbol])
    other = 1 - side
    return not any(
        possible_at(cell, r, noises[other], exact, inner=whole)
        and _on_lattice(cell, r, noises[other], exact)
        for r in cell.regions[other]
    )


def _snapped(coordinate: Coordinate, value: float) -> Fraction:
    near = [
        offset + coordinate.step * round((Fraction(value) - offset) / coordinate.step)
        for offset in coordinate.offsets
    ]
    return min(near, key=lambda v: abs(v - Fraction(value)), default=Fraction(value))


def _on_lattice(
    cell: OutputCell,
    region: PathRegion,
    noises: Mapping[Symbol, Noise],
    point: Mapping[Symbol, Fraction],
) -> bool:
    """Whether whole values of the noise can reach the point, one coordinate at a time."""
    for coordinate in cell.coordinates:
        if not coordinate.lattice:
            continue
        form = Form(None, -point[coordinate.symbol])
        for c, j in zip(coordinate.combination, cell.shape.free, strict=True):
            if c:
                leaf = region.leaves[cell.real[j]]
                form = form.plus(leaf if isinstance(leaf, Form) else Form.number(leaf), c)
        if any(not isinstance(noises[s], (LatticeNoise, DiscreteUniform)) for s in form.terms):
            continue  # values of other families may lie anywhere
        whole = math.lcm(*(c.denominator for c in (form.constant, *form.terms.values())))
        divisor = math.gcd(*(int(c * whole) for c in form.terms.values()))
        rest = int(form.constant * whole)
        if rest % divisor if divisor else rest:
            return False
    return True
