"""Flip a coin for each candidate until one comes up; the candidates come in their own order.

In random order this is permute-and-flip, and private. As it is, nobody after the best one can win.
"""

import math

import dpest


@dpest.mechanism(claim=dpest.PureDP("eps"), adjacency=dpest.linf(1), domain=dpest.reals(4))
def first_good_enough(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in range(len(scores)):
        if rng.random() < math.exp(eps / 2 * (scores[i] - best)):
            return i
    return None


if __name__ == "__main__":
    print(dpest.audit(first_good_enough))
