"""The literature's benchmark, exactly: ε on the input patterns and of the worst pair, by the truth.

Three tables: the patterns beside the known truth; the worst pair that a search finds inside of the
box [-10, 10] and on the real line, beside the known worst case; and the two values that nobody had
published, each by a second way that shares no integral with the first. Exits non-zero if a digit
is wrong or a search falls short. `exact_table.py [NAME ...]` picks rows, `--patterns` leaves the
searches out.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, replace

from dpest import zoo
from dpest.ask.domains import Reals
from dpest.ask.patterns import patterns
from dpest.ask.search import search
from dpest.exact.engine import PairObjective, exact_loss

BUDGET = 200  # pairs of one search
LISTED = 400  # pairs of a domain that is searched in full
LINE = 0.99  # of the known worst case must be reached on the real line


@dataclass(frozen=True)
class Row:
    """What is known: ε on the patterns (None: first computed here) and its digits; worst cases."""

    patterns: float | None
    digits: float
    worst: float  # over all inputs; ∞ where supports differ
    box: float | None = None  # at least this inside of [-10, 10]


TRUTHS: dict[str, Row] = {
    "LaplaceMechanism": Row(0.1, 1e-9, 0.1),
    "TruncatedGeometric": Row(math.log(9 / 8), 1e-12, math.log(9 / 8)),
    "NoisyHist1": Row(0.1, 1e-9, 0.1),
    "NoisyHist2": Row(10.0, 1e-9, 10.0),
    "ReportNoisyMax1": Row(0.0946149, 6e-8, 0.1),
    "ReportNoisyMax2": Row(0.1, 1e-9, 0.1),
    "ReportNoisyMax3": Row(0.25, 1e-9, 0.25),
    "ReportNoisyMax4": Row(math.inf, 0.0, math.inf),
    "SVT1": Row(0.0885258, 6e-8, 0.1, 0.0993),
    "SVT2": Row(0.0882304, 6e-8, 0.1),
    "SVT3": Row(0.5, 1e-9, 0.5),
    "SVT4": Row(0.1724707, 6e-8, 0.175, 0.1749),
    "SVT5": Row(math.inf, 0.0, math.inf),
    "SVT6": Row(0.4200315, 6e-8, 0.5, 0.4666),
    "NumericalSVT": Row(0.0805192, 6e-8, 0.1),
    "SVT34Parallel": Row(None, 0.0, 0.575),
    "PrefixSum": Row(1.0, 1e-9, 1.0),
    "LaplaceParallel": Row(0.1, 1e-9, 0.1),
    "OneTimeRappor": Row(0.600501, 6e-7, 0.800668, 0.800667),
    "Rappor": Row(0.300063, 6e-7, 0.400083, 0.400082),
    "NoisyMaxSum": Row(None, 0.0, 2.0),
}


def literature_pairs(name: str) -> list[tuple[object, object]]:
    """The pairs that the published tools looked at."""
    entry = zoo.get(name)
    if "Rappor" in name:  # one value against its neighbours of the pattern: 1 against 0 and 2
        return [(1, 0), (1, 2)]
    length = entry.about.get("length")
    found = patterns(entry.adjacency, entry.domain, length, both_orders=False)
    return [(x, x2) for _, x, x2 in found]


def on_patterns(names: list[str]) -> int:
    wrong, total = 0, 0.0
    print(f"{'mechanism':20} {'exact':>18} {'known':>18} {'seconds':>8}  pair")
    for name in names:
        row = TRUTHS[name]
        started = time.process_time()
        objective = PairObjective(zoo.get(name))
        best, pair = -math.inf, None
        for x, x2 in literature_pairs(name):
            value = objective(x, x2)
            if value > best:
                best, pair = value, (x, x2)
        seconds = time.process_time() - started
        total += seconds
        known = row.patterns
        right = known is None or best == known or abs(best - known) <= row.digits
        wrong += not right
        shown = "new" if known is None else f"{known:.12g}"
        mark = "" if right else "  WRONG"
        print(f"{name:20} {best:18.12g} {shown:>18} {seconds:8.3f}  {pair}{mark}", flush=True)
    print(f"{total:.2f} s of processor time; {wrong} wrong\n")
    return wrong


def searched(names: list[str]) -> int:
    """The worst pair by the search, without the patterns' help but for those it knows itself."""
    short = 0
    print(f"{'mechanism':20} {'where':>9} {'found':>14} {'wanted':>14} {'pairs':>6} {'seconds':>8}")
    for name in names:
        row, entry = TRUTHS[name], zoo.get(name)
        jobs = [("all", entry.domain, LINE * row.worst if math.isfinite(row.worst) else row.worst)]
        if row.box is not None:
            boxed = entry.domain
            if isinstance(boxed, Reals):
                boxed = replace(boxed, low=-10.0, high=10.0)
            jobs.insert(0, ("[-10, 10]", boxed, row.box))
        for where, domain, wanted in jobs:
            started = time.process_time()
            length = entry.about.get("length")
            found = search(
                PairObjective(entry),
                entry.adjacency,
                domain,
                length=length,
                budget=BUDGET,
                enough=wanted + 1e-9,  # the search stops where it has shown what is claimed
                listed=LISTED,
            )
            above = found.value > row.worst * (1 + 1e-6)
            poor = found.value < wanted
            short += above or poor
            mark = "  ABOVE THE WORST CASE" if above else "  SHORT" if poor else ""
            print(
                f"{name:20} {where:>9} {found.value:14.9g} {wanted:14.9g} {found.evaluations:6} "
                f"{time.process_time() - started:8.2f}{mark}",
                flush=True,
            )
    print(f"{short} searches fell short\n")
    return short


