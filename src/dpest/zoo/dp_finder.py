"""DP-Finder's nine: threshold 0, answers of full length, eps 0.1, n = 4."""

# mypy: disallow-untyped-defs=False
# (written as users write them)
from __future__ import annotations

from dpest import PureDP, add_remove_one, linf, mechanism, reals
from dpest.zoo import truths
from dpest.zoo.noisy_max import noisy_index
from dpest.zoo.sparse_vector import sparse_vector

_BICHSEL = "Bichsel, Gehr, Drachsler-Cohen, Tsankov and Vechev, CCS 2018 (DP-Finder)"


@mechanism(
    PureDP("eps"),
    linf(),
    reals(4),
    reference=_BICHSEL,
    tool="DP-Finder",
    length=4,
    right=False,
    wrong_from=3,
    truth=truths.sparse_vector(1 / 2, lambda c: 1 / 2, cutoff=None),
    note="Wrong for n ≥ 3: ε = n·eps/2 = 0.2 at n = 4. The paper bounds it by 0.45.",
)
def AT(queries, rng, *, eps=0.1, threshold=0):
    """Above threshold without a cutoff."""
    return sparse_vector(
        queries, rng, threshold=threshold, threshold_scale=2 / eps, query_scale=2 / eps
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(4),
    reference=_BICHSEL,
    tool="DP-Finder",
    length=4,
    right=True,
    truth=truths.sparse_vector(1 / 2, lambda c: 1 / (4 * c)),
)
def AT1(queries, rng, *, eps=0.1, threshold=0, cutoff=1):
    """SVT1 with answers of full length."""
    return sparse_vector(
        queries,
        rng,
        threshold=threshold,
        threshold_scale=2 / eps,
        query_scale=4 * cutoff / eps,
        cutoff=cutoff,
        after_stop=False,
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(4),
    reference=_BICHSEL,
    tool="DP-Finder",
    length=4,
    right=True,
    truth=truths.resampling_sparse_vector,
)
def AT2(queries, rng, *, eps=0.1, threshold=0, cutoff=1):
    """SVT2 with answers of full length."""
    return sparse_vector(
        queries,
        rng,
        threshold=threshold,
        threshold_scale=2 * cutoff / eps,
        query_scale=4 * cutoff / eps,
        cutoff=cutoff,
        resample=True,
        after_stop=False,
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(4),
    reference=_BICHSEL,
    tool="DP-Finder",
    length=4,
    right=False,
    wrong_from=3,
    truth=truths.value_releasing_sparse_vector(lambda c: 1 / (2 * c)),
    note="Wrong, as SVT3: 0.2 at n = 4. Its events are intervals, and -10 stands for False.",
)
def AT3(queries, rng, *, eps=0.1, threshold=0, cutoff=1):
    """SVT3 with answers of full length."""
    return sparse_vector(
        queries,
        rng,
        threshold=threshold,
        threshold_scale=2 / eps,
        query_scale=2 * cutoff / eps,
        cutoff=cutoff,
        release="value",
        below=-10,
        after_stop=0,
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(4),
    reference=_BICHSEL,
    tool="DP-Finder",
    length=4,
    right=False,
    wrong_from=2,
    truth=truths.sparse_vector(1 / 4, lambda c: 3 / 4),
    note="Wrong, as SVT4: 0.175.",
)
def AT4(queries, rng, *, eps=0.1, threshold=0, cutoff=1):
    """SVT4 with answers of full length."""
    return sparse_vector(
        queries,
        rng,
        threshold=threshold,
        threshold_scale=4 / eps,
        query_scale=4 / (3 * eps),
        cutoff=cutoff,
        after_stop=False,
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(4),
    reference=_BICHSEL,
    tool="DP-Finder",
    length=4,
    right=False,
    wrong_from=2,
    truth=truths.infinite(2, below=truths.multiple(1 / 2)),
    note="Wrong, as SVT5: ∞. It lacks only the query noise, not all noise.",
)
def AT5(queries, rng, *, eps=0.1, threshold=0):
    """SVT5 with answers of full length."""
    return sparse_vector(
        queries, rng, threshold=threshold, threshold_scale=2 / eps, query_scale=None
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(4),
    reference=_BICHSEL,
    tool="DP-Finder",
    length=4,
    right=True,
    truth=truths.multiple(from_length=2),
)
def ExpMech(scores, rng, *, eps=0.1):
    """The index of the largest score with exponential noise."""
    return noisy_index(scores, rng.exponential(scale=2 / eps, size=len(scores)))


@mechanism(
    PureDP("eps"),
    linf(),
    reals(4),
    reference=_BICHSEL,
    tool="DP-Finder",
    length=4,
    right=True,
    truth=truths.multiple(from_length=2),
)
def NoisyMax(scores, rng, *, eps=0.1):
    """The index of the largest score with Laplace noise."""
    return noisy_index(scores, rng.laplace(scale=2 / eps, size=len(scores)))


@mechanism(
    PureDP("eps"),
    add_remove_one(1),
    reals(4),
    reference=_BICHSEL,
    tool="DP-Finder",
    length=4,
    right=True,
    truth=lambda n, params: params["eps"],
    note="Neighbours: an element in [-1, 1] is appended.",
)
def Sum(x, rng, *, eps=0.1):
    """The sum with Laplace noise."""
    return sum(x) + rng.laplace(scale=1 / eps)
