"""Whether a log-density ratio grows without bound far out: decided by exponents, not by a trend.

Each density is a product of terms whose logarithms far out are known up to a bounded rest (see
`noise.tails`). The ratio has the difference of their coefficients, and is unbounded exactly if the
first of them that is not zero (the fastest growing one) is positive. Where a term's tail is not
known, or a difference is too small to be told from a rounding of the parameters, nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dpest.exact.integration.terms import IntervalTerm, KernelTerm, Term
from dpest.geometry.linear import Symbol
from dpest.noise.family import Noise
from dpest.noise.tails import Coefficient, Tail

_CLOSE = 1e-9
_ZERO = Fraction(0)


@dataclass
class _Sum:
    """The coefficients of a product of terms, in the distance of the output."""

    parts: dict[str, Coefficient] = field(
        default_factory=lambda: dict.fromkeys(("square", "stirling", "linear", "power"), _ZERO)
    )
    double: dict[Coefficient, list[Coefficient]] = field(default_factory=dict)
    """-Σ e^(rate·u + shift): the shifts for each rate."""

    def add(self, tail: Tail, slope: Fraction, shift: Fraction) -> None:
        """A tail at distance slope·u + shift, slope > 0; what stays bounded is left out."""
        if tail.double:
            self.double.setdefault(tail.double * slope, []).append(tail.double * shift)
        more = {
            "square": tail.square * slope**2,
            "stirling": tail.stirling * slope,
            "linear": 2 * tail.square * slope * shift + tail.linear * slope,
            "power": tail.stirling * shift + tail.power,
        }
        if tail.stirling:
            more["linear"] += tail.stirling * slope * math.log(slope)
        for name, value in more.items():
            self.parts[name] = self.parts[name] + value


def grows(first: Sequence[Term], second: Sequence[Term], symbol: Symbol, end: float) -> bool | None:
    """Whether log Π first − log Π second goes to infinity at this end; None: not known."""
    over, under = _sum(first, symbol, end), _sum(second, symbol, end)
    if over is None or under is None:
        return None
    if over.double != under.double:
        return _faster(over.double, under.double)
    for name in ("square", "stirling", "linear", "power"):
        a, b = over.parts[name], under.parts[name]
        if a == b:
            continue
        return None if _close(a, b) else a > b
    return False


def moment_diverges(
    first: Sequence[Term], second: Sequence[Term], alpha: float, symbol: Symbol, end: float
) -> bool:
    """Whether the integral of (Π first)^α·(Π second)^(1−α) is known to be infinite at this end."""
    over, under = _sum(first, symbol, end), _sum(second, symbol, end)
    if over is None or under is None or over.double or under.double:
        return False
    for name, least in (("square", 0.0), ("stirling", 0.0), ("linear", 0.0), ("power", -1.0)):
        a, b = alpha * float(over.parts[name]), (alpha - 1) * float(under.parts[name])
        if name != "power" and a == b:
            continue
        return a - b > least + _CLOSE * (abs(a) + abs(b) + 1)
    return False


def _faster(
    over: dict[Coefficient, list[Coefficient]], under: dict[Coefficient, list[Coefficient]]
) -> bool | None:
    """Whether the second falls faster, where both fall like e^-e^u: single terms only."""
    rate = max((*over, *under), key=float)
    a, b = over.get(rate, []), under.get(rate, [])
    if len(a) > 1 or len(b) > 1:
        return None
    if not a or not b:
        return not a
    return None if _close(a[0], b[0]) else a[0] < b[0]


def _close(a: Coefficient, b: Coefficient) -> bool:
    """Whether a difference may be that of a rounded parameter."""
    return abs(float(a - b)) <= _CLOSE * max(abs(float(a)), abs(float(b)))


def _sum(terms: Sequence[Term], symbol: Symbol, end: float) -> _Sum | None:
    total = _Sum()
    for term in terms:
        found = _tail(term, symbol, end)
        if found is None:
            return None
        if found is not _BOUNDED:
            total.add(*found)
    return total


_BOUNDED = (Tail(), Fraction(1), _ZERO)


def _tail(term: Term, symbol: Symbol, end: float) -> tuple[Tail, Fraction, Fraction] | None:
    """The tail that a term has at this end, and its distance there as slope·u + shift."""
    if isinstance(term, KernelTerm):
        return _at(term.density, term.at.form.terms, term.at.form.constant, symbol, end, False)
    if isinstance(term, IntervalTerm):
        bounds = [(a, True) for a, _ in term.lows] + [(a, False) for a, _ in term.highs]
        if len(bounds) != 1:
            return None
        ((bound, is_low),) = bounds
        slope = bound.form.terms.get(symbol, _ZERO)
        if not slope:
            return _BOUNDED
        if (slope * Fraction(1 if end > 0 else -1) > 0) != is_low:
            return _BOUNDED  # the bound moves away: the probability goes to 1
        return _at(term.density, bound.form.terms, bound.form.constant, symbol, end, True)
    return None


def _at(
    density: object,
    terms: object,
    constant: Fraction,
    symbol: Symbol,
    end: float,
    integrated: bool,
) -> tuple[Tail, Fraction, Fraction] | None:
    if not isinstance(density, Noise) or not isinstance(terms, dict) or set(terms) != {symbol}:
        return None
    if integrated and density.discrete:
        return None
    slope = terms[symbol]
    right = (slope > 0) == (end > 0)
    tail = density.tail(1 if right else 0)
    if tail is None:
        return None
    if integrated:
        tail = _integrated(tail)
    return tail, abs(slope), constant if right else -constant


def _integrated(tail: Tail) -> Tail:
    """The tail of the mass beyond: the density over the slope of its logarithm."""
    if tail.double:
        return Tail(tail.double, tail.square, tail.stirling, tail.linear - tail.double, tail.power)
    if tail.square:
        return Tail(square=tail.square, linear=tail.linear, power=tail.power - 1)
    if not tail.linear and not tail.stirling:
        return Tail(power=tail.power + 1)  # the slope of power·log u is power/u
    return tail
