"""Mechanisms as people write them, whose bound is proved at every length."""

from __future__ import annotations

import functools
import math
import random
import secrets
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

_SYSTEM = secrets.SystemRandom()
_RNG = np.random.default_rng()
GRID = [0, 1, 2, 3, 4, 5]
NAMES = ["red", "green", "blue"]


# Passes over the data ----------------------------------------------------------------------------


def two_passes(x, rng, *, epsilon=1.0):
    total = 0.0
    for v in x:
        total += min(max(v, 0.0), 1.0)
    mean = total + rng.laplace(scale=2 / epsilon)
    spread = 0.0
    for v in x:
        spread += min(abs(v - mean), 1.0)
    return mean, spread + rng.laplace(scale=2 / epsilon)


def nested_passes(x, rng, *, steps=4, clip=1.0, sigma=2.0):
    w = 0.0
    for _ in range(steps):
        grad = 0.0
        for v in x:
            g = 2 * (w - v)
            grad += max(-clip, min(clip, g))
        w -= 0.1 * (grad + rng.normal(0, sigma * clip))
    return w


def nested_passes_over_dicts(rows, rng, *, steps=4, clip=1.0, sigma=2.0):
    w = {"a": 0.0, "b": 0.0}
    for _ in range(steps):
        total = {"a": 0.0, "b": 0.0}
        for r in rows:
            error = w["a"] * r["x"] + w["b"] - r["y"]
            g = {"a": error * r["x"], "b": error}
            norm = math.sqrt(sum(v * v for v in g.values()))
            factor = min(1.0, clip / max(norm, 1e-12))
            for k in total:
                total[k] += g[k] * factor
        for k in w:
            w[k] -= 0.1 * (total[k] + rng.normal(0, sigma * clip))
    return w


def helper_over_records(x, rng, *, epsilon=1.0):
    def clipped(values, low, high):
        return [min(max(v, low), high) for v in values]

    def total(values):
        s = 0.0
        for v in values:
            s += v
        return s

    return total(clipped(x, 0, 2)) + rng.laplace(scale=2 / epsilon)


def lambdas_over_records(x, rng, *, epsilon=1.0):
    keep = lambda v: v > 0.5  # noqa: E731
    return sum(1 if keep(v) else 0 for v in x) + rng.laplace(scale=1 / epsilon)


def filter_and_len(x, rng, *, epsilon=1.0):
    return len(list(filter(lambda v: v >= 1, x))) + rng.laplace(scale=1 / epsilon)


def while_loop(x, rng, *, epsilon=1.0):
    i, total = 0, 0.0
    while i < len(x):
        total += min(max(x[i], 0.0), 1.0)
        i += 1
    return total + rng.laplace(scale=1 / epsilon)


def index_loop(x, rng, *, epsilon=1.0):
    total = 0.0
    for i in range(len(x)):
        total += min(max(x[i], 0.0), 1.0)
    return total + rng.laplace(scale=1 / epsilon)


def zip_with_itself(x, rng, *, epsilon=1.0):
    doubled = [2 * min(max(v, 0.0), 1.0) for v in x]
    return sum(a * 0.5 for a, _ in zip(doubled, x, strict=False)) + rng.laplace(scale=1 / epsilon)


def inner_generator(x, rng, *, epsilon=1.0):
    def inside():
        for v in x:
            if v > 0:
                yield min(v, 1.0)

    return sum(inside()) + rng.laplace(scale=1 / epsilon)


def any_with_noise(x, rng, *, epsilon=1.0):
    low = sum(1 for v in x if v < 1)
    high = sum(1 for v in x if v >= 1)
    return any(c + rng.laplace(scale=1 / epsilon) > 10 for c in (low, high))


# Objects -----------------------------------------------------------------------------------------


class Budget:
    def __init__(self, total):
        self.total = total
        self.used = 0.0

    def spend(self, share):
        self.used += share
        return share * self.total


