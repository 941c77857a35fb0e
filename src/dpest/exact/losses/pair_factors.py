"""An independent part of a cell under both inputs, and the suprema of its log-ratio."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.exact.integration.convolution import ConvolutionTerm
from dpest.exact.integration.exponential_sums import ExponentialSum
from dpest.exact.integration.quadrature import Floats
from dpest.exact.integration.sums import Convolved, TwoSidedSum
from dpest.exact.integration.terms import IntegralTerm, KernelTerm, Term, renamed
from dpest.exact.losses.ratio import Supremum, scan, scan_lattice
from dpest.exact.losses.summit import Lattice, climb, grid_bounds
from dpest.exact.losses.tail_exponents import Pieces, TailEnd, grows
from dpest.exact.outputs.cells import Coordinate
from dpest.geometry.linear import Form, Symbol, rational
from dpest.noise.laplace import Laplace

Values = Mapping[Symbol, Floats]
_UNSETTLED = 1e-8  # relative error of an integral
_KNOWN: dict[Any, tuple[Supremum, Supremum]] = {}


@dataclass
class Factor:
    """An independent part of a cell's two densities, in some of its coordinates."""

    coordinates: tuple[Coordinate, ...]
    functions: tuple[Callable[[Values], Floats], Callable[[Values], Floats]]
    lines: list[Form]
    scale: float
    widest: float
    terms: tuple[tuple[Term, ...], tuple[Term, ...]] | None = None
    pieces: tuple[Pieces, Pieces] | None = None
    """Both densities as sums of products of terms; `terms` where each is one product."""
    costly: bool = False
    integrals: tuple[IntegralTerm | ConvolutionTerm, ...] = ()
    heavy: float = 0.0  # how far out tails that fall like a power still weigh
    _extremes: tuple[Supremum, Supremum] | None = None
    _rough: tuple[float, float] | None = None
    _climbed: dict[int, Supremum] = field(default_factory=dict)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return tuple(c.symbol for c in self.coordinates)

    def pair(self, x: Floats) -> tuple[Floats, Floats]:
        """Both log-densities at points (N,) for one coordinate, (N, d) for several."""
        columns = x[:, None] if x.ndim == 1 else x
        values = {s: columns[:, i] for i, s in enumerate(self.symbols)}
        shape = (len(columns),)
        log_p = np.broadcast_to(self.functions[0](values), shape)
        log_q = np.broadcast_to(self.functions[1](values), shape)
        lost = np.zeros(shape, dtype=bool)
        for term in self.integrals:
            # Where an integral did not converge its ratio is noise: no supremum is sought there.
            lost |= np.broadcast_to(term.errors > _UNSETTLED, shape)
        if lost.any():
            log_p, log_q = np.where(lost, np.nan, log_p), np.where(lost, np.nan, log_q)
        return log_p, log_q

    def kinks(self) -> list[float]:
        """For one coordinate: where the densities are not smooth."""
        (symbol,) = self.symbols
        found = {float(-f.constant / f.terms[symbol]) for f in self.lines if symbol in f.terms}
        return sorted(found)

    def window(self, widths: float) -> tuple[float, float]:
        """So many lengths around the kinks, or all of heavy tails: the rest weighs nothing."""
        kinks, far = self.kinks() or [0.0], max(widths * self.widest, self.heavy)
        return kinks[0] - far, kinks[-1] + far

    def extremes(self) -> tuple[Supremum, Supremum]:
        if self._extremes is None:
            key = self._key()
            known = None if key is None else _KNOWN.get(key)
            if known is None:
                forward, backward = self._find()
                known = forward, backward
                if len(self.coordinates) == 1:
                    known = self._decided(forward, 0), self._decided(backward, 1)
                if key is not None:
                    if len(_KNOWN) > 20_000:
                        _KNOWN.clear()
                    _KNOWN[key] = known
            self._extremes = known
        return self._extremes

    @property
    def growing(self) -> bool:
        """Whether a supremum that was looked for is not known, as it grew on and on."""
        found = [*(self._extremes or ()), *self._climbed.values()]
        return any(extreme.how == "growing" for extreme in found)

    @property
    def unproved(self) -> bool:
        """Whether a supremum was looked for, and nothing shows that it is bounded far out."""
        return any(extreme.unproved for extreme in self._extremes or ())

    def _decided(self, extreme: Supremum, side: int) -> Supremum:
        """With what the exponents of the tails say: they, not a trend, tell what is bounded."""
        if extreme.proved or extreme.value in (math.inf, -math.inf):
            return extreme
        known = True
        for sign in (-1.0, 1.0):
            unbounded = self._grows(side, sign)
            if unbounded:
                return Supremum(math.inf, (sign * math.inf,), "unbounded")
            known = known and unbounded is not None
        return extreme if known else replace(extreme, unproved=True)

    def _grows(self, side: int, sign: float) -> bool | None:
        """Whether one direction's ratio goes to infinity at an end; None: not known."""
        assert self.pieces is not None
        p, q = self.pieces if side == 0 else self.pieces[::-1]
        (coordinate,) = self.coordinates
        way = Fraction(int(sign))
        if not coordinate.lattice:
            return grows(p, q, TailEnd(coordinate.symbol, way))
        ends = [
            TailEnd(coordinate.symbol, way * coordinate.step, offset, True)
            for offset in coordinate.offsets
        ]
        found = [grows(p, q, end) for end in ends]
        return True if True in found else None if None in found else False

    def extreme(self, side: int) -> Supremum:
        """One direction only: cheaper where several coordinates hang together."""
        if len(self.coordinates) == 1:
            return self.extremes()[side]
        if side not in self._climbed:
            self._climbed[side] = self._climb(self.pair, side)
        return self._climbed[side]

    def _climb(self, pair: Callable[[Floats], tuple[Floats, Floats]], side: int) -> Supremum:
        return climb(
            pair,
            self.lines,
            self.symbols,
            self.scale,
            self.widest,
            side,
            self.costly,
            self._lattices(),
        )

    def _lattices(self) -> list[Lattice | None]:
        return [
            ([float(o) for o in c.offsets], float(c.step)) if c.lattice else None
            for c in self.coordinates
        ]

    def _key(self) -> Any:
        """Equal for factors that are one function up to the names of their coordinates."""
        if self.terms is None:
            return None
        names = {s: Form.of(Symbol("state", f"v{i}")) for i, s in enumerate(self.symbols)}
        lattice = tuple((c.lattice, c.step, c.offsets) for c in self.coordinates)
        sides = tuple(tuple(renamed(t, names) for t in side) for side in self.terms)
        return (sides, lattice, self.widest)

    def rough(self, points: int | None = None) -> tuple[float, float]:
        """Lower bounds of both suprema, from a grid of kinks and far points."""
        if len(self.coordinates) == 1:
            forward, backward = self.extremes()
            return forward.value, backward.value
        if self._rough is None:
            self._rough = grid_bounds(
                self.pair,
                self.lines,
                self.symbols,
                self.widest,
                self.costly,
                points,
                self._lattices(),
            )
        return self._rough

    def _two_kernels(self) -> tuple[Supremum, Supremum] | None:
        """A log-concave noise against itself shifted: the ratio is monotone.

        Its supremum is the limit at an end, the shift times the decay there; for Laplace noise it
        is reached outside of both centres.
        """
        if self.terms is None or any(len(side) != 1 for side in self.terms):
            return None
        (p,), (q,) = self.terms
        if not isinstance(p, KernelTerm) or not isinstance(q, KernelTerm) or p.density != q.density:
            return None
        if p.at.form.terms != q.at.form.terms or len(p.at.form.terms) != 1:
            return None
        ((_, slope),) = p.at.form.terms.items()
        shift = p.at.form.constant - q.at.form.constant
        if isinstance(p.density, Laplace):
            value = float(abs(shift) / rational(p.density.scale))
            found = []
            for term in (p, q):
                at = float(-term.at.form.constant / slope)
                log_p, log_q = self.pair(np.array([at]))
                logs = float(log_p[0]), float(log_q[0])
                found.append(Supremum(value, (at,), "at", *logs, proved=True))
            return found[0], found[1]
        rates = p.density.tail_rates
        known = (ExponentialSum, Convolved, TwoSidedSum)
        if not isinstance(p.density, known) or not max(rates) < math.inf:
            return None
        if p.density.discrete and shift.denominator != 1:
            return None
        found = []
        for moved in (shift, -shift):  # log f(y + moved) - log f(y) is largest where y is ...
            side = 0 if moved > 0 else 1
            end = -math.inf if (side == 0) == (slope > 0) else math.inf
            value = float(abs(moved)) * rates[side]
            found.append(Supremum(value, (end,), "limit", proved=True))
        return found[0], found[1]

    def finite_extremes(self) -> tuple[Supremum, Supremum]:
        """The extremes without outputs that only one side seems to have.

        For where a density underflows although the conditions allow the output.
        """

        def pair(x: Floats) -> tuple[Floats, Floats]:
            p, q = self.pair(x)
            both = np.isfinite(p) & np.isfinite(q)
            return np.where(both, p, -np.inf), np.where(both, q, -np.inf)

        plain = replace(self, terms=None, _extremes=None, _climbed={}, integrals=())
        forward, backward = plain._find(pair)
        if len(self.coordinates) == 1:
            forward, backward = plain._decided(forward, 0), plain._decided(backward, 1)
            self._extremes = (forward, backward)
        return forward, backward

    def _find(
        self, pair: Callable[[Floats], tuple[Floats, Floats]] | None = None
    ) -> tuple[Supremum, Supremum]:
        closed = self._two_kernels()
        if closed is not None:
            return closed
        pair = pair or self.pair
        if len(self.coordinates) > 1:
            return self._climb(pair, 0), self._climb(pair, 1)
        (coordinate,) = self.coordinates
        kinks = self.kinks() or [0.0]
        if coordinate.lattice:
            offsets = [float(o) for o in coordinate.offsets]
            return scan_lattice(pair, offsets, float(coordinate.step), kinks, self.widest)
        return scan(pair, kinks, self.scale, self.widest)
