"""False alarms of complete detections: selection, fresh samples and test, at the true ε.

2,000 detections in all, over eight mechanisms: outputs that are a bit, a choice, an integer, a real
number, a vector, lists of fixed and of varying length, and a mixture. Each is tested at its true ε,
the largest exact loss among the pairs that the detection tries, so that the null holds with nothing
to spare. The exact p-value must be below 0.05 in at most 5 % of them. The paper's average over
thinnings, which is only guaranteed at 10 %, is printed beside it. Chance alone can push a true 5 %
above 5 %: the script fails if so many or more alarms would have a probability below 0.001.

`--detections N` makes N in all; `--keep FILE` keeps finished pieces, so that a run that was
stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path

from scipy.stats import beta, binom

from dpest import noise, zoo
from dpest.attacks.statdp.detection import detect
from dpest.attacks.statdp.inputs import generate_cases
from dpest.attacks.statdp.laboratory import InputCase
from dpest.exact.engine import exact_loss

LEVEL = 0.05
EPS = 0.7
SELECTION_RUNS, TEST_RUNS = 2000, 4000
PIECE = 25  # detections between two looks at what is kept


def response(x, rng, *, eps):
    truthful = rng.random() < math.exp(eps) / (1 + math.exp(eps))
    return bool(truthful) == bool(x[0])


def laplace(x, rng, *, eps):
    return x[0] + rng.laplace(scale=1 / eps)


def geometric(x, rng, *, eps):
    return x[0] + noise.discrete_laplace(rng, 1 / eps)


def targets():
    one = [InputCase([0], [1])]
    yield "randomised response", "a bit", response, one
    yield "discrete Laplace", "an integer", geometric, one
    yield "Laplace", "a real", laplace, one
    for name, kind in (
        ("StatDP_Histogram", "a vector"),
        ("StatDP_NoisyMax1a", "a choice"),
        ("StatDP_SVT", "a list of any length"),
        ("StatDP_iSVT2", "a list of fixed length"),
        ("StatDP_iSVT4", "a mixture"),
    ):
        mechanism = zoo.get(name)
        yield name, kind, mechanism, generate_cases(mechanism, length=5, params={"eps": EPS})


def detections(target, cases, truth, seeds):
    """How often p < 0.05 at the true ε, in complete detections with these seeds."""
    started = time.process_time()
    found = {"exact": 0, "paper": 0, "ratios": 0.0}
    for seed in seeds:
        example = detect(
            target,
            cases,
            truth,
            params={"eps": EPS},
            selection_runs=SELECTION_RUNS,
            test_runs=TEST_RUNS,
            seed=seed,
        ).counterexample
        if example is None or example.p_values is None:
            continue
        found["exact"] += example.p_values.exact < LEVEL
        found["paper"] += example.p_values.paper < LEVEL
        found["ratios"] += math.log(max(example.c1, 1) / max(example.c2, 1))
    return {**found, "seconds": time.process_time() - started}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--detections", type=int, default=2000)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    found = list(targets())
    each = options.detections // len(found)
    total = {"exact": 0, "paper": 0}
    print(
        f"p < {LEVEL:g} at the true ε, eps = {EPS}, {SELECTION_RUNS:,} runs a side to select, "
        f"{TEST_RUNS:,} to test, seeds 0 to {each - 1}"
    )
    print(
        f"{'mechanism':20} {'output':22} {'pairs':>5} {'true ε':>7} {'detections':>10} "
        f"{'exact':>7} {'paper':>7} {'reached':>8} {'cpu s':>6}"
    )
    done = {}
    if options.keep and options.keep.exists():
        done = dict(json.loads(line) for line in options.keep.read_text().splitlines())
    for name, kind, target, cases in found:
        truth = max(exact_loss(target, c.x, c.x2, params={"eps": EPS}).epsilon for c in cases)
        counts = dict.fromkeys(("exact", "paper", "ratios", "seconds"), 0.0)
        for start in range(0, each, PIECE):
            seeds = range(start, min(start + PIECE, each))
            key = f"{name}, seeds {seeds[0]} to {seeds[-1]}"
            if key not in done:
                done[key] = detections(target, cases, truth, seeds)
                if options.keep:
                    with options.keep.open("a") as file:
                        file.write(json.dumps([key, done[key]]) + "\n")
            for which in counts:
                counts[which] += done[key][which]
        for which in total:
            total[which] += int(counts[which])
        print(
            f"{name:20} {kind:22} {len(cases):5} {truth:7.4f} {each:10} "
            f"{counts['exact'] / each:7.2%} {counts['paper'] / each:7.2%} "
            f"{counts['ratios'] / each / truth:8.1%} {counts['seconds']:6.1f}",
            flush=True,
        )
    count = each * len(found)
    alarms = total["exact"]
    excess = float(binom.sf(alarms - 1, count, LEVEL))
    above = float(beta.ppf(0.95, alarms + 1, count - alarms))
    print(
        f"all: {count} detections, p < {LEVEL:g} in {alarms} of them ({alarms / count:.2%}) by the "
        f"exact test, in {total['paper']} ({total['paper'] / count:.2%}) by the paper's average"
    )
    print(
        f"so many or more have probability {excess:.3g} if the true rate is {LEVEL:.0%}; the true "
        f"rate is below {above:.2%} with 95 % confidence"
    )
    print("'reached' is the mean log ratio of the counts of the tested event, against the true ε")
    return 1 if excess < 0.001 else 0


if __name__ == "__main__":
    sys.exit(main())