class Summary:
    def __init__(self, epsilon, rng):
        self.budget = Budget(epsilon)
        self._rng = rng
        self.results = {}

    @property
    def names(self):
        return list(self.results)

    @staticmethod
    def clip(v, low, high):
        return min(max(v, low), high)

    def add(self, name, values, low, high, share):
        scale = max(abs(low), abs(high)) / self.budget.spend(share)
        total = sum(self.clip(v, low, high) for v in values)
        self.results[name] = total + self._rng.laplace(0.0, scale)
        return self


def methods_and_state(x, rng, *, epsilon=1.0):
    made = Summary(epsilon, rng).add("sum", x, 0, 5, 0.5).add("count", [1 for _ in x], 0, 1, 0.5)
    return {k: round(made.results[k], 2) for k in made.names}


@dataclass
class Counter2:
    bins: int = 3
    counts: list = field(default_factory=list)

    def __post_init__(self):
        self.counts = [0] * self.bins

    def feed(self, v):
        for j in range(self.bins):
            if j <= v < j + 1:
                self.counts[j] += 1


def object_that_counts(x, rng, *, epsilon=1.0):
    c = Counter2()
    for v in x:
        c.feed(v)
    return [n + rng.laplace(scale=1 / epsilon) for n in c.counts]


class Answer(NamedTuple):
    value: float
    rounded: int


def named_tuple(x, rng, *, epsilon=1.0):
    noisy = len(x) + rng.laplace(scale=1 / epsilon)
    return Answer(noisy, round(noisy))


class Base:
    def __init__(self, epsilon):
        self.scale = 1 / epsilon

    def noise(self, rng):
        return rng.laplace(scale=self.scale)


class Derived(Base):
    def __init__(self, epsilon):
        super().__init__(epsilon)
        self.low, self.high = 0.0, 1.0

    def __call__(self, x, rng):
        return sum(min(max(v, self.low), self.high) for v in x) + self.noise(rng)


derived = Derived(1.0)
partial_mechanism = functools.partial(helper_over_records, epsilon=0.5)


# Noise from anywhere -----------------------------------------------------------------------------


def global_numpy(x, epsilon=1.0):
    noise = np.random.laplace(0, 1 / epsilon)  # noqa: NPY002
    return sum(min(max(v, 0), 1) for v in x) + noise


def own_generator(x, epsilon=1.0):
    rng = np.random.default_rng()
    return sum(min(max(v, 0), 1) for v in x) + rng.laplace(scale=1 / epsilon)


def module_generator(x, epsilon=1.0):
    return len(x) + _RNG.laplace(scale=1 / epsilon)


def python_gauss(x, sigma=2.0):
    return sum(min(max(v, 0), 1) for v in x) + random.gauss(0, sigma)


def exponential_difference(x, epsilon=1.0):
    e = random.expovariate(epsilon) - random.expovariate(epsilon)
    return len(x) + e


def geometric_difference(x, rng, *, epsilon=1.0):
    p = 1 - math.exp(-epsilon)
    return sum(1 for v in x if v > 1) + rng.geometric(p) - rng.geometric(p)


def geometric_by_coins(x, alpha=0.25):
    def geo():
        k = 0
        while _SYSTEM.random() < alpha:
            k += 1
        return k

    return len(x) + geo() - geo()


# Post-processing ---------------------------------------------------------------------------------


def top_two(x, rng, *, epsilon=1.0):
    noisy = {}
    for j, name in enumerate(NAMES):
        noisy[name] = sum(1 for v in x if j <= v < j + 1) + rng.laplace(scale=1 / epsilon)
    best = sorted(noisy.items(), key=lambda kv: -kv[1])[:2]
    return [name for name, _ in best]


def clamped_histogram(x, rng, *, epsilon=1.0):
    counts = np.histogram(x, bins=12, range=(0, 3))[0] + rng.laplace(scale=1 / epsilon, size=12)
    out = []
    for c in counts:
        if c < 0:
            c = 0.0
        out.append(round(float(c), 1))
    total = sum(out)
    return [c / total if total > 0 else 1 / 12 for c in out]


def text_of_it(x, rng, *, epsilon=1.0):
    noisy = len(x) + rng.laplace(scale=1 / epsilon)
    if noisy < 0:
        return "none"
    return f"about {noisy:.1f} people"


