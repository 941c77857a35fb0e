"""Trade-off functions of hypothesis testing, and their duality with privacy profiles.

For f = T(P, Q), a test that rejects P wrongly with probability x accepts it wrongly (under Q) with
probability at least f(x). By convex conjugation δ(ε) = 1 + f*(−e^ε) = sup_x 1 − f(x) − e^ε x is the
hockey-stick divergence Δ^ε(Q‖P), and f(x) = sup_ε 1 − δ(ε) − e^ε x over all real ε brings f back.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpest.errors import DomainError
from dpest.notions import domain
from dpest.notions.domain import Array, Number, scalar_like
from dpest.notions.pairs import FinitePair
from dpest.notions.profiles import LARGEST_EPSILON

_GOLDEN = (math.sqrt(5) - 1) / 2


class Tradeoff(ABC):
    """A trade-off function: convex, continuous, non-increasing on [0, 1], at most 1 − x."""

    def __call__(self, x: npt.ArrayLike) -> Any:
        """f at a level x in [0, 1], scalar or array."""
        return scalar_like(self._values(domain.probabilities(x, "the level x")))

    @abstractmethod
    def _values(self, x: Array) -> Array: ...

    def delta(self, epsilon: npt.ArrayLike) -> Any:
        """δ(ε) = 1 + f*(−e^ε), the hockey-stick divergence from Q to P."""
        return scalar_like(np.vectorize(self._delta, otypes=[float])(domain.epsilons(epsilon)))

    def _delta(self, eps: float) -> float:
        if eps == math.inf:
            return 1 - float(self._values(np.asarray(0.0)))
        factor = math.exp(min(eps, LARGEST_EPSILON))

        def gain(x: Array) -> Array:
            return 1 - self._values(x) - factor * x

        # Concave in x, so unimodal in x and in log x; 1 − f has no digits below 1e-16.
        zero, one = np.asarray(0.0), np.asarray(1.0)
        plain = float(maximise(gain, zero, one))
        log = float(maximise(lambda u: gain(np.exp(u)), np.asarray(-37.0), zero))
        return max(0.0, plain, log)

    @property
    def inverse(self) -> Tradeoff:
        """f⁻¹(y) = inf{x : f(x) ≤ y}: the trade-off function of (Q, P)."""
        return Inverse(self)

    @property
    def symmetric(self) -> bool:
        """Whether f is its own inverse (to 1e-9, on a grid)."""
        x = np.linspace(0, 1, 129)
        return bool(np.allclose(self._values(x), self.inverse._values(x), atol=1e-9))


class PiecewiseLinear(Tradeoff):
    """The convex function through the given points; exact duality in both directions."""

    def __init__(self, x: Sequence[float] | Array, y: Sequence[float] | Array) -> None:
        a = np.clip(domain.probabilities(np.clip(x, -1e-12, 1 + 1e-12).clip(0, 1), "x"), 0, 1)
        b = np.clip(domain.probabilities(np.clip(y, -1e-12, 1 + 1e-12).clip(0, 1), "y"), 0, 1)
        if a.ndim != 1 or a.shape != b.shape or len(a) < 2:
            raise DomainError("x and y must be vectors of one length, at least 2")
        if np.min(x) < -1e-12 or np.max(x) > 1 + 1e-12:
            raise DomainError("x must lie in [0, 1]")
        if (np.diff(a) < 0).any() or (np.diff(b) > 1e-12).any():
            raise DomainError("x must not decrease and y must not increase")
        if a[0] > 0 or abs(a[-1] - 1) > 1e-9:
            raise DomainError("a trade-off function is defined on all of [0, 1]")
        if (b > 1 - a + 1e-9).any():
            raise DomainError("a trade-off function lies below 1 − x")
        a[-1] = 1.0
        self.x, self.y = _convex_hull(a, b)
        # A jump down at 0 can't be: tests may be randomised. Keep the lower value there.

    def __repr__(self) -> str:
        points = ", ".join(
            f"({x:.4g}, {y:.4g})" for x, y in zip(self.x[:5], self.y[:5], strict=True)
        )
        return f"PiecewiseLinear({points}{', …' if len(self.x) > 5 else ''})"

    def _values(self, x: Array) -> Array:
        return np.interp(x, self.x, self.y)

    def _delta(self, eps: float) -> float:
        if eps == math.inf:
            return 1 - float(self.y[0])
        return float(max(0.0, np.max(1 - self.y - math.exp(min(eps, LARGEST_EPSILON)) * self.x)))

    @property
    def inverse(self) -> PiecewiseLinear:
        first = int(np.argmin(self.y > self.y[-1]))  # where the floor is first reached
        x, y = self.y[first::-1], self.x[first::-1]
        if x[-1] < 1:  # f(0) < 1: any y above it is met at x = 0
            x, y = np.append(x, 1.0), np.append(y, 0.0)
        if x[0] > 0:
            raise DomainError("the inverse needs a trade-off function that reaches 0")
        return PiecewiseLinear(x, y)

    def pair(self) -> FinitePair:
        """Finite P and Q with T(P, Q) = f, one outcome per segment."""
        p, q = np.diff(self.x), -np.diff(self.y)
        top = 1 - self.y[0]
        if top > 0:
            p, q = np.append(p, 0.0), np.append(q, top)
        # What y leaves at x = 1 never rejects P: it is no mass of Q, so f must reach 0.
        if self.y[-1] > 1e-12:
            raise DomainError("the trade-off function does not reach 0 at x = 1")
        return FinitePair(p, q)


def _convex_hull(x: Array, y: Array) -> tuple[Array, Array]:
    """The lower convex hull of points sorted by x; refuses points that lie visibly above it."""
    kept: list[int] = []
    for i in range(len(x)):
        if kept and x[i] == x[kept[-1]]:
            if y[i] < y[kept[-1]]:
                kept.pop()
            else:
                continue
        while len(kept) > 1:
            j, k = kept[-2], kept[-1]
            if (y[k] - y[j]) * (x[i] - x[j]) >= (y[i] - y[j]) * (x[k] - x[j]):
                kept.pop()
            else:
                break
        kept.append(i)
    hull_x, hull_y = x[kept], y[kept]
    if (y - np.interp(x, hull_x, hull_y) > 1e-9).any() and not (np.diff(x) == 0).any():
        raise DomainError("the points are not those of a convex function")
    return hull_x, hull_y


def approx_tradeoff(epsilon: Number, delta: Number) -> PiecewiseLinear:
    """f_{ε,δ}(x) = max(0, 1 − δ − e^ε x, e^−ε(1 − δ − x)): exactly (ε, δ)-DP, and tight."""
    eps, d = float(domain.epsilon(epsilon)), float(domain.probability(delta))
    corner = (1 - d) * math.exp(-eps) / (1 + math.exp(-eps))
    if corner == 0:  # ε = ∞ or δ = 1: nothing is promised
        return PiecewiseLinear([0.0, 1.0], [0.0, 0.0])
    xs, ys = [0.0, corner, 1 - d], [1 - d, corner, 0.0]
    return PiecewiseLinear(xs if d == 0 else [*xs, 1.0], ys if d == 0 else [*ys, 0.0])


class GaussianTradeoff(Tradeoff):
    """G_μ = T(N(0,1), N(μ,1)): G_μ(x) = Φ(Φ⁻¹(1 − x) − μ)."""

    def __init__(self, mu: Number) -> None:
        self.mu = float(domain.non_negative(mu, "mu"))

    def __repr__(self) -> str:
        return f"GaussianTradeoff(mu={self.mu:g})"

    def _values(self, x: Array) -> Array:
        from scipy.special import ndtr, ndtri

        return np.asarray(ndtr(-ndtri(x) - self.mu)) if self.mu < math.inf else np.zeros_like(x)

    def _delta(self, eps: float) -> float:
        from dpest.notions.closed_forms import gaussian_delta

        return gaussian_delta(self.mu, eps)

    @property
    def inverse(self) -> GaussianTradeoff:
        return self


class LaplaceTradeoff(Tradeoff):
    """T(Lap(0, 1), Lap(ε, 1)), the Laplace mechanism of pure ε."""

    def __init__(self, epsilon: Number) -> None:
        self.epsilon = float(domain.epsilon(epsilon))

    def __repr__(self) -> str:
        return f"LaplaceTradeoff(epsilon={self.epsilon:g})"

    def _values(self, x: Array) -> Array:
        shrink = math.exp(-self.epsilon)
        with np.errstate(divide="ignore", over="ignore"):
            middle = np.where(x > 0, shrink / (4 * np.where(x > 0, x, 1.0)), 0.0)
            first = 1 - x / shrink if shrink > 0 else np.zeros_like(x)
        return np.where(x < shrink / 2, first, np.where(x <= 0.5, middle, shrink * (1 - x)))

    def _delta(self, eps: float) -> float:
        return abs(math.expm1(min(0.0, (eps - self.epsilon) / 2)))

    @property
    def inverse(self) -> LaplaceTradeoff:
        return self


class FromProfile(Tradeoff):
    """The trade-off function of a profile: f(x) = sup over ε of the lines that δ(ε) allows.

    `delta` is Δ^ε(Q‖P). `reverse_delta` is Δ^ε(P‖Q); without it the profile is taken to hold in
    both directions, as a guarantee does, and f is symmetric. The supremum is numerical and errs
    downwards, which is the safe side for a guarantee.
    """

    def __init__(
        self,
        delta: Callable[[Any], Any],
        reverse_delta: Callable[[Any], Any] | None = None,
    ) -> None:
        self._profile = delta
        self._reverse = reverse_delta or delta

    def __repr__(self) -> str:
        return "FromProfile(δ)"

    def _values(self, x: Array) -> Array:
        forward, backward = _vectorised(self._profile), _vectorised(self._reverse)

        def steep(eps: Array) -> Array:
            return 1 - forward(eps) - np.exp(eps) * x

        def flat(eps: Array) -> Array:
            return np.exp(-eps) * (1 - backward(eps) - x)

        with np.errstate(divide="ignore"):
            reach = np.minimum(LARGEST_EPSILON, -np.log(x))
        zero = np.zeros_like(x)
        best = np.maximum(maximise(steep, zero, reach), maximise(flat, zero, zero + 60.0))
        return np.clip(best, 0.0, np.maximum(0.0, 1 - x))

    def _delta(self, eps: float) -> float:
        return float(self._profile(eps))

    @property
    def inverse(self) -> FromProfile:
        return FromProfile(self._reverse, self._profile)


class FromFunction(Tradeoff):
    """A trade-off function given as a plain callable; checked on a grid to be one."""

    def __init__(self, f: Callable[[Any], Any]) -> None:
        self.f = f
        x = np.linspace(0, 1, 257)
        y = self._values(x)
        if np.isnan(y).any() or (y < -1e-9).any() or (y > 1 - x + 1e-9).any():
            raise DomainError("a trade-off function lies between 0 and 1 − x on [0, 1]")
        if (np.diff(y) > 1e-9).any():
            raise DomainError("a trade-off function does not increase")
        if (np.diff(y, 2) < -1e-9).any():
            raise DomainError("a trade-off function is convex")

    def __repr__(self) -> str:
        return f"FromFunction({getattr(self.f, '__name__', self.f)})"

    def _values(self, x: Array) -> Array:
        return _vectorised(self.f)(x)


class Inverse(Tradeoff):
    """f⁻¹, by bisection."""

    def __init__(self, f: Tradeoff) -> None:
        self.f = f

    def __repr__(self) -> str:
        return f"Inverse({self.f!r})"

    def _values(self, x: Array) -> Array:
        low, high = np.zeros_like(x), np.ones_like(x)
        done = self.f._values(low) <= x
        for _ in range(64):
            middle = (low + high) / 2
            below = self.f._values(middle) <= x
            low, high = np.where(below, low, middle), np.where(below, middle, high)
        return np.where(done, 0.0, low)

    @property
    def inverse(self) -> Tradeoff:
        return self.f


class Maximum(Tradeoff):
    """The larger of two trade-off functions, everywhere: what holds when both do."""

    def __init__(self, first: Tradeoff, second: Tradeoff) -> None:
        self.first, self.second = first, second

    def __repr__(self) -> str:
        return f"Maximum({self.first!r}, {self.second!r})"

    def _values(self, x: Array) -> Array:
        return np.maximum(self.first._values(x), self.second._values(x))

    @property
    def inverse(self) -> Maximum:
        return Maximum(self.first.inverse, self.second.inverse)


def symmetrised(f: Tradeoff) -> Tradeoff:
    """max(f, f⁻¹): f-DP speaks of both orders of every pair, so both bounds hold."""
    return f if f.symmetric else Maximum(f, f.inverse)


def as_tradeoff(f: Callable[[Any], Any]) -> Tradeoff:
    """A trade-off function as one of ours; a plain callable is checked on a grid."""
    return f if isinstance(f, Tradeoff) else FromFunction(f)


def lower_approximation(f: Tradeoff, step: float, reach: float | None = None) -> PiecewiseLinear:
    """A piecewise linear g ≤ f whose slopes are −e^(k·step): f's tangents on a lattice of losses.

    Sound to compose in place of f. `reach` is the largest |loss| kept; beyond it all is lost.
    """
    if not 0 < step < math.inf:
        raise DomainError(f"step must be a positive number, got {step}")
    limit = reach if reach is not None else 40.0
    eps = step * np.arange(math.ceil(limit / step) + 1)
    forward = np.asarray(f.delta(eps))
    backward = np.asarray(f.inverse.delta(eps))
    keep = np.flatnonzero(np.diff(forward, prepend=math.inf) != 0)
    eps_f, forward = eps[keep], forward[keep]
    keep = np.flatnonzero(np.diff(backward, prepend=math.inf) != 0)
    eps_b, backward = eps[keep], backward[keep]
    # Lines a − s·x: steep ones first, then the flat ones from the other direction.
    slope = np.concatenate([np.exp(eps_f[::-1]), np.exp(-eps_b[1:]), [0.0]])
    start = np.concatenate([1 - forward[::-1], np.exp(-eps_b[1:]) * (1 - backward[1:]), [0.0]])
    return PiecewiseLinear(*_upper_envelope(start, slope))


def _upper_envelope(start: Array, slope: Array) -> tuple[Array, Array]:
    """Corners on [0, 1] of max over lines a − s·x, whose slopes s fall strictly to 0."""
    lines: list[int] = []
    corners: list[float] = []  # corners[i]: where lines[i] takes over
    for k in range(len(slope)):
        corner = 0.0
        while lines:
            top = lines[-1]
            corner = float((start[top] - start[k]) / (slope[top] - slope[k]))
            if corner > corners[-1]:
                break
            lines.pop()
            corners.pop()
            corner = 0.0
        lines.append(k)
        corners.append(corner)
    x = np.array(corners)
    y = start[lines] - slope[lines] * x
    inside = x < 1
    return np.append(x[inside], 1.0), np.append(np.clip(y[inside], 0.0, 1.0), 0.0)


def _vectorised(function: Callable[[Any], Any]) -> Callable[[Array], Array]:
    def call(x: Array) -> Array:
        try:
            values = np.asarray(function(x), dtype=float)
        except (TypeError, ValueError):
            values = np.asarray(math.nan)
        if values.shape != np.shape(x) or np.isnan(values).any():
            values = np.vectorize(lambda one: float(function(float(one))), otypes=[float])(x)
        return values

    return call


def maximise(gain: Callable[[Array], Array], low: Array, high: Array, steps: int = 80) -> Array:
    """The maximum of a unimodal function on [low, high], elementwise, by golden sections."""
    left = high - _GOLDEN * (high - low)
    right = low + _GOLDEN * (high - low)
    at_left, at_right = gain(left), gain(right)
    best = np.maximum(np.maximum(gain(low), gain(high)), np.maximum(at_left, at_right))
    for _ in range(steps):
        # A plateau lies to the left of the peak: rounding hides its rise.
        up = at_left <= at_right
        low, high = np.where(up, left, low), np.where(up, high, right)
        fresh = np.where(up, low + _GOLDEN * (high - low), high - _GOLDEN * (high - low))
        value = gain(fresh)
        left, right = np.where(up, right, fresh), np.where(up, fresh, left)
        at_left, at_right = np.where(up, at_right, value), np.where(up, value, at_left)
        best = np.maximum(best, value)
    return best
