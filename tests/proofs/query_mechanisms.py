"""Queries as people write them, with noise that fits and with noise that does not."""

from __future__ import annotations

import collections
import statistics
from collections import Counter, defaultdict

import numpy as np

from dpest import noise

PRICES = {0: 1, 1: 5, 2: 2, 3: 0}


def bincount(x, rng, *, eps=1.0, k=4):
    return np.bincount(x, minlength=k) + rng.laplace(scale=2 / eps, size=k)


def bincount_of_clipped(x, rng, *, eps=1.0, k=4):
    return np.bincount(np.clip(x, 0, k - 1), minlength=k) + rng.laplace(scale=2 / eps, size=k)


def list_count(x, rng, *, eps=1.0):
    return x.count(3) + rng.laplace(scale=1 / eps)


def counter(x, rng, *, eps=1.0, k=4):
    c = Counter(x)
    return [c[v] + rng.laplace(scale=2 / eps) for v in range(k)]


def counter_of_module(x, rng, *, eps=1.0, k=4):
    c = collections.Counter(x)
    return {v: c.get(v, 0) + rng.laplace(scale=2 / eps) for v in range(k)}


def histogram(x, rng, *, eps=1.0):
    h, _ = np.histogram(x, bins=4, range=(0, 4))
    return h + rng.laplace(scale=2 / eps, size=4)


def histogram_edges(x, rng, *, eps=1.0):
    h, _ = np.histogram(x, bins=[0, 1, 2.5, 4])
    return h + rng.laplace(scale=2 / eps, size=len(h))


def counts_in_a_list(x, rng, *, eps=1.0, k=4):
    counts = [0] * k
    for v in x:
        counts[v] += 1
    return [c + rng.laplace(scale=2 / eps) for c in counts]


def counts_in_an_array(x, rng, *, eps=1.0, k=4):
    counts = np.zeros(k)
    for v in x:
        counts[v] += 1
    return counts + rng.laplace(scale=2 / eps, size=k)


def counts_in_a_dict(x, rng, *, eps=1.0, k=4):
    counts = dict.fromkeys(range(k), 0)
    for v in x:
        counts[v] += 1
    return {v: c + rng.laplace(scale=2 / eps) for v, c in counts.items()}


def counts_in_a_defaultdict(x, rng, *, eps=1.0, k=4):
    counts = defaultdict(int)
    for v in x:
        counts[v] += 1
    return [counts[v] + rng.laplace(scale=2 / eps) for v in range(k)]


def counts_in_a_counter(x, rng, *, eps=1.0, k=4):
    counts = Counter()
    for v in x:
        counts[v] += 1
    return [counts[v] + rng.laplace(scale=2 / eps) for v in range(k)]


def counts_by_place(x, rng, *, eps=1.0, k=4):
    counts = [0] * k
    for i in range(len(x)):
        counts[x[i]] += 1
    return [c + rng.laplace(scale=2 / eps) for c in counts]


def length_of_a_list(x, rng, *, eps=1.0):
    return len([v for v in x if v > 2]) + rng.laplace(scale=1 / eps)


def appended(x, rng, *, eps=1.0):
    kept = []
    for v in x:
        if v > 1:
            kept.append(v)
    return len(kept) + rng.laplace(scale=1 / eps)


def sum_of_ones(x, rng, *, eps=1.0):
    return sum(1 for v in x if v > 2) + rng.laplace(scale=1 / eps)


def sum_of_truths(x, rng, *, eps=1.0):
    return sum(v > 2 for v in x) + rng.laplace(scale=1 / eps)


def nonzero(x, rng, *, eps=1.0):
    return np.count_nonzero(np.asarray(x) > 2) + rng.laplace(scale=1 / eps)


def masked(x, rng, *, eps=1.0):
    x = np.asarray(x)
    return x[x > 2].size + rng.laplace(scale=1 / eps)


def where(x, rng, *, eps=1.0):
    return np.where(np.asarray(x) > 2, 1, 0).sum() + rng.laplace(scale=1 / eps)


def loop_with_if(x, rng, *, eps=1.0):
    c = 0
    for v in x:
        if v == 3:
            c += 1
    return c + rng.laplace(scale=1 / eps)


def loop_with_elif(x, rng, *, eps=1.0):
    a = b = 0
    for v in x:
        if v < 1:
            a += 1
        elif v < 2:
            b += 1
    return a + rng.laplace(scale=2 / eps), b + rng.laplace(scale=2 / eps)


def two_loops(x, rng, *, eps=1.0):
    low = high = 0
    for v in x:
        if v < 2:
            low += 1
    for v in x:
        if v >= 2:
            high += 1
    return low + rng.laplace(scale=2 / eps), high + rng.laplace(scale=2 / eps)


def one_of(x, rng, *, eps=1.0):
    return sum(1 for v in x if v in (1, 3)) + rng.laplace(scale=1 / eps)


