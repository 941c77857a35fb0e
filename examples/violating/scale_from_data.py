"""The noise is scaled to the data's own range: the scale itself tells."""

import dpest


@dpest.mechanism(claim=dpest.PureDP("eps"), adjacency=dpest.linf(1), domain=dpest.reals(3))
def scale_from_data(x, rng, *, eps=1.0):
    spread = max(x) - min(x) + 1
    return sum(x) + rng.laplace(scale=spread / eps)


if __name__ == "__main__":
    print(dpest.audit(scale_from_data))
