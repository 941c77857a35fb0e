"""The violation ε̂ of a candidate with shared noise, and how many samples it takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpest.stats import central_limit, hoeffding

Floats = NDArray[np.float64]

DEFAULT_HALF_WIDTH = 0.002
DEFAULT_ALPHA = 0.001
_FIRST = 10_000


@dataclass(frozen=True)
class PairedCounts:
    """How often the event happened on both inputs, on the first only, on the second only."""

    both: int = 0
    first: int = 0
    second: int = 0
    samples: int = 0

    def plus(self, a: NDArray[np.bool_], b: NDArray[np.bool_]) -> PairedCounts:
        both = int(np.count_nonzero(a & b))
        return PairedCounts(
            self.both + both,
            self.first + int(np.count_nonzero(a)) - both,
            self.second + int(np.count_nonzero(b)) - both,
            self.samples + len(a),
        )

    @property
    def p(self) -> float:
        return (self.both + self.first) / self.samples

    @property
    def q(self) -> float:
        return (self.both + self.second) / self.samples

    @property
    def correlation(self) -> float:
        """Of the two indicators; shared noise makes it large."""
        p, q = self.p, self.q
        spread = math.sqrt(p * (1 - p) * q * (1 - q))
        if spread == 0.0:
            return 0.0
        return min(1.0, max(-1.0, (self.both / self.samples - p * q) / spread))

    @property
    def epsilon(self) -> float:
        """log(p/q): the estimate. ±inf where one side never happened, nan where neither did."""
        if self.p == 0.0 or self.q == 0.0:
            return math.nan if self.p == self.q else (math.inf if self.q == 0.0 else -math.inf)
        return math.log(self.p / self.q)

    def half_width(self, alpha: float = DEFAULT_ALPHA) -> float:
        """By the two-dimensional central limit theorem; heuristic, as in the paper."""
        low, high = central_limit.correlated_log_ratio_interval(
            self.p, self.q, self.correlation, self.samples, alpha
        )
        return (high - low) / 2


def samples_needed(
    p: float, q: float, correlation: float, half_width: float, alpha: float = DEFAULT_ALPHA
) -> dict[str, int]:
    """How many samples each method asks for before its half-width is reached (Figure 6)."""

    def width(method: str, n: int) -> float:
        if method == "hoeffding":
            low, high = hoeffding.log_ratio_interval(p, q, n, alpha / 2)
        elif method == "clt":
            low, high = central_limit.log_ratio_interval(p, q, n, alpha / 2)
        else:
            low, high = central_limit.correlated_log_ratio_interval(p, q, correlation, n, alpha)
        return (high - low) / 2

    found = {}
    for method in ("hoeffding", "clt", "m-clt"):
        low, high = 1, 2
        while not width(method, high) <= half_width and high < 10**15:
            low, high = high, 2 * high
        while high - low > max(1, high // 1000):
            middle = (low + high) // 2
            low, high = (low, middle) if width(method, middle) <= half_width else (middle, high)
        found[method] = high
    return found


def estimate(
    check: Callable[[int], tuple[NDArray[np.bool_], NDArray[np.bool_]]],
    half_width: float = DEFAULT_HALF_WIDTH,
    alpha: float = DEFAULT_ALPHA,
    most: int = 1_000_000,
) -> PairedCounts:
    """Add paired samples until the M-CLT half-width is small enough, or there are `most`.

    `check(n)` gives the event's indicator on both inputs for n fresh shared noises.
    """
    counts = PairedCounts()
    size = min(_FIRST, most)
    while True:
        counts = counts.plus(*check(size))
        if counts.samples >= most:
            return counts
        if counts.p == 0.0 or counts.q == 0.0:
            # Nothing to divide by: look a while longer, then leave it to the support analysis.
            if counts.samples >= min(most, 10 * _FIRST):
                return counts
            size = min(counts.samples, most - counts.samples)
            continue
        reached = counts.half_width(alpha)
        if reached <= half_width:
            return counts
        # Widths fall with the square root of the samples.
        wanted = counts.samples * min(16.0, (reached / half_width) ** 2)
        size = int(min(most, max(wanted, 1.2 * counts.samples))) - counts.samples
        size = max(min(size, 500_000), 1)
