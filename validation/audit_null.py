"""Whole audits of private black boxes, with the search for pairs on: how often is one accused?

    python validation/audit_null.py [AUDITS] [ALPHA] [WORKERS]

Eight mechanisms whose claim is exactly their loss, so that nothing is easier than to accuse them.
They have no source that could be read: dpest scouts lengths and values, records their noise,
chooses pairs, events and classifiers, and measures, all on one budget of runs and at one ALPHA
(0.05). Each audit has a seed of its own (AUDITS in all, 2,000 by default). Counted is the status
"violated". The exit status is 1 if the 95 % upper limit of the rate of all audits exceeds ALPHA,
or if one mechanism alone is accused significantly more often than ALPHA allows.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import dpest
from dpest.stats import clopper_pearson

RUNS = "8000runs"
LN3 = math.log(3)

# name: the source, and the question with the mechanism's own loss as the claim
MECHANISMS: dict[str, tuple[str, dict[str, Any]]] = {
    "count above a threshold": (
        "def f(x, rng):\n    return sum(v > 0.4 for v in x) + rng.laplace(0, 1.0)\n",
        {"epsilon": 1.0, "adjacency": "replace_one", "domain": "reals(5, 0, 1)"},
    ),
    "clipped sum of any length": (
        "def f(x, rng):\n    return sum(min(max(v, 0.0), 2.0) for v in x) + rng.laplace(0, 2.0)\n",
        {"epsilon": 1.0, "adjacency": "add_remove_one", "domain": "reals:-5,5"},
    ),
    "randomised response": (
        "def f(x, rng):\n    return [v if rng.random() < 0.75 else 1 - v for v in x]\n",
        {"epsilon": LN3, "adjacency": "replace_one", "domain": "integers(3, 0, 1)"},
    ),
    "histogram of cities": (
        "def f(x, rng):\n"
        "    return {c: sum(r['city'] == c for r in x) + rng.laplace(0, 2.0) for c in 'AB'}\n",
        {
            "epsilon": 1.0,
            "adjacency": "replace_one",
            "domain": 'table(4, city=["A", "B"], age=(0, 99))',
        },
    ),
    "rounded noise": (
        "def f(x, rng):\n    return round(sum(x)) + int(rng.geometric(0.5) - rng.geometric(0.5))\n",
        {"epsilon": math.log(2), "adjacency": "replace_one", "domain": "integers(4, 0, 1)"},
    ),
    "noisy maximum": (
        "def f(x, rng):\n"
        "    noisy = [v + rng.exponential(2.0) for v in x]\n"
        "    return noisy.index(max(noisy))\n",
        {"epsilon": 1.0, "adjacency": "linf", "domain": "reals(3, 0, 2)"},
    ),
    "sparse vector": (
        "def f(x, rng):\n"
        "    t = rng.laplace(0, 2.0)\n"
        "    for i, v in enumerate(x):\n"
        "        if v + rng.laplace(0, 4.0) >= t:\n"
        "            return i\n"
        "    return -1\n",
        {"epsilon": 1.0, "adjacency": "linf", "domain": "reals(4, -2, 2)"},
    ),
    "Gaussian mean": (
        "def f(x, rng):\n    return sum(x) / 4 + rng.normal(0, 0.25 * 1.2)\n",
        {
            "epsilon": 1.0,
            "delta": 0.0,  # set below, from the exact curve
            "adjacency": "replace_one",
            "domain": "reals(4, 0, 1)",
        },
    ),
}


def gaussian_delta(mu: float, epsilon: float) -> float:
    """δ(ε) of two unit Gaussians whose means are `mu` apart."""

    def upper(z: float) -> float:
        return math.erfc(z / math.sqrt(2)) / 2

    return upper(epsilon / mu - mu / 2) - math.exp(epsilon) * upper(epsilon / mu + mu / 2)


MECHANISMS["Gaussian mean"][1]["delta"] = gaussian_delta(1 / 1.2, 1.0)


def black_box(source: str) -> Callable[..., Any]:
    """The function, with no file behind it."""
    scope: dict[str, Any] = {}
    exec(source, scope)
    function: Callable[..., Any] = scope["f"]
    return function


def limits(accused: int, audits: int) -> tuple[float, float]:
    """The one-sided 99.9 % lower and the 95 % upper limit of a rate."""
    low = float(clopper_pearson.lower(accused, audits, 0.001))
    return low, float(clopper_pearson.upper(accused, audits, 0.05))


def audited(name: str, alpha: float, seed: int) -> tuple[bool, bool]:
    """Whether one audit accuses, and whether it has a bound at all."""
    source, question = MECHANISMS[name]
    verdict = dpest.audit(
        black_box(source), alpha=alpha, budget=RUNS, seed=seed, floating_point=False, **question
    )
    return verdict.status == "violated", verdict.lower is not None


def main() -> int:
    audits = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    alpha = float(sys.argv[2]) if len(sys.argv) > 2 else 0.05
    workers = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    each, failed, accused_in_all, started = audits // len(MECHANISMS), False, 0, time.monotonic()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for name in MECHANISMS:
            work = pool.map(audited, [name] * each, [alpha] * each, range(each))
            found = list(work)
            accused = sum(is_accused for is_accused, _ in found)
            low, high = limits(accused, each)
            failed |= low > alpha
            accused_in_all += accused
            print(
                f"{name:26} {each:5} audits {accused:4} accused  [{low:.4f}, {high:.4f}]"
                f"  {sum(not bounded for _, bounded in found)} without a bound",
                flush=True,
            )
    _, limit = limits(accused_in_all, each * len(MECHANISMS))
    print(
        f"{each * len(MECHANISMS)} audits at alpha {alpha}: {accused_in_all} accused, "
        f"95 % upper limit {limit:.4f}, {time.monotonic() - started:.0f} s"
    )
    return int(failed or limit > alpha)


if __name__ == "__main__":
    sys.exit(main())
