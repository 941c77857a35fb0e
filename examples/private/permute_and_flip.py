"""The best candidate, by coins that are flipped in random order (permute-and-flip)."""

import math

import dpest


@dpest.mechanism(claim=dpest.PureDP("eps"), adjacency=dpest.linf(1), domain=dpest.reals(4))
def permute_and_flip(scores, rng, *, eps=1.0):
    best = max(scores)
    order = list(range(len(scores)))
    rng.shuffle(order)
    for i in order:
        if rng.random() < math.exp(eps / 2 * (scores[i] - best)):
            return i
    return None


if __name__ == "__main__":
    print(dpest.audit(permute_and_flip))