def parallel_by_parts() -> tuple[float, float]:
    """SVT34Parallel: all paths at once against SVT3's and SVT4's losses, which add."""
    pair = ([1.0] * 10, [2.0] * 5 + [0.0] * 5)
    whole = PairObjective(zoo.get("SVT34Parallel"))(*pair)
    parts = [exact_loss(zoo.get(n), *pair, params={"cutoff": 2}) for n in ("SVT3", "SVT4")]
    forward = math.fsum(p.epsilon_forward for p in parts)
    backward = math.fsum(p.epsilon_backward for p in parts)
    return whole, max(forward, backward)


def max_sum_by_mpmath() -> tuple[float, float]:
    """NoisyMaxSum, far out, against mpmath's quadrature of its densities with 20 digits.

    The supremum is the limit at -∞, 2⌊n/2⌋·eps = 2: every one of the 20 noises has to lie far to
    the left. The ratio is taken at a finite output, where ours is an integral too.
    """
    import mpmath
    import numpy as np

    from dpest.exact.outputs.output import output_distribution
    from dpest.reading.trace import trace

    mpmath.mp.dps = 20
    x, x2, at = [1.0] * 20, [2.0] * 20, -60.0
    scale = mpmath.mpf(10)

    def half(centre: float) -> object:
        def cdf(v: object) -> object:
            z = (v - centre) / scale
            return mpmath.exp(z) / 2 if z < 0 else 1 - mpmath.exp(-z) / 2

        def density(v: object) -> object:
            return 10 * cdf(v) ** 9 * mpmath.exp(-abs(v - centre) / scale) / (2 * scale)

        return density

    def total(centre: float) -> object:
        one = half(centre)
        points = sorted({*range(-400, 400, 10), at - centre, centre})  # both kinks among them
        # mpmath stops by absolute error: the integrand is lifted to about 1.
        return mpmath.quad(lambda v: one(v) * one(at - v) * mpmath.exp(72), points)

    theirs = float(mpmath.log(total(x[0]) / total(x2[0])))
    entry = zoo.get("NoisyMaxSum")
    logs = [output_distribution(trace(entry, v)).log_density(at) for v in (x, x2)]
    return float(np.float64(logs[0] - logs[1])), theirs


def two_ways() -> int:
    wrong = 0
    for title, (ours, theirs) in (
        ("SVT34Parallel: together, and as SVT3 + SVT4", parallel_by_parts()),
        ("NoisyMaxSum: log-ratio at -60, and by mpmath", max_sum_by_mpmath()),
    ):
        right = abs(ours - theirs) <= 1e-9
        wrong += not right
        print(f"{title:46} {ours:.12g} {theirs:.12g}{'' if right else '  WRONG'}", flush=True)
    return wrong


def main(arguments: list[str]) -> int:
    only = [a for a in arguments if not a.startswith("--")]
    names = [name for name in TRUTHS if not only or name in only]
    wrong = on_patterns(names)
    if "--patterns" not in arguments:
        wrong += searched(names)
    if not only:
        wrong += two_ways()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
