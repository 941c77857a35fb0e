"""Algorithm 2 of StatDP, and the exact test that verdicts rest on.

The paper thins c1 to a binomial(c1, e^-ε) and takes a hypergeometric tail, averaged over some
thinnings. An average of p-values is only guaranteed at twice its level. The verdict therefore
comes from one exact test: a fair coin picks the input of every run, so that, given that the event
happened, the label is a coin with odds of at most e^ε if the claim holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpest.stats import binomial, conditional_test, ratio

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PValues:
    """Evidence against P1(E) ≤ e^ε·P2(E) (`top`) and against P2(E) ≤ e^ε·P1(E) (`bottom`).

    Both are the paper's averages over a few thinnings; `expected` gives their exact means over all
    thinnings. `exact` is the p-value of the coin-label test in the direction that was fixed before
    the samples were drawn: P1 is the larger side.
    """

    epsilon: float
    top: float
    bottom: float
    exact: float
    counts: tuple[int, int, int, int]

    @property
    def paper(self) -> float:
        """min(p⊤, p⊥), as the paper reports it."""
        return min(self.top, self.bottom)

    def expected(self) -> tuple[float, float]:
        """The exact means of (p⊤, p⊥): no randomness; takes a second at counts of 10^6."""
        return conditional_test.both_sides(*self.counts, self.epsilon)


def coin_label_p_value(k1: int, k2: int, epsilon: float) -> float:
    """P(k1 or more labels of the first input | k1 + k2) at the edge of the claim, p1 = e^ε·p2.

    Exact and valid for every p1 ≤ e^ε·p2 if a fair coin picked each run's input.
    """
    if epsilon < 0:
        raise ValueError(f"epsilon is not negative, got {epsilon=}")
    share = 1.0 / (1.0 + math.exp(-epsilon))
    return float(binomial.upper_tail(k1, k1 + k2, share))


def coin_label_bound(k1: int, k2: int, alpha: float) -> float:
    """The largest ε that this test refutes at level α; -inf if none."""
    return ratio.coin_label(k1, k2, alpha)


def hypothesis_test(
    c1: int,
    n1: int,
    c2: int,
    n2: int,
    epsilon: float,
    rng: np.random.Generator | None = None,
    thinnings: int = 10,
) -> PValues:
    """All p-values for an event that happened c1 of n1 times and c2 of n2 times."""
    generator = rng if rng is not None else np.random.default_rng(0)

    def average(k1: int, m1: int, k2: int, m2: int) -> float:
        # One thinning at a time: each is a plain tail, summed from the observed count outwards.
        drawn = [
            conditional_test.randomised_p_value(k1, m1, k2, m2, epsilon, generator)
            for _ in range(thinnings)
        ]
        return float(np.mean(drawn))

    return PValues(
        epsilon,
        average(c1, n1, c2, n2),
        average(c2, n2, c1, n1),
        coin_label_p_value(c1, c2, epsilon),
        (c1, n1, c2, n2),
    )


def promise(k1: ArrayLike, k2: ArrayLike, z: float) -> Floats:
    """Vectorised, approximate: the ε that an event would show if its counts were z sigmas worse.

    The Wilson lower bound of k1/(k1 + k2), as log odds. It ranks candidates; it proves nothing.
    """
    a, b = np.asarray(k1, dtype=np.float64), np.asarray(k2, dtype=np.float64)
    n = np.maximum(a + b, 1.0)
    share = a / n
    centre = share + z * z / (2 * n)
    spread = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = np.clip((centre - spread) / (1 + z * z / n), 0.0, 1.0)
    with np.errstate(divide="ignore"):
        return np.log(low) - np.log1p(-low)


def sigmas_above(k1: ArrayLike, k2: ArrayLike, epsilon: float) -> Floats:
    """Vectorised: how far the log ratio of two counts lies above `epsilon`, in standard errors."""
    a, b = np.maximum(k1, 0.5), np.maximum(k2, 0.5)
    return np.asarray((np.log(a / b) - epsilon) / np.sqrt(1 / a + 1 / b))
