"""How likely given outputs are on two inputs: both log densities, for a whole column of outputs.

An output belongs to the cell with its discrete part; where several cells have it (a clipped number
is a constant, or a real), those with the fewest reals that have any mass there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.exact.integration.quadrature import Floats
from dpest.exact.losses.pair_factors import Factor
from dpest.exact.losses.pairs import BlockPair, CellPair, GroupPair
from dpest.exact.outputs.cells import constant_key
from dpest.running.samples import Samples, SkeletonGroup
from dpest.running.skeleton import Nest, Skeleton, leaf_kinds, numbers_alike

Bools = NDArray[np.bool_]
Columns = Sequence[tuple[str, NDArray[Any]]]  # the kind and the values of each leaf
_Piece = tuple[NDArray[np.int64], Columns]  # the places of some outputs, and their leaves

_NUMERIC = ("int", "float")
# By how much of its own size a relation between released numbers may miss, for their rounding.
_ROUNDING = 1e-9
# Outputs at which a density that is an integral is computed.
_NODES = 500
_MANY = 1 << 32  # reals: more than any output has


class _Logs:
    """Both log densities of some outputs, in terms of the fewest reals that have mass there."""

    def __init__(self, size: int) -> None:
        self.reals = np.full(size, _MANY)
        self.log = np.full((2, size), -np.inf)

    def add(self, rows: NDArray[np.int64], reals: Any, log: Floats) -> None:
        """More mass at some of the outputs, as a density in so many reals."""
        alive = np.isnan(log).any(axis=0) | (log > -np.inf).any(axis=0)
        reals = np.broadcast_to(reals, rows.shape)[alive]
        rows, log = rows[alive], log[:, alive]
        fewer, equal = reals < self.reals[rows], reals == self.reals[rows]
        self.log[:, rows[equal]] = np.logaddexp(self.log[:, rows[equal]], log[:, equal])
        self.log[:, rows[fewer]] = log[:, fewer]
        self.reals[rows[fewer]] = reals[fewer]


def log_densities(parts: Sequence[Sequence[GroupPair]], samples: Samples) -> tuple[Floats, Floats]:
    """Log densities of each output on two inputs, with respect to one measure.

    `parts` are the independent parts of the output, compared. NaN where an integral did not
    converge; minus infinity on both where no cell has the output.
    """
    log = np.zeros((2, samples.size))
    # Outputs with one part in common are looked at together, whatever their other parts are.
    pieces: list[dict[tuple[Skeleton, ...], list[_Piece]]] = [{} for _ in parts]
    for group in samples.groups:
        for alike, (skeletons, columns) in zip(pieces, _taken_apart(parts, group), strict=True):
            alike.setdefault(skeletons, []).append((group.rows, columns))
    for part, alike in zip(parts, pieces, strict=True):
        for skeletons, some in alike.items():
            rows, columns = _joined(some)
            log[:, rows] += _of_part(part, skeletons, columns, len(rows))
    return log[0], log[1]


def _joined(some: Sequence[_Piece]) -> _Piece:
    if len(some) == 1:
        return some[0]
    columns = [
        (leaf[0][0], np.concatenate([values for _, values in leaf]))
        for leaf in zip(*(columns for _, columns in some), strict=True)
    ]
    return np.concatenate([rows for rows, _ in some]), columns


def _taken_apart(
    parts: Sequence[Sequence[GroupPair]], group: SkeletonGroup
) -> Iterator[tuple[tuple[Skeleton, ...], Columns]]:
    """For each independent part: its elements of the outermost container, and their columns.

    A single part is the whole output.
    """
    columns = list(zip(group.kinds, group.columns, strict=True))
    if len(parts) == 1:
        yield (group.skeleton,), columns
        return
    elements = group.skeleton.parts if isinstance(group.skeleton, Nest) else ()
    for part in parts:
        known = part[0].skeleton
        width = len(known.parts) if isinstance(known, Nest) else 1
        own, elements = elements[:width], elements[width:]
        size = sum(len(leaf_kinds(element)) for element in own)
        yield own, columns[:size]
        columns = columns[size:]


def _of_part(
    part: Sequence[GroupPair], skeletons: tuple[Skeleton, ...], columns: Columns, size: int
) -> Floats:
    alike = tuple(map(numbers_alike, skeletons))
    found = _Logs(size)
    everywhere = np.arange(size)
    for group in part:
        known = group.skeleton
        inside = isinstance(known, Nest) and tuple(map(numbers_alike, known.parts)) == alike
        if inside or (numbers_alike(known),) == alike:
            blocks = [_of_block(block, columns, size) for block in group.blocks]
            reals = np.sum([block.reals for block in blocks], axis=0)
            found.add(everywhere, reals, np.sum([block.log for block in blocks], axis=0))
    return found.log


def _of_block(block: BlockPair, columns: Columns, size: int) -> _Logs:
    own = [columns[j] for j in block.positions]
    found = _Logs(size)
    for pair in block.cells:
        rows = np.flatnonzero(_in_cell(pair, own, size))
        if len(rows):
            reals = sum(not c.lattice for c in pair.cell.coordinates)
            found.add(rows, reals, _of_cell(pair, own, rows))
    return found


def _in_cell(pair: CellPair, columns: Columns, size: int) -> Bools:
    """Which outputs have the cell's constants, and numbers that satisfy its relations."""
    cell = pair.cell
    inside = np.ones(size, dtype=bool)
    for j, (kind, values) in enumerate(columns):
        if j not in cell.real:
            inside &= _equal(kind, values, cell.leaves[j])
        elif kind not in _NUMERIC:
            return np.zeros(size, dtype=bool)
    for row, value in cell.shape.relations:
        terms = [
            float(c) * np.asarray(columns[cell.real[j]][1], dtype=np.float64)
            for j, c in enumerate(row)
            if c
        ]
        slack = _ROUNDING * (abs(float(value)) + sum(np.abs(term) for term in terms))
        inside &= np.abs(sum(terms) - float(value)) <= slack
    return inside


