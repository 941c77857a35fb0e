"""Two distributions side by side: their common cells as products of small factors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.exact.integration.convolution import ConvolutionTerm
from dpest.exact.integration.densities import reach, spread
from dpest.exact.integration.latents import Latents
from dpest.exact.integration.quadrature import Floats
from dpest.exact.integration.terms import IntegralTerm, Term, parameters_of
from dpest.exact.losses.doubts import doubt_of, shows_nothing, sure_ratio
from dpest.exact.losses.pair_factors import Factor, Values
from dpest.exact.losses.ratio import NOTHING, Supremum
from dpest.exact.losses.tail_exponents import Pieces
from dpest.exact.outputs import support
from dpest.exact.outputs.cells import (
    CellPiece,
    Coordinate,
    OutputCell,
    blocks_of,
    build_cells,
    settle_cells,
)
from dpest.exact.outputs.factors import groups_of, memory_of
from dpest.geometry.linear import Form, Symbol
from dpest.noise.family import Noise
from dpest.reading.paths import Trace
from dpest.running.skeleton import Skeleton

Noises = tuple[Mapping[Symbol, Noise], Mapping[Symbol, Noise]]


# Where a density is an integral: points of all grids, of one at least, and cells with a grid.
_GRID_BUDGET, _LEAST_GRID, _MOST_GRIDS = 600, 9, 16
_BLURRED = 1e-6  # of a chance: doubts from which on it has no exact value
_MOST_SEARCHES = 2  # of such cells, in each direction, with few reals
_MOST_SEARCHED_REALS = 3
_LEARNT = 3  # searches after which their gains tell which cells can still win


@dataclass(eq=False)
class CellPair:
    """A cell under both inputs: constant log-masses and independent factors."""

    cell: OutputCell
    noises: Noises
    log_constant: tuple[float, float]
    factors: list[Factor]
    doubts: tuple[float, float] = (0.0, 0.0)  # of the two probabilities, by the program's rounding

    @property
    def is_constant(self) -> bool:
        return not self.factors

    @property
    def is_settled(self) -> bool:
        """Whether both sides have a plain probability."""
        return not self.factors and -math.inf not in self.log_constant

    def exists(self, side: int) -> bool:
        """Whether the cell has positive probability on a side, decided exactly."""
        return any(support.has_mass(r, self.noises[side]) for r in self.cell.regions[side])

    def extremes(self) -> tuple[CellExtreme, CellExtreme]:
        p, q = self.log_constant
        if p == -math.inf or q == -math.inf:
            return self._lopsided()
        return self.extreme(0), self.extreme(1)

    def extreme(self, side: int) -> CellExtreme:
        """The supremum of one direction's loss."""
        p, q = self.log_constant
        if p == -math.inf or q == -math.inf:
            return self._lopsided()[side]
        base = p - q if side == 0 else q - p
        parts = [self._confirmed(i, f.extreme(side), side) for i, f in enumerate(self.factors)]
        if any(e.value == -math.inf for e in parts):
            return CellExtreme(-math.inf, self, ())
        return CellExtreme(base + sum(e.value for e in parts), self, tuple(parts))

    def rough(self, points: int | None = None) -> tuple[float, float]:
        """Lower bounds of both suprema; infinite where one side is missing."""
        p, q = self.log_constant
        if p == -math.inf or q == -math.inf:
            return math.inf, math.inf
        parts = [f.rough(points) for f in self.factors]
        return (
            p - q + math.fsum(r[0] for r in parts),
            q - p + math.fsum(r[1] for r in parts),
        )

    def _lopsided(self) -> tuple[CellExtreme, CellExtreme]:
        if not self.factors and self.log_constant == (-math.inf, -math.inf):
            nothing = CellExtreme(-math.inf, self, ())
            return nothing, nothing
        here, there = self.exists(0), self.exists(1)
        forward = here and not there and not self._is_doubtful(0)
        backward = there and not here and not self._is_doubtful(1)
        infinite = Supremum(math.inf, (), "support")
        return (
            CellExtreme(math.inf if forward else -math.inf, self, (infinite,)),
            CellExtreme(math.inf if backward else -math.inf, self, (infinite,)),
        )

    def is_blurred(self, side: int) -> bool:
        """Whether rounding of the program's own numbers shows in the chance of a side."""
        if self.factors or not self.doubts[side]:
            return False
        return self.doubts[side] > _BLURRED * math.exp(self.log_constant[side])

    def _is_doubtful(self, side: int) -> bool:
        """Whether what a side releases here is so improbable that rounding may have made it."""
        return not self.factors and shows_nothing(self.log_constant[side], self.doubts[side])

    def _confirmed(self, index: int, extreme: Supremum, side: int) -> Supremum:
        """A difference of supports counts only if the conditions show it."""
        if extreme.how != "support":
            return extreme
        factor = self.factors[index]
        point = self.typical(side)
        lattice = any(c.lattice for c in self.cell.coordinates)
        shown = support.only_one_side_of_lattice if lattice else support.only_one_side
        for at in (extreme.at, *extreme.others):
            point.update(zip(factor.symbols, at, strict=True))
            if shown(self.cell, self.noises, point, side):
                return replace(extreme, at=at, others=())
        return factor.finite_extremes()[side]

    def typical(self, side: int) -> dict[Symbol, float]:
        """Some coordinates that the side can release, for the factors that are not in question."""
        point = {c.symbol: 0.0 for c in self.cell.coordinates}
        if not self.cell.regions[side]:
            return point
        region = self.cell.regions[side][0]
        inner = [support._opened(c, self.noises[side]) for c in region.conditions]
        symbols = {s for c in inner for s in c.form.terms}
        forms = []
        for coordinate in self.cell.coordinates:
            form = Form()
            for c, j in zip(coordinate.combination, self.cell.shape.free, strict=True):
                if c:
                    leaf = region.leaves[self.cell.real[j]]
                    form = form.plus(leaf if isinstance(leaf, Form) else Form.number(leaf), c)
            forms.append(form)
            symbols |= set(form.terms)
        found = support.feasible(
            [*inner, *support.support_conditions(symbols, self.noises[side], inner=True)]
        )
        if found is not None:
            for symbol in symbols:
                found.setdefault(symbol, Fraction(0))
            for coordinate, form in zip(self.cell.coordinates, forms, strict=True):
                point[coordinate.symbol] = float(form.at(found))
        return point


