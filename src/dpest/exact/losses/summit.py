"""The supremum of a log-density ratio over several numbers that hang together.

Lines through the current point (each axis, and all reals together) are scanned in turn, from
several starts; whole numbers move on their lattice. Each scan is exact on its line; that no better
point lies off all of them is not proved, so the value is the ratio at an explicit point: never
above the supremum. A few whole numbers alone are gone through one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpest.exact.integration.quadrature import Floats
from dpest.exact.losses.ratio import (
    NOTHING,
    OFF_LATTICES,
    ONE_SIDED,
    Supremum,
    lattice_points,
    rounding,
    scan,
    scan_lattice,
)
from dpest.geometry.linear import Form, Symbol

_SWEEPS = 6
_FAR = 40.0
_CHEAP, _COSTLY = 4000, 150  # grid points where a density is a closed form, or an integral
_LISTED = 20_000  # lattice points that are all looked at

Lattice = tuple[Sequence[float], float]  # where whole-numbered outputs lie: offsets and step


def climb(
    pair: Callable[[Floats], tuple[Floats, Floats]],
    lines: Sequence[Form],
    symbols: Sequence[Symbol],
    scale: float,
    widest: float,
    side: int,
    costly: bool = False,
    lattices: Sequence[Lattice | None] = (),
) -> Supremum:
    """The supremum of one direction (0: log p - log q, 1: log q - log p) over all coordinates.

    `lattices` says which coordinates take values on a lattice only.
    """
    size = len(symbols)
    lattices = lattices or [None] * size
    listed = _all_points(lines, symbols, widest, lattices)
    if listed is not None and not costly:
        return _best_of(pair, listed, side)
    matrix = np.array([[float(f.terms.get(s, 0)) for s in symbols] for f in lines])
    constants = np.array([float(f.constant) for f in lines])
    terrain = _Terrain(pair, matrix, constants, lattices, side, scale, widest)
    smooth = np.array([found is None for found in lattices])
    directions = [np.eye(size)[i] for i in range(size)]
    if smooth.sum() > 1:
        directions.append(np.where(smooth, 1.0, 0.0))
    grid = _grid(lines, symbols, widest, _COSTLY if costly else _CHEAP, lattices)
    good = _sure_ratios(*pair(grid))[side]
    starts = _distant(grid, good, widest, 1 if costly else 2)
    sweeps = 2 if costly else _SWEEPS
    best = NOTHING
    for start in starts:
        found = _ascend(terrain, directions, start, sweeps)
        if found.sure > best.sure + 1e-13:
            best = found
        if best.value == math.inf:
            break
    return best


def _distant(grid: Floats, values: Floats, widest: float, most: int) -> list[Floats]:
    """The best points of the grid that are not next to each other."""
    chosen: list[Floats] = []
    for index in np.argsort(-values, kind="stable"):
        if values[index] == -np.inf or len(chosen) == most:
            break
        if all(np.abs(grid[index] - c).max() > 2 * widest for c in chosen):
            chosen.append(grid[index])
    return chosen


def grid_bounds(
    pair: Callable[[Floats], tuple[Floats, Floats]],
    lines: Sequence[Form],
    symbols: Sequence[Symbol],
    widest: float,
    costly: bool = False,
    most: int | None = None,
    lattices: Sequence[Lattice | None] = (),
) -> tuple[float, float]:
    """The largest ratios in both directions on a product of kinks and far points."""
    count = min(most or _CHEAP, _COSTLY if costly else _CHEAP)
    points = _grid(lines, symbols, widest, count, lattices)
    forward, backward = _sure_ratios(*pair(points))
    return float(forward.max()), float(backward.max())


def _sure_ratios(log_p: Floats, log_q: Floats) -> tuple[Floats, Floats]:
    """Both directions' log-ratios less what rounding may have added; -∞ where nobody goes.

    Single points have no neighbours to tell how steep the densities are: a steep tail is allowed a
    hundred times the rounding of its logarithm.
    """
    with np.errstate(invalid="ignore"):
        ratio = log_p - log_q
        doubt = 100 * rounding(log_p, log_q)
        ways = (ratio - doubt, -ratio - doubt)
    one = [np.isposinf(ratio), np.isneginf(ratio)]
    lost = [np.where(np.isnan(w), -np.inf, w) for w in ways]
    return np.where(one[0], np.inf, lost[0]), np.where(one[1], np.inf, lost[1])


def _all_points(
    lines: Sequence[Form],
    symbols: Sequence[Symbol],
    widest: float,
    lattices: Sequence[Lattice | None],
) -> Floats | None:
    """All lattice points in reach, if every coordinate lies on a lattice and they are few."""
    axes = []
    for symbol, lattice in zip(symbols, lattices, strict=True):
        if lattice is None:
            return None
        spots = {
            float(-f.constant / f.terms[symbol]) for f in lines if list(f.terms) == [symbol]
        } or {0.0}
        axes.append(lattice_points(*lattice, sorted(spots), widest))
    if math.prod(len(axis) for axis in axes) > _LISTED:
        return None
    return np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")], axis=1)


def _best_of(
    pair: Callable[[Floats], tuple[Floats, Floats]], points: Floats, side: int
) -> Supremum:
    log_p, log_q = pair(points)
    sure = _sure_ratios(log_p, log_q)[side]
    top = int(np.argmax(sure))
    if sure[top] == -math.inf:
        return NOTHING
    at, p, q = tuple(points[top].tolist()), float(log_p[top]), float(log_q[top])
    if sure[top] == math.inf:
        alone = points[sure == math.inf]
        likely = np.argsort(-(log_p, log_q)[side][sure == math.inf], kind="stable")
        first, *others = (tuple(alone[i].tolist()) for i in likely[:ONE_SIDED])
        return Supremum(math.inf, first, "support", p, q, others=tuple(others))
    return Supremum(
        p - q if side == 0 else q - p,
        at,
        "at",
        p,
        q,
        float(rounding(log_p[[top]], log_q[[top]])[0]),
    )


def _snapped(points: Floats, lattices: Sequence[Lattice | None]) -> Floats:
    """The points with their whole-numbered coordinates moved to the nearest lattice point."""
    for i, lattice in enumerate(lattices):
        if lattice is not None:
            offsets, step = lattice
            column = points[:, i]
            options = np.stack([o + step * np.rint((column - o) / step) for o in offsets])
            nearest = np.argmin(np.abs(options - column), axis=0)
            points[:, i] = options[nearest, np.arange(len(column))]
    return points


def _grid(
    lines: Sequence[Form],
    symbols: Sequence[Symbol],
    widest: float,
    most: int,
    lattices: Sequence[Lattice | None] = (),
) -> Floats:
    spots: set[float] = set()
    for line in lines:
        if len(line.terms) == 1:
            ((_, c),) = line.terms.items()
            spots.add(float(-line.constant / c))
    ordered = sorted(spots) or [0.0]
    if len(ordered) > 8:
        ordered = [ordered[i] for i in np.linspace(0, len(ordered) - 1, 8).astype(int)]
    low, high = ordered[0], ordered[-1]
    axis = [
        *(low - f * widest * OFF_LATTICES for f in (2 * _FAR, 8, 2)),
        *(s + 1e-9 * widest for s in ordered),
        *(high + f * widest * OFF_LATTICES for f in (2, 8, 2 * _FAR)),
    ]
    per_axis = max(3, round(most ** (1 / len(symbols))))
    if len(axis) > per_axis:
        axis = [axis[i] for i in np.linspace(0, len(axis) - 1, per_axis).astype(int)]
    if (
        len(symbols) > 7 or 3 ** len(symbols) > most
    ):  # too many for a product: all together, and each one alone
        rows = [np.full(len(symbols), a) for a in axis]
        for i in range(len(symbols)):
            for a in axis:
                row = np.full(len(symbols), axis[len(axis) // 2])
                row[i] = a
                rows.append(row)
        return _snapped(np.array(rows), lattices)
    mesh = np.meshgrid(*[axis] * len(symbols), indexing="ij")
    # Equal coordinates are ties between outputs: move them apart a little.
    tilt = 1e-7 * widest * np.arange(len(symbols))
    return _snapped(np.stack([m.ravel() for m in mesh], axis=1) + tilt, lattices)


@dataclass(frozen=True)
class _Terrain:
    """The ratio of two densities over several coordinates: where it has kinks, how wide it is."""

    pair: Callable[[Floats], tuple[Floats, Floats]]
    matrix: Floats
    constants: Floats
    """Kinks lie where a row of `matrix` times the point, plus its constant, is zero."""
    lattices: Sequence[Lattice | None]
    side: int
    scale: float
    widest: float

    def kinks(self, point: Floats, direction: Floats) -> list[float]:
        """Where the line through a point meets them, as steps from it."""
        slopes = self.matrix @ direction
        crossing = slopes != 0
        at = -(self.matrix[crossing] @ point + self.constants[crossing]) / slopes[crossing]
        return sorted(set(at.tolist()))

    def best_along(self, point: Floats, direction: Floats, kinks: Sequence[float]) -> Supremum:
        """The supremum on the line through a point; its places are steps from there."""

        def along(t: Floats) -> tuple[Floats, Floats]:
            return self.pair(point[None, :] + t[:, None] * direction[None, :])

        moving = np.flatnonzero(direction)
        lattice = self.lattices[moving[0]]
        if lattice is not None and len(moving) == 1:
            offsets, step = lattice
            here = float(point[moving[0]])
            offsets = [o - here for o in offsets]
            return scan_lattice(along, offsets, step, kinks, self.widest)[self.side]
        return scan(along, kinks, self.scale, self.widest, (self.side,))[self.side]

    def moved(self, point: Floats, step: float, direction: Floats) -> Floats:
        return _snapped((point + step * direction)[None, :], self.lattices)[0]


def _ascend(
    terrain: _Terrain, directions: Sequence[Floats], start: Floats, sweeps: int
) -> Supremum:
    """From a start along one direction after the other, as long as it gets better."""
    point = start.copy()
    ends = ["at"] * len(point)
    best = NOTHING
    for _ in range(sweeps):
        before = best.sure
        for direction in directions:
            kinks = terrain.kinks(point, direction)
            if not kinks:
                continue
            found = terrain.best_along(point, direction, kinks)
            if found.sure <= best.sure + 1e-13 or not found.at:
                continue
            where = found.at[0]
            reached = "at"
            if math.isinf(where):
                far = _FAR * terrain.widest
                where = kinks[0] - far if where < 0 else kinks[-1] + far
                reached = "limit"
            for i in np.flatnonzero(direction):
                ends[i] = reached
            others = tuple(
                tuple(terrain.moved(point, w, direction).tolist()) for (w,) in found.others
            )
            point = terrain.moved(point, where, direction)
            how = found.how
            if how not in ("support", "growing"):
                how = "limit" if "limit" in ends else "at"
            best = replace(found, at=tuple(point.tolist()), how=how, others=others)
            if best.value == math.inf:
                return best
        if best.sure <= before + 1e-10 * max(1.0, abs(before)):
            break
    return best
