"""Which pair and which event refute a claim with the fewest runs.

The supremum of the privacy loss is often reached far out, in an event that nobody will ever see.
A demonstration is meant to be run: of the pairs that are known and the events that StatDP's grammar
can name, the one whose excess over the claim is largest in units of its own scatter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dpest.ask.declaration import Mechanism
from dpest.attacks.demonstration.needed_runs import LEAST, MOST, middle_of
from dpest.attacks.demonstration.plans import CAUTION, RunPlan, best_of, plan_of
from dpest.attacks.demonstration.script import script
from dpest.attacks.demonstration.weighing import Likelihoods, Weighing
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
from dpest.attacks.statdp.leaves import leaves_of
from dpest.attacks.statdp.reading import is_number
from dpest.evidence import Demonstration
from dpest.running.samples import Samples
from dpest.running.watchdog import TimeUp

# Runs a side of the search: as many as it takes to see an excess.
_RUNS = (2_000, 20_000, 200_000)
# So many show events that read easily. With more, and with any that can't be enough, a small excess
# is sought by likelihoods instead, where they are known.
_FIRST, _FEW = 2_000, 20_000
# Of events that need hardly more runs than the best, the one that reads best is taken.
_NEARLY = 1.05
# Where they are not, and none is seen, or it is small, the events of a few families are counted
# closely: on so many runs, for so many pairs. Then the best is judged by so many others.
_CLOSELY = ((1_000_000, 6), (4_000_000, 2))
_FAMILIES, _CHOSEN, _JUDGING = 3, 64, 8_000_000


def demonstrate(
    mechanism: Mechanism,
    pairs: Sequence[tuple[Any, Any]],
    epsilon: float,
    delta: float = 0.0,
    *,
    seed: int = 0,
    run_all: Callable[..., list[Samples]] | None = None,
    likelihoods: Likelihoods | None = None,
) -> Demonstration | None:
    """The demonstration that needs the fewest runs, or None if none was found.

    Few runs show a large excess; a small one is looked for by `likelihoods`, where they are known,
    and else with many runs. Where the time is up before those are made (TimeUp), the best that was
    seen until then is taken. Whatever chose an event, the script judges it by its own runs.
    """
    cases = _cases(pairs)
    laboratory = Laboratory(mechanism, None, seed, run_all=run_all)
    plan = _best_plan(laboratory, cases, epsilon, delta, likelihoods)
    if plan is None or plan.needed > MOST:
        return None
    count = _round_up(max(plan.needed, LEAST))
    case, event = plan.found.case, plan.found.choice.event
    middle = middle_of(plan.cautious_p, plan.cautious_q, epsilon, delta, count)
    text = script(mechanism, case.x, case.x2, event, epsilon, delta, count, middle)
    return Demonstration(case.x, case.x2, event.words, plan.p, plan.q, epsilon, delta, count, text)


def _cases(pairs: Sequence[tuple[Any, Any]]) -> list[InputCase]:
    """The pairs without repetition: in the other order, or with 1 for 1.0, they are the same."""

    def key(x: Any) -> str:
        leaves = (float(v) if is_number(v) else v for v in leaves_of(x))
        return f"{type(x).__name__} {list(leaves)!r}"

    found: dict[frozenset[str], InputCase] = {}
    for x, x2 in pairs:
        found.setdefault(frozenset((key(x), key(x2))), InputCase(x, x2))
    return list(found.values())


def _best_plan(
    laboratory: Laboratory,
    cases: Sequence[InputCase],
    epsilon: float,
    delta: float,
    likelihoods: Likelihoods | None,
) -> RunPlan | None:
    """The one that needs the fewest runs, of those found until the time was up."""
    found: list[RunPlan] = []
    plans: list[RunPlan] = []
    weighing = None if likelihoods is None else Weighing(laboratory, likelihoods, epsilon, delta)
    try:
        for runs in _RUNS:
            if weighing is not None and runs > _FIRST:
                enough = runs <= _FEW and weighing.fewest_runs(cases) < runs
                if not enough and weighing.weigh(cases):
                    break
            plans = _planned(laboratory, cases, epsilon, delta, runs)
            found += plans
            if any(plan.needed < runs for plan in plans):
                break
        else:
            found += _closely(laboratory, plans, epsilon, delta)
    except TimeUp:
        pass
    best = best_of([*found, *(() if weighing is None else weighing.plans)])
    close = [plan for plan in best if plan.needed <= _NEARLY * best[0].needed]
    return min(close, key=lambda plan: plan.found.choice.event.complexity, default=None)


def _planned(
    laboratory: Laboratory, cases: Sequence[InputCase], epsilon: float, delta: float, runs: int
) -> list[RunPlan]:
    """Chosen on some runs, judged by others."""
    finalists, _ = search(laboratory, cases, epsilon, runs, thorough=runs == _RUNS[-1])
    second = SecondLook(laboratory, finalists, runs)
    again = second.counted_again(epsilon, CAUTION, CAUTION) + second.surest_again(epsilon)
    found = (oriented(finalists[number][0], choice) for number, choice in again)
    return [plan_of(one, epsilon, delta) for one in found]


def _closely(
    laboratory: Laboratory, plans: Sequence[RunPlan], epsilon: float, delta: float
) -> list[RunPlan]:
    """The families of the best events on some pairs, then on few, counted on many more runs."""
    tables, found = Tables(laboratory), list(plans)
    for runs, most in _CLOSELY:
        leading = _leading(found, most)
        found = []
        for case, families in leading:
            surest = tables.search(case, families, runs).surest(epsilon, _CHOSEN)
            found += [plan_of(oriented(case, choice), epsilon, delta) for choice in surest]
    best = sorted(found, key=lambda plan: plan.promised)[:1]
    return [plan_of(_judged(laboratory, plan.found), epsilon, delta) for plan in best]


def _judged(laboratory: Laboratory, found: DetectedEvent) -> DetectedEvent:
    """The same event, counted on runs that chose nothing."""
    seed, event = named_seed(laboratory.seed, "judging"), found.choice.event
    ((k1, n1, k2, n2),) = fresh_counts(laboratory, found.case, [event], _JUDGING, seed)
    # A coin divides the runs: what counts are hits in as many runs on each input.
    choice = replace(found.choice, k1=k1 * min(n1, n2) // n1, k2=-(-k2 * min(n1, n2) // n2))
    return replace(found, choice=replace(choice, runs=min(n1, n2)))


def _leading(plans: Sequence[RunPlan], most: int) -> list[tuple[InputCase, list[EventFamily]]]:
    """The pairs of the events that promise most, each with the families of a few of these."""
    found: dict[str, tuple[InputCase, dict[EventFamily, None]]] = {}
    for plan in sorted(plans, key=lambda plan: plan.promised):
        case, family = plan.found.case, plan.found.choice.family
        if family is not None:
            families = found.setdefault(repr(case), (case, {}))[1]
            families[family] = None
    leading = list(found.values())[:most]
    return [(case, list(families)[:_FAMILIES]) for case, families in leading]


def _round_up(value: float) -> int:
    """Two digits are enough for a number of runs."""
    unit = 10 ** max(math.floor(math.log10(value)) - 1, 0)
    return math.ceil(value / unit) * unit
