"""Composite Gauss-Legendre in the log domain, between exact kinks.

An integrand is given by its logarithm, so that nothing underflows. Panels start at the kinks, grow
geometrically away from them, and are halved until their Legendre coefficients have decayed.
Integrands are log-concave between kinks (products of densities and interval probabilities of
log-concave noise), which is why a panel that rises or falls steeply is split towards its top, and
why neighbours of a panel that matters may not be much wider than it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
LogIntegrand = Callable[[Floats, Ints], Floats]

ORDER = 16
NODES, WEIGHTS = np.polynomial.legendre.leggauss(ORDER)
# Row k turns values at the nodes into the k-th Legendre coefficient.
TO_LEGENDRE = (np.polynomial.legendre.legvander(NODES, ORDER - 1) * WEIGHTS[:, None]).T * (
    np.arange(ORDER)[:, None] + 0.5
)

NEGLIGIBLE = 46.0  # e^-46 = 1e-20 of the largest value
_STEEP = 24.0
_FAR_DOWN = 80.0  # e^-80 = 1e-35 of the peak: nothing, over whatever length
_ROUNDS = 80
_MOST_PANELS = 400_000
_HOPELESS = 1e7  # a log integrand this far down is not worth more panels


@dataclass(frozen=True)
class Quadrature:
    """Log-integrals (cells × owners), their relative error estimates, and the panels used."""

    log_total: Floats
    error: Floats
    starts: Floats
    ends: Floats
    owner: Ints
    log_values: Floats  # cells × panels × ORDER; of the first panels only, without `interpolate`


def graded(breaks: Floats, width: Floats) -> tuple[Floats, Floats, Ints]:
    """Panels between sorted breaks (owners × K), growing twofold from both ends of each gap.

    `width` (one per owner) is the width next to a break. Returns starts, ends and owners.
    """
    left = breaks[:, :-1]
    gap = breaks[:, 1:] - left
    owner = np.broadcast_to(np.arange(len(breaks))[:, None], gap.shape)
    # Kinks that differ by rounding only are one; what lies between them is nothing.
    keep = gap > 1e-14 * np.maximum(np.abs(left), width[:, None])
    left, gap, owner = left[keep], gap[keep], owner[keep]
    right = breaks[:, 1:][keep]  # itself: left + gap is another number where left is far out
    levels = np.ceil(np.log2(gap / (2 * width[owner]) + 1)).astype(int)
    levels = np.maximum(levels, 1)
    unit = gap / 2 / (np.exp2(levels) - 1)
    index = np.repeat(np.arange(len(gap)), levels)
    step = np.arange(len(index)) - np.repeat(np.cumsum(levels) - levels, levels)
    low = unit[index] * (np.exp2(step) - 1)
    high = unit[index] * (np.exp2(step + 1) - 1)
    last = step == levels[index] - 1
    middle = left[index] + gap[index] / 2
    top = right[index]
    starts = np.concatenate([left[index] + low, np.where(last, middle, top - high)])
    ends = np.concatenate([np.where(last, middle, left[index] + high), top - low])
    owners = np.concatenate([owner[index], owner[index]])
    order = np.lexsort((starts, owners))
    order = order[ends[order] > starts[order]]  # far out a panel may be narrower than rounding
    return starts[order], ends[order], owners[order]


def nodes_of(starts: Floats, ends: Floats) -> Floats:
    half = (ends - starts)[:, None] / 2
    return starts[:, None] + half * (1 + NODES)


def series_at(coefficients: Floats, panel: Ints, t: Floats) -> Floats:
    """Legendre series at t, each on its own panel, by Clenshaw's recurrence."""
    one, two = np.zeros(len(t)), np.zeros(len(t))
    for k in range(len(coefficients) - 1, -1, -1):
        step = coefficients[k][panel] + (2 * k + 1) / (k + 1) * t * one
        one, two = step - (k + 1) / (k + 2) * two, one
    return one


def around_peak(
    log_integrand: LogIntegrand, panels: tuple[Floats, Floats, Ints], owners: int
) -> tuple[Floats, Floats, Ints]:
    """The panels that matter, where each owner's integrand is one and log-concave.

    It falls on both sides of its peak, so that behind a panel's neighbour it is nowhere larger
    than in the neighbour's middle.
    """
    starts, ends, owner = panels
    (middle,) = log_integrand(starts + (ends - starts) / 2, owner)
    first = np.searchsorted(owner, np.arange(owners))
    nonempty = np.append(first[1:], len(owner)) > first
    peak = np.full(owners, -np.inf)
    peak[nonempty] = np.maximum.reduceat(middle, first[nonempty])
    low = middle < peak[owner] - _FAR_DOWN
    # A panel goes if its neighbour towards the peak is low, too; and so are all beyond it.
    same = owner[1:] == owner[:-1]
    before, after = np.zeros(len(owner), dtype=bool), np.zeros(len(owner), dtype=bool)
    before[1:] = same & low[:-1]
    after[:-1] = same & low[1:]
    at_end = np.ones((2, len(owner)), dtype=bool)
    at_end[0, 1:], at_end[1, :-1] = ~same, ~same
    gone = low & (before | at_end[0]) & (after | at_end[1])
    keep = ~gone
    return starts[keep], ends[keep], owner[keep]


