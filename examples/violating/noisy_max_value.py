"""The noisy maximum itself is released, not its index: the loss grows with the length."""

import numpy as np

import dpest


@dpest.mechanism(claim=dpest.PureDP("eps"), adjacency=dpest.linf(1), domain=dpest.reals(5))
def noisy_max_value(x, rng, *, eps=0.3):
    return np.max(x + rng.laplace(scale=2 / eps, size=len(x)))


if __name__ == "__main__":
    print(dpest.audit(noisy_max_value))
