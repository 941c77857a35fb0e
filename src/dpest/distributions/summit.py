"""The supremum of a log-density ratio over several reals that hang together.

Lines through the current point (each axis, and all coordinates together) are scanned in turn, from
several starts. Each scan is exact on its line; that no better point lies off all of them is not
proved, so the value is the ratio at an explicit point: never above the supremum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from dpest.distributions.quadrature import Floats
from dpest.distributions.ratio import NOTHING, Extreme, rounding, scan
from dpest.program.linear import Form, Symbol

_SWEEPS = 6
_FAR = 40.0
_CHEAP, _COSTLY = 4000, 150  # grid points where a density is a closed form, or an integral


def climb(
    pair: Callable[[Floats], tuple[Floats, Floats]],
    lines: Sequence[Form],
    symbols: Sequence[Symbol],
    scale: float,
    widest: float,
    side: int,
    costly: bool = False,
) -> Extreme:
    """The supremum of one direction (0: log p - log q, 1: log q - log p) over all coordinates."""
    size = len(symbols)
    matrix = np.array([[float(f.terms.get(s, 0)) for s in symbols] for f in lines])
    constants = np.array([float(f.constant) for f in lines])
    directions = [np.eye(size)[i] for i in range(size)] + [np.ones(size)]
    grid = _grid(lines, symbols, widest, _COSTLY if costly else _CHEAP)
    good = _sure_ratios(*pair(grid))[side]
    starts = _distant(grid, good, widest, 1 if costly else 2)
    sweeps = 2 if costly else _SWEEPS
    best = NOTHING
    for start in starts:
        found = _ascend(pair, matrix, constants, directions, start, side, scale, widest, sweeps)
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
) -> tuple[float, float]:
    """The largest ratios in both directions on a product of kinks and far points."""
    points = _grid(lines, symbols, widest, min(most or _CHEAP, _COSTLY if costly else _CHEAP))
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


def _grid(lines: Sequence[Form], symbols: Sequence[Symbol], widest: float, most: int) -> Floats:
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
        *(low - f * widest for f in (_FAR, 5, 1)),
        *(s + 1e-9 * widest for s in ordered),
        *(high + f * widest for f in (1, 5, _FAR)),
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
        return np.array(rows)
    mesh = np.meshgrid(*[axis] * len(symbols), indexing="ij")
    # Equal coordinates are ties between outputs: move them apart a little.
    tilt = 1e-7 * widest * np.arange(len(symbols))
    return np.stack([m.ravel() for m in mesh], axis=1) + tilt


def _ascend(
    pair: Callable[[Floats], tuple[Floats, Floats]],
    matrix: Floats,
    constants: Floats,
    directions: Sequence[Floats],
    start: Floats,
    side: int,
    scale: float,
    widest: float,
    sweeps: int,
) -> Extreme:
    point = start.copy()
    ends = ["at"] * len(point)
    best = NOTHING
    for _ in range(sweeps):
        before = best.sure
        for direction in directions:
            slopes = matrix @ direction
            crossing = slopes != 0
            if not crossing.any():
                continue
            at = -(matrix[crossing] @ point + constants[crossing]) / slopes[crossing]
            kinks = sorted(set(at.tolist()))

            def along(t: Floats, d: Floats = direction) -> tuple[Floats, Floats]:
                return pair(point[None, :] + t[:, None] * d[None, :])

            found = scan(along, kinks, scale, widest, (side,))[side]
            if found.sure <= best.sure + 1e-13 or not found.at:
                continue
            where = found.at[0]
            if math.isinf(where):
                edge = kinks[0] - _FAR * widest if where < 0 else kinks[-1] + _FAR * widest
                step = edge
                for i in np.flatnonzero(direction):
                    ends[i] = "limit"
            else:
                step = where
                for i in np.flatnonzero(direction):
                    ends[i] = "at"
            point = point + step * direction
            how = (
                found.how
                if found.how in ("support", "unbounded")
                else ("limit" if "limit" in ends else "at")
            )
            best = Extreme(
                found.value, tuple(point.tolist()), how, found.log_p, found.log_q, found.doubt
            )
            if best.value == math.inf:
                return best
        if best.sure <= before + 1e-10 * max(1.0, abs(before)):
            break
    return best
