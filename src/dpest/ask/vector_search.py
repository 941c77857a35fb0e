"""The worst pair among vectors: corners of the difference, rays, then local search.

The worst pair often lies far out along a ray: for noise with exponential tails the log-ratio of
the pair (λd, (λ-1)d) grows to its supremum as λ does. So extreme differences d are tried at the
end of the box first, and the best of them are followed outwards where the domain has no end.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dpest.ask.domains import Reals
from dpest.ask.entries import vector
from dpest.ask.search import EvaluationLedger

_FAR = 1e6
_FEW = 10
_IDLE = 20


class PairCandidate(NamedTuple):
    value: float
    x: list[float]
    d: list[float]


def search_vectors(ledger: EvaluationLedger, generator: np.random.Generator, n: int) -> None:
    """Spend what is left of the budget; ends by `Spent` or when no stage finds more."""
    domain = ledger.domain
    assert isinstance(domain, Reals)
    corners = ledger.adjacency.corners(n, max(_FEW, ledger.left // 3), domain)
    found: list[PairCandidate] = []
    if ledger.pair is not None:
        x, x2 = vector(ledger.pair[0]), vector(ledger.pair[1])
        found.append(PairCandidate(ledger.best, x, [v - u for u, v in zip(x, x2, strict=True)]))
    # A few corners and the best one's ray first: a search that is cut short has been there.
    found += [_at_corner(ledger, domain, d) for d in corners[:_FEW]]
    if found:
        found.append(_along_ray(ledger, domain, max(found, key=lambda c: c.value)))
    found += [_at_corner(ledger, domain, d) for d in corners[_FEW:]]
    found.sort(key=lambda c: -c.value)
    found = [_along_ray(ledger, domain, c) for c in found[:4]]
    idle, before = 0, ledger.evaluations
    while found and idle < _IDLE:
        idle = idle + 1 if ledger.evaluations == before else 0  # all of its pairs were known
        before = ledger.evaluations
        start = max(found, key=lambda c: c.value)
        refined = _local(ledger, domain, start, generator)
        refined = _along_ray(ledger, domain, refined)
        if refined.value > start.value * (1 + 1e-6):
            found = [refined]
            continue
        if not corners:
            return
        x = [float(v) for v in domain.random(generator, n)]
        d = list(corners[int(generator.integers(len(corners)))])
        found = [_local(ledger, domain, _at(ledger, domain, x, d, "random"), generator)]


def _at(
    ledger: EvaluationLedger, domain: Reals, x: list[float], d: list[float], how: str
) -> PairCandidate:
    start: Any = domain.clip(x)
    other: Any = domain.clip([u + v for u, v in zip(start, d, strict=True)])
    return PairCandidate(ledger.at(start, other, how), [float(v) for v in start], d)


def _at_corner(ledger: EvaluationLedger, domain: Reals, d: tuple[float, ...]) -> PairCandidate:
    """An extreme difference, at the end of the box that it points away from."""
    low, high = domain.box
    middle = min(max(0.0, low), high)
    x = [high if v < 0 else low if v > 0 else middle for v in d]
    return _at(ledger, domain, x, list(d), "corner of the box")


def _along_ray(ledger: EvaluationLedger, domain: Reals, start: PairCandidate) -> PairCandidate:
    """Follow x ← 3x outwards, the difference kept, as long as it pays."""
    best = start
    if domain.width < math.inf and all(domain.clip_entry(3 * v) == v for v in start.x):
        return best
    x = start.x
    if not any(x):
        x = [-v for v in start.d]
    poor = 0
    while max(map(abs, x)) < _FAR and poor < 2:
        x = [3 * v for v in x]
        next_ = _at(ledger, domain, x, start.d, "far along a ray")
        # A plateau may come before a rise: give up only after two steps without a gain.
        poor = poor + 1 if not next_.value > best.value * (1 + 1e-4) else 0
        if next_.value > best.value:
            best = next_
    return best


def _local(
    ledger: EvaluationLedger, domain: Reals, start: PairCandidate, generator: np.random.Generator
) -> PairCandidate:
    """Coordinate search: turn entries of the difference, move entries of x, halve the step."""
    best = start
    n = len(best.x)
    low, high = domain.box
    step = max((high - low) / 4, max(map(abs, best.x), default=0.0) / 2)
    smallest = max(step / 64, 1.0 if type(domain) is not Reals else 0.0)
    while step >= smallest:
        before = best.value
        for j in generator.permutation(n):
            best = _turn(ledger, domain, best, int(j))
        for j in [-1, *generator.permutation(n)]:
            for sign in (1, -1):
                x = [v + sign * step if j in (-1, i) else v for i, v in enumerate(best.x)]
                moved = _at(ledger, domain, x, best.d, "local search")
                if moved.value > best.value:
                    best = moved
                    break
        if not best.value > before * (1 + 1e-4):
            step /= 2
    return best


def _turn(ledger: EvaluationLedger, domain: Reals, best: PairCandidate, j: int) -> PairCandidate:
    """Other extreme values for entry j of the difference; those that aren't neighbours drop out."""
    radius = float(ledger.adjacency.radius or 1)
    for value in {-best.d[j], radius, -radius, 0.0} - {best.d[j]}:
        d = [value if i == j else v for i, v in enumerate(best.d)]
        turned = _at(ledger, domain, best.x, d, "difference turned")
        if turned.value > best.value:
            best = turned
    return best
