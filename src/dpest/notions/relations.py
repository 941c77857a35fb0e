"""Relations between finite distributions, each decided by a linear program with its witness.

`lifting` is the relational lifting of apRHL: a relation R between outcomes becomes a relation
between distributions. `blackwell` compares two experiments: whether one is the other, garbled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpest.errors import DomainError, DpestError
from dpest.notions import domain
from dpest.notions.domain import Array, Number
from dpest.notions.pairs import FinitePair

# Linear programs are solved to about this accuracy.
TOLERANCE = 1e-9

Relation = Iterable[tuple[int, int]] | Callable[[int, int], bool] | npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Lifting:
    """The least δ at which p and q are related by the lifting of R at (ε, δ), and why.

    `left` and `right` are the witnesses ν_L and ν_R: matrices on R whose row sums are p, whose
    column sums are q, and whose hockey-stick divergence at ε is `delta`. With `star`, an extra row
    and column take what R can't match. `event` is a set A of outcomes of p that shows no smaller δ
    will do in the sense p(A) − e^ε q(R[A]) (`event_delta`); for the star lifting the two agree.
    `delta` is infinite, without witnesses, if p and q can't be matched inside R at all.
    """

    epsilon: float
    delta: float
    left: Array | None
    right: Array | None
    event: frozenset[int]
    event_delta: float

    def holds(self, delta: Number) -> bool:
        """Whether (p, q) is in R's lifting at (ε, delta)."""
        return self.delta <= float(domain.probability(delta)) + TOLERANCE

    def check(self, p: Sequence[float], q: Sequence[float], tolerance: float = 1e-8) -> bool:
        """Verify the witnesses by sums alone, without a solver."""
        if self.left is None or self.right is None:
            return False
        n, m = len(p), len(q)
        marginals = np.allclose(self.left.sum(axis=1)[:n], p, atol=tolerance, rtol=0)
        marginals &= np.allclose(self.right.sum(axis=0)[:m], q, atol=tolerance, rtol=0)
        excess = np.maximum(0.0, self.left - math.exp(self.epsilon) * self.right).sum()
        signs = min(self.left.min(), self.right.min()) >= -tolerance
        return bool(marginals and signs and excess <= self.delta + tolerance)


def relation_matrix(relation: Relation, n: int, m: int) -> npt.NDArray[np.bool_]:
    if callable(relation):
        return np.array([[bool(relation(i, j)) for j in range(m)] for i in range(n)])
    if isinstance(relation, np.ndarray):
        if relation.shape != (n, m):
            raise DomainError(f"the relation's matrix must be {n} by {m}, got {relation.shape}")
        return relation.astype(bool)
    matrix = np.zeros((n, m), dtype=bool)
    for i, j in relation:
        if not (0 <= i < n and 0 <= j < m):
            raise DomainError(f"the pair ({i}, {j}) lies outside {n} by {m} outcomes")
        matrix[i, j] = True
    return matrix


def lifting(
    p: Sequence[float],
    q: Sequence[float],
    relation: Relation,
    epsilon: Number,
    *,
    star: bool = False,
) -> Lifting:
    """The least δ with (p, q) in the (ε, δ)-lifting of a relation, with witnesses.

    `relation` is a set of pairs (i, j), a predicate, or a boolean matrix. Without `star` ν_L and
    ν_R are distributions on R itself (Barthe et al. 2012); with it they may use one extra element,
    which makes the lifting equal to "p(A) ≤ e^ε q(R[A]) + δ for every A" (Sato 2016). For equality
    both are the hockey-stick divergence.
    """
    eps = float(domain.epsilon(epsilon))
    if eps > 500:
        raise DomainError(f"the linear program needs an epsilon of at most 500, got {eps}")
    a, b = FinitePair(p, p).p, FinitePair(q, q).p
    allowed = relation_matrix(relation, len(a), len(b))
    event, event_delta = worst_event(a, b, allowed, eps)
    if star:
        # The extra element: its row matches q's surplus, its column takes p's.
        allowed = np.pad(allowed, ((0, 1), (0, 1)), constant_values=True)
        allowed[-1, -1] = False
    solved = _least_excess(a, b, allowed, eps, star) if allowed.any() else None
    if solved is None:
        return Lifting(eps, math.inf, None, None, event, event_delta)
    rows, columns = np.nonzero(allowed)
    left, right = np.zeros(allowed.shape), np.zeros(allowed.shape)
    left[rows, columns] = solved.x[: len(rows)]
    right[rows, columns] = solved.x[len(rows) : 2 * len(rows)]
    return Lifting(eps, max(0.0, float(solved.fun)), left, right, event, event_delta)


