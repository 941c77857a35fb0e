"""Sums of independent results: ΣᵢΣⱼ fᵢ * gⱼ is (Σᵢ fᵢ) * (Σⱼ gⱼ), one integral instead of many.

A released sum of two maxima has one piece for each pair of winners. Each piece is an integral
∫ A(x)·B(u - x) dx; pieces whose A and B form a full product are merged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpest.distributions.composites import (
    Composite,
    DensityRow,
    IntervalRow,
    Row,
    density_row,
    interval_row,
    rational_bound,
)
from dpest.distributions.densities import reach
from dpest.distributions.quadrature import Floats, Ints, graded, integrate
from dpest.distributions.terms import (
    IntegralTerm,
    IntervalTerm,
    KernelTerm,
    Term,
    Values,
)
from dpest.program.linear import Form, Symbol


class Mixture:
    """A sum of composites with weights, in one variable."""

    def __init__(self, parts: dict[Composite, float]) -> None:
        self.parts = parts
        rows = list(dict.fromkeys(row for c in parts for row in c.rows))
        number = {row: i for i, row in enumerate(rows)}
        self._rows: list[Row] = rows
        self._uses = np.zeros((len(parts), len(rows)))
        for i, composite in enumerate(parts):
            for row in composite.rows:
                self._uses[i, number[row]] += 1
        self._log_weights = np.log(np.array(list(parts.values())))
        self.kinks = sorted({k for c in parts for k in c.kinks()})
        self.spread = min(c.spread for c in parts)
        extents = [c.extent() for c in parts]
        self.extent = (min(e[0] for e in extents), max(e[1] for e in extents))

    def log_value(self, x: Floats) -> Floats:
        table = np.stack([row.log_value(x) for row in self._rows])
        np.maximum(table, -1e290, out=table)
        values = self._uses @ table + self._log_weights[:, None]
        top = values.max(axis=0)
        total = top + np.log(np.exp(values - top).sum(axis=0))
        return np.where(top < -1e280, -np.inf, total)


class ConvolutionTerm:
    """log ∫ A(x)·B(w - x) dx for two mixtures, where w is a parameter plus a constant."""

    def __init__(self, symbol: Symbol, first: Mixture, second: Mixture) -> None:
        self.symbol = symbol
        self.first = first
        self.second = second
        self.error = 0.0

    def lines(self) -> list[Form]:
        found = {Fraction(a) + Fraction(b) for a in self.first.kinks for b in self.second.kinks}
        return [Form({self.symbol: Fraction(1)}, -k) for k in sorted(found)]

    def scale(self, symbol: Symbol) -> float:
        if symbol != self.symbol:
            return math.inf
        return min(self.first.spread, self.second.spread)

    def log_value(self, values: Values) -> Floats:
        w = np.asarray(values[self.symbol], dtype=float)
        flat = w.ravel()
        step = 400
        parts = [self._integrate(flat[i : i + step]) for i in range(0, len(flat), step)]
        return np.concatenate(parts).reshape(w.shape) if parts else np.empty(w.shape)

    def _integrate(self, w: Floats) -> Floats:
        fixed = np.array(self.first.kinks)
        moving = w[:, None] - np.array(self.second.kinks)[None, :]
        breaks = np.concatenate([np.broadcast_to(fixed, (len(w), len(fixed))), moving], axis=1)
        # Beyond all kinks the product falls at least as fast as the slower of the two.
        margin_left = self.first.kinks[0] - self.first.extent[0]
        margin_right = self.first.extent[1] - self.first.kinks[-1]
        low = breaks.min(axis=1, keepdims=True) - margin_left
        high = breaks.max(axis=1, keepdims=True) + margin_right
        breaks = np.sort(np.concatenate([low, breaks, high], axis=1), axis=1)

        def log_integrand(x: Floats, owner: Ints) -> Floats:
            both = self.first.log_value(x) + self.second.log_value(w[owner] - x)
            return both[None, :]

        width = np.full(len(w), 2 * min(self.first.spread, self.second.spread))
        result = integrate(log_integrand, graded(breaks, width), len(w))
        self.error = max(self.error, float(result.error.max()))
        return result.log_total[0]


def merged(
    pieces: Sequence[tuple[float, Sequence[Term]]],
) -> tuple[ConvolutionTerm, float] | None:
    """Pieces (log-constant, terms) of one cell as a single convolution, if they are a product."""
    if len(pieces) < 4:
        return None
    table: dict[Composite, dict[Composite, float]] = {}
    base = max(constant for constant, _ in pieces)
    symbol: Symbol | None = None
    for constant, terms in pieces:
        if len(terms) != 1 or not isinstance(terms[0], IntegralTerm):
            return None
        split = _as_convolution(terms[0])
        if split is None or (symbol is not None and split[0] != symbol):
            return None
        symbol, first, second = split
        row = table.setdefault(first, {})
        row[second] = row.get(second, 0.0) + math.exp(constant - base)
    assert symbol is not None
    rows = list(table.values())
    lead = rows[0]
    weights = []
    for row in rows:
        if row.keys() != lead.keys():
            return None
        key = next(iter(lead))
        factor = row[key] / lead[key]
        if any(abs(row[k] - factor * lead[k]) > 1e-13 * lead[k] for k in lead):
            return None
        weights.append(factor)
    first_mixture = Mixture(dict(zip(table, weights, strict=True)))
    return ConvolutionTerm(symbol, first_mixture, Mixture(lead)), base


def _as_convolution(term: IntegralTerm) -> tuple[Symbol, Composite, Composite] | None:
    """The integral as A(x) and B(u - x), with x aligned like composites are."""
    if term.composite.lattice or not math.isinf(term.composite.low):
        return None
    if not math.isinf(term.composite.high):
        return None
    forms: list[Form] = []
    for inner in term.inner:
        if isinstance(inner, KernelTerm):
            forms.append(inner.at.form)
        elif isinstance(inner, IntervalTerm):
            forms += [a.form for a, _ in inner.lows + inner.highs if a.form.terms]
        else:
            return None
    symbols = {s for f in forms for s in f.terms} - {term.symbol}
    if len(symbols) != 1:
        return None
    (u,) = symbols
    if any(f.terms.get(u) != -f.terms.get(term.symbol, Fraction(0)) for f in forms):
        return None
    aligned = term.aligned()
    if aligned is None:
        return None
    composite, shift = aligned

    def affine(form: Form) -> tuple[Fraction, Fraction]:
        # slope·(u - r) + constant, with r = x - shift: slope·(u - x) + slope·shift + constant.
        slope = form.terms.get(u, Fraction(0))
        return slope, form.constant + slope * shift

    rows: list[DensityRow | IntervalRow] = []
    for inner in term.inner:
        if isinstance(inner, KernelTerm):
            rows.insert(0, density_row(inner.density, *affine(inner.at.form)))
        elif isinstance(inner, IntervalTerm):
            lows = tuple(rational_bound(*affine(a.form), s) for a, s in inner.lows)
            highs = tuple(rational_bound(*affine(a.form), s) for a, s in inner.highs)
            rows.append(interval_row(inner.density, lows, highs))
    if not rows or not isinstance(rows[0], DensityRow):
        return None
    own, rest = rows[0], sorted(rows[1:], key=id)
    if not math.isfinite(max(reach(own.density))):
        return None
    return u, composite, Composite((own, *rest))
