"""One mechanism, written in many ways: all of them have the ε of the plainest one.

The plainest is the first of each group; its own ε is held against formulas in `styles.py` and in
the zoo's truths. Batches are held against the exact distribution: every outcome's frequency within
6 standard deviations of 10,000 runs (false-alarm rate below 1e-6 in all).
"""

from __future__ import annotations

import functools
import heapq
import itertools
import math
import operator
from collections import Counter, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import dpest
from dpest.exact.outputs.output import output_distribution
from dpest.reading.trace import trace
from dpest.running.batch.batch import batch

RUNS = 10_000
T = 0.5
Ways = list[Callable[..., Any]]
SVT: Ways = []
MAX: Ways = []
SUMS: Ways = []
COUNT: Ways = []
BITS: Ways = []
CHOICE: Ways = []
INTEGERS: Ways = []
REAL: Ways = []
CLIPPED: Ways = []
TOP: Ways = []
MEDIAN: Ways = []


def way(ways: Ways) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        ways.append(function)
        return function

    return note


# The sparse vector technique with one hit


@way(SVT)
def svt_loop(x, rng, eps=1.0):
    rho, out = rng.laplace(scale=2 / eps), []
    for q in x:
        if q + rng.laplace(scale=4 / eps) >= T + rho:
            out.append(True)
            break
        out.append(False)
    return out


@way(SVT)
def svt_early_return(x, rng, eps=1.0):
    def go():
        rho, out = rng.laplace(0, 2 / eps), []
        for q in x:
            hit = q + rng.laplace(0, 4 / eps) - rho >= T
            out += [bool(hit)]
            if hit:
                return out
        return out

    return go()


@way(SVT)
def svt_class(x, rng, eps=1.0):
    class Sparse:
        def __init__(self, threshold):
            self.threshold = threshold + rng.laplace(scale=2 / eps)
            self.done = False

        def ask(self, q):
            self.done = bool(q + rng.laplace(scale=4 / eps) >= self.threshold)
            return self.done

    sparse, out = Sparse(T), []
    for q in x:
        if sparse.done:
            break
        out.append(sparse.ask(q))
    return out


@dataclass
class State:
    threshold: Any
    answers: list = field(default_factory=list)
    left: int = 1


@way(SVT)
def svt_dataclass(x, rng, eps=1.0):
    state = State(T + rng.laplace(scale=2 / eps))
    for q in x:
        match state.left:
            case 0:
                break
            case _ if q + rng.laplace(scale=4 / eps) >= state.threshold:
                state.answers.append(True)
                state.left -= 1
            case _:
                state.answers.append(False)
    return state.answers


@way(SVT)
def svt_walrus(x, rng, eps=1.0):
    threshold, out, rest = T + rng.laplace(scale=2 / eps), [], iter(x)
    while (q := next(rest, None)) is not None:
        out.append(bool(q + rng.laplace(scale=4 / eps) >= threshold))
        if out[-1]:
            break
    return out


@way(SVT)
def svt_generator(x, rng, eps=1.0):
    threshold = T + rng.laplace(scale=2 / eps)

    def answers():
        for q in x:
            hit = bool(q + rng.laplace(scale=4 / eps) >= threshold)
            yield hit
            if hit:
                return

    return list(answers())


@way(SVT)
def svt_argmax(x, rng, eps=1.0):
    threshold = T + rng.laplace(scale=2 / eps)
    above = np.asarray(x) + rng.laplace(scale=4 / eps, size=len(x)) >= threshold
    stop = int(np.argmax(above)) + 1 if above.any() else len(x)
    return [bool(v) for v in above[:stop]]


@way(SVT)
def svt_flatnonzero(x, rng, eps=1.0):
    noisy = np.array(x) + rng.laplace(0, 4 / eps, len(x))
    hits = np.flatnonzero(noisy >= T + rng.laplace(0, 2 / eps))
    return [False] * len(x) if hits.size == 0 else [False] * int(hits[0]) + [True]


@way(SVT)
def svt_scales(x, rng, eps=1.0):
    noise = rng.laplace(scale=[2 / eps] + [4 / eps] * len(x))
    (hits,) = np.nonzero(np.array(x) + noise[1:] >= T + noise[0])
    return [False] * hits[0] + [True] if len(hits) else [False] * len(x)


