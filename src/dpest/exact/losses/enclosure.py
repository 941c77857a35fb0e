"""The same integrals in ball arithmetic: an interval that contains the true ε.

Between kinks every factor is one analytic function, so that Arb's rigorous integration applies.
Slivers around the kinks (whose places are rounded) and the tails are bounded by the variable's own
density, since all other factors are probabilities. Parameters count as the exact rationals that the
program wrote: 0.1 is 1/10.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpest.exact.integration.composites import Composite, DensityRow, IntervalRow, LinearBound
from dpest.exact.integration.densities import LineDensity
from dpest.exact.integration.exponential_sums import ExponentialSum
from dpest.exact.integration.lattice import exact_product
from dpest.exact.integration.terms import IntervalTerm, KernelTerm, MassTerm, Term
from dpest.exact.losses.ball_laws import Ball, BallLaw, as_ball, ball_law
from dpest.exact.losses.pair_factors import Factor
from dpest.exact.losses.pairs import CellPair, GroupPair
from dpest.geometry.linear import Form, rational
from dpest.noise.laplace import Laplace

if TYPE_CHECKING:
    from dpest.exact.losses.loss import ExactLoss

_PRECISION = 128
_ULPS = 2.0**-50  # radius, relative, of a coefficient that was rounded to a double


class _NotCovered(Exception):
    """Something that has no enclosure here; the message says what."""


@contextmanager
def _precision(bits: int) -> Iterator[None]:
    import flint

    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = before


def enclose(loss: ExactLoss) -> tuple[tuple[float, float] | None, str]:
    """[lo, hi] around ε, or None with the reason."""
    if loss.epsilon == math.inf:
        how = loss.witness.details.get("how")
        if how == "unbounded":
            return None, "no enclosure: the ratio is unbounded by its tails, not by a support"
        return (math.inf, math.inf), ""  # decided exactly from the conditions
    with _precision(_PRECISION):
        try:
            bounds = [_direction(loss.parts, side) for side in (0, 1)]
        except _NotCovered as reason:
            return None, f"no enclosure: {reason}"
    return (max(0.0, *(b[0] for b in bounds)), max(0.0, *(b[1] for b in bounds))), ""


def _direction(parts: Sequence[Sequence[GroupPair]], side: int) -> tuple[float, float]:
    from flint import arb

    total = arb(0)
    for groups in parts:
        best = None
        for group in groups:
            value = arb(0)
            for block in group.blocks:
                cells = [v for c in block.cells if (v := _cell(c, side)) is not None]
                if not cells:
                    break
                value += _largest(cells)
            else:
                best = value if best is None else _largest([best, value])
        if best is None:
            raise _NotCovered("no output is possible on both sides")
        total += best
    return _outward(total)


def _largest(values: Sequence[Any]) -> Any:
    result = values[0]
    for value in values[1:]:
        result = result.max(value)
    return result


def _outward(ball: Any) -> tuple[float, float]:
    low, high = float(ball.lower()), float(ball.upper())
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


def _cell(pair: CellPair, side: int) -> Any:
    """The ball of a cell's supremum; None if the cell is empty."""
    from flint import arb

    logs: list[Any] = []
    for i in (0, 1):
        pieces = pair.cell.pieces[i]
        if not pieces or all(p.constant == -math.inf for p in pieces):
            logs.append(None)
            continue
        constants = [_piece_mass(p, pair.cell.coordinates) for p in pieces]
        if len(pieces) > 1 and pair.cell.coordinates:
            raise _NotCovered("several paths release the same numbers")
        total = sum(constants, arb(0))
        if not total > 0:
            if total.contains(0) and pair.log_constant[i] == -math.inf:
                logs.append(None)
                continue
            raise _NotCovered("a probability too small for the precision")
        logs.append(total.log())
    if logs[0] is None or logs[1] is None:
        return None
    value = logs[0] - logs[1] if side == 0 else logs[1] - logs[0]
    for factor in pair.factors:
        value += _factor(factor, side)
    return value


