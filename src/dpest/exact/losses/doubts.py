"""What the rounding of a program's own numbers does to the chances of uniform draws.

A program that compares a uniform draw with sums of weights has rounded these sums. So the chance of
an outcome is known but for a few units in the last place of where its interval ends. An outcome of
a chance that small says nothing: not that it is more likely on one input, and not that it is
impossible on the other, where its weight was lost in a sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dpest.exact.outputs.cells import CellPiece, PathRegion
from dpest.geometry.linear import Symbol
from dpest.noise.family import Noise
from dpest.noise.uniform import Uniform

_ULPS = 2.0**-49  # of an end of an interval
_NOTHING = 16  # so many times its own doubt is a chance that shows nothing
_SLIGHT = 1e-9  # relative: a doubt that no digit of a loss shows


def doubt_of(pieces: Sequence[CellPiece], noises: Mapping[Symbol, Noise]) -> float:
    """How far the chance of these pieces may be off, by their ends on uniform draws."""
    return math.fsum(
        math.exp(float(piece.log_density({}))) * _relative_doubt(piece.region, noises)
        for piece in pieces
    )


def _relative_doubt(region: PathRegion, noises: Mapping[Symbol, Noise]) -> float:
    """Of independent draws: the doubts of their intervals, each in units of its length."""
    ends: dict[Symbol, list[tuple[bool, float]]] = {}
    for condition in region.conditions:
        terms = condition.form.terms
        if len(terms) == 1:
            ((symbol, slope),) = terms.items()
            if isinstance(noises.get(symbol), Uniform):
                end = float(-condition.form.constant / slope)
                ends.setdefault(symbol, []).append((slope > 0, end))
    total = 0.0
    for symbol, found in ends.items():
        noise = noises[symbol]
        assert isinstance(noise, Uniform)
        low = max([float(noise.low), *(end for rising, end in found if rising)])
        high = min([float(noise.high), *(end for rising, end in found if not rising)])
        if low < high:
            total += _ULPS * max(abs(end) for _, end in found) / (high - low)
    return total


def sure_ratio(log_p: float, log_q: float, doubts: tuple[float, float]) -> float:
    """log p/q, at least, for two chances that are known but for their doubts."""
    p, q = math.exp(log_p), math.exp(log_q)
    if doubts[0] <= _SLIGHT * p and doubts[1] <= _SLIGHT * q:
        return log_p - log_q
    if p <= _NOTHING * doubts[0]:
        return -math.inf
    return math.log(p - doubts[0]) - math.log(q + doubts[1])


def shows_nothing(log_p: float, doubt: float) -> bool:
    """Whether a chance is so small that rounding may have made it."""
    return math.exp(log_p) < _NOTHING * doubt