def integrate(
    log_integrand: LogIntegrand,
    panels: tuple[Floats, Floats, Ints],
    owners: int,
    *,
    tolerance: float = 1e-14,
    interpolate: bool = False,
    finest: float = 0.0,
) -> Quadrature:
    """The integral of exp(log_integrand) over each owner's panels.

    `log_integrand(x, owner)` gives one row per cell. With `interpolate` the panels are split until
    the Legendre series itself, not only its integral, is accurate relative to each panel. Panels
    narrower than `finest` are left as they are.
    """
    if owners > 1 and not interpolate:
        return _by_owner(log_integrand, panels, owners, tolerance, finest)
    starts, ends, owner = panels
    values = _evaluate(log_integrand, starts, ends, owner)
    kept = [values]
    places = np.arange(len(starts))  # of each panel among all that were ever evaluated
    shapes = _shapes(values)
    for _ in range(_ROUNDS):
        state = _measure(starts, ends, owner, owners, shapes, interpolate, finest)
        split = state.split(tolerance)
        if not split.any() or len(starts) + split.sum() > _MOST_PANELS:
            break
        first = sum(v.shape[1] for v in kept)
        (starts, ends, owner, shapes), order, new_values = _halved(
            log_integrand, (starts, ends, owner, shapes), split
        )
        if interpolate:
            kept.append(new_values)
            places = np.concatenate([places[~split], first + np.arange(new_values.shape[1])])
            places = places[order]
    values = np.concatenate(kept, axis=1)[:, places] if interpolate else kept[0]
    return Quadrature(state.log_total, state.error, starts, ends, owner, values)


def _by_owner(
    log_integrand: LogIntegrand,
    panels: tuple[Floats, Floats, Ints],
    owners: int,
    tolerance: float,
    finest: float,
) -> Quadrature:
    """Many integrals: one that is done is set aside, the others go on."""
    starts, ends, owner = panels
    values = _evaluate(log_integrand, starts, ends, owner)
    shapes = _shapes(values)
    log_total = np.full((len(values), owners), -np.inf)
    error = np.zeros((len(values), owners))
    names = np.arange(owners)  # of the integrals that go on

    def integrand(x: Floats, number: Ints) -> Floats:
        return log_integrand(x, names[number])

    for last in [False] * (_ROUNDS - 1) + [True]:
        state = _measure(starts, ends, owner, len(names), shapes, False, finest)
        split = state.split(tolerance)
        going = np.zeros(len(names), dtype=bool)
        if not last and len(starts) + split.sum() <= _MOST_PANELS:
            going[owner[split]] = True
        log_total[:, names[~going]] = state.log_total[:, ~going]
        error[:, names[~going]] = state.error[:, ~going]
        if not going.any():
            break
        stay = going[owner]
        owner = (np.cumsum(going) - 1)[owner[stay]]
        names = names[going]
        rest = (starts[stay], ends[stay], owner, _Shapes(*(s[:, stay] for s in shapes)))
        (starts, ends, owner, shapes), _, _ = _halved(integrand, rest, split[stay])
    return Quadrature(log_total, error, *panels, values)


def _halved(
    log_integrand: LogIntegrand,
    panels: tuple[Floats, Floats, Ints, _Shapes],
    split: NDArray[np.bool_],
) -> tuple[tuple[Floats, Floats, Ints, _Shapes], Ints, Floats]:
    """Some panels cut in two: all panels in order, that order, and the values on the new ones."""
    starts, ends, owner, shapes = panels
    middle = (starts[split] + ends[split]) / 2
    new_starts = np.concatenate([starts[split], middle])
    new_ends = np.concatenate([middle, ends[split]])
    new_owner = np.concatenate([owner[split], owner[split]])
    new_values = _evaluate(log_integrand, new_starts, new_ends, new_owner)
    starts = np.concatenate([starts[~split], new_starts])
    owner = np.concatenate([owner[~split], new_owner])
    order = np.lexsort((starts, owner))
    ends = np.concatenate([ends[~split], new_ends])[order]
    joined = (
        np.concatenate([old[:, ~split], new], axis=1)[:, order]
        for old, new in zip(shapes, _shapes(new_values, halved=True), strict=True)
    )
    return (starts[order], ends, owner[order], _Shapes(*joined)), order, new_values


