"""Which of the queries is largest? Only the index is released."""

import numpy as np

import dpest


@dpest.mechanism(claim=dpest.PureDP("eps"), adjacency=dpest.linf(1), domain=dpest.reals(5))
def noisy_max(x, rng, *, eps=0.3):
    return int(np.argmax(x + rng.laplace(scale=2 / eps, size=len(x))))


if __name__ == "__main__":
    print(dpest.audit(noisy_max))
