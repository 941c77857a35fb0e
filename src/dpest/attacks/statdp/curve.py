"""The paper's figures: the p-value against the ε that is tested."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpest.attacks.statdp.detection import (
    SELECTION_RUNS,
    TEST_RUNS,
    Found,
    SecondLook,
    fresh_counts,
    oriented,
    search,
)
from dpest.attacks.statdp.events import Event
from dpest.attacks.statdp.hypothesis_test import (
    PValues,
    coin_label_p_value,
    hypothesis_test,
    promise,
)
from dpest.attacks.statdp.laboratory import Case, Laboratory, named_seed
from dpest.attacks.statdp.selector import Choice, Search, rare_limit
from dpest.errors import InputError, MissingExtraError

# The pairs that a curve looks at with all runs.
_CASES = 3
# The candidates for one ε that are looked at a third time.
_SHORT_LIST = 10
# Sigmas that a candidate must survive at the first, second and third look.
_CAUTIONS = (2.0, 1.0, 0.5)
# An event's ε is to be told to this share of it, with at most so many times the runs.
_PRECISION = 0.02
_MOST_TIMES = 16


@dataclass(frozen=True)
class Point:
    """One test: the event chosen for this ε, its counts on fresh samples, and the p-values."""

    epsilon: float
    p_values: PValues
    case: Case
    event: str
    counts: tuple[int, int]
    runs: tuple[int, int]


@dataclass(frozen=True)
class Curve:
    """p-values over a range of tested ε; each event was chosen on other samples.

    The points share their fresh samples, so the curve shows where a mechanism stops being
    refuted; a verdict is one test at one ε fixed in advance.
    """

    claim: float | None
    points: tuple[Point, ...]

    def rise(self, level: float = 0.5) -> float:
        """The ε where the exact p-value first exceeds `level`; inf if it stays below.

        Between two tested values it is computed from the counts of the event tested at the first.
        At 0.5 this is the estimated ε of the chosen event, at 0.05 the last ε that it refutes.
        """
        below: Point | None = None
        for point in self.points:
            if point.p_values.exact > level:
                return point.epsilon if below is None else _crossing(below, point.epsilon, level)
            below = point
        return math.inf

    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "epsilon": p.epsilon,
                "exact": p.p_values.exact,
                "paper": p.p_values.paper,
                "event": p.event,
                "x": p.case.x,
                "x2": p.case.x2,
                "counts": list(p.counts),
                "runs": list(p.runs),
            }
            for p in self.points
        ]


def _crossing(start: Point, end: float, level: float) -> float:
    """Where the p-value of an event reaches `level`, at most `end`; it rises with ε."""
    low, high = start.epsilon, end
    if coin_label_p_value(*start.counts, high) <= level:
        return high
    for _ in range(40):
        middle = 0.5 * (low + high)
        if coin_label_p_value(*start.counts, middle) > level:
            high = middle
        else:
            low = middle
    return high


def p_value_curve(
    target: Any,
    cases: Sequence[Case],
    epsilons: Sequence[float],
    *,
    claim: float | None = None,
    params: Mapping[str, Any] | None = None,
    selection_runs: int = SELECTION_RUNS,
    test_runs: int = TEST_RUNS,
    seed: int = 0,
    run_all: Any = None,
) -> Curve:
    """p-values at each ε of `epsilons`, for the event that the search picks for it.

    The search counts all events on `selection_runs` a side, the best for each ε again on as many
    others, and the few best of these on `test_runs` more. What is chosen then is tested on
    `test_runs` that nobody has looked at. Where the best event is so rare that these would not
    tell its ε to 2 %, the third look and the test get more, at most sixteen times as many; earlier
    samples alone decide it.
    """
    if not cases:
        raise InputError("StatDP needs at least one pair of inputs")
    laboratory = Laboratory(target, params, seed, run_all=run_all)
    finalists, _ = search(laboratory, cases, claim, selection_runs, most=_CASES)
    chosen, runs = _chosen(laboratory, finalists, sorted(epsilons), selection_runs, test_runs)
    counts: dict[tuple[str, Any], tuple[int, int, int, int]] = {}
    for case in {repr(found.case): found.case for _, found in chosen}.values():
        name = repr(case)
        events = list(dict.fromkeys(f.choice.event for _, f in chosen if repr(f.case) == name))
        tested = fresh_counts(laboratory, case, events, runs, named_seed(seed, "curve", name))
        counts.update(zip(((name, event) for event in events), tested, strict=True))
    points = []
    for epsilon, found in chosen:
        c1, n1, c2, n2 = counts[(repr(found.case), found.choice.event)]
        rng = np.random.default_rng(named_seed(seed, "thinning", epsilon))
        p = hypothesis_test(c1, n1, c2, n2, epsilon, rng)
        points.append(Point(epsilon, p, found.case, found.choice.event.words, (c1, c2), (n1, n2)))
    return Curve(claim, tuple(points))


def _chosen(
    laboratory: Laboratory,
    finalists: Sequence[tuple[Case, Search]],
    epsilons: Sequence[float],
    selection_runs: int,
    test_runs: int,
) -> tuple[list[tuple[float, Found]], int]:
    """For each ε the admissible event with the largest ratio, by samples that didn't select it.

    Few candidates are left after the second look, and a third, larger one decides between them:
    with each look less caution is needed, and rarer events have a chance. Also the runs a side
    that tell the ε of the best of them.
    """
    again = SecondLook(laboratory, finalists, selection_runs)
    shortlists = []
    for epsilon in epsilons:
        found = again.counted_again(epsilon, *_CAUTIONS[:2])
        found.sort(key=lambda entry: -entry[1].score)
        shortlists.append((epsilon, found[:_SHORT_LIST]))
    leaders = [short[0][1] for _, short in shortlists if short]
    more_runs = max((_runs_to_tell(c, selection_runs) for c in leaders), default=0)
    more_runs = min(max(more_runs, test_runs), _MOST_TIMES * test_runs)
    third: dict[tuple[int, Event], tuple[int, int]] = {}
    for number, (case, _) in enumerate(finalists):
        events = list(
            dict.fromkeys(c.event for _, short in shortlists for n, c in short if n == number)
        )
        if events:
            seed = named_seed(laboratory.seed, "third look", repr(case))
            counts = fresh_counts(laboratory, case, events, more_runs, seed)
            third.update(
                ((number, event), (c1, c2))
                for event, (c1, _, c2, _) in zip(events, counts, strict=True)
            )
    chosen = []
    for epsilon, short in shortlists:
        best: Found | None = None
        for number, choice in short:
            more = third[(number, choice.event)]
            large, small = more[::-1] if choice.swapped else more
            large, small = choice.k1 + large, choice.k2 + small
            score = float(promise(large, small, _CAUTIONS[2]))
            if large + small >= rare_limit(selection_runs + more_runs, epsilon) and (
                best is None or score > best.choice.score
            ):
                known = replace(choice, k1=large, k2=small, score=score)
                best = oriented(finalists[number][0], known)
        if best is not None:
            chosen.append((epsilon, best))
    return chosen, more_runs


def _runs_to_tell(choice: Choice, runs: int) -> int:
    """How many runs tell the log ratio of an event to a share of it, by its counts in `runs`."""
    large, small = max(choice.k1, 1), max(choice.k2, 1)
    wanted = _PRECISION * max(math.log(large / small), 0.05)
    return math.ceil(runs * (1 / large + 1 / small) / wanted**2)


def plot(curves: Sequence[Curve], title: str = "", path: str | None = None) -> Any:
    """The curves in the style of the paper: p-value against test ε, a dotted line at each claim."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("report", "the plot of p-value curves") from None
    figure = Figure(figsize=(4.2, 3.0), layout="constrained")
    axes = figure.add_subplot()
    for curve, marker in zip(curves, "os^Dv*", strict=False):
        xs = [p.epsilon for p in curve.points]
        ys = [p.p_values.paper for p in curve.points]
        label = "" if curve.claim is None else f"ε₀ = {curve.claim:g}"
        (line,) = axes.plot(xs, ys, marker=marker, markersize=3, linewidth=1, label=label)
        if curve.claim is not None:
            axes.axvline(curve.claim, color=line.get_color(), linestyle=":", linewidth=1)
    axes.axhline(0.05, color="grey", linewidth=0.5)
    axes.set(xlabel="test ε", ylabel="p-value", title=title, ylim=(-0.03, 1.03))
    axes.legend(fontsize=7)
    if path is not None:
        figure.savefig(path)
    return figure
