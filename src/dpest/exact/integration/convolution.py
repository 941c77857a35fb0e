"""Sums of independent results: ΣᵢΣⱼ fᵢ * gⱼ is (Σᵢ fᵢ) * (Σⱼ gⱼ), one integral instead of many.

A released sum of two maxima has one path for each pair of winners. Where the paths are all pairs
of one way for the first summand and one for the second, both have a density of their own, and the
output's is ∫ A(x)·B(u - x) dx.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpest.exact.integration.composites import (
    Composite,
    DensityRow,
    Row,
    density_row,
    interval_row,
    rational_bound,
)
from dpest.exact.integration.densities import reach
from dpest.exact.integration.quadrature import Floats, Ints, graded, integrate
from dpest.exact.integration.terms import (
    NEVER,
    GateTerm,
    IntervalTerm,
    KernelTerm,
    MassTerm,
    Term,
    Values,
)
from dpest.geometry.linear import Condition, Form, Symbol


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
        self._low, self._high = (np.array(ends)[:, None] for ends in _ends(parts))
        self.kinks = sorted({k for c in parts for k in c.kinks()})
        self.spread = min(c.spread for c in parts)
        extents = [c.extent() for c in parts]
        self.extent = (min(e[0] for e in extents), max(e[1] for e in extents))

    def log_value(self, x: Floats) -> Floats:
        table = np.stack([row.log_value(x) for row in self._rows])
        np.maximum(table, -1e290, out=table)
        values = self._uses @ table + self._log_weights[:, None]
        values[(x < self._low) | (x > self._high)] = -1e290
        top = values.max(axis=0)
        total = top + np.log(np.exp(values - top).sum(axis=0))
        return np.where(top < -1e280, -np.inf, total)


def _ends(parts: Iterable[Composite]) -> tuple[list[float], list[float]]:
    """Where each composite begins and ends."""
    return [c.low for c in parts], [c.high for c in parts]


class ConvolutionTerm:
    """log ∫ A(x)·B(w - x) dx for two mixtures, where w is a parameter plus a constant."""

    def __init__(self, symbol: Symbol, first: Mixture, second: Mixture) -> None:
        self.symbol = symbol
        self.first = first
        self.second = second
        self.error = 0.0
        self.errors: Floats = np.zeros(0)  # relative, at each point of the last call

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
        if not parts:
            return np.empty(w.shape)
        result = np.concatenate([p[0] for p in parts])
        self.errors = np.concatenate([p[1] for p in parts])
        self.error = max(self.error, float(self.errors[result > NEVER].max(initial=0.0)))
        self.errors = self.errors.reshape(w.shape)
        return result.reshape(w.shape)

    def _integrate(self, w: Floats) -> tuple[Floats, Floats]:
        """Log-integrals and their relative error estimates."""
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
        return result.log_total[0], result.error[0]


@dataclass(frozen=True)
class Summand:
    """One way that a summand of the output comes about: conditions on its noises, and its form."""

    conditions: tuple[Condition, ...]
    form: Form


def summands(
    regions: Sequence[tuple[tuple[Condition, ...], Form]],
) -> tuple[list[Summand], list[Summand]] | None:
    """Regions (conditions, output) as all sums of one summand of each of two lists, if they are.

    The lists share no noise within a region.
    """
    tables: tuple[dict[Any, int], dict[Any, int]] = ({}, {})
    found: tuple[list[Summand], list[Summand]] = ([], [])
    constants: dict[tuple[int, int], Fraction] = {}
    for conditions, form in regions:
        split = _two_components(conditions, form)
        if split is None:
            return None
        places = []
        for table, listed, symbols in zip(tables, found, split, strict=True):
            own = tuple(c for c in conditions if not symbols.isdisjoint(c.form.terms))
            part = Form({s: c for s, c in form.terms.items() if s in symbols})
            place = table.setdefault((own, part), len(table))
            if place == len(listed):
                listed.append(Summand(own, part))
            places.append(place)
        if (places[0], places[1]) in constants:
            return None
        constants[places[0], places[1]] = form.constant
    if len(constants) != len(found[0]) * len(found[1]):
        return None
    # The constants have to be sums as well: one part of each goes to each summand.
    firsts = [constants[i, 0] for i in range(len(found[0]))]
    seconds = [constants[0, j] - constants[0, 0] for j in range(len(found[1]))]
    if any(c != firsts[i] + seconds[j] for (i, j), c in constants.items()):
        return None
    return (
        [
            replace(s, form=s.form.plus(Form(None, c)))
            for s, c in zip(found[0], firsts, strict=True)
        ],
        [
            replace(s, form=s.form.plus(Form(None, c)))
            for s, c in zip(found[1], seconds, strict=True)
        ],
    )


def _two_components(
    conditions: Sequence[Condition], form: Form
) -> tuple[set[Symbol], set[Symbol]] | None:
    """The noises in two sets that no condition ties, both seen in the output."""
    groups: list[set[Symbol]] = []
    for condition in conditions:
        mine = set(condition.form.terms)
        apart = []
        for group in groups:
            if mine.isdisjoint(group):
                apart.append(group)
            else:
                mine |= group
        groups = [*apart, mine]
    if len(groups) != 2 or any(not any(s in group for group in groups) for s in form.terms):
        return None
    if any(group.isdisjoint(form.terms) for group in groups):
        return None
    order = {s: i for i, s in enumerate(sorted(groups[0] | groups[1]))}
    groups.sort(key=lambda group: min(order[s] for s in group))
    return groups[0], groups[1]


def mixture(parts: Sequence[tuple[float, Sequence[Term]]], symbol: Symbol) -> Mixture | None:
    """A sum of densities (log-constant, terms) of one parameter, if they are plain products."""
    found: dict[Composite, float] = {}
    for constant, terms in parts:
        made = _composite(terms, symbol)
        if made is None:
            return None
        composite, log_factor = made
        found[composite] = found.get(composite, 0.0) + math.exp(constant + log_factor)
    return Mixture(found) if found and min(found.values()) > 0 else None


def _composite(terms: Sequence[Term], symbol: Symbol) -> tuple[Composite, float] | None:
    own: list[DensityRow] = []
    rows: list[Row] = []
    log_factor, low, high = 0.0, -math.inf, math.inf

    def affine(form: Form) -> tuple[Fraction, Fraction]:
        return form.terms.get(symbol, Fraction(0)), form.constant

    for term in terms:
        if isinstance(term, KernelTerm):
            own.append(density_row(term.density, *affine(term.at.form)))
        elif isinstance(term, IntervalTerm):
            lows = tuple(rational_bound(*affine(a.form), s) for a, s in term.lows)
            highs = tuple(rational_bound(*affine(a.form), s) for a, s in term.highs)
            rows.append(interval_row(term.density, lows, highs))
        elif isinstance(term, GateTerm):
            slope, offset = affine(term.at.form)
            edge = float(-offset / slope)
            low, high = (max(low, edge), high) if slope > 0 else (low, min(high, edge))
        elif isinstance(term, MassTerm):
            log_factor += float(term.log_value({}))
        else:
            return None
    if not own or any(row.density.discrete for row in [*own, *rows]) or not low < high:
        return None
    if not math.isfinite(max(reach(own[0].density))):
        return None
    return Composite((own[0], *own[1:], *sorted(rows, key=id)), low, high), log_factor
