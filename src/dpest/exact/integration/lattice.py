"""Rational probabilities: finite lattice noise and uniform noise between rational bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dpest.exact.integration.densities import LineDensity
from dpest.exact.integration.terms import IntervalTerm, Term
from dpest.geometry.linear import rational
from dpest.noise.family import Noise
from dpest.noise.uniform import Uniform

_MOST_SUMMED = 4096


def exact_product(terms: Sequence[Term]) -> Fraction | None:
    """The product of the terms' probabilities, if each is a rational; None if one isn't."""
    total = Fraction(1)
    for term in terms:
        if not isinstance(term, IntervalTerm):
            return None
        one = _exact_interval(term)
        if one is None:
            return None
        total *= one
    return total


def _exact_interval(term: IntervalTerm) -> Fraction | None:
    if any(affine.form.terms for affine, _ in term.lows + term.highs):
        return None
    density = term.density
    if isinstance(density, Uniform):
        return _uniform(density, term)
    if density.discrete:
        return _lattice(density, term)
    return None


def _uniform(noise: Uniform, term: IntervalTerm) -> Fraction:
    bottom, top = rational(noise.low), rational(noise.high)
    low = max([bottom, *(a.form.constant for a, _ in term.lows)])
    high = min([top, *(a.form.constant for a, _ in term.highs)])
    return max(high - low, Fraction(0)) / (top - bottom)


def _lattice(density: LineDensity, term: IntervalTerm) -> Fraction | None:
    if not isinstance(density, Noise):
        return None
    bottom, top = density.support
    firsts = [
        math.floor(a.form.constant) + 1 if strict else math.ceil(a.form.constant)
        for a, strict in term.lows
    ]
    lasts = [
        math.ceil(a.form.constant) - 1 if strict else math.floor(a.form.constant)
        for a, strict in term.highs
    ]
    if math.isfinite(bottom):
        firsts.append(math.ceil(bottom))
    if math.isfinite(top):
        lasts.append(math.floor(top))
    if not firsts or not lasts:
        return None
    first, last = max(firsts), min(lasts)
    count = last - first + 1
    if count <= 0:
        return Fraction(0)
    one = density.mass_exact(first)
    if one is None:
        return None
    if density.family == "discrete_uniform":
        return count * one
    if count > _MOST_SUMMED:
        return None
    total = Fraction(0)
    for k in range(first, last + 1):
        mass = density.mass_exact(k)
        if mass is None:
            return None
        total += mass
    return total
