"""One draw of noise on two numbers: their difference comes out exactly."""

import dpest


@dpest.mechanism(claim=dpest.PureDP("eps"), adjacency=dpest.linf(1), domain=dpest.reals(2))
def same_noise_twice(x, rng, *, eps=1.0):
    noise = rng.laplace(scale=1 / eps)
    return [x[0] + noise, x[1] + noise]


if __name__ == "__main__":
    print(dpest.audit(same_noise_twice))
