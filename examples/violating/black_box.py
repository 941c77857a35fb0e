"""Code that can only be run: no `rng`, its own randomness, half the noise that it needs."""

import random

import dpest


@dpest.mechanism(claim=dpest.PureDP(0.5), adjacency=dpest.l1(1), domain=dpest.reals(1))
def black_box(x):
    noise = random.expovariate(1.0) - random.expovariate(1.0)
    return x[0] + noise


if __name__ == "__main__":
    print(dpest.audit(black_box))
