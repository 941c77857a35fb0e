"""Noisy running totals, for a stream in which one event differs."""

import numpy as np

import dpest


@dpest.mechanism(claim=dpest.PureDP("eps"), adjacency=dpest.l1(1), domain=dpest.reals(6))
def running_totals(events, rng, *, eps=0.5):
    return np.cumsum(np.asarray(events) + rng.laplace(scale=1 / eps, size=len(events)))


if __name__ == "__main__":
    print(dpest.audit(running_totals))