def for_each_value(x, rng, *, eps=1.0, k=4):
    return [sum(v == j for v in x) + rng.laplace(scale=2 / eps) for j in range(k)]


def parity(x, rng, *, eps=1.0):
    return sum(v % 2 for v in x) + rng.laplace(scale=1 / eps)


def squares(x, rng, *, eps=1.0):
    return sum(v * v for v in x) + rng.laplace(scale=9 / eps)


def lookup(x, rng, *, eps=1.0):
    return sum(PRICES[v] for v in x) + rng.laplace(scale=5 / eps)


def filtered_sum(x, rng, *, eps=1.0):
    kept = [v for v in x if 0 <= v <= 3]
    return sum(kept) + rng.laplace(scale=3 / eps)


def clipped_mean(x, rng, *, eps=1.0):
    return np.mean(np.clip(x, 0, 3)) + rng.laplace(scale=3 / (len(x) * eps))


def mean_by_hand(x, rng, *, eps=1.0):
    n = len(x)
    return sum(min(max(v, 0), 3) for v in x) / n + rng.laplace(scale=3 / n / eps)


def maximum(x, rng, *, eps=1.0):
    return max(x) + rng.laplace(scale=3 / eps)


def spread(x, rng, *, eps=1.0):
    return max(x) - min(x) + rng.laplace(scale=3 / eps)


def median(x, rng, *, eps=1.0):
    return np.median(x) + rng.laplace(scale=3 / eps)


def median_of_statistics(x, rng, *, eps=1.0):
    return statistics.median(x) + rng.laplace(scale=3 / eps)