class _Shapes(NamedTuple):
    """What a panel's values say, each panel in units of its own largest value (cells × panels)."""

    top: NDArray[Any]  # the logarithm of the largest value
    fall: NDArray[Any]  # how far below it the smallest positive value is
    area: NDArray[Any]  # the integral over a panel of half-width 1
    tail: NDArray[Any]  # the last two Legendre coefficients
    halved: NDArray[Any]  # whether the panel is narrow because the integrand asked for it


def _shapes(values: Floats, *, halved: bool = False) -> _Shapes:
    top = values.max(axis=2)
    alive = np.isfinite(top)
    own = np.exp(values - np.where(alive, top, 0.0)[:, :, None])
    low = values.min(axis=2)
    with np.errstate(invalid="ignore"):
        fall = np.where(alive, top - np.where(np.isfinite(low), low, top - 10), 0.0)
    tail = np.abs(own @ TO_LEGENDRE[-2:].T).max(axis=2)
    return _Shapes(top, fall, own @ WEIGHTS, tail, np.full(top.shape, halved))


def _evaluate(log_integrand: LogIntegrand, starts: Floats, ends: Floats, owner: Ints) -> Floats:
    x = nodes_of(starts, ends)
    values = log_integrand(x.ravel(), np.repeat(owner, ORDER))
    return values.reshape(values.shape[0], len(starts), ORDER)


@dataclass(frozen=True)
class _State:
    log_total: Floats
    error: Floats
    share: Floats  # cells × panels: a panel's error over its owner's total
    steep: NDArray[np.bool_]
    depth: Floats
    widths: Floats
    same_left: NDArray[np.bool_]
    halved: NDArray[np.bool_]

    def split(self, tolerance: float) -> NDArray[np.bool_]:
        matters = self.depth < NEGLIGIBLE
        needed = matters & ((self.share > tolerance) | self.steep)
        result: NDArray[np.bool_] = np.asarray(needed.any(axis=0))
        # A panel far wider than a neighbour that matters may hide the flank of a peak. Panels
        # between kinks that nearly meet are narrow for no such reason.
        weight: NDArray[np.bool_] = np.asarray(((self.depth < _STEEP) & self.halved).any(axis=0))
        wide_right = np.zeros_like(result)
        wide_left = np.zeros_like(result)
        pair = self.same_left[1:]
        wide_right[1:] = pair & weight[:-1] & (self.widths[1:] > 6 * self.widths[:-1])
        wide_left[:-1] = pair & weight[1:] & (self.widths[:-1] > 6 * self.widths[1:])
        return result | wide_right | wide_left


def _measure(
    starts: Floats,
    ends: Floats,
    owner: Ints,
    owners: int,
    shapes: _Shapes,
    interpolate: bool,
    finest: float,
) -> _State:
    top, spread, area, tail, halved = shapes
    count = top.shape[1]
    first = np.searchsorted(owner, np.arange(owners))
    empty = np.append(first[1:], count) == first
    at = np.minimum(first, max(count - 1, 0))
    peak = np.maximum.reduceat(top, at, axis=1)
    peak[:, empty] = -np.inf
    safe = np.where(np.isfinite(peak), peak, 0.0)
    size = np.exp(top - safe[:, owner])
    half = (ends - starts) / 2
    total = np.add.reduceat(area * size * half, at, axis=1)
    total[:, empty] = 0.0
    # Coefficients that decay like r^k: the series is wrong by r^ORDER, its integral by r^2ORDER.
    error = (tail if interpolate else tail * np.minimum(tail, 1.0)) * size
    if interpolate:
        # Rounding in the logarithm is a floor that no splitting gets below.
        floor = 50 + np.where(np.isfinite(top), np.abs(top), 0.0)
        # So is rounding in x, where the integrand is steep compared with the distance from 0.
        floor = floor + 2 * spread * np.maximum(np.abs(starts), np.abs(ends)) / (ends - starts)
        share = tail / floor
    else:
        share = error * half / np.maximum(total[:, owner], 1e-300)
        # Rounding in the logarithm again: a peak far out has few digits, and no rule finds more.
        share = share / (1 + 0.04 * np.abs(safe[:, owner]))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_total = np.where(total > 0, np.log(total) + safe, -np.inf)
        depth = safe[:, owner] - top
    widths = ends - starts
    hopeless = np.atleast_1d((np.abs(safe) > _HOPELESS).all(axis=0))[owner]
    resolvable = ~hopeless & (
        widths > np.maximum(1e-13 * np.maximum(np.abs(starts), np.abs(ends)), finest)
    )
    same = np.ones(count, dtype=bool)
    same[1:] = owner[1:] == owner[:-1]
    relative = np.add.reduceat(error * half, at, axis=1) / np.maximum(total, 1e-300)
    relative[:, empty] = 0.0
    return _State(
        log_total,
        relative + 1e-15,
        share * resolvable,
        (spread > (2.5 if interpolate else _STEEP)) & resolvable,
        np.zeros_like(depth) if interpolate else depth,
        np.where(resolvable, widths, 0.0),
        same,
        halved,
    )
