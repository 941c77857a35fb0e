"""A count with Laplace noise: the first mechanism of every textbook."""

import dpest


@dpest.mechanism(claim=dpest.PureDP("eps"), adjacency=dpest.l1(1), domain=dpest.reals(1))
def noisy_count(x, rng, *, eps=0.5):
    return x[0] + rng.laplace(scale=1 / eps)


if __name__ == "__main__":
    print(dpest.audit(noisy_count))
