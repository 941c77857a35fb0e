"""The sparse vector technique: right ones, and the wrong ones that were published.

Reference for the first six: Lyu, Su and Li, "Understanding the sparse vector technique for
differential privacy", VLDB 2017, algorithms 1 to 6, as DP-Sniper ran them.
"""

# mypy: disallow-untyped-defs=False
# (written as users write them)
from __future__ import annotations

from dpest import PureDP, linf, mechanism, reals
from dpest.zoo import truths

_LYU = "Lyu, Su and Li, VLDB 2017, algorithm {}"


def sparse_vector(
    queries,
    rng,
    *,
    threshold,
    threshold_scale,
    query_scale,
    cutoff=None,
    resample=False,
    release="answer",
    fresh_scale=None,
    below=False,
    after_stop=None,
):
    """Which queries are above a noisy threshold? Stops after `cutoff` that are.

    For each one above, `release` gives "answer" True, the tested noisy "value", its "gap" to the
    noisy threshold, or a "fresh" noisy value. `below` stands for the others. `resample` draws the
    threshold's noise anew after each one above. After the stop there is nothing, or `after_stop`.
    """
    rho = rng.laplace(scale=threshold_scale)
    answers, hits = [], 0
    for query in queries:
        if hits == cutoff:
            if after_stop is None:
                break
            answers.append(after_stop)
            continue
        noisy = query if query_scale is None else query + rng.laplace(scale=query_scale)
        if noisy >= threshold + rho:
            hits += 1
            if release == "value":
                answers.append(noisy)
            elif release == "gap":
                answers.append(noisy - threshold - rho)
            elif release == "fresh":
                answers.append(query + rng.laplace(scale=fresh_scale))
            else:
                answers.append(True)
            if resample and hits != cutoff:
                rho = rng.laplace(scale=threshold_scale)
        else:
            answers.append(below)
    return answers


@mechanism(
    PureDP("eps"),
    linf(),
    reals(10),
    reference=_LYU.format(1),
    tool="DP-Sniper",
    length=10,
    right=True,
    truth=truths.sparse_vector(1 / 2, lambda c: 1 / (4 * c)),
    pattern_epsilon=0.0885258,
    note="At cutoff 1 the claim is tight from n = 4 on.",
)
def SVT1(queries, rng, *, eps=0.1, threshold=0.5, cutoff=1):
    """One noisy threshold, noisy queries, a stop after `cutoff` hits."""
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
    reals(10),
    reference=_LYU.format(2),
    tool="DP-Sniper",
    length=10,
    right=True,
    truth=truths.resampling_sparse_vector,
    pattern_epsilon=0.0882304,
)
def SVT2(queries, rng, *, eps=0.1, threshold=1, cutoff=1):
    """The threshold's noise is drawn again after each hit."""
    return sparse_vector(
        queries,
        rng,
        threshold=threshold,
        threshold_scale=2 * cutoff / eps,
        query_scale=4 * cutoff / eps,
        cutoff=cutoff,
        resample=True,
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(10),
    reference=_LYU.format(3),
    tool="DP-Sniper",
    length=10,
    right=False,
    wrong_from=3,
    truth=truths.value_releasing_sparse_vector(lambda c: 1 / (2 * c)),
    pattern_epsilon=0.5,
    note="Wrong: releases the noisy value that was tested. ε = n·eps/(2c), a limit at -∞; the "
    "literature's ∞ means that it grows with n.",
)
def SVT3(queries, rng, *, eps=0.1, threshold=1, cutoff=1):
    """A hit releases the very value that was compared."""
    return sparse_vector(
        queries,
        rng,
        threshold=threshold,
        threshold_scale=2 / eps,
        query_scale=2 * cutoff / eps,
        cutoff=cutoff,
        release="value",
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(10),
    reference=_LYU.format(4),
    tool="DP-Sniper",
    length=10,
    right=False,
    wrong_from=2,
    truth=truths.sparse_vector(1 / 4, lambda c: 3 / 4),
    pattern_epsilon=0.1724707,
    note="Wrong: the query noise doesn't grow with the cutoff. ε = (1+6c)/4·eps for large n.",
)
def SVT4(queries, rng, *, eps=0.1, threshold=1, cutoff=1):
    """A quarter of eps for the threshold, three quarters for each query."""
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
    reals(10),
    reference=_LYU.format(5),
    tool="DP-Sniper",
    length=10,
    right=False,
    wrong_from=2,
    truth=truths.infinite(2, below=truths.multiple(1 / 2)),
    pattern_epsilon=float("inf"),
    note="Wrong: no noise on the queries (the threshold has some), so that an order of the answers "
    "can be impossible: ∞ at any n ≥ 2.",
)
def SVT5(queries, rng, *, eps=0.1, threshold=1):
    """Only the threshold is noisy, and there is no cutoff."""
    return sparse_vector(
        queries, rng, threshold=threshold, threshold_scale=2 / eps, query_scale=None
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(10),
    reference=_LYU.format(6),
    tool="DP-Sniper",
    length=10,
    right=False,
    wrong_from=3,
    truth=truths.sparse_vector(1 / 2, lambda c: 1 / 2, cutoff=None),
    pattern_epsilon=0.4200315,
    note="Wrong: no cutoff. ε = n·eps/2; the literature's ∞ means that it grows with n.",
)
def SVT6(queries, rng, *, eps=0.1, threshold=1):
    """Noise on both, but no cutoff."""
    return sparse_vector(
        queries, rng, threshold=threshold, threshold_scale=2 / eps, query_scale=2 / eps
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(10),
    reference="Dwork and Roth, 2014, algorithm 3 (NumericSparse)",
    tool="DP-Sniper",
    length=10,
    right=True,
    truth=truths.sparse_vector(1 / 3, lambda c: 1 / (6 * c), hit_cost=lambda c: 1 / (3 * c)),
    pattern_epsilon=0.0805192,
    note="Called ∞ by tools that count exclusive bins; it is below eps.",
)
def NumericalSVT(queries, rng, *, eps=0.1, threshold=1, cutoff=2):
    """A hit releases the query with fresh noise; the others release 0."""
    return sparse_vector(
        queries,
        rng,
        threshold=threshold,
        threshold_scale=3 / eps,
        query_scale=6 * cutoff / eps,
        cutoff=cutoff,
        release="fresh",
        fresh_scale=3 * cutoff / eps,
        below=0,
    )


def _side_by_side(n, params):
    return SVT3.about["truth"](n, params) + SVT4.about["truth"](n, params)


@mechanism(
    PureDP("eps"),
    linf(),
    reals(10),
    reference="Bichsel, Steffen, Bogunovic and Vechev, S&P 2021 (DP-Sniper)",
    tool="DP-Sniper",
    length=10,
    right=False,
    wrong_from=2,
    truth=_side_by_side,
    note="Wrong, as both parts are. The same direction is the worst for both, so that their worst "
    "cases add up: 0.575 at n = 10.",
)
def SVT34Parallel(queries, rng, *, eps=0.1, threshold=1, cutoff=2):
    """SVT3 and SVT4 side by side on the same queries."""
    third = SVT3(queries, rng, eps=eps, threshold=threshold, cutoff=cutoff)
    fourth = SVT4(queries, rng, eps=eps, threshold=threshold, cutoff=cutoff)
    return third, fourth
