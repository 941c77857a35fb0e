"""Local privacy: each person randomises their own answer."""

# mypy: disallow-untyped-defs=False
# (written as users write them)
from __future__ import annotations

import math

import numpy as np

from dpest import PureDP, any_pair, finite, mechanism
from dpest.zoo import truths
from dpest.zoo.bloom_filter import BITS, HASHES, SET_BITS

_ERLINGSSON = "Erlingsson, Pihur and Korolova, CCS 2014 (RAPPOR)"


@mechanism(
    PureDP("eps"),
    any_pair(),
    finite([0, 1]),
    reference="Warner, JASA 1965",
    tool="textbook",
    length=1,
    right=True,
    truth=truths.multiple(),
)
def RandomizedResponse(x, rng, *, eps=1.0):
    """Say the truth with probability e^eps/(1 + e^eps)."""
    honest = rng.random() < math.exp(eps) / (1 + math.exp(eps))
    return x if honest else 1 - x


@mechanism(
    PureDP("eps"),
    any_pair(),
    finite([0, 1, 2, 3]),
    reference="Kairouz, Bonawitz and Ramage, ICML 2016",
    tool="textbook",
    length=1,
    right=True,
    truth=truths.multiple(),
)
def KaryRandomizedResponse(x, rng, *, eps=1.0, k=4):
    """Say the truth, or one of the k - 1 other answers."""
    if rng.random() < math.exp(eps) / (math.exp(eps) + k - 1):
        return x
    other = int(rng.integers(k - 1))  # x is a plain int: a receiver could tell NumPy's from it
    return other + 1 if other >= x else other


def bloom_bits(x):
    """The value's bits: those of its hashes are set."""
    return np.array([bit in SET_BITS[int(x)] for bit in range(BITS)])


def _differing_bits():
    rows = [frozenset(bits) for bits in SET_BITS.values()]
    return max(len(a ^ b) for a in rows for b in rows)


def _report_rate(f, p, q):
    """The log-ratio of one bit of a report between a set and a clear bit."""
    set_, clear = q + (p - q) * f / 2, p + (q - p) * f / 2
    return max(abs(math.log(set_ / clear)), abs(math.log((1 - set_) / (1 - clear))))


@mechanism(
    PureDP("2*hashes*log((1-f/2)/(f/2))"),
    any_pair(),
    finite(range(-10, 11)),
    reference=_ERLINGSSON,
    tool="DP-Sniper",
    length=1,
    right=True,
    truth=lambda n, params: _differing_bits() * math.log((1 - params["f"] / 2) / (params["f"] / 2)),
    pattern_epsilon=0.600501,
    pattern_pairs=((1, 0), (1, 2)),
    note="Eight bits differ between -8 and -6; on the usual patterns only six.",
)
def OneTimeRappor(x, rng, *, f=0.95, hashes=HASHES):
    """A Bloom filter with each bit randomised once."""
    return rng.random(BITS) < np.where(bloom_bits(x), 1 - f / 2, f / 2)


@mechanism(
    PureDP("2*hashes*log((q+(p-q)*f/2)/(p+(q-p)*f/2))"),
    any_pair(),
    finite(range(-10, 11)),
    reference=_ERLINGSSON,
    tool="DP-Sniper",
    length=1,
    right=True,
    truth=lambda n, params: _differing_bits() * _report_rate(params["f"], params["p"], params["q"]),
    pattern_epsilon=0.300063,
    pattern_pairs=((1, 0), (1, 2)),
    note="The claim is for one report with p + q = 1, not for many from the same permanent bits.",
)
def Rappor(x, rng, *, f=0.75, p=0.45, q=0.55, hashes=HASHES):
    """One-time RAPPOR, reported with a second round of noise."""
    permanent = rng.random(BITS) < np.where(bloom_bits(x), 1 - f / 2, f / 2)
    return rng.random(BITS) < np.where(permanent, q, p)
