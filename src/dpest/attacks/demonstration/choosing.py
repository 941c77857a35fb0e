"""Which pair and which event refute a claim with the fewest runs.

The supremum of the privacy loss is often reached far out, in an event that nobody will ever see.
A demonstration is meant to be run: of the pairs that are known and the events that StatDP's grammar
can name, the one whose excess over the claim is largest in units of its own scatter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from scipy import special

from dpest.ask.declaration import Mechanism
from dpest.attacks.demonstration.script import script
from dpest.attacks.statdp.close_look import Tables
from dpest.attacks.statdp.detection import (
    DetectedEvent,
    SecondLook,
    fresh_counts,
    oriented,
    search,
)
from dpest.attacks.statdp.families import EventFamily
from dpest.attacks.statdp.laboratory import InputCase, Laboratory, named_seed
from dpest.evidence import LEVEL, Demonstration
from dpest.running.samples import Samples
from dpest.running.watchdog import TimeUp
from dpest.stats import binomial, clopper_pearson

# Standard errors by which counts may be worse than expected: one script in ten thousand misses.
_UNLUCKY = 3.72
# Runs a side of the search: as many as it takes to see an excess.
_RUNS = (2_000, 20_000, 200_000)
# Standard errors by which each frequency is taken as worse: the best of many events looks too good.
_CAUTION = 2.0
# Where none is seen, or it is small, the events of a few families are counted closely: on so many
# runs, for so many pairs. Then the best is judged by so many others.
_CLOSELY = ((1_000_000, 6), (4_000_000, 2))
_FAMILIES, _CHOSEN, _JUDGING = 3, 64, 8_000_000
_LEAST, _MOST = 200, 20_000_000


def runs_to_refute(p: float, q: float, epsilon: float, delta: float) -> float:
    """Runs a side after which the script's exact test is below LEVEL, nearly always.

    The event has the chances p and q. The counts are taken at their unlucky ends; the test of those
    must still refute. With a δ each count is tested on its own, and may be unlucky alone.
    """
    if p - math.exp(epsilon) * q - delta <= 0:
        return math.inf
    low, high = 0, _LEAST
    while not _refutes(p, q, epsilon, delta, high):
        low, high = high, 2 * high
        if high > 2 * _MOST:
            return math.inf
    while high - low > high // 50 + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _refutes(p, q, epsilon, delta, middle) else (middle, high)
    return high


def _unlucky(p: float, q: float, runs: int, ways: tuple[float, float]) -> tuple[int, int]:
    """Too few hits on the first input and too many on the second: so many standard errors each."""
    low, high = special.ndtr(-_UNLUCKY * ways[0]), special.ndtr(_UNLUCKY * ways[1])
    first = int(special.bdtrik(low, runs, p)) if p < 1 else runs
    second = math.ceil(special.bdtrik(high, runs, q)) if q > 0 else 0
    return max(first, 0), min(second, runs)


def _refutes(p: float, q: float, epsilon: float, delta: float, runs: int) -> bool:
    """Does the script's test refute the claim at the unlucky counts?"""
    if delta:
        low, high = _between(p, q, epsilon, delta, runs)
        return low < high
    # What counts is p - e^ε·q: of its bad luck each count has its share.
    scatters = math.sqrt(p * (1 - p)), math.exp(epsilon) * math.sqrt(q * (1 - q))
    both = math.hypot(*scatters) or 1.0
    first, second = _unlucky(p, q, runs, (scatters[0] / both, scatters[1] / both))
    if not first:
        return False
    from_first = math.exp(epsilon) / (1 + math.exp(epsilon))
    return float(binomial.upper_tail(first, first + second, from_first)) < LEVEL


def _between(p: float, q: float, epsilon: float, delta: float, runs: int) -> tuple[float, float]:
    """The chances on the second input that both unlucky counts refute, from either side."""
    first, second = _unlucky(p, q, runs, (1.0, 1.0))
    low = float(clopper_pearson.upper(second, runs, LEVEL))
    high = (float(clopper_pearson.lower(first, runs, LEVEL)) - delta) * math.exp(-epsilon)
    return low, high


def middle_of(p: float, q: float, epsilon: float, delta: float, runs: int) -> float:
    """A chance for the second input that the counts refute from both sides."""
    return sum(_between(p, q, epsilon, delta, runs)) / 2


