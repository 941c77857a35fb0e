"""DP-Sniper with the paper's choices against this DP-Sniper's own: time and bound, same runs.

The paper: logistic regression, c = 0.01, two Clopper-Pearson bounds with alpha/2. Ours: several
additive models, c chosen for the bound, an exact bound on the ratio.

    python benchmarks/sniper_choices.py [--final 2e6] [NAME ...]
"""

from __future__ import annotations

import argparse
import sys
import time

from dpest import zoo
from dpest.ask.patterns import patterns
from dpest.attacks.sampler import MechanismSampler
from dpest.attacks.sniper import SniperPlan, sniper_attack

DEFAULT = ("LaplaceMechanism", "PrefixSum", "SVT3", "NoisyHist2")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=DEFAULT)
    parser.add_argument("--final", type=float, default=2e6)
    options = parser.parse_args()
    final = int(options.final)
    worse = 0
    for name in options.names:
        mechanism = zoo.get(name)
        found = patterns(
            mechanism.adjacency, mechanism.domain, mechanism.about["length"], both_orders=False
        )
        plan = SniperPlan(0, final // 5, final // 4, final)
        _, x, x2 = found[-1]
        lines = {}
        for paper in (True, False):
            begin = time.process_time()
            evidence = sniper_attack(
                MechanismSampler(mechanism), [(x, x2)], plan=plan, paper=paper, seed=0
            )
            if paper:
                # The paper's attack has a direction; its search tries both.
                other = sniper_attack(
                    MechanismSampler(mechanism), [(x2, x)], plan=plan, paper=True, seed=0
                )
                evidence = max(evidence, other, key=lambda e: e.value)
            lines[paper] = evidence.value, time.process_time() - begin
        (paper_bound, paper_time), (own_bound, own_time) = lines[True], lines[False]
        worse += own_bound < paper_bound
        print(
            f"{name}: own choices {own_bound:.4f} in {own_time:.1f} cpu-s, the paper's "
            f"{paper_bound:.4f} in {paper_time:.1f} cpu-s; ratio of bounds "
            f"{own_bound / max(paper_bound, 1e-9):.3f}, of times {own_time / paper_time:.2f}",
            flush=True,
        )
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