@way(SVT)
def svt_takewhile(x, rng, eps=1.0):
    threshold = T + rng.laplace(scale=2 / eps)
    below = list(itertools.takewhile(lambda q: q + rng.laplace(scale=4 / eps) < threshold, x))
    return [False] * len(below) + ([True] if len(below) < len(x) else [])


@way(SVT)
def svt_exception(x, rng, eps=1.0):
    class FoundError(Exception):
        pass

    threshold, out = T + rng.laplace(scale=2 / eps), []
    try:
        for q in x:
            if q + rng.laplace(scale=4 / eps) >= threshold:
                raise FoundError
            out.append(False)
    except FoundError:
        out.append(True)
    return out


@way(SVT)
def svt_for_else(x, rng, eps=1.0, level=T):
    threshold = level + rng.laplace(scale=2 / eps)
    for i, q in enumerate(x):  # noqa: B007
        if not q + rng.laplace(scale=4 / eps) < threshold:
            break
    else:
        return [False] * len(x)
    return [False] * i + [True]


@way(SVT)
def svt_reduce(x, rng, eps=1.0):
    threshold = T + rng.laplace(scale=2 / eps)

    def step(found, q):
        if found and found[-1]:
            return found
        return [*found, bool(q + rng.laplace(scale=4 / eps) >= threshold)]

    return functools.reduce(step, x, [])


@way(SVT)
def svt_exponentials(x, rng, eps=1.0):
    def laplace(scale):
        return rng.exponential(scale) - rng.exponential(scale)

    threshold, out = T + laplace(2 / eps), []
    for q in x:
        out.append(bool(q + laplace(4 / eps) >= threshold))
        if out[-1]:
            break
    return out


@way(SVT)
def svt_random_sign(x, rng, eps=1.0):
    def laplace(scale):
        return scale * (1 if rng.integers(0, 2) else -1) * rng.standard_exponential()

    threshold, out = T + laplace(2 / eps), []
    for q in x:
        out.append(bool(q + laplace(4 / eps) >= threshold))
        if out[-1]:
            break
    return out


@way(SVT)
def svt_unused_noise(x, rng, eps=1.0):
    rng.normal()
    threshold, answers = T + rng.laplace(scale=2 / eps), {}
    for i, q in enumerate(x):
        rng.random()
        answers[f"q{i}"] = bool(q + rng.laplace(scale=4 / eps) >= threshold)
        if answers[f"q{i}"]:
            break
    return list(answers.values())


# The noisy maximum


@way(MAX)
def max_running(x, rng, eps=1.0):
    best, at = None, None
    for i, q in enumerate(x):
        noisy = q + rng.laplace(scale=2 / eps)
        if best is None or noisy > best:
            best, at = noisy, i
    return at


@way(MAX)
def max_key(x, rng, eps=1.0):
    return max(range(len(x)), key=lambda i: x[i] + rng.laplace(scale=2 / eps))


@way(MAX)
def max_sorted_items(x, rng, eps=1.0):
    noisy = {i: q + rng.laplace(scale=2 / eps) for i, q in enumerate(x)}
    return sorted(noisy.items(), key=lambda item: -item[1])[0][0]


@way(MAX)
def max_itemgetter(x, rng, eps=1.0):
    noisy = (q + rng.laplace(scale=2 / eps) for q in x)
    return max(enumerate(noisy), key=operator.itemgetter(1))[0]


@way(MAX)
def max_in_place(x, rng, eps=1.0):
    z = np.array(x, dtype=float)
    z += rng.laplace(scale=2 / eps, size=z.shape)
    return int(z.argmax())


@way(MAX)
def max_where(x, rng, eps=1.0):
    z = np.array(x) + rng.laplace(scale=2 / eps, size=len(x))
    return int(np.where(z == z.max())[0][0])


@way(MAX)
def max_all(x, rng, eps=1.0):
    z = [q + rng.laplace(scale=2 / eps) for q in x]
    return next(i for i in range(len(z)) if all(z[i] >= w for w in z))


@way(MAX)
def max_accumulate(x, rng, eps=1.0):
    z = [q + rng.laplace(scale=2 / eps) for q in x]
    return z.index(list(itertools.accumulate(z, max))[-1])


