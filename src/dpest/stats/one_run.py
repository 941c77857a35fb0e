"""Audits from one run: many canaries, each included by a fair coin, and guesses about them.

The guesses may be about any of the canaries, and may be made after seeing everything but the coins;
the rest are abstentions. The canaries of one run are not independent of each other, so that counts
of right guesses are not binomial. Two bounds hold all the same:

- `p_value`: Steinke, Nasr and Jagielski, "Privacy Auditing with One (1) Training Run" (2023),
  Theorem 5.2: under (epsilon, delta)-DP the number of right guesses is dominated by a binomial one,
  but for a term that grows with delta;
- `refutes`: Mahloujifar, Melis and Chaudhuri, "Auditing f-Differential Privacy in One Run" (2025):
  under f-DP, for a whole trade-off function f. Flipping the coin of one canary turns "right about
  it, and more than i right in all" into "wrong about it, and at least i right", and f bounds what
  the one's probability says about the other's.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri

from dpest.stats import binomial
from dpest.stats._checks import check_alpha
from dpest.stats.ranks import shuffled_order

#: The share of the canaries that are guessed about, and the part of alpha that each choice gets.
#: Half of the guesses are about the highest scores, half about the lowest.
SHARES = ((0.15, 0.7), (0.03, 0.15), (0.4, 0.15))
# Steps of the recursion; where more guesses were right, steps are left out, on the safe side.
_STEPS = 4000
_TOLERANCE = 1e-4
_LARGEST = 64.0


def check_guesses(canaries: int, guesses: int, right: int) -> None:
    if not 0 <= right <= guesses <= canaries:
        raise ValueError(f"needs 0 <= right <= guesses <= canaries: {right=}, {guesses=}")


def right_guesses(
    scores: NDArray[np.float64],
    included: NDArray[np.bool_],
    guesses: int,
    rng: np.random.Generator,
) -> int:
    """Right ones among guesses "included" for the highest scores, "not" for the lowest.

    Half of the guesses each way. Equal scores are put in an order by `rng`, which knows nothing of
    the coins; the order in which they were given might.
    """
    high = guesses // 2
    order = shuffled_order(scores, rng)
    low = order[: guesses - high]
    top = order[len(order) - high :]
    return int(np.count_nonzero(included[top]) + np.count_nonzero(~included[low]))


def p_value(canaries: int, guesses: int, right: int, epsilon: float, delta: float = 0.0) -> float:
    """The chance of so many right guesses, at most, if the run is (epsilon, delta)-DP.

    Assumes that each canary was included by an independent fair coin, and that (epsilon, delta)
    speaks of one canary that is there or not.
    """
    check_guesses(canaries, guesses, right)
    if not 0.0 <= delta <= 1.0 or epsilon < 0.0:
        raise ValueError(f"needs epsilon >= 0 and 0 <= delta <= 1: {epsilon=}, {delta=}")
    odds = float(expit(epsilon))
    tail = float(binomial.upper_tail(right, guesses, odds))
    if delta == 0.0 or right == 0:
        return tail
    fewer = np.arange(1, right + 1)
    between = binomial.upper_tail(right - fewer, guesses, odds) - tail
    return min(1.0, tail + 2.0 * canaries * delta * float(np.max(between / fewer)))


def epsilon_bound(
    canaries: int, guesses: int, right: int, alpha: float, delta: float = 0.0
) -> float:
    """Steinke, Nasr and Jagielski's lower bound on epsilon at `delta`; 0 where nothing follows.

    Guarantees that it exceeds the true epsilon with probability at most `alpha`, for a number of
    guesses that was fixed beforehand.
    """
    check_alpha(alpha)
    return _largest(lambda e: p_value(canaries, guesses, right, e, delta) <= alpha)


def gaussian_blow_down(mu: float) -> Callable[[float], float]:
    """The least chance that mu-GDP leaves to an event whose chance on a neighbour is r."""

    def least(r: float) -> float:
        return float(ndtr(ndtri(r) - mu))

    return least


def approximate_blow_down(epsilon: float, delta: float) -> Callable[[float], float]:
    """The least chance that (epsilon, delta)-DP leaves to an event of chance r on a neighbour."""
    small, large = math.exp(-epsilon), math.exp(min(epsilon, 700.0))

    def least(r: float) -> float:
        return max(0.0, small * (r - delta), 1.0 - delta - large * (1.0 - r))

    return least


def refutes(
    blow_down: Callable[[float], float], canaries: int, guesses: int, right: int, alpha: float
) -> bool:
    """Whether so many right guesses refute f-DP at level `alpha`.

    `blow_down(r)` is the least probability that f-DP leaves to an event whose probability on a
    neighbour is r; it must not decrease in r. Suppose that `right` or more came with probability
    alpha. Then, one number of right guesses after the other, the inequality forces more and more
    probability onto fewer right ones; if it comes to more than one, the supposition was false.
    """
    check_guesses(canaries, guesses, right)
    check_alpha(alpha)
    if guesses == 0:
        return False
    # Chances that a random canary is guessed about, rightly or wrongly, with at least i right.
    is_right = alpha * right / canaries
    is_wrong = alpha * (guesses - right) / canaries
    whole = guesses / canaries
    step = max(1, right // _STEPS)
    # Leaving out steps forces less probability: `i / (guesses - i)` is then that of the last.
    for i in range(right - step, -1, -step):
        forced = blow_down(min(is_right, 1.0))
        if forced <= is_wrong:
            return False
        is_right += i / (guesses - i) * (forced - is_wrong)
        is_wrong = forced
        if is_right + is_wrong > whole * (1.0 + 1e-12):
            return True
    return False


def mu_bound(canaries: int, guesses: int, right: int, alpha: float) -> float:
    """Mahloujifar, Melis and Chaudhuri's lower bound on the mu of Gaussian DP; 0 if none follows.

    It needs no assumption about the mechanism: mu is the least one for which it is mu-GDP.
    """
    return _largest(
        lambda mu: refutes(gaussian_blow_down(mu), canaries, guesses, right, alpha), _LARGEST
    )


def f_dp_epsilon_bound(
    canaries: int, guesses: int, right: int, alpha: float, delta: float = 0.0
) -> float:
    """The lower bound on epsilon at `delta` by the f-DP inequality, for f of (eps, delta)."""
    return _largest(
        lambda e: refutes(approximate_blow_down(e, delta), canaries, guesses, right, alpha)
    )


def _largest(refuted: Callable[[float], bool], most: float = _LARGEST) -> float:
    """The largest value such that it and those below are refuted; 0 if there is none."""
    low, high = 0.0, 1.0 / 16.0
    while refuted(high):
        low, high = high, 2.0 * high
        if high > most:
            return low
    while high - low > _TOLERANCE:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low
