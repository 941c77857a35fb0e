"""Linear programs with rational data, solved in floating point and then made exact.

HiGHS proposes; every row is then checked over the rationals. A solution that doesn't survive
rounding is recomputed from its active rows by exact elimination. What `solve` returns is exactly
feasible; only its optimality is as good as the solver's tolerance (and the dual bound, where one
is asked for, settles that too).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

CONSTANT = -1
"""The key of the constant term in an affine expression over the variables 0, 1, 2, …"""

Affine = dict[int, Fraction]

_TOLERANCE = 1e-7
_CLOSE = 1e-10
_DENOMINATORS = (5040, 10**6)


class InfeasibleError(Exception):
    """No point satisfies all rows."""


class InexactError(Exception):
    """The solver's answer could not be turned into an exact one."""


def combine(*parts: tuple[Fraction | int, Mapping[int, Fraction]]) -> Affine:
    """Σ factor·expression."""
    result: Affine = {}
    for factor, expression in parts:
        if not factor:
            continue
        for variable, coefficient in expression.items():
            result[variable] = result.get(variable, Fraction(0)) + factor * coefficient
    return result


def constant(value: Fraction | int) -> Affine:
    return {CONSTANT: Fraction(value)}


@dataclass(frozen=True)
class Solution:
    """An exactly feasible point, and the solver's multipliers of the rows (floats, hints only)."""

    values: list[Fraction]
    inequality_multipliers: list[float]
    equality_multipliers: list[float]

    def at(self, expression: Mapping[int, Fraction]) -> Fraction:
        return evaluate(expression, self.values)


def evaluate(expression: Mapping[int, Fraction], values: list[Fraction]) -> Fraction:
    total = expression.get(CONSTANT, Fraction(0))
    for variable, coefficient in expression.items():
        if variable != CONSTANT:
            total += coefficient * values[variable]
    return total


class LinearProgram:
    """Rows `expression >= 0` and `expression == 0` over real (or integer) variables."""

    def __init__(self) -> None:
        self.lower: list[Fraction | None] = []
        self.integral: list[bool] = []
        self.at_least_zero: list[Affine] = []
        self.zero: list[Affine] = []

    def variable(self, lower: Fraction | int | None = None, integral: bool = False) -> Affine:
        self.lower.append(None if lower is None else Fraction(lower))
        self.integral.append(integral)
        return {len(self.lower) - 1: Fraction(1)}

    def require_non_negative(self, expression: Affine) -> int:
        self.at_least_zero.append(expression)
        return len(self.at_least_zero) - 1

    def require_zero(self, expression: Affine) -> None:
        self.zero.append(expression)

    def minimise(self, objective: Affine) -> Solution:
        """An exactly feasible point of least objective; raises if there is none."""
        inequalities, equalities = self._without_trivial()
        x, y, z = self._solve(objective, inequalities, equalities)
        feasible = []
        for denominator in _DENOMINATORS:
            values = [_round(v, denominator) for v in x]
            if self._holds(values):
                if all(abs(float(a) - v) <= _CLOSE for a, v in zip(values, x, strict=True)):
                    return Solution(values, y, z)
                feasible.append(values)  # with room to spare: rates with long fractions do that
        exact = self._active_point(x)
        if exact is not None and self._holds(exact):
            feasible.append(exact)
        if not feasible:
            raise InexactError("the solver's point is not exactly feasible")
        return Solution(min(feasible, key=lambda values: evaluate(objective, values)), y, z)

    def _without_trivial(self) -> tuple[list[int], list[int]]:
        inequalities, equalities = [], []
        for i, row in enumerate(self.at_least_zero):
            if any(v != CONSTANT and c for v, c in row.items()):
                inequalities.append(i)
            elif row.get(CONSTANT, 0) < 0:
                raise InfeasibleError
        for i, row in enumerate(self.zero):
            if any(v != CONSTANT and c for v, c in row.items()):
                equalities.append(i)
            elif row.get(CONSTANT, 0) != 0:
                raise InfeasibleError
        return inequalities, equalities

    def _solve(
        self, objective: Affine, inequalities: list[int], equalities: list[int]
    ) -> tuple[list[float], list[float], list[float]]:
        import numpy as np

        size = len(self.lower)
        y = [0.0] * len(self.at_least_zero)
        z = [0.0] * len(self.zero)
        if size == 0:
            return [], y, z
        cost = np.zeros(size)
        for variable, coefficient in objective.items():
            if variable != CONSTANT:
                cost[variable] = float(coefficient)
        a_ub, b_ub = _matrix([self.at_least_zero[i] for i in inequalities], size, -1)
        a_eq, b_eq = _matrix([self.zero[i] for i in equalities], size, 1)
        bounds = [(None if low is None else float(low), None) for low in self.lower]
        from scipy.optimize import linprog

        found = linprog(
            cost,
            A_ub=a_ub,
            b_ub=b_ub,
            A_eq=a_eq,
            b_eq=b_eq,
            bounds=bounds,
            method="highs",
            integrality=np.array(self.integral, dtype=int) if any(self.integral) else None,
        )
        if found.status in (2, 4):
            raise InfeasibleError
        if found.x is None:
            raise InexactError(found.message)
        if not any(self.integral):
            for position, i in enumerate(inequalities):
                y[i] = float(found.ineqlin.marginals[position])
            for position, i in enumerate(equalities):
                z[i] = float(found.eqlin.marginals[position])
        return [float(v) for v in found.x], y, z

    def _holds(self, values: list[Fraction]) -> bool:
        if any(low is not None and v < low for v, low in zip(values, self.lower, strict=True)):
            return False
        if any(
            whole and v.denominator != 1 for v, whole in zip(values, self.integral, strict=True)
        ):
            return False
        return all(evaluate(row, values) >= 0 for row in self.at_least_zero) and all(
            evaluate(row, values) == 0 for row in self.zero
        )

    def _active_point(self, x: list[float]) -> list[Fraction] | None:
        """The point where the rows that are active at x hold with equality, exactly."""
        approximate = [Fraction(v).limit_denominator(10**9) for v in x]
        active = list(self.zero)
        for row in self.at_least_zero:
            if abs(float(evaluate(row, approximate))) < _TOLERANCE:
                active.append(row)
        for i, low in enumerate(self.lower):
            if low is not None and abs(float(low) - x[i]) < _TOLERANCE:
                active.append({i: Fraction(1), CONSTANT: -low})
        guess = [_round(v, _DENOMINATORS[0]) for v in x]
        return solve_equations(active, guess)


