"""Simultaneous bounds on a distribution function, as tight in the tails as in the middle.

For n independent values, Clopper and Pearson bound the probability of any one tail "above the
(c+1)-th largest value", whatever the distribution. Used at one local level for all c at once, such
bounds are equally likely to fail everywhere ("equal local levels"; Berk and Jones's band is nearly
that). How small the local level must be for all to hold together is computed, not bounded: a
Poisson process that is tied down at n crosses the boundary with a probability that is a sequence
of convolutions (Moscovich and Nadler, "Fast calculation of boundary crossing probabilities for
Poisson processes", 2017).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import gammaln, xlogy

from dpest.stats import clopper_pearson
from dpest.stats._checks import check_alpha

Floats = NDArray[np.float64]

# Counts are looked at one by one to this one, and then in steps of this ratio, from both ends.
_EACH = 12
_RATIO, _RATIO_OF_MANY, _MANY = 1.12, 1.25, 100_000
# Standard deviations that the convolutions keep on each side.
_REACH = 8.0


@dataclass(frozen=True)
class TailBand:
    """Upper bounds on tail probabilities: with `counts[j]` of n values above t, P(above t) is at
    most `upper[j]`, for all t and all j at once. Counts in between take the next larger one.
    """

    n: int
    alpha: float
    level: float
    counts: NDArray[np.intp]
    upper: Floats

    def at(self, count: NDArray[np.intp]) -> Floats:
        """The bound for each number of values above a threshold; 1 beyond the last count."""
        place = np.searchsorted(self.counts, count)
        return np.append(self.upper, 1.0)[place]


def looked_at(n: int) -> NDArray[np.intp]:
    """The counts at which a band of n values is drawn: 0, 1, 2, …, then in steps, and back."""
    ends = [np.arange(min(_EACH, n))]
    if n > _EACH:
        ratio = _RATIO if n < _MANY else _RATIO_OF_MANY
        steps = math.ceil(math.log(max(n / 2, _EACH + 1) / _EACH) / math.log(ratio))
        ends.append(np.round(np.geomspace(_EACH, n / 2, max(steps, 2))).astype(np.intp))
    low = np.concatenate(ends)
    both = np.unique(np.concatenate([low, n - 1 - low]))
    return both[(both >= 0) & (both < n)]


@lru_cache(maxsize=64)
def tail_band(n: int, alpha: float) -> TailBand:
    """The band for n independent values, which fails anywhere with probability at most `alpha`.

    Holds for every distribution, with or without atoms. The local level is found by bisection from
    the safe side: the computed probability that the band holds is at least 1 - alpha.
    """
    check_alpha(alpha)
    if n < 1:
        raise ValueError(f"a band needs at least one value, got {n=}")
    counts = looked_at(n)

    # The chance of failing is nearly proportional to the local level, which alpha / len(counts)
    # bounds from below: a few proportional steps, the last one on the safe side.
    level, found = 2.0 * alpha / len(counts), alpha / len(counts)
    for aim in (1.0, 1.0, 0.997, 0.99):
        chance = fails(n, counts, _upper(n, counts, level))
        if chance <= alpha:
            found = max(found, level)
            if chance > 0.985 * alpha:
                break
        level = min(alpha, level * (aim * alpha / chance) ** 1.02)
    return TailBand(n, alpha, found, counts, _upper(n, counts, found))


def _upper(n: int, counts: NDArray[np.intp], level: float) -> Floats:
    return clopper_pearson.upper(counts.astype(np.float64), float(n), level)


def fails(n: int, counts: NDArray[np.intp], upper: Floats) -> float:
    """P(for some j at most counts[j] of n uniform values lie below upper[j]); errs upwards.

    `upper` must increase. N(u), the number of values below u, is a Poisson process of rate n that
    is tied down to n at 1. All paths with N(upper[j]) > counts[j] are followed.
    """
    # A window of states around the mean n·u that moves with it: index i is N = base + i.
    width = 2 * math.ceil(_REACH * math.sqrt(n) / 2.0 + _REACH) + 64
    size = next_fast_len(2 * width, real=True)
    angle = 2.0 * math.pi * np.arange(size // 2 + 1) / size
    turned = np.exp(-1j * angle) - 1.0
    state, base, before = np.zeros(width), 0, 0.0
    state[0] = 1.0
    for count, u in zip(counts.tolist(), upper.tolist(), strict=True):
        mean = n * (u - before)
        # The window moves by `shift`. The transform is as long as two windows, so that what leaves
        # this one comes to lie beside it, and is lost: paths 8 standard deviations out.
        shift = max(0, round(n * u) - width // 2 - base)
        kernel = np.exp(mean * turned + (1j * (shift % size)) * angle)
        state = np.maximum(irfft(rfft(state, size) * kernel, size)[:width], 0.0)
        base, before = base + shift, u
        state[: max(0, min(width, count + 1 - base))] = 0.0
    rest = n - base - np.arange(width)
    mean = n * (1.0 - before)
    possible = rest >= 0
    logs = xlogy(rest[possible], mean) - mean - gammaln(rest[possible] + 1.0)
    tied = math.exp(gammaln(n + 1.0) - (n * math.log(n) - n))
    holds = float(np.dot(state[possible], np.exp(logs))) * tied
    return 1.0 - min(1.0, holds * (1.0 - 1e-9))