def _equal(kind: str, values: NDArray[Any], constant: Any) -> Any:
    """Where a column is a constant; 1 and 1.0 are one number, True is not."""
    wanted = constant_key(constant)
    if kind == "none":
        return constant is None
    if kind in _NUMERIC:
        if wanted == "nan":
            return np.isnan(values)
        return values == float(wanted[1]) if wanted[0] == "number" else False
    if kind == "bool":
        return values == wanted[1] if wanted[0] == "bool" else False
    if kind == "str":  # bytes are of this kind, too: nothing is equal to both
        return np.asarray(values == constant) if isinstance(constant, (str, bytes)) else False
    return np.array([constant_key(value) == wanted for value in values.tolist()], dtype=bool)


def _of_cell(pair: CellPair, columns: Columns, rows: NDArray[np.int64]) -> Floats:
    cell = pair.cell
    log = np.repeat(np.array(pair.log_constant)[:, None], len(rows), axis=1)
    reals = [np.asarray(columns[j][1][rows], dtype=np.float64) for j in cell.real]
    free = [reals[j] for j in cell.shape.free]
    at = {
        c.symbol: sum(float(k) * v for k, v in zip(c.combination, free, strict=True) if k)
        for c in cell.coordinates
    }
    for factor in pair.factors:
        points = np.column_stack([at[symbol] for symbol in factor.symbols])
        with np.errstate(invalid="ignore"):
            log += _of_factor(factor, points)
    return log


def _of_factor(factor: Factor, points: Floats) -> Floats:
    """Both log densities; between neighbouring outputs and kinks where each takes an integral."""
    lattice = any(c.lattice for c in factor.coordinates)
    if not factor.costly or len(factor.coordinates) > 1 or lattice or len(points) <= _NODES:
        return np.stack(factor.pair(points))
    x = points[:, 0]
    nodes = np.quantile(x, np.linspace(0, 1, _NODES))
    nodes = np.union1d(nodes, [kink for kink in factor.kinks() if x.min() < kink < x.max()])
    return np.stack([np.interp(x, nodes, log) for log in factor.pair(nodes[:, None])])
