"""Medians and quantiles by the exponential mechanism, as people write them."""

# ruff: noqa: RUF005, RUF007, B007 -- as people write them

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
from scipy.special import softmax

EPS = 1.0
LOW, HIGH = 0.0, 10.0


def by_walk(values, rng, *, epsilon=EPS, lo=LOW, hi=HIGH):
    xs = sorted(min(max(v, lo), hi) for v in values)
    n = len(xs)
    edges = [lo] + xs + [hi]
    scores = []
    for i in range(n + 1):
        width = edges[i + 1] - edges[i]
        if width <= 0:
            scores.append(-math.inf)
        else:
            scores.append(math.log(width) - epsilon / 2 * abs(i - n / 2))
    m = max(scores)
    w = [math.exp(s - m) for s in scores]
    u = rng.random() * sum(w)
    acc = 0.0
    best = None
    for i, wi in enumerate(w):
        acc += wi
        if u <= acc and wi > 0:
            best = i
            break
    return rng.uniform(edges[best], edges[best + 1])


def by_gumbel(x, rng, *, epsilon=EPS, lo=LOW, hi=HIGH):
    x = np.sort(np.clip(np.asarray(x), lo, hi))
    n = len(x)
    edges = np.concatenate(([lo], x, [hi]))
    widths = np.diff(edges)
    utility = -np.abs(np.arange(n + 1) - n / 2)
    with np.errstate(divide="ignore"):
        log_weights = np.log(widths) + epsilon * utility / 2
    i = np.argmax(log_weights + rng.gumbel(size=n + 1))
    return rng.uniform(edges[i], edges[i + 1])


def by_choice(x, rng, *, epsilon=EPS, lo=LOW, hi=HIGH, q=0.25):
    x = np.asarray(x)
    n = x.size
    edges = np.r_[lo, np.sort(np.clip(x, lo, hi)), hi]
    widths = edges[1:] - edges[:-1]
    weights = widths * np.exp(-epsilon / 2 * np.abs(np.arange(n + 1) - q * n))
    i = rng.choice(n + 1, p=weights / weights.sum())
    return float(edges[i] + rng.random() * (edges[i + 1] - edges[i]))


def by_softmax(x, rng, *, epsilon=EPS, lo=LOW, hi=HIGH):
    data = np.sort(np.concatenate([[lo, hi], np.clip(x, lo, hi)]))
    places = np.arange(len(data) - 1)
    gaps = np.diff(data)
    scores = np.where(gaps > 0, -epsilon * np.abs(places - len(x) / 2) / 2, -np.inf)
    logits = np.where(gaps > 0, np.log(gaps) + scores, -np.inf)
    weights = np.exp(logits - np.max(logits))
    chosen = rng.choice(places, p=weights / np.sum(weights))
    return rng.uniform(data[chosen], data[chosen + 1])


def by_scipy(x, rng, *, epsilon=EPS, lo=LOW, hi=HIGH, q=0.9):
    edges = np.concatenate([[lo], np.sort(np.clip(x, lo, hi)), [hi]])
    n = len(x)
    logits = np.log(np.diff(edges)) - epsilon / 2 * np.abs(np.arange(n + 1) - q * n)
    k = int(rng.choice(n + 1, p=softmax(logits)))
    low, high = edges[k], edges[k + 1]
    return low + (high - low) * rng.uniform()


def by_pairs(values, rng, *, epsilon=EPS, lo=LOW, hi=HIGH):
    xs = sorted(max(lo, min(hi, v)) for v in values)
    edges = [lo, *xs, hi]
    n = len(xs)
    weights = [
        (b - a) * math.exp(-epsilon / 2 * abs(i - n / 2))
        for i, (a, b) in enumerate(pairwise(edges))
    ]
    total = sum(weights)
    threshold = rng.random() * total
    for i, w in enumerate(weights):
        threshold -= w
        if threshold <= 0:
            return rng.uniform(edges[i], edges[i + 1])
    return hi