@way(MAX)
def max_nlargest(x, rng, eps=1.0):
    z = [q + rng.laplace(scale=2 / eps) for q in x]
    return heapq.nlargest(1, range(len(x)), key=z.__getitem__)[0]


@way(MAX)
def max_matrix(x, rng, eps=1.0):
    z = np.array(x) + rng.laplace(scale=2 / eps, size=len(x))
    return int(np.argmax((z[:, None] >= z[None, :]).all(axis=1)))


@way(MAX)
def max_recursive(x, rng, eps=1.0):
    z = [(q + rng.laplace(scale=2 / eps), i) for i, q in enumerate(x)]

    def best(low, high):
        if high - low == 1:
            return z[low]
        middle = (low + high) // 2
        first, second = best(low, middle), best(middle, high)
        return first if first[0] >= second[0] else second

    return best(0, len(x))[1]


Scored = namedtuple("Scored", "score index")


@way(MAX)
def max_named_tuple(x, rng, eps=1.0):
    scored = (Scored(q + rng.laplace(scale=2 / eps), i) for i, q in enumerate(x))
    return max(scored, key=lambda s: s.score).index


@way(MAX)
def max_mask(x, rng, eps=1.0):
    z = np.array(x) + rng.laplace(scale=2 / eps, size=len(x))
    return int(np.arange(len(x))[z >= z.max()][0])


# Sums and prefix sums: linear maps that lose nothing


@way(SUMS)
def sums_loop(x, rng, eps=1.0):
    return [c + rng.laplace(scale=1 / eps) for c in x]


@way(SUMS)
def sums_location(x, rng, eps=1.0):
    return rng.laplace(loc=x, scale=1 / eps)


@way(SUMS)
def sums_scales(x, rng, eps=1.0):
    return np.array(x) + rng.laplace(scale=np.full(len(x), 1 / eps))


@way(SUMS)
def sums_dict(x, rng, eps=1.0):
    return {f"bin {i}": float(c + rng.laplace(scale=1 / eps)) for i, c in enumerate(x)}


@way(SUMS)
def sums_map(x, rng, eps=1.0):
    return tuple(map(operator.add, x, rng.laplace(scale=1 / eps, size=len(x))))


@way(SUMS)
def sums_cumulated(x, rng, eps=1.0):
    return np.cumsum(np.array(x) + rng.laplace(scale=1 / eps, size=len(x)))


@way(SUMS)
def sums_accumulated(x, rng, eps=1.0):
    return list(itertools.accumulate(c + rng.laplace(scale=1 / eps) for c in x))


@way(SUMS)
def sums_matrix(x, rng, eps=1.0):
    return np.tril(np.ones((len(x),) * 2)) @ (np.array(x) + rng.laplace(0, 1 / eps, len(x)))


@way(SUMS)
def sums_filled(x, rng, eps=1.0):
    out = np.zeros(len(x))
    for i, c in enumerate(x):
        out[i] = c + rng.laplace(scale=1 / eps)
    return out


@way(SUMS)
def sums_deferred(x, rng, eps=1.0):
    made = [lambda c=c: c + rng.laplace(scale=1 / eps) for c in x]
    return [make() for make in reversed(made)][::-1]


# Counts of noisy answers


@way(COUNT)
def count_loop(x, rng, eps=1.0):
    n = 0
    for q in x:
        if q + rng.laplace(scale=1 / eps) > T:
            n += 1
    return n


@way(COUNT)
def count_sum(x, rng, eps=1.0):
    return sum(q + rng.laplace(scale=1 / eps) > T for q in x)


@way(COUNT)
def count_numpy(x, rng, eps=1.0):
    return int(np.sum(np.array(x) + rng.laplace(scale=1 / eps, size=len(x)) > T))


@way(COUNT)
def count_nonzero(x, rng, eps=1.0):
    return np.count_nonzero(np.array(x) + rng.laplace(scale=1 / eps, size=len(x)) > T)


@way(COUNT)
def count_kept(x, rng, eps=1.0):
    return len([q for q in x if q + rng.laplace(scale=1 / eps) > T])


