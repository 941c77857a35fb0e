"""Two distributions on the real line, given by densities and point masses.

Integrals run over panels that grow geometrically away from every break point and are halved until
two Gauss-Legendre rules agree. Densities are asked for in the log domain, so tails far below the
smallest double still count. Results are numerical, to about 12 digits for piecewise smooth
densities whose kinks, jumps and peaks are among the breaks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpest.errors import DomainError
from dpest.notions import domain
from dpest.notions.domain import Array, Number, scalar_like
from dpest.notions.quadrature import NODES, integrate

if TYPE_CHECKING:
    from dpest.notions.tradeoff import FromProfile

# Panels reach from 2^-40 to 2^60 times the scale of the breaks: a tail of 1/x² leaves 1e-18.
_SMALLEST, _LARGEST = -40, 60
# Relative error of a computed log-density, a few units in the last place.
_ROUNDING = 1e-15


@dataclass(frozen=True)
class Density:
    """A distribution on the reals: a log-density, and point masses.

    `log_pdf` takes an array and gives −∞ outside the support. `breaks` are its kinks, jumps and
    peaks; `atoms` maps points to masses, and `log_pdf` integrates to what they leave.
    """

    log_pdf: Callable[[Array], Array] | None = None
    breaks: tuple[float, ...] = ()
    atoms: Mapping[float, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.log_pdf is not None and not self.breaks:
            raise DomainError("a density needs at least one break point: a peak, kink or jump")
        if not all(math.isfinite(x) for x in (*self.breaks, *self.atoms)):
            raise DomainError("breaks and atoms must be finite numbers")
        for mass in self.atoms.values():
            domain.probability(mass, "an atom's mass")

    @classmethod
    def of_pdf(cls, pdf: Callable[[Array], Array], breaks: tuple[float, ...]) -> Density:
        """From a density rather than its logarithm; tails stop where it underflows."""

        def log_pdf(x: Array) -> Array:
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(pdf(x)))

        return cls(log_pdf, breaks)

    def log_at(self, x: Array) -> Array:
        if self.log_pdf is None:
            return np.full(np.shape(x), -math.inf)
        values = np.asarray(self.log_pdf(x), dtype=float)
        if np.isnan(values).any():
            raise DomainError("the log-density is NaN somewhere")
        return values

    def pdf(self, x: Array) -> Array:
        return np.asarray(np.exp(self.log_at(x)))


class DensityPair:
    """Two densities side by side. Divergences are from P to Q; `reverse` is the other direction."""

    def __init__(self, p: Density, q: Density) -> None:
        self.p, self.q = p, q
        self.breaks = tuple(sorted({*p.breaks, *q.breaks, *p.atoms, *q.atoms}))
        points = sorted({*p.atoms, *q.atoms})
        self._atoms_p = np.array([p.atoms.get(x, 0.0) for x in points])
        self._atoms_q = np.array([q.atoms.get(x, 0.0) for x in points])
        for name, own, atoms in (("p", p, self._atoms_p), ("q", q, self._atoms_q)):
            mass = float(atoms.sum())
            if own.log_pdf is not None:
                mass += self.integrate(own.pdf)
            if not abs(mass - 1) < 1e-8:
                raise DomainError(
                    f"{name} has mass {mass:.12g} instead of 1; are its peaks and kinks in breaks?"
                )

    @cached_property
    def reverse(self) -> DensityPair:
        """The pair (Q, P)."""
        return DensityPair(self.q, self.p)

    def _panels(self, extra: tuple[float, ...] = ()) -> Array:
        """Ends of panels, fine next to each break and growing away from it."""
        cuts = np.unique(np.array([*self.breaks, *extra]))
        gaps = np.diff(cuts)
        scale = float(np.median(gaps)) if len(gaps) else 1.0
        steps = scale * 2.0 ** np.arange(_SMALLEST, _LARGEST)
        ends = [cuts]
        for index, cut in enumerate(cuts):
            right = (cuts[index + 1] - cut) / 2 if index + 1 < len(cuts) else math.inf
            left = (cut - cuts[index - 1]) / 2 if index else math.inf
            ends += [cut + steps[steps <= right], cut - steps[steps <= left]]
        return np.unique(np.concatenate(ends))

    def integrate(self, f: Callable[[Array], Array], extra: tuple[float, ...] = ()) -> float:
        """∫ f over the line, for an f that is smooth between the breaks."""
        return integrate(f, self._panels(extra))

    def _log_ratio(self, x: Array) -> Array:
        a, b = self.p.log_at(x), self.q.log_at(x)
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(a), -math.inf, a - b)

    def _above(self, x: Array, level: float) -> Array:
        """Where log p − log q exceeds `level` by more than rounding can."""
        a, b = self.p.log_at(x), self.q.log_at(x)
        with np.errstate(invalid="ignore"):
            margin = _ROUNDING * (np.abs(a) + np.abs(b) + abs(level))
            return np.where(np.isneginf(a), False, np.isneginf(b) | (a - b - level > margin))

    def _crossings(self, level: float) -> tuple[float, ...]:
        """Where the log ratio crosses `level`, by bisection between the nodes of the panels."""
        ends = self._panels()
        x = np.concatenate([ends, (ends[:-1] + ends[1:]) / 2])
        x.sort()
        above = self._above(x, level)
        where = np.flatnonzero(above[1:] != above[:-1])
        low, high, side = x[where], x[where + 1], above[where]
        for _ in range(200):
            middle = low + (high - low) / 2
            same = self._above(middle, level) == side
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return tuple(map(float, low))

    def delta(self, epsilon: npt.ArrayLike) -> Any:
        """The hockey-stick divergence Δ^ε(P‖Q)."""
        eps = domain.epsilons(epsilon)
        return scalar_like(np.vectorize(self._delta, otypes=[float])(eps))

    def _delta(self, eps: float) -> float:
        def excess(x: Array) -> Array:
            a, b = self.p.log_at(x), self.q.log_at(x)
            with np.errstate(invalid="ignore", over="ignore"):
                gap = np.where(np.isneginf(b), -math.inf, eps + b - a)
            return np.where(self._above(x, eps), np.exp(a) * -np.expm1(np.minimum(gap, 0.0)), 0.0)

        with np.errstate(divide="ignore", invalid="ignore"):
            gap = np.where(
                self._atoms_q > 0, eps + np.log(self._atoms_q) - np.log(self._atoms_p), -math.inf
            )
            kept = self._atoms_p * -np.expm1(np.minimum(gap, 0.0))
        atoms = float(kept[self._atoms_p > 0].sum())
        return min(1.0, self.integrate(excess, self._crossings(eps)) + atoms)

    def total_variation(self) -> float:
        return self._delta(0.0)

    def kl(self) -> float:
        return self.renyi(1)

    def renyi(self, alpha: Number) -> float:
        """The Rényi divergence D^α(P‖Q); α = 1 and α = ∞ are the limits."""
        order = float(domain.order_or_one(alpha))
        if order == math.inf:
            return self.max_loss()
        if self._singular():
            return math.inf
        peak = 0.0
        if order > 1:
            # Scaled by the integrand's own peak: e^((α−1)·loss) may overflow a double.
            x = self._panels()
            logs = self._power(x, order)
            peak = max(0.0, float(logs.max(initial=0.0)))

        def integrand(x: Array) -> Array:
            a, ratio = self.p.log_at(x), self._log_ratio(x)
            if order == 1:
                with np.errstate(invalid="ignore"):
                    return np.where(np.isneginf(a), 0.0, np.exp(a) * ratio)
            return np.exp(self._power(x, order) - peak)

        total = self.integrate(integrand, self._crossings(0.0))
        both = (self._atoms_p > 0) & (self._atoms_q > 0)
        a, b = np.log(self._atoms_p[both]), np.log(self._atoms_q[both])
        if order == 1:
            return max(0.0, total + float((np.exp(a) * (a - b)).sum()))
        total += float(np.exp(order * a + (1 - order) * b - peak).sum())
        return max(0.0, (math.log(total) + peak) / (order - 1))

    def _power(self, x: Array, order: float) -> Array:
        a, b = self.p.log_at(x), self.q.log_at(x)
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(a), -math.inf, order * a + (1 - order) * b)

    def _singular(self) -> bool:
        """Whether P gives mass where Q gives none."""
        if (self._atoms_p[self._atoms_q == 0] > 0).any():
            return True
        return self._delta(math.inf) > 0

    def max_loss(self) -> float:
        """D^∞(P‖Q), numerically: the largest log ratio at the breaks, between them and far out.

        Infinite when the ratio still grows where the panels end. An estimate, not a bound.
        """
        if self._singular():
            return math.inf
        ends = self._panels()
        inner = (ends[:-1, None] + ends[1:, None]) / 2 + np.diff(ends)[:, None] / 2 * NODES
        x = np.unique(inner)
        # Farther out, the difference of two huge logarithms has no digits left.
        x = x[np.maximum(self.p.log_at(x), self.q.log_at(x)) > -1e4]
        ratio = self._log_ratio(x)
        top = int(np.argmax(ratio))
        tail = 8 * len(NODES)
        if top < tail or top >= len(x) - tail:
            near, far = (ratio[tail], ratio[0]) if top < tail else (ratio[-tail], ratio[-1])
            if far > near + 1e-6 * max(1.0, abs(near)):
                return math.inf
        best = float(ratio[top])
        low, high = float(x[max(0, top - 1)]), float(x[min(len(x) - 1, top + 1)])
        for _ in range(60):
            grid = np.linspace(low, high, 9)
            values = self._log_ratio(grid)
            k = int(np.argmax(values))
            best = max(best, float(values[k]))
            low, high = float(grid[max(0, k - 1)]), float(grid[min(8, k + 1)])
        live = self._atoms_p > 0
        atoms = np.log(self._atoms_p[live]) - np.log(self._atoms_q[live])
        return max(0.0, best, float(atoms.max(initial=0.0)))

    @property
    def epsilon(self) -> float:
        """max_loss of both directions."""
        return max(self.max_loss(), self.reverse.max_loss())

    def f_divergence(
        self, f: Callable[[Array], Array], slope_at_infinity: float = math.inf
    ) -> float:
        """∫ q f(p/q) + atoms, for a convex f with f(1) = 0 that is smooth away from 1."""

        def integrand(x: Array) -> Array:
            b = self.q.log_at(x)
            with np.errstate(invalid="ignore", over="ignore"):
                ratio = np.exp(np.where(np.isneginf(b), 0.0, self._log_ratio(x)))
                return np.where(np.isneginf(b), 0.0, np.exp(b) * f(ratio))

        total = self.integrate(integrand, self._crossings(0.0))
        both = self._atoms_q > 0
        total += float((self._atoms_q[both] * f(self._atoms_p[both] / self._atoms_q[both])).sum())
        outside = self._delta(math.inf)
        return total + (outside * slope_at_infinity if outside > 0 else 0.0)

    def epsilon_at(self, delta: Number) -> float:
        """The least ε ≥ 0 with Δ^ε(P‖Q) ≤ delta, numerically."""
        from dpest.notions.profiles import invert

        return invert(self.delta, float(domain.probability(delta)))

    def tradeoff(self) -> FromProfile:
        """T(P, Q), from the profiles of both directions."""
        from dpest.notions.tradeoff import FromProfile

        return FromProfile(self.reverse.delta, self.delta)
