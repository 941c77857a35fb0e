"""Which pair and which event refute a claim with the fewest runs.

The supremum of the privacy loss is often reached far out, in an event that nobody will ever see.
A demonstration is meant to be run: of the pairs that are known and the events that StatDP's grammar
can name, the one whose excess over the claim is largest in units of its own scatter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dpest.ask.declaration import Mechanism
from dpest.attacks.demonstration.script import script
from dpest.attacks.statdp.detection import Found, SecondLook, oriented, search
from dpest.attacks.statdp.laboratory import Case, Laboratory
from dpest.evidence import LEVEL, Demonstration
from dpest.running.samples import Samples

# Quantiles of the normal distribution: for the level, and for missing it once in ten thousand.
_Z_LEVEL, _Z_MISSED = 3.1, 3.8
# Runs a side of the search: as many as it takes to see an excess.
_RUNS = (20_000, 200_000, 1_000_000)
_CAUTION = 2.0
_LEAST, _MOST = 200, 20_000_000


def runs_to_refute(p: float, q: float, epsilon: float, delta: float) -> float:
    """Runs a side after which the excess p − e^ε·q − δ is seen at LEVEL, nearly always."""
    excess = p - math.exp(epsilon) * q - delta
    if excess <= 0:
        return math.inf
    first, second = _scatters(p, q, epsilon)
    # With a δ the two chances are tested against a number between them, each on its own.
    scatter = first + second if delta else math.hypot(first, second)
    # Where the event is all but certain to tell, the exact test still needs a few hits.
    few = (math.log(1 / LEVEL) + _Z_MISSED**2) / max(p, 1e-12) / max(1 - delta / p, 1e-3)
    return max(((_Z_LEVEL + _Z_MISSED) * scatter / excess) ** 2, few)


def _scatters(p: float, q: float, epsilon: float) -> tuple[float, float]:
    """The standard deviations that one run adds to p and to e^ε·q."""
    return math.sqrt(p * (1 - p)), math.exp(epsilon) * math.sqrt(q * (1 - q))


def middle_of(p: float, q: float, epsilon: float, delta: float) -> float:
    """A chance for the second input between q and what p allows, equally far in sigmas."""
    first, second = _scatters(p, max(q, 1e-9), epsilon)
    excess = p - math.exp(epsilon) * q - delta
    return q + excess * math.exp(-epsilon) * second / max(first + second, 1e-300)


class _Plan(NamedTuple):
    """A choice that promises to refute the claim in so many runs a side."""

    needed: float
    found: Found
    p: float
    q: float
    cautious_p: float
    cautious_q: float


def demonstrate(
    mechanism: Mechanism,
    pairs: Sequence[tuple[Any, Any]],
    epsilon: float,
    delta: float = 0.0,
    *,
    seed: int = 0,
    late: Callable[[], bool] = lambda: False,
    run_all: Callable[..., list[Samples]] | None = None,
) -> Demonstration | None:
    """The demonstration that needs the fewest runs, or None if none was found.

    Few runs show a large excess; a small one is looked for with more, until `late()`.
    """
    cases = [Case(x, x2) for x, x2 in pairs]
    laboratory = Laboratory(mechanism, None, seed, run_all=run_all)
    best: _Plan | None = None
    for runs in _RUNS:
        found = _planned(laboratory, cases, epsilon, delta, runs)
        if found is not None and (best is None or found.needed < best.needed):
            best = found
        if late() or (best is not None and best.needed < runs):
            break
    if best is None or best.needed > _MOST:
        return None
    count = _round_up(max(best.needed, _LEAST))
    case, event = best.found.case, best.found.choice.event
    middle = middle_of(best.cautious_p, best.cautious_q, epsilon, delta)
    text = script(mechanism, case.x, case.x2, event, epsilon, delta, count, middle)
    return Demonstration(case.x, case.x2, event.words, best.p, best.q, epsilon, delta, count, text)


def _planned(
    laboratory: Laboratory, cases: Sequence[Case], epsilon: float, delta: float, runs: int
) -> _Plan | None:
    """Chosen on some runs, judged by others."""
    finalists, _ = search(laboratory, cases, epsilon, runs)
    best: _Plan | None = None
    again = SecondLook(laboratory, finalists, runs).counted_again(epsilon, _CAUTION, _CAUTION)
    for number, choice in again:
        p, q = _cautious(choice.k1, runs, -1.0), _cautious(choice.k2, runs, 1.0)
        needed = runs_to_refute(p, q, epsilon, delta)
        if best is None or needed < best.needed:
            found = oriented(finalists[number][0], choice)
            best = _Plan(needed, found, choice.k1 / runs, choice.k2 / runs, p, q)
    return best if best is not None and math.isfinite(best.needed) else None


def _cautious(count: int, runs: int, sigmas: float) -> float:
    """A frequency, so many standard errors to one side: few runs must not promise too much."""
    share = (count + 0.5) / (runs + 1)
    moved = share + sigmas * math.sqrt(share * (1 - share) / runs)
    return min(max(moved, 0.1 / runs), 1.0)


def _round_up(value: float) -> int:
    """Two digits are enough for a number of runs."""
    unit = 10 ** max(math.floor(math.log10(value)) - 1, 0)
    return math.ceil(value / unit) * unit