@way(COUNT)
def count_mask(x, rng, eps=1.0):
    z = np.array(x) + rng.laplace(scale=1 / eps, size=len(x))
    return z[z > T].size


@way(COUNT)
def count_counter(x, rng, eps=1.0):
    return Counter(bool(q + rng.laplace(scale=1 / eps) > T) for q in x)[True]


@way(COUNT)
def count_filter(x, rng, eps=1.0):
    return len(list(filter(lambda q: q + rng.laplace(scale=1 / eps) > T, x)))


@way(COUNT)
def count_text(x, rng, eps=1.0):
    return sum(f"{q + rng.laplace(scale=1 / eps) > T}" == "True" for q in x)


@way(COUNT)
def count_cast(x, rng, eps=1.0):
    return (np.array(x) + rng.laplace(scale=1 / eps, size=len(x)) > T).astype(int).sum()


# Randomised response


@way(BITS)
def bits_loop(x, rng, p=0.75):
    return [bool(v) if rng.random() < p else not v for v in x]


@way(BITS)
def bits_where(x, rng, p=0.75):
    kept = rng.random(len(x)) < p
    return [bool(b) for b in np.where(kept, x, 1 - np.array(x))]


@way(BITS)
def bits_xor(x, rng, p=0.75):
    return [bool(v) ^ bool(rng.random() >= p) for v in x]


@way(BITS)
def bits_binomial(x, rng, p=0.75):
    return [bool(v == rng.binomial(1, p)) for v in x]


@way(BITS)
def bits_choice(x, rng, p=0.75):
    return [bool(rng.choice([v, 1 - v], p=[p, 1 - p])) for v in x]


@way(BITS)
def bits_integers(x, rng, p=0.75):
    return [bool(v) if rng.integers(4) < 3 else not v for v in x]


@way(BITS)
def bits_two_coins(x, rng, p=0.75):
    def one(v):
        return bool(v) if rng.random() < 0.5 else bool(rng.random() < 0.5)

    return [one(v) for v in x]


# The exponential mechanism


@way(CHOICE)
def choice_of_numpy(x, rng, eps=1.0):
    weights = [math.exp(eps * v / 2) for v in x]
    return int(rng.choice(len(x), p=[w / sum(weights) for w in weights]))


@way(CHOICE)
def choice_by_searchsorted(x, rng, eps=1.0):
    weights = np.exp(eps * np.array(x) / 2)
    return int(np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random()))


@way(CHOICE)
def choice_by_subtraction(x, rng, eps=1.0):
    weights = [math.exp(eps * v / 2) for v in x]
    left = rng.random() * sum(weights)
    for i, weight in enumerate(weights):
        left -= weight
        if left <= 0:
            return i
    return len(x) - 1


@way(CHOICE)
def choice_by_gumbel(x, rng, eps=1.0):
    return int(np.argmax(eps * np.array(x) / 2 + rng.gumbel(size=len(x))))


@way(CHOICE)
def choice_by_multinomial(x, rng, eps=1.0):
    weights = np.exp(eps * np.array(x) / 2)
    return int(np.argmax(rng.multinomial(1, weights / weights.sum())))


@way(CHOICE)
def choice_by_race(x, rng, eps=1.0):
    weights = np.exp(eps * np.array(x) / 2)
    return int(np.argmin([rng.exponential(1 / w) for w in weights]))


@way(CHOICE)
def choice_by_rejection(x, rng, eps=1.0):
    while True:
        i = rng.integers(len(x))
        if rng.random() < math.exp(eps * (x[i] - max(x)) / 2):
            return int(i)


# Two-sided geometric noise


@way(INTEGERS)
def integers_of_two(x, rng, eps=1.0):
    p = 1 - math.exp(-eps)
    return int(x[0] + rng.geometric(p) - rng.geometric(p))


@way(INTEGERS)
def integers_of_dpest(x, rng, eps=1.0):
    return x[0] + dpest.noise.discrete_laplace(rng, 1 / eps)


@way(INTEGERS)
def integers_with_a_sign(x, rng, eps=1.0):
    a = math.exp(-eps)
    if rng.random() < (1 - a) / (1 + a):
        return x[0]
    size = rng.geometric(1 - a)
    return x[0] + size if rng.random() < 0.5 else x[0] - size


