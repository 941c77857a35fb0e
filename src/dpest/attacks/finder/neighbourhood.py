"""Pairs of neighbours as vectors of variables, with bounds and linear constraints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.ask.adjacency import (
    Adjacency,
)
from dpest.ask.domains import Domain, Reals
from dpest.attacks.finder.smooth import LinearInput
from dpest.errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Neighbourhood:
    """x and x2 as linear maps of the variables `v`, which lie in `bounds` with `rows`·v ≤ `limits`.

    `differences` are the variables that only say how x2 differs from x. All entries of both inputs
    lie in `entries`.
    """

    first: tuple[LinearInput, ...]
    second: tuple[LinearInput, ...]
    bounds: Floats
    rows: Floats
    limits: Floats
    box: Floats
    differences: tuple[int, ...]
    integral: bool = False
    entries: tuple[float, float] = (-math.inf, math.inf)

    @property
    def size(self) -> int:
        return len(self.bounds)

    def pair(self, variables: Floats) -> tuple[list[Any], list[Any]]:
        """Two inputs of the domain that are neighbours, whatever the variables are."""
        point = self._allowed(variables[: self.size])
        return (
            [self._entry(m, point) for m in self.first],
            [self._entry(m, point) for m in self.second],
        )

    def _allowed(self, variables: Floats) -> Floats:
        low, high = self.bounds[:, 0], self.bounds[:, 1]
        point = np.clip(variables, low, high)
        if self.integral:
            point = np.round(point)
            point = np.where(point > high, np.floor(high), point)
            point = np.where(point < low, np.ceil(low), point)
        used = np.zeros(self.size, dtype=bool)
        used[list(self.differences)] = True
        for row, limit in zip(self.rows, self.limits, strict=True):
            moved = float(row @ point)
            if moved > limit and not np.any(row[~used]):
                point[used] *= max(limit, 0.0) / moved
                if self.integral:
                    point[used] = np.trunc(point[used])
        return point

    def _entry(self, linear: LinearInput, point: Floats) -> Any:
        value = float(linear.coefficients @ point + linear.constant)
        # x lies in the domain, so that x2 comes closer to it by being moved there.
        value = min(max(value, self.entries[0]), self.entries[1])
        return round(value) if self.integral else value

    def random(self, rng: np.random.Generator) -> Floats:
        """Inputs uniform in the box, and a uniform neighbour."""
        point = rng.uniform(self.box[:, 0], self.box[:, 1])
        for row, limit in zip(self.rows, self.limits, strict=True):
            moved = float(row @ point)
            if moved > limit:
                # Shrinking towards zero keeps the direction; the variables of a constraint
                # are differences, for which zero is allowed.
                used = row != 0
                point[used] *= limit / moved * rng.uniform(0.5, 1.0)
        return np.clip(point, self.bounds[:, 0], self.bounds[:, 1])


def neighbourhoods(
    adjacency: Adjacency, domain: Domain, length: int, reach: float
) -> list[Neighbourhood] | None:
    """All kinds of pairs under an adjacency; None if the inputs are not vectors of numbers.

    Inputs of an unbounded domain may leave its box by `reach`.
    """
    if not isinstance(domain, Reals):
        return None
    low, high = domain.low, domain.high
    box = (max(domain.box[0], low), min(domain.box[1], high))
    wide = (max(low, box[0] - reach), min(high, box[1] + reach))
    build = _PairBuilder(
        length, wide, box, domain.integral, math.isfinite(low) or math.isfinite(high)
    )
    return adjacency.differences(build)


class _PairBuilder:
    def __init__(
        self,
        length: int,
        wide: tuple[float, float],
        box: tuple[float, float],
        integral: bool,
        finite: bool,
    ) -> None:
        self.n, self.wide, self.box, self.integral = length, wide, box, integral
        self.finite = finite  # whether the domain has a bound

    def _unit(self, size: int, *places: tuple[int, float]) -> LinearInput:
        coefficients = np.zeros(size)
        for place, value in places:
            coefficients[place] += value
        return LinearInput(coefficients)

    def _made(
        self,
        first: Sequence[LinearInput],
        second: Sequence[LinearInput],
        bounds: Sequence[tuple[float, float]],
        box: Sequence[tuple[float, float]],
        differences: Sequence[int],
        rows: Sequence[Floats] = (),
        limits: Sequence[float] = (),
    ) -> Neighbourhood:
        return Neighbourhood(
            tuple(first),
            tuple(second),
            np.array(bounds, dtype=np.float64),
            np.array(rows, dtype=np.float64).reshape(len(limits), len(bounds)),
            np.array(limits, dtype=np.float64),
            np.array(box, dtype=np.float64),
            tuple(differences),
            self.integral,
            self.wide,
        )

    def moved(self, step: tuple[float, float]) -> Neighbourhood:
        """x2 = x + d, each entry of d in `step`."""
        n = self.n
        first = [self._unit(2 * n, (i, 1.0)) for i in range(n)]
        second = [self._unit(2 * n, (i, 1.0), (n + i, 1.0)) for i in range(n)]
        rows, limits = [], []
        if self.finite:  # x2 must stay in the domain, too
            for linear in second:
                if math.isfinite(self.wide[1]):
                    rows.append(linear.coefficients)
                    limits.append(self.wide[1])
                if math.isfinite(self.wide[0]):
                    rows.append(-linear.coefficients)
                    limits.append(-self.wide[0])
        return self._made(
            first,
            second,
            [self.wide] * n + [step] * n,
            [self.box] * n + [step] * n,
            range(n, 2 * n),
            rows,
            limits,
        )

    def total(self, radius: float) -> Neighbourhood:
        """x2 = x + u - w with u, w ≥ 0 and Σ(u + w) ≤ radius."""
        n = self.n
        first = [self._unit(3 * n, (i, 1.0)) for i in range(n)]
        second = [self._unit(3 * n, (i, 1.0), (n + i, 1.0), (2 * n + i, -1.0)) for i in range(n)]
        row = np.concatenate([np.zeros(n), np.ones(2 * n)])
        return self._made(
            first,
            second,
            [self.wide] * n + [(0.0, radius)] * (2 * n),
            [self.box] * n + [(0.0, radius)] * (2 * n),
            range(n, 3 * n),
            [row],
            [radius],
        )

    def replaced(self, radius: float) -> list[Neighbourhood]:
        return [self._replaced(place, radius) for place in range(self.n)]

    def _replaced(self, place: int, radius: float) -> Neighbourhood:
        """One entry becomes another; within `radius` of it if that is finite."""
        n = self.n
        first = [self._unit(n + 1, (i, 1.0)) for i in range(n)]
        second = list(first)
        if math.isfinite(radius):
            second[place] = self._unit(n + 1, (place, 1.0), (n, 1.0))
            step = (-radius, radius)
            return self._made(first, second, [self.wide] * n + [step], [self.box] * n + [step], [n])
        second[place] = self._unit(n + 1, (n, 1.0))
        return self._made(first, second, [self.wide] * (n + 1), [self.box] * (n + 1), [n])

    def added(self, radius: float) -> list[Neighbourhood]:
        wide, box = self.wide, self.box
        entry = (max(wide[0], -radius), min(wide[1], radius))
        if entry[0] > entry[1]:
            raise InputError(f"no entry of the domain lies within a radius of {radius:g}")
        start = (min(max(box[0], entry[0]), entry[1]), max(min(box[1], entry[1]), entry[0]))
        return [self._added(entry, start), self._added(entry, start, swapped=True)]

    def _added(
        self, entry: tuple[float, float], start: tuple[float, float], swapped: bool = False
    ) -> Neighbourhood:
        """One entry is appended to x (or to x2, if `swapped`)."""
        n = self.n
        short = [self._unit(n + 1, (i, 1.0)) for i in range(n)]
        longer = [*short, self._unit(n + 1, (n, 1.0))]
        first, second = (longer, short) if swapped else (short, longer)
        return self._made(first, second, [self.wide] * n + [entry], [self.box] * n + [start], [n])

    def free(self) -> Neighbourhood:
        n = self.n
        first = [self._unit(2 * n, (i, 1.0)) for i in range(n)]
        second = [self._unit(2 * n, (n + i, 1.0)) for i in range(n)]
        return self._made(
            first, second, [self.wide] * (2 * n), [self.box] * (2 * n), range(n, 2 * n)
        )
