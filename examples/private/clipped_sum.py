"""A sum of salaries, clipped so that one person moves it by at most 100."""

import numpy as np

import dpest


@dpest.mechanism(claim=dpest.PureDP("eps"), adjacency=dpest.replace_one(), domain=dpest.reals(4))
def clipped_sum(salaries, rng, *, eps=1.0, cap=100):
    return np.sum(np.clip(salaries, 0, cap)) + rng.laplace(scale=cap / eps)


if __name__ == "__main__":
    print(dpest.audit(clipped_sum))
