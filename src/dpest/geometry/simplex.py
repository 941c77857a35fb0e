"""Linear feasibility, decided exactly: a contradiction by multipliers, or a point."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint

Rationals = list[Fraction]


def contradiction_or_point(
    rows: Sequence[Sequence[Fraction]], constants: Sequence[Fraction], strict: Sequence[bool]
) -> tuple[Rationals | None, Rationals | None]:
    """Motzkin's alternative for row_i·x + constant_i ≥ 0 (> 0 where strict).

    Either (λ, None): λ ≥ 0, Σ λ_i·row_i = 0, and Σ λ_i·constant_i is negative, or zero with a
    strict row of positive λ. Or (None, x): a point that satisfies all rows.

    A floating-point solution of large systems is only a guess: it is rounded to rationals and
    checked, and where the check fails the rational simplex method decides.
    """
    if len(rows) * (len(rows[0]) if rows else 0) > 600:
        guess = _by_floats(rows, constants, strict)
        if guess is not None:
            return guess
    return _by_rationals(rows, constants, strict)


def is_point(
    rows: Sequence[Sequence[Fraction]],
    constants: Sequence[Fraction],
    strict: Sequence[bool],
    point: Sequence[Fraction],
) -> bool:
    for row, constant, tight in zip(rows, constants, strict, strict=True):
        value = constant + sum((a * x for a, x in zip(row, point, strict=True) if a), Fraction(0))
        if value < 0 or (tight and value == 0):
            return False
    return True


def _by_floats(
    rows: Sequence[Sequence[Fraction]], constants: Sequence[Fraction], strict: Sequence[bool]
) -> tuple[Rationals | None, Rationals | None] | None:
    import numpy as np
    from scipy.optimize import linprog

    matrix = np.array([[float(a) for a in row] for row in rows])
    count, width = matrix.shape
    # Maximise the common slack of the strict rows, at most 1.
    slack = np.array([1.0 if s else 0.0 for s in strict])
    left = np.hstack([-matrix, slack[:, None]])
    objective = np.zeros(width + 1)
    objective[-1] = -1.0
    bounds: list[Any] = [(None, None)] * width + [(None, 1.0)]
    answer = linprog(
        objective, A_ub=left, b_ub=[float(c) for c in constants], bounds=bounds, method="highs"
    )
    if answer.status == 0 and answer.x[-1] > 1e-9:
        for size in (1, 10**3, 10**6, 10**9):
            point = [Fraction(v).limit_denominator(size) for v in answer.x[:-1]]
            if is_point(rows, constants, strict, point):
                return None, point
        return None
    # Infeasible, or only the border is feasible: the rows that carry weight in the alternative
    # are few; the rational method on those alone is quick, and its answer holds for all rows.
    dual = linprog(
        np.ones(count + 1),
        A_eq=np.vstack(
            [
                np.hstack([matrix.T, np.zeros((width, 1))]),
                [*[float(c) for c in constants], 1.0],
                [*slack, 1.0],
            ]
        ),
        b_eq=[*([0.0] * (width + 1)), 1.0],
        bounds=[(0, None)] * (count + 1),
        method="highs",
    )
    if dual.status != 0:
        return None
    carried = [i for i in range(count) if dual.x[i] > 1e-9]
    if not carried:
        return None
    weights, _ = _by_rationals(
        [rows[i] for i in carried], [constants[i] for i in carried], [strict[i] for i in carried]
    )
    if weights is None:
        return None
    full = [Fraction(0)] * count
    for i, weight in zip(carried, weights, strict=True):
        full[i] = weight
    return full, None


def _q(value: Fraction) -> Any:
    return flint.fmpq(value.numerator, value.denominator)


def _f(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _by_rationals(
    rows: Sequence[Sequence[Fraction]], constants: Sequence[Fraction], strict: Sequence[bool]
) -> tuple[Rationals | None, Rationals | None]:
    """Phase one of the simplex method (Bland's rule) on the alternative system.

    Unknowns λ ≥ 0 and μ ≥ 0 with Σ λ_i·row_i = 0, Σ λ_i·constant_i + μ = 0 and
    μ + Σ_{strict} λ_i = 1. Where it has no solution, the simplex multipliers y satisfy
    y·column ≤ 0 for every column and y·rhs > 0; the column of μ makes its weight on the constants
    negative, and dividing by that gives the point.
    """
    zero, one = flint.fmpq(0), flint.fmpq(1)
    width = len(rows[0]) if rows else 0
    columns = [
        [*(_q(a) for a in row), _q(c), one if s else zero]
        for row, c, s in zip(rows, constants, strict, strict=True)
    ]
    columns.append([zero] * width + [one, one])
    tableau = _Tableau(columns, [zero] * (width + 1) + [one])
    if tableau.solved():
        return tableau.solution()[:-1], None
    multipliers = tableau.multipliers()
    scale = multipliers[width]
    return None, [_f(y / scale) for y in multipliers[:width]]


class _Tableau:
    """Σ x_j·column_j = rhs with x ≥ 0: phase one, which minimises the sum of artificial columns.

    `rhs` is non-negative. The artificial columns stand behind the others; they never enter the
    basis again, and are kept to read off the multipliers.
    """

    def __init__(self, columns: Sequence[Sequence[Any]], rhs: list[Any]) -> None:
        zero, one = flint.fmpq(0), flint.fmpq(1)
        self.height, self.count = len(rhs), len(columns)
        self.rows = [
            [column[i] for column in columns]
            + [one if k == i else zero for k in range(self.height)]
            for i in range(self.height)
        ]
        self.rhs = rhs
        self.basis = [self.count + i for i in range(self.height)]
        # Reduced costs of the objective, priced out for the artificial basis.
        self.cost = [-sum((row[j] for row in self.rows), zero) for j in range(self.count)]
        self.cost += [zero] * self.height
        self.value = -sum(rhs, zero)

    def solved(self) -> bool:
        """Pivots to the optimum; whether the artificial columns are zero there."""
        while self.value != 0:
            entering = next((j for j in range(self.count) if self.cost[j] < 0), None)
            if entering is None:
                return False
            self._pivot(self._leaving(entering), entering)
        return True

    def solution(self) -> list[Fraction]:
        found = [Fraction(0)] * self.count
        for i, j in enumerate(self.basis):
            if j < self.count:
                found[j] = _f(self.rhs[i])
        return found

    def multipliers(self) -> list[Any]:
        """y, with y·column ≤ 0 for every column and y·rhs > 0, where there is no solution.

        The reduced cost of artificial i is 1 - y_i in the original costs; ours started at zero for
        the artificials because the basis was priced out, hence y_i = 1 - cost_i.
        """
        return [flint.fmpq(1) - c for c in self.cost[self.count :]]

    def _leaving(self, entering: int) -> int:
        leaving = None
        best = None
        for i, row in enumerate(self.rows):
            if row[entering] > 0:
                ratio = self.rhs[i] / row[entering]
                if (
                    leaving is None
                    or ratio < best
                    or (ratio == best and self.basis[i] < self.basis[leaving])
                ):
                    leaving, best = i, ratio
        assert leaving is not None, "the phase-one objective is bounded below"
        return leaving

    def _pivot(self, leaving: int, entering: int) -> None:
        rhs = self.rhs
        pivot = self.rows[leaving][entering]
        row = self.rows[leaving] = [a / pivot for a in self.rows[leaving]]
        rhs[leaving] = rhs[leaving] / pivot
        live = [j for j, a in enumerate(row) if a != 0]
        for i, target in enumerate(self.rows):
            factor = target[entering]
            if i != leaving and factor != 0:
                for j in live:
                    target[j] -= factor * row[j]
                rhs[i] -= factor * rhs[leaving]
        factor = self.cost[entering]
        for j in live:
            self.cost[j] -= factor * row[j]
        self.value -= factor * rhs[leaving]
        self.basis[leaving] = entering
