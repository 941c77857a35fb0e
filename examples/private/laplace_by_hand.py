"""Laplace noise from a uniform draw, by the inverse of its distribution function, then rounded."""

import math

import dpest


@dpest.mechanism(
    claim=dpest.PureDP("eps"), adjacency=dpest.replace_one(), domain=dpest.integers(5, 0, 1)
)
def laplace_by_hand(x, rng, *, eps=0.5):
    u = rng.random() - 0.5
    size = -math.log(1 - 2 * abs(u)) / eps
    noise = size if u > 0 else -size
    return max(0, round(sum(x) + noise))


if __name__ == "__main__":
    print(dpest.audit(laplace_by_hand))