def middle(x, rng, *, eps=1.0):
    s = sorted(x)
    return s[len(s) // 2] + rng.laplace(scale=3 / eps)


def noisy_mode(x, rng, *, eps=1.0, k=4):
    return int(np.argmax(np.bincount(x, minlength=k) + rng.laplace(scale=2 / eps, size=k)))


def geometric_histogram(x, rng, *, eps=1.0, k=4):
    return [np.bincount(x, minlength=k)[v] + noise.discrete_laplace(rng, 2 / eps) for v in range(k)]


def count_if_enough(x, rng, *, eps=1.0):
    n = sum(v > 1 for v in x)
    if n + rng.laplace(scale=2 / eps) > 3:
        return n + rng.laplace(scale=2 / eps)
    return None


# Wrong at eps: the noise is too small, or there is none.


def bincount_half(x, rng, *, eps=1.0, k=4):
    return np.bincount(x, minlength=k) + rng.laplace(scale=1 / eps, size=k)


def bincount_too_short(x, rng, *, eps=1.0, k=3):
    return np.bincount(x, minlength=k) + rng.laplace(scale=100 / eps)


def bincount_bare_length(x, rng, *, eps=1.0, k=2):
    return len(np.bincount(x, minlength=k)) + rng.laplace(scale=1 / eps)


def weighted_count(x, rng, *, eps=1.0):
    return sum(2 if v > 2 else 0 for v in x) + rng.laplace(scale=1 / eps)


def count_both_ways(x, rng, *, eps=1.0):
    return sum(1 if v > 1 else -1 for v in x) + rng.laplace(scale=1 / eps)


def overlapping_bins(x, rng, *, eps=1.0):
    low = sum(v <= 2 for v in x)
    high = sum(v >= 1 for v in x)
    return (
        low + rng.laplace(scale=1 / eps),
        high + rng.laplace(scale=1 / eps),
    )


def overlapping_three(x, rng, *, eps=1.0):
    return [sum(v >= j for v in x) + rng.laplace(scale=2 / eps) for j in range(1, 4)]


def nested_ranges(x, rng, *, eps=1.0):
    counts = [0, 0, 0]
    for v in x:
        for j in range(3):
            if v > j:
                counts[j] += 1
    return [c + rng.laplace(scale=2 / eps) for c in counts]


def unclipped_sum(x, rng, *, eps=1.0):
    return sum(x) + rng.laplace(scale=1 / eps)


def clipped_too_wide(x, rng, *, eps=1.0):
    return sum(min(max(v, 0), 3) for v in x) + rng.laplace(scale=2 / eps)


def clipped_from_below(x, rng, *, eps=1.0):
    return np.clip(x, 0, None).sum() + rng.laplace(scale=2 / eps)


def clipped_both_signs(x, rng, *, eps=1.0):
    return np.clip(np.asarray(x) - 2, -1, 1).sum() + rng.laplace(scale=1 / eps)


def squares_too_small(x, rng, *, eps=1.0):
    return sum(v * v for v in x) + rng.laplace(scale=3 / eps)


def lookup_too_small(x, rng, *, eps=1.0):
    return sum(PRICES[v] for v in x) + rng.laplace(scale=4 / eps)


def modulus_three(x, rng, *, eps=1.0):
    return sum(v % 3 for v in x) + rng.laplace(scale=1 / eps)


def mean_noise_too_small(x, rng, *, eps=1.0):
    return np.mean(x) + rng.laplace(scale=2 / (len(x) * eps))


def mean_by_square(x, rng, *, eps=1.0):
    return np.mean(x) + rng.laplace(scale=3 / (len(x) ** 2 * eps))


def mean_of_kept(x, rng, *, eps=1.0):
    kept = [v for v in x if v > 0]
    if not kept:
        return 0.0
    return sum(kept) / len(kept) + rng.laplace(scale=3 / (len(x) * eps))


def scale_of_kept(x, rng, *, eps=1.0):
    kept = sum(v > 0 for v in x)
    return sum(x) + rng.laplace(scale=(3 + kept) / eps)


def maximum_too_small(x, rng, *, eps=1.0):
    return max(x) + rng.laplace(scale=1 / eps)


def maximum_twice(x, rng, *, eps=1.0):
    return max(x) + rng.laplace(scale=3 / eps), max(x) + rng.laplace(scale=3 / eps)


def maximum_and_sum(x, rng, *, eps=1.0):
    return max(x) + rng.laplace(scale=3 / eps), sum(x) + rng.laplace(scale=3 / eps)


def sum_of_extremes(x, rng, *, eps=1.0):
    return max(x) + min(x) + rng.laplace(scale=3 / eps)


def median_doubled(x, rng, *, eps=1.0):
    return 2 * np.median(x) + rng.laplace(scale=3 / eps)


def median_of_kept(x, rng, *, eps=1.0):
    kept = [v for v in x if v != 1]
    return (sorted(kept)[0] if kept else 0) + rng.laplace(scale=1 / eps)


def bare_count(x, rng, *, eps=1.0):
    return sum(v > 2 for v in x)


def bare_maximum(x, rng, *, eps=1.0):
    return max(x), rng.laplace(scale=1 / eps)


def bare_decision(x, rng, *, eps=1.0):
    n = sum(v > 2 for v in x)
    return (n if n > 1 else 0) + rng.laplace(scale=1 / eps)


def bare_keys(x, rng, *, eps=1.0):
    return {v: c + rng.laplace(scale=2 / eps) for v, c in Counter(x).items()}


def keys_of_a_loop(x, rng, *, eps=1.0):
    counts = defaultdict(int)
    for v in x:
        counts[v] += 1
    return {v: c + rng.laplace(scale=2 / eps) for v, c in counts.items()}


def distinct(x, rng, *, eps=1.0):
    return len(set(x)), rng.laplace(scale=1 / eps)


def shared_noise(x, rng, *, eps=1.0, k=4):
    return np.bincount(x, minlength=k) + rng.laplace(scale=2 / eps)


def noise_used_twice(x, rng, *, eps=1.0):
    h = rng.laplace(scale=1 / eps)
    return sum(v > 2 for v in x) + h, sum(v > 1 for v in x) + h


def noise_on_one_bin(x, rng, *, eps=1.0):
    a, b = sum(v > 2 for v in x), sum(v <= 2 for v in x)
    return a + rng.laplace(scale=1 / eps), b


def early_exit(x, rng, *, eps=1.0):
    n = 0
    for v in x:
        if v == 0:
            break
        n += 1
    return n + rng.laplace(scale=1 / eps)


def first_record(x, rng, *, eps=1.0):
    n = 0
    for v in x:
        if n == 0 and v > 1:
            n += 3
    return n + rng.laplace(scale=1 / eps)


def running_product(x, rng, *, eps=1.0):
    n = 1
    for v in x:
        n *= 1 + (v > 2)
    return n + rng.laplace(scale=1 / eps)


def last_record(x, rng, *, eps=1.0):
    v = 0
    for v in x:  # noqa: B007
        pass
    return v + rng.laplace(scale=1 / eps)


def late_threshold(x, rng, *, eps=1.0):
    t = 5
    kept = (1 for v in x if v > t)
    t = 1
    return 2 * sum(kept) + rng.laplace(scale=1 / eps)


def changed_threshold(x, rng, *, eps=1.0):
    t = 1
    kept = [v for v in x if v > t]
    t = 5
    return 2 * len(kept) + (t - 5) + rng.laplace(scale=1 / eps)


def noisy_mode_half(x, rng, *, eps=1.0, k=4):
    return int(np.argmax(np.bincount(x, minlength=k) + rng.laplace(scale=1 / eps, size=k)))


def half_weights(x, rng, *, eps=1.0, k=4):
    weights = np.where(np.asarray(x) > 1, 3, 1)
    return np.bincount(x, weights=weights, minlength=k) + rng.laplace(scale=2 / eps, size=k)


def rare_branch(x, rng, *, eps=1.0):
    if rng.laplace(scale=1 / eps) < 60:
        return sum(v > 2 for v in x) + rng.laplace(scale=1 / eps)
    return sum(3 for v in x if v > 2) + rng.laplace(scale=1 / eps)
