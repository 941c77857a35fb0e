"""The supremum of a log-density ratio over several reals that hang together.

Lines through the current point (each axis, and all coordinates together) are scanned in turn, from
several starts. Each scan is exact on its line; that no better point lies off all of them is not
proved, so the value is the ratio at an explicit point: never above the supremum.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from dpest.distributions.quadrature import Floats
from dpest.distributions.ratio import NOTHING, Extreme, scan
from dpest.program.linear import Form, Symbol

_SWEEPS = 6
_FAR = 40.0


def climb(
    pair: Callable[[Floats], tuple[Floats, Floats]],
    lines: Sequence[Form],
    symbols: Sequence[Symbol],
    scale: float,
    widest: float,
) -> tuple[Extreme, Extreme]:
    """The suprema of both directions over all coordinates."""
    size = len(symbols)
    matrix = np.array([[float(f.terms.get(s, 0)) for s in symbols] for f in lines])
    constants = np.array([float(f.constant) for f in lines])
    directions = [np.eye(size)[i] for i in range(size)] + [np.ones(size)]
    best = [NOTHING, NOTHING]
    for start in _starts(matrix, constants, size, widest):
        for side in (0, 1):
            if best[side].value == math.inf:
                continue
            found = _ascend(pair, matrix, constants, directions, start, side, scale, widest)
            if found.value > best[side].value:
                best[side] = found
    return best[0], best[1]


def _starts(matrix: Floats, constants: Floats, size: int, widest: float) -> list[Floats]:
    centre = np.zeros(size)
    for i in range(size):
        own = np.flatnonzero((matrix[:, i] != 0) & (np.count_nonzero(matrix, axis=1) == 1))
        if len(own):
            centre[i] = float(np.median(-constants[own] / matrix[own, i]))
    corners = [np.array(c) for c in itertools.product((-1.0, 1.0), repeat=min(size, 3))]
    starts = [centre]
    for corner in corners:
        shift = np.resize(corner, size) * 3 * widest
        starts.append(centre + shift)
    return starts


def _ascend(
    pair: Callable[[Floats], tuple[Floats, Floats]],
    matrix: Floats,
    constants: Floats,
    directions: Sequence[Floats],
    start: Floats,
    side: int,
    scale: float,
    widest: float,
) -> Extreme:
    point = start.copy()
    ends = ["at"] * len(point)
    best = NOTHING
    for _ in range(_SWEEPS):
        before = best.value
        for direction in directions:
            slopes = matrix @ direction
            crossing = slopes != 0
            if not crossing.any():
                continue
            at = -(matrix[crossing] @ point + constants[crossing]) / slopes[crossing]
            kinks = sorted(set(at.tolist()))

            def along(t: Floats, d: Floats = direction) -> tuple[Floats, Floats]:
                return pair(point[None, :] + t[:, None] * d[None, :])

            found = scan(along, kinks, scale, widest)[side]
            if found.value <= best.value + 1e-13 or not found.at:
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
            best = Extreme(found.value, tuple(point.tolist()), how, found.log_p, found.log_q)
            if best.value == math.inf:
                return best
        if best.value <= before + 1e-12:
            break
    return best
