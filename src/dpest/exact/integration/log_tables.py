"""The logarithm of a positive function as a table: Legendre series on panels, split as needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dpest.exact.integration.quadrature import NODES, ORDER, TO_LEGENDRE, Floats, series_at

_TOLERANCE = 2e-14
_DEEPEST = 40
_CHECKS = np.array([-0.93, -0.31, 0.47, 0.87])
_VANDER = np.polynomial.legendre.legvander(_CHECKS, ORDER - 1)


class LogTable:
    """An interpolation of a smooth function between `breaks`; `error` is what checks have seen.

    Panels are halved until the series meets the function at points between the nodes.
    """

    def __init__(self, function: Callable[[Floats], Floats], breaks: Sequence[float]) -> None:
        starts, ends = np.array(breaks[:-1]), np.array(breaks[1:])
        self.low, self.high = float(breaks[0]), float(breaks[-1])
        self.error = 0.0
        done: list[tuple[Floats, Floats, Floats]] = []
        for depth in range(_DEEPEST):
            half = (ends - starts)[:, None] / 2
            middle = starts[:, None] + half
            values = function((middle + half * NODES).ravel()).reshape(-1, ORDER)
            checks = function((middle + half * _CHECKS).ravel()).reshape(-1, len(_CHECKS))
            series = values @ TO_LEGENDRE.T
            size = np.maximum(1.0, np.abs(values).max(axis=1))
            gap = np.abs(series @ _VANDER.T - checks).max(axis=1)
            good = (gap <= _TOLERANCE * size) | (depth == _DEEPEST - 1)
            if good.any():
                self.error = max(self.error, float(gap[good].max()))
            done.append((starts[good], ends[good], series[good]))
            starts, ends, middle = starts[~good], ends[~good], middle[~good, 0]
            if not len(starts):
                break
            starts, ends = np.concatenate([starts, middle]), np.concatenate([middle, ends])
        order = np.argsort(np.concatenate([d[0] for d in done]))
        self._starts = np.concatenate([d[0] for d in done])[order]
        self._ends = np.concatenate([d[1] for d in done])[order]
        self._series = np.concatenate([d[2] for d in done])[order].T.copy()

    def __call__(self, x: Floats) -> Floats:
        """The logarithm at points between `low` and `high`."""
        panel = np.clip(np.searchsorted(self._ends, x), 0, len(self._ends) - 1)
        starts, ends = self._starts[panel], self._ends[panel]
        t = np.clip((2 * x - starts - ends) / (ends - starts), -1.0, 1.0)
        return series_at(self._series, panel, t)