def caught(x, rng, *, epsilon=1.0):
    s = sum(min(max(v, 0), 1) for v in x) + rng.laplace(scale=2 / epsilon)
    n = len(x) + rng.laplace(scale=2 / epsilon)
    try:
        return math.sqrt(s / n)
    except (ZeroDivisionError, ValueError):
        return None


def raises_on_noise(x, rng, *, epsilon=1.0):
    noisy = len(x) + rng.laplace(scale=1 / epsilon)
    if noisy < 2:
        raise ValueError("too few")
    return noisy


def isotonic(x, rng, *, epsilon=1.0):
    counts = [sum(1 for v in x if v <= t) for t in (0.5, 1.5, 2.5)]
    noisy = np.array([c + rng.laplace(scale=3 / epsilon) for c in counts])
    return np.maximum.accumulate(np.sort(np.clip(noisy, 0, None))).tolist()


def matrix_queries(x, rng, *, epsilon=1.0):
    h = np.array([sum(1 for v in x if k <= v < k + 1) for k in range(3)])
    A = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=float)
    y = A @ h + rng.laplace(scale=2 / epsilon, size=4)
    return np.linalg.lstsq(A, y, rcond=None)[0]


def mean_of_known_length(x, rng, *, epsilon=1.0):
    """The number of records is public where they are replaced."""
    values = np.clip(np.asarray(x, dtype=float), 0.0, 2.0)
    return float(np.mean(values) + rng.laplace(scale=2 / (len(values) * epsilon)))


def two_means(x, rng, *, epsilon=1.0):
    n = len(x)
    first = sum(min(max(v, 0.0), 1.0) for v in x) / n
    second = sum(min(max(v, 0.0), 1.0) ** 2 for v in x) / n
    b = 2 / (n * epsilon)
    a, q = first + rng.laplace(scale=b), second + rng.laplace(scale=b)
    return a, max(0.0, q - a * a)


# Selections --------------------------------------------------------------------------------------


def exponential_mechanism(x, rng, *, epsilon=1.0):
    scores = np.array([sum(1 for v in x if g <= v < g + 1) for g in range(3)], dtype=float)
    logits = epsilon * scores
    w = np.exp(logits - logits.max())
    return NAMES[rng.choice(3, p=w / w.sum())]


def by_softmax(x, rng, *, epsilon=1.0):
    scores = np.array([sum(1 for v in x if g <= v < g + 1) for g in range(3)], dtype=float)
    return int(rng.choice(3, p=softmax(epsilon * scores)))


def by_logsumexp(x, rng, *, epsilon=1.0):
    scores = np.array([sum(1 for v in x if g <= v < g + 1) for g in range(3)], dtype=float)
    return int(rng.choice(3, p=np.exp(epsilon * scores - logsumexp(epsilon * scores))))


def by_choices(x, epsilon=1.0):
    weights = [math.exp(epsilon * sum(1 for v in x if g <= v < g + 1)) for g in range(3)]
    return random.choices(NAMES, weights=weights)[0]


def gumbel_trick(x, rng, *, epsilon=1.0):
    scores = [sum(1 for v in x if g <= v < g + 1) for g in range(3)]
    noisy = [epsilon * s + rng.gumbel() for s in scores]
    return int(np.argmax(noisy))


def noisy_max(x, rng, *, epsilon=1.0):
    scores = [sum(min(max(v - g, 0), 1) for v in x) for g in range(3)]
    noisy = [s + rng.laplace(scale=1 / epsilon) for s in scores]
    return max(range(3), key=lambda i: noisy[i])


def exponential_noise_max(x, rng, *, epsilon=1.0):
    scores = np.array([sum(min(max(v - g, 0), 1) for v in x) for g in range(3)])
    return np.argmax(scores + rng.exponential(scale=1 / epsilon, size=3))


