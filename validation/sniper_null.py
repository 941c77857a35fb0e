"""DD-Search's bound on 1,000 nulls: how often is it above the true ε?

Randomized response and the Laplace mechanism at the pair that attains their ε, with the paper's
algorithms at small sizes: logistic regression, its own runs to check attacks, Clopper-Pearson at
90 %. The bound may be above the truth in at most one run of ten.

    python validation/sniper_null.py [runs]
"""

import math
import sys

import numpy as np
from scipy.stats import binom

from dpest.ask.declaration import Mechanism
from dpest.attacks.sampler import MechanismSampler
from dpest.attacks.sniper import SniperPlan, sniper_attack

ALPHA = 0.1
PLAN = SniperPlan(0, 300, 300, 3000, check=300)


def flipped(bit, rng):
    if rng.random() < 0.75:
        return bit
    return 1 - bit


def noisy(x, rng):
    return x + rng.laplace(scale=2.0)


CASES = (("randomized response", flipped, (0, 1), math.log(3)), ("Laplace", noisy, (0.0, 1.0), 0.5))


def main(runs: int) -> int:
    failures = 0
    for name, function, pair, truth in CASES:
        sampler = MechanismSampler(Mechanism(function, name))
        found = np.array(
            [
                sniper_attack(
                    sampler, [pair], plan=PLAN, paper=True, alpha=ALPHA, c=0.1, seed=seed
                ).value
                for seed in range(runs // 2)
            ]
        )
        above = int(np.sum(found > truth))
        # What chance alone allows at a level of ALPHA, but for one in a thousand.
        most = int(binom.ppf(0.999, len(found), ALPHA))
        good = above <= most
        failures += not good
        print(
            f"{name:20} true ε {truth:.4f}, median bound {np.median(found):.4f}, above the truth "
            f"in {above} of {len(found)} (at most {most} allowed){'' if good else '  TOO OFTEN'}",
            flush=True,
        )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
