"""The loss of a dominating pair itself, from below: how much of a bound is due to accounting.

Outputs are put into cells (a post-processing: it only loses), the loss of a cell is rounded down to
a grid, and the laws are convolved by FFT. So δ(ε) lies at or above what is computed, but for the
rounding of the FFT, which is given away.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from dpest.kernel.approximate.accountant import StageLoss

_CELLS = 40_000
_REACH = 9.0
_MOST = 1 << 22
_FFT = 1e-13  # of each mass, where masses add up to 1


def dominating_epsilon(
    ledger: Sequence[tuple[StageLoss, int]], delta: float, upper: float
) -> float | None:
    """A lower bound on ε at δ of the pair (with the record, without it); None: not computed.

    `upper` is a known upper bound: the grid is a share of it.
    """
    if len(ledger) != 1 or ledger[0][0].kind != "gauss" or not 0 < upper < 25:
        return None
    step, times = ledger[0]
    mu, q = math.sqrt(step.value), float(step.q)
    edges = np.linspace(-_REACH, mu + _REACH, _CELLS + 1)
    plain = np.diff(ndtr(edges))
    mixed = (1 - q) * plain + q * np.diff(ndtr(edges - mu))
    width = upper / (200 * times)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(mixed / plain)
    # Mass that is left out, where a single step says very much, only makes the bound smaller.
    keep = (plain > 1e-280) & (mixed > 1e-280) & (np.abs(ratios) < 3 * upper)
    losses = np.floor(ratios[keep] / width).astype(np.int64)
    low, high = int(losses.min()), int(losses.max())
    size = 1 << math.ceil(math.log2(times * (high - low) + 2))  # nothing wraps around
    if size > _MOST:
        return None
    return _least(losses - low, mixed[keep], width, low * times, times, size, delta, upper)


def _least(
    losses: np.ndarray,
    masses: np.ndarray,
    width: float,
    first: int,
    times: int,
    size: int,
    delta: float,
    upper: float,
) -> float:
    law = np.bincount(losses, weights=masses, minlength=size)[:size]
    composed = np.fft.irfft(np.fft.rfft(law) ** times, size)
    values = (first + np.arange(size)) * width
    composed = np.maximum(composed - _FFT, 0.0)

    def excess(epsilon: float) -> float:
        above = values > epsilon
        return float(np.dot(composed[above], -np.expm1(epsilon - values[above])))

    a, b = 0.0, upper
    if excess(0.0) <= delta:
        return 0.0
    while b - a > 1e-6 * upper:
        middle = (a + b) / 2
        a, b = (middle, b) if excess(middle) > delta else (a, middle)
    return a
