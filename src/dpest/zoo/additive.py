"""Noise added to numbers and histograms."""

# mypy: disallow-untyped-defs=False
# (written as users write them)
from __future__ import annotations

import math

import numpy as np

from dpest import ZCDP, ApproxDP, PureDP, integers, l1, linf, mechanism, reals
from dpest.noise import discrete_gaussian, discrete_laplace
from dpest.zoo import truths

_SNIPER = "Bichsel, Steffen, Bogunovic and Vechev, S&P 2021 (DP-Sniper)"


@mechanism(
    PureDP("eps"),
    l1(),
    reals(1),
    reference="Dwork, McSherry, Nissim and Smith, TCC 2006",
    tool="DP-Sniper",
    length=1,
    right=True,
    truth=truths.multiple(),
    pattern_epsilon=0.1,
    note="In floating point the naive sampler leaks more: DP-Sniper shows 0.2521.",
)
def LaplaceMechanism(x, rng, *, eps=0.1):
    """A number with Laplace noise."""
    return x[0] + rng.laplace(scale=1 / eps)


@mechanism(
    PureDP("eps"),
    l1(),
    reals(1),
    reference=_SNIPER,
    tool="DP-Sniper",
    length=1,
    right=True,
    truth=truths.multiple(),
    pattern_epsilon=0.1,
)
def LaplaceParallel(x, rng, *, eps=0.1, copies=20):
    """The same number many times, each with its own noise and its share of eps."""
    return x[0] + rng.laplace(scale=copies / eps, size=copies)


@mechanism(
    PureDP("eps"),
    l1(),
    reals(1),
    reference="Mironov, CCS 2012",
    tool="DP-Sniper",
    length=1,
    right=True,
    truth=lambda n, params: params["eps"] / (1 + params["bound"] * 2.0**-49),
    floating_point=True,
    note="Made for floating point, where it keeps its claim and the naive sampler doesn't.",
)
def SnappingLaplace(x, rng, *, eps=0.1, bound=100.0):
    """Mironov's snapping mechanism: Laplace noise, rounded to a power of two and clamped."""
    scale = (1 + bound * 2.0**-49) / eps
    grain = 2.0 ** math.ceil(math.log2(scale))
    sign = 1 if rng.random() < 0.5 else -1
    noisy = min(max(x[0], -bound), bound) + sign * scale * np.log(rng.random())
    return min(max(grain * np.round(noisy / grain), -bound), bound)


def _geometric_truth(n, params):
    return math.log1p(2.0 ** -math.ceil(math.log(2 / params["eps"])))


@mechanism(
    PureDP("eps"),
    l1(),
    integers(1, 0, 5),
    reference="Balcer and Vadhan, ITCS 2018 (GeoSample)",
    tool="DP-Sniper",
    length=1,
    right=False,
    wrong_from=1,
    truth=_geometric_truth,
    pattern_epsilon=math.log(9 / 8),
    note="Wrong as DP-Sniper ran it: k takes the natural logarithm. ε = ln(1 + 2^-k) = ln(9/8).",
)
def TruncatedGeometric(x, rng, *, eps=0.1, n=5):
    """A count between 0 and n with two-sided geometric noise, by whole numbers only."""
    c = x[0]
    k = math.ceil(math.log(2 / eps))
    d = (2 ** (k + 1) + 1) * (2**k + 1) ** (n - 1)
    u = rng.integers(1, d, endpoint=True)
    for z in range(n):
        if z < c:
            below = 2 ** (k * (c - z)) * (2**k + 1) ** (n - c + z)
        else:
            below = d - 2 ** (k * (z - c + 1)) * (2**k + 1) ** (n - 1 - z + c)
        if u <= below:
            return z
    return n


@mechanism(
    PureDP("eps"),
    l1(),
    integers(5, 0, 10),
    reference="Dwork, McSherry, Nissim and Smith, TCC 2006; " + _SNIPER,
    tool="DP-Sniper",
    length=5,
    right=True,
    truth=truths.multiple(),
    pattern_epsilon=0.1,
)
def NoisyHist1(counts, rng, *, eps=0.1):
    """A histogram with Laplace noise of scale 1/eps."""
    return np.asarray(counts) + rng.laplace(scale=1 / eps, size=len(counts))