def cumulative(x, rng, *, epsilon=1.0):
    w = [math.exp(epsilon * sum(1 for v in x if g <= v < g + 1)) for g in range(3)]
    u = rng.random() * sum(w)
    acc = 0.0
    for i, wi in enumerate(w):
        acc += wi
        if u <= acc:
            return i
    return 2


def quantile(x, rng, *, epsilon=1.0, q=0.5):
    scores = [-abs(sum(1 for v in x if v <= g) - q * len(x)) for g in GRID]
    top = max(scores)
    w = np.array([math.exp(epsilon * (s - top)) for s in scores])
    return GRID[int(rng.choice(len(GRID), p=w / w.sum()))]


def choose_then_count(x, rng, *, epsilon=1.0):
    counts = [sum(1 for v in x if g <= v < g + 1) for g in range(3)]
    w = np.exp(epsilon / 2 * np.array(counts))
    best = int(rng.choice(3, p=w / w.sum()))
    return best, counts[best] + rng.laplace(scale=2 / epsilon)


def peeling(x, rng, *, epsilon=1.0, k=2):
    left = [0, 1, 2]
    out = []
    for _ in range(k):
        noisy = [sum(1 for v in x if g <= v < g + 1) + rng.gumbel(scale=k / epsilon) for g in left]
        best = left[int(np.argmax(noisy))]
        out.append(best)
    return out


def permute_and_flip(x, rng, *, epsilon=1.0):
    scores = [sum(1 for v in x if g <= v < g + 1) for g in range(3)]
    top = max(scores)
    for i in rng.permutation(3):
        if rng.random() < math.exp(epsilon * (scores[i] - top)):
            return int(i)
    return 0


def permute_and_flip_by_popping(x, rng, *, epsilon=1.0):
    scores = [sum(1 for v in x if g <= v < g + 1) for g in range(3)]
    pool = list(range(len(scores)))
    top = max(scores)
    while pool:
        c = pool.pop(int(rng.integers(len(pool))))
        if rng.random() <= math.exp(epsilon * (scores[c] - top)):
            return NAMES[c]
    return None


def peeling_with_removal(x, rng, *, epsilon=1.0):
    left = {g: sum(1 for v in x if g <= v < g + 1) for g in range(3)}
    out = []
    for _ in range(2):
        noisy = {g: c + rng.gumbel(scale=2 / epsilon) for g, c in left.items()}
        best = max(noisy, key=noisy.get)
        out.append(best)
        del left[best]
    return out


# Numbers that move, subsets ----------------------------------------------------------------------


class Tree:
    """Nodes of a binary tree over a stream, each with noise of its own."""

    def __init__(self, size, epsilon, rng):
        self.levels = int(math.log2(size)) + 1
        self.scale = self.levels / epsilon
        self.rng = rng
        self.nodes = {}

    def build(self, xs):
        for level in range(self.levels):
            width = 2**level
            for k in range(0, len(xs), width):
                noise = self.rng.laplace(scale=self.scale)
                self.nodes[level, k // width] = sum(xs[k : k + width]) + noise

    def prefix(self, t):
        total, pos = 0.0, 0
        for level in reversed(range(self.levels)):
            if pos + 2**level <= t:
                total += self.nodes[level, pos // 2**level]
                pos += 2**level
        return total


def tree(xs, rng, *, epsilon=1.0):
    made = Tree(len(xs), epsilon, rng)
    made.build(xs)
    return [made.prefix(t) for t in range(1, len(xs) + 1)]


def zip_with_weights(x, rng, *, epsilon=1.0):
    weights = [1.0, 0.5, 0.25, 0.125]
    return sum(w * v for w, v in zip(weights, x, strict=True)) + rng.laplace(scale=1 / epsilon)


def softmax_of_scores(scores, rng, *, epsilon=1.0):
    w = np.exp(epsilon * (np.array(scores) - max(scores)) / 2)
    return int(rng.choice(len(scores), p=w / w.sum()))


def subset(x, rng, *, epsilon=1.0, k=3):
    chosen = rng.choice(len(x), size=k, replace=False)
    return sum(min(max(x[i], 0.0), 1.0) for i in chosen) + rng.laplace(scale=1 / epsilon)
