"""Liftings of relations for every divergence: Rényi, Kullback-Leibler, Hellinger, χ², …

A relation R between outcomes lifts to distributions p and q through witnesses ν_L and ν_R on R,
with row sums p and column sums q; its distance is the least D(ν_L‖ν_R) (Barthe and Olmedo,
ICALP 2013, for f-divergences; Sato and others, LICS 2019, for Rényi). One pair of witnesses is the
closest in all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpest.notions.domain import Array
from dpest.notions.pairs import FinitePair
from dpest.notions.relations import TOLERANCE, Relation, relation_matrix, worst_event

_Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class MatchedBlock:
    """Outcomes of p and of q that are matched with each other, and their masses."""

    rows: frozenset[int]
    columns: frozenset[int]
    left_mass: float
    right_mass: float


@dataclass(frozen=True)
class DivergenceLifting:
    """Witnesses of a lifting, and the pair of block masses whose divergences are the distances.

    On every edge inside of a block ν_L and ν_R have the ratio of the block's masses, so that
    D(ν_L‖ν_R) = D(pair) for each f-divergence and Rényi divergence D. No witnesses are closer: the
    union A of the blocks whose ratio exceeds t has p(A) - t·q(R[A]) = Σ max(0, p_k - t·q_k), which
    bounds Σ max(0, ν_L - t·ν_R) from below for all witnesses; and every f-divergence is an
    integral of such terms over t.
    """

    pair: FinitePair
    left: Array
    right: Array
    blocks: tuple[MatchedBlock, ...]

    def renyi(self, alpha: float) -> float:
        """The least Rényi divergence of order alpha between witnesses."""
        return float(self.pair.renyi(alpha))

    def check(
        self,
        p: Sequence[float],
        q: Sequence[float],
        relation: Relation,
        tolerance: float = 1e-7,
    ) -> bool:
        """Both halves by sums alone: the witnesses are what they should be, and none are closer."""
        allowed = relation_matrix(relation, len(p), len(q))
        fits = np.allclose(self.left.sum(axis=1), p, atol=tolerance, rtol=0)
        fits &= np.allclose(self.right.sum(axis=0), q, atol=tolerance, rtol=0)
        fits &= bool((self.left[~allowed] == 0).all() and (self.right[~allowed] == 0).all())
        fits &= min(self.left.min(), self.right.min()) >= -tolerance
        reached: set[int] = set()
        for block in self.blocks:
            inside = np.ix_(sorted(block.rows), sorted(block.columns))
            left, right = self.left[inside], self.right[inside]
            ratio = left * block.right_mass - right * block.left_mass
            fits &= bool(np.abs(ratio).max(initial=0) <= tolerance)
            fits &= abs(left.sum() - block.left_mass) <= tolerance
            fits &= abs(right.sum() - block.right_mass) <= tolerance
            # R leads from the first blocks to their own columns only.
            reached |= block.columns
            if block.left_mass > 0:
                led = {int(j) for i in block.rows for j in np.flatnonzero(allowed[i])}
                fits &= led <= reached
        return bool(fits)


def divergence_lifting(
    p: Sequence[float], q: Sequence[float], relation: Relation
) -> DivergenceLifting | None:
    """The closest witnesses on R in every f-divergence and Rényi divergence; None if R has none.

    >>> lifted = divergence_lifting([0.5, 0.5], [0.25, 0.75], lambda i, j: i == j)
    >>> plain = FinitePair([0.5, 0.5], [0.25, 0.75])
    >>> abs(lifted.renyi(2) - plain.renyi(2)) < 1e-9
    True
    """
    a, b = FinitePair(p, p).p, FinitePair(q, q).p
    allowed = relation_matrix(relation, len(a), len(b))
    if (a[~allowed.any(axis=1)] > TOLERANCE).any() or (b[~allowed.any(axis=0)] > TOLERANCE).any():
        return None
    left, right = np.zeros(allowed.shape), np.zeros(allowed.shape)
    rows, columns = {int(i) for i in np.flatnonzero(a > 0)}, set(range(len(b)))
    blocks: list[MatchedBlock] = []
    while rows:
        chosen = _densest(a, b, allowed, sorted(rows), sorted(columns))
        image = {j for j in columns if allowed[sorted(chosen), j].any()}
        block = MatchedBlock(
            frozenset(chosen),
            frozenset(image),
            math.fsum(a[i] for i in chosen),
            math.fsum(b[j] for j in image),
        )
        _fill(a, b, allowed, block, left, right)
        blocks.append(block)
        rows -= chosen
        columns -= image
    for j in sorted(columns):  # what q can do and p can't: ν_L is 0 there
        if b[j] > 0:
            i = int(np.flatnonzero(allowed[:, j])[0])
            right[i, j] = b[j]
            blocks.append(MatchedBlock(frozenset({i}), frozenset({j}), 0.0, float(b[j])))
    pair = FinitePair([k.left_mass for k in blocks], [k.right_mass for k in blocks])
    return DivergenceLifting(pair, left, right, tuple(blocks))


def _densest(a: Array, b: Array, allowed: _Truths, rows: list[int], columns: list[int]) -> set[int]:
    """The rows A with the largest a(A)/b(R[A]), by Dinkelbach's steps."""
    part = allowed[np.ix_(rows, columns)]
    p, q = a[rows], b[columns]
    hopeless = {rows[k] for k in range(len(rows)) if q[part[k]].sum() <= 0}
    if hopeless:
        return hopeless
    chosen = list(range(len(rows)))
    while True:
        ratio = p[chosen].sum() / q[part[chosen].any(axis=0)].sum()
        event, excess = worst_event(p, q, part, math.log(ratio))
        if not event or excess <= TOLERANCE:
            return {rows[k] for k in chosen}
        chosen = sorted(event)


def _fill(
    a: Array, b: Array, allowed: _Truths, block: MatchedBlock, left: Array, right: Array
) -> None:
    """ν_L on the edges of a block: all of p's mass there, the columns' shares as those of q."""
    from scipy.optimize import linprog

    rows, columns = sorted(block.rows), sorted(block.columns)
    edges = [(i, j) for i in rows for j in columns if allowed[i, j]]
    if block.right_mass <= 0:
        for i in rows:
            left[i, next(j for k, j in edges if k == i)] = a[i]
        return
    ratio = block.left_mass / block.right_mass
    # Least total deviation of the columns from their shares: 0 up to rounding in a densest block.
    count = len(edges)
    equal = np.zeros((len(rows) + len(columns), count + 2 * len(columns)))
    for k, (i, j) in enumerate(edges):
        equal[rows.index(i), k] = 1
        equal[len(rows) + columns.index(j), k] = 1
    for k in range(len(columns)):
        equal[len(rows) + k, count + 2 * k] = 1
        equal[len(rows) + k, count + 2 * k + 1] = -1
    cost = np.concatenate([np.zeros(count), np.ones(2 * len(columns))])
    wanted = np.concatenate([a[rows], ratio * b[columns]])
    found = linprog(cost, A_eq=equal, b_eq=wanted, bounds=(0, None), method="highs")
    for k, (i, j) in enumerate(edges):
        left[i, j] = found.x[k]
        right[i, j] = found.x[k] / ratio