@mechanism(
    PureDP("eps"),
    l1(),
    integers(5, 0, 10),
    reference=_SNIPER,
    tool="DP-Sniper",
    length=5,
    right=False,
    wrong_from=1,
    truth=lambda n, params: 1 / params["eps"],
    pattern_epsilon=10.0,
    note="Wrong for eps < 1: the scale is eps in place of 1/eps. DP-Sniper with c = 0.01 can show "
    "no more than ln 100.",
)
def NoisyHist2(counts, rng, *, eps=0.1):
    """A histogram with Laplace noise of scale eps."""
    return np.asarray(counts) + rng.laplace(scale=eps, size=len(counts))


def prefix_sums(x, rng, eps):
    return np.cumsum(np.asarray(x) + rng.laplace(scale=1 / eps, size=len(x)))


@mechanism(
    PureDP("eps"),
    linf(),
    reals(10),
    reference=_SNIPER,
    tool="DP-Sniper",
    length=10,
    right=False,
    wrong_from=2,
    truth=truths.per_entry(1),
    pattern_epsilon=1.0,
    note="ε = n·eps under L∞ (as everyone tests it), eps under L1 (as the claim means it). Not ∞, "
    "as the rule of exclusive bins says.",
)
def PrefixSum(x, rng, *, eps=0.1):
    """Running sums of noisy entries."""
    return prefix_sums(x, rng, eps)


@mechanism(
    PureDP("eps"),
    l1(),
    reals(10),
    reference="Boosting of running sums; under L1, where its claim belongs",
    tool="textbook",
    length=10,
    right=True,
    truth=truths.multiple(),
)
def PrefixSum_L1(x, rng, *, eps=0.1):
    """Running sums of noisy entries, one of which may differ."""
    return prefix_sums(x, rng, eps)


@mechanism(
    ZCDP("rho"),
    l1(),
    reals(1),
    reference="Bun and Steinke, TCC 2016",
    tool="textbook",
    length=1,
    right=True,
    truth=lambda n, params: params["rho"],
    note="Its pure ε is ∞: the log-ratio has no bound in the tails.",
)
def GaussianMechanism(x, rng, *, rho=0.05):
    """A number with Gaussian noise."""
    return x[0] + rng.normal(scale=np.sqrt(1 / (2 * rho)))


def _classic_sigma(eps, delta):
    return math.sqrt(2 * math.log(1.25 / delta)) / eps


@mechanism(
    ApproxDP("eps", "delta"),
    l1(),
    reals(1),
    reference="Dwork and Roth, 2014, theorem A.1",
    tool="textbook",
    length=1,
    right=True,
    truth=lambda n, params: truths.gaussian_epsilon(
        _classic_sigma(params["eps"], params["delta"]), params["delta"]
    ),
    note="More noise than is needed, and right only for eps < 1 (Balle and Wang, 2018).",
)
def ClassicGaussian(x, rng, *, eps=0.5, delta=1e-5):
    """Gaussian noise with the textbook's standard deviation."""
    return x[0] + rng.normal(scale=_classic_sigma(eps, delta))


@mechanism(
    ZCDP("rho"),
    l1(),
    integers(1),
    reference="Canonne, Kamath and Steinke, NeurIPS 2020",
    tool="textbook",
    length=1,
    right=True,
    truth=lambda n, params: params["rho"],
)
def DiscreteGaussianMechanism(x, rng, *, rho=0.05):
    """A count with discrete Gaussian noise."""
    return x[0] + discrete_gaussian(rng, math.sqrt(1 / (2 * rho)))


@mechanism(
    PureDP("eps"),
    l1(),
    integers(1),
    reference="Ghosh, Roughgarden and Sundararajan, STOC 2009",
    tool="textbook",
    length=1,
    right=True,
    truth=truths.multiple(),
)
def DiscreteLaplaceMechanism(x, rng, *, eps=0.5):
    """A count with discrete Laplace noise."""
    return x[0] + discrete_laplace(rng, 1 / eps)


@mechanism(
    PureDP("eps"),
    l1(),
    integers(1),
    reference="Ghosh, Roughgarden and Sundararajan, STOC 2009",
    tool="textbook",
    length=1,
    right=True,
    truth=truths.multiple(),
    note="The same distribution as DiscreteLaplaceMechanism, with NumPy alone.",
)
def GeometricMechanism(x, rng, *, eps=0.5):
    """A count with the difference of two geometric draws."""
    p = 1 - math.exp(-eps)
    return x[0] + rng.geometric(p) - rng.geometric(p)
