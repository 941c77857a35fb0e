"""What a move costs that noise hides: μ² of normal noise, ε of Laplace noise."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ..invalid import Invalid, need
from .accountant import ONE, ZERO, StageLoss
from .enclosures import exp_range, rounded
from .reach import Move, row_bound, weighted_sizes, weighted_squares
from .shifts import spread
from .ways import Shift, StageWay

UNBOUNDED = Invalid(
    "what one record adds has no bound, and no noise hides it: clip it, or bound the domain"
)


def gaussian_cost(way: StageWay, shifts: Mapping[int, Shift], move: Move) -> Fraction:
    """μ² = Σ (shift/σ)²."""
    total = ZERO
    weights: Shift = {}
    for n, shift in shifts.items():
        variance = way.noises[n].scale ** 2
        if len(shift) == 1:
            ((k, c),) = shift.items()
            weights[k] = weights.get(k, ZERO) + c * c / variance
            continue
        one = row_bound(shift, move)
        if one is None:
            raise UNBOUNDED
        total += one * one / variance
    diagonal = weighted_squares(weights, move)
    if diagonal is None:
        raise UNBOUNDED
    return rounded(total + diagonal, True, 160)


def laplace_cost(way: StageWay, shifts: Mapping[int, Shift], move: Move) -> Fraction:
    """ε = Σ |shift|/scale."""
    total = ZERO
    weights: Shift = {}
    for n, shift in shifts.items():
        scale = spread(way.noises[n])
        if len(shift) == 1:
            ((k, c),) = shift.items()
            weights[k] = weights.get(k, ZERO) + abs(c) / scale
            continue
        one = row_bound(shift, move)
        if one is None:
            raise UNBOUNDED
        total += one / scale
    diagonal = weighted_sizes(weights, move)
    if diagonal is None:
        raise UNBOUNDED
    exact = total + diagonal
    return exact if exact.denominator.bit_length() < 200 else rounded(exact, True, 160)


def truncated_step(way: StageWay, noise: int, shift: Shift, move: Move) -> StageLoss:
    """Laplace noise given |noise| ≤ A, moved by d: (d/b, the mass of (A − d, A])."""
    d = row_bound(shift, move)
    if d is None:
        raise UNBOUNDED
    b, most = way.noises[noise].scale, way.noises[noise].most
    assert most is not None
    if d >= most:
        return StageLoss("bad", d / b, delta=ONE)
    above = exp_range(-(most - d) / b)[1] - exp_range(-most / b)[0]
    whole = 2 * (1 - exp_range(-most / b)[1])
    need(whole > 0, "noises: most is too little of the scale")
    return StageLoss("bad", d / b, delta=min(ONE, rounded(above / whole, True, 160)))