@way(INTEGERS)
def integers_by_rejection(x, rng, eps=1.0):
    a = math.exp(-eps)
    while True:
        negative, size = rng.integers(2), rng.geometric(1 - a) - 1
        if negative and size == 0:
            continue
        return x[0] + (-size if negative else size)


# Laplace noise


@way(REAL)
def real_plain(x, rng, eps=1.0):
    return x[0] + rng.laplace(scale=1 / eps)


@way(REAL)
def real_as_float(x, rng, eps=1.0):
    return float(sum(map(float, x)) + rng.laplace(scale=1 / eps))


@way(REAL)
def real_by_fsum(x, rng, eps=1.0):
    noisy = math.fsum([*x, rng.laplace(scale=1 / eps)])
    return noisy if math.isfinite(noisy) else None


@way(REAL)
def real_signed(x, rng, eps=1.0):
    return x[0] + (1 if rng.random() < 0.5 else -1) * rng.exponential(1 / eps)


@way(REAL)
def real_chosen_sign(x, rng, eps=1.0):
    return x[0] + rng.choice([-1, 1]) * rng.exponential(1 / eps)


@way(REAL)
def real_gamma(x, rng, eps=1.0):
    return x[0] + rng.gamma(1, 1 / eps) - rng.gamma(1, 1 / eps)


@way(REAL)
def real_item(x, rng, eps=1.0):
    return x[0] + rng.laplace(0, 1 / eps, size=(1, 1)).item()


@way(REAL)
def real_vector(x, rng, eps=1.0):
    e = rng.standard_exponential(2)
    return x[0] + (e[0] - e[1]) / eps


# A clipped sum


@way(CLIPPED)
def clipped_minmax(x, rng, eps=1.0):
    return sum(min(max(v, 0), 1) for v in x) + rng.laplace(scale=1 / eps)


@way(CLIPPED)
def clipped_numpy(x, rng, eps=1.0):
    return np.clip(x, 0, 1).sum() + rng.laplace(scale=1 / eps)


@way(CLIPPED)
def clipped_minimum(x, rng, eps=1.0):
    return np.maximum(np.minimum(np.array(x), 1), 0).sum() + rng.laplace(scale=1 / eps)


@way(CLIPPED)
def clipped_sorted(x, rng, eps=1.0):
    return math.fsum(sorted((0, v, 1))[1] for v in x) + rng.laplace(scale=1 / eps)


@way(CLIPPED)
def clipped_branches(x, rng, eps=1.0):
    total = 0.0
    for v in x:
        if v < 0:
            continue
        total += v if v < 1 else 1
    return rng.laplace(total, 1 / eps)


# The two largest, in order


@way(TOP)
def top_twice(x, rng, eps=1.0):
    z, out = [q + rng.laplace(scale=2 / eps) for q in x], []
    for _ in range(2):
        i = z.index(max(z))
        out.append(i)
        z[i] = -math.inf
    return out


@way(TOP)
def top_argsort(x, rng, eps=1.0):
    z = np.array(x) + rng.laplace(scale=2 / eps, size=len(x))
    return [int(i) for i in np.argsort(z)[::-1][:2]]


@way(TOP)
def top_sorted(x, rng, eps=1.0):
    z = [q + rng.laplace(scale=2 / eps) for q in x]
    return sorted(range(len(x)), key=z.__getitem__, reverse=True)[:2]


@way(TOP)
def top_tuples(x, rng, eps=1.0):
    z = [(q + rng.laplace(scale=2 / eps), i) for i, q in enumerate(x)]
    return [i for _, i in sorted(z)[-2:]][::-1]


@way(TOP)
def top_nlargest(x, rng, eps=1.0):
    z = [q + rng.laplace(scale=2 / eps) for q in x]
    return heapq.nlargest(2, range(len(x)), key=lambda i: z[i])


@way(TOP)
def top_popped(x, rng, eps=1.0):
    z = sorted((q + rng.laplace(scale=2 / eps), i) for i, q in enumerate(x))
    return [z.pop()[1], z.pop()[1]]


# The median of noisy values


