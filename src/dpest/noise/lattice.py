"""Noise on the integers whose mass is log-concave: tails by summation, quantiles by bisection."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpest.noise.family import Floats, Noise

_CHUNK = 64
_TABLE = 2**20
_NEGLIGIBLE = math.log(2.0**-60)


class LatticeNoise(Noise):
    """A log-concave mass on the integers, known by its `log_mass`.

    Log-concavity gives two things: past the mode the ratio of consecutive masses only falls, so
    that a tail can be summed until a geometric bound on what is left is negligible; and
    log_cdf and log_sf don't lose digits in either tail.
    """

    discrete: ClassVar[bool] = True

    def log_mass(self, k: Floats) -> Floats:
        """The log of the mass at integers k inside the support."""
        raise NotImplementedError

    @property
    def mode(self) -> int:
        raise NotImplementedError

    def log_density(self, x: ArrayLike) -> Floats:
        x = np.asarray(x, dtype=float)
        low, high = self.support
        possible = (x == np.floor(x)) & (x >= low) & (x <= high) & np.isfinite(x)
        inside = np.where(possible, x, float(self.mode))
        return np.where(possible, self.log_mass(inside), -np.inf)

    def log_cdf(self, x: ArrayLike) -> Floats:
        return self._log_tails(x)[0]

    def log_sf(self, x: ArrayLike) -> Floats:
        return self._log_tails(x)[1]

    def _log_tails(self, x: ArrayLike) -> tuple[Floats, Floats]:
        k = np.floor(np.asarray(x, dtype=float))
        distinct, back = np.unique(k, return_inverse=True)
        low, high = self.support
        lower, upper = np.empty(distinct.shape), np.empty(distinct.shape)
        right = distinct >= self.mode
        upper[right] = self._log_sums(distinct[right] + 1, 1)
        lower[~right] = self._log_sums(distinct[~right][::-1], -1)[::-1]
        with np.errstate(divide="ignore"):
            lower[right] = np.log1p(-np.exp(np.minimum(upper[right], 0)))
            upper[~right] = np.log1p(-np.exp(np.minimum(lower[~right], 0)))
        lower[distinct >= high] = 0.0
        upper[distinct < low] = 0.0
        return lower[back].reshape(k.shape), upper[back].reshape(k.shape)

    def _log_sums(self, starts: Floats, step: int) -> Floats:
        """`_log_sum` of many starts, going away from the mode; what they share is summed once."""
        low, high = self.support
        total = np.full(starts.shape, -np.inf)
        inside = (starts >= low) & (starts <= high) & np.isfinite(starts)
        points = starts[inside]
        if len(points) <= 2 or abs(points[-1] - points[0]) > _TABLE:
            total[inside] = [self._log_sum(points[i : i + 1], step)[0] for i in range(len(points))]
            return total
        far = self._log_sum(points[-1:], step)
        between = np.arange(points[0], points[-1], step)
        masses = np.concatenate([far, self.log_density(between)[::-1]])
        table = np.logaddexp.accumulate(masses)[::-1]
        total[inside] = table[np.abs(points - points[0]).astype(int)]
        return total

    def _log_sum(self, start: Floats, step: int) -> Floats:
        """log Σ of the masses at start, start + step, …, away from the mode."""
        low, high = self.support
        total = np.full(start.shape, -np.inf)
        active = (start >= low) & (start <= high) & np.isfinite(start)
        at, chunk = 0, _CHUNK
        while active.any():
            k = start[active][:, None] + step * np.arange(at, at + chunk)
            masses = self.log_density(k)
            total[active] = np.logaddexp(total[active], np.logaddexp.reduce(masses, axis=1))
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                last, ratio = masses[:, -1], masses[:, -1] - masses[:, -2]
                rest = last + ratio - np.log(-np.expm1(ratio))
            done = np.isneginf(last) | (rest < total[active] + _NEGLIGIBLE)
            active[np.flatnonzero(active)[done]] = False
            at, chunk = at + chunk, min(2 * chunk, 2**16)
        return total

    def quantile(self, u: ArrayLike) -> Floats:
        u = np.asarray(u, dtype=float)
        bottom, top = self.support
        low = np.full(u.shape, float(self.mode) - 1)
        high = low + 1
        width = max(1.0, math.sqrt(self.variance))
        # Invariant sought: cdf(low) < u ≤ cdf(high).
        while (move := (low >= bottom) & (self._at_least(low, u))).any():
            low = np.where(move, np.maximum(low - width, bottom - 1), low)
            width *= 2
        width = max(1.0, math.sqrt(self.variance))
        while (move := (high < top) & ~self._at_least(high, u)).any():
            high = np.where(move, np.minimum(high + width, top), high)
            width *= 2
            if width > 2.0**60:
                break
        low, high = np.ceil(low), np.ceil(high)
        while (high - low > 1).any():
            middle = np.floor((low + high) / 2)
            reached = self._at_least(middle, u)
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return np.where(u <= 0, bottom, np.where(u >= 1, top, high))

    def _at_least(self, k: Floats, u: Floats) -> Any:
        """cdf(k) ≥ u, decided in the smaller tail."""
        lower, upper = self._log_tails(k)
        return np.where(u <= 0.5, np.exp(lower) >= u, np.exp(upper) <= 1 - u)
