"""The region of a path while it grows: its conditions and a point inside it.

The point answers most questions: a condition that holds at the point is possible, and a symbol that
no condition has met yet can be moved to make either side true. Only what is left is a question for
`geometry.polyhedra`.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Sequence
from fractions import Fraction

from dpest.geometry.linear import Condition, Form, Relation, Symbol, compare
from dpest.geometry.polyhedra import between, feasible
from dpest.noise.family import Noise

Point = dict[Symbol, Fraction]
_ONE = Fraction(1)


class Supports:
    """Where each noise symbol can be, as exact bounds."""

    def __init__(self) -> None:
        self.noises: dict[Symbol, Noise] = {}
        self._bounds: dict[Symbol, tuple[Fraction | None, Fraction | None]] = {}

    def bounds(self, symbol: Symbol) -> tuple[Fraction | None, Fraction | None]:
        found = self._bounds.get(symbol)
        if found is None:
            found = self._bounds[symbol] = self._find(symbol)
        return found

    def _find(self, symbol: Symbol) -> tuple[Fraction | None, Fraction | None]:
        noise = self.noises.get(symbol)
        if noise is None:
            return (None, None)
        try:
            low, high = noise.support
        except (TypeError, ValueError):  # symbolic parameters
            return (None, None)
        return (
            None if math.isinf(low) else Fraction(repr(float(low))),
            None if math.isinf(high) else Fraction(repr(float(high))),
        )

    def conditions(self, symbols: Iterable[Symbol]) -> list[Condition]:
        found = []
        for symbol in symbols:
            low, high = self.bounds(symbol)
            relation: Relation = ">=" if self.integral(symbol) else ">"
            if low is not None:
                found.append(Condition(Form({symbol: _ONE}, -low), relation))
            if high is not None:
                found.append(Condition(Form({symbol: -_ONE}, high), relation))
        return found

    def inside(self, symbol: Symbol) -> Fraction:
        low, high = self.bounds(symbol)
        if low is not None and high is not None:
            if self.integral(symbol):
                return low
            return between(low, high) if low < high else low
        if low is not None:
            return low + 1
        return high - 1 if high is not None else Fraction(0)

    def anywhere(self, symbol: Symbol, turn: int = 0) -> Fraction:
        """A point of the support like any other: not its centre, and another for each symbol.

        Each `turn` gives another one.
        """
        low, high = self.bounds(symbol)
        shift = 1 + digest(symbol, turn) % 61
        if low is None and high is None and turn:
            # Also on the other side, and further out.
            place = Fraction(shift * turn * (-1) ** (digest(symbol, turn) // 61), 17)
            return Fraction(round(place)) if self.integral(symbol) else place
        if self.integral(symbol):
            if low is not None and high is not None:
                return low + shift % (high - low + 1)
            start = low if low is not None else high if high is not None else Fraction(0)
            return start - shift if high is not None else start + shift
        if low is not None and high is not None:
            return low + (high - low) * Fraction(shift, 64)
        if low is not None:
            return low + Fraction(shift, 17)
        return (high if high is not None else Fraction(0)) - Fraction(shift, 17)

    def integral(self, symbol: Symbol) -> bool:
        noise = self.noises.get(symbol)
        return noise is not None and noise.discrete

    def continuous(self, symbol: Symbol) -> bool:
        noise = self.noises.get(symbol)
        return noise is not None and not noise.discrete

    def tightened(self, condition: Condition) -> Condition:
        """The condition as it matters: for integers rounded, for continuous noise strict.

        k > 0 and k < 1 are possible for a real, not for an integer: with coprime coefficients
        the constant can be rounded. This decides conjunctions of bounds and differences exactly.
        The border of a condition on continuous noise has probability zero: a region that lies in
        borders alone is no path.
        """
        form = condition.form
        if condition.relation == "!=" or not form.terms:
            return condition
        if any(self.continuous(s) for s in form.terms):
            return Condition(form, ">") if condition.relation == ">=" else condition
        if not all(self.integral(s) for s in form.terms):
            return condition
        scale = math.lcm(*(c.denominator for c in form.terms.values()))
        shrink = math.gcd(*(int(c * scale) for c in form.terms.values()))
        factor = Fraction(scale, shrink)
        terms = {s: c * factor for s, c in form.terms.items()}
        constant = form.constant * factor
        if condition.relation == "==":
            if constant.denominator != 1:
                return Condition(Form(None, _ONE), "==")
            return Condition(Form(terms, constant), "==")
        whole = Fraction(math.floor(constant))
        if condition.relation == ">" and whole == constant:
            whole -= 1
        return Condition(Form(terms, whole), ">=")


def digest(symbol: Symbol, turn: int) -> int:
    """A number for a symbol, the same in every process, as hash() is not."""
    return zlib.crc32(f"{symbol.name}{turn or ''}".encode())


class Region:
    """A conjunction of conditions with a point in it."""

    def __init__(self, supports: Supports, conditions: Sequence[Condition], point: Point) -> None:
        self.supports = supports
        self.conditions = list(conditions)
        self.point = point

    def meet(self, conditions: Sequence[Condition]) -> Point | None:
        """A point of the region where the further conditions hold too, or None."""
        tight = [self.supports.tightened(c) for c in conditions]
        point = self.point
        fresh = {s for c in tight for s in c.form.terms if s not in point}
        if fresh:
            point = dict(point)
            for symbol in fresh:
                point[symbol] = self.supports.inside(symbol)
        if all(c.holds(point) for c in tight):
            return point
        if len(tight) == 1 and fresh and tight[0].relation in (">", ">="):
            for symbol in fresh:
                place = self._steered(tight[0], symbol, point)
                if place is not None:
                    point[symbol] = place
                    return point
        return self._search(tight)

    def apart(self, condition: Condition) -> bool:
        """Whether no condition so far speaks of its symbols."""
        terms = condition.form.terms
        return all(c.form.terms.keys().isdisjoint(terms) for c in self.conditions)

    def add(self, conditions: Sequence[Condition], point: Point) -> None:
        self.conditions.extend(conditions)
        self.point = point

    def _steered(self, condition: Condition, symbol: Symbol, point: Point) -> Fraction | None:
        """Where a symbol that no condition has met makes the condition true, if anywhere."""
        slope = condition.form.terms[symbol]
        border = point[symbol] - condition.form.at(point) / slope
        low, high = self.supports.bounds(symbol)
        if self.supports.integral(symbol):
            place = Fraction(math.ceil(border) if slope > 0 else math.floor(border))
            if condition.strict and place == border:
                place += 1 if slope > 0 else -1
        elif slope > 0:
            border = border if low is None else max(border, low)
            place = border + 1 if high is None else (border + high) / 2
        else:
            border = border if high is None else min(border, high)
            place = border - 1 if low is None else (border + low) / 2
        if (low is not None and place < low) or (high is not None and place > high):
            return None
        if not self.supports.integral(symbol) and place in (low, high):
            return None
        moved = condition.form.at(point) + slope * (place - point[symbol])
        return place if compare(moved, condition.relation) else None

    def _search(self, conditions: Sequence[Condition]) -> Point | None:
        """By elimination, on the conditions that share symbols with the new ones."""
        reached = {s for c in conditions for s in c.form.terms}
        pending = self.conditions
        connected: list[Condition] = []
        grown = True
        while grown:
            grown = False
            rest = []
            for condition in pending:
                if reached.isdisjoint(condition.form.terms):
                    rest.append(condition)
                else:
                    connected.append(condition)
                    reached.update(condition.form.terms)
                    grown = True
            pending = rest
        tight = [self.supports.tightened(c) for c in connected]
        lattice = [s for s in reached if self.supports.integral(s)]
        found = feasible_with_integers(
            [*tight, *conditions, *self.supports.conditions(reached)], lattice
        )
        return None if found is None else {**self.point, **found}


def feasible_with_integers(
    conditions: Sequence[Condition], lattice: Sequence[Symbol], most: int = 40
) -> Point | None:
    """A point with integers for the `lattice` symbols, by branching on those that have none.

    After `most` steps a point of the real relaxation is given: a region that may be empty is kept
    rather than one with points dropped.
    """
    relaxed: Point | None = None
    open_ = [list(conditions)]
    for _ in range(most):
        if not open_:
            return None
        held = open_.pop()
        point = feasible(held)
        if point is None:
            continue
        symbol = next((s for s in lattice if point.get(s, _ONE).denominator != 1), None)
        if symbol is None:
            return point
        relaxed = point
        floor = Fraction(math.floor(point[symbol]))
        open_.append([*held, Condition(Form({symbol: -_ONE}, floor), ">=")])
        open_.append([*held, Condition(Form({symbol: _ONE}, -floor - 1), ">=")])
    return relaxed if open_ else None
