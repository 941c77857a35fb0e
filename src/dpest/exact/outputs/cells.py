"""Cells: the parts of a distribution that an observer can tell apart, as functions of the reals.

Paths with the same discrete output, and with real outputs of the same shape, form a cell. Its
density is a sum over its pieces (one a path), each a product of terms in the cell's coordinates.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.exact.integration.convolution import ConvolutionTerm, mixture, summands
from dpest.exact.integration.elimination import Inequality, Kernel, eliminate
from dpest.exact.integration.latents import Latents, star
from dpest.exact.integration.lattice import exact_product
from dpest.exact.integration.quadrature import Floats
from dpest.exact.integration.sums import merged_noises
from dpest.exact.integration.terms import MassTerm, Term, parameters_of, settle
from dpest.exact.outputs.coordinates import (
    OutputShape,
    Row,
    column_order,
    log_determinant,
    reduce_map,
    shape_of,
)
from dpest.geometry.linear import Condition, Form, Symbol, rational
from dpest.noise.family import Noise
from dpest.running.skeleton import is_negative_zero

_ZERO = Fraction(0)
_TRUE, _FALSE = ("bool", True), ("bool", False)


@dataclass(frozen=True)
class PointMass(Noise):
    """All mass on 0: a lattice output that a path leaves constant."""

    family = "constant"
    discrete = True

    def log_density(self, x: Any) -> Floats:
        return np.where(np.asarray(x) == 0, 0.0, -np.inf)

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, 0.0)

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0,)

    @property
    def tail_rates(self) -> tuple[float, float]:
        return (math.inf, math.inf)


@dataclass(frozen=True)
class PathRegion:
    """A path, or an independent part of one: conditions, some leaves, and its choices' weight.

    `kept`: it is the same object wherever its trace is looked at.
    """

    conditions: tuple[Condition, ...]
    leaves: tuple[Any, ...]
    weight: Fraction | float = Fraction(1)
    label: Any = None
    kept: bool = False


@dataclass(frozen=True)
class Coordinate:
    """One real output coordinate: a combination of the cell's free real leaves.

    Lattice coordinates take values `offset + step·k`; each piece may have its own offset.
    """

    symbol: Symbol
    combination: Row
    lattice: bool
    step: Fraction = Fraction(1)
    offsets: tuple[Fraction, ...] = ()


@dataclass
class CellPiece:
    """One path's part of a cell: log-density = constant + Σ terms."""

    region: PathRegion
    constant: float
    terms: list[Term]
    exact: Fraction | None = None  # the probability, where it is rational

    @functools.cached_property
    def _settled(self) -> tuple[float, list[Term]]:
        """The constant with all terms that no coordinate moves, and the other terms."""
        moving = [t for t in self.terms if parameters_of([t])]
        fixed = [t for t in self.terms if not parameters_of([t])]
        return self.constant + sum(float(t.log_value({})) for t in fixed), moving

    def log_density(self, values: Mapping[Symbol, Floats]) -> Floats:
        constant, moving = self._settled
        total: Floats = np.asarray(constant)
        for term in moving:
            total = total + term.log_value(values)
        return total


@dataclass
class OutputCell:
    """Everything with one discrete output and one shape, under both inputs (or one)."""

    leaves: tuple[Any, ...]  # constants; None where a real is released
    real: tuple[int, ...]
    shape: OutputShape
    coordinates: tuple[Coordinate, ...] = ()
    log_jacobian: float = 0.0  # of the coordinates with respect to the free real leaves
    pieces: tuple[list[CellPiece], list[CellPiece]] = field(default_factory=lambda: ([], []))
    regions: tuple[list[PathRegion], list[PathRegion]] = field(default_factory=lambda: ([], []))

    def log_density(self, side: int, values: Mapping[Symbol, Floats]) -> Floats:
        """Log-density (or log-probability) of one side in the cell's coordinates."""
        pieces = self.pieces[side]
        if not pieces:
            shape = np.broadcast_shapes(*(np.shape(v) for v in values.values()))
            return np.full(shape, -np.inf)
        total = pieces[0].log_density(values)
        for piece in pieces[1:]:
            total = np.logaddexp(total, piece.log_density(values))
        return total

    def exact_probability(self, side: int) -> Fraction | None:
        found = [p.exact for p in self.pieces[side]]
        if any(p is None for p in found):
            return None
        return sum((p for p in found if p is not None), start=_ZERO)


