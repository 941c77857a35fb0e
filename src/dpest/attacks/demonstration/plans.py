"""Plans: a pair and an event, with the runs that they take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from dpest.attacks.demonstration.needed_runs import runs_to_refute
from dpest.attacks.statdp.detection import DetectedEvent

# Standard errors by which each frequency is taken as worse: the best of many events looks too good.
CAUTION = 2.0


class RunPlan(NamedTuple):
    """A choice that refutes the claim in `needed` runs a side; were it as counted, `promised`."""

    needed: float
    promised: float
    found: DetectedEvent
    p: float
    q: float
    cautious_p: float
    cautious_q: float


def plan_of(found: DetectedEvent, epsilon: float, delta: float) -> RunPlan:
    """By the counts of the event."""
    choice, runs = found.choice, found.choice.runs
    p, q = _cautious(choice.k1, runs, -CAUTION), _cautious(choice.k2, runs, CAUTION)
    seen = choice.k1 / runs, choice.k2 / runs
    needed, promised = (runs_to_refute(*chances, epsilon, delta) for chances in ((p, q), seen))
    return RunPlan(needed, promised, found, *seen, p, q)


def best_of(plans: Sequence[RunPlan]) -> list[RunPlan]:
    """Those that may refute, the fewest runs first."""
    return sorted((p for p in plans if math.isfinite(p.needed)), key=lambda plan: plan.needed)


def _cautious(count: int, runs: int, sigmas: float) -> float:
    """A frequency, so many standard errors to one side: few runs must not promise too much."""
    share = (count + 0.5) / (runs + 1)
    moved = share + sigmas * math.sqrt(share * (1 - share) / runs)
    return min(max(moved, 0.1 / runs), 1.0)
