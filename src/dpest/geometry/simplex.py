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
    height = width + 2
    count = len(columns)
    # Tableau: structural columns, then the artificial ones (kept, to read off the multipliers).
    table = [
        [columns[j][i] for j in range(count)] + [one if k == i else zero for k in range(height)]
        for i in range(height)
    ]
    rhs = [zero] * (height - 1) + [one]
    basis = [count + i for i in range(height)]
    # Reduced costs of the phase-one objective (minimise the sum of the artificials).
    cost = [-sum((table[i][j] for i in range(height)), zero) for j in range(count)]
    cost += [zero] * height
    value = -sum(rhs, zero)
    while value != 0:
        entering = next((j for j in range(count) if cost[j] < 0), None)
        if entering is None:
            break
        leaving = None
        best = None
        for i in range(height):
            if table[i][entering] > 0:
                ratio = rhs[i] / table[i][entering]
                if leaving is None or ratio < best or (ratio == best and basis[i] < basis[leaving]):
                    leaving, best = i, ratio
        assert leaving is not None, "the phase-one objective is bounded below"
        pivot = table[leaving][entering]
        row = [a / pivot for a in table[leaving]]
        table[leaving] = row
        rhs[leaving] = rhs[leaving] / pivot
        live = [j for j, a in enumerate(row) if a != 0]
        for i in range(height):
            factor = table[i][entering]
            if i != leaving and factor != 0:
                target = table[i]
                for j in live:
                    target[j] -= factor * row[j]
                rhs[i] -= factor * rhs[leaving]
        factor = cost[entering]
        for j in live:
            cost[j] -= factor * row[j]
        value -= factor * rhs[leaving]
        basis[leaving] = entering
    if value == 0:
        solution = [Fraction(0)] * count
        for i, j in enumerate(basis):
            if j < count:
                solution[j] = _f(rhs[i])
        return solution[:-1], None
    # The reduced cost of artificial i is 1 - y_i in the original costs; ours started at zero for
    # the artificials because the basis was priced out, hence y_i = 1 - cost_i.
    multipliers = [one - cost[count + i] for i in range(height)]
    scale = multipliers[width]
    return None, [_f(multipliers[i] / scale) for i in range(width)]
