"""Small mechanisms as people write them, each with a pair of inputs and ε in closed form.

`want` comes from a formula or from an independent quadrature, never from dpest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import integrate, stats

LAPLACE = stats.laplace


@dataclass(frozen=True)
class Case:
    f: Callable[..., Any]
    x: Any
    x2: Any
    want: float
    adjacency: str | None = None  # under which a bound is to be proved for all inputs
    batch: bool = True

    def __str__(self) -> str:
        return self.f.__name__


def _piecewise(function, kinks, reach):
    points = sorted({-reach, reach, *kinks})
    return sum(
        integrate.quad(function, a, b, epsabs=0, epsrel=1e-12, limit=300)[0]
        for a, b in itertools.pairwise(points)
    )


def _largest(p, q):
    return max(abs(math.log(a / b)) for a, b in zip(p, q, strict=True))


def first_above(queries, threshold):
    """P(the first query above is k) for k = 0, …, n, with Laplace(2) and Laplace(4)."""

    def chance(k):
        def joint(r):
            value = LAPLACE.pdf(r, scale=2)
            for q in queries[:k]:
                value *= LAPLACE.cdf(threshold + r - q, scale=4)
            for q in queries[k : k + 1]:
                value *= LAPLACE.sf(threshold + r - q, scale=4)
            return value

        return _piecewise(joint, [0, *(q - threshold for q in queries)], 200)

    return [chance(k) for k in range(len(queries) + 1)]


def winner(scores):
    """P(the noisy maximum is i), with Laplace(2)."""

    def chance(i):
        def joint(z):
            others = [LAPLACE.cdf(z - s, scale=2) for k, s in enumerate(scores) if k != i]
            return LAPLACE.pdf(z - scores[i], scale=2) * math.prod(others)

        return _piecewise(joint, scores, 160)

    return [chance(i) for i in range(len(scores))]


def above_zero(value):
    return 1 - math.exp(-value) / 2 if value >= 0 else math.exp(value) / 2


QUERIES, QUERIES2 = [0, 1, 0], [1, 0, 1]
SVT = _largest(first_above(QUERIES, 0.3), first_above(QUERIES2, 0.3))
SCORES, SCORES2 = [0, 0.5, -1], [1, -0.5, 0]
MAX = _largest(winner(SCORES), winner(SCORES2))


# additive noise


def vectorised(x, rng, eps=1.0):
    return np.asarray(x) + rng.laplace(scale=1 / eps, size=len(x))


def comprehension(x, rng, eps=1.0):
    return [v + rng.laplace(0, 1 / eps) for v in x]


def as_location(x, rng, eps=1.0):
    return tuple(rng.laplace(v, 1 / eps) for v in x)


def as_dict(x, rng, eps=1.0):
    return {f"q{i}": v + rng.laplace(scale=1 / eps) for i, v in enumerate(x)}


def prefix_sums(x, rng, eps=1.0):
    total, out = 0, []
    for v in x:
        total = total + v + rng.laplace(scale=1 / eps)
        out.append(total)
    return out


def two_exponentials(x, rng, eps=1.0):
    return x[0] + rng.exponential(1 / eps) - rng.exponential(1 / eps)


def random_sign(x, rng, eps=1.0):
    sign = 1 if rng.random() < 0.5 else -1
    return x[0] + sign * rng.exponential(1 / eps)


def sum_of_two(x, rng, eps=1.0):
    return x[0] + rng.laplace(scale=1 / eps) + rng.laplace(scale=1 / eps)


def noisy_difference(x, rng, eps=1.0):
    a, b = x[0] + rng.laplace(scale=1 / eps), x[1] + rng.laplace(scale=1 / eps)
    return a - b


def reused_noise(x, rng, eps=1.0):
    n = rng.laplace(scale=1 / eps)
    return x[0] + n, x[1] + n


def cancelled_noise(x, rng, eps=1.0):
    n = rng.laplace(scale=1 / eps)
    return x[0] + n - n


def clipped_data(x, rng, eps=1.0):
    return sum(min(max(v, 0), 1) for v in x) + rng.laplace(scale=1 / eps)


def clipped_output(x, rng, eps=1.0):
    return np.clip(x[0] + rng.laplace(scale=1 / eps), 0, 1)


def absolute(x, rng, eps=1.0):
    return abs(x[0] + rng.laplace(scale=1 / eps))


def censored(x, rng, eps=1.0):
    n = x[0] + rng.laplace(scale=1 / eps)
    return n if n > 2 else None


def sorted_release(x, rng, eps=1.0):
    return sorted(v + rng.laplace(scale=1 / eps) for v in x)


def scale_from_release(x, rng, eps=1.0):
    a = x[0] + rng.laplace(scale=1 / eps)
    return a, x[0] + rng.laplace(scale=(2 if a > 0 else 1) / eps)


def common_atom(x, rng, eps=1.0):
    return 0.0 if rng.random() < 0.5 else x[0] + rng.laplace(scale=1 / eps)


def private_atom(x, rng, eps=1.0):
    return x[0] if rng.random() < 0.5 else x[0] + rng.laplace(scale=1 / eps)


def gaussian(x, rng, eps=1.0):
    return x[0] + rng.normal()


def gaussian_threshold(x, rng, eps=1.0):
    return x[0] + rng.normal() > 30


def one_sided(x, rng, eps=1.0):
    return x[0] + rng.exponential(1 / eps)


def bounded_noise(x, rng, eps=1.0):
    return x[0] + rng.uniform(-2, 2)


def three_tries(x, rng, eps=1.0):
    for _ in range(3):
        n = x[0] + rng.laplace(scale=1 / eps)
        if n > 0:
            return n
    return None


# sparse vector


def svt_while(x, rng, eps=1.0, t=0.3):
    noisy, i = t + rng.laplace(scale=2 / eps), 0
    while i < len(x):
        if x[i] + rng.laplace(scale=4 / eps) >= noisy:
            return i
        i += 1
    return None


def svt_vectorised(x, rng, eps=1.0, t=0.3):
    noisy = t + rng.laplace(scale=2 / eps)
    above = np.asarray(x) + rng.laplace(scale=4 / eps, size=len(x)) >= noisy
    return int(np.argmax(above)) if above.any() else -1


def svt_generator(x, rng, eps=1.0, t=0.3):
    noisy = t + rng.laplace(scale=2 / eps)
    return next((i for i, v in enumerate(x) if v + rng.laplace(scale=4 / eps) >= noisy), "none")


def svt_recursive(x, rng, eps=1.0, t=0.3):
    noisy = t + rng.laplace(scale=2 / eps)

    def rest(i):
        if i == len(x):
            return ()
        if x[i] + rng.laplace(scale=4 / eps) >= noisy:
            return (True,)
        return (False, *rest(i + 1))

    return rest(0)


# noisy maximum


def max_argmax(x, rng, eps=1.0):
    return np.argmax(np.asarray(x) + rng.laplace(scale=2 / eps, size=len(x)))


def max_running(x, rng, eps=1.0):
    best, at = -math.inf, None
    for i, v in enumerate(x):
        n = v + rng.laplace(scale=2 / eps)
        if n > best:
            best, at = n, i
    return at


def max_index(x, rng, eps=1.0):
    noisy = [v + rng.laplace(scale=2 / eps) for v in x]
    return noisy.index(max(noisy))


def max_tuples(x, rng, eps=1.0):
    return max((v + rng.laplace(scale=2 / eps), i) for i, v in enumerate(x))[1]


def max_dict(x, rng, eps=1.0):
    noisy = {k: v + rng.laplace(scale=2 / eps) for k, v in zip("abcdef", x, strict=False)}
    return max(noisy, key=noisy.get)


def max_argsort(x, rng, eps=1.0):
    return np.argsort(-(np.array(x) + rng.laplace(scale=2 / eps, size=len(x))))[0]


def max_value(x, rng, eps=1.0):
    return max(v + rng.laplace(scale=2 / eps) for v in x)


def max_gumbel(x, rng, eps=1.0):
    return int(np.argmax(np.asarray(x) + rng.gumbel(scale=2 / eps, size=len(x))))


def exponential_mechanism(x, rng, eps=1.0):
    weights = np.exp(eps * np.asarray(x) / 2)
    return rng.choice(len(x), p=weights / weights.sum())


# counts, finite outputs, subsampling


def counted_bools(x, rng, eps=1.0):
    return sum(v + rng.laplace(scale=1 / eps) > 0 for v in x)


def randomised_response(x, rng, p=0.75):
    return "yes" if (rng.random() < p) == (x[0] > 0) else "no"


def two_geometrics(x, rng, eps=1.0):
    q = 1 - math.exp(-eps)
    return x[0] + rng.geometric(q) - rng.geometric(q)


def one_geometric(x, rng, eps=1.0):
    return x[0] + rng.geometric(0.3)


def subsampled(x, rng, eps=1.0):
    return x[rng.integers(len(x))] + rng.laplace(scale=1 / eps)


def shuffled(x, rng, eps=1.0):
    return [v + rng.laplace(scale=1 / eps) for v in rng.permutation(x)]


def records(x, rng, eps=1.0):
    return sum(r["age"] > 30 for r in x) + rng.laplace(scale=1 / eps)


def far_threshold(x, rng, eps=1.0):
    return x[0] + rng.laplace(scale=1 / eps) > 1e4


def nearly_singular(x, rng, eps=1.0):
    a, b = rng.laplace(), rng.laplace()
    return x[0] + a + b, x[1] + a + 1.001 * b


def _gaussian_tail():
    return float(stats.norm.logsf(29) - stats.norm.logsf(30))


def _gumbel():
    return _largest(
        *[np.exp(np.array(s) / 2) / np.exp(np.array(s) / 2).sum() for s in (SCORES, SCORES2)]
    )


def _tries():
    below = [1 - above_zero(v) for v in (0, 1)]
    total = [1 + b + b * b for b in below]
    change = math.log(total[1] / total[0])
    return max(abs(change + 1), abs(change - 1), 3 * math.log(below[0] / below[1]))


def _subsampled():
    y = np.linspace(-30, 30, 600_001)
    p, q = (np.mean([np.exp(-abs(y - v)) for v in x], axis=0) for x in ([0, 0, 1], [0, 0, 3]))
    return float(np.max(np.abs(np.log(p / q))))


def _counted():
    def chances(a, b):
        a, b = above_zero(a), above_zero(b)
        return [(1 - a) * (1 - b), a + b - 2 * a * b, a * b]

    return _largest(chances(-2, -1), chances(-1, 0))


INF = math.inf
CASES = [
    Case(vectorised, [0, 0], [1, 0.5], 1.5, "linf"),
    Case(comprehension, [0, 0], [1, -0.5], 1.5, "linf"),
    Case(as_location, [3, -2], [2.5, -2], 0.5, "l1"),
    Case(as_dict, [0, 0], [1, 1], 2.0, "linf"),
    Case(prefix_sums, [0, 0, 0], [1, 1, 1], 3.0, "linf"),
    Case(two_exponentials, [0], [1], 1.0, "linf"),
    Case(random_sign, [0], [1], 1.0),
    Case(sum_of_two, [0], [1], 1.0, "linf"),
    Case(noisy_difference, [0, 0], [1, 0], 1.0, "l1"),
    Case(reused_noise, [0, 0], [1, 1], 1.0),
    Case(reused_noise, [0, 0], [1, 0], INF),
    Case(cancelled_noise, [0], [1], INF),
    Case(clipped_data, [5, -3, 0.5], [0.2, -3, 0.5], 0.8, "l1"),
    Case(clipped_output, [0], [1], 1.0, "linf"),
    Case(absolute, [0.5], [1.5], 1.0, "linf"),
    Case(censored, [0], [1], 1.0, "linf"),
    Case(sorted_release, [0, 0], [1, 0], 1.0, "l1"),
    Case(scale_from_release, [0], [1], 2.0, "linf"),
    Case(common_atom, [0], [1], 1.0, "linf"),
    Case(private_atom, [0], [1], INF),
    Case(gaussian, [0], [1], INF),
    Case(gaussian_threshold, [0], [1], _gaussian_tail()),
    Case(one_sided, [0], [1], INF),
    Case(bounded_noise, [0], [1], INF),
    Case(bounded_noise, [0.5], [0.5], 0.0),
    Case(three_tries, [0], [1], _tries(), "linf"),
    *[
        Case(f, QUERIES, QUERIES2, SVT, "linf")
        for f in (svt_while, svt_vectorised, svt_generator, svt_recursive)
    ],
    *[
        Case(f, SCORES, SCORES2, MAX, "linf")
        for f in (max_argmax, max_running, max_index, max_tuples, max_dict, max_argsort)
    ],
    Case(max_value, [0, 0, 0], [1, 1, 1], 1.5, "linf"),
    Case(max_gumbel, SCORES, SCORES2, _gumbel(), "linf"),
    Case(exponential_mechanism, SCORES, SCORES2, _gumbel()),
    Case(counted_bools, [-2, -1], [-1, 0], _counted(), "linf"),
    Case(randomised_response, [0], [1], math.log(3)),
    Case(two_geometrics, [3], [4], 1.0),
    Case(one_geometric, [3], [4], INF),
    Case(subsampled, [0, 0, 1], [0, 0, 3], _subsampled()),
    Case(shuffled, [0, 0], [1, 0], 1.0),
    Case(records, [{"age": 20}, {"age": 40}], [{"age": 35}, {"age": 40}], 1.0),
    Case(far_threshold, [0], [1], 1.0, "linf"),
    Case(nearly_singular, [0, 0], [1, 0], 2001.0),
]