@way(MEDIAN)
def median_of_sorted(x, rng, eps=1.0):
    z = sorted(q + rng.laplace(scale=1 / eps) for q in x)
    return z[1] > T


@way(MEDIAN)
def median_of_numpy(x, rng, eps=1.0):
    return np.median(np.array(x) + rng.laplace(scale=1 / eps, size=3)) > T


@way(MEDIAN)
def median_as_percentile(x, rng, eps=1.0):
    return np.percentile([q + rng.laplace(scale=1 / eps) for q in x], 50) > T


@way(MEDIAN)
def median_by_extremes(x, rng, eps=1.0):
    z = [q + rng.laplace(scale=1 / eps) for q in x]
    z.remove(max(z))
    z.remove(min(z))
    return z[0] > T


QUERIES, QUERIES2 = [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]
GROUPS = {
    "svt": (SVT, QUERIES, QUERIES2),
    "max": (MAX, QUERIES, QUERIES2),
    "sums": (SUMS, [1.0, 2.0, 3.0], [2.0, 2.0, 3.0]),
    "count": (COUNT, [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]),
    "bits": (BITS, [0, 1, 0], [1, 1, 0]),
    "choice": (CHOICE, [0.0, 1.0, 2.0], [1.0, 0.0, 2.0]),
    "integers": (INTEGERS, [3], [4]),
    "real": (REAL, [0.0], [1.0]),
    "clipped": (CLIPPED, [5.0, -3.0, 0.5], [0.2, -3.0, 0.5]),
    "top": (TOP, [0.0, 1.0, 0.0, 2.0], [1.0, 0.0, 1.0, 1.0]),
    "median": (MEDIAN, [0.0, 1.0, 2.0], [1.0, 0.5, 1.0]),
}
CASES = [
    pytest.param(f, ways[0], x, x2, id=f.__name__) for ways, x, x2 in GROUPS.values() for f in ways
]


@functools.cache
def plainest(function: Any, x: tuple[Any, ...], x2: tuple[Any, ...]) -> float:
    return dpest.exact(function, list(x), list(x2)).epsilon


@pytest.mark.parametrize(("function", "first", "x", "x2"), CASES)
def test_the_same_loss(function: Any, first: Any, x: Any, x2: Any) -> None:
    loss = dpest.exact(function, x, x2)
    assert loss.leftover == 0
    assert loss.epsilon == pytest.approx(plainest(first, tuple(x), tuple(x2)), rel=1e-9, abs=1e-12)


def plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(plain(v) for v in value)
    return value.item() if isinstance(value, np.generic) else value


DISCRETE = [c for c in CASES if c.values[1] not in (SUMS[0], REAL[0], CLIPPED[0], INTEGERS[0])]


@pytest.mark.parametrize(("function", "first", "x", "x2"), DISCRETE)
def test_batches_follow_the_exact_distribution(function, first, x, x2) -> None:
    exact: Counter[Any] = Counter()
    for outcome in output_distribution(trace(first, x)).outcomes:
        exact[plain(outcome.output)] += outcome.probability  # type: ignore[assignment]
    found = Counter(plain(v) for v in batch(function, x, RUNS, 5))
    for outcome in exact.keys() | found.keys():
        p = float(exact[outcome])
        slack = 6 * math.sqrt(max(p * (1 - p), 1 / RUNS) / RUNS)
        assert abs(found[outcome] / RUNS - p) <= slack, outcome


def test_the_references_are_right() -> None:
    """The plainest ways against formulas."""
    wanted = {"sums": 1.0, "bits": math.log(3), "choice": 0.5, "integers": 1.0, "real": 1.0}
    for name, value in wanted.items():
        ways, x, x2 = GROUPS[name]
        assert plainest(ways[0], tuple(x), tuple(x2)) == pytest.approx(value, rel=1e-9)


FEW_PATHS = [(f, 12) for f in TOP] + [(f, 6) for f in MEDIAN[:3]]


@pytest.mark.parametrize(("function", "most"), FEW_PATHS, ids=lambda v: getattr(v, "__name__", ""))
def test_orders_are_decided_no_further_than_they_are_looked_at(function: Any, most: int) -> None:
    x = GROUPS["top" if function in TOP else "median"][1]
    assert len(trace(function, x).paths) <= 2 * most
