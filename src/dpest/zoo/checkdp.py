"""CheckDP's mechanisms and their wrong variants."""

# mypy: disallow-untyped-defs=False
# (written as users write them)
from __future__ import annotations

from dpest import PureDP, l1, linf, mechanism, monotone, reals
from dpest.zoo import truths
from dpest.zoo.sparse_vector import sparse_vector

_WANG = "Wang, Ding, Kifer and Zhang, CCS 2020 (CheckDP)"


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference=_WANG,
    tool="CheckDP",
    length=5,
    right=True,
    truth=truths.sparse_vector(1 / 2, lambda c: 1 / (4 * c)),
    note="At cutoff 2 the worst case is 5/8·eps at n = 5 and eps from n = 8 on.",
)
def CheckDP_SVT(queries, rng, *, eps=1.0, threshold=0, cutoff=2):
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
    monotone(),
    reals(5),
    reference=_WANG,
    tool="CheckDP",
    length=5,
    right=True,
    truth=truths.sparse_vector(1 / 2, lambda c: 1 / (2 * c), widest=1.0),
    note="Half the query noise is enough when all queries move the same way.",
)
def MonotoneSVT(queries, rng, *, eps=1.0, threshold=0, cutoff=1):
    """For monotone queries."""
    return sparse_vector(
        queries,
        rng,
        threshold=threshold,
        threshold_scale=2 / eps,
        query_scale=2 * cutoff / eps,
        cutoff=cutoff,
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference=_WANG,
    tool="CheckDP",
    length=5,
    right=True,
    truth=truths.sparse_vector(1 / 2, lambda c: 1 / (4 * c)),
    note="The gap to the noisy threshold is free: the same ε as SVT without it.",
)
def GapSVT(queries, rng, *, eps=1.0, threshold=0, cutoff=1):
    """A hit releases its gap to the noisy threshold."""
    return sparse_vector(
        queries,
        rng,
        threshold=threshold,
        threshold_scale=2 / eps,
        query_scale=4 * cutoff / eps,
        cutoff=cutoff,
        release="gap",
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference=_WANG,
    tool="CheckDP",
    length=5,
    right=False,
    wrong_from=5,
    truth=truths.value_releasing_sparse_vector(lambda c: 1 / (4 * c)),
    note="Wrong: ε = n·eps/(4c), above the claim only for n > 4c. A check at small n passes it.",
)
def GapSVT_wrong(queries, rng, *, eps=1.0, threshold=0, cutoff=1):
    """A hit releases the noisy query instead of the gap."""
    return sparse_vector(
        queries,
        rng,
        threshold=threshold,
        threshold_scale=2 / eps,
        query_scale=4 * cutoff / eps,
        cutoff=cutoff,
        release="value",
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference=_WANG,
    tool="CheckDP",
    length=5,
    right=True,
    truth=truths.sparse_vector(1 / 3, lambda c: 1 / (6 * c), hit_cost=lambda c: 1 / (3 * c)),
)
def NumSVT(queries, rng, *, eps=1.0, threshold=0, cutoff=1):
    """A hit releases the query with fresh noise."""
    return sparse_vector(
        queries,
        rng,
        threshold=threshold,
        threshold_scale=3 / eps,
        query_scale=6 * cutoff / eps,
        cutoff=cutoff,
        release="fresh",
        fresh_scale=3 * cutoff / eps,
    )


@mechanism(
    PureDP("eps"),
    linf(),
    reals(5),
    reference=_WANG,
    tool="CheckDP",
    length=5,
    right=True,
    truth=truths.adaptive_sparse_vector(top_releases_value=False),
    note="Spends less on queries far above the threshold.",
)
def AdaptiveSVT(queries, rng, *, eps=1.0, threshold=0, cutoff=1, far=16):
    """Far above: cheap noise and cost 1; above: finer noise and cost 2, in units of eps/(4c)."""
    rho = rng.laplace(scale=2 / eps)
    answers, spent = [], 2 * cutoff
    for query in queries:
        if spent > 4 * cutoff - 2:
            break
        coarse = query + rng.laplace(scale=8 * cutoff / eps) - threshold - rho
        if coarse >= far:
            answers.append(coarse)
            spent += 1
        else:
            fine = query + rng.laplace(scale=4 * cutoff / eps) - threshold - rho
            if fine >= 0:
                answers.append(fine)
                spent += 2
            else:
                answers.append(False)
    return answers


