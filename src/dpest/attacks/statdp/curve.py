"""The paper's figures: the p-value against the ε that is tested."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpest.attacks.statdp.close_look import Front, look_closely, runs_to_tell
from dpest.attacks.statdp.detection import (
    SELECTION_RUNS,
    TEST_RUNS,
    choose,
    fresh_counts,
    search,
)
from dpest.attacks.statdp.hypothesis_test import (
    PValues,
    coin_label_p_value,
    hypothesis_test,
)
from dpest.attacks.statdp.laboratory import InputCase, Laboratory, named_seed
from dpest.errors import InputError, MissingExtraError

# The pairs that a curve looks at with all runs: those that promise this share of the best.
_PAIRS = 5
_WORTH = 0.6
# Sigmas that a candidate must survive at the close look.
_CAUTION = 1.5
# Events within this share of the best at the close look are equally good.
_TOLERANCE = 0.005
# Where the best event is rare, the test gets so many times its runs, and the close look too.
_MOST_TIMES = 16


@dataclass(frozen=True)
class Point:
    """One test: the event chosen for this ε, its counts on fresh samples, and the p-values."""

    epsilon: float
    p_values: PValues
    case: InputCase
    event: str
    counts: tuple[int, int]
    runs: tuple[int, int]


@dataclass(frozen=True)
class PValueCurve:
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
    cases: Sequence[InputCase],
    epsilons: Sequence[float],
    *,
    claim: float | None = None,
    params: Mapping[str, Any] | None = None,
    selection_runs: int = SELECTION_RUNS,
    test_runs: int = TEST_RUNS,
    seed: int = 0,
    run_all: Any = None,
    precision: float = 0.02,
    most_runs: int | None = None,
) -> PValueCurve:
    """p-values at each ε of `epsilons`, for the event that the search picks for it.

    The search counts all events on `selection_runs` a side, then the families of the best ones
    again on `test_runs` others. What these choose is tested on `test_runs` that nobody has looked
    at. Where the best event is so rare that so many would not tell its ε to a share `precision` of
    it, the second count and the test get more, as the first samples alone decide: at most
    `most_runs`, by default sixteen times as many.
    """
    if not cases:
        raise InputError("StatDP needs at least one pair of inputs")
    laboratory = Laboratory(target, params, seed, run_all=run_all)
    grid = sorted(epsilons)
    pairs, _ = search(
        laboratory, cases, claim, selection_runs, most=_PAIRS, worth=_WORTH, thorough=True
    )
    most = _MOST_TIMES * test_runs if most_runs is None else max(most_runs, test_runs)

    def wanted(at: Front) -> int:
        return min(max(runs_to_tell(at, selection_runs, precision), test_runs), most)

    counted, runs = look_closely(laboratory, pairs, grid, wanted, selection_runs)
    chosen = []
    for epsilon in grid:
        found = choose(counted, epsilon, _CAUTION, _TOLERANCE)
        if found is not None:
            chosen.append((epsilon, found))
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
    return PValueCurve(claim, tuple(points))


def plot(curves: Sequence[PValueCurve], title: str = "", path: str | None = None) -> Any:
    """The curves in the style of the paper: p-value against test ε, a dotted line at each claim.

    The legend says where each rises.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("report", "the plot of p-value curves") from None
    figure = Figure(figsize=(4.2, 3.0), layout="constrained")
    axes = figure.add_subplot()
    for curve, marker in zip(curves, "os^Dv*", strict=False):
        xs = [p.epsilon for p in curve.points]
        ys = [p.p_values.paper for p in curve.points]
        rise = curve.rise()
        told = [] if curve.claim is None else [f"ε₀ = {curve.claim:g}"]
        told += [f"rises at {rise:.3g}"] if math.isfinite(rise) else ["refuted everywhere"]
        label = ", ".join(told)
        (line,) = axes.plot(xs, ys, marker=marker, markersize=3, linewidth=1, label=label)
        if curve.claim is not None:
            axes.axvline(curve.claim, color=line.get_color(), linestyle=":", linewidth=1)
    axes.axhline(0.05, color="grey", linewidth=0.5)
    axes.set(xlabel="test ε", ylabel="p-value", title=title, ylim=(-0.03, 1.03))
    axes.legend(fontsize=7)
    if path is not None:
        figure.savefig(path, dpi=200)
    return figure