def by_running_maximum(values, rng, *, epsilon=EPS, lo=LOW, hi=HIGH):
    xs = [lo] + sorted(min(max(v, lo), hi) for v in values) + [hi]
    n = len(values)
    best, low, high = -math.inf, lo, hi
    for i in range(n + 1):
        if xs[i + 1] == xs[i]:
            continue
        score = math.log(xs[i + 1] - xs[i]) - epsilon * abs(i - n / 2) / 2 + rng.gumbel()
        if score > best:
            best, low, high = score, xs[i], xs[i + 1]
    return low + rng.random() * (high - low)


def by_search(x, rng, *, epsilon=EPS, lo=LOW, hi=HIGH):
    edges = np.append(np.insert(np.sort(np.clip(x, lo, hi)), 0, lo), hi)
    n = len(x)
    weights = np.diff(edges) * np.exp(-epsilon * np.abs(np.arange(n + 1) - n / 2) / 2)
    p = weights / np.sum(weights)
    i = np.searchsorted(np.cumsum(p), rng.random())
    return np.clip(np.round(rng.uniform(edges[i], edges[i + 1]), 3), lo, hi)


def by_choices(values, *, epsilon=EPS, lo=LOW, hi=HIGH):
    xs = sorted(min(max(v, lo), hi) for v in values)
    edges = [lo] + xs + [hi]
    n = len(xs)
    weights = [
        (edges[i + 1] - edges[i]) * math.exp(-epsilon / 2 * abs(i - n / 2)) for i in range(n + 1)
    ]
    (i,) = random.choices(range(n + 1), weights=weights, k=1)
    return random.uniform(edges[i], edges[i + 1])


def _interval(edges, scores, rng):
    top = max(range(len(scores)), key=lambda i: scores[i])
    return rng.uniform(edges[top], edges[top + 1])


def by_key(values, rng, *, epsilon=EPS, lo=LOW, hi=HIGH):
    xs = sorted(min(max(v, lo), hi) for v in values)
    n = len(xs)
    edges = [lo] + xs + [hi]
    scores = [
        math.log(b - a) - epsilon / 2 * abs(i - n / 2) + rng.gumbel() if b > a else -math.inf
        for i, (a, b) in enumerate(zip(edges[:-1], edges[1:], strict=True))
    ]
    return _interval(edges, scores, rng)


def quartiles(x, rng, *, epsilon=EPS, lo=LOW, hi=HIGH):
    n = len(x)
    edges = np.concatenate(([lo], np.sort(np.clip(x, lo, hi)), [hi]))
    out = []
    for q in (0.25, 0.5, 0.75):
        weights = np.diff(edges) * np.exp(-epsilon / 6 * np.abs(np.arange(n + 1) - q * n))
        i = rng.choice(n + 1, p=weights / weights.sum())
        out.append(float(rng.uniform(edges[i], edges[i + 1])))
    return out


def filled(x, rng, *, epsilon=EPS, lo=LOW, hi=HIGH):
    edges = np.concatenate(([lo], np.sort(np.clip(x, lo, hi)), [hi]))
    n = len(x)
    scores = np.full(n + 1, -np.inf)
    for i in range(n + 1):
        width = edges[i + 1] - edges[i]
        if width > 0:
            scores[i] = np.log(width) - epsilon / 2 * abs(i - n / 2)
    scores += rng.gumbel(size=n + 1)
    i = int(np.argmax(scores))
    return float(rng.uniform(edges[i], edges[i + 1]))


def by_times(x, rng, *, epsilon=EPS, lo=LOW, hi=HIGH):
    edges = np.concatenate(([lo], np.sort(np.clip(x, lo, hi)), [hi]))
    n = len(x)
    weights = np.diff(edges) * np.exp(-epsilon / 2 * np.abs(np.arange(n + 1) - n / 2))
    i = np.argmin(rng.exponential(size=weights.shape) / weights)
    return float(rng.uniform(edges[i], edges[i + 1]))


def by_first_arrival(values, rng, *, epsilon=EPS, lo=LOW, hi=HIGH):
    xs = sorted(min(max(v, lo), hi) for v in values)
    edges, n = [lo, *xs, hi], len(xs)
    first, chosen = math.inf, 0
    for i in range(n + 1):
        w = (edges[i + 1] - edges[i]) * math.exp(-epsilon / 2 * abs(i - n / 2))
        if w > 0:
            t = rng.exponential(scale=2.0) / w
            if t < first:
                first, chosen = t, i
    return rng.uniform(edges[chosen], edges[chosen + 1])