def solve_equations(rows: Iterable[Affine], guess: list[Fraction]) -> list[Fraction] | None:
    """A solution of `row == 0` for all rows; variables that stay free keep their guess."""
    pivots: dict[int, Affine] = {}
    for row in rows:
        current = {v: c for v, c in row.items() if c}
        for variable in [v for v in current if v in pivots]:
            if current.get(variable):
                current = combine((1, current), (-current[variable], pivots[variable]))
                current = {v: c for v, c in current.items() if c}
        variables = [v for v in current if v != CONSTANT]
        if not variables:
            if current.get(CONSTANT):
                return None
            continue
        pivot = variables[0]
        scale = 1 / current[pivot]
        current = {v: c * scale for v, c in current.items()}
        for other, reduced in list(pivots.items()):
            if reduced.get(pivot):
                cleaned = combine((1, reduced), (-reduced[pivot], current))
                pivots[other] = {v: c for v, c in cleaned.items() if c}
        pivots[pivot] = current
    values = list(guess)
    for pivot, row in pivots.items():
        rest = {v: c for v, c in row.items() if v != pivot}
        values[pivot] = -evaluate(rest, values)
    return values


def _round(value: float, denominator: int) -> Fraction:
    return Fraction(value).limit_denominator(denominator)


def _matrix(rows: list[Affine], size: int, sign: int) -> tuple[object, object]:
    import numpy as np
    from scipy.sparse import csr_matrix

    if not rows:
        return None, None
    data: list[float] = []
    columns: list[int] = []
    starts = [0]
    right = []
    for row in rows:
        for variable, coefficient in row.items():
            if variable != CONSTANT and coefficient:
                columns.append(variable)
                data.append(sign * float(coefficient))
        starts.append(len(columns))
        right.append(-sign * float(row.get(CONSTANT, 0)))
    matrix = csr_matrix((data, columns, starts), shape=(len(rows), size))
    return matrix, np.array(right)
