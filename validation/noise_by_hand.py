"""Noise made by hand against plain runs: the exact engine's probabilities of random programs.

Each program draws three noises, made by hand in ways picked at random (Laplace by inverse CDF, by
cases, by a sign and exponential noise; exponential and Gumbel noise by logarithms), lets them meet
in comparisons and branches, and releases what came out. Its exact probabilities are held against
the frequencies of runs of the untouched function with NumPy's generator, by a chi-squared test; and
where it has a proof, the exact loss of three pairs against the proved bound. The exit status is 1
where a pair loses more, or a p-value is too small (a false alarm with probability 1e-3 in all).

    python validation/noise_by_hand.py [PROGRAMS] [RUNS]
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import dpest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from reading.hand_made import EXPONENTIAL, GUMBEL, LAPLACE

MAKERS = [*LAPLACE, *EXPONENTIAL, *GUMBEL]
FALSE_ALARM = 1e-3
PAIRS = (([0.0, 0.0], [1.0, 1.0]), ([0.0, 0.0], [1.0, -1.0]), ([2.0, 0.5], [1.5, 1.5]))


def program(seed: int) -> Any:
    """A mechanism on two numbers whose three noises are made in ways picked by the seed."""
    choice = np.random.default_rng(seed)
    # Every maker comes up: the first one in turn, the others at random.
    picked = [MAKERS[seed % len(MAKERS)]]
    picked += [MAKERS[i] for i in choice.integers(len(MAKERS), size=2)]
    scales = choice.choice([0.5, 1.0, 2.0, 3.0], size=3).tolist()
    weights = choice.choice([-1.0, 0.5, 1.0, 2.0], size=3).tolist()
    ends = choice.choice([-1.0, 0.0, 0.25, 2.0], size=2).tolist()
    shape = int(choice.integers(3))

    def mechanism(x, rng):
        a, b, c = (maker(rng, scale) for maker, scale in zip(picked, scales, strict=True))
        first = bool(x[0] + weights[0] * a > ends[0])
        if shape == 0:
            return first, int(np.argmax([x[0] + a, x[1] + b, c]))
        if shape == 1 and first:
            return first, bool(x[1] + weights[1] * b + a > ends[1])
        total = x[1] + weights[0] * a + weights[1] * b + weights[2] * c
        return first, bool(b > weights[2] * c), bool(total > ends[1])

    mechanism.__name__ = " ".join(maker.__name__ for maker in picked)
    return mechanism


def p_value(mechanism: Any, x: list[float], runs: int, seed: int) -> float:
    """Of a chi-squared test of the exact probabilities on plain runs; NaN with one outcome."""
    found = {o.output: o.probability for o in dpest.distribution(mechanism, x).outcomes}
    assert abs(sum(found.values()) - 1) < 1e-9, found
    rng = np.random.default_rng(seed)
    seen = Counter(mechanism(x, rng) for _ in range(runs))
    assert set(seen) <= set(found), set(seen) - set(found)
    outputs = [o for o, p in found.items() if p * runs >= 10]
    rest = 1 - sum(found[o] for o in outputs)
    counts = [seen[o] for o in outputs]
    expected = [found[o] * runs for o in outputs]
    if rest * runs >= 10:
        counts.append(runs - sum(counts))
        expected.append(rest * runs)
    scale = sum(counts) / sum(expected)
    return float(stats.chisquare(counts, [e * scale for e in expected]).pvalue)


def main() -> int:
    programs = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    started = time.process_time()
    values, proved, violated, tightest = [], 0, 0, 0.0
    for seed in range(programs):
        mechanism = program(seed)
        values.append(p_value(mechanism, [0.5, -0.25], runs, seed))
        proof = dpest.prove(mechanism, adjacency=dpest.linf(1), length=2)
        if proof.bound is not None:
            proved += 1
            for pair in PAIRS:
                loss = dpest.exact(mechanism, *pair).epsilon
                violated += loss > float(proof.bound) * (1 + 1e-9)
                tightest = max(tightest, loss / float(proof.bound))
        bound = "no proof" if proof.bound is None else f"ε ≤ {float(proof.bound):.4g}"
        print(f"{seed:3d} p = {values[-1]:.3f}  {bound:10}  {mechanism.__name__}", flush=True)
    values = [p for p in values if p == p]
    smallest = min(values)
    print(f"\n{programs} programs, {runs} runs each: the smallest p-value is {smallest:.4f}")
    print(f"by chance one as small comes with probability {1 - (1 - smallest) ** programs:.3f}")
    uniform = stats.kstest(values, "uniform").pvalue
    print(f"all p-values against the uniform distribution: p = {uniform:.3f}")
    print(f"{proved} have a proof; {violated} pairs lose more, the worst {tightest:.4f} of it")
    print(f"{time.process_time() - started:.0f} s of one core")
    return int(violated > 0 or smallest < FALSE_ALARM / programs)


if __name__ == "__main__":
    sys.exit(main())