@dataclass(frozen=True)
class CellExtreme:
    """The supremum of one direction's loss over a cell."""

    value: float
    pair: CellPair
    parts: tuple[Supremum, ...]

    @property
    def sure(self) -> float:
        """What the supremum is at least, whatever rounding did."""
        return self.value - math.fsum(p.doubt for p in self.parts if math.isfinite(p.doubt))


@dataclass
class BlockPair:
    positions: tuple[int, ...]
    cells: list[CellPair]
    _extremes: tuple[CellExtreme, CellExtreme] | None = None

    def extremes(self) -> tuple[CellExtreme, CellExtreme]:
        """The suprema of both directions over all cells."""
        if self._extremes is None:
            settle_extremes([self])
        assert self._extremes is not None
        return self._extremes


def settle_extremes(blocks: Sequence[BlockPair]) -> None:
    """Find the extremes of blocks whose cells compete with each other.

    Cells whose reals hang together are searched, in the direction concerned, only if a grid of
    their kinks comes near the best of all blocks, and if searches lifted other cells by enough
    that this one may win; all other cells are computed. Where a density is itself an integral, the
    grids share a budget and few cells are searched: what is found is the loss at an explicit
    output, a lower bound in any case.
    """
    settled = [_best_constants(block) for block in blocks]
    cells = [c for block in blocks for c in block.cells if not c.is_settled]
    joint = [c for c in cells if any(len(f.coordinates) > 1 for f in c.factors)]
    costly = {id(c) for c in joint if any(f.costly for f in c.factors)}
    points = max(_LEAST_GRID, _GRID_BUDGET // max(len(costly), 1))
    looked_at = _spread([c for c in joint if id(c) in costly])
    rough = {
        id(c): c.rough(points if id(c) in costly else None)
        if id(c) not in costly or id(c) in looked_at
        else (-math.inf, -math.inf)
        for c in joint
    }
    found = [{id(c): c.extremes()[side] for c in cells if id(c) not in rough} for side in (0, 1)]
    for side in (0, 1):
        known = found[side]
        searches, tried, gain = _MOST_SEARCHES, 0, 0.0
        # Outputs that only one side seems to have come first: the search confirms or refutes them.
        for cell in sorted(joint, key=lambda c: -rough[id(c)][side]):
            value = rough[id(cell)][side]
            finite = [e.value for e in known.values()]
            finite += [own[side].value for constants in settled for own in constants]
            finite += [r[side] for r in rough.values() if r[side] < math.inf]
            top = max(finite, default=-math.inf)
            near = value == math.inf or value >= top - 0.05 * abs(top) - 1e-9
            if near and tried >= _LEARNT and value < math.inf:
                # Searches so far say how far above its grid a cell may reach.
                near = value + 4 * gain > top + 1e-10 * max(1.0, abs(top))
            few = len(cell.cell.coordinates) <= _MOST_SEARCHED_REALS
            if near and (id(cell) not in costly or (few and searches > 0)):
                searches -= id(cell) in costly
                known[id(cell)] = cell.extreme(side)
                if value < math.inf:
                    tried, gain = tried + 1, max(gain, known[id(cell)].value - value)
            else:  # an infinity that nobody confirmed is none
                value = value if value < math.inf else -math.inf
                known[id(cell)] = CellExtreme(value, cell, ())
    for block, constants in zip(blocks, settled, strict=True):
        others = [c for c in block.cells if not c.is_settled]
        forward, backward = (
            max(
                [*(found[side][id(c)] for c in others), *(own[side] for own in constants)],
                key=lambda e: e.sure,
            )
            for side in (0, 1)
        )
        block._extremes = (forward, backward)


def _best_constants(block: BlockPair) -> list[tuple[CellExtreme, CellExtreme]]:
    """The best cell of each direction among those that are two numbers; [] if there are none."""
    cells = [c for c in block.cells if c.is_settled]
    if not cells:
        return []
    forward = [sure_ratio(*c.log_constant, c.doubts) for c in cells]
    backward = [sure_ratio(*c.log_constant[::-1], c.doubts[::-1]) for c in cells]
    high, low = int(np.argmax(forward)), int(np.argmax(backward))
    return [
        (
            CellExtreme(forward[high], cells[high], ()),
            CellExtreme(backward[low], cells[low], ()),
        )
    ]


def _spread(cells: Sequence[CellPair]) -> set[int]:
    """Some of the cells, from few released reals to many."""
    ordered = sorted(cells, key=lambda c: len(c.cell.coordinates))
    if len(ordered) <= _MOST_GRIDS:
        return {id(c) for c in ordered}
    return {id(ordered[i]) for i in np.linspace(0, len(ordered) - 1, _MOST_GRIDS).astype(int)}


@dataclass
class GroupPair:
    """Outputs of one skeleton: independent blocks, whose losses add."""

    skeleton: Skeleton
    blocks: list[BlockPair]
    details: dict[str, Any] = field(default_factory=dict)


def compare(first: Trace, second: Trace) -> list[GroupPair]:
    """The two traces' distributions, cut into groups, blocks and cells."""
    noises: Noises = (first.noises, second.noises)
    groups = groups_of([first, second])
    latents = [latents_of(first), latents_of(second)]
    built = [[build_cells(b.regions, noises, latents) for b in g.blocks] for g in groups]
    settle_cells(cell for blocks in built for cells in blocks for cell in cells)
    return [
        GroupPair(
            group.skeleton,
            [
                BlockPair(block.positions, [cell_pair(c, noises) for c in cells])
                for block, cells in zip(group.blocks, blocks, strict=True)
            ],
        )
        for group, blocks in zip(groups, built, strict=True)
    ]


def latents_of(trace: Trace) -> Latents:
    """The noises of a trace, with all that was computed for its paths while it lives."""
    memory = memory_of(trace)
    if memory.latents is None:
        memory.latents = Latents(trace.noises)
    found: Latents = memory.latents
    return found


def cell_pair(cell: OutputCell, noises: Noises) -> CellPair:
    if not cell.coordinates:
        logs = tuple(
            float(cell.log_density(side, {})) if cell.pieces[side] else -math.inf for side in (0, 1)
        )
        doubts = [doubt_of(cell.pieces[side], noises[side]) for side in (0, 1)]
        return CellPair(cell, noises, (logs[0], logs[1]), [], (doubts[0], doubts[1]))
    if len(cell.pieces[0]) + len(cell.pieces[1]) == 1:
        return _of_one_side(cell, noises, 0 if cell.pieces[0] else 1)
    if not cell.pieces[0] or not cell.pieces[1]:
        return CellPair(
            cell,
            noises,
            (0.0 if cell.pieces[0] else -math.inf, 0.0 if cell.pieces[1] else -math.inf),
            [_whole(cell, noises)],
        )
    if len(cell.pieces[0]) == 1 and len(cell.pieces[1]) == 1:
        return _split(cell, noises)
    return CellPair(cell, noises, (0.0, 0.0), [_whole(cell, noises)])


def _widest(cell: OutputCell, noises: Noises) -> float:
    return max([1e-12, *(_length(noise) * c for noise, c in _scaled_noises(cell, noises))])


def _heavy(cell: OutputCell, noises: Noises) -> float:
    """How far out the tails that fall like a power still weigh; 0 without such noise."""
    scaled = _scaled_noises(cell, noises)
    return max([0.0, *(max(reach(noise)) * c for noise, c in scaled if 0.0 in noise.tail_rates)])


def _scaled_noises(cell: OutputCell, noises: Noises) -> Iterator[tuple[Noise, float]]:
    """The noises in a cell, with the sizes of their coefficients."""
    for side in (0, 1):
        forms = {
            id(f): f
            for region in cell.regions[side]
            for f in (*(c.form for c in region.conditions), *region.leaves)
            if isinstance(f, Form)
        }
        terms = {(s, c) for form in forms.values() for s, c in form.terms.items()}
        for symbol, c in terms:
            yield noises[side][symbol], abs(float(c))


def _length(noise: Noise) -> float:
    rates = [r for r in noise.tail_rates if 0 < r < math.inf]
    return max([1 / r for r in rates] + [spread(noise)])


def _factor(
    cell: OutputCell,
    coordinates: Sequence[Coordinate],
    functions: tuple[Callable[[Values], Floats], Callable[[Values], Floats]],
    terms: Sequence[Term],
    widest: float,
    heavy: float,
    sides: tuple[tuple[Term, ...], tuple[Term, ...]] | None = None,
    pieces: tuple[Pieces, Pieces] | None = None,
) -> Factor:
    lines = list(dict.fromkeys(line for t in terms for line in t.lines()))
    scale = min([widest, *(t.scale(c.symbol) for t in terms for c in coordinates)])
    costly = any(isinstance(t, IntegralTerm) for t in terms)
    moving = tuple(
        t for t in terms if isinstance(t, (IntegralTerm, ConvolutionTerm)) and parameters_of([t])
    )
    if sides is not None:
        pieces = ([sides[0]], [sides[1]])
    return Factor(
        tuple(coordinates), functions, lines, scale, widest, sides, pieces, costly, moving, heavy
    )


def _whole(cell: OutputCell, noises: Noises) -> Factor:
    terms = [t for pieces in cell.pieces for piece in pieces for t in piece.terms]
    return _factor(
        cell,
        cell.coordinates,
        (lambda v: cell.log_density(0, v), lambda v: cell.log_density(1, v)),
        terms,
        _widest(cell, noises),
        _heavy(cell, noises),
        pieces=(_possible(cell.pieces[0]), _possible(cell.pieces[1])),
    )


def _possible(pieces: Sequence[CellPiece]) -> list[list[Term]]:
    return [piece.terms for piece in pieces if piece.constant > -math.inf]


def _split(cell: OutputCell, noises: Noises) -> CellPair:
    """One piece on each side: the terms fall into independent blocks of coordinates."""
    (first,), (second,) = cell.pieces
    constants = [first.constant, second.constant]
    shared: list[list[Term]] = [[], []]
    for side, piece in enumerate((first, second)):
        for term in piece.terms:
            if parameters_of([term]):
                shared[side].append(term)
            else:
                constants[side] += float(term.log_value({}))
    widest, heavy = _widest(cell, noises), _heavy(cell, noises)
    factors = []
    for symbols in blocks_of(cell.coordinates, shared):
        inside = set(symbols)
        mine = [[t for t in shared[s] if parameters_of([t]) <= inside] for s in (0, 1)]
        coordinates = [c for c in cell.coordinates if c.symbol in inside]
        factors.append(
            _factor(
                cell,
                coordinates,
                (_product(mine[0]), _product(mine[1])),
                [*mine[0], *mine[1]],
                widest,
                heavy,
                (tuple(mine[0]), tuple(mine[1])),
            )
        )
    return CellPair(cell, noises, (constants[0], constants[1]), factors)


def _of_one_side(cell: OutputCell, noises: Noises, side: int) -> CellPair:
    """One side alone has the cell, in one piece: its independent blocks, with equal densities.

    That the other side has nothing is in its constant, once for all blocks.
    """
    (piece,) = cell.pieces[side]
    alike = replace(cell, pieces=([piece], [piece]))
    found = _split(alike, noises)
    constants = [-math.inf, -math.inf]
    constants[side] = found.log_constant[side]
    return CellPair(cell, noises, (constants[0], constants[1]), found.factors)


def _product(terms: Sequence[Term]) -> Callable[[Values], Floats]:
    def log_density(values: Values) -> Floats:
        total: Floats = np.zeros(np.broadcast_shapes(*(np.shape(v) for v in values.values())))
        for term in terms:
            total = total + term.log_value(values)
        return total

    return log_density


def quadrature_error(cells: Sequence[CellPair]) -> float:
    """The largest relative error estimate of any integral in the cells."""
    worst = 1e-15
    for pair in cells:
        for pieces in pair.cell.pieces:
            for piece in pieces:
                for term in piece.terms:
                    worst = max(worst, getattr(term, "error", 0.0))
                    worst = max(worst, getattr(getattr(term, "density", None), "error", 0.0))
                    if isinstance(term, IntegralTerm):
                        for inner in term.inner:
                            worst = max(worst, getattr(inner, "error", 0.0))
    return worst


__all__ = ["NOTHING", "BlockPair", "CellExtreme", "CellPair", "Factor", "GroupPair", "compare"]