def build_cells(
    sides: Sequence[Sequence[PathRegion]],
    noises: Sequence[Mapping[Symbol, Noise]],
    latents: Sequence[Latents] | None = None,
) -> list[OutputCell]:
    """The cells of one or two lists of regions (same skeleton).

    Their masses are computed on first use; `settle_cells` does many at once.
    """
    latents = latents or [Latents(n) for n in noises]
    flagged = _lattice_positions(sides, noises)
    cells: dict[Any, OutputCell] = {}
    for side, regions in enumerate(sides):
        for region in regions:
            for part in _without_equalities(region, noises[side]):
                key, make = _locate(part, noises[side], flagged)
                cell = cells.get(key)
                if cell is None:
                    cell = cells[key] = make()
                cell.regions[side].append(part)
    for cell in cells.values():
        _coordinate(cell, noises)
        for side in range(len(sides)):
            cell.pieces[side].extend(_pieces(cell, side, noises[side], latents[side]))
    return list(cells.values())


def _pieces(
    cell: OutputCell, side: int, noises: Mapping[Symbol, Noise], latents: Latents
) -> list[CellPiece]:
    """The pieces of one side; those of kept regions are remembered with the latents."""
    regions = cell.regions[side]
    key = None
    if all(r.kept for r in regions):
        key = (cell.coordinates, tuple(id(r) for r in regions))
        known: list[CellPiece] | None = latents.pieces.get(key)
        if known is not None:
            return known
    together = _sum_of_two(cell, side, noises, latents)
    found = [_piece(cell, r, noises, latents) for r in regions] if together is None else [together]
    if key is not None:
        latents.pieces[key] = found
    return found


def settle_cells(cells: Iterable[OutputCell]) -> None:
    """Compute all masses of the cells in one batch, so that cells alike share their nodes."""
    settle(
        [
            term
            for cell in cells
            for pieces in cell.pieces
            for piece in pieces
            for term in piece.terms
            if isinstance(term, MassTerm)
        ]
    )


def _lattice_positions(
    sides: Sequence[Sequence[PathRegion]], noises: Sequence[Mapping[Symbol, Noise]]
) -> set[int]:
    """Leaves that are lattice-valued on some path: numbers there are lattice points too."""
    found: set[int] = set()
    for side, regions in enumerate(sides):
        known = noises[side]
        if not any(n.discrete for n in known.values()):
            continue
        for region in regions:
            for j, leaf in enumerate(region.leaves):
                if isinstance(leaf, Form) and leaf.terms and j not in found:
                    found.update({j} if all(known[s].discrete for s in leaf.terms) else ())
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating, Fraction)) and not isinstance(
        value, (bool, np.bool_)
    )


def constant_key(value: Any) -> Any:
    """Equal for constants that an observer can't tell apart; 1 and 1.0 are one number.

    The sign of a zero is seen: NumPy rounds what lies just below 0 to -0.0.
    """
    if value is True or value is False:
        return _TRUE if value else _FALSE
    if isinstance(value, Form):
        value = value.constant
    if isinstance(value, (bool, np.bool_)):
        return _TRUE if value else _FALSE
    if _is_number(value):
        if is_negative_zero(value):
            return ("number", "-0.0")
        return "nan" if value != value else ("number", value)
    try:
        hash(value)
    except TypeError:
        return ("object", repr(value))
    return (type(value).__name__, value)


def _without_equalities(region: PathRegion, noises: Mapping[Symbol, Noise]) -> Iterable[PathRegion]:
    """Equalities on continuous noise have no mass; on lattice noise they are two bounds."""
    if all(c.relation in (">=", ">") for c in region.conditions):
        return [region]
    pending = [[]]  # type: list[list[Condition]]
    for condition in region.conditions:
        if condition.relation in (">=", ">"):
            options = [[condition]]
        elif any(not noises[s].discrete for s in condition.form.terms):
            if condition.relation == "==":
                return []
            options = [[]]
        elif condition.relation == "==":
            form = condition.form
            options = [[Condition(form, ">="), Condition(form.times(-1), ">=")]]
        else:
            form = condition.form
            options = [[Condition(form, ">")], [Condition(form.times(-1), ">")]]
        pending = [kept + more for kept in pending for more in options]
    return [PathRegion(tuple(kept), region.leaves, region.weight, region.label) for kept in pending]


