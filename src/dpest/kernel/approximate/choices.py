"""Choices between public candidates as steps: the exponential mechanism and noisy maxima.

**Lemma (weights).** Let i be chosen with chance wᵢ/Σw, wᵢ = cᵢ·exp(uᵢ), cᵢ public. On a neighbour
let uᵢ be uᵢ + dᵢ. Then wᵢ changes by the factor exp(dᵢ) and Σw by at most exp(max d), at least
exp(min d), so that the log-ratio of the chances of i lies within ±(max d − min d), and with i fixed
within ±max over j ≠ i of |dⱼ − dᵢ|. The choice is max over i ≠ j of (dᵢ − dⱼ)-private.

**Lemma (races).** Let the candidate with the largest uᵢ + Xᵢ be chosen, X independent draws of one
noise of scale 1 with P(X ≥ t + s) ≥ e^(−s)·P(X ≥ t) for s ≥ 0: Laplace, exponential and Gumbel
noise have it (the logarithm of the survival function has a slope of at least −1; for Gumbel noise,
P(X ≥ t) = 1 − exp(−e^(−t)), by 1 − e^(−y/c) ≥ (1 − e^(−y))/c for c ≥ 1). Fix the draws of all
others: i is chosen if Xᵢ is at least max over j ≠ i of (uⱼ + Xⱼ) − uᵢ, which grows by at most max
over j ≠ i of (dⱼ − dᵢ). So the chance of i falls by at most that factor: the same bound. Ties have
chance 0. The draws may be used for nothing else.

**Permute and flip.** Candidates in a random order, the first of which is chosen whose coin of
chance exp(uᵢ − max u) shows heads: that is the race of u with exponential noise of scale 1 (Ding et
al. 2021), of which nothing but the winner is told. It stands in a certificate as weights do.

**Lemma (points).** Let a point t of an interval be drawn with a density proportional to
exp(u(t)). On a neighbour let u(t) be u(t) + d(t), where every d(t) lies in [a, b]. Then exp(u(t))
changes by a factor in [e^a, e^b], and so does its integral over the interval: the log-ratio of the
densities lies within ±(b − a). Different points may be in different cases of the record that moves
(it lies below the one and above the other), so a and b are those of all cases together.

So one draws by the gaps between sorted data: a gap with chance proportional to its length times
exp(s(i)), i its place, then a uniform point of it. The density of t is exp(s(r(t))) over its
integral, r(t) the number of records up to t. This is a sum of one record's comparison with t.

In all, what all exponents share cancels, and may be left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .terms import Range

RACING = ("laplace", "exponential", "gumbel")


def choice_cost(moved: Sequence[Range]) -> Fraction | None:
    """max over i ≠ j of (dᵢ − dⱼ), where each d lies in a range; None where it has no bound."""
    worst = Fraction(0)
    for i, (_, high) in enumerate(moved):
        for j, (low, _) in enumerate(moved):
            if i == j:
                continue
            if high is None or low is None:
                return None
            worst = max(worst, high - low)
    return worst


def point_cost(moved: Sequence[Range]) -> Fraction | None:
    """The length of the hull of the ranges of d in all cases; None where it has no bound."""
    lows, highs = [low for low, _ in moved], [high for _, high in moved]
    if any(end is None for end in (*lows, *highs)):
        return None
    bottom = min((low for low in lows if low is not None), default=Fraction(0))
    top = max((high for high in highs if high is not None), default=Fraction(0))
    return max(top - bottom, Fraction(0))