@mechanism(
    PureDP("eps"),
    linf(),
    reals(8),
    reference=_WANG,
    tool="CheckDP",
    length=8,
    right=False,
    wrong_from=6,
    truth=truths.adaptive_sparse_vector(top_releases_value=True),
    note="Wrong from cutoff 2 on: far above, it releases the noisy query in place of the gap.",
)
def AdaptiveSVT_wrong(queries, rng, *, eps=1.0, threshold=0, cutoff=2, far=16):
    """The top branch releases the noisy query."""
    rho = rng.laplace(scale=2 / eps)
    answers, spent = [], 2 * cutoff
    for query in queries:
        if spent > 4 * cutoff - 2:
            break
        coarse = query + rng.laplace(scale=8 * cutoff / eps)
        fine = query + rng.laplace(scale=4 * cutoff / eps)
        if coarse - threshold - rho >= far:
            answers.append(fine)
            spent += 1
        elif fine - threshold - rho >= 0:
            answers.append(fine - threshold - rho)
            spent += 2
        else:
            answers.append(False)
    return answers


def smart_sum(x, rng, *, scale, block_scale, block):
    """Running sums; at the end of each block the block's own noisy sum is the new base."""
    base = running = block_sum = 0
    sums = []
    for i, value in enumerate(x):
        if (i + 1) % block == 0:
            block_noise = 0 if block_scale is None else rng.laplace(scale=block_scale)
            base = base + block_sum + value + block_noise
            running = base
            block_sum = 0
        else:
            running = running + value + rng.laplace(scale=scale)
            block_sum = block_sum + value
        sums.append(running)
    return sums


def _blocks(n, params):
    return (2 if n >= params["block"] > 1 else 1) * params["eps"]


@mechanism(
    PureDP("2*eps"),
    l1(),
    reals(6),
    reference="Chan, Shi and Song, ACM TISSEC 2011; " + _WANG,
    tool="CheckDP",
    length=6,
    right=True,
    truth=_blocks,
)
def SmartSum(x, rng, *, eps=1.0, block=3):
    """Running sums in blocks."""
    return smart_sum(x, rng, scale=1 / eps, block_scale=1 / eps, block=block)


@mechanism(
    PureDP("2*eps"),
    l1(),
    reals(6),
    reference=_WANG,
    tool="CheckDP",
    length=6,
    right=False,
    wrong_from=3,
    truth=lambda n, params: float("inf") if n >= params["block"] else params["eps"],
    note="Wrong from n = block on: the block's sum has no noise of its own: ∞.",
)
def SmartSum_wrong(x, rng, *, eps=1.0, block=3):
    """No noise at the end of a block."""
    return smart_sum(x, rng, scale=1 / eps, block_scale=None, block=block)


@mechanism(
    PureDP("eps"),
    l1(),
    reals(5),
    reference=_WANG,
    tool="CheckDP",
    length=5,
    right=True,
    truth=truths.multiple(),
)
def PartialSum(x, rng, *, eps=1.0):
    """The sum of all."""
    total = 0
    for value in x:
        total = total + value
    return total + rng.laplace(scale=1 / eps)


@mechanism(
    PureDP("eps"),
    l1(),
    reals(5),
    reference=_WANG,
    tool="CheckDP",
    length=5,
    right=False,
    wrong_from=1,
    truth=truths.multiple(2),
    note="Wrong: half the noise that is needed.",
)
def PartialSum_wrong(x, rng, *, eps=1.0):
    """The sum of all, with too little noise."""
    total = 0
    for value in x:
        total = total + value
    return total + rng.laplace(scale=1 / (2 * eps))