def _least_excess(
    a: Array, b: Array, allowed: npt.NDArray[np.bool_], eps: float, star: bool
) -> Any | None:
    """The linear program: ν_L and ν_R on the allowed pairs, with the least excess; None: no such.

    Its solution holds ν_L, then ν_R, then the excess of ν_L over e^ε ν_R, whose sum is δ.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix, hstack, identity, vstack

    rows, columns = np.nonzero(allowed)
    count, n, m = len(rows), len(a), len(b)
    ones, index = np.ones(count), np.arange(count)
    row_sums = coo_matrix((ones, (rows, index)), shape=(n + star, count)).tocsr()[:n]
    column_sums = coo_matrix((ones, (columns, index)), shape=(m + star, count)).tocsr()[:m]
    unit = identity(count, format="csr")
    equal = vstack(
        [
            hstack([row_sums, 0 * row_sums, 0 * row_sums]),
            hstack([0 * column_sums, column_sums, 0 * column_sums]),
        ]
    )
    bound = np.concatenate([a, b])
    upper: list[tuple[float, float | None]] = [(0, None)] * (3 * count)
    if star:
        # ν_L never sits in the extra row, ν_R never in the extra column: they are surplus only.
        for k in range(count):
            if rows[k] == n:
                upper[k] = (0, 0)
            if columns[k] == m:
                upper[count + k] = (0, 0)
    solved = linprog(
        np.concatenate([np.zeros(2 * count), ones]),
        A_ub=hstack([unit, -math.exp(eps) * unit, -unit]),
        b_ub=np.zeros(count),
        A_eq=equal,
        b_eq=bound,
        bounds=upper,
        method="highs",
    )
    if solved.status == 2:
        return None
    if solved.status != 0:
        raise DpestError(f"the linear program was not solved: {solved.message}")
    return solved


def worst_event(
    p: Array, q: Array, allowed: npt.NDArray[np.bool_], eps: float
) -> tuple[frozenset[int], float]:
    """The set A with the largest p(A) − e^ε q(R[A]): a maximum closure, as a linear program.

    Its constraint matrix is totally unimodular, so that the optimum is a set.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    n, m = allowed.shape
    rows, columns = np.nonzero(allowed)
    k = np.arange(len(rows))
    # x_i ≤ y_j for every (i, j) in R.
    matrix = coo_matrix(
        (
            np.concatenate([np.ones(len(k)), -np.ones(len(k))]),
            (np.concatenate([k, k]), np.concatenate([rows, n + columns])),
        ),
        shape=(len(k), n + m),
    )
    solved = linprog(
        np.concatenate([-p, math.exp(eps) * q]),
        A_ub=matrix if len(k) else None,
        b_ub=np.zeros(len(k)) if len(k) else None,
        bounds=(0, 1),
        method="highs",
    )
    if solved.status != 0:
        raise DpestError(f"the linear program was not solved: {solved.message}")
    event = np.flatnonzero(solved.x[:n] > 0.5)
    image = allowed[event].any(axis=0)
    value = float(p[event].sum() - math.exp(eps) * q[image].sum())
    return frozenset(map(int, event)), max(0.0, value)


@dataclass(frozen=True)
class BlackwellComparison:
    """Whether an experiment is another one, garbled (Blackwell).

    `channel[y, x]` is the probability of x given y that turns (Q0, Q1) into (P0, P1); None if there
    is none. Then `level` is a level of tests at which (P0, P1) is easier to tell apart: its least
    error `error` is below `other_error`, that of (Q0, Q1). `deficiency` is the least total distance
    that a channel must leave: 0 exactly when one exists.
    """

    garbled: bool
    deficiency: float
    channel: Array | None
    level: float | None
    error: float | None
    other_error: float | None


def blackwell(
    p: tuple[Sequence[float], Sequence[float]], q: tuple[Sequence[float], Sequence[float]]
) -> BlackwellComparison:
    """Is p = (P0, P1) a garbling of q = (Q0, Q1)? Equivalent to T(P0, P1) ≥ T(Q0, Q1).

    So if q's experiment is private in any sense that survives post-processing, p's is too.
    """
    first, second = FinitePair(*p), FinitePair(*q)
    n, m = len(first), len(second)
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix, hstack, identity, vstack

    # Variables: h[y, x] in row-major order, then the positive and negative parts of both errors.
    size = m * n
    y, x = np.divmod(np.arange(size), n)
    blocks: list[Any] = [
        coo_matrix((side[y], (x, np.arange(size))), shape=(n, size))
        for side in (second.p, second.q)
    ]
    errors = identity(2 * n)
    stochastic = coo_matrix((np.ones(size), (y, np.arange(size))), shape=(m, size))
    empty = coo_matrix((m, 4 * n))
    equal = vstack([hstack([vstack(blocks), errors, -errors]), hstack([stochastic, empty])])
    solved = linprog(
        np.concatenate([np.zeros(size), np.full(4 * n, 0.5)]),
        A_eq=equal,
        b_eq=np.concatenate([first.p, first.q, np.ones(m)]),
        method="highs",
    )
    if solved.status != 0:
        raise DpestError(f"the linear program was not solved: {solved.message}")
    deficiency = max(0.0, float(solved.fun))
    if deficiency <= TOLERANCE:
        return BlackwellComparison(
            True, deficiency, solved.x[:size].reshape(m, n), None, None, None
        )
    f, g = first.tradeoff(), second.tradeoff()
    levels = np.union1d(f.x, g.x)
    worst = int(np.argmin(np.asarray(f(levels)) - np.asarray(g(levels))))
    level = float(levels[worst])
    return BlackwellComparison(False, deficiency, None, level, float(f(level)), float(g(level)))
