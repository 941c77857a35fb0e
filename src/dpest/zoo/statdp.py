"""StatDP's eleven: claims of 0.2, 0.7 and 1.5, n of 5 and 10."""

# mypy: disallow-untyped-defs=False
# (written as users write them)
from __future__ import annotations

import numpy as np

from dpest import PureDP, integers, l1, linf, mechanism, reals
from dpest.zoo import truths
from dpest.zoo.noisy_max import noisy_index, noisy_value
from dpest.zoo.sparse_vector import sparse_vector

_DING = "Ding, Wang, Wang, Zhang and Kifer, CCS 2018 (StatDP)"


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference=_DING,
    tool="StatDP",
    length=5,
    right=True,
    truth=truths.multiple(from_length=2),
    note="Algorithm 5 of the paper.",
)
def StatDP_NoisyMax1a(scores, rng, *, eps=0.7):
    """Laplace noise, the index."""
    return noisy_index(scores, rng.laplace(scale=2 / eps, size=len(scores)))


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference=_DING,
    tool="StatDP",
    length=5,
    right=False,
    wrong_from=3,
    truth=truths.per_entry(1 / 2),
    note="Algorithm 6. Wrong: ε = n·eps/2, a limit at -∞.",
)
def StatDP_NoisyMax1b(scores, rng, *, eps=0.7):
    """Laplace noise, the value."""
    return noisy_value(scores, rng.laplace(scale=2 / eps, size=len(scores)))


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference=_DING,
    tool="StatDP",
    length=5,
    right=True,
    truth=truths.multiple(from_length=2),
    note="Algorithm 7.",
)
def StatDP_NoisyMax2a(scores, rng, *, eps=0.7):
    """Exponential noise, the index."""
    return noisy_index(scores, rng.exponential(scale=2 / eps, size=len(scores)))


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference=_DING,
    tool="StatDP",
    length=5,
    right=False,
    wrong_from=1,
    truth=truths.infinite(),
    note="Algorithm 8. Wrong: the value is at least the largest score; the supports differ: ∞.",
)
def StatDP_NoisyMax2b(scores, rng, *, eps=0.7):
    """Exponential noise, the value."""
    return noisy_value(scores, rng.exponential(scale=2 / eps, size=len(scores)))


@mechanism(
    PureDP("eps"),
    l1(),
    integers(5, 0, 10),
    reference=_DING,
    tool="StatDP",
    length=5,
    right=True,
    truth=truths.multiple(),
)
def StatDP_Histogram(counts, rng, *, eps=0.7):
    """Laplace noise of scale 1/eps. The tool looks at element 0 only."""
    return np.asarray(counts) + rng.laplace(scale=1 / eps, size=len(counts))


@mechanism(
    PureDP("eps"),
    l1(),
    integers(5, 0, 10),
    reference=_DING,
    tool="StatDP",
    length=5,
    right=False,
    wrong_from=1,
    truth=lambda n, params: 1 / params["eps"],
    note="Wrong for eps < 1: the scale is eps in place of 1/eps, ε = 1/eps.",
)
def StatDP_HistogramEps(counts, rng, *, eps=0.7):
    """Laplace noise of scale eps. The tool looks at element 0 only."""
    return np.asarray(counts) + rng.laplace(scale=eps, size=len(counts))


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference=_DING,
    tool="StatDP",
    length=5,
    right=True,
    truth=truths.sparse_vector(1 / 2, lambda c: 1 / (4 * c)),
)
def StatDP_SVT(queries, rng, *, eps=0.7, threshold=0.5, cutoff=1):
    """The right one."""
    return sparse_vector(
        queries,
        rng,
        threshold=threshold,
        threshold_scale=2 / eps,
        query_scale=4 * cutoff / eps,
        cutoff=cutoff,
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference=_DING,
    tool="StatDP",
    length=5,
    right=False,
    wrong_from=2,
    truth=truths.infinite(2, below=truths.multiple(1 / 2)),
    note="Wrong: no query noise (the threshold has some), no cutoff: ∞ at any n ≥ 2.",
)
def StatDP_iSVT1(queries, rng, *, eps=0.7, threshold=1):
    """No noise on the queries."""
    return sparse_vector(
        queries, rng, threshold=threshold, threshold_scale=2 / eps, query_scale=None
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference=_DING,
    tool="StatDP",
    length=5,
    right=False,
    wrong_from=3,
    truth=truths.sparse_vector(1 / 2, lambda c: 1 / 2, cutoff=None),
    note="Wrong: no cutoff. ε = n·eps/2.",
)
def StatDP_iSVT2(queries, rng, *, eps=0.7, threshold=1):
    """No cutoff."""
    return sparse_vector(
        queries, rng, threshold=threshold, threshold_scale=2 / eps, query_scale=2 / eps
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference=_DING,
    tool="StatDP",
    length=5,
    right=False,
    wrong_from=2,
    truth=truths.sparse_vector(1 / 4, lambda c: 3 / 4),
    note="Wrong: ε = (1+6N)/4·eps for large n.",
)
def StatDP_iSVT3(queries, rng, *, eps=0.7, threshold=1, cutoff=1):
    """The query noise doesn't grow with the cutoff."""
    return sparse_vector(
        queries,
        rng,
        threshold=threshold,
        threshold_scale=4 / eps,
        query_scale=4 / (3 * eps),
        cutoff=cutoff,
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference=_DING,
    tool="StatDP",
    length=5,
    right=False,
    wrong_from=3,
    truth=truths.value_releasing_sparse_vector(lambda c: 1 / (2 * c)),
    note="Wrong: releases the noisy value that was tested. ε = n·eps/(2N).",
)
def StatDP_iSVT4(queries, rng, *, eps=0.7, threshold=1, cutoff=1):
    """A hit releases the noisy value."""
    return sparse_vector(
        queries,
        rng,
        threshold=threshold,
        threshold_scale=2 / eps,
        query_scale=2 * cutoff / eps,
        cutoff=cutoff,
        release="value",
    )