def _as_form(leaf: Any) -> Form:
    return leaf if isinstance(leaf, Form) else Form(None, rational(leaf))


def _uses(conditions: Sequence[Condition]) -> dict[Symbol, int]:
    counts: dict[Symbol, int] = {}
    for condition in conditions:
        for symbol in condition.form.terms:
            counts[symbol] = counts.get(symbol, 0) + 1
    return counts


def _locate(
    region: PathRegion, noises: Mapping[Symbol, Noise], flagged: set[int]
) -> tuple[Any, Any]:
    """The key of the region's cell, and a function that makes the cell."""
    real = tuple(
        j
        for j, leaf in enumerate(region.leaves)
        if (isinstance(leaf, Form) and leaf.terms)
        or (j in flagged and (_is_number(leaf) or isinstance(leaf, Form)))
    )
    constants = tuple(None if j in real else leaf for j, leaf in enumerate(region.leaves))
    if real:
        forms = [_as_form(region.leaves[j]) for j in real]
        shape = shape_of(forms, noises, _uses(region.conditions), [j in flagged for j in real])
    else:
        shape = OutputShape((), (), ())
    key = (
        tuple(None if j in real else constant_key(leaf) for j, leaf in enumerate(region.leaves)),
        real,
        shape,
    )

    def make() -> OutputCell:
        plain = tuple(leaf.constant if isinstance(leaf, Form) else leaf for leaf in constants)
        return OutputCell(plain, real, shape)

    return key, make


def _free_forms(cell: OutputCell, region: PathRegion) -> list[Form]:
    return [_as_form(region.leaves[cell.real[j]]) for j in cell.shape.free]


def _coordinate(cell: OutputCell, noises: Sequence[Mapping[Symbol, Noise]]) -> None:
    """Choose the cell's coordinates by its first region's map."""
    size = len(cell.shape.free)
    if not size:
        return
    side = 0 if cell.regions[0] else 1
    region = cell.regions[side][0]
    known = noises[side]
    forms = _free_forms(cell, region)
    reduced = reduce_map(forms, column_order(forms, known, _uses(region.conditions)))
    lattice = [tuple(row[j] for j in cell.shape.free) for row in cell.shape.lattice]
    smooth = [
        row.combination
        for row in reduced
        if row.pivot is not None and not known[row.pivot].discrete
    ]
    rows = [*lattice, *smooth]
    coordinates = []
    for k, row in enumerate(rows):
        symbol = Symbol("state", f"u{k}")
        if k < len(lattice):
            coordinates.append(_lattice_coordinate(symbol, row, cell))
        else:
            coordinates.append(Coordinate(symbol, row, False))
    cell.coordinates = tuple(coordinates)
    cell.log_jacobian = log_determinant(rows) if smooth else 0.0