def _piece_mass(piece: Any, coordinates: Sequence[Any]) -> Any:
    """Weight times all masses that no coordinate moves."""
    from flint import arb

    if piece.exact is not None:
        return as_ball(piece.exact)
    weight = piece.region.weight
    if any(choice.rounded for choice in getattr(piece.region.label, "choices", ())):
        raise _NotCovered("turns of a loop were summed up in floating point")
    total = as_ball(weight) if isinstance(weight, Fraction) else arb(float(weight))
    if coordinates:
        # exp of what the coordinates' Jacobian contributes; rational, so a rounded double is near.
        rest = piece.constant - math.log(weight)
        total = total * _ball(math.exp(rest))
    for term in piece.terms:
        if isinstance(term, MassTerm):
            total = total * mass(term.composite)
        elif isinstance(term, IntervalTerm):
            if not any(a.form.terms for a, _ in term.lows + term.highs):
                total = total * _constant_interval(term)
        elif not isinstance(term, KernelTerm) and not coordinates:
            raise _NotCovered("more than one nested integral")
    return total


def _factor(factor: Factor, side: int) -> Any:
    """The supremum of a ratio of two kernels of one noise with exponential tails, exactly.

    For Laplace noise |shift|/scale. Sums of Laplace and exponential noises are log-concave: their
    ratio is monotone, its supremum the limit on one side, shift times the slowest decay there.
    """
    if factor.terms is None or len(factor.coordinates) != 1:
        raise _NotCovered("released numbers that hang together")
    kernels = [_only_kernel(terms) for terms in factor.terms]
    (p, p_form), (q, q_form) = kernels
    if not isinstance(p, (Laplace, ExponentialSum)) or p != q:
        raise _NotCovered("a released number whose noise is not a Laplace of one scale")
    symbol = factor.symbols[0]
    if p_form.terms != q_form.terms or set(p_form.terms) != {symbol}:
        raise _NotCovered("a released number that other noise bounds")
    shift = p_form.constant - q_form.constant
    if isinstance(p, Laplace):
        return as_ball(abs(shift)) / as_ball(rational(p.scale))
    # log f(y + shift) - log f(y) is largest at -∞ if the shift is positive.
    stages = p.left if (shift > 0) == (side == 0) else p.right
    if not stages:
        raise _NotCovered("a released number with a support that ends")
    return as_ball(abs(shift)) / as_ball(max(scale for scale, _ in stages))


def _only_kernel(terms: Sequence[Term]) -> tuple[Any, Form]:
    if len(terms) != 1 or not isinstance(terms[0], KernelTerm):
        raise _NotCovered("a released number that other noise bounds")
    return terms[0].density, terms[0].at.form


def _ball(value: float) -> Any:
    """A double that may be a rounded rational."""
    from flint import arb

    if value == int(value) and abs(value) < 2**50:
        return arb(int(value))
    return arb(value, abs(value) * _ULPS)


# Densities and interval probabilities, each one analytic function between kinks


def _law(density: LineDensity) -> BallLaw:
    found = ball_law(density)
    if found is None:
        raise _NotCovered(f"{type(density).__name__} noise under an integral")
    return found


def _row_ball(row: DensityRow | IntervalRow, middle: float) -> Ball:
    if isinstance(row, DensityRow):
        slope, offset = _line(row)
        inner = _law(row.density).density(row.density, row.slope * middle + row.offset)
        return lambda x: inner(slope * x + offset)
    low = _tight(row.lows, middle, max)
    high = _tight(row.highs, middle, min)
    if low is not None and high is not None:
        if low.slope * middle + low.offset >= high.slope * middle + high.offset:
            return lambda x: 0 * x
        below, above = _bound_ball(row, low, middle, False), _bound_ball(row, high, middle, False)
        return lambda x: above(x) - below(x)
    if low is not None:
        return _bound_ball(row, low, middle, True)
    if high is not None:
        return _bound_ball(row, high, middle, False)
    return lambda x: 0 * x + 1


