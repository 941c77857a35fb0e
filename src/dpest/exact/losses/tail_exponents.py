"""Whether a log-density ratio grows without bound far out: decided by exponents, not by a trend.

Each density is a sum of products of terms, whose logarithms far out are known up to a bounded rest
(see `noise.tails` and `integration.asymptotics`). The ratio has the difference of their
coefficients, and is unbounded exactly if the first of them that is not zero (the fastest growing
one) is positive. Where a term's tail is not known, or a difference is too small to be told from a
rounding of the parameters, nothing is said.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpest.exact.integration.asymptotics import (
    AsymptoticFactor,
    DensityFactor,
    GateFactor,
    Growth,
    Line,
    MassFactor,
    UnknownTailError,
    growth_of_integral,
    growth_of_product,
    larger,
    largest,
)
from dpest.exact.integration.composites import Composite
from dpest.exact.integration.convolution import ConvolutionTerm
from dpest.exact.integration.terms import (
    ConstantTerm,
    GateTerm,
    IntegralTerm,
    IntervalTerm,
    KernelTerm,
    MassTerm,
    Term,
)
from dpest.geometry.linear import Form, Symbol

Pieces = Sequence[Sequence[Term]]  # a sum of products
_CLOSE = 1e-9
_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class TailEnd:
    """An output u = base + step·v where v goes to infinity, over all numbers or whole ones."""

    symbol: Symbol
    step: Fraction = _ONE
    base: Fraction = _ZERO
    lattice: bool = False

    def line(self, form: Form, latent: Symbol | None) -> Line:
        """A form as a line in r (the latent) and v."""
        if not set(form.terms) <= {self.symbol, latent}:
            raise UnknownTailError
        slope = _ZERO if latent is None else form.terms.get(latent, _ZERO)
        rise = form.terms.get(self.symbol, _ZERO)
        return Line(slope, rise * self.step, form.constant + rise * self.base)


def grows(first: Pieces, second: Pieces, end: TailEnd) -> bool | None:
    """Whether log Σ Π first − log Σ Π second goes to infinity at this end; None: not known.

    False: it stays bounded there, or the first is 0.
    """
    try:
        over, under = (growth_far_out(pieces, end) for pieces in (first, second))
        if over is None:
            return False
        return None if under is None else larger(over, under)
    except UnknownTailError:
        return None


def moment_diverges(first: Pieces, second: Pieces, alpha: float, end: TailEnd) -> bool:
    """Whether the integral of first^α·second^(1−α) is known to be infinite at this end."""
    try:
        over, under = (growth_far_out(pieces, end) for pieces in (first, second))
    except UnknownTailError:
        return False
    if over is None or under is None or over.double or under.double:
        return False
    for name, least in (("square", 0.0), ("stirling", 0.0), ("linear", 0.0), ("power", -1.0)):
        a, b = alpha * float(getattr(over, name)), (alpha - 1) * float(getattr(under, name))
        if name != "power" and a == b:
            continue
        return a - b > least + _CLOSE * (abs(a) + abs(b) + 1)
    return False


def growth_far_out(pieces: Pieces, end: TailEnd) -> Growth | None:
    """How a sum of products of terms falls at an end; None if it is 0 there."""
    return largest(_product(terms, end) for terms in pieces)


def _product(terms: Sequence[Term], end: TailEnd) -> Growth | None:
    factors = [f for term in terms for f in _plain(term, end, None)]
    if end.lattice and not all(_has_points(f) for f in factors):
        return None
    total = growth_of_product(factors)
    for term in terms:
        if total is None:
            return None
        if isinstance(term, IntegralTerm):
            found = _integral(term, end)
        elif isinstance(term, ConvolutionTerm):
            found = _convolution(term, end)
        elif isinstance(term, (MassTerm, ConstantTerm)) and float(term.log_value({})) == -math.inf:
            return None
        else:
            continue
        total = None if found is None else total.times(found)
    return total


def _plain(term: Term, end: TailEnd, latent: Symbol | None) -> Iterator[AsymptoticFactor]:
    """The factors of a term that is no integral."""
    if isinstance(term, KernelTerm):
        yield DensityFactor(term.density, end.line(term.at.form, latent))
    elif isinstance(term, GateTerm):
        yield GateFactor(end.line(term.at.form, latent))
    elif isinstance(term, IntervalTerm):
        lows, highs = (
            tuple(end.line(a.form, latent) for a, _ in side) for side in (term.lows, term.highs)
        )
        yield MassFactor(term.density, lows, highs)
    elif isinstance(term, (IntegralTerm, ConvolutionTerm)):
        if latent is not None:
            raise UnknownTailError
    elif not isinstance(term, (MassTerm, ConstantTerm)):
        raise UnknownTailError


def _has_points(factor: AsymptoticFactor) -> bool:
    """Whether a lattice noise is asked for its mass at whole numbers, or between any."""
    if not isinstance(factor, DensityFactor) or not factor.density.discrete:
        return True
    line = factor.at
    if line.slope.denominator != 1 or line.rise.denominator != 1:
        raise UnknownTailError
    return line.constant.denominator == 1


def _integral(term: IntegralTerm, end: TailEnd) -> Growth | None:
    own = term.composite.factors()
    if own is None:
        raise UnknownTailError
    inner = [f for t in term.inner for f in _plain(t, end, term.symbol)]
    if not all(_has_points(f) for f in (*own, *inner)):
        return None
    return growth_of_integral([*own, *inner], term.composite.lattice)


def _convolution(term: ConvolutionTerm, end: TailEnd) -> Growth | None:
    """∫ A(r)·B(u - r) dr, over all pairs of parts."""
    return largest(
        growth_of_integral([*_own(a), *(_mirrored(f, end) for f in _own(b))])
        for a, b in itertools.product(term.first.parts, term.second.parts)
    )


def _own(composite: Composite) -> list[AsymptoticFactor]:
    found = composite.factors()
    if found is None:
        raise UnknownTailError
    return found


def _mirrored(factor: AsymptoticFactor, end: TailEnd) -> AsymptoticFactor:
    """A factor in r as one in u - r."""

    def mirror(line: Line) -> Line:
        moved = line.constant + line.slope * end.base
        return Line(-line.slope, line.slope * end.step, moved)

    if isinstance(factor, MassFactor):
        lows, highs = tuple(map(mirror, factor.lows)), tuple(map(mirror, factor.highs))
        return MassFactor(factor.density, lows, highs)
    if isinstance(factor, DensityFactor):
        return DensityFactor(factor.density, mirror(factor.at))
    return GateFactor(mirror(factor.at))