def as_in_libraries(array, rng, *, epsilon=EPS, quant=0.75, bounds=(LOW, HIGH)):
    k = len(array)
    array = np.append(np.clip(array, *bounds), list(bounds))
    array.sort()
    sizes = np.diff(array)
    utility = -np.abs(np.arange(0, k + 1) - quant * k)
    scores = epsilon * utility / 2
    probabilities = np.exp(scores - scores.max()) * sizes
    probabilities /= probabilities.sum()
    target = rng.random()
    idx = 0
    for idx, reached in enumerate(np.cumsum(probabilities)):
        if target <= reached:
            break
    return rng.random() * (array[idx + 1] - array[idx]) + array[idx]


def masked(x, rng, *, epsilon=EPS, lo=LOW, hi=HIGH, q=0.5):
    x = np.sort(np.clip(np.asarray(x, dtype=float), lo, hi))
    edges = np.hstack([[lo], x, [hi]])
    gaps = edges[1:] - edges[:-1]
    target = int(q * len(x))
    logits = -epsilon / 2 * np.abs(np.arange(len(gaps)) - target)
    logits += np.log(gaps)
    logits[gaps == 0] = -np.inf
    p = np.exp(logits - logits.max())
    p = p / p.sum()
    i = rng.choice(len(p), p=p)
    return edges[i + 1] - rng.random() * (edges[i + 1] - edges[i])


def sorted_in_place(values, rng, *, epsilon=EPS, lo=LOW, hi=HIGH):
    xs = [min(max(v, lo), hi) for v in values]
    xs.sort()
    n = len(xs)
    edges = [lo] + xs + [hi]
    total = sum(
        (edges[i + 1] - edges[i]) * math.exp(-epsilon * abs(i - n / 2) / 2) for i in range(n + 1)
    )
    left = rng.random() * total
    for i in range(n + 1):
        left -= (edges[i + 1] - edges[i]) * math.exp(-epsilon * abs(i - n / 2) / 2)
        if left <= 0:
            return rng.uniform(edges[i], edges[i + 1])
    return hi


class Quantile:
    def __init__(self, epsilon):
        self.epsilon = epsilon

    def scores(self, n):
        return [-self.epsilon / 2 * abs(i - n / 2) for i in range(n + 1)]

    def release(self, x, rng):
        xs = sorted(min(max(v, LOW), HIGH) for v in x)
        edges = [LOW, *xs, HIGH]
        pairs = list(zip(self.scores(len(xs)), edges, edges[1:]))  # noqa: B905
        logits = [s + math.log(b - a) if b > a else -math.inf for s, a, b in pairs]
        top = max(logits)
        return self._drawn([math.exp(v - top) for v in logits], edges, rng)

    def _drawn(self, weights, edges, rng):
        total, u, reached = sum(weights), rng.random(), 0.0
        for a, b, w in zip(edges, edges[1:], weights):  # noqa: B905
            reached += w / total
            if u < reached:
                return a + (b - a) * rng.random()
        return edges[-1]


def of_an_object(x, rng):
    return Quantile(EPS).release(x, rng)


def around_scores(x, rng, *, epsilon=EPS, lo=LOW, hi=HIGH):
    edges = np.concatenate(([lo], np.sort(np.clip(x, lo, hi)), [hi]))
    ranks = np.arange(len(edges) - 1)
    scores = np.log(np.diff(edges)) - epsilon / 2 * np.abs(ranks - len(x) / 2)
    i = rng.gumbel(scores).argmax()
    return float(rng.uniform(edges[i], edges[i + 1]))


RIGHT = [
    by_walk, by_gumbel, by_choice, by_softmax, by_scipy, by_pairs, by_running_maximum, by_search,
    by_choices, by_key, by_times, by_first_arrival, as_in_libraries, masked, quartiles, filled,
    sorted_in_place, of_an_object, around_scores,
]  # fmt: skip
