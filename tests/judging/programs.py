"""Programs of the literature on apRHL, as people write them."""

from __future__ import annotations


def laplace(x, rng, *, eps=1.0):
    return x + rng.laplace(scale=1 / eps)


def gaussian(x, rng, *, sigma=2.0):
    return rng.normal(x, sigma)


def twice(x, rng, *, eps=1.0):
    first = x + rng.laplace(scale=2 / eps)
    second = x + rng.laplace(scale=2 / eps)
    return [first, second]


def clipped(x, rng, *, eps=1.0):
    noisy = x + rng.laplace(scale=1 / eps)
    if noisy < 0:
        return 0.0
    if noisy > 10:
        return 10.0
    return noisy


def above_zero(x, rng, *, eps=1.0):
    noisy = x + rng.laplace(scale=1 / eps)
    return noisy > 0


def branches(x, rng, *, eps=1.0):
    """A conditional on a public, noisy value."""
    noisy = x + rng.laplace(scale=2 / eps)
    if noisy > 0:
        answer = noisy + x + rng.laplace(scale=2 / eps)
    else:
        answer = x + rng.laplace(scale=2 / eps)
    return answer


def sum_then_noise(q, rng, *, eps=1.0):
    return sum(q) + rng.laplace(scale=1 / eps)


def noise_then_sum(q, rng, *, eps=1.0):
    total = 0.0
    for value in q:
        total = total + value + rng.laplace(scale=1 / eps)
    return total


def noisy_max(q, rng, *, eps=1.0):
    best, arg = 0.0, 0
    for i, value in enumerate(q):
        noisy = value + rng.laplace(scale=2 / eps)
        if i == 0 or noisy > best:
            best = noisy
            arg = i
    return arg


def above_threshold(q, rng, *, eps=1.0, threshold=0.0):
    bar = threshold + rng.laplace(scale=2 / eps)
    for i, value in enumerate(q):
        noisy = value + rng.laplace(scale=4 / eps)
        if noisy >= bar:
            return i
    return len(q)


def no_query_noise(q, rng, *, eps=1.0, threshold=0.0):
    """Stoddard and others, 2014: the queries get no noise, and nothing stops."""
    bar = threshold + rng.laplace(scale=2 / eps)
    out = []
    for value in q:
        out.append(value >= bar)
    return out


def randomized_response(bit, rng, *, keep=0.75):
    if rng.random() < keep:
        return bit
    return 1 - bit


def counted(x, rng, *, eps=1.0, rounds=3):
    """A loop: three noisy copies, added up."""
    i = 0
    total = 0.0
    while i < rounds:
        noisy = x + rng.laplace(scale=rounds / eps)
        total = total + noisy
        i = i + 1
    return total


def no_noise(x, rng):
    return x


def exponential_noise(x, rng, *, eps=1.0):
    return x + rng.exponential(scale=1 / eps)


def shifted_laplace(x, rng, *, eps=1.0):
    return x + 5 + rng.laplace(scale=1 / eps)
