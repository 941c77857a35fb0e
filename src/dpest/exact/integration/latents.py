"""The noises that are integrated out; the commonest region, one noise against several others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpest.exact.integration.composites import (
    Composite,
    IntervalRow,
    density_row,
    interval_row,
    rational_bound,
)
from dpest.exact.integration.densities import LineDensity
from dpest.exact.integration.terms import MassTerm, Term
from dpest.geometry.linear import Condition, Symbol

_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class _Edge:
    """A comparison of two noises that have densities."""

    condition: Condition
    symbols: tuple[Symbol, Symbol]
    orders: tuple[int, int]


class Latents:
    """The noises that are integrated out, in the order in which they were drawn."""

    def __init__(self, densities: Mapping[Symbol, LineDensity]) -> None:
        self._known = {s: (density, order) for order, (s, density) in enumerate(densities.items())}
        self._pinned: frozenset[Symbol] = frozenset()
        # By the identity of a condition, which is kept beside what is known of it.
        self._rows: dict[Any, dict[int, tuple[Condition, IntervalRow]]] = {}
        self._edges: dict[int, tuple[Condition, _Edge | None]] = {}
        # Pieces of the trace, as long as it lives (see `cells.build_cells`).
        self.pieces: dict[Any, Any] = {}

    def __contains__(self, symbol: Symbol) -> bool:
        return symbol in self._known and symbol not in self._pinned

    def known(self, symbol: Symbol) -> tuple[LineDensity, int]:
        """The density of a noise and its place in the order."""
        return self._known[symbol]

    def edge(self, condition: Condition) -> _Edge | None:
        """The condition as a comparison of two noises; None if it is none."""
        found = self._edges.get(id(condition))
        if found is None:
            found = self._edges[id(condition)] = (condition, self._edge(condition))
        return found[1]

    def _edge(self, condition: Condition) -> _Edge | None:
        terms = condition.form.terms
        if len(terms) != 2 or any(s not in self or self._known[s][0].discrete for s in terms):
            return None
        one, two = terms
        return _Edge(condition, (one, two), (self._known[one][1], self._known[two][1]))

    def rows(
        self, conditions: Iterable[Condition], centre: Symbol, shift: Fraction
    ) -> list[IntervalRow]:
        """The probability of each comparison as a function of the centre, shifted."""
        table = self._rows.setdefault((centre, shift), {})
        found = []
        for condition in conditions:
            known = table.get(id(condition))
            if known is None:
                known = table[id(condition)] = (condition, self._row(condition, centre, shift))
            found.append(known[1])
        return found

    def _row(self, condition: Condition, centre: Symbol, shift: Fraction) -> IntervalRow:
        form = condition.form
        (leaf,) = (s for s in form.terms if s != centre)
        own, other = form.terms[leaf], form.terms[centre]
        slope = -other / own
        bound = rational_bound(slope, -form.constant / own - slope * shift)
        density = self._known[leaf][0]
        if own > 0:
            return interval_row(density, (bound,), ())
        return interval_row(density, (), (bound,))

    def without(self, pinned: Iterable[Symbol]) -> Latents:
        """The same, with noises that an output pins taken out."""
        copy = Latents({})
        copy._known, copy._pinned = self._known, self._pinned | frozenset(pinned)
        copy._rows = self._rows  # edges depend on what is pinned: they are not shared
        return copy

    def extended(
        self, densities: Mapping[Symbol, LineDensity], members: Mapping[Symbol, Sequence[Symbol]]
    ) -> Latents:
        """With further noises, each drawn when the first of its members is."""
        copy = Latents({})
        copy._known = dict(self._known)
        for symbol, density in densities.items():
            copy._known[symbol] = (density, min(self._known[s][1] for s in members[symbol]))
        copy._pinned = self._pinned
        return copy


def star(latents: Latents, conditions: Sequence[Condition]) -> Term | None:
    """The commonest region, one noise compared with each of several others, without a search.

    What is known of a condition is remembered: paths that share conditions share the work.
    """
    if len(conditions) < 2:
        return None
    edges = []
    for condition in conditions:
        edge = latents.edge(condition)
        if edge is None:
            return None
        edges.append(edge)
    one, two = edges[0].symbols
    centre = one if one in edges[1].symbols else two
    leaves: set[Symbol] = set()
    first: tuple[int, _Edge] | None = None
    order = 0
    for edge in edges:
        if edge.symbols[0] == centre:
            order, lowest = edge.orders
            leaves.add(edge.symbols[1])
        elif edge.symbols[1] == centre:
            lowest, order = edge.orders
            leaves.add(edge.symbols[0])
        else:
            return None
        if first is None or lowest < first[0]:
            first = (lowest, edge)
    assert first is not None
    if len(leaves) < len(edges):
        return None
    shift = _ZERO
    if first[0] < order:  # align to the first noise drawn, as in _Variable.composite
        form = first[1].condition.form
        shift = -form.constant / form.terms[centre]
    rows = latents.rows(conditions, centre, shift)
    rows.sort(key=id)
    density, _ = latents.known(centre)
    return MassTerm(Composite((density_row(density, _ONE, -shift), *rows)))