def _line(row: DensityRow | LinearBound) -> tuple[Any, Any]:
    if row.exact is not None:
        return as_ball(row.exact[0]), as_ball(row.exact[1])
    return _ball(row.slope), _ball(row.offset)


def _tight(
    bounds: tuple[LinearBound, ...], middle: float, pick: Callable[..., LinearBound]
) -> LinearBound | None:
    if not bounds:
        return None
    return pick(bounds, key=lambda b: b.slope * middle + b.offset)


def _bound_ball(row: IntervalRow, bound: LinearBound, middle: float, upper: bool) -> Ball:
    slope, offset = _line(bound)
    inner = _law(row.density).cdf(row.density, bound.slope * middle + bound.offset, upper)
    return lambda x: inner(slope * x + offset)


def mass(composite: Composite) -> Any:
    """A ball around the composite's integral."""
    found = _MASSES.get(composite)
    if found is None:
        if len(_MASSES) > 20_000:
            _MASSES.clear()
        found = _MASSES[composite] = _mass(composite)
    return found


_MASSES: dict[Composite, Any] = {}


def _mass(composite: Composite) -> Any:
    from flint import acb, arb

    if composite.lattice:
        raise _NotCovered("a sum over lattice noise")
    own = composite.rows[0]
    if not isinstance(own, DensityRow) or any(
        isinstance(row, DensityRow) for row in composite.rows[1:]
    ):
        raise _NotCovered("two densities under one integral")
    low, high = composite.extent(depth=150.0)
    kinks = set(composite.kinks())
    cuts = sorted({low, high, *(k for k in kinks if low < k < high)})
    peak = _law(own.density).peak(own.density)
    total = arb(0)
    for a, b in itertools.pairwise(cuts):
        sliver_a, sliver_b = (_sliver(v) if v in kinks else 0.0 for v in (a, b))
        start, end = a + sliver_a, b - sliver_b
        if end <= start:
            total += _between(2 * (b - a) * peak)
            continue
        total += _between(2 * (sliver_a + sliver_b) * peak)
        rows = [_row_ball(row, (a + b) / 2) for row in composite.rows]

        def integrand(x: Any, _: bool, rows: list[Ball] = rows) -> Any:
            value = rows[0](x)
            for row in rows[1:]:
                value = value * row(x)
            return value

        part = acb.integral(integrand, acb(arb(start)), acb(arb(end)))
        total += part.real
    # Beyond the cuts: at most what the own density has there (the extent is where it has no more).
    for edge, upper in ((low, False), (high, True)):
        limit = composite.high if upper else composite.low
        if edge != limit:
            place = own.slope * edge + own.offset
            outer = _law(own.density).cdf(own.density, place, upper if own.slope > 0 else not upper)
            total += _between(float(outer(arb(place)).upper()))
    return total


def _sliver(kink: float) -> float:
    """How far a kink may be from its double."""
    return 8 * 2.0**-52 * max(1.0, abs(kink))


def _between(bound: float) -> Any:
    """A ball that contains [0, bound]."""
    from flint import arb

    return arb(bound / 2, bound / 2 * 1.0000001)


def _constant_interval(term: IntervalTerm) -> Any:
    """P(low ≤ X ≤ high) for constant bounds."""
    from flint import arb

    density = term.density
    lows = [a.form.constant for a, _ in term.lows]
    highs = [a.form.constant for a, _ in term.highs]
    low, high = max(lows, default=None), min(highs, default=None)
    exact = exact_product([term])
    if exact is not None:
        return as_ball(exact)
    one = arb(1)
    above = one if high is None else _law(density).cdf(density, float(high), False)(as_ball(high))
    if low is None:
        return above
    if high is None:
        return _law(density).cdf(density, float(low), True)(as_ball(low))
    if low >= high:
        return arb(0)
    return above - _law(density).cdf(density, float(low), False)(as_ball(low))
