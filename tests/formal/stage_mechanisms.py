"""Programs of stages of several kinds, for theorems of the accountant."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np


def gaussian_twice(data, rng, *, sigma=3.0):
    """The second query depends on what was seen of the first."""
    first = sum(min(max(v, 0.0), 1.0) for v in data) + rng.normal(0, sigma)
    w = min(max(first, 0.0), 1.0)
    return first, sum(min(max(v * w, -1.0), 1.0) for v in data) + rng.normal(0, sigma)


def laplace_and_gaussian(data, rng, *, scale=4.0, sigma=3.0):
    count = sum(1 for v in data if v > 0) + rng.laplace(0, scale)
    return count, sum(min(max(v, -1.0), 1.0) for v in data) + rng.normal(0, sigma)


def keys_and_a_sum(users, rng, *, scale=1.0, sigma=4.0):
    threshold = 12.0
    out = {}
    for key, n in Counter(users).items():
        noisy = n + rng.laplace(0, scale)
        if noisy >= threshold:
            out[key] = noisy
    return out, sum(min(max(v, 0), 1) for v in users) + rng.normal(0, sigma)


def sampled_laplace(data, rng, *, q=0.25, scale=1.0):
    keep = rng.random(len(data)) < q
    return np.clip(np.asarray(data), 0, 1)[keep].sum() + rng.laplace(0, scale)


def exponential_choice(data, rng, *, epsilon=1.0):
    votes = [sum(1 for v in data if v > t) for t in (-1, 0, 1)]
    weights = [math.exp(epsilon * v / 2) for v in votes]
    total = sum(weights)
    return int(rng.choice(3, p=[w / total for w in weights]))


def noisy_winner(data, rng, *, epsilon=1.0):
    votes = [sum(1 for v in data if v > t) for t in (-1, 0, 1)]
    return int(np.argmax([v + rng.laplace(0, 2 / epsilon) for v in votes]))
