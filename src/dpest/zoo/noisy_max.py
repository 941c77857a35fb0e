"""Report noisy max, its relatives, and the variants that say too much."""

# mypy: disallow-untyped-defs=False
# (written as users write them)
from __future__ import annotations

import numpy as np

from dpest import ZCDP, PureDP, l1, linf, mechanism, reals
from dpest.zoo import truths

_SNIPER = "Bichsel, Steffen, Bogunovic and Vechev, S&P 2021 (DP-Sniper)"


def noisy_index(scores, noise):
    """Where the largest noisy score is."""
    return np.argmax(np.asarray(scores) + noise)


def noisy_value(scores, noise):
    """The largest noisy score itself."""
    return np.max(np.asarray(scores) + noise)


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference="Dwork and Roth, 2014, claim 3.9; " + _SNIPER,
    tool="DP-Sniper",
    length=5,
    right=True,
    truth=truths.multiple(from_length=2),
    pattern_epsilon=0.0946149,
)
def ReportNoisyMax1(scores, rng, *, eps=0.1):
    """Laplace noise, the index."""
    return noisy_index(scores, rng.laplace(scale=2 / eps, size=len(scores)))


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference="Dwork and Roth, 2014; " + _SNIPER,
    tool="DP-Sniper",
    length=5,
    right=True,
    truth=truths.multiple(from_length=2),
    pattern_epsilon=0.1,
)
def ReportNoisyMax2(scores, rng, *, eps=0.1):
    """Exponential noise, the index."""
    return noisy_index(scores, rng.exponential(scale=2 / eps, size=len(scores)))


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference=_SNIPER,
    tool="DP-Sniper",
    length=5,
    right=False,
    wrong_from=3,
    truth=truths.per_entry(1 / 2),
    pattern_epsilon=0.25,
    note="Wrong: ε = n·eps/2, a limit at -∞; it grows with n.",
)
def ReportNoisyMax3(scores, rng, *, eps=0.1):
    """Laplace noise, the value."""
    return noisy_value(scores, rng.laplace(scale=2 / eps, size=len(scores)))


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference=_SNIPER,
    tool="DP-Sniper",
    length=5,
    right=False,
    wrong_from=1,
    truth=truths.infinite(),
    pattern_epsilon=float("inf"),
    note="Wrong: the value is at least the largest score, so that the supports differ: ∞.",
)
def ReportNoisyMax4(scores, rng, *, eps=0.1):
    """Exponential noise, the value."""
    return noisy_value(scores, rng.exponential(scale=2 / eps, size=len(scores)))


@mechanism(
    PureDP("eps"),
    linf(),
    reals(20),
    reference="the older dpest's benchmark",
    tool="dpest",
    length=20,
    right=False,
    wrong_from=2,
    truth=lambda n, params: 2 * (n // 2) * params["eps"] if n >= 2 else None,
    note="Wrong: ε = 2⌊n/2⌋·eps, a limit at -∞ (the maxima far below all scores).",
)
def NoisyMaxSum(scores, rng, *, eps=0.1):
    """The largest noisy scores of the two halves, added."""
    scores = np.asarray(scores)
    half = len(scores) // 2
    first = noisy_value(scores[:half], rng.laplace(scale=1 / eps, size=half))
    second = noisy_value(scores[half:], rng.laplace(scale=1 / eps, size=len(scores) - half))
    return first + second


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference="McSherry and Talwar, FOCS 2007, with Gumbel noise",
    tool="textbook",
    length=5,
    right=True,
    truth=truths.multiple(from_length=2),
    note="The exponential mechanism: P(i) is proportional to exp(eps·score/2).",
)
def GumbelMax(scores, rng, *, eps=1.0):
    """The exponential mechanism by Gumbel noise."""
    return noisy_index(scores, rng.gumbel(scale=2 / eps, size=len(scores)))


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference="McSherry and Talwar, FOCS 2007",
    tool="textbook",
    length=5,
    right=True,
    truth=truths.multiple(from_length=2),
    note="The same distribution as GumbelMax.",
)
def ExponentialMechanism(scores, rng, *, eps=1.0):
    """The exponential mechanism by its probabilities."""
    weights = np.exp(eps / 2 * (np.asarray(scores) - np.max(scores)))
    return rng.choice(len(scores), p=weights / np.sum(weights))


@mechanism(
    PureDP("eps"),
    linf(),
    reals(4),
    reference="McKenna and Sheldon, NeurIPS 2020",
    tool="textbook",
    length=4,
    right=True,
    truth=truths.multiple(from_length=2),
    note="The same distribution as noisy max with exponential noise.",
)
def PermuteAndFlip(scores, rng, *, eps=1.0):
    """In random order, flip a coin for each candidate until one comes up."""
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


@mechanism(
    PureDP("eps"),
    linf(),
    reals(4),
    reference="Ding, Wang, Zhang and Kifer, VLDB 2019 (free gap)",
    tool="textbook",
    length=4,
    right=True,
    truth=truths.multiple(from_length=2),
    note="The gap is free; a proof needs shifts that depend on the noise.",
)
def NoisyMaxGap(scores, rng, *, eps=1.0):
    """The index of the largest noisy score and its gap to the second."""
    noisy = np.asarray(scores) + rng.laplace(scale=2 / eps, size=len(scores))
    ordered = np.sort(noisy)
    return np.argmax(noisy), ordered[-1] - ordered[-2]


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference="Ding, Wang, Zhang and Kifer, VLDB 2019",
    tool="textbook",
    length=5,
    right=True,
    truth=lambda n, params: params["eps"] if n >= 2 * params["k"] else None,
)
def TopK(scores, rng, *, eps=1.0, k=2):
    """The indices of the k largest noisy scores, largest first."""
    noisy = np.asarray(scores) + rng.laplace(scale=2 * k / eps, size=len(scores))
    return np.argsort(-noisy)[:k]


@mechanism(
    ZCDP("rho"),
    l1(),
    reals(4),
    reference="post-processing of the Gaussian mechanism (Bun and Steinke, TCC 2016)",
    tool="textbook",
    length=4,
    right=True,
    truth=None,
    note="rho is an upper bound; what the index alone leaks is less.",
)
def GaussianNoisyMax(scores, rng, *, rho=0.05):
    """The index of the largest score with Gaussian noise."""
    return noisy_index(scores, rng.normal(scale=np.sqrt(1 / (2 * rho)), size=len(scores)))


@mechanism(
    PureDP("eps"),
    linf(),
    reals(4),
    reference="folklore",
    tool="textbook",
    length=4,
    right=False,
    wrong_from=2,
    truth=truths.infinite(2),
    note="Wrong: Gaussian tails have no pure ε. Finite for each pair of inputs, without bound over "
    "all of them.",
)
def GaussianNoisyMax_wrong(scores, rng, *, eps=1.0):
    """Gaussian noise where Laplace noise was meant."""
    return noisy_index(scores, rng.normal(scale=2 / eps, size=len(scores)))