def _lattice_coordinate(symbol: Symbol, row: Row, cell: OutputCell) -> Coordinate:
    denominator = 1
    offsets: dict[Fraction, None] = {}
    for regions in cell.regions:
        for region in regions:
            form = _combine(row, _free_forms(cell, region))
            offsets[form.constant] = None
            for c in form.terms.values():
                denominator = math.lcm(denominator, c.denominator)
    step = Fraction(1, denominator)
    classes = dict.fromkeys(o - (o // step) * step for o in offsets)
    return Coordinate(symbol, row, True, step, tuple(classes))


def _combine(row: Row, forms: Sequence[Form]) -> Form:
    total = Form()
    for c, form in zip(row, forms, strict=True):
        if c:
            total = total.plus(form, c)
    return total


def _piece(
    cell: OutputCell, region: PathRegion, noises: Mapping[Symbol, Noise], latents: Latents
) -> CellPiece:
    weight = region.weight
    constant = 0.0 if weight == 1 else log_rational(Fraction(weight))
    if not cell.coordinates:
        mass = star(latents, region.conditions)
        if mass is not None:
            return CellPiece(region, constant, [mass])
    kernels: list[Kernel] = []
    pinned: dict[Symbol, Form] = {}
    forms = [_combine(c.combination, _free_forms(cell, region)) for c in cell.coordinates]
    conditions = region.conditions
    added = merged_noises([*(c.form for c in conditions), *forms], len(forms), noises)
    if added is not None:
        count = len(conditions)
        conditions = tuple(
            Condition(form, c.relation)
            for form, c in zip(added.forms[:count], conditions, strict=True)
        )
        forms = list(added.forms[count:])
        noises = {**noises, **added.noises}
        latents = latents.extended(added.noises, added.members)
    if cell.coordinates:
        reduced = reduce_map(forms, column_order(forms, noises, _uses(conditions)))
        smooth: list[list[Fraction]] = []
        kept = [k for k, c in enumerate(cell.coordinates) if not c.lattice]
        for row in reduced:
            value = Form()
            for c, coordinate, form in zip(row.combination, cell.coordinates, forms, strict=True):
                if c:
                    value = value.plus(Form({coordinate.symbol: c}, -c * form.constant))
            for symbol, c in row.noise.items():
                if symbol != row.pivot:
                    value = value.plus(Form({symbol: -c}))
            if row.pivot is None:
                kernels.append(Kernel(PointMass(), value))
                continue
            pinned[row.pivot] = value
            kernels.append(Kernel(noises[row.pivot], value))
            if not noises[row.pivot].discrete:
                smooth.append([row.combination[k] for k in kept])
        if smooth:
            constant += log_determinant(smooth)
    inequalities: list[Inequality] = []
    for condition in conditions:
        form = condition.form
        if pinned and any(s in pinned for s in form.terms):
            form = form.substitute(pinned)
        if form.terms:
            inequalities.append(Inequality(form, condition.relation == ">"))
        elif form.constant < 0 or (form.constant == 0 and condition.relation == ">"):
            constant = -math.inf
    terms = eliminate(latents.without(pinned) if pinned else latents, kernels, inequalities)
    if not cell.coordinates and isinstance(weight, Fraction):
        exact = exact_product(terms)
        if exact is not None:
            exact = exact * weight if constant > -math.inf else _ZERO
            return CellPiece(region, log_rational(exact), [], exact)
    return CellPiece(region, constant, terms)


def _sum_of_two(
    cell: OutputCell, side: int, noises: Mapping[Symbol, Noise], latents: Latents
) -> CellPiece | None:
    """All regions in one piece, if the output is a sum of two independent results."""
    regions = cell.regions[side]
    if len(regions) < 4 or len(cell.coordinates) != 1 or cell.coordinates[0].lattice:
        return None
    if any(r.weight != 1 for r in regions):
        return None
    (coordinate,) = cell.coordinates
    found = summands(
        [(r.conditions, _combine(coordinate.combination, _free_forms(cell, r))) for r in regions]
    )
    if found is None:
        return None
    single = Coordinate(coordinate.symbol, (Fraction(1),), False)
    alone = OutputCell((None,), (0,), OutputShape((), (), (0,)), (single,))
    mixtures = []
    for parts in found:
        pieces = [
            _piece(alone, PathRegion(p.conditions, (p.form,)), noises, latents) for p in parts
        ]
        mixed = mixture([(p.constant, p.terms) for p in pieces], coordinate.symbol)
        if mixed is None:
            return None
        mixtures.append(mixed)
    return CellPiece(regions[0], 0.0, [ConvolutionTerm(coordinate.symbol, *mixtures)])


def log_rational(value: Fraction) -> float:
    """The logarithm of a rational, also of a tiny or a huge one."""
    if value <= 0:
        return -math.inf
    if Fraction(1, 2) < value < 2:  # near 1 the difference of two logs would lose digits
        return math.log1p(float(value - 1))
    return math.log(value.numerator) - math.log(value.denominator)


def blocks_of(
    coordinates: Sequence[Coordinate], term_lists: Sequence[Sequence[Term]]
) -> list[list[Symbol]]:
    """The finest split of the coordinates that no term of any list crosses."""
    parent = {c.symbol: c.symbol for c in coordinates}

    def find(s: Symbol) -> Symbol:
        while parent[s] != s:
            s = parent[s]
        return s

    for terms in term_lists:
        for term in terms:
            touched = list(parameters_of([term]))
            for other in touched[1:]:
                parent[find(other)] = find(touched[0])
    groups: dict[Symbol, list[Symbol]] = {}
    for coordinate in coordinates:
        groups.setdefault(find(coordinate.symbol), []).append(coordinate.symbol)
    return list(groups.values())
