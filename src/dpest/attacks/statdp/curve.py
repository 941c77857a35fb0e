"""The paper's figures: the p-value against the ε that is tested."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpest.attacks.statdp.detection import (
    SELECTION_RUNS,
    TEST_RUNS,
    SecondLook,
    counts_of,
    fresh_samples,
    search,
)
from dpest.attacks.statdp.hypothesis_test import (
    PValues,
    coin_label_p_value,
    hypothesis_test,
)
from dpest.attacks.statdp.laboratory import Case, Laboratory, named_seed
from dpest.errors import InputError, MissingExtraError

# The pairs that a curve looks at with all runs.
_CASES = 3


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
    caution: float = 3.0,
    run_all: Any = None,
) -> Curve:
    """p-values at each ε of `epsilons`, for the event that the search picks for it.

    With less `caution` than a verdict takes, rarer events are picked: the curve is to show how far
    the mechanism's ε reaches, not to be sure of it.
    """
    if not cases:
        raise InputError("StatDP needs at least one pair of inputs")
    laboratory = Laboratory(target, params, seed, run_all=run_all)
    finalists, _ = search(laboratory, cases, claim, selection_runs, most=_CASES)
    again = SecondLook(laboratory, finalists, selection_runs)
    counted: dict[Any, tuple[int, int, int, int]] = {}
    drawn: tuple[str, Any] | None = None
    points = []
    for epsilon in sorted(epsilons):
        found = again.choose(epsilon, caution)
        if found is None:
            continue
        key = (repr(found.case), found.choice.event)
        if key not in counted:
            if drawn is None or drawn[0] != repr(found.case):
                test_seed = named_seed(seed, "curve", repr(found.case))
                samples = fresh_samples(laboratory, found.case, test_runs, test_seed)
                drawn = (repr(found.case), samples)
            counted[key] = counts_of(found.choice.event, drawn[1])
        c1, n1, c2, n2 = counted[key]
        rng = np.random.default_rng(named_seed(seed, "thinning", epsilon))
        p = hypothesis_test(c1, n1, c2, n2, epsilon, rng)
        points.append(Point(epsilon, p, found.case, found.choice.event.words, (c1, c2), (n1, n2)))
    return Curve(claim, tuple(points))


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
