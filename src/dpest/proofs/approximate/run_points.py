"""The point of a gap between sorted records, chosen once more from the draws of a run."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.proofs.approximate.run_draws import Different
from dpest.reading.contributions.gaps.values import GapChoice, GapSet

if TYPE_CHECKING:
    from dpest.proofs.approximate.run_values import RunValues


def gaps_of_run(run: RunValues, gaps: GapSet) -> list[tuple[float, float]]:
    """Both ends of each gap between the sorted records."""
    found = [float(gaps.low)]
    found += sorted(run.numbers_of(gaps.rows))
    found.append(float(gaps.high))
    return list(itertools.pairwise(found))


def point_of_run(run: RunValues, choice: GapChoice) -> float:
    """The point that the draws of a run lead to."""
    gaps = gaps_of_run(run, choice.gaps)
    low, high = gaps[_chosen(run, choice, _logarithms(run, choice, gaps))]
    share = run.draws.uniform(choice.uniform)
    return low + share * (high - low) if choice.from_low else high - share * (high - low)


def _logarithms(run: RunValues, choice: GapChoice, gaps: list[tuple[float, float]]) -> list[float]:
    """log(length) + score of each gap."""
    found = []
    for place, (low, high) in enumerate(gaps):
        run.place = place
        length = math.log(high - low) if high > low else -math.inf
        found.append(length + run.value(choice.score))
    return found


def _chosen(run: RunValues, choice: GapChoice, logarithms: list[float]) -> int:
    if choice.how in ("race", "times"):
        noise = run.gap_noises[choice.draw]
        if choice.how == "times":
            noise = [-math.log(time) for time in noise]
        open_gaps = [i for i, v in enumerate(logarithms) if v > -math.inf]
        return max(open_gaps, key=lambda i: logarithms[i] + noise[i])
    top = max(logarithms)
    weights = [math.exp(v - top) for v in logarithms]
    total = math.fsum(weights)
    if choice.how == "pick":
        given = run.draws.chances.get(choice.draw)
        alike = given is not None and len(given) == len(weights)
        pairs = zip(given or (), weights, strict=False)
        if not alike or any(abs(g - w / total) > 1e-9 for g, w in pairs):
            raise Different("it chooses a gap with other chances")
        return _place(run.draws.pick(choice.draw), len(weights))
    share, reached = run.draws.uniform(choice.draw) * total, 0.0
    for i, weight in enumerate(weights):
        reached += weight
        if weight and share <= reached:
            return i
    return max(i for i, w in enumerate(weights) if w)


def _place(drawn: Any, count: int) -> int:
    """A place that was drawn; on another way of the program it may be something else."""
    if np.ndim(drawn) or not 0 <= int(drawn) < count:
        raise Different("it chooses something else than a gap")
    return int(drawn)