class _Plan(NamedTuple):
    """A choice that refutes the claim in `needed` runs a side; were it as counted, `promised`."""

    needed: float
    promised: float
    found: DetectedEvent
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
    run_all: Callable[..., list[Samples]] | None = None,
) -> Demonstration | None:
    """The demonstration that needs the fewest runs, or None if none was found.

    Few runs show a large excess; a small one is looked for with many. Where the time is up before
    those are made (TimeUp), the best that few runs showed is taken.
    """
    cases = [InputCase(x, x2) for x, x2 in pairs]
    laboratory = Laboratory(mechanism, None, seed, run_all=run_all)
    best: list[_Plan] = []
    try:
        for runs in _RUNS:
            plans = _planned(laboratory, cases, epsilon, delta, runs)
            best = _best([*best, *plans])
            if best and best[0].needed < runs:
                break
        else:
            best = _best([*best, *_closely(laboratory, plans, epsilon, delta)])
    except TimeUp:
        pass
    if not best or best[0].needed > _MOST:
        return None
    plan = best[0]
    count = _round_up(max(plan.needed, _LEAST))
    case, event = plan.found.case, plan.found.choice.event
    middle = middle_of(plan.cautious_p, plan.cautious_q, epsilon, delta, count)
    text = script(mechanism, case.x, case.x2, event, epsilon, delta, count, middle)
    return Demonstration(case.x, case.x2, event.words, plan.p, plan.q, epsilon, delta, count, text)


def _planned(
    laboratory: Laboratory, cases: Sequence[InputCase], epsilon: float, delta: float, runs: int
) -> list[_Plan]:
    """Chosen on some runs, judged by others."""
    finalists, _ = search(laboratory, cases, epsilon, runs, thorough=runs == _RUNS[-1])
    second = SecondLook(laboratory, finalists, runs)
    again = second.counted_again(epsilon, _CAUTION, _CAUTION) + second.surest_again(epsilon)
    found = (oriented(finalists[number][0], choice) for number, choice in again)
    return [_plan(one, epsilon, delta) for one in found]


def _closely(
    laboratory: Laboratory, plans: Sequence[_Plan], epsilon: float, delta: float
) -> list[_Plan]:
    """The families of the best events on some pairs, then on few, counted on many more runs."""
    tables, found = Tables(laboratory), list(plans)
    for runs, most in _CLOSELY:
        leading = _leading(found, most)
        found = []
        for case, families in leading:
            surest = tables.search(case, families, runs).surest(epsilon, _CHOSEN)
            found += [_plan(oriented(case, choice), epsilon, delta) for choice in surest]
    best = sorted(found, key=lambda plan: plan.promised)[:1]
    return [_plan(_judged(laboratory, plan.found), epsilon, delta) for plan in best]


def _judged(laboratory: Laboratory, found: DetectedEvent) -> DetectedEvent:
    """The same event, counted on runs that chose nothing."""
    seed, event = named_seed(laboratory.seed, "judging"), found.choice.event
    ((k1, n1, k2, n2),) = fresh_counts(laboratory, found.case, [event], _JUDGING, seed)
    # A coin divides the runs: what counts are hits in as many runs on each input.
    choice = replace(found.choice, k1=k1 * min(n1, n2) // n1, k2=-(-k2 * min(n1, n2) // n2))
    return replace(found, choice=replace(choice, runs=min(n1, n2)))


def _leading(plans: Sequence[_Plan], most: int) -> list[tuple[InputCase, list[EventFamily]]]:
    """The pairs of the events that promise most, each with the families of a few of these."""
    found: dict[str, tuple[InputCase, dict[EventFamily, None]]] = {}
    for plan in sorted(plans, key=lambda plan: plan.promised):
        case, family = plan.found.case, plan.found.choice.family
        if family is not None:
            families = found.setdefault(repr(case), (case, {}))[1]
            families[family] = None
    leading = list(found.values())[:most]
    return [(case, list(families)[:_FAMILIES]) for case, families in leading]


def _plan(found: DetectedEvent, epsilon: float, delta: float) -> _Plan:
    choice, runs = found.choice, found.choice.runs
    p, q = _cautious(choice.k1, runs, -_CAUTION), _cautious(choice.k2, runs, _CAUTION)
    seen = choice.k1 / runs, choice.k2 / runs
    needed, promised = (runs_to_refute(*chances, epsilon, delta) for chances in ((p, q), seen))
    return _Plan(needed, promised, found, *seen, p, q)


def _best(plans: Sequence[_Plan]) -> list[_Plan]:
    """Those that may refute, the fewest runs first."""
    return sorted((p for p in plans if math.isfinite(p.needed)), key=lambda plan: plan.needed)


def _cautious(count: int, runs: int, sigmas: float) -> float:
    """A frequency, so many standard errors to one side: few runs must not promise too much."""
    share = (count + 0.5) / (runs + 1)
    moved = share + sigmas * math.sqrt(share * (1 - share) / runs)
    return min(max(moved, 0.1 / runs), 1.0)


def _round_up(value: float) -> int:
    """Two digits are enough for a number of runs."""
    unit = 10 ** max(math.floor(math.log10(value)) - 1, 0)
    return math.ceil(value / unit) * unit
